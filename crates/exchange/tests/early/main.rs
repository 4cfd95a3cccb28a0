//! Streamed text is sent as early as possible, and as if all of it had been there at once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, and says why")]

#[path = "../../../recognise/tests/recognise/samples.rs"]
mod samples;
mod short_answers;

use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex};

use bytes::Bytes;
use lictor_event::{Event, Kind};
use lictor_exchange::{ExchangeOptions, LocalDecider, LocalExchange, LocalSessions, changes_texts};
use lictor_judge::Judge;
use lictor_judge::guard::{Capabilities, Decision, Guard, GuardOptions, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery};
use lictor_policy::{FileResolver, Policy, Response};
use lictor_recognise::{PersonalData, Recogniser};
use lictor_wire::Api;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use samples::{CARRIED, PROSE};

/// The beginning of the message that takes the place of a denied text.
const DENIED: &str = "I am sorry, I cannot say that here.";

/// The default of the gateway and of the Python package.
const HOLD_BACK: usize = 256;

static RECOGNISER: LazyLock<Recogniser> = LazyLock::new(Recogniser::builtin);

/// A guard that cannot say early how much of a text must wait: then `hold_back` bytes always wait.
struct LateGuard(Guard);

impl LocalDecider for LateGuard {
    fn decide(&mut self, event: Event, capabilities: Capabilities) -> Result<Arc<Decision>, String> {
        LocalDecider::decide(&mut self.0, event, capabilities)
    }

    fn preview(&mut self, event: &Event) -> Result<Preview, String> {
        Ok(Preview { open_from: None, ..self.0.preview(event) })
    }

    fn guide(&mut self, session: &str, query: &GuidanceQuery) -> Result<Guidance, String> {
        LocalDecider::guide(&mut self.0, session, query)
    }

    fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, String> {
        LocalDecider::score(&mut self.0, session, replies)
    }

    fn is_pending(&mut self, session: &str, id: &str) -> Result<bool, String> {
        LocalDecider::is_pending(&mut self.0, session, id)
    }
}

fn property(formula: &str, respond: &str) -> String {
    format!("lictor: 1\nname: p\nproperties: [{{id: a, formula: '{formula}', respond: {respond}}}]")
}

/// Returns every pack by itself, and all of them together.
fn packs() -> Vec<String> {
    let names: Vec<String> = lictor_policy::pack::packs().iter().map(|pack| pack.name.to_string()).collect();
    let together = names.join(", ");
    names.into_iter().chain([together]).map(|names| format!("lictor: 1\nname: p\nuses: [{names}]")).collect()
}

/// A policy, compiled.
struct CompiledPolicy {
    policy: Policy,
    judge: Mutex<Judge>,
}

fn compile(policy: &str) -> CompiledPolicy {
    let policy = Policy::parse(policy, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
    let judge = Mutex::new(Judge::new(&policy).unwrap());
    CompiledPolicy { policy, judge }
}

/// Returns a guard that has seen what makes properties object to persons.
fn guard(compiled: &CompiledPolicy, said: &str) -> Guard {
    let mut guard = Guard::new(compiled.judge.lock().unwrap().fork(), GuardOptions::default());
    let mut found = PersonalData::default();
    RECOGNISER.text(said, &mut found);
    let mut erasure = Event::new(Kind::Erasure);
    erasure.session = Some("s".into());
    erasure.subjects = Some(found.subjects);
    guard.decide(erasure, None);
    guard
}

/// Returns the parts of a text that a policy objects to: those that are masked, and the first that is blocked.
fn protected(compiled: &CompiledPolicy, text: &str) -> Vec<Range<usize>> {
    let mut guard = guard(compiled, text);
    let mut preview = |text: &str| {
        let mut event = Event::new(Kind::AssistantMessage);
        event.session = Some("s".into());
        event.text = Some(text.into());
        guard.preview(&event)
    };
    let masks = preview(text).masks;
    let spans: Vec<Range<usize>> = RECOGNISER.spans(text).into_iter().map(|span| span.range).collect();
    let first = spans.iter().find(|range| preview(&text[..range.end]).response >= Response::Redact).cloned();
    let is_harmless_before = |range: &Range<usize>| preview(&text[..range.start]).response < Response::Redact;
    masks.into_iter().chain(first.filter(is_harmless_before)).collect()
}

/// What the client has heard after each piece, and at the end.
struct StreamedReply {
    after: Vec<String>,
    whole: String,
}

/// Streams a text to a client, cut into these pieces.
fn stream(compiled: &CompiledPolicy, decider: &mut dyn LocalDecider, pieces: &[&str]) -> StreamedReply {
    let previews_text = changes_texts(&compiled.policy);
    let hold_back = if previews_text { HOLD_BACK } else { 0 };
    let mut options = ExchangeOptions::default();
    options.previews_text = previews_text;
    options.hold_back = hold_back;
    let mut sessions = LocalSessions::default();
    let mut exchange = LocalExchange::new(Api::Chat, format!("{:032x}", 1), "s".to_owned(), options);
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "And?"}], "stream": true});
    exchange.request((&mut sessions, &mut *decider), Bytes::from(request.to_string())).unwrap();
    let chunk = |delta: Value, finish: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        let value =
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices});
        Bytes::from(format!("data: {value}\n\n"))
    };
    let (mut sent, mut after) = (Vec::new(), Vec::new());
    for piece in pieces {
        sent.extend(exchange.push((&mut sessions, &mut *decider), chunk(json!({"content": piece}), Value::Null)));
        after.push(read(&sent));
    }
    sent.extend(exchange.push((&mut sessions, &mut *decider), chunk(json!({}), json!("stop"))));
    sent.extend(exchange.push((&mut sessions, &mut *decider), Bytes::from_static(b"data: [DONE]\n\n")));
    sent.extend(exchange.end((&mut sessions, &mut *decider), false));
    StreamedReply { after, whole: read(&sent) }
}

