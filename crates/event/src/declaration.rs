//! What the members of a declaration say besides its kind: a consent may be `withdrawn`, an approval still `pending`.
//!
//! Systems write an answer in many ways: as a flag, as a word, or as the time at which it was taken back. One table of
//! names and words serves all declarations, of logs and of tools.

use lictor_json::{Json, Number, Object};

/// What a declaration declares.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// An approval, or a consent that was given.
    Allowance,
    /// A denial.
    Refusal,
    /// A consent that was refused or withdrawn.
    Withdrawal,
    /// An erasure. One that was only requested is one too.
    Erasure,
}

/// What a member says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Open,
}

/// Members that say by `true` or `false` whether something was allowed.
const ALLOWING: [&str; 20] = [
    "granted",
    "approved",
    "allowed",
    "accepted",
    "permitted",
    "confirmed",
    "given",
    "agreed",
    "authorized",
    "authorised",
    "consented",
    "consent",
    "approval",
    "optin",
    "optedin",
    "allow",
    "approve",
    "accept",
    "grant",
    "agree",
];

/// Members that say by `false` that something has no effect.
const VALID: [&str; 7] = ["valid", "active", "effective", "ok", "success", "succeeded", "value"];

/// Members that say it with a word.
const WORDS: [&str; 13] = [
    "decision",
    "status",
    "outcome",
    "verdict",
    "answer",
    "response",
    "state",
    "result",
    "choice",
    "reply",
    "resolution",
    "disposition",
    "value",
];

/// Members that may also name what was decided on, as in `"action":"cancel_order"`.
const ACTIONS: [&str; 9] =
    ["action", "type", "event", "eventtype", "eventname", "operation", "subtype", "change", "transition"];

/// Members with a sentence.
const SENTENCES: [&str; 4] = ["text", "message", "comment", "note"];

/// Parts of names that say whose answer it is.
const OWNERS: [&str; 18] = [
    "is",
    "has",
    "was",
    "user",
    "users",
    "customer",
    "subject",
    "person",
    "human",
    "reviewer",
    "manager",
    "current",
    "final",
    "consent",
    "approval",
    "permission",
    "erasure",
    "request",
];

/// The beginnings of words that refuse.
const REFUSALS: [&str; 18] = [
    "reject",
    "deny",
    "denie",
    "denial",
    "declin",
    "refus",
    "disallow",
    "forbid",
    "forbad",
    "disapprov",
    "revok",
    "revoc",
    "withdr",
    "retract",
    "rescind",
    "prohibit",
    "unauthori",
    "veto",
];

/// The beginnings of words by which an allowance ends, or never came about.
const ENDS: [&str; 15] = [
    "cancel",
    "expir",
    "lapse",
    "fail",
    "error",
    "invalid",
    "void",
    "block",
    "inactiv",
    "abort",
    "timeout",
    "timed",
    "optout",
    "optedout",
    "unsubscrib",
];

/// The beginnings of words for something that is not decided.
const OPEN: [&str; 14] = [
    "pend", "request", "await", "wait", "propos", "undecid", "unanswer", "unknown", "draft", "defer", "submit",
    "required", "needed", "review",
];

/// The beginnings of words that allow.
const ALLOWANCES: [&str; 12] = [
    "approv", "grant", "allow", "accept", "permit", "agree", "authori", "optin", "optedin", "given", "confirm",
    "consent",
];

/// What may follow `no` without refusing.
const NO_OBJECTION: [&str; 8] = ["objection", "problem", "issue", "concern", "limit", "change", "comment", "further"];

/// How many words of a member are read: a longer one is a sentence.
const MAX_WORDS: usize = 4;

