//! Requests of Anthropic Messages.

use crate::refusal::WireRefusal;
use crate::request_parts::{RequestBody, read_instructions, read_list};
use crate::segment::Segment;
use crate::segment::message::read_message;

/// Returns the segments of a request: the system prompt, then the messages.
pub(super) fn read_segments(body: RequestBody<'_>) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = read_instructions(body.value, "system");
    segments.extend(read_list(body, read_message)?);
    Ok(segments)
}
