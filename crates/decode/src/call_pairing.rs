//! Pairs calls with their answers, in logs whose ids may be missing or used twice.
//!
//! Some models never number their calls, and some give one number to several. Here every call of a session gets an id
//! of its own, and an answer gets the id of the oldest open call that it can belong to.

use std::collections::HashMap;

use lictor_event::{Event, Kind};
use lictor_json::Text;

/// The calls of one session.
#[derive(Debug, Default)]
pub(super) struct CallPairing {
    open: Vec<OpenCall>,
    /// How often each id was used.
    given: HashMap<Text, u32>,
    calls: u32,
}

#[derive(Debug)]
struct OpenCall {
    /// The id in the log.
    given: Option<Text>,
    /// The id of the event.
    id: Text,
    tool: Option<Text>,
}

impl CallPairing {
    /// Gives a call a unique id.
    pub(super) fn add_call(&mut self, call: &mut Event) {
        self.calls += 1;
        let given = call.id.take().filter(|id| !id.is_empty());
        let id = match &given {
            None => self.make_unique(Text::from(format!("call-{}", self.calls))),
            Some(id) => self.make_unique(id.clone()),
        };
        self.open.push(OpenCall { given, id: id.clone(), tool: call.tool.clone() });
        call.id = Some(id);
    }

    /// Gives an answer the id of its call, and the name of its tool where the log leaves it out.
    pub(super) fn match_answer(&mut self, answer: &mut Event) {
        let given = answer.id.take().filter(|id| !id.is_empty());
        let fits = |open: &OpenCall| {
            open.given == given && (answer.tool.is_none() || open.tool.is_none() || open.tool == answer.tool)
        };
        match self.open.iter().position(fits) {
            Some(place) => {
                let open = self.open.remove(place);
                answer.id = Some(open.id);
                if answer.tool.is_none() {
                    answer.tool = open.tool;
                }
            }
            None => answer.id = given,
        }
    }

    /// Pairs the calls and the answers among events, in their order.
    pub(super) fn pair_events(&mut self, events: &mut [Event]) {
        for event in events {
            match event.kind {
                Kind::ToolCall => self.add_call(event),
                Kind::ToolResult => self.match_answer(event),
                _ => {}
            }
        }
    }

    /// Returns the id if it is new, else the id with a number after it.
    fn make_unique(&mut self, mut id: Text) -> Text {
        loop {
            let times = self.given.entry(id.clone()).or_default();
            *times += 1;
            if *times == 1 {
                return id;
            }
            id = Text::from(format!("{id}#{times}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: Kind, id: Option<&str>, tool: Option<&str>) -> Event {
        Event { id: id.map(Text::from), tool: tool.map(Text::from), ..Event::new(kind) }
    }

    /// Steps are `call id tool` or `answer id tool`; `-` is nothing. The ids that come out, in order.
    fn ids(steps: &[&str]) -> Vec<String> {
        let mut pairing = CallPairing::default();
        let mut ids = Vec::new();
        for step in steps {
            let words: Vec<Option<&str>> = step.split(' ').map(|word| (word != "-").then_some(word)).collect();
            let mut event = event(Kind::ToolCall, words[1], words[2]);
            match words[0] {
                Some("call") => pairing.add_call(&mut event),
                _ => pairing.match_answer(&mut event),
            }
            ids.push(format!("{}/{}", event.id.unwrap_or_default(), event.tool.unwrap_or_default()));
        }
        ids
    }

    #[test]
    fn pairing_splits_calls_with_one_id() {
        assert_eq!(
            ids(&["call a f", "answer a -", "call a g", "call a f", "answer a f", "answer a -"]),
            ["a/f", "a/f", "a#2/g", "a#3/f", "a#3/f", "a#2/g"]
        );
    }

    #[test]
    fn pairing_answers_calls_without_ids_in_order() {
        assert_eq!(
            ids(&["call - f", "call - f", "call - g", "answer - g", "answer - f", "answer - -"]),
            ["call-1/f", "call-2/f", "call-3/g", "call-3/g", "call-1/f", "call-2/f"]
        );
    }

    #[test]
    fn pairing_keeps_id_of_unmatched_answer() {
        assert_eq!(ids(&["answer x f", "call a#2 f", "call a f", "call a f"]), ["x/f", "a#2/f", "a/f", "a#2#2/f"]);
    }
}