/// Returns the first member that says something else than what is declared. Words of `about`, the name of a tool, are
/// what was decided on and not the decision.
pub fn find_contradiction<'a>(members: &'a Object, declared: Declared, about: &str) -> Option<&'a str> {
    let about = about.to_lowercase();
    let says_otherwise = |key: &str, value: &Json| {
        let is_open = || match value {
            Json::Object(inner) if is_answer(&base_of(key)) => {
                inner.iter().any(|(key, value)| contradicts(key, value, declared, &about))
            }
            _ => false,
        };
        contradicts(key, value, declared, &about) || is_open()
    };
    members.iter().find(|(key, value)| says_otherwise(key, value)).map(|(key, _)| key.as_str())
}

fn is_answer(base: &str) -> bool {
    ALLOWING.contains(&base) || WORDS.contains(&base)
}

/// Whether one member says something else than what is declared.
pub(crate) fn contradicts(key: &str, value: &Json, declared: Declared, about: &str) -> bool {
    let base = base_of(key);
    let is_flag = ALLOWING.contains(&base.as_str());
    let said = match value {
        Json::Bool(_) | Json::Number(_) if is_flag => read_flag(value),
        Json::Bool(false) if VALID.contains(&base.as_str()) || WORDS.contains(&base.as_str()) => Some(Answer::No),
        Json::String(text) if is_flag || WORDS.contains(&base.as_str()) || VALID.contains(&base.as_str()) => {
            read_words(&words_of(text))
        }
        Json::String(text) if ACTIONS.contains(&base.as_str()) => read_action(text, about),
        Json::String(text) if SENTENCES.contains(&base.as_str()) => read_sentence(text, declared),
        _ => read_ending(key, value, about),
    };
    match (declared, said) {
        (Declared::Allowance, said) => matches!(said, Some(Answer::No | Answer::Open)),
        (Declared::Erasure, said) => said == Some(Answer::No),
        // Whether a refusal was `confirmed` or `accepted` says nothing against it, if it is a withdrawal.
        (Declared::Withdrawal, said) => {
            said == Some(Answer::Yes)
                && !["confirmed", "accepted", "status", "state", "result", "value"].contains(&&*base)
        }
        (Declared::Refusal, said) => {
            matches!(said, Some(Answer::Yes | Answer::Open))
                || (value.as_bool() == Some(false) && ["denied", "rejected", "refused", "declined"].contains(&&*base))
        }
    }
}

/// Returns the name of a member without the parts that say whose answer it is.
fn base_of(key: &str) -> String {
    let words = words_of(key);
    let base: String = words.iter().filter(|word| !OWNERS.contains(&word.as_str())).map(String::as_str).collect();
    let names_answer = |word: &String| matches!(word.as_str(), "consent" | "approval");
    match words.iter().find(|word| names_answer(word)) {
        Some(word) if base.is_empty() => word.clone(),
        _ => base,
    }
}

/// Returns the words of a name or a text, in lower case: `optedOut` and `opted_out` are two each.
fn words_of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    for letter in text.trim().chars() {
        let is_new = !last.is_alphanumeric() || (last.is_lowercase() && letter.is_uppercase());
        if letter.is_alphanumeric() {
            match words.last_mut().filter(|_| !is_new) {
                Some(word) => word.extend(letter.to_lowercase()),
                None => words.push(letter.to_lowercase().collect()),
            }
        }
        // An apostrophe is a part of its word: `don't`.
        if !matches!(letter, '\'' | '’') {
            last = letter;
        }
    }
    words
}

fn starts(word: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| word.starts_with(beginning))
}

fn read_flag(value: &Json) -> Option<Answer> {
    match value {
        Json::Bool(true) | Json::Number(Number::Integer(1)) => Some(Answer::Yes),
        Json::Bool(false) | Json::Number(Number::Integer(0)) => Some(Answer::No),
        _ => None,
    }
}

