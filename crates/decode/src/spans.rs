//! Spans of a trace as the events of a session.
//!
//! Tracing tools write a span for each call of a model or a tool, children before parents or after, and each call of a
//! model repeats the conversation so far. Here the spans of a file are gathered, and [`emit`](Spans::emit) adds the
//! events in the order of time: a model's input when its span starts, its output when it ends, a tool's call and answer
//! likewise. A repeated input becomes one event (see [`history`]), and so does a call that several spans show: the
//! model that asked for it, the framework that ran it, the protocol that carried it.
//!
//! A span belongs to the session that it or its nearest ancestor names, else to the only session its trace names, else
//! to the session of its trace, which continues that of an earlier trace if it repeats its history (see
//! [`joined_traces`]). The agent is found in the same way.

mod history;
mod joined_traces;
pub(super) mod raw_span;

use std::collections::HashMap;
use std::sync::Arc;

use history::History;
use joined_traces::join_traces;
use lictor_logic::Time;

use super::{DecodedEvents, Fault};
use lictor_event::{Arguments, Event, Kind, Source, parse_time};
use lictor_json::{Json, Text};

/// How many spans of other work may be between two that show the same call.
const MAX_FRAME_LAYERS: usize = 4;

/// With how many spans of its ids a span is compared. Writers repeat a span as it is.
const MAX_COMPARED: usize = 8;

/// One span of any tracing tool.
#[derive(Debug, Default)]
pub(super) struct Span {
    pub(super) id: Option<Text>,
    pub(super) parent: Option<Text>,
    pub(super) trace: Option<Text>,
    /// The session that the span itself names.
    pub(super) session: Option<Text>,
    /// The agent that the span itself names.
    pub(super) agent: Option<Text>,
    pub(super) start: Option<Time>,
    pub(super) end: Option<Time>,
    pub(super) work: Work,
    pub(super) source: Source,
}

/// The work that a span shows.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Work {
    /// A frame around other spans.
    #[default]
    Frame,
    /// A model was asked.
    Model { input: Vec<Event>, output: Vec<Event> },
    /// A tool was called and, unless the span was truncated, answered.
    Tool { call: Box<Event>, answer: Option<Box<Event>> },
    /// Something that happened when the span started.
    Start(Box<Event>),
    /// Something that had happened when the span ended.
    End(Box<Event>),
}

/// Returns a fault at the source of a span.
pub(super) fn span_fault(source: &Source, message: String) -> Fault {
    Fault { file: Arc::clone(&source.file), line: source.line, column: None, code: "decode.unknown_record", message }
}

/// Reads a time: a text, in UTC unless it has an offset, with a `T` or a blank within it, or a number since 1970.
pub(super) fn read_utc_time(value: &Json) -> Option<Time> {
    match value {
        Json::String(text) => {
            let text = text.replacen(' ', "T", 1);
            parse_time(&text).or_else(|| parse_time(&format!("{text}Z")))
        }
        number => lictor_event::read_time(number),
    }
}

/// Returns the event of the tools on offer.
pub(super) fn definitions(tools: Json) -> Event {
    let mut event = Event::new(Kind::ToolDefinitions);
    event.more.insert("tools", tools);
    event
}

/// Returns the event of another program's check, by the name of the check.
pub(super) fn policy_check(check: Option<Text>, triggered: bool) -> Event {
    let mut event = Event::new(Kind::Other(Text::from("policy_check")));
    if let Some(check) = check {
        event.more.insert("check", check);
    }
    if triggered {
        event.labels.push(Text::from("triggered"));
    }
    event
}

/// The spans of a file.
#[derive(Debug, Default)]
pub(super) struct Spans {
    spans: Vec<Span>,
}

/// The start or the end of a span, with its place in time.
struct SpanStep {
    /// When it happened; then the start of its span; then the place of the span in the file.
    order: (Time, Time, usize),
    late: bool,
    span: usize,
}

impl Spans {
    /// Adds a span.
    pub(super) fn push(&mut self, span: Span) {
        self.spans.push(span);
    }

