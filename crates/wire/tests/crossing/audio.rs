//! Streams of Chat Completions with sound: the transcript is judged like a text, and the sound says nothing else. And
//! streams of services that leave out the index of the only choice.

use lictor_event::Event;
use lictor_wire::{Api, Mask, Ruling, Stream, StreamAction, StreamLimits};

use crate::drive::{drive, forward, shown};
use crate::made::chunks;

/// A stream as OpenAI sends it: the id, pieces of the transcript and of the sound, the end of its life.
fn spoken() -> String {
    let choices = [
        r#"{"index":0,"delta":{"role":"assistant","refusal":null,"audio":{"id":"audio_1","transcript":"The card"}},"finish_reason":null}"#,
        r#"{"index":0,"delta":{"audio":{"transcript":" is 4111-"}},"finish_reason":null}"#,
        r#"{"index":0,"delta":{"audio":{"data":"UklGRg=="}},"finish_reason":null}"#,
        r#"{"index":0,"delta":{"audio":{"transcript":"1111, thank you"}},"finish_reason":null}"#,
        r#"{"index":0,"delta":{"audio":{"data":"UklGRQ=="}},"finish_reason":null}"#,
        r#"{"index":0,"delta":{"audio":{"expires_at":1760000000}},"finish_reason":null}"#,
        r#"{"index":0,"delta":{},"finish_reason":"stop"}"#,
    ];
    format!("{}data: [DONE]\n\n", chunks(&choices))
}

#[test]
fn streamed_transcript_is_judged_and_passes() {
    let text = spoken();
    for hold_back in [0, 7, usize::MAX] {
        let driven = drive(Api::Chat, hold_back, text.as_bytes().chunks(11), |_| Ruling::Forward, |_, _| Vec::new());
        assert_eq!(driven.refused, None);
        assert_eq!(driven.text(), text);
        assert!(driven.is_complete);
        assert_eq!(shown(&driven.events()), ["assistant_message The card is 4111-1111, thank you"]);
        assert_eq!(driven.sent[0].len(), 1);
    }
}

#[test]
fn changed_transcript_takes_its_sound_away() {
    let text = spoken();
    let hide = |text: &str, from: usize| -> Vec<Mask> {
        let found = text.match_indices("4111-1111").map(|(place, found)| place..place + found.len());
        found.filter(|range| range.end > from).map(|range| Mask { range, with: "[redacted]".into() }).collect()
    };
    let driven = drive(Api::Chat, 16, text.as_bytes().chunks(7), |_| Ruling::Forward, hide);
    assert_eq!(driven.refused, None);
    assert!(!driven.text().contains("41") && !driven.text().contains("UklG"), "{}", driven.text());
    assert_eq!(
        shown(&forward(Api::Chat, driven.text()).events()),
        ["assistant_message The card is [redacted], thank you"]
    );
    let deny = |event: &Event| match event.text.as_ref().is_some_and(|text| text.contains("4111")) {
        true => Ruling::Deny { text: "no".into() },
        false => Ruling::Forward,
    };
    let driven = drive(Api::Chat, usize::MAX, [text.as_bytes()], deny, |_, _| Vec::new());
    assert!(!driven.text().contains("41") && !driven.text().contains("UklG"), "{}", driven.text());
}

#[test]
fn sound_waits_for_its_transcript() {
    // The sound comes before the words that it says.
    let text = chunks(&[
        r#"{"index":0,"delta":{"audio":{"id":"a","data":"UklGRg=="}}}"#,
        r#"{"index":0,"delta":{"audio":{"transcript":"the secret"}}}"#,
        r#"{"index":0,"delta":{},"finish_reason":"stop"}"#,
    ]);
    let driven = drive(Api::Chat, 16, [text.as_bytes()], |_| Ruling::Deny { text: "no".into() }, |_, _| Vec::new());
    assert!(!driven.text().contains("UklG"), "{}", driven.text());
}

/// The bytes that a client gets who asked for so many choices, and the code of a refusal.
fn asked_for(choices: usize, text: &str) -> (String, Vec<Event>, Option<&'static str>) {
    let mut stream = Stream::new(Api::Chat, StreamLimits::default().choices(choices));
    let mut moves = stream.push(text.as_bytes());
    moves.extend(stream.end());
    let (mut sent, mut events, mut code) = (Vec::new(), Vec::new(), None);
    while let Some(next) = (!moves.is_empty()).then(|| moves.remove(0)) {
        match next {
            StreamAction::Release(bytes) => sent.extend(bytes),
            StreamAction::Judge(event) => {
                events.push(*event);
                moves.extend(stream.rule(Ruling::Forward));
            }
            StreamAction::Text { .. } => moves.extend(stream.mask(&[])),
            StreamAction::Refuse(refusal) => code = Some(refusal.code),
        }
    }
    (String::from_utf8(sent).unwrap(), events, code)
}

#[test]
fn only_choice_without_index_gets_one() {
    let text = chunks(&[
        r#"{"delta":{"role":"assistant","content":"Hi"}}"#,
        r#"{"index":null,"delta":{"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}}"#,
        r#"{"delta":{},"finish_reason":"tool_calls"}"#,
    ]);
    let (sent, events, code) = asked_for(1, &text);
    assert_eq!((code, shown(&events)), (None, vec!["assistant_message Hi".into(), "tool_call look c {}".into()]));
    assert_eq!(sent.matches(r#""index":0"#).count(), 4, "{sent}");
    // The service could mean either of two choices.
    assert_eq!(asked_for(2, &text).2, Some("stream.shape"));
    let two = chunks(&[r#"{"delta":{"content":"a"}},{"delta":{"content":"b"}}"#]);
    assert_eq!(asked_for(1, &two).2, Some("stream.shape"));
}
