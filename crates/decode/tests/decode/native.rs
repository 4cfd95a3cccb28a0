//! Lictor's own event lines are read field by field, and written back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_decode::{DecodedEvents, Format, LogRecord};
use lictor_event::{Answer, AnswerValue, Arguments, Event, Kind, Source, parse_time};
use lictor_json::{self as json, Json, Object, Text};
use lictor_logic::{Fact, Time, Value};
use proptest::prelude::*;

fn decode(line: &str) -> DecodedEvents {
    let mut out = DecodedEvents::default();
    let value = json::parse_str(line).unwrap();
    Format::Native.decoder().record(LogRecord { value, file: "log".into(), line: 7, index: 6 }, &mut out);
    out
}

fn event(line: &str) -> Event {
    let DecodedEvents { mut events, faults } = decode(line);
    assert_eq!(faults, [], "{line}");
    assert_eq!(events.len(), 1, "{line}");
    events.remove(0)
}

fn texts(texts: &[&str]) -> Option<Vec<Text>> {
    Some(texts.iter().map(Text::new).collect())
}

fn object(text: &str) -> Json {
    json::parse_str(text).unwrap()
}

#[test]
fn native_line_fills_every_field() {
    let line = r#"{"v":1,"session":"s1","seq":4,"time":"2026-05-01T10:00:03Z","kind":"tool_call","agent":"shopper",
        "principal":"ann","id":"call_1","tool":"lookup","args":{"id":7},"result":[1],"text":"hello","failed":true,"to":"billing",
        "purposes":["support"],"categories":[],"subjects":"alice","labels":["checked"],"answers":[{"fact":"rude","says":"no","chance":0.25,"by":"small@1"}],"facts":["paid(\"alice\",3)"],
        "source":{"format":"x","line":12},"granted":false}"#;
    let expected = Event {
        kind: Kind::ToolCall,
        session: Some("s1".into()),
        seq: Some(4),
        time: parse_time("2026-05-01T10:00:03Z"),
        agent: Some("shopper".into()),
        principal: Some("ann".into()),
        id: Some("call_1".into()),
        tool: Some("lookup".into()),
        args: Some(Arguments::Value(object(r#"{"id":7}"#))),
        result: Some(object("[1]")),
        text: Some("hello".into()),
        failed: true,
        to: Some("billing".into()),
        purposes: texts(&["support"]),
        categories: texts(&[]),
        subjects: texts(&["alice"]),
        labels: vec!["checked".into()],
        answers: vec![Answer {
            chance: Some(0.25),
            ..Answer::new(Fact::new("rude", []), AnswerValue::No).by("small@1")
        }],
        facts: vec![Fact::parse("paid(\"alice\",3)").unwrap()],
        more: object(r#"{"source":{"format":"x","line":12},"granted":false}"#).as_object().unwrap().clone(),
        source: Source { file: "log".into(), line: 7, record: 6 },
    };
    assert_eq!(event(line), expected);
}

/// Logs have members called `answers` that are none of a labeler; they are kept like any other.
#[test]
fn native_foreign_answers_are_kept() {
    for answers in [r#"["yes","no"]"#, r#"{"a":1}"#, r#"[{"text":"hi"}]"#, "3"] {
        let event = event(&format!(r#"{{"kind":"user_message","answers":{answers}}}"#));
        assert!(event.answers.is_empty());
        assert_eq!(event.more.get("answers"), Some(&object(answers)));
    }
}

#[test]
fn native_malformed_answers_are_faults() {
    let cases: [(&str, &[&str]); 8] = [
        (r#"[{"fact":"a","says":"perhaps"}]"#, &["`answers.0`: `says` must be"]),
        (r#"[{"fact":"a","says":"yes"},{"fact":"b"}]"#, &["`answers.1`: `says` is missing"]),
        (r#"[{"says":"yes"},{"fact":"b"}]"#, &["`answers.0`: `fact` is missing", "`answers.1`: `says` is missing"]),
        (r#"[{"fact":"a"}]"#, &["`answers.0`: `says` is missing"]),
        (r#"[{"fact":"a","says":"yes"},"no"]"#, &["`answers.1`: expected an object"]),
        (r#"{"fact":"a","says":"yes"}"#, &["`answers` must be a list"]),
        (r#"{"a":"yes","b":"no"}"#, &["`answers` must be a list"]),
        (r#"{"a":{"says":"yes"}}"#, &["`answers` must be a list"]),
    ];
    for (answers, expected) in cases {
        let DecodedEvents { faults, .. } = decode(&format!(r#"{{"kind":"user_message","answers":{answers}}}"#));
        let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(messages.len(), expected.len(), "{answers}: {messages:?}");
        for (message, expected) in messages.iter().zip(expected) {
            assert!(message.starts_with(expected), "{answers}: {message}");
        }
    }
}

#[test]
fn native_null_field_is_absent() {
    let bare = Event {
        source: Source { file: "log".into(), line: 7, record: 6 },
        ..Event::new(Kind::Other("my_kind".into()))
    };
    assert_eq!(event(r#"{"kind":"my_kind"}"#), bare);
    let nulls = r#"{"v":null,"session":null,"seq":null,"time":null,"kind":"my_kind","agent":null,"id":null,"tool":null,
        "args":null,"result":null,"text":null,"failed":null,"to":null,"purposes":null,"categories":null,"subjects":null,
        "labels":null,"facts":null}"#;
    assert_eq!(event(nulls), bare);
}

#[test]
fn native_bare_facts_are_steps() {
    for line in [r#"["tool_call","paid(alice)"]"#, r#"{"facts":["tool_call","paid(alice)"]}"#] {
        let event = event(line);
        assert_eq!(event.kind, Kind::Facts);
        assert_eq!(event.facts, [Fact::new("tool_call", []), Fact::new("paid", [Value::Text("alice".into())])]);
    }
    assert_eq!(event("[]").facts, []);
    assert_eq!(event(r#"{"facts":[]}"#).kind, Kind::Facts);
}

#[test]
fn native_string_result_is_text() {
    let result = event(r#"{"kind":"tool_result","result":"it rains"}"#);
    assert_eq!((result.text.as_deref(), result.result), (Some("it rains"), None));
    let both = event(r#"{"kind":"tool_result","result":"raw","text":"it rains"}"#);
    assert_eq!((both.text.as_deref(), both.result), (Some("it rains"), Some("raw".into())));
}

#[test]
fn native_arguments_are_object_or_string() {
    let args = |value: &str| event(&format!(r#"{{"kind":"tool_call","tool":"t","args":{value}}}"#)).args.unwrap();
    assert_eq!(args(r#"{"a":1}"#), Arguments::Value(object(r#"{"a":1}"#)));
    assert_eq!(args(r#""{\"a\":1}""#), Arguments::Value(object(r#"{"a":1}"#)));
    // Lictor writes an empty text if the arguments were not recorded. They are unknown, not none.
    assert_eq!(args(r#""""#), Arguments::Unparsed(Text::default()));
    assert_eq!(args(r#"" ""#), Arguments::Unparsed(Text::default()));
    assert_eq!(args(r#""{}""#), Arguments::Value(object("{}")));
    assert_eq!(args(r#""{\"a\":""#), Arguments::Unparsed(r#"{"a":"#.into()));
}

#[test]
fn native_time_is_text_or_number() {
    let time = |value: &str| event(&format!(r#"{{"kind":"x","time":{value}}}"#)).time.unwrap();
    assert_eq!(time("1777629603"), Time::from_seconds(1_777_629_603));
    assert_eq!(time("1777629603250"), Time(1_777_629_603_250_000_000));
    assert_eq!(time("1777629603.25"), Time(1_777_629_603_250_000_000));
    assert_eq!(time("1777629603250.5"), Time(1_777_629_603_250_500_000));
    assert_eq!(time("1777629603250500"), Time(1_777_629_603_250_500_000));
    assert_eq!(time("1777629603250500001"), Time(1_777_629_603_250_500_001));
    assert_eq!(time("0"), Time(0));
    assert_eq!(time("\"2026-05-01T10:00:03+02:00\""), Time::from_seconds(1_777_622_403));
}

#[test]
fn native_members_beside_known_ones_are_kept() {
    for line in [
        r#"{"kind":"tool_call","tool":"x","args":{},"input":1}"#,
        r#"{"kind":"tool_call","tool":"x"}"#,
        r#"{"kind":"tool_call","tool":"x","input":null}"#,
        r#"{"kind":"tool_call","tool":"x","input":1,"facts":["a"]}"#,
        r#"{"kind":"order","input":1,"content":"a"}"#,
        r#"{"kind":"tool_result","text":"done","output":"done"}"#,
    ] {
        let DecodedEvents { events, faults } = decode(line);
        assert_eq!((events.len(), faults.len()), (1, 0), "{line}");
    }
}

#[test]
fn native_wrong_type_fault_names_field() {
    let cases = [
        (r#"{"kind":1}"#, "native.field", "`kind` must be a string, found the number 1"),
        (r#"{"kind":"x","seq":"4"}"#, "native.field", "`seq` must be a whole number"),
        (r#"{"kind":"x","seq":4.5}"#, "native.field", "found the number 4.5"),
        (r#"{"kind":"x","time":"yesterday"}"#, "native.field", "`time` must be a time with its offset"),
        (r#"{"kind":"x","time":"2026-05-01T10:00:03"}"#, "native.field", "`time` must be a time with its offset"),
        (r#"{"kind":"x","time":1e19}"#, "native.field", "a number since 1970"),
        (r#"{"kind":"x","failed":"no"}"#, "native.field", "`failed` must be true or false"),
        (r#"{"kind":"x","args":[1]}"#, "native.field", "`args` must be an object, or a string"),
        (r#"{"kind":"x","subjects":[1]}"#, "native.field", "`subjects` must be a list of strings"),
        (r#"{"kind":"x","purposes":{}}"#, "native.field", "found an object"),
        (r#"{"facts":"a"}"#, "native.field", "`facts` must be a list of facts"),
        (r#"{"facts":[1]}"#, "native.field", "`facts` must be a list of facts"),
        (r#"["a",1]"#, "native.field", "a list must be a list of facts"),
        (r#"{"facts":["a("]}"#, "native.fact", "\"a(\" is not a fact"),
        (r#"{"v":2,"kind":"x"}"#, "native.version", "use a newer Lictor"),
        (r#"{"v":"1","kind":"x"}"#, "native.field", "`v` must be the version, which is 1"),
        (r#"{"session":"s"}"#, "native.kind", "needs a `kind`"),
        (r#"{"kind":"tool_call","args":{}}"#, "native.tool", "needs the name of its `tool`"),
        (r#"{"kind":"TOOL_CALL","tool":"x"}"#, "native.kind", "write `tool_call`"),
        (r#"{"kind":"toolCall","tool":"x"}"#, "native.kind", "write `tool_call`"),
        (r#"{"kind":"aproval","id":"c"}"#, "native.kind", "write `approval`"),
        (r#"{"kind":"tool_call","tool":"x","arguments":{"a":1}}"#, "native.member", "write `args`"),
        (r#"{"kind":"tool_call","tool":"x","args":null,"input":{}}"#, "native.member", "`input`"),
        (r#"{"kind":"tool_result","tool":"x","output":"done"}"#, "native.member", "write `result`"),
        (r#"{"kind":"user_message","content":"hello"}"#, "native.member", "write `text`"),
        (r#"{"kind":""}"#, "native.kind", "is empty"),
        (r#"{"kind":"approval","id":"c","granted":false}"#, "native.granted", "`denial`"),
        (r#"{"kind":"denial","id":"c","granted":true}"#, "native.granted", "`approval`"),
        (r#"{"kind":"approval","id":"c","approved":false}"#, "native.granted", "`approved`"),
        (r#"{"kind":"approval","id":"c","decision":"Rejected"}"#, "native.granted", "`decision`"),
        (r#"{"kind":"denial","id":"c","status":"approved"}"#, "native.granted", "`status`"),
        (r#"{"kind":"approval","id":"c","granted":"false"}"#, "native.granted", "true or false"),
        (r#"{"kind":"consent","subjects":["a"],"purposes":["p"],"granted":0}"#, "native.granted", "true or false"),
        (r#"{"kind":"consent","subjects":["a"],"granted":false}"#, "native.purposes", "`purposes`"),
        (r#"{"kind":"erasure","subject":"a"}"#, "native.subjects", "`subjects`"),
        (r#""text""#, "native.record", "expected an object"),
    ];
    for (line, code, message) in cases {
        let DecodedEvents { events, faults } = decode(line);
        assert_eq!(events, [], "{line}");
        assert_eq!(faults.len(), 1, "{line}: {faults:?}");
        assert_eq!((faults[0].code, faults[0].line), (code, 7), "{line}");
        assert!(faults[0].message.contains(message), "{line}: {}", faults[0].message);
    }
    assert_eq!(decode(r#"{"kind":1,"seq":"x","time":[]}"#).faults.len(), 3);
}

#[test]
fn native_format_is_detected() {
    let detect = |line: &str| Format::detect(&[object(line)]);
    for line in [
        r#"{"kind":"tool_call"}"#,
        r#"{"kind":"mine"}"#,
        r#"{"kind":"mine","time":"2026-05-01T10:00:00Z"}"#,
        r#"{"facts":[]}"#,
        r#"["a"]"#,
    ] {
        assert_eq!(detect(line), Some(Format::Native), "{line}");
    }
    for line in [r#"{"kind":1}"#, r#"{"kind":"request","parts":[]}"#, r#"{"facts":"a"}"#, "[1]", "3"] {
        assert_ne!(detect(line), Some(Format::Native), "{line}");
    }
}

fn text() -> impl Strategy<Value = Text> {
    prop_oneof!["[a-z]{0,9}", "\\PC{0,30}"].prop_map(Text::from)
}

fn maybe<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::of(strategy)
}

fn texts_of() -> impl Strategy<Value = Vec<Text>> {
    prop::collection::vec(text(), 0..3)
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        text().prop_map(Json::from)
    ];
    leaf.prop_recursive(2, 10, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            members(inner).prop_map(Json::from)
        ]
    })
}

fn members(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Object> {
    prop::collection::vec(("[A-Z]{1,3}".prop_map(Text::from), value), 0..3)
        .prop_map(|members| members.into_iter().collect())
}

fn fact() -> impl Strategy<Value = Fact> {
    let value = prop_oneof![
        "\\PC{0,9}".prop_map(|text| Value::Text(text.into())),
        any::<i32>().prop_map(|number| Value::Integer(i64::from(number)))
    ];
    ("[a-z_]{1,9}", prop::collection::vec(value, 0..3)).prop_map(|(name, values)| Fact::new(name.as_str(), values))
}

fn answer() -> impl Strategy<Value = Answer> {
    let says = prop::sample::select(vec![AnswerValue::Yes, AnswerValue::No, AnswerValue::Unclear, AnswerValue::Failed]);
    (fact(), says, maybe(0.0..=1.0f64), maybe(text())).prop_map(|(fact, says, chance, by)| {
        let score = chance.map(|chance| chance * 40.0 - 20.0);
        Answer { score, chance, by, ..Answer::new(fact, says) }
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![Just("tool_call"), Just("consent"), Just("facts"), Just("mine")];
    let payload = prop_oneof![
        value().prop_map(Arguments::Value),
        members(value()).prop_map(|object| Arguments::Value(object.into())),
        "[a-z(]{1,9}x".prop_map(|text| Arguments::Unparsed(text.into())),
    ];
    let result = value().prop_filter("as text", |value| value.as_str().is_none() && !value.is_null());
    let who = (
        maybe(text()),
        maybe(any::<i64>()),
        maybe(any::<i64>().prop_map(Time)),
        maybe(text()),
        maybe(text()),
        maybe(text()),
        maybe(text()),
    );
    let what = (maybe(payload), maybe(result), maybe(text()), any::<bool>(), maybe(text()));
    let about = (
        maybe(texts_of()),
        maybe(texts_of()),
        maybe(texts_of()),
        texts_of(),
        prop::collection::vec(answer(), 0..3),
        prop::collection::vec(fact(), 0..3),
        members(value()),
    );
    (kind, who, what, about).prop_map(|(kind, who, what, about)| {
        let (session, seq, time, agent, principal, id, tool) = who;
        let (args, result, text, failed, to) = what;
        let (purposes, categories, subjects, labels, answers, facts, more) = about;
        let tool = if kind == "tool_call" { tool.or_else(|| Some("t".into())) } else { tool };
        // A consent that failed, or whose words say no, is a fault.
        let (result, text, failed) = if kind == "consent" { (None, None, false) } else { (result, text, failed) };
        let source = Source { file: "log".into(), line: 7, record: 6 };
        Event {
            kind: Kind::named(kind),
            session,
            seq,
            time,
            agent,
            principal,
            id,
            tool,
            args,
            result,
            text,
            failed,
            to,
            purposes,
            categories,
            subjects,
            labels,
            answers,
            facts,
            more,
            source,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn native_event_written_reads_back(written in any_event()) {
        let line = written.to_json().to_string();
        let mut read = event(&line);
        prop_assert_eq!(read.more.remove("source"), Some(object(r#"{"file":"log","line":7}"#)));
        prop_assert_eq!(read, written, "{}", line);
    }

    #[test]
    fn native_fast_path_equals_full_decoder(
        event in any_event(),
        broken in prop::option::of((any::<prop::sample::Index>(), prop::sample::select(&b"{}[],:\"\\0ntf \x01\xc3"[..]), any::<bool>())),
    ) {
        let mut line = event.to_json().to_string().into_bytes();
        if let Some((place, byte, inserts)) = broken {
            let place = place.index(line.len());
            line.splice(place..place + usize::from(!inserts), [byte]);
        }
        let Ok(line) = String::from_utf8(line) else { return Ok(()) };
        compare_fast_path(&line)?;
        // And with a duplicate member.
        let twice = format!("{{\"kind\":\"error\",{}", &line[1.min(line.len())..]);
        compare_fast_path(&twice)?;
    }
}

/// The fast path returns the events of the full decoder, and refuses what that reports.
fn compare_fast_path(line: &str) -> Result<(), TestCaseError> {
    let mut out = DecodedEvents::default();
    let source = Source { file: "log".into(), line: 7, record: 6 };
    if Format::Native.decoder().text(line, &source, &mut out) {
        prop_assert!(json::parse_str(line).is_ok(), "{} is no JSON", line);
        let careful = decode(line);
        prop_assert_eq!(&careful.faults, &[], "{}", line);
        prop_assert_eq!(&careful.events, &out.events, "{}", line);
    } else {
        prop_assert_eq!(out.events.len(), 0);
    }
    Ok(())
}

#[test]
fn native_fast_path_reads_usual_lines() {
    let source = Source::default();
    for line in [
        r#"{"v":1,"session":"s","seq":4,"time":"2026-05-01T10:00:03Z","kind":"tool_call","tool":"t","args":{"id":7}}"#,
        r#"{"kind":"tool_result","id":"c","text":"a \u00e9 b","failed":true,"labels":[],"purposes":["a","b"],"x":[1]}"#,
        r#" { "kind" : "tool_result" , "result" : "found" } "#,
    ] {
        let mut out = DecodedEvents::default();
        assert!(Format::Native.decoder().text(line, &source, &mut out), "{line}");
    }
    for line in [
        r#"{"kind":"error","kind":"error"}"#,
        r#"{"kind":"error","x":1,"x":2}"#,
        r#"{"kind":"error","time":"yesterday"}"#,
        r#"{"kind":"error"} {}"#,
        r#"{"v":2,"kind":"error"}"#,
        r#"{"text":"no kind"}"#,
        "{}",
        "",
    ] {
        let mut out = DecodedEvents::default();
        assert!(!Format::Native.decoder().text(line, &source, &mut out), "{line}");
    }
}