    /// Emits the events of all spans, and forgets the spans.
    pub(super) fn emit(&mut self, out: &mut DecodedEvents) {
        let mut spans = std::mem::take(&mut self.spans);
        drop_repeated(&mut spans);
        let parents = find_parents(&spans);
        fold_frames(&mut spans, &parents);
        out.faults.extend(join_traces(&mut spans));
        inherit_sessions(&mut spans, &parents);
        let silent = find_silent_models(&spans);
        let mut histories: HashMap<Option<Text>, History> = HashMap::new();
        let mut answered: HashMap<usize, usize> = HashMap::new();
        let before = out.events.len();
        for step in order_steps(&spans) {
            let span = &mut spans[step.span];
            let history = histories.entry(span.session.clone()).or_default();
            let first = out.events.len();
            match (&mut span.work, step.late) {
                (Work::Model { input, .. }, false) => {
                    history.take_input(std::mem::take(input), span.trace.as_ref(), &mut out.events);
                }
                (Work::Model { output, .. }, true) => {
                    history.take_output(std::mem::take(output), span.trace.as_ref(), &mut out.events);
                }
                (Work::Tool { call, .. }, false) => {
                    let call = std::mem::take(call.as_mut());
                    answered.insert(step.span, history.take_call(call, span.id.as_ref(), &mut out.events));
                }
                (Work::Tool { answer, .. }, true) => {
                    if let (Some(answer), Some(&call)) = (answer.take(), answered.get(&step.span)) {
                        history.take_answer(call, *answer, &mut out.events);
                    }
                }
                (Work::Start(event), false) | (Work::End(event), true) => {
                    out.events.push(std::mem::take(event.as_mut()));
                }
                _ => {}
            }
            for event in &mut out.events[first..] {
                event.session.clone_from(&span.session);
                event.time = if step.late { span.end } else { span.start };
                event.source = span.source.clone();
                // Messages of users and operators are no acts of the agent.
                if event.agent.is_none() && !matches!(event.kind, Kind::UserMessage | Kind::SystemMessage) {
                    event.agent.clone_from(&span.agent);
                }
            }
        }
        if out.events.len() == before {
            out.faults.extend(silent);
        }
        // Recorders leave arguments out unless they are told to capture content. So they are unknown, not absent.
        for event in &mut out.events[before..] {
            if event.kind == Kind::ToolCall && event.args.is_none() {
                event.args = Some(Arguments::Unparsed(Text::default()));
            }
        }
    }
}

/// Drops spans that were exported again: an exporter that gets no answer sends its spans once more. A span with the ids of
/// another one and other content stays, as ids are what a log says.
fn drop_repeated(spans: &mut Vec<Span>) {
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    let mut places: HashMap<(Text, Text), Vec<usize>> = HashMap::new();
    for span in spans.drain(..) {
        if let (Some(trace), Some(id)) = (&span.trace, &span.id) {
            let same = places.entry((trace.clone(), id.clone())).or_default();
            if same.iter().take(MAX_COMPARED).any(|place| kept[*place].repeats(&span)) {
                continue;
            }
            same.push(kept.len());
        }
        kept.push(span);
    }
    *spans = kept;
}

impl Span {
    /// Whether another span says the same, apart from where it was read.
    fn repeats(&self, other: &Span) -> bool {
        (self.start, self.end, &self.parent, &self.session, &self.agent)
            == (other.start, other.end, &other.parent, &other.session, &other.agent)
            && self.work == other.work
    }
}

/// Returns the fault of calls of models that were recorded without their messages; none if there are no such calls.
fn find_silent_models(spans: &[Span]) -> Option<Fault> {
    let is_silent =
        |span: &&Span| matches!(&span.work, Work::Model { input, output } if input.is_empty() && output.is_empty());
    let first = spans.iter().find(is_silent)?;
    let calls = match spans.iter().filter(is_silent).count() {
        1 => "the span of a call to a model has".to_owned(),
        count => format!("{count} spans of calls to models have"),
    };
    let message = format!(
        "{calls} no content, neither messages nor calls of tools: turn on the capture of content in the instrumentation, \
         or add the log records in which it writes them"
    );
    Some(Fault { code: "decode.no_content", ..span_fault(&first.source, message) })
}

