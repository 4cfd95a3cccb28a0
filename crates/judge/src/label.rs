//! Finds the facts of an event: the built-in vocabulary, and the facts that a policy defines.

mod definition;
mod effect;
mod facts;
mod names;
mod opinions;
mod plan;
mod provenance;
mod reach;
mod tool;
mod values;
mod whose;

use std::borrow::Cow;
use std::collections::VecDeque;

use lictor_logic::Value;
use serde::{Deserialize, Serialize};

pub(crate) use facts::{Labels, Mark, NameId};
pub(crate) use names::collect_names;
pub(crate) use plan::Plan;

use lictor_event::{Answer, Arguments, Event, Kind, Says};
use lictor_json::Text;
use lictor_policy::expression::{AnsweredCall, EvaluationScope};
use lictor_recognise::Recognised;
use opinions::Opinions;
use provenance::{Sayings, Who};
use tool::{ToolFacts, Tools};
use values::{Values, each_scalar, plain_text, value_of};
pub(crate) use whose::{Owner, Whose};

/// How many calls may be open at once; the oldest is evicted for the next.
const MOST_OPEN_CALLS: usize = 1024;

/// The special categories of personal data (GDPR Art. 9) among the built-in ones, and those that policies may add.
const SPECIAL: [&str; 9] =
    ["health", "biometric", "genetic", "religion", "politics", "sexuality", "union", "ethnicity", "criminal_record"];

/// What the labeler remembers of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// Calls without a result yet.
    open: VecDeque<(Text, AnsweredCall)>,
    sayings: Sayings,
    /// Whose history the last event belongs to.
    whose: Whose,
    /// Whether events are missing, so that a result may answer an unknown call.
    is_torn: bool,
}

/// What an event adds to the [`Context`] once it is part of the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// The index of the open call that it answers.
    answers: Option<usize>,
    /// The call that it opens.
    opens: Option<(Text, AnsweredCall)>,
    says: Vec<(Who, Text)>,
    /// Whose history it belongs to, where some property asks.
    pub(crate) whose: Option<Whose>,
}

/// Finds the facts of events.
#[derive(Debug, Default)]
pub(crate) struct Labeler {
    tools: Tools,
    values: Values,
    found: Recognised,
    purposes: Vec<Text>,
}

/// The purposes, categories and persons of an event: those given, or else those recognised.
#[derive(Clone, Copy)]
struct Annotations<'a> {
    purposes: &'a [Text],
    categories: &'a [Text],
    subjects: &'a [Text],
}

/// What the labeler remembers of one session, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedContext {
    open: Vec<SavedCall>,
    sayings: Sayings,
    whose: Whose,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_torn: bool,
}

/// A call without a result yet. Its arguments are JSON, or the text that could not be parsed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedCall {
    id: Text,
    tool: Text,
    args: Option<String>,
    unparsed: Option<Text>,
}

impl Context {
    pub(crate) fn save(&self) -> SavedContext {
        let open = self.open.iter().map(|(id, call)| SavedCall {
            id: id.clone(),
            tool: call.tool.clone(),
            args: call.args.as_ref().and_then(Arguments::value).map(ToString::to_string),
            unparsed: match &call.args {
                Some(Arguments::Unparsed(text)) => Some(text.clone()),
                Some(Arguments::Value(_)) | None => None,
            },
        });
        SavedContext {
            open: open.collect(),
            sayings: self.sayings.clone(),
            whose: self.whose.clone(),
            is_torn: self.is_torn,
        }
    }

    pub(crate) fn load(saved: &SavedContext) -> Context {
        let call = |saved: &SavedCall| {
            let value = saved.args.as_deref().and_then(|text| lictor_json::parse_str(text).ok()).map(Arguments::Value);
            let args = value.or_else(|| saved.unparsed.clone().map(Arguments::Unparsed));
            (saved.id.clone(), AnsweredCall { tool: saved.tool.clone(), args })
        };
        let open = saved.open.iter().map(call).collect();
        Context { open, sayings: saved.sayings.clone(), whose: saved.whose.clone(), is_torn: saved.is_torn }
    }
}

