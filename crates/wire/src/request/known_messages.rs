//! Reads a request whose first messages were in an earlier one.
//!
//! A client sends its whole conversation again with every request. What a message says depends on its own bytes alone,
//! and whether a body is well formed depends on what came before it only through the bytes before it. So the items of
//! messages that have the same bytes as in an earlier body, and the same bytes before them, are taken from there. The rest
//! is read as the body with one entry in the place of those messages. The result is that of [`Request::read`], whatever the
//! earlier request was, and of any caller.

use std::sync::Arc;

use lictor_json::{self as json, JsonStep};

use super::{Request, RequestItem, find_opening, name_tools};
use crate::api::Api;
use crate::refusal::WireRefusal;
use crate::segment::Segment;
use crate::unread::place_of;

/// The entry in the place of the known messages. Like a message, it ends with its last byte: nothing after it could make
/// another value of it, as of a number.
const PLACEHOLDER: &str = "{}";

impl Request {
    /// Reads a body as [`Request::read`] does, and quicker if it begins like that of an earlier request.
    pub fn read_after(earlier: &Request, api: Api, body: &[u8]) -> Result<Request, WireRefusal> {
        // What is wrong with a body is found by reading all of it.
        earlier.read_next(api, body).map_or_else(|| Request::read(api, body), Ok)
    }

    /// Returns how many bytes it keeps, roughly.
    pub fn size(&self) -> usize {
        // The text is there as a body, as an event and as a part of the event.
        self.text.len() * 3 + self.items.len() * size_of::<RequestItem>()
    }

    /// Returns how many bytes at the beginning of a body are those of whole messages, and what is before them.
    pub fn shared_length(&self, body: &[u8]) -> usize {
        self.count_known(body).checked_sub(1).and_then(|last| self.messages.get(last)).map_or(0, |message| message.end)
    }

    /// Returns the next request; none if it has no known message, or if it has to be read as a whole.
    fn read_next(&self, api: Api, body: &[u8]) -> Option<Request> {
        // A body with fewer bytes than values are allowed has fewer values as well, whatever was left out of it.
        if api != self.api || body.len() > json::MAX_VALUES {
            return None;
        }
        let count = self.count_known(body);
        let (start, end) = (self.messages.first()?.start, self.messages.get(count.checked_sub(1)?)?.end);
        let rest = json::read_utf8(body.get(end..)?).ok()?;
        let shortened = [self.text.get(..start)?, PLACEHOLDER, rest].concat();
        let (mut request, mut beside) = Request::read_shortened(api, &shortened, count).ok()?;
        let key = api.interface().message_key();
        let first = beside.iter().position(|segment| find_place(segment, key).is_some()).unwrap_or(beside.len());
        let mut new = beside.split_off(first);
        // The texts of a second list would come between the messages.
        if beside.iter().any(|segment| place_of(&segment.at) > 0 || segment.event.id.is_some())
            || new.iter().any(|segment| find_place(segment, key).is_none())
        {
            return None;
        }
        let is_known = |item: &&Arc<RequestItem>| find_place(&item.segment, key).is_some_and(|place| place < count);
        let mut items: Vec<Arc<RequestItem>> = beside.into_iter().map(RequestItem::new).collect();
        items.extend(self.items.iter().filter(is_known).cloned());
        name_tools(&items, &mut new);
        items.extend(new.into_iter().map(RequestItem::new));
        request.hints.opening = find_opening(&items);
        request.items = items;
        let moved = |at: usize| at + end - start - PLACEHOLDER.len();
        let rest_messages = request.messages.iter().skip(1).map(|message| moved(message.start)..moved(message.end));
        request.messages = self.messages.iter().take(count).cloned().chain(rest_messages).collect();
        request.text = [self.text.get(..end)?, rest].concat();
        Some(request)
    }

    /// Returns how many messages a body has in common with this one: all bytes to their ends are the same.
    fn count_known(&self, body: &[u8]) -> usize {
        let is_same = |from: usize, to: usize| body.get(from..to) == self.text.as_bytes().get(from..to);
        // Most requests continue the one before.
        if self.messages.last().is_some_and(|last| is_same(0, last.end)) {
            return self.messages.len();
        }
        let mut from = 0;
        let mut is_known = |end: usize| is_same(std::mem::replace(&mut from, end), end);
        self.messages.iter().map(|message| message.end).map_while(|end| is_known(end).then_some(())).count()
    }
}

/// Returns the place of a segment in the list under a key; none if it is elsewhere.
fn find_place(segment: &Segment, key: &str) -> Option<usize> {
    match segment.at.as_slice() {
        [JsonStep::Key(list), JsonStep::Index(place), ..] if list == key => Some(*place),
        _ => None,
    }
}
