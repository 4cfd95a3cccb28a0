//! A streamed reply as the whole one that it stands for, in Anthropic Messages.

use lictor_json::{self as json, Json, Object};

/// Returns the whole reply; none if a block cannot be joined.
pub(super) fn join(events: &[Json]) -> Option<Json> {
    let start = events.iter().find(|event| event.text("type") == Some("message_start"))?;
    let mut message = start.get("message")?.as_object()?.clone();
    let mut blocks: Vec<JoinedBlock> = Vec::new();
    for event in events {
        match event.text("type") {
            Some("content_block_start") => {
                let block = event.get("content_block")?.as_object()?.clone();
                blocks.push(JoinedBlock { block, input: String::new() });
            }
            Some("content_block_delta") => {
                let index = usize::try_from(event.get("index").and_then(Json::as_i64)?).ok()?;
                blocks.get_mut(index)?.add(event.get("delta")?)?;
            }
            Some("message_delta") => {
                for (name, value) in event.get("delta")?.as_object()?.iter() {
                    message.insert(name.as_str(), value.clone());
                }
            }
            _ => {}
        }
    }
    let blocks: Option<Vec<Json>> = blocks.into_iter().map(JoinedBlock::into_json).collect();
    message.insert("content", blocks?);
    Some(Json::Object(message))
}

/// A block of which the pieces were joined.
struct JoinedBlock {
    block: Object,
    /// The text of its input.
    input: String,
}

impl JoinedBlock {
    /// Adds a piece; none if it is of an unknown kind.
    fn add(&mut self, delta: &Json) -> Option<()> {
        let name = match delta.text("type")? {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => {
                self.input.push_str(delta.text("partial_json")?);
                return Some(());
            }
            _ => return None,
        };
        let joined = self.block.get(name).and_then(Json::as_str).unwrap_or_default().to_owned() + delta.text(name)?;
        self.block.insert(name, joined.as_str());
        Some(())
    }

    fn into_json(mut self) -> Option<Json> {
        if !self.input.is_empty() {
            self.block.insert("input", json::parse_str(&self.input).ok()?);
        }
        Some(Json::Object(self.block))
    }
}
