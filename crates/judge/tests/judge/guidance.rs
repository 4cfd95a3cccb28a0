//! What a model is told before it replies: obligations, and calls that would be stopped whatever their arguments are.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use lictor_event::{Arguments, Event, Kind, parse_time};
use lictor_json::{Json, Object, parse_str};
use lictor_judge::Judge;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_judge::guidance::{CallSketch, GuidanceQuery, Obligation, write_note};
use lictor_logic::{Span, Time};
use lictor_policy::{FileResolver, Policy, Response};

fn guard(policy: &str) -> Guard {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    Guard::new(Judge::new(&loaded.policy).unwrap(), GuardOptions::default())
}

fn time(second: i64) -> Time {
    Time(parse_time("2026-05-01T10:00:00Z").unwrap().0 + second * 1_000_000_000)
}

fn event(kind: Kind, tool: Option<&str>, second: i64) -> Event {
    let mut event = Event::new(kind);
    event.session = Some("s".into());
    event.tool = tool.map(Into::into);
    event.time = Some(time(second));
    event
}

fn call(tool: &str, args: &str, second: i64) -> Event {
    let mut event = event(Kind::ToolCall, Some(tool), second);
    event.args = Some(Arguments::Value(parse_str(args).unwrap()));
    event
}

fn obligations(guard: &mut Guard) -> Vec<Obligation> {
    guard.guide("s", &GuidanceQuery { owed: true, ..GuidanceQuery::default() }, None).obligations
}

