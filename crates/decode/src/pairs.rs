//! Calls and their answers, in logs whose ids cannot be trusted to be there or to be used once.
//!
//! Some models never number their calls, and some give one number to several. Here every call of a session gets an id
//! of its own, and an answer gets the id of the oldest open call that it can belong to.

use std::collections::HashMap;

use lictor_event::Event;
use lictor_json::Text;

/// The calls of one session.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    open: Vec<Open>,
    /// How often each id was given.
    given: HashMap<Text, u32>,
    calls: u32,
}

#[derive(Debug)]
struct Open {
    /// The id in the log.
    given: Option<Text>,
    /// The id of the event.
    id: Text,
    tool: Option<Text>,
}

impl Pairs {
    /// Gives a call an id of its own.
    pub(super) fn call(&mut self, call: &mut Event) {
        self.calls += 1;
        let given = call.id.take().filter(|id| !id.is_empty());
        let id = match &given {
            None => self.unused(Text::from(format!("call-{}", self.calls))),
            Some(id) => self.unused(id.clone()),
        };
        self.open.push(Open { given, id: id.clone(), tool: call.tool.clone() });
        call.id = Some(id);
    }

    /// Gives an answer the id of its call, and the name of its tool where the log leaves it out.
    pub(super) fn answer(&mut self, answer: &mut Event) {
        let given = answer.id.take().filter(|id| !id.is_empty());
        let fits = |open: &Open| {
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

    /// The id itself when it is new, else the id with a number behind it.
    fn unused(&mut self, mut id: Text) -> Text {
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
    use lictor_event::Kind;

    fn event(kind: Kind, id: Option<&str>, tool: Option<&str>) -> Event {
        Event { id: id.map(Text::from), tool: tool.map(Text::from), ..Event::new(kind) }
    }

    /// Steps are `call id tool` or `answer id tool`; `-` is nothing. The ids that come out, in order.
    fn ids(steps: &[&str]) -> Vec<String> {
        let mut pairs = Pairs::default();
        let mut ids = Vec::new();
        for step in steps {
            let words: Vec<Option<&str>> = step.split(' ').map(|word| (word != "-").then_some(word)).collect();
            let mut event = event(Kind::ToolCall, words[1], words[2]);
            match words[0] {
                Some("call") => pairs.call(&mut event),
                _ => pairs.answer(&mut event),
            }
            ids.push(format!("{}/{}", event.id.unwrap_or_default(), event.tool.unwrap_or_default()));
        }
        ids
    }

    #[test]
    fn an_id_given_twice_stands_for_two_calls() {
        assert_eq!(
            ids(&["call a f", "answer a -", "call a g", "call a f", "answer a f", "answer a -"]),
            ["a/f", "a/f", "a#2/g", "a#3/f", "a#3/f", "a#2/g"]
        );
    }

    #[test]
    fn calls_without_an_id_are_answered_in_their_order() {
        assert_eq!(
            ids(&["call - f", "call - f", "call - g", "answer - g", "answer - f", "answer - -"]),
            ["call-1/f", "call-2/f", "call-3/g", "call-3/g", "call-1/f", "call-2/f"]
        );
    }

    #[test]
    fn an_answer_to_nothing_keeps_its_id() {
        assert_eq!(ids(&["answer x f", "call a#2 f", "call a f", "call a f"]), ["x/f", "a#2/f", "a/f", "a#2#2/f"]);
    }
}
