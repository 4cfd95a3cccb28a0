//! Whole replies of OpenAI Responses.

use lictor_decode::piece;
use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonEdit, JsonPath, json_path};

use super::item::{check_reply_item, read_reply_item};
use super::replacement::{message_item, refusal_part, text_part};
use crate::quoted::QuotedTexts;
use crate::refusal::WireRefusal;
use crate::ruled_reply::{RuledReply, RuledSegment, shape};
use crate::ruling::Ruling;
use crate::segment::{Edits, Segment};

/// Returns the segments of a reply.
pub(super) fn read_segments(body: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let Some(output) = body.get("output").and_then(Json::as_array) else {
        return Err(shape("a reply without `output`"));
    };
    let mut segments = Vec::new();
    for (place, item) in output.iter().enumerate() {
        check_reply_item(item)?;
        segments.extend(read_reply_item(item, &json_path!["output", place])?);
    }
    if !segments.is_empty() {
        segments.extend(QuotedTexts::of_error(body).into_segment());
    }
    segments.extend(read_end(body).into_iter().map(Segment::without_place));
    Ok(segments)
}

/// Returns the events by which a response reports an error or its early end.
pub(super) fn read_end(response: &Json) -> Vec<Event> {
    let failure = response.get("error").filter(|error| !error.is_null()).map(piece::failure);
    let incomplete = response.at("incomplete_details.reason").and_then(Json::as_str).map(|reason| {
        let mut event = Event::new(Kind::Other("incomplete".into()));
        event.text = Some(reason.into());
        event
    });
    failure.into_iter().chain(incomplete).collect()
}

/// Returns the edits after which denied items are messages.
pub(super) fn edit(reply: &RuledReply<'_>) -> Result<Edits, WireRefusal> {
    let mut edits: Edits = Vec::new();
    let find_denial = |at: &JsonPath| {
        reply.segments.iter().find_map(|ruled| match ruled.ruling {
            Ruling::Deny { text } if ruled.segment.at == *at => Some(text),
            _ => None,
        })
    };
    for RuledSegment { segment, ruling, .. } in &reply.segments {
        let is_text = segment.event.kind == Kind::AssistantMessage;
        if is_text && !ruling.is_forward() {
            for place in segment.text_paths() {
                let part = &place[..place.len().saturating_sub(1)];
                edits.extend(reply.empty_members(part, &["annotations", "logprobs"]));
            }
            edits.extend(reply.empty_members(&[], &["output_text"]));
        }
        match (find_denial(&segment.at), ruling) {
            // The service reports about itself.
            _ if segment.at.is_empty() => {}
            (Some(text), _) if is_text && reply.is_structured => {
                for (number, place) in segment.text_paths().enumerate() {
                    let part = place[..place.len().saturating_sub(1)].to_vec();
                    let said = if number == 0 { text.as_str() } else { "(withheld)" };
                    edits.retain(|(path, _)| !path.starts_with(&part));
                    edits.push((part, JsonEdit::Set(refusal_part(said))));
                }
            }
            (Some(text), _) if is_text => edits.extend(segment.deny(text)?),
            (Some(text), _) => {
                let id = reply.body.find(&segment.at).and_then(|item| item.text("id")).unwrap_or_default();
                let part = if reply.is_structured { refusal_part(text) } else { text_part(text) };
                let edit = (segment.at.clone(), JsonEdit::Set(message_item(id, part)));
                // An item may be several events.
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
            (None, Ruling::Rewrite(event)) => edits.extend(segment.rewrite(event)?),
            (None, _) => {}
        }
    }
    Ok(edits)
}
