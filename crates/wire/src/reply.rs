//! Whole replies of a model.

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json, JsonPath, edit_text};

use crate::api::Api;
use crate::history::SentItem;
use crate::refusal::WireRefusal;
use crate::ruled_reply::{RuledReply, RuledSegment, shape};
use crate::ruling::Ruling;
use crate::segment::Segment;

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
}

/// A reply as the client gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedReply {
    /// The body: the same bytes if everything was forwarded.
    pub body: Vec<u8>,
    /// Its content, for [`ConversationHistory::replied`](crate::ConversationHistory::replied).
    pub sent: Vec<Vec<SentItem>>,
}

impl Reply {
    /// Reads the body of a successful reply. The body of an error holds no event of an agent.
    pub fn read(api: Api, body: &[u8]) -> Result<Reply, WireRefusal> {
        let value = json::parse(body).map_err(|error| WireRefusal::json("the body of the reply", error))?;
        let text = String::from_utf8(body.to_vec()).map_err(|_| shape("the body is not UTF-8"))?;
        let choices = api.interface().read_reply(&value)?;
        let count = choices.len();
        let number = |(choice, segments): (usize, Vec<Segment>)| segments.into_iter().map(move |one| (choice, one));
        let segments: Vec<(usize, Segment)> = choices.into_iter().enumerate().flat_map(number).collect();
        let events = segments.iter().map(|(_, segment)| segment.event.clone()).collect();
        Ok(Reply { api, text, body: value, segments, events, choices: count })
    }

    /// Returns the events in their order, choice by choice; from the second choice on they have a member `choice`. The
    /// events of tools that the vendor runs have a member `executed_by`.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the reply after rulings on its events, in the order of the events. Events without a ruling are
    /// forwarded. A change that cannot be written back is refused.
    pub fn settle(&self, rulings: &[Ruling]) -> Result<JudgedReply, WireRefusal> {
        if rulings.iter().all(Ruling::is_forward) {
            return Ok(JudgedReply { body: self.text.clone().into_bytes(), sent: self.sent_items() });
        }
        let ruled = self.segments.iter().zip(rulings);
        let ruled = ruled.map(|((choice, segment), ruling)| RuledSegment { segment, ruling, choice: *choice });
        let reply = RuledReply { body: &self.body, segments: ruled.collect(), choices: self.choices };
        let mut edits = self.api.interface().edit_reply(&reply)?;
        // A member beside several texts is emptied for each of them.
        let mut places: Vec<JsonPath> = Vec::with_capacity(edits.len());
        edits.retain(|(path, _)| {
            let is_new = !places.contains(path);
            places.push(path.clone());
            is_new
        });
        let text = edit_text(&self.text, &edits).ok_or_else(|| shape("a change cannot be written back"))?;
        let sent = Reply::read(self.api, text.as_bytes())?.sent_items();
        Ok(JudgedReply { body: text.into_bytes(), sent })
    }

    /// Returns the items that the client will send back, for each choice.
    fn sent_items(&self) -> Vec<Vec<SentItem>> {
        let of_choice = |choice: usize| {
            let own = self.segments.iter().filter(move |(number, _)| *number == choice);
            // Clients do not send back what the service says about itself.
            let own = own.filter(|(_, segment)| !matches!(&segment.event.kind, Kind::Error | Kind::Other(_)));
            own.map(|(_, segment)| SentItem::from_event(&segment.event)).collect()
        };
        (0..self.choices).map(of_choice).collect()
    }
}