impl Labeler {
    /// Fills in the facts of the next event of a session, and returns what to remember of it.
    pub(crate) fn label(&mut self, plan: &Plan, context: &Context, event: &Event, labels: &mut Labels) -> Notes {
        labels.clear();
        let answers = context.answered_by(event);
        let call = answers.and_then(|place| context.open.get(place)).map(|(_, call)| call);
        let name = event.tool.as_ref().or_else(|| call.map(|call| &call.tool));
        let tool = name.map(|name| self.tools.get(plan, name));
        let tool = tool.as_deref();
        self.kind(plan, event, tool, labels);
        if context.is_torn && tool.is_none() && event.kind == Kind::ToolResult {
            // It answers a missing call, whose tool and arguments are unknown.
            (0..plan.names.len() as u32).for_each(|name| labels.doubt(name, Vec::new()));
        }
        let Labeler { values, found, purposes, .. } = self;
        recognise(plan, event, found);
        let annotations = Annotations {
            purposes: event.purposes.as_deref().unwrap_or_else(|| named_purposes(plan, event, tool, purposes)),
            categories: event.categories.as_deref().unwrap_or(&found.categories),
            subjects: event.subjects.as_deref().unwrap_or(&found.subjects),
        };
        let whose = plan.needs.whose.then(|| {
            let mut whose = context.whose.clone();
            whose.note(event, annotations.subjects);
            whose
        });
        data(plan, event, annotations, values, labels);
        if event.kind == Kind::ToolCall {
            arguments(plan, context, event, values, labels);
        }
        given(plan, event, labels);
        defined(plan, event, annotations, call, tool, labels);
        Notes { answers, opens: opens(plan, event), says: says(plan, event), whose }
    }

    /// Adds the facts of the event's kind.
    fn kind(&mut self, plan: &Plan, event: &Event, tool: Option<&ToolFacts>, labels: &mut Labels) {
        let wants = &plan.wants;
        let name = tool.map_or(&[][..], |tool| std::slice::from_ref(&tool.name));
        match &event.kind {
            Kind::UserMessage => labels.add(wants.user_message, &[]),
            Kind::AssistantMessage => labels.add(wants.assistant_message, &[]),
            Kind::SystemMessage => labels.add(wants.system_message, &[]),
            Kind::Retrieval => labels.add(wants.retrieval, &[]),
            Kind::Error => labels.add(wants.error, &[]),
            Kind::SessionStart => labels.add(wants.session_start, &[]),
            Kind::SessionEnd => labels.add(wants.session_end, &[]),
            Kind::ToolDefinitions => labels.add(wants.tool_definitions, &[]),
            Kind::ToolCall => {
                labels.add(wants.tool_call, name);
                if let (Some(effect), Some(tool)) = (wants.effect, tool) {
                    for value in &tool.effects {
                        labels.push(effect, std::slice::from_ref(value));
                    }
                }
            }
            Kind::ToolResult => {
                labels.add(wants.tool_result, name);
                if event.failed {
                    labels.add(wants.tool_failed, name);
                }
            }
            Kind::Consent => self.consent(plan, event, labels),
            Kind::Erasure => {
                if let Some(erasure) = wants.erasure {
                    for subject in event.subjects.as_deref().unwrap_or_default() {
                        labels.push(erasure, &[self.values.get(&person(subject))]);
                    }
                }
            }
            Kind::Approval => self.answer(wants.approval, event, labels),
            Kind::Denial => self.answer(wants.denial, event, labels),
            Kind::Handoff => {
                if let Some(handoff) = wants.handoff {
                    let from = self.values.get(event.agent.as_deref().unwrap_or("*"));
                    let to = self.values.get(event.to.as_deref().unwrap_or("*"));
                    labels.push(handoff, &[from, to]);
                }
            }
            Kind::Facts => {}
            Kind::Other(name) => labels.add(plan.id(name), &[]),
        }
    }