#[test]
fn obligation_has_residual_deadline_and_what_settles_it() {
    let mut guard = guard(
        r#"
lictor: 1
name: p
facts:
  told(who): {on: tool_call(notify), who: args.who}
  sold(who): {on: tool_call(sell), who: args.who}
properties:
  - {id: logged, says: Sales are logged., formula: 'always (tool_call("sell") -> eventually tool_call("log"))'}
  - {id: told, says: Buyers are told., formula: 'forall x. always (sold(x) -> eventually[0,60s] told(x))', remedy: Tell them.}
  - {id: quiet, says: Never., formula: 'always (tool_call("sell") -> eventually tool_call("z"))', mode: shadow}
  - {id: never, says: Never., formula: 'always !tool_call("burn")'}
"#,
    );
    assert!(obligations(&mut guard).is_empty());
    guard.decide(call("sell", r#"{"who":"ann"}"#, 1), None);
    let open = obligations(&mut guard);
    let ids: Vec<&str> = open.iter().map(|it| it.property.id.as_str()).collect();
    assert_eq!(ids, ["told", "logged"]);
    assert_eq!((open[0].deadline, open[1].deadline), (Some(time(61)), None));
    assert!(open.iter().all(|obligation| !obligation.takes_all));
    assert_eq!(open[0].settled_by[0].fact, r#"told("ann")"#);
    assert_eq!(open[0].settled_by[0].tools, ["notify"]);
    assert_eq!(open[1].settled_by[0].fact, r#"tool_call("log")"#);
    let note = write_note(&open, &[]).unwrap();
    for part in
        ["told: Buyers are told.", "due by: 2026-05-01T10:01:01Z", "what to do: Tell them.", "by calling `notify`"]
    {
        assert!(note.contains(part), "{part}\n{note}");
    }
    guard.decide(call("notify", r#"{"who":"bob"}"#, 2), None);
    assert_eq!(obligations(&mut guard).len(), 2);
    guard.decide(call("sell", r#"{"who":"eve"}"#, 3), None);
    let open = obligations(&mut guard);
    let facts: Vec<&str> = open[0].settled_by.iter().map(|settling| settling.fact.as_str()).collect();
    assert_eq!((open[0].takes_all, facts), (true, vec![r#"told("ann")"#, r#"told("eve")"#]));
    guard.decide(call("notify", r#"{"who":"eve"}"#, 3), None);
    guard.decide(call("notify", r#"{"who":"ann"}"#, 3), None);
    guard.decide(call("log", "{}", 4), None);
    assert!(obligations(&mut guard).is_empty());
}

#[test]
fn owed_note_rounds_what_is_left_of_bounds() {
    let mut guard = guard(
        r#"
lictor: 1
name: p
properties:
  - {id: logged, says: Sales are logged., formula: 'always (tool_call("sell") -> eventually[0,10m] tool_call("log"))'}
"#,
    );
    let mut notes = Vec::new();
    for (tool, nanoseconds) in [("sell", 0), ("look", 12_958_599), ("look", 400_000_000), ("look", 1_300_000_000)] {
        let mut event = call(tool, "{}", 1);
        event.time = event.time.map(|time| time.plus(Span(nanoseconds)));
        guard.decide(event, None);
        notes.push(write_note(&obligations(&mut guard), &[]).unwrap());
    }
    assert!(notes[0].contains("at most 10m after it"), "{}", notes[0]);
    assert_eq!((&notes[1], &notes[2]), (&notes[0], &notes[0]), "a part of a second changes nothing");
    assert!(notes[3].contains("at most 9m 59s after it"), "{}", notes[3]);
}

#[test]
fn obligations_of_other_sessions_and_histories_stay_unsaid() {
    let mut guard = guard(
        r#"
lictor: 1
name: p
properties:
  - {id: own, formula: 'always (tool_call("sell") -> eventually tool_call("log"))'}
  - {id: wide, formula: 'always (tool_call("sell") -> eventually tool_call("log"))', history: global}
"#,
    );
    let mut other = call("sell", "{}", 1);
    other.session = Some("t".into());
    guard.decide(other, None);
    assert!(obligations(&mut guard).is_empty());
    guard.decide(call("sell", "{}", 2), None);
    let open = obligations(&mut guard);
    assert_eq!(open.iter().map(|it| it.property.id.as_str()).collect::<Vec<_>>(), ["own"]);
}

/// Facts of the tool alone, of arguments, and of everything that arguments may bring.
const HEAD: &str = r#"
lictor: 1
name: random
purposes:
  support: {basis: contract, necessary: [email]}
  ads: {basis: consent, words: [ads]}
tools:
  pay: {purposes: [support]}
facts:
  paid(to, amount): {on: tool_call(pay), to: args.to, amount: args.amount}
  dollars: {on: tool_call(pay), when: 'args.currency == "USD"'}
  foreign: {on: tool_call, when: 'has(args.currency) && args.currency != "EUR"'}
  domestic: {on: tool_call, when: '!has(args.currency) || args.currency == "EUR"'}
  named: {on: 'tool_call(p*)', where: {args.to: 'a*'}}
  many: {on: tool_call, when: 'args.size() > 1'}
  deep: {on: tool_call, when: 'args.anywhere("to").size() > 0'}
  identified: {on: tool_call, when: 'id == "x"'}
  early: {on: tool_call, when: 'time < timestamp("2026-05-01T10:00:03Z")'}
  wants: {on: user_message, where: {text: '/ads/'}}
properties:
"#;

const NAME_ATOMS: [&str; 8] = [
    r#"tool_call("pay")"#,
    r#"tool_call("look")"#,
    "tool_call",
    r#"effect("read")"#,
    r#"effect("payment")"#,
    "user_message",
    "approval",
    "wants",
];

const OTHER_ATOMS: [&str; 23] = [
    "dollars",
    "foreign",
    "domestic",
    "named",
    "many",
    "deep",
    "identified",
    "early",
    r#"paid("a", _)"#,
    r#"argument("to", "a")"#,
    r#"argument_from("to", "user")"#,
    "unparsed",
    r#"purpose("support")"#,
    r#"purpose("ads")"#,
    r#"declared("ads")"#,
    r#"carries("email")"#,
    "discloses",
    r#"purpose_from("ads", "argument")"#,
    r#"legitimate("support")"#,
    r#"processes("support")"#,
    r#"necessary("email")"#,
    "retained",
    "call_digest",
];

const SHAPES: [&str; 12] = [
    "always !A",
    "always (A -> B)",
    "always (A -> once B)",
    "always (A -> !once B)",
    "always (A -> !previous once A)",
    "always !(A and B)",
    "always (A -> once[0,3s] B)",
    "always (A -> eventually B)",
    "!A until B",
    "always (A -> previous B)",
    r#"always forall p. (paid(p, _) -> !previous once A)"#,
    r#"always (A -> sum[0,10s](a: paid(_, a)) <= 4)"#,
];

/// A small generator of random numbers; each case prints its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const TOOLS: [&str; 3] = ["pay", "look", "frobnicate"];

/// Every value of every argument, and its absence.
fn arguments() -> Vec<Object> {
    let choices: [(&str, &[&str]); 4] = [
        ("to", &["", r#""a""#, r#""b""#, r#""x@y.org""#]),
        ("currency", &["", r#""EUR""#, r#""USD""#]),
        ("amount", &["", "1", "5"]),
        ("purpose", &["", r#""ads""#]),
    ];
    let mut all = vec![Object::new()];
    for (name, values) in choices {
        let mut next = Vec::new();
        for object in &all {
            for value in values {
                let mut object = object.clone();
                if !value.is_empty() {
                    object.insert(name, parse_str(value).unwrap());
                }
                next.push(object);
            }
        }
        all = next;
    }
    all
}

/// Every concrete call of a tool with these known arguments.
fn concrete_calls(tool: &str, known: &[(&str, Json)], second: i64) -> Vec<Event> {
    let fits = |args: &Object| known.iter().all(|(name, value)| args.get(name) == Some(value));
    let mut calls = Vec::new();
    for args in arguments().into_iter().filter(fits) {
        for id in [None, Some("x")] {
            let mut event = event(Kind::ToolCall, Some(tool), second);
            event.args = Some(Arguments::Value(args.clone().into()));
            event.id = id.map(Into::into);
            calls.push(event);
        }
    }
    if known.is_empty() {
        for args in [None, Some(Arguments::Unparsed("{".into()))] {
            calls.push(Event { args, ..event(Kind::ToolCall, Some(tool), second) });
        }
    }
    calls
}

/// The definition: the properties for which every one of these calls would be blocked.
fn brute_force(guard: &mut Guard, calls: &[Event]) -> Vec<String> {
    let mut blocking: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        let preview = guard.preview(call);
        if preview.response == Response::Block {
            preview.properties.iter().for_each(|id| *blocking.entry(id.to_string()).or_default() += 1);
        }
    }
    blocking.into_iter().filter(|(_, count)| *count == calls.len()).map(|(id, _)| id).collect()
}

fn random_event(random: &mut Random, second: i64) -> Event {
    let mut made = match random.below(5) {
        0 => Event { text: Some("send ads to a".into()), ..event(Kind::UserMessage, None, second) },
        1 => Event { text: Some("pay".into()), ..event(Kind::UserMessage, None, second) },
        2 => event(Kind::Approval, Some("pay"), second),
        _ => {
            let calls = concrete_calls(TOOLS[random.below(3)], &[], second);
            let place = random.below(calls.len());
            calls[place].clone()
        }
    };
    made.session = Some("s".into());
    made
}

/// A tool is unavailable only if every call of it is blocked; where only its name matters, exactly then.
#[test]
fn shield_stops_what_brute_force_stops() {
    let (mut stopped, mut narrowed, mut missed) = (0, 0, 0);
    for seed in 1..=u64::from(crate::cases(60)) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let is_by_name = random.below(2) == 0;
        let atoms: Vec<&str> = match is_by_name {
            true => NAME_ATOMS.to_vec(),
            false => NAME_ATOMS.iter().chain(&OTHER_ATOMS).copied().collect(),
        };
        let mut policy = HEAD.to_owned();
        for number in 0..3 {
            let shape = random.pick(if is_by_name { &SHAPES[..10] } else { &SHAPES });
            let formula = shape.replace('A', random.pick(&atoms)).replace('B', random.pick(&atoms));
            let after = if random.below(3) == 0 { ", after: latch" } else { "" };
            policy += &format!("  - {{id: p{number}, formula: '{formula}', respond: block, unknown: warn{after}}}\n");
        }
        let Ok(loaded) = Policy::parse(&policy, "p.yaml", &FileResolver) else { continue };
        let mut guard = Guard::new(Judge::new(&loaded.policy).unwrap(), GuardOptions::default());
        let length = random.below(6) as i64;
        (0..length).for_each(|second| drop(guard.decide(random_event(&mut random, second), None)));
        for tool in TOOLS {
            let usd = || ("currency", Json::from("USD"));
            for known in [vec![], vec![usd()]] {
                let mut sketch = CallSketch::new(tool);
                for (name, value) in &known {
                    sketch = sketch.with(*name, value.clone());
                }
                let query = GuidanceQuery { owed: false, sketches: vec![sketch] };
                let guidance = guard.guide("s", &query, Some(time(length)));
                let found: Vec<String> = guidance.stopping[0].iter().map(|property| property.id.to_string()).collect();
                let expected = brute_force(&mut guard, &concrete_calls(tool, &known, length));
                let place = format!("seed {seed}, {tool} {known:?}, {length} events\n{policy}");
                assert!(found.iter().all(|id| expected.contains(id)), "wrong: {found:?} not {expected:?}\n{place}");
                if is_by_name {
                    assert_eq!(found, expected, "{place}");
                }
                match known.is_empty() {
                    true => stopped += found.len(),
                    false => narrowed += found.len(),
                }
                missed += expected.len() - found.len();
            }
        }
    }
    // The test must be about something.
    assert!(stopped > 20 && narrowed > stopped, "{stopped} {narrowed}");
    // What is missed depends on arguments in a way that no sketch can see.
    assert!(missed * 3 < stopped + narrowed, "{missed} of {stopped} and {narrowed}");
}

#[test]
fn shield_changes_nothing_in_the_session() {
    let policy = "lictor: 1\nname: p\nproperties:\n  - {id: a, formula: 'always (tool_call(\"pay\") -> once tool_call(\"check\"))', respond: block}\n";
    let (mut asked, mut plain) = (guard(policy), guard(policy));
    for (second, tool) in ["pay", "look", "check", "pay"].into_iter().enumerate() {
        let query = GuidanceQuery { owed: true, sketches: vec![CallSketch::new("pay"), CallSketch::new("look")] };
        asked.guide("s", &query, Some(time(second as i64)));
        let made = |guard: &mut Guard| guard.decide(call(tool, "{}", second as i64), None).line();
        assert_eq!(made(&mut asked), made(&mut plain));
    }
}

/// Every fact that arguments may bring, asked for and forbidden: no tool is unavailable for the lack of it.
#[test]
fn shield_takes_facts_of_arguments_as_unknown() {
    for atom in OTHER_ATOMS {
        let mut policy = HEAD.to_owned();
        for (number, shape) in ["always (tool_call -> A)", "always !(tool_call and A)"].into_iter().enumerate() {
            let formula = shape.replace('A', atom);
            policy += &format!("  - {{id: p{number}, formula: '{formula}', respond: block, unknown: warn}}\n");
        }
        let mut guard = guard(&policy);
        for tool in TOOLS {
            let query = GuidanceQuery { owed: false, sketches: vec![CallSketch::new(tool)] };
            let found = guard.guide("s", &query, Some(time(0))).stopping[0].clone();
            let expected = brute_force(&mut guard, &concrete_calls(tool, &[], 0));
            assert!(found.iter().all(|it| expected.contains(&it.id.to_string())), "{atom} {tool} {expected:?}");
        }
    }
}
