//! What the tools of a server take, as it listed them: keys of arguments that differ in case only are told apart where the
//! schema of the tool does so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_wire::find_similar_key;

/// The most tools whose schemas are remembered.
const MAX_TOOLS: usize = 10_000;

/// The schemas of the tools of one server. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolSchemas(Arc<Mutex<HashMap<Text, Arc<Json>>>>);

impl ToolSchemas {
    /// Learns the schemas of a list that the client gets.
    pub(crate) fn learn(&self, event: &Event) {
        if event.kind != Kind::ToolDefinitions {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in event.more.get("tools").and_then(Json::as_array).unwrap_or_default() {
            if let (Some(name), Some(schema)) = (tool.text("name"), tool.get("inputSchema"))
                && (known.len() < MAX_TOOLS || known.contains_key(name))
            {
                known.insert(name.into(), Arc::new(schema.clone()));
            }
        }
    }

    /// Returns a key of the arguments of a request that the server may take for another one.
    pub(crate) fn find_similar_key(&self, params: &Json) -> Option<Text> {
        let name = params.text("name").unwrap_or_default();
        let schema = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        find_similar_key(params.get("arguments")?, schema.as_deref())
    }
}
