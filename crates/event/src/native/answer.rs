//! Approvals that say that they refuse, and denials that say that they allow.

use lictor_json::Json;

use crate::{Event, Kind};

/// Members by which systems say whether something was allowed.
const FLAGS: [&str; 6] = ["granted", "approved", "allowed", "accepted", "confirmed", "permitted"];
const WORDS: [&str; 6] = ["decision", "status", "outcome", "verdict", "answer", "response"];

/// The beginnings of the words by which they say it.
const REFUSALS: [&str; 14] = [
    "reject", "den", "declin", "refus", "disallow", "forbid", "forbad", "disapprov", "not ", "pend", "expir", "cancel",
    "revok", "withdr",
];
const ALLOWANCES: [&str; 5] = ["approv", "grant", "allow", "accept", "permit"];

/// Returns the member by which an approval says that it refuses, or a denial that it allows.
pub(super) fn find_contradiction(event: &Event) -> Option<&'static str> {
    let allows = match event.kind {
        Kind::Approval => true,
        Kind::Denial => false,
        _ => return None,
    };
    let flag = FLAGS.into_iter().find(|name| event.more.get(name).and_then(Json::as_bool) == Some(!allows));
    let says_otherwise = |name: &&str| {
        let said = event.more.get(name).and_then(Json::as_str).unwrap_or_default().trim().to_ascii_lowercase();
        let others: &[&str] = if allows { &REFUSALS } else { &ALLOWANCES };
        others.iter().any(|word| said.starts_with(word)) || said == if allows { "no" } else { "yes" }
    };
    flag.or_else(|| WORDS.into_iter().find(says_otherwise))
}
