//! The journal's line about a decision: which properties objected to which event, in words an operator reads at once.

use lictor_judge::finding::Finding;
use lictor_judge::guard::{Action, Decision};
use lictor_policy::Response;
use serde_json::{Value, json};

/// The longest name of a tool or a kind that is logged, in characters.
const MAX_NAME_CHARACTERS: usize = 128;

/// A name with more digits than this in a row may be the number of a person.
const MAX_DIGITS_IN_A_ROW: usize = 5;

/// Returns the members of the line about a decision; none if no property objected and the event was forwarded.
pub(crate) fn decision_line(
    tenant: &str,
    exchange: Option<&str>,
    is_shadow: bool,
    decision: &Decision,
) -> Option<Value> {
    if decision.action == Action::Forward && decision.objections.is_empty() {
        return None;
    }
    let event = &decision.event;
    let (kind, tool) = (loggable(event.kind.name()), event.tool.as_deref().map(loggable));
    let names = |only_effective: bool| -> Vec<&str> {
        let objections = decision.objections.iter();
        let objections = objections.filter(|objection| !only_effective || objection.response > Response::Warn);
        objections.map(|objection| objection.property.id.as_str()).collect()
    };
    let properties = match names(true) {
        effective if effective.is_empty() => names(false),
        effective => effective,
    };
    let verb = match (decision.action, is_shadow) {
        (Action::Forward, _) => "forwarded",
        (Action::Steer, false) => "steered",
        (Action::Redact, false) => "redacted",
        (Action::Ask, false) => "asked about",
        (Action::Block, false) => "blocked",
        (Action::Steer, true) => "would have steered",
        (Action::Redact, true) => "would have redacted",
        (Action::Ask, true) => "would have asked about",
        (Action::Block, true) => "would have blocked",
    };
    let mut summary = format!("{verb} {}", tool.unwrap_or(kind));
    if !properties.is_empty() {
        summary = format!("{summary}: {}", properties.join(", "));
    }
    if let Some(forecast) = &decision.forecast {
        summary = format!("{summary}: {forecast}");
    }
    Some(json!({
        "summary": summary,
        "tenant": tenant,
        "action": decision.action.name(),
        "kind": kind,
        "tool": tool,
        "properties": properties,
        "exchange": exchange,
    }))
}

/// Returns the members of the line about a text of which parts were withheld while it was streamed.
pub(crate) fn shown_line(tenant: &str, exchange: &str, action: Action, properties: &[&str]) -> Value {
    let verb = if action == Action::Block { "blocked" } else { "redacted" };
    json!({
        "summary": format!("{verb} assistant_message: {}", properties.join(", ")),
        "tenant": tenant,
        "action": action.name(),
        "kind": "assistant_message",
        "properties": properties,
        "exchange": exchange,
    })
}

/// Returns the members of the line about an approval that was answered or has expired.
pub(crate) fn approval_line(
    tenant: &str,
    id: &str,
    tool: Option<&str>,
    properties: &[String],
    outcome: &'static str,
) -> Value {
    let tool = loggable(tool.unwrap_or("tool_call"));
    let mut summary = format!("approval of {tool} {outcome}");
    if !properties.is_empty() {
        summary = format!("{summary}: {}", properties.join(", "));
    }
    json!({
        "summary": summary,
        "tenant": tenant,
        "outcome": outcome,
        "tool": tool,
        "properties": properties,
        "approval": id,
    })
}

/// Returns the members of the line about a deadline that passed.
pub(crate) fn late_line(tenant: &str, finding: &Finding) -> Value {
    let (property, tool) = (finding.property.id.as_str(), finding.tool.as_deref().map(loggable));
    json!({"summary": format!("late: {property}"), "tenant": tenant, "property": property, "tool": tool})
}

/// Returns the members of the line about a fact whose answers drifted away from the calibration.
pub(crate) fn drift_line(tenant: &str, labeler: &str, fact: &str) -> Value {
    let summary = format!(
        "drift: the answers of {labeler} about {fact} are no longer like those of its calibration; they are unknown to risks"
    );
    json!({"summary": summary, "tenant": tenant, "labeler": labeler, "fact": fact})
}

/// Returns a name as it is logged. Models make up names of tools, so a name that could hold personal data is withheld.
pub(super) fn loggable(name: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    let longest_number = name.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    let is_loggable =
        name.len() <= MAX_NAME_CHARACTERS && name.chars().all(is_plain) && longest_number <= MAX_DIGITS_IN_A_ROW;
    if is_loggable { name } else { "[withheld]" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_be_personal_are_withheld() {
        for name in ["refund_order", "mcp__shop__refund-v2", "files/read", "tool_call"] {
            assert_eq!(loggable(name), name);
        }
        for name in ["mail_ann@example.org", "call_4915112345678", "Ann Müller", "x\n{\"event\":1}", &"x".repeat(129)]
        {
            assert_eq!(loggable(name), "[withheld]", "{name}");
        }
    }
}