    fn consent(&mut self, plan: &Plan, event: &Event, labels: &mut Labels) {
        let wants = &plan.wants;
        let says = |field: &str| event.more.get(field).and_then(lictor_json::Json::as_bool);
        let granted = says("granted").unwrap_or(true);
        let explicit = says("explicit").unwrap_or(false);
        let anybody = [Text::const_new("*")];
        let subjects = event.subjects.as_deref().filter(|subjects| !subjects.is_empty()).unwrap_or(&anybody);
        for subject in subjects {
            let subject = self.values.get(&person(subject));
            for purpose in event.purposes.as_deref().unwrap_or_default() {
                let values = [subject.clone(), self.values.get(purpose)];
                if granted {
                    labels.add(wants.consent, &values);
                    labels.add(wants.explicit_consent.filter(|_| explicit), &values);
                } else {
                    labels.add(wants.withdraws, &values);
                }
            }
        }
    }

    /// Adds an approval or a denial: of a call by its id, of a tool, of effects.
    fn answer(&mut self, name: Option<u32>, event: &Event, labels: &mut Labels) {
        let Some(name) = name else { return };
        let by = event.more.get("by").and_then(lictor_json::Json::as_str).or(event.agent.as_deref());
        let by = by.map(|by| self.values.get(by));
        let effects = event.more.get("effects").and_then(lictor_json::Json::as_array).unwrap_or_default();
        let effects = effects.iter().filter_map(lictor_json::Json::as_str);
        let mut is_about_something = false;
        for what in event.id.as_deref().into_iter().chain(event.tool.as_deref()).chain(effects) {
            let values: Vec<Value> = std::iter::once(self.values.get(what)).chain(by.clone()).collect();
            labels.push(name, &values);
            is_about_something = true;
        }
        if !is_about_something {
            let values: Vec<Value> = std::iter::once(self.values.get("*")).chain(by).collect();
            labels.push(name, &values);
        }
    }
}

/// Recognises categories and persons in an event that does not name them itself.
fn recognise(plan: &Plan, event: &Event, found: &mut Recognised) {
    found.categories.clear();
    found.subjects.clear();
    let categories = plan.needs.categories && event.categories.is_none();
    let subjects = plan.needs.subjects && event.subjects.is_none() && is_made_by_agent(&event.kind);
    if !categories && !subjects {
        return;
    }
    if let Some(text) = &event.text {
        plan.recogniser.text(text, found);
    }
    match &event.args {
        Some(Arguments::Value(value)) => plan.recogniser.value(value, found),
        Some(Arguments::Unparsed(text)) => plan.recogniser.text(text, found),
        None => {}
    }
    if let Some(result) = &event.result {
        plan.recogniser.value(result, found);
    }
    // The recogniser finds both; drop the one that is not wanted.
    if !categories {
        found.categories.clear();
    }
    if !subjects {
        found.subjects.clear();
    }
}

/// Adds the personal data that the event carries, its purposes and its subjects.
fn data(plan: &Plan, event: &Event, about: Annotations<'_>, values: &mut Values, labels: &mut Labels) {
    let wants = &plan.wants;
    // These record decisions of persons about their data; they do not use it.
    if matches!(event.kind, Kind::Consent | Kind::Erasure | Kind::Approval | Kind::Denial) {
        return;
    }
    let mut survives = !about.purposes.is_empty();
    for purpose in about.purposes {
        let declared = plan.purposes.get(purpose);
        survives &= declared.is_some_and(|purpose| purpose.survives_erasure);
        let value = [values.get(purpose)];
        labels.add(wants.purpose, &value);
        labels.add(wants.processes.filter(|_| !about.categories.is_empty()), &value);
        if let Some(declared) = declared {
            labels.add(wants.declared, &value);
            labels.add(wants.legitimate.filter(|_| !declared.needs_consent), &value);
        }
    }
    labels.add(wants.retained.filter(|_| survives), &[]);
    for category in about.categories {
        let value = [values.get(category)];
        labels.add(wants.carries, &value);
        let is_necessary = || {
            let mut declared = about.purposes.iter().filter_map(|purpose| plan.purposes.get(purpose));
            declared.any(|purpose| purpose.necessary.contains(category))
        };
        labels.add(wants.necessary.filter(|_| is_necessary()), &value);
        labels.add(wants.special.filter(|_| SPECIAL.contains(&category.as_str())), &value);
    }
    if let Some(discloses) = wants.discloses.filter(|_| is_made_by_agent(&event.kind)) {
        for subject in about.subjects {
            labels.push(discloses, &[values.get(&person(subject))]);
        }
    }
}

