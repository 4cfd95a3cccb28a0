//! Finds the facts of an event: the built-in vocabulary, and the facts that a policy defines.

mod context;
mod definition;
mod effect;
mod erased;
mod failure;
mod implied;
mod labels;
mod names;
mod opinions;
mod person;
mod plan;
mod prompt;
mod provenance;
mod purpose;
mod purpose_words;
mod reach;
mod record;
mod record_plan;
mod secret;
mod sketch;
mod tool;
mod values;
mod whose;

use std::borrow::Cow;

use lictor_logic::Value;

pub(crate) use context::{Context, Notes, SavedContext};
pub(crate) use implied::{EventKind, ImpliedFact};
pub(crate) use labels::{Labels, Mark, NameId};
pub(crate) use names::{collect_atoms, collect_names};
pub(crate) use plan::Plan;

use effect::read_definitions;
use lictor_event::content_hash;
use lictor_event::{AnswerValue, Arguments, Event, Kind, is_machine_turn};
use lictor_json::Text;
use lictor_policy::effect::Effects;
use lictor_policy::expression::{AnsweredCall, EvaluationScope};
use lictor_policy::vocabulary::EFFECTS;
use lictor_recognise::PersonalData;
use opinions::Opinions;
pub use person::person;
use prompt::hash_prompt;
use provenance::Who;
use purpose::{PurposeSource, find_purposes};
use record::label_records;
use tool::{ToolFacts, Tools};
use values::{Values, each_scalar, plain_text, value_of};
pub(crate) use whose::{Owner, Whose};

/// The special categories of personal data (GDPR Art. 9) among the built-in ones, and those that policies may add.
const SPECIAL: [&str; 9] =
    ["health", "biometric", "genetic", "religion", "politics", "sexuality", "union", "ethnicity", "criminal_record"];

/// Finds the facts of events.
#[derive(Debug, Default)]
pub(crate) struct FactFinder {
    tools: Tools,
    values: Values,
    found: PersonalData,
    purposes: Vec<Text>,
    purpose_sources: Vec<PurposeSource>,
}

/// The purposes, categories and persons of an event: those given, or else those recognised.
#[derive(Clone, Copy)]
struct Annotations<'a> {
    purposes: &'a [Text],
    categories: &'a [Text],
    subjects: &'a [Text],
}

impl FactFinder {
    /// Fills in the facts of the next event of a session, and returns what to remember of it.
    pub(crate) fn label(&mut self, plan: &Plan, context: &Context, event: &Event, labels: &mut Labels) -> Notes {
        labels.clear();
        if is_machine_turn(event) {
            // It is an instruction to the agent at most, and not the word of the user.
            let event = Event { kind: Kind::SystemMessage, ..event.clone() };
            return self.label(plan, context, &event, labels);
        }
        let answers = context.answered_by(event);
        let call = answers.and_then(|place| context.open.get(place)).map(|(_, call)| call);
        let name = event.tool.as_ref().or_else(|| call.map(|call| &call.tool));
        let tool = name.map(|name| self.tools.get(plan, name));
        let tool = tool.as_deref();
        let prompt = plan.wants.user_message.and_then(|_| hash_prompt(event));
        self.kind(plan, context, event, tool, prompt, labels);
        if context.is_torn && tool.is_none() && event.kind == Kind::ToolResult {
            // It answers a missing call, whose tool and arguments are unknown.
            (0..plan.names.len() as u32).for_each(|name| labels.doubt(name, Vec::new()));
        }
        let FactFinder { values, found, purposes, purpose_sources, .. } = self;
        purpose_sources.clear();
        recognise(plan, event, found);
        if plan.needs.subjects && event.subjects.is_none() && is_made_by_agent(&event.kind) {
            erased::add_named(&context.erased, event, &mut found.subjects);
        }
        let annotations = Annotations {
            purposes: match event.purposes.as_deref() {
                Some(stated) => stated,
                None => find_purposes(plan, context, event, tool, purposes, purpose_sources),
            },
            categories: event.categories.as_deref().unwrap_or(&found.categories),
            subjects: event.subjects.as_deref().unwrap_or(&found.subjects),
        };
        let records = tool.map_or(&[][..], |tool| tool.records(plan));
        let recorded = label_records(plan, records, event, call, values, labels);
        let whose = plan.needs.whose.then(|| {
            let mut whose = context.whose.clone();
            match recorded.is_empty() {
                true => whose.note(event, annotations.subjects),
                false => whose.note(event, &[&recorded[..], annotations.subjects].concat()),
            }
            whose
        });
        // The confirmation of a record names its person, which is no use of the data.
        let others: Vec<Text> = match recorded.is_empty() {
            true => Vec::new(),
            false => annotations.subjects.iter().filter(|it| !recorded.contains(&person(it).into())).cloned().collect(),
        };
        let subjects = if recorded.is_empty() { annotations.subjects } else { &others };
        let annotations = Annotations { subjects, ..annotations };
        data(plan, event, annotations, values, labels);
        secret::label_secrets(plan.wants.carries_secret, event, values, labels);
        requested_erasure(plan, event, values, labels);
        let requests = plan.purpose_words.find_requested(event);
        if let Some(from) = plan.wants.purpose_from {
            let sources = annotations.purposes.iter().zip(purpose_sources.iter().copied());
            let requested = requests.iter().flatten().map(|purpose| (purpose, PurposeSource::User));
            for (purpose, source) in sources.chain(requested) {
                labels.push(from, &[values.get(purpose), values.get(source.name())]);
            }
        }
        if event.kind == Kind::ToolCall {
            arguments(plan, context, event, values, labels);
        }
        given(plan, event, name.map(Text::as_str), labels);
        defined(plan, event, annotations, call, tool, labels);
        let (opens, says, defines) = (opens(plan, event), says(plan, event), defines(plan, event));
        let erases = erased::find_erased(plan.wants.erasure, labels);
        Notes { answers, opens, says, defines, prompt, requests, erases, whose }
    }

