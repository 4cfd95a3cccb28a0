//! A whole reply of a model.

use lictor_decode::piece;
use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json, Object};

use crate::history::SentItem;
use crate::segment::{self, Segment};
use crate::splice::{self, Edit, Path, Step, at, join, nothing, value_at};
use crate::stream::responses::items::message;
use crate::{Api, Ruling, WireRefusal, known};

/// A whole reply of a model.
#[derive(Clone, Debug)]
pub struct Reply {
    api: Api,
    text: String,
    value: Json,
    /// What each event was read from, with the number of its choice.
    segments: Vec<(usize, Segment)>,
    events: Vec<Event>,
    /// How many choices there are.
    choices: usize,
}

/// A reply as the client gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedReply {
    /// The body: the very same bytes if everything was forwarded.
    pub body: Vec<u8>,
    /// What it says, for [`ConversationHistory::replied`](crate::ConversationHistory::replied).
    pub sent: Vec<Vec<SentItem>>,
}

impl Reply {
    /// Reads the body of a reply that succeeded; one that failed says nothing of an agent and needs no judging.
    pub fn read(api: Api, body: &[u8]) -> Result<Reply, WireRefusal> {
        let value = json::parse(body).map_err(|error| WireRefusal::json("the body of the reply", error))?;
        let text = String::from_utf8(body.to_vec()).map_err(|_| shape("the body is not UTF-8"))?;
        let choices = match api {
            Api::Chat => chat(&value)?,
            Api::Responses => vec![responses(&value)?],
            Api::Messages => vec![messages(&value)?],
        };
        let count = choices.len();
        let number = |(choice, segments): (usize, Vec<Segment>)| segments.into_iter().map(move |one| (choice, one));
        let segments: Vec<(usize, Segment)> = choices.into_iter().enumerate().flat_map(number).collect();
        let events = segments.iter().map(|(_, segment)| segment.event.clone()).collect();
        Ok(Reply { api, text, value, segments, events, choices: count })
    }

    /// What the model said and did, in order; of several choices one after the other, from the second on with `choice`
    /// beside the event. What a tool of the vendor's has done already has `executed_by` beside it.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The reply after so many rulings, one for each event. Events without a ruling are forwarded. Refused if a change
    /// cannot be written back.
    pub fn settle(&self, rulings: &[Ruling]) -> Result<JudgedReply, WireRefusal> {
        if rulings.iter().all(Ruling::is_forward) {
            return Ok(JudgedReply { body: self.text.clone().into_bytes(), sent: self.sent() });
        }
        let ruled: Vec<(&Segment, &Ruling, usize)> =
            self.segments.iter().zip(rulings).map(|((choice, segment), ruling)| (segment, ruling, *choice)).collect();
        let mut edits = match self.api {
            Api::Chat => self.settle_chat(&ruled)?,
            Api::Messages => self.settle_messages(&ruled)?,
            Api::Responses => self.settle_responses(&ruled)?,
        };
        // What stands beside several texts is cleared for each of them.
        let mut places: Vec<Path> = Vec::with_capacity(edits.len());
        edits.retain(|(path, _)| {
            let is_new = !places.contains(path);
            places.push(path.clone());
            is_new
        });
        let text = splice::edited(&self.text, &edits).ok_or_else(|| shape("a change cannot be written back"))?;
        let sent = Reply::read(self.api, text.as_bytes())?.sent();
        Ok(JudgedReply { body: text.into_bytes(), sent })
    }

    fn sent(&self) -> Vec<Vec<SentItem>> {
        let of = |choice: usize| {
            let own = self.segments.iter().filter(move |(number, _)| *number == choice);
            // What the service says about itself is not sent back.
            let own = own.filter(|(_, segment)| !matches!(&segment.event.kind, Kind::Error | Kind::Other(_)));
            own.map(|(_, segment)| SentItem::of(&segment.event)).collect()
        };
        (0..self.choices).map(of).collect()
    }

