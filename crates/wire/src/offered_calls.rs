//! The calls that the tools of a request allow its reply: by the exact names, and with keys that all tools read alike.
//!
//! A client may look a tool up without regard to case, blanks or a prefix. So a call under a name that the request does not
//! offer could be the call of a tool under the name of which it was not judged.

use std::collections::HashMap;
use std::sync::Arc;

use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, JsonPath, Text, join_path, json_path};

use crate::api::Api;
use crate::argument_keys::find_similar_key;
use crate::request::{Request, RequestItem};
use crate::responses::COMPATIBLE_TOOLS;
use crate::segment::{EXECUTED_BY, PROMPT};

/// The calls that a request allows.
#[derive(Clone, Debug)]
pub struct OfferedCalls {
    api: Api,
    /// The tools by their names, each with the place of its arguments' schema if it has one.
    tools: HashMap<Text, Option<SchemaPlace>>,
    /// Whether the reply may call tools that the request does not list.
    has_others: bool,
}

/// The place of a schema: the item with the tools, and the path in their list.
#[derive(Clone, Debug)]
struct SchemaPlace {
    item: Arc<RequestItem>,
    at: JsonPath,
}

/// Why a client may read a call as another one than was judged.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// The request offers no tool of its name.
    NotOffered,
    /// Two keys of its arguments differ in case only, or one from a key that the tool declares.
    SimilarKeys,
}

impl CallFault {
    /// Returns the code for programs.
    pub fn code(self) -> &'static str {
        match self {
            CallFault::NotOffered => "call.not_offered",
            CallFault::SimilarKeys => "call.key_case",
        }
    }
}

impl OfferedCalls {
    /// Returns the calls that a request allows.
    pub fn read(request: &Request) -> OfferedCalls {
        let mut calls = OfferedCalls { api: request.api, tools: HashMap::new(), has_others: false };
        let mut has_search = false;
        for item in &request.items {
            match &item.event().kind {
                // A list with an id is one of a server that the vendor calls.
                Kind::ToolDefinitions if item.event().id.is_none() => {
                    for (place, entry) in list_tools(item).iter().enumerate() {
                        has_search |= entry.text("type") == Some("tool_search");
                        calls.add(item, entry, json_path![place]);
                    }
                }
                // Only the vendor knows the tools of a stored prompt.
                Kind::Other(kind) if kind == PROMPT => calls.has_others = true,
                _ => {}
            }
        }
        // Tools that were found earlier are in the history, which the vendor keeps.
        calls.has_others |= calls.tools.is_empty() || has_search && !request.carries_history();
        calls
    }

    /// Adds the tools of an entry at a path of an item's list.
    fn add(&mut self, item: &Arc<RequestItem>, entry: &Json, at: JsonPath) {
        let tool = self.api.interface().read_tool(entry);
        let own = ["name", "function.name", "custom.name"].into_iter().find_map(|path| entry.at(path)?.as_str());
        if let Some(tool) = tool {
            let schema_at = join_path(&at, tool.schema_at);
            let place = (!tool.is_vendors).then(|| SchemaPlace { item: Arc::clone(item), at: schema_at });
            self.tools.insert(tool.name, place);
            // The vendor names the calls of such a tool.
            self.has_others |= tool.is_vendors && self.api == Api::Chat && own.is_none();
        }
        // A tool of the vendor may have a name of its own, and is called by that or by its type.
        let is_computer = entry.text("type").is_some_and(|kind| kind.starts_with("computer"));
        for name in own.into_iter().chain(is_computer.then_some("computer")) {
            self.tools.entry(name.into()).or_insert(None);
        }
        for (place, inner) in entry.get("tools").and_then(Json::as_array).unwrap_or_default().iter().enumerate() {
            self.add(item, inner, join_path(&at, json_path!["tools", place]));
        }
    }

    /// Returns why a client may read an event of the reply as another call; none if it is no call of the client.
    pub fn find_fault(&self, event: &Event) -> Option<CallFault> {
        if event.kind != Kind::ToolCall || event.more.get(EXECUTED_BY).is_some() {
            return None;
        }
        let name = event.tool.as_deref().unwrap_or_default();
        let tool = self.tools.get(name);
        let is_service = self.api == Api::Responses && COMPATIBLE_TOOLS.contains(&name);
        if tool.is_none() && !self.has_others && !is_service {
            return Some(CallFault::NotOffered);
        }
        let arguments = event.args.as_ref().and_then(Arguments::value)?;
        find_similar_key(arguments, tool.and_then(Option::as_ref).and_then(SchemaPlace::find))
            .map(|_| CallFault::SimilarKeys)
    }
}

impl SchemaPlace {
    fn find(&self) -> Option<&Json> {
        self.item.event().more.get("tools")?.find(&self.at)
    }
}

/// Returns the tools of an item that has definitions.
fn list_tools(item: &RequestItem) -> &[Json] {
    item.event().more.get("tools").and_then(Json::as_array).unwrap_or_default()
}