    /// Adds the facts of the event's kind.
    fn kind(
        &mut self,
        plan: &Plan,
        context: &Context,
        event: &Event,
        tool: Option<&ToolFacts>,
        prompt: Option<u64>,
        labels: &mut Labels,
    ) {
        let wants = &plan.wants;
        let name = tool.map_or(&[][..], |tool| std::slice::from_ref(&tool.name));
        match &event.kind {
            Kind::UserMessage => match (wants.user_message, context.prompts.has(prompt)) {
                (Some(name), true) => labels.doubt(name, Vec::new()),
                (name, _) => labels.add(name, &[]),
            },
            Kind::AssistantMessage => labels.add(wants.assistant_message, &[]),
            Kind::SystemMessage => labels.add(wants.system_message, &[]),
            Kind::Retrieval => labels.add(wants.retrieval, &[]),
            Kind::Error => labels.add(wants.error, &[]),
            Kind::SessionStart => labels.add(wants.session_start, &[]),
            Kind::SessionEnd => labels.add(wants.session_end, &[]),
            Kind::ToolDefinitions => labels.add(wants.tool_definitions, &[]),
            Kind::ToolCall => {
                labels.add(wants.tool_call, name);
                self.effects(plan, context, tool, labels);
            }
            Kind::ToolResult => {
                labels.add(wants.tool_result, name);
                if event.failed {
                    labels.add(wants.tool_failed, name);
                }
            }
            Kind::Consent => self.consent(plan, event, labels),
            Kind::Erasure => self.persons(wants.erasure, event, labels),
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
            Kind::Other(name) => {
                labels.add(plan.id(name), &[]);
                if name == "erasure_done" {
                    self.persons(wants.erasure_done, event, labels);
                }
            }
        }
    }

    /// Adds the effects of a call. Where they are unknown, each effect is an unknown fact.
    fn effects(&mut self, plan: &Plan, context: &Context, tool: Option<&ToolFacts>, labels: &mut Labels) {
        let wants = &plan.wants;
        if wants.effect.is_none() && wants.effect_unknown.is_none() {
            return;
        }
        match tool.and_then(|tool| tool.effects(&context.defined)) {
            Some(effects) => {
                for effect in effects.names() {
                    labels.add(wants.effect, &[self.values.get(effect)]);
                }
            }
            None => {
                labels.add(wants.effect_unknown, tool.map_or(&[][..], |tool| std::slice::from_ref(&tool.name)));
                if let Some(effect) = wants.effect {
                    for (name, _) in EFFECTS {
                        labels.doubt(effect, vec![Some(self.values.get(name))]);
                    }
                }
            }
        }
    }

