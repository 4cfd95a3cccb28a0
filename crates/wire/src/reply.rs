//! A whole reply of a model.

use lictor::event::Event;

use crate::history::Sent;
use crate::{Api, Refused, Ruling};

/// A whole reply of a model.
#[derive(Clone, Debug)]
pub struct Reply {
    events: Vec<Event>,
}

/// A reply as the client gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The body: the very same bytes if everything was forwarded.
    pub body: Vec<u8>,
    /// What it says, for [`Known::replied`](crate::Known::replied).
    pub sent: Vec<Vec<Sent>>,
}

impl Reply {
    /// Reads the body of a reply that succeeded; one that failed says nothing of an agent and needs no judging.
    pub fn read(api: Api, body: &[u8]) -> Result<Reply, Refused> {
        let _ = (api, body);
        Err(Refused::new("reply.shape", "not yet"))
    }

    /// What the model said and did, in order; of several choices one after the other, from the second on with `choice`
    /// beside the event. What a tool of the vendor's has done already has `executed_by` beside it.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The reply after so many rulings, one for each event. Events without a ruling are forwarded.
    pub fn settle(&self, rulings: &[Ruling]) -> Settled {
        let _ = rulings;
        Settled { body: Vec::new(), sent: Vec::new() }
    }
}
