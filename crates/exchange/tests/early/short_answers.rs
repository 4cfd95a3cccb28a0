//! Short answers are sent from their first byte: only text in which a match can begin waits.

use bytes::Bytes;
use lictor_exchange::{ExchangeOptions, LocalExchange, LocalSessions, changes_texts};
use lictor_wire::Api;
use serde_json::json;

use super::{compile, guard, packs, property, stream, words};

/// Ordinary answers of an assistant.
const ANSWERS: &[&str] = &[
    "Hello!",
    "Yes.",
    "Sure, your order 4711 is on its way.",
    "You're welcome! Anything else?",
    "The total is 1,234.56 EUR for 3 items, 19 % tax included.",
    "Your parcel was sent on 2026-05-04 and arrives between 9:30 and 12:00.",
    "We meet on 5 May 2026 in room 12.",
    "1. Open the app\n2. Tap *Settings*\n3. Choose a language",
    "- apples\n- pears\n- 2 kg of plums",
    "| city | share |\n|---|---|\n| Oslo | 12 % |",
    "```rust\nfn main() {\n    let total: u32 = (1..=10).sum();\n    println!(\"{total}\");\n}\n```",
    "Run `cargo test --workspace` and see https://example.org/docs/start.html for more.",
    "{\"status\": \"shipped\", \"items\": 3, \"express\": true}",
    "Version 2.11.0 fixes this; see section 4.2.1.",
    "Bonjour, votre commande est en route et arrive demain matin.",
    "Die Lieferung kommt am Montag zwischen neun und zwölf Uhr. Schöne Grüße!",
    "Su pedido llegará mañana. ¿Algo más?",
    "Ваш заказ отправлен и будет доставлен завтра утром.",
    "您的订单已发货,明天送达。",
    "ご注文の商品は明日届きます。",
    "Great news 🎉 it is done.",
];

/// The most bytes that wait: the last words, such as a date, or the clause of a script without blanks.
const MAX_WAITING_BYTES: usize = 32;
const MAX_WAITING_BYTES_WITHOUT_BLANKS: usize = 66;

/// Cuts a text into pieces of so many characters.
fn cut_by_characters(text: &str, size: usize) -> Vec<&str> {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).step_by(size).chain([text.len()]).collect();
    places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

/// Under every pack a few last words wait, in pieces of any size. Nothing waits if the pack does not change texts.
#[test]
fn short_answer_waits_for_last_words_only() {
    for written in packs() {
        let policy = compile(&written);
        let may_wait = changes_texts(&policy.policy);
        for text in ANSWERS {
            for size in [1, 13, text.len()] {
                let pieces = cut_by_characters(text, size);
                let heard = stream(&policy, &mut guard(&policy, ""), &pieces);
                assert_eq!(heard.whole, *text, "{written}");
                let mut arrived = 0;
                for (piece, after) in pieces.iter().zip(&heard.after) {
                    arrived += piece.len();
                    let waiting = &text[after.len()..arrived];
                    let has_blanks = text.contains(' ');
                    let most = if has_blanks { MAX_WAITING_BYTES } else { MAX_WAITING_BYTES_WITHOUT_BLANKS };
                    let most = if may_wait { most } else { 0 };
                    assert!(waiting.len() <= most, "{written}: {waiting:?} waits, {size}");
                }
            }
        }
    }
}

/// After each word only the part waits in which a match can begin: a mailbox, an order, a date, a street number.
#[test]
fn short_answer_waits_word_by_word() {
    let cases: [(&str, &[&str]); 4] = [
        ("Hello!", &[""]),
        (
            "Sure, your order 4711 is on its way.",
            &["Sure, ", "your ", "order ", "order 4711 ", "is ", "on ", "its ", "way."],
        ),
        (
            "The total is 1,234.56 EUR for 3 items.",
            &["The ", "total ", "is ", "1,234.56 ", "EUR ", "for ", "for 3 ", "items."],
        ),
        (
            "Arrives on 2026-05-04 between 9:30 and 12:00.",
            &["Arrives ", "on ", "2026-05-04 ", "between ", "30 ", "and ", "00."],
        ),
    ];
    let policy = compile("lictor: 1\nname: p\nuses: [gdpr]");
    for (text, wanted) in cases {
        let pieces = words(text);
        let heard = stream(&policy, &mut guard(&policy, ""), &pieces);
        let mut arrived = 0;
        let waiting = pieces.iter().zip(&heard.after).map(|(piece, after)| {
            arrived += piece.len();
            &text[after.len()..arrived]
        });
        assert_eq!(waiting.collect::<Vec<_>>(), wanted, "{text}");
    }
}

/// An answer in one piece is sent up to its last words before its end arrives.
#[test]
fn short_answer_in_one_piece_is_divided() {
    let policy = compile("lictor: 1\nname: p\nuses: [gdpr]");
    let heard = stream(&policy, &mut guard(&policy, ""), &["Sure, your order is on its way to you, as of tod"]);
    assert_eq!(heard.after, ["Sure, your order is on its way to you, as of "]);
    assert_eq!(heard.whole, "Sure, your order is on its way to you, as of tod");
}

/// A text that is cut keeps the blank before the cut, and its reader is told so without the reasons of a policy.
#[test]
fn cut_text_keeps_blank_and_stays_polite() {
    let policy = compile(&property("always !carries(\"email\")", "block"));
    let pieces = ["Write", " to", " alice@example.com", " and wait for the answer, which may take a day."];
    let heard = stream(&policy, &mut guard(&policy, ""), &pieces);
    assert_eq!(heard.whole, "Write [redacted]\n\nI am sorry, I cannot say that here.");
}

/// The chunk with the role is sent at once, even if the model may be asked again instead of sending its calls.
#[test]
fn opening_chunk_is_sent_before_any_text() {
    let policy = compile("lictor: 1\nname: p\nuses: [gdpr]");
    let mut guard = guard(&policy, "");
    let mut options = ExchangeOptions::default();
    options.previews_text = true;
    options.hold_back = 256;
    options.corrections = 2;
    let mut sessions = LocalSessions::default();
    let mut exchange = LocalExchange::new(Api::Chat, format!("{:032x}", 1), "s".to_owned(), options);
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "And?"}], "stream": true});
    exchange.request((&mut sessions, &mut guard), Bytes::from(request.to_string())).unwrap();
    let choices = json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]);
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices});
    let chunk = Bytes::from(format!("data: {chunk}\n\n"));
    assert_eq!(exchange.push((&mut sessions, &mut guard), chunk.clone()), chunk);
}
