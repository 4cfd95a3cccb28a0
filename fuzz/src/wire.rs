//! What crosses between clients and models: what is forwarded is unchanged, what is denied is gone, and a stream that is
//! cut anywhere gives the same bytes and events.

use lictor_event::{Event, Kind};
use lictor_json::{SseFramer, parse};
use lictor_wire::{Api, ConversationHistory, Reply, Request, Ruling, Stream, StreamAction, StreamLimits};

use crate::choices::{Choices, pieces};

/// What is said in place of something that is denied.
const DENIAL: &str = "That is not allowed.";

pub(crate) fn run(input: &[u8]) {
    let mut choices = Choices(input);
    let api = Api::ALL[usize::from(choices.byte()) % Api::ALL.len()];
    match choices.byte() % 4 {
        0 => check_request(api, choices.0),
        1 => check_reply(api, choices.0),
        _ => check_stream(api, choices),
    }
}

fn deny() -> Ruling {
    Ruling::Deny { text: DENIAL.into() }
}

/// A request that is forwarded is unchanged; what is known of it survives being stored; one that is changed can be read.
fn check_request(api: Api, body: &[u8]) {
    let Ok(request) = Request::read(api, body) else { return };
    let forwarded: Vec<(usize, Ruling)> = (0..request.items.len()).map(|index| (index, Ruling::Forward)).collect();
    for changes in [&[][..], &forwarded] {
        assert_eq!(request.rewritten(changes).as_deref(), Ok(body), "a request that is forwarded");
    }
    for index in 0..request.items.len() {
        let Ok(changed) = request.rewritten(&[(index, deny())]) else { continue };
        let read = Request::read(api, &changed);
        assert!(read.is_ok(), "{read:?} of {}", String::from_utf8_lossy(&changed));
        // With a denied result go the unknown parts in it.
        assert!(read.map_or(0, |read| read.items.len()) <= request.items.len(), "items of the changed request");
    }
    check_known_messages(api, &request, body);
    let known = ConversationHistory::default().fold(&request).known;
    assert_eq!(ConversationHistory::from_bytes(&known.to_bytes()).as_ref(), Some(&known), "stored and restored");
    if request.carries_history() {
        assert!(known.fold(&request).fresh.is_empty(), "a history that is sent again says nothing new");
    }
}

/// A body that begins like an earlier one is read as if there were none, wherever it differs.
fn check_known_messages(api: Api, earlier: &Request, body: &[u8]) {
    let check = |body: &[u8]| {
        let (quick, general) = (Request::read_after(earlier, api, body), Request::read(api, body));
        assert_eq!(format!("{quick:?}"), format!("{general:?}"), "of {}", String::from_utf8_lossy(body));
    };
    check(body);
    for place in (0..body.len()).step_by(body.len() / 8 + 1) {
        let mut changed = body.to_vec();
        changed[place] = b"\",[]{}0a"[place % 8];
        check(&changed);
        check(&[&body[..place], &body[place / 2..]].concat());
    }
}

/// A reply that is forwarded is unchanged; of one that is denied no call is left.
fn check_reply(api: Api, body: &[u8]) {
    let Ok(reply) = Reply::read(api, body) else { return };
    let count = reply.events().len();
    for rulings in [vec![], vec![Ruling::Forward; count]] {
        let settled = reply.settle(&rulings).map(|settled| settled.body);
        // A reply with unknown fields loses them, and then has none.
        match reply.stripped().count {
            0 => assert_eq!(settled.as_deref(), Ok(body), "a reply that is forwarded"),
            _ => {
                let again = settled.ok().and_then(|body| Reply::read(api, &body).ok());
                assert_eq!(again.map(|again| again.stripped().count), Some(0), "fields that were stripped");
            }
        }
    }
    let Ok(denied) = reply.settle(&vec![deny(); count]) else { return };
    assert!(parse(&denied.body).is_ok(), "not JSON: {}", String::from_utf8_lossy(&denied.body));
    let read = Reply::read(api, &denied.body);
    assert!(read.is_ok(), "{:?} of {}", read.err(), String::from_utf8_lossy(&denied.body));
    let has_call = read.is_ok_and(|read| read.events().iter().any(is_call));
    assert!(!has_call, "a call that was denied is in {}", String::from_utf8_lossy(&denied.body));
}