/// Returns the index of each span's parent.
fn find_parents(spans: &[Span]) -> Vec<Option<usize>> {
    let places: HashMap<&Text, usize> =
        spans.iter().enumerate().filter_map(|(place, span)| Some((span.id.as_ref()?, place))).collect();
    let parent = |(place, span): (usize, &Span)| {
        let parent = *places.get(span.parent.as_ref()?)?;
        // Ids are unique within a trace only; a span that is its own parent has none.
        (parent != place && spans[parent].trace == span.trace).then_some(parent)
    };
    spans.iter().enumerate().map(parent).collect()
}

/// Turns spans that only wrap others into frames: a model's call around the same call one layer down, and a tool's call
/// around the same call on its way to the tool.
fn fold_frames(spans: &mut [Span], parents: &[Option<usize>]) {
    let mut wraps = vec![false; spans.len()];
    for place in 0..spans.len() {
        match &spans[place].work {
            Work::Model { input, output } if !(input.is_empty() && output.is_empty()) => {
                let mut above = parents[place];
                // INVARIANT: what lies above a wrapper was marked when it was, so each span is walked over once.
                while let Some(frame) = above
                    && !wraps[frame]
                    && !matches!(spans[frame].work, Work::Tool { .. })
                {
                    wraps[frame] = true;
                    above = parents[frame];
                }
            }
            Work::Tool { .. } => fold_call(spans, parents, place),
            _ => {}
        }
    }
    for (span, wraps) in spans.iter_mut().zip(wraps) {
        if wraps && matches!(span.work, Work::Model { .. }) {
            span.work = Work::Frame;
        }
    }
}

/// Folds a tool's span into the one above it that shows the same call, a few layers of transport in between.
fn fold_call(spans: &mut [Span], parents: &[Option<usize>], place: usize) {
    let is_frame = |place: usize| matches!(spans[place].work, Work::Frame);
    let mut above = parents[place];
    for _ in 0..MAX_FRAME_LAYERS {
        above = above.and_then(|frame| if is_frame(frame) { parents[frame] } else { Some(frame) });
    }
    let Some(above) = above.filter(|above| *above != place) else { return };
    let (Work::Tool { call: inner, answer: inner_answer }, Work::Tool { call: outer, answer }) =
        (&spans[place].work, &spans[above].work)
    else {
        return;
    };
    let same = inner.tool == outer.tool
        && match (&inner.args, &outer.args) {
            (Some(inner), Some(outer)) => history::have_same_arguments(inner, outer),
            _ => true,
        };
    if !same {
        return;
    }
    // The outer span remains for both, with what only the inner one recorded.
    let is_empty = answer.as_ref().is_none_or(|answer| answer.text.is_none() && answer.result.is_none());
    let (args, answer) = (inner.args.clone(), inner_answer.clone().filter(|_| is_empty));
    let end = spans[place].end;
    spans[place].work = Work::Frame;
    let outer = &mut spans[above];
    outer.end = outer.end.or(end);
    if let Work::Tool { call, answer: outer_answer } = &mut outer.work {
        call.args = call.args.take().or(args);
        if let Some(mut answer) = answer {
            answer.failed |= outer_answer.as_ref().is_some_and(|outer| outer.failed);
            *outer_answer = Some(answer);
        }
    }
}

/// Gives every span its session and its agent.
fn inherit_sessions(spans: &mut [Span], parents: &[Option<usize>]) {
    let mut only: HashMap<Text, Option<Text>> = HashMap::new();
    for span in spans.iter() {
        if let (Some(trace), Some(session)) = (&span.trace, &span.session) {
            let known = only.entry(trace.clone()).or_insert_with(|| Some(session.clone()));
            if known.as_ref() != Some(session) {
                *known = None;
            }
        }
    }
    let mut done = vec![false; spans.len()];
    let mut path = Vec::new();
    for place in 0..spans.len() {
        let mut above = Some(place);
        // A span that is being looked at counts as done, so that a circle of parents ends.
        while let Some(span) = above
            && !done[span]
        {
            done[span] = true;
            path.push(span);
            above = parents[span];
        }
        while let Some(place) = path.pop() {
            let parent = parents[place].map(|parent| (spans[parent].session.clone(), spans[parent].agent.clone()));
            let (session, agent) = parent.unwrap_or_default();
            let span = &mut spans[place];
            let of_trace = || span.trace.as_ref().and_then(|trace| only.get(trace).cloned().flatten());
            span.session = span.session.take().or(session).or_else(of_trace).or_else(|| span.trace.clone());
            span.agent = span.agent.take().or(agent);
        }
    }
}

