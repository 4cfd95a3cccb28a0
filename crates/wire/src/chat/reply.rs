//! Whole replies of Chat Completions.

use std::collections::{HashMap, HashSet};

use lictor_decode::piece;
use lictor_json::{self as json, Json, JsonEdit, JsonPath, edit_text, join_path, json_path};

use crate::known::check_blocks;
use crate::quoted::QuotedTexts;
use crate::refusal::WireRefusal;
use crate::ruled_reply::{RuledReply, RuledSegment, shape};
use crate::ruling::Ruling;
use crate::segment::message::read_message;
use crate::segment::{Edits, Segment};

/// Returns the segments of each choice.
pub(super) fn read_choices(body: &Json) -> Result<Vec<Vec<Segment>>, WireRefusal> {
    let failure = body.get("error").filter(|error| !error.is_null()).map(piece::failure);
    let choices = match (body.get("choices"), &failure) {
        (Some(Json::Array(choices)), _) => choices.as_slice(),
        (None | Some(Json::Null), Some(_)) => &[],
        _ => return Err(shape("a reply without `choices`")),
    };
    let mut all = Vec::new();
    for (place, choice) in choices.iter().enumerate() {
        all.push(read_choice(place, choice)?);
    }
    if let Some(failure) = failure {
        match all.first_mut() {
            Some(first) => {
                first.push(Segment::without_place(failure));
                first.extend(QuotedTexts::of_error(body).into_segment());
            }
            None => all.push(vec![Segment::without_place(failure)]),
        }
    }
    Ok(all)
}

fn read_choice(place: usize, choice: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let written = choice.get("message").filter(|written| written.text("role") == Some("assistant"));
    let Some(message) = written.and_then(Json::as_object) else {
        return Err(shape("a choice without a message of the assistant"));
    };
    if let Some(Json::Array(parts)) = message.get("content") {
        check_blocks(parts)?;
    }
    let mut segments = read_message(written.unwrap_or(&Json::Null), &json_path!["choices", place, "message"])?;
    if place > 0 {
        let number = place as i64;
        segments.iter_mut().for_each(|segment| segment.event.more.insert("choice", number));
    }
    Ok(segments)
}

/// Returns the edits after which denied calls are gone, and the content holds their denials.
pub(super) fn edit(reply: &RuledReply<'_>) -> Result<Edits, WireRefusal> {
    let mut edits = Vec::new();
    for choice in 0..reply.choices {
        let own: Vec<&RuledSegment<'_>> = reply.segments.iter().filter(|ruled| ruled.choice == choice).collect();
        edits.extend(edit_choice(reply, choice, &own)?);
    }
    Ok(edits)
}

