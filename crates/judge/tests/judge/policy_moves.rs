//! A session that moves to another policy is judged as by that policy from its beginning, or its past is unknown.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write;

use lictor_event::record::LogRecord;
use lictor_event::{Event, Source};
use lictor_json as json;
use lictor_judge::session::{SavedSession, Session};
use lictor_judge::{Judge, PastPolicies, PolicyMove};
use lictor_logic::After;
use lictor_policy::{FileResolver, Policy};

/// Two definitions of each fact.
const FACTS: [[&str; 2]; 4] = [
    ["leaked: {on: tool_result(read), when: 'text.contains(\"key\")'}", "leaked: {on: tool_result(read)}"],
    ["sent: {on: tool_call(send)}", "sent: {on: [tool_call(send), tool_call(post)]}"],
    [
        "paid(to): {on: tool_call(pay), to: args.to}",
        "paid(to): {on: tool_call(pay), where: {args.n: '> 1'}, to: args.to}",
    ],
    ["noted: {on: tool_call(note), where: {args.n: '> 1'}}", "noted: {on: assistant_message}"],
];

/// Formulas, with `$a`, `$b` for facts without values, `$t` for a span and `$n` for a number.
const FORMULAS: [&str; 18] = [
    "always ($a -> !once $b)",
    "always ($a -> !once[0,$t] $b)",
    "always ($a -> once $b)",
    "always ($a -> once[0,$t] $b)",
    "always ($a -> once[5s,$t] $b)",
    "always ($a -> !previous once $b)",
    "always ($a -> !($b since $a))",
    "always ($a -> historically[0,$n] !$b)",
    "always ($a -> once[0,$n] $b)",
    "always ($a -> eventually[0,$t] $b)",
    "always ($a -> always !$b)",
    "always forall p. (paid(p) -> !previous once paid(p))",
    "always forall p. (paid(p) -> !once[0,$t] (paid(p) & previous once $b))",
    "forall p. always (paid(p) -> always !$b)",
    "always ($a -> count($b) <= $n)",
    "always ($a -> count[0,$t]($b) <= $n)",
    "always !$a",
    "always (previous $b -> !$a)",
];

