//! Traces that are one conversation, though no span says so.
//!
//! An instrumentation without a span around its requests gives each request a trace of its own. Such a request repeats
//! the history before it, as in a log of requests, and it is found in the same way (see [`Conversations`]). Traces are
//! one session if the history names a call by its id. Without such a call two persons may have said the same words: the
//! traces stay apart, and a fault says so.

use std::collections::{HashMap, HashSet};

use super::{Span, Work, order_steps};
use crate::conversation::{Conversations, Request, Stamp};
use crate::{DecodedEvents, Fault};
use lictor_event::{Event, Kind};
use lictor_json::Text;

/// The traces of a file that name no session.
#[derive(Default)]
struct TraceJoiner {
    conversations: Conversations,
    /// The trace that began each conversation.
    owners: Vec<Text>,
    /// The trace that each joined trace continues.
    joined: HashMap<Text, Text>,
    /// The traces that may continue others.
    doubtful: HashSet<Text>,
    /// The first of them.
    fault: Option<Fault>,
}

/// Gives the traces of one conversation the same session, and returns the fault of those that may be one.
pub(super) fn join_traces(spans: &mut [Span]) -> Option<Fault> {
    let named: HashSet<&Text> =
        spans.iter().filter(|span| span.session.is_some()).filter_map(|span| span.trace.as_ref()).collect();
    let unnamed: HashSet<Text> =
        spans.iter().filter_map(|span| span.trace.clone()).filter(|trace| !named.contains(trace)).collect();
    if unnamed.len() < 2 {
        return None;
    }
    let mut joiner = TraceJoiner::default();
    // The conversation of each request, for its answer.
    let mut asked: HashMap<usize, usize> = HashMap::new();
    for step in order_steps(spans) {
        let span = &spans[step.span];
        let Some(trace) = span.trace.as_ref().filter(|trace| unnamed.contains(*trace)) else { continue };
        match (&span.work, step.late) {
            (Work::Model { input, .. }, false) if !input.is_empty() => {
                asked.insert(step.span, joiner.take_input(input, trace, span));
            }
            (Work::Model { output, .. }, true) => {
                if let Some(&conversation) = asked.get(&step.span) {
                    joiner.take_output(conversation, output, span);
                }
            }
            _ => {}
        }
    }
    for span in spans.iter_mut() {
        if let Some(trace) = &span.trace
            && let Some(first) = joiner.find_first(trace)
        {
            span.session = Some(first);
        }
    }
    joiner.take_fault().or_else(|| joiner.conversations.take_fault())
}

impl TraceJoiner {
    /// Takes the input of a model, and returns its conversation.
    fn take_input(&mut self, input: &[Event], trace: &Text, span: &Span) -> usize {
        let events: Vec<Event> =
            input.iter().filter(|event| event.kind != Kind::ToolDefinitions).map(without_place).collect();
        let names_call = events.iter().any(|event| event.kind == Kind::ToolCall && event.id.is_some());
        let repeats_act = events.iter().any(|event| event.kind == Kind::AssistantMessage) || names_call;
        let request = Request { events, ..Request::default() };
        self.conversations.take_request(request, &stamp(span), &mut DecodedEvents::default());
        let conversation = self.conversations.current();
        match self.owners.get(conversation) {
            None => self.owners.push(trace.clone()),
            Some(owner) if owner != trace && names_call => self.join(trace, &owner.clone()),
            Some(owner) if owner != trace && repeats_act => self.doubt(trace, span),
            Some(_) => {}
        }
        conversation
    }

    fn take_output(&mut self, conversation: usize, output: &[Event], span: &Span) {
        let events = output.iter().map(without_place).collect();
        self.conversations.take_answer(conversation, vec![events], &stamp(span), &mut DecodedEvents::default());
    }

    /// Joins a trace with the one that it continues, unless they are one already.
    fn join(&mut self, trace: &Text, owner: &Text) {
        let first = self.find_first(trace).unwrap_or_else(|| trace.clone());
        let owner = self.find_first(owner).unwrap_or_else(|| owner.clone());
        if first != owner {
            self.joined.insert(first, owner);
        }
    }

    /// Returns the first trace of a conversation; none if the trace continues no other one.
    fn find_first(&self, trace: &Text) -> Option<Text> {
        let mut first = self.joined.get(trace)?;
        // INVARIANT: a trace is joined once, and only with one that leads to another first trace, so this ends.
        while let Some(before) = self.joined.get(first) {
            first = before;
        }
        Some(first.clone())
    }