fn edit_choice(reply: &RuledReply<'_>, choice: usize, own: &[&RuledSegment<'_>]) -> Result<Edits, WireRefusal> {
    let at = json_path!["choices", choice];
    let message_at = join_path(&at, ["message".into()]);
    let (mut edits, mut text_edits, mut denials) = (Vec::new(), Vec::new(), Vec::new());
    for RuledSegment { segment, ruling, .. } in own {
        match ruling {
            Ruling::Forward => {}
            Ruling::Deny { text } if segment.is_call() => denials.push(text.as_str()),
            Ruling::Deny { text } if reply.is_structured => {
                edits.push((join_path(&message_at, ["content".into()]), JsonEdit::Set(Json::Null)));
                edits.push((join_path(&message_at, ["refusal".into()]), JsonEdit::Set(text.as_str().into())));
            }
            Ruling::Deny { text } => text_edits.extend(segment.deny(text)?),
            Ruling::Rewrite(event) if segment.is_call() => edits.extend(segment.rewrite(event)?),
            Ruling::Rewrite(event) => text_edits.extend(segment.rewrite(event)?),
        }
    }
    // Tokens and annotations could leak the original text and arguments.
    if own.iter().any(|ruled| !ruled.ruling.is_forward()) {
        edits.extend(reply.empty_members(&at, &["logprobs", "token_ids"]));
        edits.extend(reply.empty_members(&message_at, &["annotations"]));
    }
    if denials.is_empty() {
        edits.extend(text_edits);
        return Ok(edits);
    }
    let (mut by_path, mut denied) = (HashMap::new(), HashSet::new());
    for ruled in own {
        by_path.entry(&ruled.segment.at).or_insert(*ruled);
        if ruled.ruling.is_denial() {
            denied.insert(&ruled.segment.at);
        }
    }
    let is_denied = |path: &JsonPath| denied.contains(path);
    let calls_at = join_path(&message_at, ["tool_calls".into()]);
    edits.retain(|(path, _)| !path.starts_with(&calls_at));
    let calls = reply.body.find(&calls_at).and_then(Json::as_array).unwrap_or_default();
    let mut kept = Vec::new();
    for (place, call) in calls.iter().enumerate() {
        let here = join_path(&calls_at, [place.into()]);
        if !is_denied(&here) {
            kept.push(write_call(call, &here, by_path.get(&here).copied())?);
        }
    }
    let function_at = join_path(&message_at, ["function_call".into()]);
    let function = reply.body.find(&function_at).filter(|call| !call.is_null() && !is_denied(&function_at));
    if function.is_none() {
        edits.push((function_at, JsonEdit::Remove));
    }
    let is_over = kept.is_empty() && function.is_none();
    if is_over {
        edits.push((join_path(&at, ["finish_reason".into()]), JsonEdit::Set("stop".into())));
    }
    edits.push((calls_at, if kept.is_empty() { JsonEdit::Remove } else { JsonEdit::Set(kept.into()) }));
    if is_over && reply.is_structured {
        edits.push((join_path(&message_at, ["content".into()]), JsonEdit::Set(Json::Null)));
        edits.push((join_path(&message_at, ["refusal".into()]), JsonEdit::Set(denials.join("\n\n").into())));
        return Ok(edits);
    }
    edits.extend(append_denials(reply.body, &message_at, text_edits, &denials)?);
    Ok(edits)
}

/// Returns a call that is forwarded, unchanged or rewritten.
fn write_call(call: &Json, at: &JsonPath, ruled: Option<&RuledSegment<'_>>) -> Result<Json, WireRefusal> {
    let Some(RuledSegment { segment, ruling: Ruling::Rewrite(event), .. }) = ruled else { return Ok(call.clone()) };
    let inside = segment.rewrite(event)?.into_iter().map(|(path, edit)| (path[at.len()..].to_vec(), edit));
    let text = edit_text(&call.to_string(), &inside.collect::<Vec<_>>());
    text.and_then(|text| json::parse_str(&text).ok()).ok_or_else(|| shape("a change cannot be written back"))
}

/// Returns the edits of a message's texts, with denials after its content.
fn append_denials(body: &Json, at: &JsonPath, text_edits: Edits, denials: &[&str]) -> Result<Edits, WireRefusal> {
    let content_at = join_path(at, ["content".into()]);
    let is_content = |path: &JsonPath| path.starts_with(&content_at);
    let (inside, mut edits): (Vec<_>, Vec<_>) = text_edits.into_iter().partition(|(path, _)| is_content(path));
    let old = body.find(&content_at).cloned().unwrap_or_default();
    let text = match inside.into_iter().next() {
        Some((path, JsonEdit::Set(Json::String(text)))) if path == content_at => text,
        Some(_) => return Err(shape("a content in parts cannot be changed and added to at once")),
        None => match &old {
            Json::String(text) => text.clone(),
            Json::Null => "".into(),
            Json::Array(parts) => {
                let mut parts = parts.clone();
                parts.push(Json::from([("type", "text".into()), ("text", denials.join("\n\n").into())]));
                edits.push((content_at, JsonEdit::Set(parts.into())));
                return Ok(edits);
            }
            _ => return Err(shape("a content is neither text nor parts")),
        },
    };
    let joint = if text.is_empty() { "" } else { "\n\n" };
    edits.push((content_at, JsonEdit::Set(format!("{text}{joint}{}", denials.join("\n\n")).into())));
    Ok(edits)
}