/// Returns the text in the bytes of a stream.
fn read(sent: &[u8]) -> String {
    let lines = std::str::from_utf8(sent).unwrap().lines();
    let data = lines.filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    let said = |data: &str| {
        let value: Value = serde_json::from_str(data).unwrap();
        value["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned()
    };
    data.map(said).collect()
}

/// Cuts a text into pieces at these places.
fn cut<'t>(text: &'t str, cuts: &[Index]) -> Vec<&'t str> {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let mut places: Vec<usize> = cuts.iter().map(|cut| places[cut.index(places.len())]).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.dedup();
    places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

/// Cuts a text into words, each with the blank after it.
fn words(text: &str) -> Vec<&str> {
    text.split_inclusive(' ').collect()
}

fn samples() -> Vec<&'static str> {
    CARRIED.iter().flat_map(|(_, texts)| texts.iter().copied()).collect()
}

#[derive(Clone, Debug)]
struct Case {
    text: String,
    cuts: Vec<Index>,
}

fn cases() -> impl Strategy<Value = Case> {
    let joint = || select(&[" ", "\n", ", ", ". ", " ("][..]);
    let cuts = prop::collection::vec(any::<Index>(), 0..60);
    let parts = (select(PROSE), joint(), select(samples()), joint(), select(PROSE), joint(), select(samples()));
    (parts, any::<bool>(), cuts).prop_map(|((before, a, sample, b, after, c, second), has_second, cuts)| {
        let text = match has_second {
            true => format!("{before}{a}{sample}{b}{after}{c}{second} {before}"),
            false => format!("{before}{a}{sample}{b}{after}"),
        };
        Case { text, cuts }
    })
}

static REDACTING: LazyLock<Vec<CompiledPolicy>> = LazyLock::new(|| {
    let formulas = ["always !carries(_)", "always !discloses(_)", "always !special(_)", "always !carries(\"address\")"];
    formulas.iter().map(|formula| compile(&property(formula, "redact"))).collect()
});

