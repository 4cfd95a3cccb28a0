//! The message for the model: which property, why, and what would be right. It names no persons, because a step may be
//! blocked to protect one. It does not quote content that is withheld.

use std::collections::HashSet;

use lictor_logic::Value;

use super::{Action, Cause, Decision, ForecastObjection, Objection, Redaction};
use crate::property_text::{describe_property, sentence};
use lictor_event::Kind;
use lictor_json::Json;
use lictor_policy::Response;

/// How many rules of a forecast are named at most.
const MAX_RULES: usize = 8;

/// Returns the message for the model about a step that is not simply forwarded. It names none of these persons.
pub(super) fn message(decision: &Decision, persons: &[String]) -> String {
    let quoted = |person: &String| Value::Text(person.as_str().into()).to_string();
    let unnamed_what = |redaction: &Redaction| match persons.iter().any(|person| *person == redaction.what) {
        true => format!("{} (somebody)", redaction.path),
        false => redaction.to_string(),
    };
    let unnamed_text = |text: &str| if names_one(text, persons) { "[withheld]".to_owned() } else { text.to_owned() };
    let without: Vec<String> = decision.redactions.iter().map(unnamed_what).map(|what| unnamed_text(&what)).collect();
    let named: HashSet<String> = persons.iter().map(quoted).collect();
    let withheld = withheld(decision);
    let hidden = |quoted: &str| match quoted {
        quoted if named.contains(quoted) => Some("somebody"),
        quoted if names_one(quoted, persons) || says(&withheld, quoted) => Some("[withheld]"),
        _ => None,
    };
    let unnamed = |fact: &str| unnamed(fact, hidden);
    let mut lines = vec![match decision.action {
        Action::Forward | Action::Steer => "This step went on, but it is not as it should be.".to_owned(),
        Action::Redact => format!("This step went on without {}.", without.join(", ")),
        Action::Ask => "This step waits until a person has allowed it.".to_owned(),
        Action::Block => blocked(decision, &without),
    }];
    let counts = |objection: &&Objection| objection.response >= Response::Steer;
    for objection in decision.objections.iter().filter(counts) {
        lines.push(format!("{}: {}", objection.property.id, sentence(&objection.property.says)));
        match &objection.why {
            Cause::Unknown => lines.push("Whether this step keeps to it cannot be told.".to_owned()),
            Cause::Violation(finding) => {
                for proof in &finding.witness {
                    let tool = proof.tool.as_ref().map(|tool| format!(" {}", unnamed_text(tool))).unwrap_or_default();
                    let session = if proof.session.is_some() { " of another session" } else { "" };
                    let held = proof.present.iter().map(|fact| format!("holds: {}", unnamed(fact)));
                    let missing = proof.absent.iter().map(|fact| format!("missing: {}", unnamed(fact)));
                    let facts: Vec<String> = held.chain(missing).collect();
                    lines.push(format!("- step {}{session}, {}{tool}: {}", proof.step, proof.kind, facts.join("; ")));
                }
            }
        }
        if let Some(remedy) = &objection.property.remedy {
            lines.push(format!("What would be right: {}", sentence(remedy)));
        }
    }
    lines.extend(decision.forecast.iter().flat_map(describe_forecast));
    lines.join("\n")
}

/// Returns what a forecast says about a step, and what to mind instead.
fn describe_forecast(forecast: &ForecastObjection) -> Vec<String> {
    let within = forecast.within;
    let mut lines = vec![match forecast.score {
        Some(score) => {
            let percent = score.chance * 100.0;
            format!("The forecast is {percent:.0} % that a rule is violated within {within} actions. Mind these rules:")
        }
        None => "Nothing is known of where this step leads. Take a way that is known to keep these rules:".to_owned(),
    }];
    for property in forecast.properties.iter().take(MAX_RULES) {
        lines.push(format!("- {}", describe_property(property)));
    }
    lines
}

/// Returns the content that the model must not see. The model knows its own calls, so those are not withheld.
fn withheld(decision: &Decision) -> String {
    let event = &decision.event;
    if event.kind == Kind::ToolCall || !matches!(decision.action, Action::Block | Action::Redact) {
        return String::new();
    }
    let (text, result) = (event.text.as_deref().unwrap_or_default(), event.result.as_ref().map(Json::to_string));
    // Also in the form in which facts quote it.
    format!("{text}\n{}\n{}", Value::text(text), result.unwrap_or_default())
}

/// Whether a text contains what a fact quotes.
fn says(text: &str, quoted: &str) -> bool {
    let inside = quoted.trim_matches('"');
    !inside.is_empty() && text.contains(inside)
}

/// Returns a fact with its hidden quoted values replaced.
fn unnamed(fact: &str, hidden: impl Fn(&str) -> Option<&'static str>) -> String {
    let (mut text, mut rest) = (String::with_capacity(fact.len()), fact);
    while let Some(begin) = rest.find('"') {
        let mut is_escaped = false;
        let ends = |letter: char| {
            let ends = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        };
        let Some(end) = rest[begin + 1..].find(ends).map(|end| begin + 1 + end + 1) else { break };
        text.push_str(&rest[..begin]);
        let quoted = &rest[begin..end];
        text.push_str(hidden(quoted).unwrap_or(quoted));
        rest = &rest[end..];
    }
    text + rest
}

/// Whether a text contains the name of one of these persons. Names of up to three bytes are ignored: they are in too
/// many texts.
fn names_one(text: &str, persons: &[String]) -> bool {
    let text = text.to_lowercase();
    persons.iter().any(|person| person.len() > 3 && text.contains(&person.to_lowercase()))
}

fn blocked(decision: &Decision, without: &[String]) -> String {
    match (without.is_empty(), &decision.refused) {
        (false, _) => format!("This step was not carried out. It may go on without {}.", without.join(", ")),
        (true, Some(reason)) => {
            format!("This step was not carried out: a person would have to allow it, and {reason}.")
        }
        (true, None) => "This step was not carried out.".to_owned(),
    }
}