    /// Adds a fact about each person that an event names.
    fn persons(&mut self, name: Option<NameId>, event: &Event, labels: &mut Labels) {
        for subject in event.subjects.as_deref().unwrap_or_default() {
            labels.add(name, &[self.values.person(subject)]);
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
            let subject = self.values.person(subject);
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

/// Whether a category is special (GDPR Art. 9).
pub(crate) fn is_special(category: &str) -> bool {
    SPECIAL.contains(&category)
}

/// Recognises categories and persons in an event that does not name them itself.
pub(crate) fn recognise(plan: &Plan, event: &Event, found: &mut PersonalData) {
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
        labels.add(wants.special.filter(|_| is_special(category)), &value);
    }
    if let Some(discloses) = wants.discloses.filter(|_| is_made_by_agent(&event.kind)) {
        for subject in about.subjects {
            labels.push(discloses, &[values.person(subject)]);
        }
    }
    // A record that the event makes names its person, who is then not in `about.subjects`.
    for subject in event.subjects.iter().flat_map(|_| about.subjects) {
        labels.add(wants.subject, &[values.person(subject)]);
    }
}

/// Adds a request for erasure: an event of that kind, or a message that carries it as a label. The persons are those that
/// the event names, else those recognised in its text, else unknown.
fn requested_erasure(plan: &Plan, event: &Event, values: &mut Values, labels: &mut Labels) {
    const NAME: &str = "erasure_requested";
    let Some(requested) = plan.wants.erasure_requested else { return };
    if event.kind.name() != NAME && !event.labels.iter().any(|label| label == NAME) {
        return;
    }
    let mut found = PersonalData::default();
    let subjects = event.subjects.as_deref().unwrap_or_else(|| {
        plan.recogniser.text(event.text.as_deref().unwrap_or_default(), &mut found);
        &found.subjects
    });
    for subject in subjects {
        labels.push(requested, &[values.person(subject)]);
    }
    if subjects.is_empty() {
        labels.doubt(requested, vec![None]);
    }
}

/// Returns a number that equal calls share. Two calls of one number are equal, but for a chance of one in 2^63.
fn digest_call(event: &Event) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = content_hash::hash_call(event);
    i64::from_le_bytes([a, b, c, d, e, f, g, h & 0x7f])
}

/// Adds the arguments of a call, and who said each of them first.
fn arguments(plan: &Plan, context: &Context, event: &Event, values: &mut Values, labels: &mut Labels) {
    let wants = &plan.wants;
    if let Some(digest) = wants.call_digest {
        labels.push(digest, &[Value::Integer(digest_call(event))]);
    }
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
    // A text may say any argument, under any name.
    if args.as_object().is_none() || event.has_free_text() {
        for name in [wants.argument, wants.argument_from].into_iter().flatten() {
            labels.doubt(name, vec![None, None]);
        }
    }
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

/// Adds the facts that the log states, and those that labelers answered, as far as their answers count at the event.
fn given(plan: &Plan, event: &Event, tool: Option<&str>, labels: &mut Labels) {
    let read = |label: &str| match plan.id(label) {
        Some(name) => Some((name, Cow::Borrowed(&[][..]))),
        None if label.ends_with(')') => {
            let fact = lictor_logic::Fact::parse(label).ok()?;
            Some((plan.id(&fact.name)?, Cow::Owned(fact.values.into_vec())))
        }
        None => None,
    };
    let stated = event.labels.iter().filter_map(|label| read(label));
    let denied = || event.labels.iter().filter_map(|label| label.strip_prefix('!'));
    let facts = event.facts.iter().filter_map(|fact| Some((plan.id(&fact.name)?, Cow::Borrowed(&fact.values[..]))));
    if event.answers.is_empty() && denied().next().is_none() {
        stated.chain(facts).for_each(|(name, values)| labels.push(name, &values));
        return;
    }
    let mut opinions = Opinions::default();
    stated.chain(facts).for_each(|(name, values)| opinions.add(name, &values, AnswerValue::Yes));
    denied().filter_map(read).for_each(|(name, values)| opinions.add(name, &values, AnswerValue::No));
    for answer in &event.answers {
        let name = plan.id(&answer.fact.name).filter(|name| plan.takes_answer(*name, answer, &event.kind, tool));
        if let Some(name) = name {
            opinions.add_answer(name, answer);
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

/// Returns the call that an event opens, for its result.
fn opens(plan: &Plan, event: &Event) -> Option<(Text, AnsweredCall)> {
    if event.kind != Kind::ToolCall {
        return None;
    }
    let args = if plan.needs.calls { event.args.clone() } else { None };
    let has_free_text = event.has_free_text();
    Some((event.id.clone()?, AnsweredCall { tool: event.tool.clone()?, args, has_free_text }))
}

/// Returns the tools that an event defines, if some property asks what tools do.
fn defines(plan: &Plan, event: &Event) -> Vec<(Text, Effects)> {
    let is_asked = plan.wants.effect.is_some() || plan.wants.effect_unknown.is_some();
    if is_asked && event.kind == Kind::ToolDefinitions { read_definitions(event) } else { Vec::new() }
}

/// Returns the texts of an event with their speaker, if some property asks who said something first.
fn says(plan: &Plan, event: &Event) -> Vec<(Who, Text)> {
    let Some(who) = Who::speaks(&event.kind).filter(|_| plan.needs.sayings) else { return Vec::new() };
    let result = event.result.as_ref().map(|result| Text::from(result.to_string()));
    event.text.clone().into_iter().chain(result).map(|text| (who, text)).collect()
}

/// Whether the agent or its tools produced the content of an event. A user may mention any person.
fn is_made_by_agent(kind: &Kind) -> bool {
    matches!(kind, Kind::AssistantMessage | Kind::ToolCall | Kind::ToolResult | Kind::Handoff)
}
