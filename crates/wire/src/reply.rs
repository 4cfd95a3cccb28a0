//! Whole replies of a model.

use std::collections::HashSet;

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json, JsonEdit, JsonPath, SseFramer, Text, edit_text};

use crate::api::Api;
use crate::fields::{StrippedFields, UnknownFields};
use crate::history::SentItem;
use crate::quoted::{edit_quoted, is_quoted};
use crate::refusal::WireRefusal;
use crate::ruled_reply::{RuledReply, RuledSegment, shape};
use crate::ruling::Ruling;
use crate::segment::{EXECUTED_BY, Edits, Segment};
use crate::stream::action::StreamLimits;
use crate::stream::frame::{edit_payload, read_fields};

/// More tokens than this are no count of one reply.
const MAX_REPLY_TOKENS: u64 = 1_000_000_000;

/// What a reply says that it cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyUsage {
    /// The tokens, sent and received. What is no count of tokens, such as a negative number, is left out.
    pub tokens: u64,
    /// Whether nothing was left out.
    pub is_whole: bool,
}

/// A whole reply of a model.
#[derive(Clone, Debug)]
pub struct Reply {
    api: Api,
    text: String,
    body: Json,
    /// The segments with the numbers of their choices.
    segments: Vec<(usize, Segment)>,
    events: Vec<Event>,
    /// How many choices there are.
    choices: usize,
    unknown: UnknownFields,
    stripped: StrippedFields,
}

/// A reply as the client gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedReply {
    /// The body: the same bytes if everything was forwarded and no field was stripped.
    pub body: Vec<u8>,
    /// Its content, for [`ConversationHistory::replied`](crate::ConversationHistory::replied).
    pub sent: Vec<Vec<SentItem>>,
}

impl Reply {
    /// Reads the body of a successful reply, without unknown fields. The body of an error holds no event of an agent.
    pub fn read(api: Api, body: &[u8]) -> Result<Reply, WireRefusal> {
        Reply::read_with(api, body, UnknownFields::default())
    }

    /// Reads a reply as [`Reply::read`] does, with another choice about unknown fields.
    pub fn read_with(api: Api, body: &[u8], unknown: UnknownFields) -> Result<Reply, WireRefusal> {
        let mut value = json::parse(body).map_err(|error| WireRefusal::json("the body of the reply", error))?;
        let mut text = String::from_utf8(body.to_vec()).map_err(|_| shape("the body is not UTF-8"))?;
        let mut stripped = StrippedFields::default();
        let checked = api.interface().fields().strip("reply", (&text, &value), unknown, &mut stripped)?;
        if let Some(known) = checked.known {
            (text, value) = (known.text, known.value);
        }
        let mut choices = api.interface().read_reply(&value)?;
        if let Some(first) = choices.first_mut() {
            first.extend(checked.quoted.into_segment());
        }
        let count = choices.len();
        let number = |(choice, segments): (usize, Vec<Segment>)| segments.into_iter().map(move |one| (choice, one));
        let segments: Vec<(usize, Segment)> = choices.into_iter().enumerate().flat_map(number).collect();
        let events = segments.iter().map(|(_, segment)| segment.event.clone()).collect();
        Ok(Reply { api, unknown, text, body: value, segments, events, choices: count, stripped })
    }

    /// Returns its id, as the vendor gave it.
    pub fn id(&self) -> Option<&str> {
        self.body.text("id")
    }

