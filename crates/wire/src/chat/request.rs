//! Requests of Chat Completions.

use lictor_json::json_path;

use crate::refusal::WireRefusal;
use crate::request_parts::{RequestBody, read_list};
use crate::segment::Segment;
use crate::segment::message::read_message;

/// Returns the segments of a request: the predicted output, then the messages.
pub(super) fn read_segments(body: RequestBody<'_>) -> Result<Vec<Segment>, WireRefusal> {
    // The model reads the prediction as well.
    let prediction = body.value.at("prediction.content").filter(|content| !content.is_null());
    let prediction = prediction.map(|content| Segment::instructions(content, json_path!["prediction", "content"]));
    let mut segments: Vec<Segment> = prediction.into_iter().collect();
    segments.extend(read_list(body, read_message)?);
    Ok(segments)
}