fn is_call(event: &Event) -> bool {
    event.kind == Kind::ToolCall
}

/// A stream that is cut anywhere gives the same; one that is forwarded and complete leaves as it came, but for lines that
/// some readers divide.
fn check_stream(api: Api, mut choices: Choices<'_>) {
    let hold_back = [0, 16, usize::MAX][usize::from(choices.byte()) % 3];
    let denied = choices.byte();
    let cuts = choices.cuts();
    let bytes = choices.0;
    let limits = StreamLimits::default().hold_back(hold_back);
    let whole = drive(Stream::new(api, limits), &[bytes], denied);
    let cut = drive(Stream::new(api, limits), &pieces(bytes, &cuts), denied);
    if whole.refused.is_some() {
        // What a stream still holds when it is refused is gone: the more has come at once, the more that is.
        assert_eq!(cut.refused, whole.refused, "refused when cut at {cuts:?}");
        assert!(cut.released.starts_with(&whole.released), "cut at {cuts:?}, less leaves before it is refused");
    } else {
        assert_eq!(cut, whole, "cut at {cuts:?}");
    }
    // With unknown fields it leaves without them.
    if denied == 0 && whole.is_complete && whole.stripped == 0 {
        assert_eq!(whole.released, settle_lines(bytes), "a stream that is forwarded");
    }
}

/// Returns a stream with each event in the form that all readers divide into the same lines.
fn settle_lines(bytes: &[u8]) -> Vec<u8> {
    let mut framer = SseFramer::default();
    let mut frames = framer.push(bytes);
    frames.extend(framer.finish());
    frames.into_iter().flat_map(|frame| frame.settled().unwrap_or(frame).into_raw()).collect()
}

/// What came of a stream.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    released: Vec<u8>,
    judged: Vec<Event>,
    refused: Option<&'static str>,
    is_complete: bool,
    /// How many fields and events were left out.
    stripped: usize,
}

/// Drives a stream to its end. Events are denied by the bits of `denied`, in their order.
fn drive(mut stream: Stream, pieces: &[&[u8]], denied: u8) -> Outcome {
    let mut outcome = Outcome::default();
    for piece in pieces {
        let actions = stream.push(piece);
        answer(&mut stream, actions, denied, &mut outcome);
    }
    let actions = stream.end();
    answer(&mut stream, actions, denied, &mut outcome);
    outcome.is_complete = stream.is_complete();
    outcome.stripped = stream.stripped().count;
    outcome
}

/// Performs what a stream asks for until it asks for nothing more.
fn answer(stream: &mut Stream, mut actions: Vec<StreamAction>, denied: u8, outcome: &mut Outcome) {
    while !actions.is_empty() {
        let mut next = Vec::new();
        for action in actions {
            match action {
                StreamAction::Release(bytes) => outcome.released.extend(bytes),
                StreamAction::Judge(event) => {
                    let is_denied = denied >> (outcome.judged.len() % 8) & 1 == 1;
                    outcome.judged.push(*event);
                    next.extend(stream.rule(if is_denied { deny() } else { Ruling::Forward }));
                }
                StreamAction::Text { text, leaving } => {
                    let said = stream.text(text);
                    assert!(said.get(leaving.clone()).is_some(), "{leaving:?} of {} bytes", said.len());
                    next.extend(stream.mask(&[]));
                }
                StreamAction::Refuse(refusal) => outcome.refused = Some(refusal.code),
            }
        }
        actions = next;
    }
}
