//! Text is sent as it arrives, held back as far as asked, and masked across pieces.

use lictor_event::{Event, Kind};
use lictor_wire::{Api, Mask, Ruling, Stream, StreamAction, StreamLimits};
use proptest::prelude::*;

use crate::drive::{StreamResult, drive, forward};
use crate::made::{streamed, turn};

const NUMBER: &str = "4111-1111";

/// Masks every occurrence of the number.
fn hide(text: &str, from: usize) -> Vec<Mask> {
    let found = text.match_indices(NUMBER).map(|(place, found)| place..place + found.len());
    found.filter(|range| range.end > from).map(|range| Mask { range, with: "[redacted]".into() }).collect()
}

#[test]
fn text_is_sent_at_once_without_hold_back() {
    for api in Api::ALL {
        let text = streamed(api, &turn("one two three four", &[]), 4);
        let mut stream = Stream::new(api, StreamLimits::default());
        let cut = text.find("three").map(|place| place + text[place..].find("\n\n").unwrap() + 2);
        let cut =
            cut.or_else(|| text.find("thre").map(|place| place + text[place..].find("\n\n").unwrap() + 2)).unwrap();
        let moves = stream.push(&text.as_bytes()[..cut]);
        assert_eq!(moves, [StreamAction::Release(text.as_bytes()[..cut].to_vec())]);
        let mut stream = Stream::new(api, StreamLimits::default().hold_back(100));
        let moves = stream.push(&text.as_bytes()[..cut]);
        let [StreamAction::Release(released)] = moves.as_slice() else { panic!("{moves:?}") };
        assert!(!String::from_utf8_lossy(released).contains("one "), "nothing of the text has left");
    }
}

#[test]
fn mask_covers_number_split_over_pieces() {
    let words = format!("Your card is {NUMBER}, and once more {NUMBER}.");
    for api in Api::ALL {
        for size in [1, 2, 5, 1000] {
            let text = streamed(api, &turn(&words, &[("i", "t", "{}")]), size);
            for piece in [1, 64, text.len()] {
                let pieces = text.as_bytes().chunks(piece);
                let driven = drive(api, 16, pieces, |_| Ruling::Forward, hide);
                assert_eq!(driven.refused, None);
                let again = forward(api, driven.text());
                assert_eq!(again.refused, None, "{}", driven.text());
                let masked = words.replace(NUMBER, "[redacted]");
                assert_eq!(again.events()[0].text.as_deref(), Some(masked.as_str()), "{api:?} {size} {piece}");
                // The judged text is the sent text.
                assert_eq!(driven.events(), again.events());
                assert_eq!(driven.sent, again.sent);
                assert!(!driven.text().contains("4111"), "{}", driven.text());
            }
        }
    }
}

#[test]
fn held_text_without_masks_is_sent_unchanged() {
    for api in Api::ALL {
        let text = streamed(api, &turn("Some words that stay back.", &[("i", "t", "{}")]), 3);
        for hold_back in [1, 8, usize::MAX] {
            let driven = drive(api, hold_back, text.as_bytes().chunks(7), |_| Ruling::Forward, |_, _| Vec::new());
            assert_eq!(driven.text(), text);
        }
    }
}

#[test]
fn held_text_can_be_rewritten_or_denied() {
    for api in Api::ALL {
        let text = streamed(api, &turn("A secret word.", &[("i", "t", "{}")]), 3);
        let rewrite = |event: &Event| match event.kind {
            Kind::AssistantMessage => {
                Ruling::Rewrite(Box::new(Event { text: Some("A [redacted] word.".into()), ..event.clone() }))
            }
            _ => Ruling::Forward,
        };
        let deny = |event: &Event| match event.kind {
            Kind::AssistantMessage => Ruling::Deny { text: "Not that.".into() },
            _ => Ruling::Forward,
        };
        for (said, driven) in [
            ("A [redacted] word.", drive(api, usize::MAX, [text.as_bytes()], rewrite, |_, _| Vec::new())),
            ("Not that.", drive(api, usize::MAX, [text.as_bytes()], deny, |_, _| Vec::new())),
        ] {
            let again = forward(api, driven.text());
            assert_eq!(again.refused, None, "{}", driven.text());
            assert_eq!(again.events()[0].text.as_deref(), Some(said), "{api:?}");
            assert_eq!(again.events().len(), 2);
            assert!(!driven.text().contains("secret"));
        }
    }
}