/// Adds the arguments of a call, and who said each of them first.
fn arguments(plan: &Plan, context: &Context, event: &Event, values: &mut Values, labels: &mut Labels) {
    let wants = &plan.wants;
    if let Some(Arguments::Unparsed(_)) = &event.args {
        labels.add(wants.unparsed, &[]);
        for name in [wants.argument, wants.argument_from].into_iter().flatten() {
            labels.doubt(name, vec![None, None]);
        }
        return;
    }
    if wants.argument.is_none() && wants.argument_from.is_none() {
        return;
    }
    let Some(args) = event.args.as_ref().and_then(Arguments::value) else { return };
    each_scalar(args, &mut String::new(), &mut |path, value| {
        let name = values.get(path);
        if let Some(argument) = wants.argument
            && let Some(value) = value_of(value)
        {
            labels.push(argument, &[name.clone(), value]);
        }
        if let Some(from) = wants.argument_from {
            match context.sayings.first(&plain_text(value)) {
                Some(who) => labels.push(from, &[name, values.get(who.name())]),
                None => labels.doubt(from, vec![Some(name), None]),
            }
        }
    });
}

/// Adds the facts that the log states, and those that labelers answered.
fn given(plan: &Plan, event: &Event, labels: &mut Labels) {
    let stated = event.labels.iter().filter_map(|label| match plan.id(label) {
        Some(name) => Some((name, Cow::Borrowed(&[][..]))),
        None if label.ends_with(')') => {
            let fact = lictor_logic::Fact::parse(label).ok()?;
            Some((plan.id(&fact.name)?, Cow::Owned(fact.values.into_vec())))
        }
        None => None,
    });
    let facts = event.facts.iter().filter_map(|fact| Some((plan.id(&fact.name)?, Cow::Borrowed(&fact.values[..]))));
    if event.answers.is_empty() {
        stated.chain(facts).for_each(|(name, values)| labels.push(name, &values));
        return;
    }
    let mut opinions = Opinions::default();
    stated.chain(facts).for_each(|(name, values)| opinions.add(name, &values, Says::Yes));
    for Answer { fact, says, .. } in &event.answers {
        if let Some(name) = plan.id(&fact.name) {
            opinions.add(name, &fact.values, *says);
        }
    }
    opinions.label(labels);
}

/// Adds the facts that the policy defines.
fn defined(
    plan: &Plan,
    event: &Event,
    about: Annotations<'_>,
    call: Option<&AnsweredCall>,
    tool: Option<&ToolFacts>,
    labels: &mut Labels,
) {
    if plan.cases.is_empty() {
        return;
    }
    let mut scope = EvaluationScope::new(event);
    scope.call = call;
    scope.purposes = Some(about.purposes);
    scope.categories = Some(about.categories);
    scope.subjects = Some(about.subjects);
    let known = match (&event.kind, tool) {
        (Kind::ToolCall, Some(tool)) => Some(&tool.at_call[..]),
        (Kind::ToolResult, Some(tool)) => Some(&tool.at_result[..]),
        (kind, _) if event.tool.is_none() => plan.at_message.of(kind),
        _ => None,
    };
    match known {
        Some(places) => places.iter().for_each(|place| plan.cases[*place as usize].label(&scope, labels)),
        None => {
            let cases = plan.cases.iter().filter(|case| case.is_at(&event.kind, event.tool.as_deref()));
            cases.for_each(|case| case.label(&scope, labels));
        }
    }
}

