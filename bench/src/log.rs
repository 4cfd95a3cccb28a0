//! A made-up log of a shop's agents, in Lictor's own event lines: sessions that overlap, most of them lawful.

use std::fmt::{self, Write};

use crate::random::Random;

/// Whether the lines are annotated with the personal data they carry, as by a gateway, or it must be recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Annotations {
    Given,
    Absent,
}

impl Annotations {
    /// Returns its name in ratios.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Annotations::Given => "given",
            Annotations::Absent => "recognised",
        }
    }
}

impl fmt::Display for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Annotations::Given => "annotations given",
            Annotations::Absent => "categories recognised in texts and arguments",
        })
    }
}

/// How many sessions run at once, and about how many turns each has.
const AT_ONCE: u64 = 64;
const TURNS: u64 = 60;

/// The annotations of a line without personal data.
const NOTHING: &str = r#","categories":[],"subjects":[]"#;

/// Words that agents and customers use.
const WORDS: [&str; 48] = [
    "the", "order", "has", "not", "arrived", "yet", "please", "look", "into", "it", "and", "tell", "me", "when", "I",
    "can", "expect", "parcel", "we", "are", "sorry", "for", "delay", "courier", "said", "tomorrow", "morning",
    "refund", "would", "be", "fine", "too", "thank", "you", "very", "much", "your", "help", "today", "anything",
    "else", "kettle", "blue", "size", "warranty", "is", "valid", "still",
];

/// The log, generated while it is read.
#[derive(Debug)]
pub(crate) struct Log {
    random: Random,
    annotations: Annotations,
    sessions: Vec<Session>,
    begun: u64,
    seconds: u64,
}

#[derive(Debug)]
struct Session {
    name: String,
    person: u64,
    turn: u64,
    seq: u64,
    calls: u64,
}

impl Log {
    pub(crate) fn new(annotations: Annotations) -> Log {
        Log { random: Random::new(7), annotations, sessions: Vec::new(), begun: 0, seconds: 0 }
    }

    /// Returns the next lines, at least `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut text = String::with_capacity(bytes + 4096);
        while text.len() < bytes {
            while (self.sessions.len() as u64) < AT_ONCE {
                self.begun += 1;
                let (name, person) = (format!("conversation-{}", self.begun), self.random.below(1_000_000));
                self.sessions.push(Session { name, person, turn: 0, seq: 0, calls: 0 });
            }
            let place = self.random.below(AT_ONCE) as usize;
            self.turn(place, &mut text);
            if self.sessions[place].turn > TURNS {
                self.sessions.swap_remove(place);
            }
        }
        text.into_bytes()
    }

    /// Adds a turn of a session: the customer writes, the agent may call a tool, and answers.
    fn turn(&mut self, place: usize, text: &mut String) {
        self.seconds += 1;
        let (says, found, answer) = (self.words(40), self.words(35), self.words(50));
        let tool = ["find_customer", "find_order", "refund_order", "place_order"][self.random.below(4) as usize];
        // One in two thousand calls is for a purpose without consent.
        let tool = if self.random.below(2000) == 0 { "send_newsletter" } else { tool };
        let calls = self.random.percent(60);
        let order = self.random.below(90_000) + 10_000;
        self.sessions[place].turn += 1;
        self.line(place, text, "user_message", &format!(r#""text":"{says}""#), NOTHING);
        if calls {
            let session = &mut self.sessions[place];
            session.calls += 1;
            let (person, call) = (session.person, session.calls);
            let paired = format!(r#""id":"call_{person}_{call}","tool":"{tool}""#);
            let mail = format!("customer{person}@example.com");
            let (purpose, carried) = match tool {
                "place_order" => ("sales", r#""email","order_id""#),
                "send_newsletter" => ("marketing", r#""email""#),
                _ => ("support", r#""email","order_id""#),
            };
            let args = match tool {
                "send_newsletter" => format!(r#"{{"email":"{mail}","subject":"{found}"}}"#),
                _ => format!(
                    r#"{{"email":"{mail}","order_id":"A-{order}","reason":"{found}","quantity":{}}}"#,
                    order % 7
                ),
            };
            let about = format!(r#","purposes":["{purpose}"],"categories":[{carried}],"subjects":["{mail}"]"#);
            self.line(place, text, "tool_call", &format!(r#"{paired},"args":{args}"#), &about);
            self.line(place, text, "tool_result", &format!(r#"{paired},"text":"{found}""#), NOTHING);
        }
        self.line(place, text, "assistant_message", &format!(r#""text":"{answer}""#), NOTHING);
    }

    /// Adds an event of a session.
    fn line(&mut self, place: usize, text: &mut String, kind: &str, rest: &str, annotations: &str) {
        let Session { name, seq, .. } = &mut self.sessions[place];
        *seq += 1;
        let annotations = if self.annotations == Annotations::Given { annotations } else { "" };
        let (day, hour) = (1 + self.seconds / 86_400 % 28, self.seconds / 3600 % 24);
        let (minute, second) = (self.seconds / 60 % 60, self.seconds % 60);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            r#"{{"v":1,"session":"{name}","seq":{seq},"time":"2026-05-{day:02}T{hour:02}:{minute:02}:{second:02}.250Z","kind":"{kind}","agent":"shop-assistant",{rest}{annotations},"labels":["verified"]}}"#
        );
    }

    fn words(&mut self, count: u64) -> String {
        let count = count / 2 + self.random.below(count);
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.random.below(WORDS.len() as u64) as usize]).collect();
        words.join(" ")
    }
}