    fn doubt(&mut self, trace: &Text, span: &Span) {
        self.doubtful.insert(trace.clone());
        self.fault.get_or_insert_with(|| Fault {
            file: span.source.file.clone(),
            line: span.source.line,
            column: None,
            code: "decode.no_session",
            message: String::new(),
        });
    }

    /// Returns the fault of traces that may continue others.
    fn take_fault(&mut self) -> Option<Fault> {
        let fault = self.fault.take()?;
        let traces = self.doubtful.iter().filter(|trace| !self.joined.contains_key(*trace)).count();
        let message = match traces {
            0 => return None,
            1 => "one trace repeats the messages of another one, but names".to_owned(),
            traces => format!("{traces} traces repeat the messages of other ones, but name"),
        };
        let message = format!("{message} no session: each trace is judged as a session; set `session.id` on its spans");
        Some(Fault { message, ..fault })
    }
}

fn stamp(span: &Span) -> Stamp {
    Stamp { source: span.source.clone(), time: None }
}

/// Returns an event as it is compared: its time is that of its span.
fn without_place(event: &Event) -> Event {
    Event { time: None, agent: None, ..event.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::Spans;
    use super::*;
    use lictor_event::Source;
    use lictor_logic::Time;

    /// `u` and `a` say a letter, `c1` is a call, `r1` its result.
    fn event(text: &str) -> Event {
        let (kind, id) = match &text[..1] {
            "u" => (Kind::UserMessage, None),
            "a" => (Kind::AssistantMessage, None),
            "c" => (Kind::ToolCall, Some(&text[1..])),
            _ => (Kind::ToolResult, Some(&text[1..])),
        };
        Event { text: Some(text.into()), id: id.map(Text::from), ..Event::new(kind) }
    }

    /// Spans are `trace: input > output`. Returns the sessions of the events, and the messages of the faults.
    fn emit(spans: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut all = Spans::default();
        for (second, text) in spans.iter().enumerate() {
            let (trace, said) = text.split_once(": ").unwrap();
            let (input, output) = said.split_once(" > ").unwrap();
            let events = |said: &str| said.split_whitespace().map(event).collect::<Vec<Event>>();
            all.push(Span {
                trace: Some(trace.into()),
                start: Some(Time(second as i64 * 10)),
                end: Some(Time(second as i64 * 10 + 5)),
                work: Work::Model { input: events(input), output: events(output) },
                source: Source::default(),
                ..Span::default()
            });
        }
        let mut out = DecodedEvents::default();
        all.emit(&mut out);
        let line = |event: &Event| {
            format!("{} {}", event.session.as_deref().unwrap_or("-"), event.text.as_deref().unwrap_or_default())
        };
        (out.events.iter().map(line).collect(), out.faults.into_iter().map(|fault| fault.message).collect())
    }

    #[test]
    fn traces_that_repeat_calls_are_one_session() {
        let (events, faults) =
            emit(&["t1: ux > c1", "t2: uy > c2", "t3: ux c1 r1 > az", "t4: uy c2 r2 > aw", "t5: ux c1 r1 az uq > c3"]);
        let wanted = ["t1 ux", "t1 c1", "t2 uy", "t2 c2", "t1 r1", "t1 az", "t2 r2", "t2 aw", "t1 uq", "t1 c3"];
        assert_eq!(events, wanted);
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn traces_with_same_opening_stay_apart() {
        let (events, faults) = emit(&["t1: ux > c1", "t2: ux > c1", "t3: ux > ay"]);
        assert_eq!(events, ["t1 ux", "t1 c1", "t2 ux", "t2 c1", "t3 ux", "t3 ay"]);
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn traces_that_repeat_words_only_are_reported() {
        let (events, faults) = emit(&["t1: ux > ay", "t2: ux ay uz > aw"]);
        assert_eq!(events, ["t1 ux", "t1 ay", "t2 ux", "t2 ay", "t2 uz", "t2 aw"]);
        assert!(faults[0].starts_with("one trace repeats the messages of another one"), "{faults:?}");
        assert_eq!(faults.len(), 1);
    }

    #[test]
    fn model_spans_without_content_are_reported() {
        let (events, faults) = emit(&["t1:  > ", "t2:  > "]);
        assert!(events.is_empty(), "{events:?}");
        assert!(faults[0].starts_with("2 spans of calls to models have no content"), "{faults:?}");
        let (_, faults) = emit(&["t1: ux > ay", "t2:  > "]);
        assert!(faults.is_empty(), "{faults:?}");
    }
}
