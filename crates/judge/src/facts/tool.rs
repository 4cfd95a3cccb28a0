//! What a policy knows about a tool, looked up once for each name.

use std::sync::Arc;

use lictor_logic::Value;
use rustc_hash::FxHashMap;

use super::effect::DefinedTools;
use super::plan::Plan;
use super::record_plan::RecordPlan;
use lictor_event::Kind;
use lictor_json::Text;
use lictor_policy::effect::{Effects, guess_from_name};

/// How many tool names are cached; a log may contain any number.
const MAX_CACHED_TOOLS: usize = 10_000;

/// What a policy knows about a tool.
#[derive(Debug)]
pub(crate) struct ToolFacts {
    pub(crate) name: Value,
    pub(crate) purposes: Vec<Text>,
    effects: ToolEffects,
    /// The entry of the policy whose records its results make.
    records: Option<usize>,
    /// The definitions that apply to its calls, and to its results.
    pub(crate) at_call: Vec<u32>,
    pub(crate) at_result: Vec<u32>,
}

/// What a tool does, as far as that is known without its definition.
#[derive(Clone, Copy, Debug)]
enum ToolEffects {
    /// The policy states it, which settles it.
    Stated(Effects),
    /// The name tells it; none is unknown. A definition may say more.
    Guessed(Option<Effects>),
}

/// The tools that were seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools(FxHashMap<Text, Arc<ToolFacts>>);

impl Tools {
    pub(crate) fn get(&mut self, plan: &Plan, name: &str) -> Arc<ToolFacts> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        if self.0.len() >= MAX_CACHED_TOOLS {
            self.0.clear();
        }
        let facts = Arc::new(ToolFacts::new(plan, name));
        self.0.insert(name.into(), Arc::clone(&facts));
        facts
    }
}

impl ToolFacts {
    /// Returns the effects of the tool in a session with these definitions; none if they are unknown.
    pub(super) fn effects(&self, defined: &DefinedTools) -> Option<Effects> {
        match (self.effects, &self.name) {
            (ToolEffects::Stated(effects), _) => Some(effects),
            (ToolEffects::Guessed(guess), Value::Text(name)) => defined.get(name).or(guess),
            (ToolEffects::Guessed(guess), _) => guess,
        }
    }

    /// Returns the records that its results make.
    pub(super) fn records<'p>(&self, plan: &'p Plan) -> &'p [RecordPlan] {
        self.records.and_then(|place| plan.tools.get(place)).map_or(&[], |tool| &tool.records)
    }

    fn new(plan: &Plan, name: &str) -> ToolFacts {
        let listed = || plan.tools.iter().filter(|tool| tool.name.matches(name));
        let purposes = listed().find_map(|tool| tool.purposes.clone()).unwrap_or_default();
        let effects = match listed().find_map(|tool| tool.effects.as_ref()) {
            Some(effects) => ToolEffects::Stated(Effects::from_names(effects.iter().map(Text::as_str))),
            None => ToolEffects::Guessed(guess_from_name(name)),
        };
        ToolFacts {
            name: Value::text(name),
            purposes,
            effects,
            records: plan.tools.iter().position(|tool| !tool.records.is_empty() && tool.name.matches(name)),
            at_call: plan.cases_at(&Kind::ToolCall, Some(name)),
            at_result: plan.cases_at(&Kind::ToolResult, Some(name)),
        }
    }
}
