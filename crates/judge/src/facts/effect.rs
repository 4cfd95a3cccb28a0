//! The effects of tools that the policy does not state: by the name of the tool, and by its definition in the session.

use std::collections::BTreeMap;
use std::sync::Arc;

use lictor_event::Event;
use lictor_json::Text;
use lictor_policy::effect::{Effects, each_definition, guess_from_definition, guess_from_name};
use rustc_hash::FxHashMap;

/// How many definitions that say more than their name are kept for a session; further ones are ignored.
const MAX_DEFINED_TOOLS: usize = 4096;

/// The effects of tools whose definition in a session says more than their name.
#[derive(Clone, Debug, Default)]
pub(crate) struct DefinedTools(Arc<FxHashMap<Text, Effects>>);

impl DefinedTools {
    /// Returns the effects of a tool by its definition; none if that says no more than the name.
    pub(super) fn get(&self, tool: &str) -> Option<Effects> {
        self.0.get(tool).copied()
    }

    /// Adds what definitions say. Two definitions of one tool count together, since a server may change them at any time.
    pub(super) fn extend(&mut self, defined: Vec<(Text, Effects)>) {
        if defined.is_empty() {
            return;
        }
        let tools = Arc::make_mut(&mut self.0);
        for (tool, effects) in defined {
            if tools.len() < MAX_DEFINED_TOOLS || tools.contains_key(&tool) {
                let known = tools.entry(tool).or_default();
                *known = known.union(effects);
            }
        }
    }

    pub(super) fn save(&self) -> BTreeMap<Text, Vec<Text>> {
        let names = |effects: &Effects| effects.names().map(Text::from).collect();
        self.0.iter().map(|(tool, effects)| (tool.clone(), names(effects))).collect()
    }

    pub(super) fn load(saved: &BTreeMap<Text, Vec<Text>>) -> DefinedTools {
        let effects = |names: &Vec<Text>| Effects::from_names(names.iter().map(Text::as_str));
        DefinedTools(Arc::new(saved.iter().map(|(tool, names)| (tool.clone(), effects(names))).collect()))
    }
}

/// Returns the effects of the tools of an event whose definition says more than their name.
pub(super) fn read_definitions(event: &Event) -> Vec<(Text, Effects)> {
    let mut defined = Vec::new();
    let Some(tools) = event.more.get("tools") else { return defined };
    each_definition(tools, &mut |name, definition| {
        if let Some(effects) = guess_from_definition(name, definition)
            && guess_from_name(name) != Some(effects)
        {
            defined.push((name.into(), effects));
        }
    });
    defined
}