const PLAIN_FACTS: [&str; 10] = [
    "leaked",
    "sent",
    "noted",
    "stated",
    "user_message",
    "assistant_message",
    "tool_call(\"send\")",
    "tool_result(\"read\")",
    "tool_call",
    "tool_failed",
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

fn formula(random: &mut Random) -> String {
    let text = random.pick(&FORMULAS).replace("$a", random.pick(&PLAIN_FACTS)).replace("$b", random.pick(&PLAIN_FACTS));
    text.replace("$t", random.pick(&["10s", "30s", "100s"])).replace("$n", random.pick(&["0", "1", "3"]))
}

/// Returns the text of a policy with some properties.
fn policy_text(formulas: &[(usize, String)], definitions: usize) -> String {
    let mut text = "lictor: 1\nname: p\nfacts:\n".to_owned();
    for (place, fact) in FACTS.iter().enumerate() {
        writeln!(text, "  {}", fact[(definitions >> place) & 1]).unwrap();
    }
    text.push_str("properties:\n");
    for (id, formula) in formulas {
        writeln!(text, "  - {{id: p{id}, formula: '{formula}', respond: warn}}").unwrap();
    }
    text
}

fn policy(text: &str) -> Policy {
    Policy::parse(text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}\n{text}")).policy
}

/// Returns an event, and moves the clock.
fn event(random: &mut Random, clock: &mut i64) -> Event {
    *clock += [0, 1, 4, 12, 40][random.below(5)];
    let time = format!("2027-01-15T08:{:02}:{:02}Z", (*clock / 60) % 60, *clock % 60);
    let number = random.below(4);
    let body = match random.below(9) {
        0 => r#""kind":"user_message","text":"do it""#.to_owned(),
        1 => r#""kind":"assistant_message","text":"done""#.to_owned(),
        2 => format!(r#""kind":"tool_result","tool":"read","text":"{}""#, random.pick(&["a key", "nothing"])),
        3 => r#""kind":"tool_call","tool":"send","args":{}"#.to_owned(),
        4 => r#""kind":"tool_call","tool":"post","args":{}"#.to_owned(),
        5 => format!(r#""kind":"tool_call","tool":"note","args":{{"n":{number}}}"#),
        6 => r#""kind":"error","labels":["stated"]"#.to_owned(),
        7 => r#""kind":"tool_result","tool":"post","failed":true"#.to_owned(),
        _ => {
            let to = random.pick(&["ann", "bob"]);
            format!(r#""kind":"tool_call","tool":"pay","args":{{"to":"{to}","n":{number}}}"#)
        }
    };
    let line = format!(r#"{{"session":"s","time":"{time}",{body}}}"#);
    let record = LogRecord { value: json::parse_str(&line).unwrap(), file: "-".into(), line: 0, index: 0 };
    Event { source: Source::default(), ..record.stored_event().unwrap() }
}

/// What a session says to an event: the properties that it violates, and those for which that is unknown.
fn judge_event(session: &Session, judge: &mut Judge, event: &Event) -> (BTreeSet<String>, BTreeSet<String>) {
    let proposal = session.propose(judge, event).unwrap();
    let broken = proposal.findings.iter().filter(|it| it.decided == lictor_judge::finding::DecidedBy::Event);
    let broken = broken.map(|finding| finding.property.id.to_string()).collect();
    (broken, proposal.doubts.iter().map(|property| property.id.to_string()).collect())
}

fn stored(session: &Session, judge: &Judge) -> SavedSession {
    let saved = session.save(judge, 0).unwrap();
    serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap()
}

/// How often a moved session knew exactly what the new policy would have said, and how often it was unknown.
#[derive(Default)]
struct Tally {
    exact: usize,
    unknown: usize,
    rebuilt: usize,
    not_rebuilt: usize,
    missed_unknown: usize,
}

/// Moves a session through several policies, and compares it with one that the last policy judged from the beginning.
fn play(seed: u64, cuts: bool, tally: &mut Tally) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut pool: Vec<(usize, String)> = (0..4).map(|id| (id, formula(&mut random))).collect();
    let texts: Vec<String> = (0..3)
        .map(|_| {
            if random.below(2) == 0 {
                let place = random.below(4);
                pool[place].1 = formula(&mut random);
            }
            let count = 1 + random.below(3);
            let first = random.below(2);
            let definitions = if random.below(2) == 0 { 0 } else { random.below(16) };
            policy_text(&pool[first..(first + count).min(4)], definitions)
        })
        .collect();
    let mut order: Vec<usize> = (0..1 + random.below(3)).map(|_| random.below(3)).collect();
    order.dedup();
    let mut judges: Vec<Judge> = texts.iter().map(|text| Judge::new(&policy(text)).unwrap()).collect();
    let mut past = PastPolicies::default();
    for (number, judge) in judges.iter().enumerate() {
        let scope = serde_json::to_string(judge.policy_scope()).unwrap();
        past.insert(&number.to_string(), serde_json::from_str(&scope).unwrap());
    }
    let (mut clock, mut events) = (0, Vec::new());
    let mut session = Session::new(&mut judges[order[0]], "s");
    let mut moved = PolicyMove::default();
    let mut last = order[0];
    for (turn, place) in order.iter().copied().enumerate() {
        if turn > 0 {
            let saved = stored(&session, &judges[last]);
            (session, moved) = Session::migrate(&mut judges[place], &saved, &last.to_string(), &past).unwrap();
            last = place;
        }
        for _ in 0..random.below(8) {
            let event = event(&mut random, &mut clock);
            session.observe(&mut judges[place], &event).unwrap();
            events.push(event);
            if cuts {
                session.keep(6);
            }
        }
    }
    let mut judge = Judge::new(&policy(&texts[last])).unwrap();
    let mut whole = Session::new(&mut judge, "s");
    events.iter().for_each(|event| drop(whole.observe(&mut judge, event).unwrap()));
    tally.rebuilt += moved.rebuilt.len();
    tally.not_rebuilt += moved.unknown.len();
    for number in 0..6 {
        let event = event(&mut random, &mut clock);
        let (broken, doubts) = judge_event(&whole, &mut judge, &event);
        let (found, unknown) = judge_event(&session, &mut judges[last], &event);
        let describe = || {
            let lines: Vec<String> = events.iter().map(|event| event.to_json().to_string()).collect();
            let policies: Vec<&String> = order.iter().map(|place| &texts[*place]).collect();
            format!(
                "seed {seed}, probe {number}: {}\npolicies {policies:#?}\nevents {lines:#?}\nmoved {moved:?}\nexpected {broken:?} {doubts:?}, found {found:?} {unknown:?}",
                event.to_json()
            )
        };
        for property in judge.properties() {
            let id = property.id.to_string();
            let is_rebuilt = !moved.unknown.contains(&property.id) && order.len() == 2 && !cuts;
            if is_rebuilt {
                let expected = (broken.contains(&id), doubts.contains(&id));
                assert_eq!((found.contains(&id), unknown.contains(&id)), expected, "{id}: {}", describe());
            }
            let is_stopped = found.contains(&id) || unknown.contains(&id);
            assert!(!broken.contains(&id) || is_stopped, "{id} is missed: {}", describe());
            // One that is final may have been violated before, which the moved session does not know.
            let is_final = property.after == After::Latch;
            let is_possible = is_final || broken.contains(&id) || doubts.contains(&id);
            assert!(is_possible || !found.contains(&id), "{id} is invented: {}", describe());
            tally.missed_unknown += usize::from(doubts.contains(&id) && !is_stopped);
            tally.exact += usize::from(broken.contains(&id) && found.contains(&id));
            tally.unknown += usize::from(unknown.contains(&id) && !doubts.contains(&id));
        }
        // Both continue.
        if random.below(2) == 0 {
            whole.observe(&mut judge, &event).unwrap();
            session.observe(&mut judges[last], &event).unwrap();
            // A restart under the same policy changes nothing.
            let saved = stored(&session, &judges[last]);
            session = Session::restore_after(&mut judges[last], &saved, &last.to_string(), &past).unwrap();
            events.push(event);
        }
    }
}

#[test]
fn moved_session_blocks_what_whole_one_does() {
    let mut tally = Tally::default();
    for seed in 0..u64::from(crate::cases(40)) {
        play(seed, false, &mut tally);
        play(seed, true, &mut tally);
    }
    let Tally { exact, unknown, rebuilt, not_rebuilt, missed_unknown } = tally;
    assert!(
        exact > 20 && rebuilt > not_rebuilt / 4,
        "{exact} exact, {unknown} unknown, {rebuilt} rebuilt, {not_rebuilt} not"
    );
    assert_eq!(missed_unknown, 0);
}