/// Reads a short answer: the first word that allows, refuses or leaves open decides.
fn read_words(words: &[String]) -> Option<Answer> {
    if let [word] = words {
        match word.as_str() {
            "yes" | "y" | "true" | "ja" | "oui" => return Some(Answer::Yes),
            "no" | "n" | "false" | "off" | "0" | "nein" | "non" | "nope" | "never" => return Some(Answer::No),
            _ => {}
        }
    }
    for (place, word) in words.iter().enumerate().take(MAX_WORDS) {
        let next = words.get(place + 1).map_or("", String::as_str);
        let is_out = matches!(word.as_str(), "opt" | "opted") && next == "out";
        match word.as_str() {
            "no" => return (!starts(next, &NO_OBJECTION)).then_some(Answer::No),
            "not" | "never" if next != "applicable" => return Some(Answer::No),
            _ if is_out || starts(word, &REFUSALS) || starts(word, &ENDS) => return Some(Answer::No),
            _ if starts(word, &OPEN) => return Some(Answer::Open),
            // `consent_withdrawn` names what was withdrawn.
            "consent" | "approval" | "permission" => {}
            _ if starts(word, &ALLOWANCES) => return Some(Answer::Yes),
            _ => {}
        }
    }
    None
}

/// Reads a member that may name what was decided on: only one word, and none of the tool's name, is the decision.
fn read_action(text: &str, about: &str) -> Option<Answer> {
    let words = words_of(text);
    let is_out = words.ends_with(&["opt".to_owned(), "out".to_owned()]);
    let said: Vec<String> =
        words.into_iter().filter(|word| !OWNERS.contains(&word.as_str()) || word == "request").collect();
    match said.as_slice() {
        _ if is_out => Some(Answer::No),
        [word] if !is_named(word, about) => read_words(&said),
        _ => None,
    }
}

/// Whether a tool is named by a word: `withdraw` by `withdraw_cash`.
fn is_named(word: &str, about: &str) -> bool {
    about.contains(word.get(..6).unwrap_or(word))
}

/// Reads a sentence: one that begins with a refusal, and no other.
fn read_sentence(text: &str, declared: Declared) -> Option<Answer> {
    let words = words_of(&text.replace("n't", " not").replace("n’t", " not"));
    let words = match words.first().map(String::as_str) {
        Some("i" | "we" | "they" | "he" | "she" | "user" | "please") => &words[1..],
        _ => &words[..],
    };
    let word = |place: usize| words.get(place).map_or("", String::as_str);
    // Who asks for an erasure may say that consent is withdrawn.
    let refuses = || declared != Declared::Erasure && starts(word(0), &REFUSALS);
    let is_not = |place: usize| word(place) == "not" && starts(word(place + 1), &ALLOWANCES);
    match words {
        [_] => read_words(words),
        _ if refuses() || is_not(0) => Some(Answer::No),
        _ if matches!(word(0), "do" | "does" | "did" | "can" | "is" | "was") && is_not(1) => Some(Answer::No),
        _ => None,
    }
}

/// Reads members such as `withdrawn`, `revoked_at` and `denied_by`, which say by being there that an allowance ended.
fn read_ending(key: &str, value: &Json, about: &str) -> Option<Answer> {
    let is_set = match value {
        Json::Null | Json::Bool(false) | Json::Number(Number::Integer(0)) => false,
        Json::String(text) => !matches!(read_words(&words_of(text)), Some(Answer::No)) && !text.trim().is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => true,
    };
    let words = words_of(key);
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !OWNERS.contains(word)).collect();
    let joined = words.concat();
    let is_alone = match words.as_slice() {
        [_] => true,
        [_, suffix] => matches!(*suffix, "at" | "on" | "by" | "date" | "time"),
        _ => false,
    };
    let is_ending = (is_alone && starts(&joined, &REFUSALS))
        || matches!(joined.as_str(), "cancelled" | "canceled" | "cancelledat" | "canceledat" | "expired" | "failed")
        || matches!(joined.as_str(), "optout" | "optedout" | "optedoutat" | "invalid" | "unsubscribed");
    match joined.as_str() {
        _ if !is_set || is_named(&joined, about) => None,
        "pending" => Some(Answer::Open),
        _ => is_ending.then_some(Answer::No),
    }
}
