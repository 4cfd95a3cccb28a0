//! What a policy makes the labeler look for, compiled once and shared.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{Arena, Fact, Formula};
use rustc_hash::FxHashMap;

use super::definition::CasePlan;
use super::labels::NameId;
use super::names::collect_names;
use super::purpose_words::PurposeWords;
use super::reach::TextReach;
use super::record_plan::RecordPlan;
use lictor_event::labeler::Question;
use lictor_event::{Answer, Kind};
use lictor_json::Text;
use lictor_policy::expression::Tables;
use lictor_policy::glob::Glob;
use lictor_policy::{Basis, Category, History, Policy, Problem};
use lictor_recognise::{CustomCategory, Recogniser};

/// What a policy makes the labeler look for.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The names of facts that some property asks for.
    pub(crate) names: Vec<Arc<str>>,
    ids: FxHashMap<Text, NameId>,
    pub(crate) wants: WantedFacts,
    pub(crate) purposes: FxHashMap<Text, PurposePlan>,
    pub(super) purpose_words: PurposeWords,
    pub(crate) tools: Vec<ToolPlan>,
    /// The tools that the policy names, in `tools:` and in the facts that are asked for; each once.
    pub(crate) named_tools: Vec<Text>,
    pub(crate) recogniser: Recogniser,
    pub(crate) cases: Vec<CasePlan>,
    /// The questions to labelers, with the place of their case.
    pub(crate) questions: Vec<(u32, Question)>,
    /// The definitions that apply to messages, the most frequent events after calls and results.
    pub(crate) at_message: Messages,
    pub(crate) needs: Needs,
    /// How properties look at the text of an assistant that is streamed.
    pub(crate) reach: TextReach,
}

/// The definitions that apply to events of some kinds without a tool.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    user: Vec<u32>,
    assistant: Vec<u32>,
}

impl Messages {
    /// Returns the definitions for a kind; `None` for other kinds.
    pub(crate) fn of(&self, kind: &Kind) -> Option<&[u32]> {
        match kind {
            Kind::UserMessage => Some(&self.user),
            Kind::AssistantMessage => Some(&self.assistant),
            _ => None,
        }
    }
}

/// A declared purpose.
#[derive(Debug)]
pub(crate) struct PurposePlan {
    pub(crate) needs_consent: bool,
    pub(crate) necessary: Vec<Text>,
    pub(crate) survives_erasure: bool,
}

/// Tools that a policy lists.
#[derive(Debug)]
pub(crate) struct ToolPlan {
    pub(crate) name: Glob,
    pub(crate) purposes: Option<Vec<Text>>,
    pub(crate) effects: Option<Vec<Text>>,
    pub(super) records: Vec<RecordPlan>,
}

/// What must be remembered or computed for the facts that are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// The arguments of calls, until they are answered.
    pub(crate) calls: bool,
    /// Everything that was said.
    pub(crate) sayings: bool,
    pub(crate) categories: bool,
    pub(crate) subjects: bool,
    pub(crate) purposes: bool,
    /// Whose history an event belongs to.
    pub(crate) whose: bool,
}

macro_rules! wants {
    ($($name:ident)*) => {
        /// The built-in facts that some property asks for.
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct WantedFacts {
            $(pub(crate) $name: Option<NameId>,)*
        }

        impl WantedFacts {
            fn new(id: impl Fn(&str) -> Option<NameId>) -> WantedFacts {
                WantedFacts { $($name: id(stringify!($name)),)* }
            }
        }
    };
}

wants! {
    user_message assistant_message system_message retrieval error session_start session_end tool_definitions
    tool_call tool_result tool_failed effect effect_unknown unparsed call_digest argument argument_from
    purpose purpose_from declared legitimate processes carries carries_secret necessary special discloses subject retained
    consent explicit_consent withdraws erasure erasure_done erasure_requested approval denial handoff
}

