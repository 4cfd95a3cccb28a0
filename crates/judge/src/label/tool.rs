//! What a policy knows about a tool, looked up once for each name.

use std::sync::Arc;

use lictor_logic::Value;
use rustc_hash::FxHashMap;

use super::effect::effects_of;
use super::plan::Plan;
use lictor_event::Kind;
use lictor_json::Text;

/// How many tool names are cached; a log may contain any number.
const MOST: usize = 10_000;

/// What a policy knows about a tool.
#[derive(Debug)]
pub(crate) struct ToolFacts {
    pub(crate) name: Value,
    pub(crate) purposes: Vec<Text>,
    pub(crate) effects: Vec<Value>,
    /// The definitions that apply to its calls, and to its results.
    pub(crate) at_call: Vec<u32>,
    pub(crate) at_result: Vec<u32>,
}

/// The tools that were seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools(FxHashMap<Text, Arc<ToolFacts>>);

impl Tools {
    pub(crate) fn get(&mut self, plan: &Plan, name: &str) -> Arc<ToolFacts> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let facts = Arc::new(ToolFacts::new(plan, name));
        self.0.insert(name.into(), Arc::clone(&facts));
        facts
    }
}

impl ToolFacts {
    fn new(plan: &Plan, name: &str) -> ToolFacts {
        let listed = || plan.tools.iter().filter(|tool| tool.name.matches(name));
        let purposes = listed().find_map(|tool| tool.purposes.clone()).unwrap_or_default();
        let effects = match listed().find_map(|tool| tool.effects.clone()) {
            Some(effects) => effects.iter().map(|effect| Value::text(effect.as_str())).collect(),
            None => effects_of(name).iter().map(|effect| Value::text(*effect)).collect(),
        };
        ToolFacts {
            name: Value::text(name),
            purposes,
            effects,
            at_call: plan.cases_at(&Kind::ToolCall, Some(name)),
            at_result: plan.cases_at(&Kind::ToolResult, Some(name)),
        }
    }
}
