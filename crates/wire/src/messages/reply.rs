//! Whole replies of Anthropic Messages.

use lictor_decode::piece;
use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonEdit, json_path};

use crate::known::check_blocks;
use crate::refusal::WireRefusal;
use crate::ruled_reply::{RuledReply, RuledSegment, shape};
use crate::ruling::Ruling;
use crate::segment::message::read_message;
use crate::segment::{Edits, Segment};

/// Returns the segments of a reply.
pub(super) fn read_segments(body: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let Some(content) = body.get("content").and_then(Json::as_array) else {
        return Err(shape("a reply without `content`"));
    };
    if body.text("role") != Some("assistant") {
        return Err(shape("the role of a reply is not `assistant`"));
    }
    check_blocks(content)?;
    let mut segments = read_message(body, &[])?;
    if body.text("stop_reason") == Some("refusal") {
        mark_refusal(body, &mut segments);
    }
    Ok(segments)
}

/// Gives the last text of a refused reply the labels of the refusal. Its reason is beside the content, so the reader of
/// whole answers has to read it.
fn mark_refusal(body: &Json, segments: &mut Vec<Segment>) {
    let is_text = |segment: &Segment| segment.event.kind == Kind::AssistantMessage;
    if !segments.last().is_some_and(is_text) {
        segments.push(Segment::without_place(Event::new(Kind::AssistantMessage)));
    }
    let Some(last) = segments.last_mut() else { return };
    let mut answer = body.as_object().cloned().unwrap_or_default();
    answer.insert("content", last.event.text.clone().unwrap_or_default());
    if let Some(event) = piece::answer(&answer.into()).and_then(|events| events.into_iter().last()) {
        last.event.labels = event.labels;
        last.event.more = event.more;
    }
}

/// Returns the edits after which denied blocks are blocks of text.
pub(super) fn edit(reply: &RuledReply<'_>) -> Result<Edits, WireRefusal> {
    let mut edits = Vec::new();
    let mut has_call = false;
    for RuledSegment { segment, ruling, .. } in &reply.segments {
        let block_type = reply.body.find(&segment.at).and_then(|block| block.text("type"));
        has_call |= block_type == Some("tool_use") && !ruling.is_denial();
        if segment.event.kind == Kind::AssistantMessage && !ruling.is_forward() {
            for place in segment.text_paths() {
                edits.extend(reply.empty_members(&place[..place.len().saturating_sub(1)], &["citations"]));
            }
            edits.extend(reply.empty_members(&json_path!["stop_details"], &["explanation"]));
        }
        match ruling {
            Ruling::Forward => {}
            Ruling::Rewrite(event) => edits.extend(segment.rewrite(event)?),
            Ruling::Deny { text } if segment.at.is_empty() => edits.extend(segment.deny(text)?),
            Ruling::Deny { text } => {
                let block = Json::from([("type", "text".into()), ("text", text.as_str().into())]);
                edits.push((segment.at.clone(), JsonEdit::Set(block)));
            }
        }
    }
    // Clients parse every text as the output, so the refusal has none.
    if let Some(text) = reply.find_denial().filter(|_| reply.is_structured && !has_call) {
        let details = [("type", "refusal".into()), ("category", Json::Null), ("explanation", text.into())];
        return Ok(vec![
            (json_path!["content"], JsonEdit::Set(Vec::new().into())),
            (json_path!["stop_reason"], JsonEdit::Set("refusal".into())),
            (json_path!["stop_details"], JsonEdit::Set(details.into())),
        ]);
    }
    if !has_call && reply.body.text("stop_reason") == Some("tool_use") {
        edits.push((json_path!["stop_reason"], JsonEdit::Set("end_turn".into())));
    }
    Ok(edits)
}
