//! Events by which a person declares something: approvals, denials, consents, erasures. One that contradicts its kind, or
//! does not say what it is about, is refused: it would count for something that was never declared.

#[cfg(test)]
mod tests;

use lictor_json::{Json, Object};
use lictor_logic::Time;

use crate::declaration::{Declared, contradicts, find_contradiction};
use crate::{Event, Kind, find_time, parse_time, read_time};

/// Members that are `true` or `false`, and nothing else, in an approval or a denial.
const FLAGS: [&str; 6] = ["granted", "approved", "allowed", "accepted", "confirmed", "permitted"];

/// Members with the time at which an allowance ends.
const ENDS: [&str; 9] = [
    "expires_at",
    "expiresAt",
    "expires",
    "expiry",
    "expiration",
    "expiry_date",
    "expiration_date",
    "valid_until",
    "validUntil",
];

/// Returns what is wrong with a declaration, as code and message.
pub(super) fn find_mistake(event: &Event) -> Option<(&'static str, String)> {
    let is_empty = |list: &Option<Vec<_>>| list.as_ref().is_none_or(Vec::is_empty);
    let is_odd = |name: &&str| event.more.get(name).is_some_and(|value| value.as_bool().is_none());
    let granted = || Some(("native.granted", "`granted` must be true or false".to_owned()));
    let declared = match &event.kind {
        Kind::Approval | Kind::Denial => {
            if let Some(name) = FLAGS.into_iter().find(is_odd) {
                return Some(("native.granted", format!("`{name}` must be true or false")));
            }
            if event.kind == Kind::Approval { Declared::Allowance } else { Declared::Refusal }
        }
        Kind::Consent if is_odd(&"granted") => return granted(),
        Kind::Consent if event.more.get("granted").and_then(Json::as_bool) == Some(false) => {
            if is_empty(&event.purposes) {
                let message = "a withdrawal needs the `purposes` that it is about".to_owned();
                return Some(("native.purposes", message));
            }
            Declared::Withdrawal
        }
        Kind::Consent => Declared::Allowance,
        Kind::Erasure if is_empty(&event.subjects) => {
            return Some(("native.subjects", "an erasure needs its persons as `subjects`".to_owned()));
        }
        Kind::Erasure => Declared::Erasure,
        Kind::Other(name) if name.as_str() == "erasure_done" => Declared::Erasure,
        _ => return None,
    };
    let name = find_other_answer(event, declared)?;
    let otherwise = match event.kind {
        Kind::Approval | Kind::Denial => "a refusal is a `denial`, an allowance an `approval`, an open request neither",
        Kind::Consent if declared == Declared::Withdrawal => "a consent that was given has `\"granted\":true`",
        Kind::Consent => {
            "a consent that was refused or withdrawn has `\"granted\":false`, and one that was only asked for is none"
        }
        _ => "an erasure that was refused or failed is none",
    };
    Some(("native.granted", format!("`{name}` contradicts the kind: {otherwise}")))
}

/// Returns the member by which a declaration says something else than its kind.
fn find_other_answer(event: &Event, declared: Declared) -> Option<&str> {
    let about = event.tool.as_deref().unwrap_or_default();
    let text = || event.text.as_ref().map(|text| Json::from(text.as_str()));
    let is_allowance = declared == Declared::Allowance;
    let ends = || is_allowance && event.failed;
    find_contradiction(&event.more, declared, about)
        .or_else(|| ends().then_some("failed"))
        .or_else(|| text().is_some_and(|text| contradicts("text", &text, declared, about)).then_some("text"))
        .or_else(|| {
            let result = Object::from_members(vec![("result".into(), event.result.clone()?)]);
            find_contradiction(&result, declared, about).is_some().then_some("result")
        })
        .or_else(|| find_past_end(event).filter(|_| is_allowance))
}

/// Returns the member by which an allowance had ended before it was declared. Without a time nothing can be said.
fn find_past_end(event: &Event) -> Option<&'static str> {
    let named = || ENDS.into_iter().find(|name| event.more.get(name).is_some());
    let name = named()?;
    let time = event.time.or_else(|| find_time(&event.more))?;
    (read_end(event.more.get(name)?)? <= time).then_some(name)
}

/// Reads the end of an allowance. A day ends with its last second.
fn read_end(value: &Json) -> Option<Time> {
    let day = || parse_time(&format!("{}T23:59:59Z", value.as_str()?.get(..10)?));
    read_time(value).or_else(day)
}