impl Context {
    /// Whose history the last event belongs to.
    pub(crate) fn whose(&self) -> &Whose {
        &self.whose
    }

    /// Returns the index of the open call that an event answers.
    fn answered_by(&self, event: &Event) -> Option<usize> {
        if event.kind != Kind::ToolResult {
            return None;
        }
        let id = event.id.as_ref()?;
        self.open.iter().position(|(open, _)| open == id)
    }

    /// Notes that events are missing here: later events may refer to them.
    pub(crate) fn miss(&mut self) {
        self.is_torn = true;
        self.sayings.miss();
    }

    /// Remembers an event's notes for later events.
    pub(crate) fn remember(&mut self, notes: Notes) {
        if let Some(place) = notes.answers {
            self.open.remove(place);
        }
        if let Some(call) = notes.opens {
            if self.open.len() >= MOST_OPEN_CALLS {
                self.open.pop_front();
            }
            self.open.push_back(call);
        }
        for (who, text) in notes.says {
            self.sayings.add(who, &text);
        }
        if let Some(whose) = notes.whose {
            self.whose = whose;
        }
    }
}

/// Returns the call that an event opens, for its result.
fn opens(plan: &Plan, event: &Event) -> Option<(Text, AnsweredCall)> {
    if event.kind != Kind::ToolCall {
        return None;
    }
    let args = if plan.needs.calls { event.args.clone() } else { None };
    Some((event.id.clone()?, AnsweredCall { tool: event.tool.clone()?, args }))
}

/// Returns the texts of an event with their speaker, if some property asks who said something first.
fn says(plan: &Plan, event: &Event) -> Vec<(Who, Text)> {
    let Some(who) = Who::speaks(&event.kind).filter(|_| plan.needs.sayings) else { return Vec::new() };
    let result = event.result.as_ref().map(|result| Text::from(result.to_string()));
    event.text.clone().into_iter().chain(result).map(|text| (who, text)).collect()
}

/// Returns the purposes of a call whose log names none: those of its tool, and those in its arguments.
fn named_purposes<'a>(plan: &Plan, event: &Event, tool: Option<&ToolFacts>, purposes: &'a mut Vec<Text>) -> &'a [Text] {
    purposes.clear();
    if !plan.needs.purposes || event.kind != Kind::ToolCall {
        return purposes;
    }
    purposes.extend_from_slice(tool.map_or(&[], |tool| &tool.purposes));
    let Some(args) = event.args.as_ref().and_then(Arguments::value) else { return purposes };
    for key in ["purpose", "purposes"] {
        let named: Vec<&str> = match args.get(key) {
            Some(lictor_json::Json::String(purpose)) => vec![purpose],
            Some(lictor_json::Json::Array(list)) => list.iter().filter_map(lictor_json::Json::as_str).collect(),
            _ => continue,
        };
        for purpose in named {
            if !purposes.iter().any(|known| known == purpose) {
                purposes.push(purpose.into());
            }
        }
    }
    purposes
}

/// Whether the agent or its tools produced the content of an event. A user may mention any person.
fn is_made_by_agent(kind: &Kind) -> bool {
    matches!(kind, Kind::AssistantMessage | Kind::ToolCall | Kind::ToolResult | Kind::Handoff)
}

/// Returns a person's identifier in the form in which it is compared: e-mail addresses ignore case.
pub fn person(identifier: &str) -> Cow<'_, str> {
    let identifier = identifier.trim();
    let is_folded = !identifier.contains('@') || !identifier.chars().any(char::is_uppercase);
    if is_folded { Cow::Borrowed(identifier) } else { Cow::Owned(identifier.to_lowercase()) }
}