/// Returns the steps of all spans in the order of time. A span without a time keeps its place in the file.
fn order_steps(spans: &[Span]) -> Vec<SpanStep> {
    let mut steps = Vec::with_capacity(spans.len() * 2);
    let mut before = Time(i64::MIN);
    for (place, span) in spans.iter().enumerate() {
        let start = span.start.or(span.end).unwrap_or(before);
        before = start;
        let end = span.end.unwrap_or(start).max(start);
        if !matches!(span.work, Work::Frame) {
            steps.push(SpanStep { order: (start, start, place), late: false, span: place });
            steps.push(SpanStep { order: (end, start, place), late: true, span: place });
        }
    }
    steps.sort_by_key(|step| (step.order, step.late));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_json::Object;

    fn span(id: &str, parent: &str, work: Work) -> Span {
        let named = |id: &str| (!id.is_empty()).then(|| Text::from(id));
        Span { id: named(id), parent: named(parent), trace: named("t"), work, ..Span::default() }
    }

    fn messages(kind: Kind, text: &str) -> Vec<Event> {
        vec![Event { text: Some(Text::from(text)), ..Event::new(kind) }]
    }

    fn model_work(text: &str) -> Work {
        Work::Model { input: messages(Kind::UserMessage, text), output: messages(Kind::AssistantMessage, text) }
    }

    fn tool_work(tool: &str) -> Work {
        let mut call = Event { tool: Some(Text::from(tool)), ..Event::new(Kind::ToolCall) };
        call.args = Some(Arguments::Value(Json::Object(Object::new())));
        Work::Tool { call: Box::new(call), answer: None }
    }

    #[test]
    fn arguments_that_spans_lack_are_unknown() {
        let bare = Work::Tool { call: Box::new(Event::new(Kind::ToolCall)), answer: None };
        let mut out = DecodedEvents::default();
        Spans { spans: vec![span("a", "", bare), span("b", "", tool_work("pay"))] }.emit(&mut out);
        let args: Vec<_> = out.events.iter().map(|event| event.args.clone()).collect();
        let none_given = Arguments::Value(Json::Object(Object::new()));
        assert_eq!(args, [Some(Arguments::Unparsed(Text::default())), Some(none_given)]);
    }

    fn emitted(spans: Vec<Span>) -> Vec<String> {
        let mut out = DecodedEvents::default();
        Spans { spans }.emit(&mut out);
        let words = |event: &Event| event.text.clone().or(event.tool.clone()).unwrap_or_default();
        out.events.iter().map(|event| format!("{} {}", event.kind, words(event))).collect()
    }

    #[test]
    fn spans_with_circular_parents_are_read() {
        let circle = vec![span("a", "b", Work::Frame), span("b", "c", tool_work("f")), span("c", "a", model_work("x"))];
        assert_eq!(emitted(circle), ["tool_call f", "user_message x", "assistant_message x"]);
        assert_eq!(emitted(vec![span("a", "a", tool_work("f"))]), ["tool_call f"]);
    }

    #[test]
    fn spans_nested_deeply_take_linear_time() {
        let height = 100_000;
        let floor = |at: usize| span(&at.to_string(), &(at + 1).to_string(), Work::Frame);
        let mut tower: Vec<Span> = (0..height).map(floor).collect();
        tower.push(Span { session: Some(Text::from("s")), ..span(&height.to_string(), "", Work::Frame) });
        tower[0].work = tool_work("f");
        let mut out = DecodedEvents::default();
        Spans { spans: tower }.emit(&mut out);
        assert_eq!(out.events[0].session.as_deref(), Some("s"));
    }

    #[test]
    fn spans_fold_nested_model_calls_without_tool() {
        let layers = vec![
            span("outer", "", model_work("x")),
            span("http", "outer", Work::Frame),
            span("inner", "http", model_work("y")),
        ];
        assert_eq!(emitted(layers), ["user_message y", "assistant_message y"]);
        let agents = vec![
            span("outer", "", model_work("x")),
            span("tool", "outer", tool_work("f")),
            span("inner", "tool", model_work("y")),
        ];
        assert_eq!(
            emitted(agents),
            ["user_message x", "assistant_message x", "tool_call f", "user_message y", "assistant_message y"]
        );
    }
}