#[test]
fn denial_replaces_only_unsent_text() {
    for api in Api::ALL {
        let text = streamed(api, &turn("First words, then a secret.", &[]), 4);
        let deny = |_: &Event| Ruling::Deny { text: "Stop.".into() };
        let driven = drive(api, 10, [text.as_bytes()], deny, |_, _| Vec::new());
        let again = forward(api, driven.text());
        let said = again.events()[0].text.clone().unwrap();
        assert!(
            said.starts_with("First words") && said.ends_with("\n\nStop.") && !said.contains("secret"),
            "{api:?} {}",
            driven.text()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn mask_covers_number_at_any_cut(
        parts in prop::collection::vec("[ -~é]{0,9}", 1..5),
        size in 1..7usize,
        piece in 1..80usize,
        hold_back in NUMBER.len()..40,
    ) {
        let words = parts.join(NUMBER);
        for api in Api::ALL {
            let text = streamed(api, &turn(&words, &[]), size);
            let driven = drive(api, hold_back, text.as_bytes().chunks(piece), |_| Ruling::Forward, hide);
            let again = forward(api, driven.text());
            prop_assert_eq!(&again.refused, &None);
            let said = again.events().first().and_then(|event| event.text.clone()).unwrap_or_default();
            prop_assert_eq!(said.as_str(), words.replace(NUMBER, "[redacted]"));
            prop_assert_eq!(&driven.sent, &again.sent);
        }
    }
}

/// Drives a stream whose text waits only from where the number may begin. Returns what was sent after each piece.
fn drive_early(api: Api, hold_back: usize, text: &str, piece: usize) -> Vec<Vec<u8>> {
    let limits = StreamLimits::default().hold_back(hold_back).asks_early(true);
    let mut stream = Stream::new(api, limits);
    let (mut sent, mut after) = (Vec::new(), Vec::new());
    for bytes in text.as_bytes().chunks(piece).map(Some).chain([None]) {
        let moves = match bytes {
            Some(bytes) => stream.push(bytes),
            None => stream.end(),
        };
        let mut moves = std::collections::VecDeque::from(moves);
        while let Some(next) = moves.pop_front() {
            moves.extend(match next {
                StreamAction::Release(bytes) => {
                    sent.extend(bytes);
                    continue;
                }
                StreamAction::Text { text, .. } => {
                    let said = stream.text(text).to_owned();
                    let begun = (1..NUMBER.len()).rev().find(|length| said.ends_with(&NUMBER[..*length]));
                    let leaving = stream.wait_from(Some(said.len() - begun.unwrap_or(0)));
                    let masks = hide(&said, leaving.start).into_iter().filter(|mask| mask.range.start < leaving.end);
                    stream.mask(&masks.collect::<Vec<_>>())
                }
                StreamAction::Judge(_) => stream.rule(Ruling::Forward),
                StreamAction::Refuse(refused) => panic!("{refused:?}"),
            });
        }
        after.push(sent.clone());
    }
    after
}

#[test]
fn early_text_waits_only_where_match_may_begin() {
    let words = format!("Your card is {NUMBER}, and once more {NUMBER}: 41 or 4111.");
    for api in Api::ALL {
        for (size, piece) in [(1, 1), (3, 64), (5, 4000)] {
            for hold_back in [16, 256] {
                let text = streamed(api, &turn(&words, &[]), size);
                let after = drive_early(api, hold_back, &text, piece);
                let whole = String::from_utf8(after.last().unwrap().clone()).unwrap();
                let masked = words.replace(NUMBER, "[redacted]");
                assert_eq!(forward(api, &whole).events()[0].text.as_deref(), Some(masked.as_str()), "{api:?}: {whole}");
                assert!(!whole.contains("4111-"), "{api:?}: {whole}");
            }
        }
        // The first words have left before the end of the text arrives.
        let text = streamed(api, &turn("one two three four", &[]), 4);
        let cut = text[..text.find("e fo").unwrap()].rfind("\n\n").unwrap() + 2;
        let moves = drive_early(api, 256, &text[..cut], cut);
        assert!(String::from_utf8_lossy(&moves[0]).contains("one "), "{api:?}");
    }
}

/// A piece of text is divided where a match may begin; the parts are read like the piece.
#[test]
fn early_text_is_divided_within_piece() {
    let words = "The words before a card: 4111";
    for api in Api::ALL {
        let said = "The words before a card: ";
        for size in [1000, 7] {
            let text = streamed(api, &turn(words, &[]), size);
            let ends = ["\"finish_reason\":\"stop\"", "content_block_stop", "output_text.done"];
            let end = ends.iter().find_map(|end| text.rfind(end)).unwrap();
            let cut = text[..end].rfind("\n\n").unwrap() + 2;
            let after = drive_early(api, 256, &text[..cut], cut);
            let shown = String::from_utf8(after[0].clone()).unwrap();
            let events = forward(api, &shown).events();
            let heard = events.first().and_then(|event| event.text.as_deref());
            assert_eq!(heard, Some(said), "{api:?} {size}: {shown}");
            assert!(!shown.contains("4111"), "{api:?} {size}: {shown}");
            let after = drive_early(api, 256, &text, text.len());
            let whole = String::from_utf8(after.last().unwrap().clone()).unwrap();
            assert_eq!(forward(api, &whole), StreamResult { released: whole.into(), ..forward(api, &text) });
        }
    }
}

/// Numbers of events stay without a gap where an event was divided.
#[test]
fn divided_events_are_numbered_in_order() {
    let text = streamed(Api::Responses, &turn("The words before a card: 4111 and more", &[]), 1000);
    let after = drive_early(Api::Responses, 256, &text, text.len());
    let whole = String::from_utf8(after.last().unwrap().clone()).unwrap();
    let number = |line: &str| -> Option<i64> {
        lictor_json::parse_str(line.strip_prefix("data: ")?).ok()?.get("sequence_number")?.as_i64()
    };
    let numbers: Vec<i64> = whole.lines().filter_map(number).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}: {whole}");
}

/// A stream continues a reply that another stream opened: the client gets no second opening, and one id.
#[test]
fn resumed_stream_continues_opened_reply() {
    for api in [Api::Chat, Api::Messages] {
        let text = streamed(api, &turn("one two", &[]), 100);
        let frames: Vec<&str> = text.split_inclusive("\n\n").collect();
        let mut first = Stream::new(api, StreamLimits::default());
        let [StreamAction::Release(opening)] = &first.push(frames[0].as_bytes())[..] else { panic!("{api:?}") };
        assert_eq!(first.opening_bytes(), opening.len(), "{api:?}: {}", frames[0]);
        first.push(frames[1..].concat().as_bytes());
        assert_eq!(first.opening_bytes(), opening.len(), "{api:?}");
        let mut second = Stream::new(api, StreamLimits::default()).resume("the-first");
        let mut rest = Vec::new();
        let mut moves = std::collections::VecDeque::from(second.push(text.as_bytes()));
        while let Some(next) = moves.pop_front() {
            match next {
                StreamAction::Release(bytes) => rest.extend(bytes),
                StreamAction::Judge(_) => moves.extend(second.rule(Ruling::Forward)),
                other => panic!("{other:?}"),
            }
        }
        let rest = String::from_utf8(rest).unwrap();
        assert!(!rest.contains("message_start") && !rest.contains("\"role\""), "{api:?}: {rest}");
        assert!(rest.contains("one two"), "{api:?}: {rest}");
        assert_eq!(rest.contains("\"the-first\""), api == Api::Chat, "{rest}");
    }
}

/// A caller that cannot say early how much must wait is asked once, and then when `hold_back` bytes follow.
#[test]
fn early_question_is_asked_once_if_unanswered() {
    let text = streamed(Api::Chat, &turn(&"word ".repeat(20), &[]), 5);
    let limits = StreamLimits::default().hold_back(64).asks_early(true);
    let (mut stream, mut asked) = (Stream::new(Api::Chat, limits), 0);
    for bytes in text.split_inclusive("\n\n").take(12) {
        let mut moves = stream.push(bytes.as_bytes());
        while let Some(StreamAction::Text { leaving, .. }) = moves.last() {
            assert!(leaving.is_empty());
            asked += 1;
            assert!(stream.wait_from(None).is_empty());
            moves = stream.mask(&[]);
        }
    }
    assert_eq!(asked, 1);
}

/// Some interfaces repeat a whole text at its end; a stopped text stays stopped there.
#[test]
fn stopped_text_stays_stopped_after_final_ruling() {
    let words = format!("The number is {NUMBER}. {}", "And so on. ".repeat(20));
    for api in Api::ALL {
        for ruling in [Ruling::Forward, Ruling::Deny { text: "Denied.".into() }] {
            let text = streamed(api, &turn(&words, &[]), 5);
            let mut stream = Stream::new(api, StreamLimits::default().hold_back(32));
            let (mut left, mut moves) = (Vec::new(), std::collections::VecDeque::new());
            for bytes in text.as_bytes().chunks(64).map(Some).chain([None]) {
                moves.extend(match bytes {
                    Some(bytes) => stream.push(bytes),
                    None => stream.end(),
                });
                while let Some(next) = moves.pop_front() {
                    moves.extend(match next {
                        StreamAction::Release(bytes) => {
                            left.extend(bytes);
                            continue;
                        }
                        StreamAction::Text { .. } => stream.stop("[stopped]"),
                        StreamAction::Judge(event) => {
                            assert_eq!(event.text.as_deref(), Some(""), "{api:?}: nothing was said");
                            stream.rule(ruling.clone())
                        }
                        StreamAction::Refuse(refused) => panic!("{refused:?}"),
                    });
                }
            }
            let left = String::from_utf8(left).unwrap();
            assert!(!left.contains("4111") && !left.contains("on. A"), "{api:?}: {left}");
            assert_eq!(forward(api, &left).events()[0].text.as_deref(), Some("[stopped]"), "{api:?}: {left}");
        }
    }
}

/// The client has disconnected: only the text that it received is judged.
#[test]
fn abandoned_stream_judges_sent_text() {
    for api in Api::ALL {
        let text = streamed(api, &turn(&"word ".repeat(40), &[("c", "pay", "{}")]), 5);
        for hold_back in [0, 32] {
            let mut stream = Stream::new(api, StreamLimits::default().hold_back(hold_back));
            let cut = text.len() / 2;
            let mut moves = stream.push(&text.as_bytes()[..cut]);
            while let Some(StreamAction::Text { .. }) = moves.last() {
                moves = stream.mask(&[]);
            }
            let moves = stream.abandon();
            let [StreamAction::Judge(event)] = moves.as_slice() else { panic!("{api:?}: {moves:?}") };
            let said = event.text.as_deref().unwrap();
            assert!(said.starts_with("word word") && said.len() < 200, "{api:?}: {said}");
            let moves = stream.rule(Ruling::Forward);
            assert!(
                matches!(moves.as_slice(), [StreamAction::Refuse(refused)] if refused.code == "client.gone"),
                "{moves:?}"
            );
        }
    }
}