impl Plan {
    /// The plan for a policy whose properties have these formulas.
    pub(crate) fn new(policy: &Policy, formulas: &[(&Arena, Formula)]) -> Result<Plan, Box<Problem>> {
        let mut asked = BTreeSet::new();
        for (arena, formula) in formulas {
            collect_names(arena, *formula, &mut asked);
        }
        asked
            .extend(policy.properties.iter().flat_map(|property| &property.needs).map(|name| Arc::from(name.as_str())));
        let names: Vec<Arc<str>> = asked.into_iter().collect();
        let ids: FxHashMap<Text, NameId> =
            names.iter().enumerate().map(|(id, name)| (Text::new(name), id as NameId)).collect();
        let wants = WantedFacts::new(|name| ids.get(name).copied());
        let tables = Tables::new(&policy.tables);
        let recogniser = Recogniser::new(&custom_categories(policy)).map_err(|(place, message)| {
            let place = policy.categories.get(place).map(|category| category.place.clone()).unwrap_or_default();
            Box::new(Problem::new(&place, "policy.category", message))
        })?;
        let (mut cases, mut questions) = (Vec::new(), Vec::new());
        let mut named_tools: BTreeSet<Text> = policy.tools.iter().map(|tool| tool.name.clone()).collect();
        for definition in &policy.facts {
            // Skip facts that no property asks for.
            let Some(name) = ids.get(&definition.name).copied() else { continue };
            for case in &definition.cases {
                named_tools.extend(case.on.iter().filter_map(|trigger| trigger.tool.clone()));
                if let Some((ask, by)) = case.ask.as_ref().and_then(|ask| Some((ask, ask.by.clone()?))) {
                    let question = Question::new(Fact::new(definition.name.as_str(), []), ask.statement.clone());
                    let question = question.with_examples(ask.yes.clone(), ask.no.clone()).asked_of(by, ask.window);
                    questions.push((cases.len() as u32, question));
                }
                cases.push(CasePlan::new(name, definition, case, &tables)?);
            }
        }
        let declared = policy.purposes.iter().filter(|purpose| purpose.basis != Basis::None);
        let purposes = declared.map(|purpose| {
            let needs_consent = matches!(purpose.basis, Basis::Consent | Basis::ExplicitConsent);
            let (necessary, survives_erasure) = (purpose.necessary.clone(), purpose.survives_erasure);
            (purpose.name.clone(), PurposePlan { needs_consent, necessary, survives_erasure })
        });
        let tools = policy.tools.iter().map(|tool| {
            let (purposes, effects) = (tool.purposes.clone(), tool.effects.clone());
            Ok(ToolPlan { name: Glob::new(&tool.name), purposes, effects, records: RecordPlan::compile(tool)? })
        });
        let tools = tools.collect::<Result<Vec<ToolPlan>, Box<Problem>>>()?;
        let some = |names: &[Option<NameId>]| names.iter().any(Option::is_some);
        let categories = some(&[wants.processes, wants.carries, wants.necessary, wants.special])
            || cases.iter().any(|case| case.reads("categories"));
        let needs = Needs {
            calls: cases.iter().any(|case| case.reads("call")) || tools.iter().any(|tool| !tool.records.is_empty()),
            sayings: wants.argument_from.is_some(),
            categories,
            subjects: wants.discloses.is_some()
                || policy.properties.iter().any(|property| property.history == History::Subject)
                || cases.iter().any(|case| case.reads("subjects")),
            whose: policy.properties.iter().any(|property| property.history != History::Session),
            purposes: some(&[
                wants.purpose,
                wants.purpose_from,
                wants.declared,
                wants.processes,
                wants.necessary,
                wants.retained,
            ]) || cases.iter().any(|case| case.reads("purposes")),
        };
        let purposes = purposes.collect();
        let purpose_words = PurposeWords::new(policy);
        let at_message = Messages::default();
        let reach = TextReach::default();
        let named_tools = named_tools.into_iter().collect();
        let mut plan = Plan {
            names,
            ids,
            wants,
            purposes,
            purpose_words,
            tools,
            named_tools,
            recogniser,
            cases,
            questions,
            at_message,
            needs,
            reach,
        };
        plan.at_message = Messages {
            user: plan.cases_at(&Kind::UserMessage, None),
            assistant: plan.cases_at(&Kind::AssistantMessage, None),
        };
        let case = |place: &u32| {
            let case = &plan.cases[*place as usize];
            (&plan.names[case.name() as usize], case)
        };
        plan.reach = TextReach::new(policy, formulas, plan.at_message.assistant.iter().map(case));
        Ok(plan)
    }

    /// The number of a name that some property asks for.
    pub(crate) fn id(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    /// Whether an answer about a fact counts at an event of a kind and tool. If a fact has questions, it must be asked there, and of the
    /// labeler that answered. A fact without questions takes every answer.
    pub(crate) fn takes_answer(&self, name: NameId, answer: &Answer, kind: &Kind, tool: Option<&str>) -> bool {
        let mut asking = self.cases.iter().filter(|case| case.name() == name && case.is_asked()).peekable();
        asking.peek().is_none() || asking.any(|case| case.is_at(kind, tool) && case.takes_answer(answer))
    }

    /// Returns the definitions that apply to events of a kind and tool.
    pub(crate) fn cases_at(&self, kind: &Kind, tool: Option<&str>) -> Vec<u32> {
        let cases = self.cases.iter().enumerate().filter(|(_, case)| case.is_at(kind, tool));
        cases.map(|(place, _)| place as u32).collect()
    }
}

/// The categories of personal data that a policy defines, as the recogniser takes them.
fn custom_categories(policy: &Policy) -> Vec<CustomCategory> {
    let custom = |category: &Category| CustomCategory {
        name: category.name.clone(),
        pattern: category.pattern.clone(),
        words: category.words.clone(),
        identifies: category.identifies,
    };
    policy.categories.iter().map(custom).collect()
}
