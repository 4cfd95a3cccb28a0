//! Events by which a person declares something: approvals, denials, consents, erasures. One that contradicts its kind, or
//! does not say what it is about, is refused: it would count for something that was never declared.

use lictor_json::Json;

use crate::{Event, Kind};

/// Members by which systems say whether something was allowed.
const FLAGS: [&str; 6] = ["granted", "approved", "allowed", "accepted", "confirmed", "permitted"];
const WORDS: [&str; 6] = ["decision", "status", "outcome", "verdict", "answer", "response"];

/// The beginnings of the words by which they say it.
const REFUSALS: [&str; 14] = [
    "reject",
    "den",
    "declin",
    "refus",
    "disallow",
    "forbid",
    "forbad",
    "disapprov",
    "not ",
    "pend",
    "expir",
    "cancel",
    "revok",
    "withdr",
];
const ALLOWANCES: [&str; 5] = ["approv", "grant", "allow", "accept", "permit"];

/// Returns what is wrong with a declaration, as code and message.
pub(super) fn find_mistake(event: &Event) -> Option<(&'static str, String)> {
    let is_empty = |list: &Option<Vec<_>>| list.as_ref().is_none_or(Vec::is_empty);
    let flag = |name: &str| event.more.get(name);
    match event.kind {
        Kind::Approval | Kind::Denial => {
            let odd = FLAGS.into_iter().find(|name| flag(name).is_some_and(|value| value.as_bool().is_none()));
            if let Some(name) = odd {
                return Some(("native.granted", format!("`{name}` must be true or false")));
            }
            let name = find_contradiction(event)?;
            let message = format!("`{name}` contradicts the kind: a refusal is a `denial`, an allowance an `approval`");
            Some(("native.granted", message))
        }
        Kind::Consent => match flag("granted").map(Json::as_bool) {
            Some(None) => Some(("native.granted", "`granted` must be true or false".to_owned())),
            Some(Some(false)) if is_empty(&event.purposes) => {
                Some(("native.purposes", "a withdrawal needs the `purposes` that it is about".to_owned()))
            }
            _ => None,
        },
        Kind::Erasure if is_empty(&event.subjects) => {
            Some(("native.subjects", "an erasure needs its persons as `subjects`".to_owned()))
        }
        _ => None,
    }
}

/// Returns the member by which an approval says that it refuses, or a denial that it allows.
fn find_contradiction(event: &Event) -> Option<&'static str> {
    let allows = event.kind == Kind::Approval;
    let flag = FLAGS.into_iter().find(|name| event.more.get(name).and_then(Json::as_bool) == Some(!allows));
    let says_otherwise = |name: &&str| {
        let said = event.more.get(name).and_then(Json::as_str).unwrap_or_default().trim().to_ascii_lowercase();
        let others: &[&str] = if allows { &REFUSALS } else { &ALLOWANCES };
        others.iter().any(|word| said.starts_with(word)) || said == if allows { "no" } else { "yes" }
    };
    flag.or_else(|| WORDS.into_iter().find(says_otherwise))
}