static OTHERS: LazyLock<Vec<CompiledPolicy>> = LazyLock::new(|| {
    let blocking = ["always !carries(_)", "always !discloses(_)", "always (carries(_) -> carries(\"order_id\"))"];
    let blocking = blocking.iter().map(|formula| property(formula, "block"));
    let excused = property("always (carries(_) -> carries(\"order_id\"))", "redact");
    let words = |when: &str, respond: &str| {
        format!(
            "lictor: 1\nname: p\nfacts: {{rude: {{on: assistant_message, when: '{when}'}}}}\nproperties: [{{id: a, formula: 'always !rude', respond: {respond}}}]"
        )
    };
    let defined = [
        words("text.contains(\"alice\")", "block"),
        words("text.matches(\"[0-9]{4}\")", "redact"),
        words("size(text) > 100", "block"),
        words("\"health\" in categories", "block"),
    ];
    packs().into_iter().chain(blocking).chain([excused]).chain(defined).map(|policy| compile(&policy)).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// The law: what the client gets of a stream, cut anywhere, is what it would get of the whole text.
    #[test]
    fn masked_stream_equals_masked_whole(case in cases(), policy in 0..4usize) {
        let policy = &REDACTING[policy];
        let pieces = cut(&case.text, &case.cuts);
        let streamed = stream(policy, &mut guard(policy, ""), &pieces);
        let whole = stream(policy, &mut guard(policy, ""), &[&case.text]);
        // A text that masks do not mend is denied; what was sent of it has no name of a person.
        if whole.whole.starts_with(DENIED) {
            prop_assert!(streamed.whole.ends_with(whole.whole.as_str()), "{:?}: {:?}", pieces, streamed.whole);
            for span in RECOGNISER.spans(&case.text) {
                let is_safe = !["email", "phone"].contains(&span.category.as_str());
                let value = &case.text[span.range];
                prop_assert!(is_safe || !streamed.whole.contains(value), "{:?}: {:?}", pieces, streamed.whole);
            }
            return Ok(());
        }
        prop_assert_eq!(&streamed.whole, &whole.whole, "{:?}", pieces);
        for heard in &streamed.after {
            prop_assert!(streamed.whole.starts_with(heard.as_str()), "{:?}: {:?}", pieces, heard);
        }
    }

    /// Under every pack, nothing leaves that did not leave when `hold_back` bytes always waited.
    #[test]
    fn early_stream_leaks_no_more_than_late(case in cases(), policy in any::<Index>()) {
        let policy = policy.get(&OTHERS);
        let pieces = cut(&case.text, &case.cuts);
        let early = stream(policy, &mut guard(policy, &case.text), &pieces).whole;
        let late = stream(policy, &mut LateGuard(guard(policy, &case.text)), &pieces).whole;
        prop_assert_eq!(early == case.text, late == case.text, "{:?}: {:?}, late {:?}", pieces, &early, &late);
        for range in protected(policy, &case.text) {
            let value = &case.text[range];
            prop_assert!(late.contains(value) || !early.contains(value), "{:?}: {:?} in {:?}", pieces, value, early);
        }
    }
}

/// What excuses a text may be undone by more text, as long as that is open.
#[test]
fn excuse_in_open_text_releases_nothing() {
    let policy = compile(&property("always (carries(_) -> carries(\"order_id\"))", "block"));
    let pieces = [
        "Your order has been shipped and will arrive tomorrow. alice&#64;example.com",
        " Ваш заказ отправлен и будет доставлен завтра утром. driver's license #D123",
        "4567 Your order has been shipped and will arrive tomorrow.",
    ];
    let early = stream(&policy, &mut guard(&policy, &pieces.concat()), &pieces).whole;
    assert!(!early.contains("alice"), "{early}");
}

/// An ordinary answer is sent word by word under every pack.
#[test]
fn ordinary_answer_streams_under_every_pack() {
    for written in packs() {
        let policy = compile(&written);
        let (mut held, mut count) = (0, 0);
        for text in PROSE {
            let pieces = words(text);
            let heard = stream(&policy, &mut guard(&policy, ""), &pieces);
            assert_eq!(heard.whole, *text, "{written}");
            if changes_texts(&policy.policy) {
                let late = stream(&policy, &mut LateGuard(guard(&policy, "")), &pieces);
                assert!(late.after.iter().all(String::is_empty), "{written}: without an early answer the text waits");
            }
            let mut arrived = 0;
            for (piece, after) in pieces.iter().zip(&heard.after) {
                arrived += piece.len();
                let waiting = &text[after.len()..arrived];
                assert!(text.starts_with(after.as_str()), "{written}: {after:?}");
                assert!(waiting.split_whitespace().count() <= 3, "{written}: {waiting:?} waits");
                held += waiting.len();
                count += 1;
            }
        }
        assert!(held < 8 * count, "{written}: {held} bytes wait at {count} pieces");
    }
}

/// A text that looks harmless until its end waits as long as before, if only the whole text will do.
#[test]
fn text_waits_for_facts_about_whole_text() {
    let fact = |when: &str| {
        format!(
            "lictor: 1\nname: p\nfacts: {{long: {{on: assistant_message, when: '{when}'}}}}\nproperties: [{{id: a, formula: 'always !long', respond: block}}]"
        )
    };
    let pieces = words("Your order has been shipped and will arrive tomorrow.");
    let last = |policy: &str| {
        let policy = compile(policy);
        let heard = stream(&policy, &mut guard(&policy, ""), &pieces);
        heard.after[pieces.len() - 2].clone()
    };
    assert_eq!(last(&fact("size(text) > 1000")), "");
    assert_eq!(last(&fact("text.endsWith(\"!\")")), "");
    assert!(last(&fact("text.contains(\"damn\")")).ends_with("arrive "));
    assert!(last(&fact("text.contains(\"arrive tomorrow night\")")).ends_with("will "));
    let says = "lictor: 1\nname: p\nfacts: {shown: {on: assistant_message, where: {text: /shipped/}}}\nproperties: [{id: a, formula: 'always (assistant_message -> once shown)', respond: block}]";
    let policy = compile(says);
    let heard = stream(&policy, &mut guard(&policy, ""), &pieces);
    assert_eq!(heard.after[2], "", "the text may still show it");
    assert_eq!(heard.whole, pieces.concat());
}