    /// Calls that were denied are gone, and what is said instead stands in the content.
    fn settle_chat(&self, ruled: &[(&Segment, &Ruling, usize)]) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        let mut edits = Vec::new();
        for choice in 0..self.choices {
            let at = at!["choices", choice];
            let message_at = join(&at, ["message".into()]);
            let own = || ruled.iter().filter(|(_, _, number)| *number == choice);
            let mut denials = Vec::new();
            let mut said = Vec::new();
            for (segment, ruling, _) in own() {
                match ruling {
                    Ruling::Forward => {}
                    Ruling::Deny { text } if is_call(segment) => denials.push(text.as_str()),
                    Ruling::Deny { text } => said.extend(segment.deny(text)?),
                    Ruling::Rewrite(event) if is_call(segment) => edits.extend(segment.rewrite(event)?),
                    Ruling::Rewrite(event) => said.extend(segment.rewrite(event)?),
                }
            }
            // The tokens hold words and arguments once more, and what is quoted may be what was taken out.
            if own().any(|(_, ruling, _)| !ruling.is_forward()) {
                edits.extend(self.cleared(&at, &["logprobs", "token_ids"]));
                edits.extend(self.cleared(&message_at, &["annotations"]));
            }
            if denials.is_empty() {
                edits.extend(said);
                continue;
            }
            let gone = |path: &Path| own().any(|(segment, ruling, _)| segment.at == *path && is_denied(ruling));
            let calls_at = join(&message_at, ["tool_calls".into()]);
            edits.retain(|(path, _)| !path.starts_with(&calls_at));
            let calls = value_at(&self.value, &calls_at).and_then(Json::as_array).unwrap_or_default();
            let mut kept = Vec::new();
            for place in 0..calls.len() {
                let here = join(&calls_at, [place.into()]);
                if !gone(&here) {
                    kept.push(self.entry(&here, own().find(|(segment, _, _)| segment.at == here).copied())?);
                }
            }
            let function_at = join(&message_at, ["function_call".into()]);
            let function = value_at(&self.value, &function_at).filter(|call| !call.is_null() && !gone(&function_at));
            if function.is_none() {
                edits.push((function_at, Edit::Remove));
            }
            if kept.is_empty() && function.is_none() {
                edits.push((join(&at, ["finish_reason".into()]), Edit::Set("stop".into())));
            }
            edits.push((calls_at, if kept.is_empty() { Edit::Remove } else { Edit::Set(kept.into()) }));
            edits.extend(self.content(&message_at, said, &denials)?);
        }
        Ok(edits)
    }

    /// A call that stays, as it was or rewritten.
    fn entry(&self, at: &Path, ruled: Option<(&Segment, &Ruling, usize)>) -> Result<Json, WireRefusal> {
        let value = value_at(&self.value, at).cloned().unwrap_or_default();
        let Some((segment, Ruling::Rewrite(event), _)) = ruled else { return Ok(value) };
        let inside = segment.rewrite(event)?.into_iter().map(|(path, edit)| (path[at.len()..].to_vec(), edit));
        let text = splice::edited(&value.to_string(), &inside.collect::<Vec<_>>());
        text.and_then(|text| json::parse_str(&text).ok()).ok_or_else(|| shape("a change cannot be written back"))
    }

    /// The content of a message with denials behind it.
    fn content(&self, at: &Path, said: Vec<(Path, Edit)>, denials: &[&str]) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        let content_at = join(at, ["content".into()]);
        let is_content = |path: &Path| path.starts_with(&content_at);
        let (inside, mut edits): (Vec<_>, Vec<_>) = said.into_iter().partition(|(path, _)| is_content(path));
        let old = value_at(&self.value, &content_at).cloned().unwrap_or_default();
        let text = match inside.into_iter().next() {
            Some((path, Edit::Set(Json::String(text)))) if path == content_at => text,
            Some(_) => return Err(shape("a content in parts cannot be changed and added to at once")),
            None => match &old {
                Json::String(text) => text.clone(),
                Json::Null => "".into(),
                Json::Array(parts) => {
                    let mut parts = parts.clone();
                    let mut part = Object::new();
                    part.insert("type", "text");
                    part.insert("text", denials.join("\n\n"));
                    parts.push(part.into());
                    edits.push((content_at, Edit::Set(parts.into())));
                    return Ok(edits);
                }
                _ => return Err(shape("a content is neither text nor parts")),
            },
        };
        let joint = if text.is_empty() { "" } else { "\n\n" };
        edits.push((content_at, Edit::Set(format!("{text}{joint}{}", denials.join("\n\n")).into())));
        Ok(edits)
    }

    /// A block that was denied is a text instead.
    fn settle_messages(&self, ruled: &[(&Segment, &Ruling, usize)]) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        let mut edits = Vec::new();
        let mut is_called = false;
        for (segment, ruling, _) in ruled {
            let is_clients =
                value_at(&self.value, &segment.at).and_then(|block| block.text("type")) == Some("tool_use");
            is_called |= is_clients && !is_denied(ruling);
            if segment.event.kind == Kind::AssistantMessage && !ruling.is_forward() {
                for place in segment.places() {
                    edits.extend(self.cleared(&place[..place.len().saturating_sub(1)], &["citations"]));
                }
                edits.extend(self.cleared(&at!["stop_details"], &["explanation"]));
            }
            match ruling {
                Ruling::Forward => {}
                Ruling::Rewrite(event) => edits.extend(segment.rewrite(event)?),
                Ruling::Deny { text } if segment.at.is_empty() => edits.extend(segment.deny(text)?),
                Ruling::Deny { text } => {
                    let mut block = Object::new();
                    block.insert("type", "text");
                    block.insert("text", text.as_str());
                    edits.push((segment.at.clone(), Edit::Set(block.into())));
                }
            }
        }
        if !is_called && self.value.text("stop_reason") == Some("tool_use") {
            edits.push((at!["stop_reason"], Edit::Set("end_turn".into())));
        }
        Ok(edits)
    }

    /// An item that was denied is a message instead.
    fn settle_responses(&self, ruled: &[(&Segment, &Ruling, usize)]) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        let mut edits: Vec<(Path, Edit)> = Vec::new();
        let denied = |at: &Path| {
            ruled.iter().find_map(|(segment, ruling, _)| match ruling {
                Ruling::Deny { text } if segment.at == *at => Some(text),
                _ => None,
            })
        };
        for (segment, ruling, _) in ruled {
            let is_said = segment.event.kind == Kind::AssistantMessage;
            if is_said && !ruling.is_forward() {
                for place in segment.places() {
                    let part = &place[..place.len().saturating_sub(1)];
                    edits.extend(self.cleared(part, &["annotations", "logprobs"]));
                }
                edits.extend(self.cleared(&[], &["output_text"]));
            }
            match (denied(&segment.at), ruling) {
                // The service speaks about itself.
                _ if segment.at.is_empty() => {}
                (Some(text), _) if is_said => edits.extend(segment.deny(text)?),
                (Some(text), _) => {
                    let id = value_at(&self.value, &segment.at).and_then(|item| item.text("id")).unwrap_or_default();
                    let edit = (segment.at.clone(), Edit::Set(message(id, text)));
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

    /// The edits by which members of an object that may say the same as a text beside them say nothing.
    fn cleared(&self, at: &[Step], keys: &[&str]) -> Vec<(Path, Edit)> {
        let edit = |key: &&str| {
            let place = join(at, [(*key).into()]);
            let edit = nothing(value_at(&self.value, &place)?)?;
            Some((place, edit))
        };
        keys.iter().filter_map(edit).collect()
    }
}

fn chat(value: &Json) -> Result<Vec<Vec<Segment>>, WireRefusal> {
    let failure = value.get("error").filter(|error| !error.is_null()).map(piece::failure);
    let choices = match (value.get("choices"), &failure) {
        (Some(Json::Array(choices)), _) => choices.as_slice(),
        (None | Some(Json::Null), Some(_)) => &[],
        _ => return Err(shape("a reply without `choices`")),
    };
    let mut all = Vec::new();
    for (place, choice) in choices.iter().enumerate() {
        let Some(object) = choice.as_object() else { return Err(shape("a choice is not an object")) };
        known::check(object, &known::CHOICE, "a choice")?;
        if choice.get("delta").is_some_and(|delta| !delta.is_null()) {
            return Err(shape("a choice of a whole reply has a piece of one beside it"));
        }
        let written = choice.get("message").filter(|written| written.text("role") == Some("assistant"));
        let Some(message) = written.and_then(Json::as_object) else {
            return Err(shape("a choice without a message of the assistant"));
        };
        known::check(message, &known::MESSAGE, "a message")?;
        if let Some(Json::Array(parts)) = message.get("content") {
            blocks(parts)?;
        }
        let mut segments = segment::message(written.unwrap_or(&Json::Null), &at!["choices", place, "message"])?;
        if place > 0 {
            let number = place as i64;
            segments.iter_mut().for_each(|segment| segment.event.more.insert("choice", number));
        }
        all.push(segments);
    }
    if let Some(failure) = failure {
        match all.first_mut() {
            Some(first) => first.push(Segment::about(failure)),
            None => all.push(vec![Segment::about(failure)]),
        }
    }
    Ok(all)
}

fn messages(value: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let Some(content) = value.get("content").and_then(Json::as_array) else {
        return Err(shape("a reply without `content`"));
    };
    if value.text("role") != Some("assistant") {
        return Err(shape("a reply that is not the assistant's"));
    }
    blocks(content)?;
    let mut segments = segment::message(value, &[])?;
    if value.text("stop_reason") == Some("refusal") {
        let is_said = |segment: &Segment| segment.event.kind == Kind::AssistantMessage;
        if !segments.last().is_some_and(is_said) {
            segments.push(Segment::about(Event::new(Kind::AssistantMessage)));
        }
        // Why it refused stands beside the content, so the reader of whole answers has to say it.
        if let Some(last) = segments.last_mut() {
            let mut alone = value.as_object().cloned().unwrap_or_default();
            alone.insert("content", last.event.text.clone().unwrap_or_default());
            if let Some(event) = piece::answer(&alone.into()).and_then(|events| events.into_iter().last()) {
                last.event.labels = event.labels;
                last.event.more = event.more;
            }
        }
    }
    Ok(segments)
}

fn blocks(blocks: &[Json]) -> Result<(), WireRefusal> {
    match blocks.iter().map(|block| block.text("type").unwrap_or("none")).find(|name| !known::is_block(name)) {
        Some(name) => Err(segment::unknown("a block", "type", name)),
        None => Ok(()),
    }
}

fn responses(value: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let Some(output) = value.get("output").and_then(Json::as_array) else {
        return Err(shape("a reply without `output`"));
    };
    let mut segments = Vec::new();
    for (place, item) in output.iter().enumerate() {
        let at: [Step; 2] = ["output".into(), place.into()];
        segments.extend(segment::item(item, &at)?);
    }
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        segments.push(Segment::about(piece::failure(error)));
    }
    if let Some(reason) = value.at("incomplete_details.reason").and_then(Json::as_str) {
        let mut event = Event::new(Kind::Other("incomplete".into()));
        event.text = Some(reason.into());
        segments.push(Segment::about(event));
    }
    Ok(segments)
}

fn is_call(segment: &Segment) -> bool {
    segment.event.kind == Kind::ToolCall
}

fn is_denied(ruling: &Ruling) -> bool {
    matches!(ruling, Ruling::Deny { .. })
}

fn shape(message: &str) -> WireRefusal {
    WireRefusal::new("reply.shape", message)
}
