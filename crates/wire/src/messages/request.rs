//! Requests of Anthropic Messages.

use lictor_json::Json;

use crate::refusal::WireRefusal;
use crate::request_parts::{read_instructions, read_list};
use crate::segment::Segment;
use crate::segment::message::read_message;

/// Returns the segments of a request: the system prompt, then the messages.
pub(super) fn read_segments(body: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = read_instructions(body, "system");
    segments.extend(read_list(body, "messages", read_message)?);
    Ok(segments)
}