    /// Returns how many tokens the body of a reply says that it cost, sent and received; none if it does not say.
    pub fn read_usage(body: &[u8]) -> Option<ReplyUsage> {
        const PARTS: [&str; 6] = [
            "prompt_tokens",
            "completion_tokens",
            "input_tokens",
            "output_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        ];
        let body = json::parse(body).ok()?;
        let usage = body.get("usage")?;
        let read = |count: &Json| count.as_i64().and_then(|count| u64::try_from(count).ok());
        let read = |count: &Json| read(count).filter(|count| *count <= MAX_REPLY_TOKENS);
        let count = |key: &str| usage.get(key).filter(|count| !count.is_null()).map(read);
        let total = count("total_tokens");
        if let Some(Some(tokens)) = total {
            return Some(ReplyUsage { tokens, is_whole: true });
        }
        let parts: Vec<Option<u64>> = PARTS.iter().filter_map(|key| count(key)).collect();
        let is_whole = total.is_none() && parts.iter().all(Option::is_some);
        let tokens = parts.iter().flatten().copied().fold(0, u64::saturating_add);
        (total.is_some() || !parts.is_empty()).then_some(ReplyUsage { tokens, is_whole })
    }

    pub(crate) fn api(&self) -> Api {
        self.api
    }

    pub(crate) fn body(&self) -> &Json {
        &self.body
    }

    /// Returns how many choices it has.
    pub(crate) fn choices(&self) -> usize {
        self.choices
    }

    /// Returns the events of the content of a choice.
    pub(crate) fn events_of(&self, choice: usize) -> impl Iterator<Item = &Event> {
        let own = self.segments.iter().filter(move |(of, segment)| *of == choice && !is_quoted(segment));
        own.map(|(_, segment)| &segment.event)
    }

    /// Whether a word is split between two parts of a text that are next to each other: clients that join them read another word than those that show
    /// each part alone, and only one of the two is in the [events](Reply::events).
    pub fn has_split_word(&self) -> bool {
        self.segments.iter().any(|(_, segment)| segment.has_split_word())
    }

    /// Returns the reply with a line end where a block, such as thinking, splits a word, and where two of its messages would
    /// make one: so clients that join the parts of a text read the same words as those that show each alone.
    pub fn separate_texts(self) -> Result<Reply, WireRefusal> {
        let mut edits: Edits = self.segments.iter().flat_map(|(_, segment)| segment.separate_texts()).collect();
        let has_text = |(_, segment): &&(usize, Segment)| !segment.texts.is_empty() && !is_quoted(segment);
        let said: Vec<&(usize, Segment)> = self.segments.iter().filter(has_text).collect();
        let of_one = said.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        edits.extend(of_one.filter_map(|pair| pair[0].1.separate_from(&pair[1].1)));
        if edits.is_empty() {
            return Ok(self);
        }
        let text = edit_text(&self.text, &edits).ok_or_else(|| shape("a change cannot be written back"))?;
        let separated = Reply::read_with(self.api, text.as_bytes(), self.unknown)?;
        Ok(Reply { stripped: self.stripped, ..separated })
    }

    /// Returns the fields that no table names and that the client does not get.
    pub fn stripped(&self) -> &StrippedFields {
        &self.stripped
    }

    /// Returns the events in their order, choice by choice; from the second choice on they have a member `choice`. The
    /// events of tools that the vendor runs have a member `executed_by`.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the reply after rulings on its events, in the order of the events. Events without a ruling are
    /// forwarded. A change that cannot be written back is refused.
    pub fn settle(&self, rulings: &[Ruling]) -> Result<JudgedReply, WireRefusal> {
        self.settle_for(false, rulings)
    }

    /// [`settle`](Reply::settle) for the reply to a request: if that asked for structured output, a denial becomes a
    /// refusal in the vendor's own form, which clients do not take for the output.
    pub fn settle_reply_to(&self, request: &[u8], rulings: &[Ruling]) -> Result<JudgedReply, WireRefusal> {
        let is_denied = rulings.iter().any(Ruling::is_denial);
        let request = if is_denied { json::parse(request).ok() } else { None };
        let is_structured = request.is_some_and(|request| self.api.interface().wants_structure(&request));
        self.settle_for(is_structured, rulings)
    }

    fn settle_for(&self, is_structured: bool, rulings: &[Ruling]) -> Result<JudgedReply, WireRefusal> {
        if rulings.iter().all(Ruling::is_forward) {
            return Ok(JudgedReply { body: self.text.clone().into_bytes(), sent: self.sent_items() });
        }
        let ruled = self.segments.iter().zip(rulings);
        let ruled = ruled.map(|((choice, segment), ruling)| RuledSegment { segment, ruling, choice: *choice });
        let (quoted, ruled): (Vec<_>, Vec<_>) = ruled.partition(|ruled| is_quoted(ruled.segment));
        let reply = RuledReply { body: &self.body, segments: ruled, choices: self.choices, is_structured };
        let mut edits = self.api.interface().edit_reply(&reply)?;
        for RuledSegment { segment, ruling, .. } in quoted {
            let within = |(at, _): &(JsonPath, JsonEdit)| edits.iter().any(|(path, _)| at.starts_with(path));
            // The content may have changed, and what is beside it with it.
            let own: Edits = edit_quoted(segment, ruling)?.into_iter().filter(|edit| !within(edit)).collect();
            edits.extend(own);
        }
        // A member beside several texts is emptied for each of them.
        let mut places: HashSet<JsonPath> = HashSet::with_capacity(edits.len());
        edits.retain(|(path, _)| places.insert(path.clone()));
        let text = edit_text(&self.text, &edits).ok_or_else(|| shape("a change cannot be written back"))?;
        let sent = Reply::read_with(self.api, text.as_bytes(), self.unknown)?.sent_items();
        Ok(JudgedReply { body: text.into_bytes(), sent })
    }

    /// Returns the next request to the model, if every call of the reply that the client would carry out is denied: the
    /// request that was sent, with the reply and the denials as the results of its calls. `denials` has the ids of denied
    /// calls, each with the text for the model. None if a call remains, or if the request has no place for the results.
    pub fn correct_request(&self, sent: &[u8], denials: &[(Text, String)]) -> Option<Vec<u8>> {
        let is_clients = |event: &&Event| event.kind == Kind::ToolCall && event.more.get(EXECUTED_BY).is_none();
        let mut calls = self.events.iter().filter(is_clients).peekable();
        calls.peek()?;
        let denied: HashSet<&Text> = denials.iter().map(|(id, _)| id).collect();
        let is_denied = |event: &Event| event.id.as_ref().is_some_and(|id| denied.contains(id));
        if self.choices != 1 || !calls.all(is_denied) {
            return None;
        }
        let text = std::str::from_utf8(sent).ok()?;
        let request = json::parse_str(text).ok()?;
        let edits = self.api.interface().correct_request(&request, &self.body, denials)?;
        Some(edit_text(text, &edits)?.into_bytes())
    }

    /// Returns the next request to a model all of whose calls in a stream are denied, like
    /// [`correct_request`](Reply::correct_request); `bytes` are those of the stream.
    pub fn correct_streamed(api: Api, bytes: &[u8], sent: &[u8], denials: &[(Text, String)]) -> Option<Vec<u8>> {
        let mut framer = SseFramer::default();
        let mut frames = framer.push(bytes);
        frames.extend(framer.finish());
        let (mut events, mut vendor) = (Vec::new(), api.interface().open_stream(StreamLimits::default()));
        for frame in &frames {
            match read_fields(frame).ok()? {
                (_, Some(data)) if !data.is_empty() && data.trim() != "[DONE]" => {
                    let event = json::parse_str(&data).ok()?;
                    let edited = edit_payload(&data, &vendor.normalize(&event).ok()?).ok()?;
                    events.push(edited.map_or(event, |(_, edited)| edited));
                }
                _ => {}
            }
        }
        let whole = api.interface().join_stream(&events)?.to_string();
        let reply = Reply::read_with(api, whole.as_bytes(), UnknownFields::default()).ok()?;
        reply.correct_request(sent, denials)
    }

    /// Returns the items that the client will send back, for each choice.
    fn sent_items(&self) -> Vec<Vec<SentItem>> {
        let of_choice = |choice: usize| {
            let own = self.segments.iter().filter(move |(number, _)| *number == choice);
            // Clients do not send back what the service says about itself, and what it quotes.
            let own = own.filter(|(_, segment)| {
                let is_service = matches!(&segment.event.kind, Kind::Error | Kind::Other(_));
                !is_service && !is_quoted(segment) && !segment.is_sent_back
            });
            own.map(|(_, segment)| SentItem::from_event(&segment.event)).collect()
        };
        (0..self.choices).map(of_choice).collect()
    }
}
