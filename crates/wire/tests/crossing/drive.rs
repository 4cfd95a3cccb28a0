//! A stream driven from its first byte to its last.

use lictor_event::{Event, Kind};
use lictor_wire::{Api, Mask, Ruling, SentItem, Stream, StreamAction, StreamLimits, WireRefusal};

/// The result of a stream.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct StreamResult {
    pub(crate) released: Vec<u8>,
    /// The judged events, and how many bytes were sent before each.
    pub(crate) judged: Vec<(Event, usize)>,
    pub(crate) sent: Vec<Vec<SentItem>>,
    pub(crate) refused: Option<WireRefusal>,
    pub(crate) is_complete: bool,
}

impl StreamResult {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.released).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.judged.iter().map(|(event, _)| event.clone()).collect()
    }
}

/// Drives a stream whose bytes come in these pieces.
pub(crate) fn drive<'a>(
    api: Api,
    hold_back: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    rule: impl FnMut(&Event) -> Ruling,
    mask: impl FnMut(&str, usize) -> Vec<Mask>,
) -> StreamResult {
    drive_within(api, StreamLimits::default().hold_back(hold_back), pieces, rule, mask)
}

fn drive_within<'a>(
    api: Api,
    limits: StreamLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    mut rule: impl FnMut(&Event) -> Ruling,
    mut mask: impl FnMut(&str, usize) -> Vec<Mask>,
) -> StreamResult {
    let mut stream = Stream::new(api, limits);
    let mut driven = StreamResult::default();
    let mut answer = |stream: &mut Stream, moves: Vec<StreamAction>, driven: &mut StreamResult| {
        let mut moves: std::collections::VecDeque<StreamAction> = moves.into();
        while let Some(next) = moves.pop_front() {
            match next {
                StreamAction::Release(bytes) => driven.released.extend(bytes),
                StreamAction::Judge(event) => {
                    assert!(moves.is_empty(), "nothing follows a question");
                    driven.judged.push(((*event).clone(), driven.released.len()));
                    moves.extend(stream.rule(rule(&event)));
                }
                StreamAction::Text { text, leaving } => {
                    assert!(moves.is_empty(), "nothing follows a question");
                    let masks = mask(stream.text(text), leaving.start);
                    moves.extend(stream.mask(&masks));
                }
                StreamAction::Refuse(refused) => driven.refused = Some(refused),
            }
        }
    };
    for piece in pieces {
        let moves = stream.push(piece);
        answer(&mut stream, moves, &mut driven);
    }
    let moves = stream.end();
    answer(&mut stream, moves, &mut driven);
    driven.sent = stream.sent();
    driven.is_complete = stream.is_complete();
    driven
}

/// Drives a whole text of a stream, and lets everything pass.
pub(crate) fn forward(api: Api, text: &str) -> StreamResult {
    drive(api, 0, [text.as_bytes()], |_| Ruling::Forward, |_, _| Vec::new())
}

/// Drives a whole text of a stream whose texts are separated, and lets everything pass.
pub(crate) fn separate(api: Api, text: &str) -> StreamResult {
    let limits = StreamLimits::default().separates_texts(true);
    drive_within(api, limits, [text.as_bytes()], |_| Ruling::Forward, |_, _| Vec::new())
}

/// Drives a whole text of a stream under rulings.
pub(crate) fn ruled(api: Api, text: &str, rule: impl FnMut(&Event) -> Ruling) -> StreamResult {
    drive(api, 0, [text.as_bytes()], rule, |_, _| Vec::new())
}

/// Denies calls of a tool.
pub(crate) fn deny(tool: &'static str) -> impl FnMut(&Event) -> Ruling {
    move |event| match event.tool.as_deref() == Some(tool) && event.kind == Kind::ToolCall {
        true => Ruling::Deny { text: format!("{tool} is not allowed") },
        false => Ruling::Forward,
    }
}

/// Rewrites the arguments of calls of a tool.
pub(crate) fn rewrite(tool: &'static str, args: &'static str) -> impl FnMut(&Event) -> Ruling {
    move |event| match event.tool.as_deref() == Some(tool) && event.kind == Kind::ToolCall {
        true => {
            let value = lictor_json::parse_str(args).unwrap();
            let args = Some(lictor_event::Arguments::Value(value));
            Ruling::Rewrite(Box::new(Event { args, ..event.clone() }))
        }
        false => Ruling::Forward,
    }
}

/// The kinds and tools of events, in short.
pub(crate) fn shown(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| {
        let args = match &event.args {
            Some(lictor_event::Arguments::Value(value)) => value.to_string(),
            Some(lictor_event::Arguments::Unparsed(text)) => format!("?{text}"),
            None => String::new(),
        };
        let words = [event.tool.as_deref(), event.id.as_deref(), Some(args.as_str()), event.text.as_deref()];
        let words: Vec<&str> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
        format!("{} {}", event.kind, words.join(" ")).trim_end().to_owned()
    };
    events.iter().map(one).collect()
}
