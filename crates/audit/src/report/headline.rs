//! The headline of a finding: what happened, in the words of its witness.
//!
//! `refund_order of 1899, no approval in the 30 minutes before`. It holds what the witness holds: facts with their
//! values, no other content.

use lictor_judge::finding::{DecidedBy, Finding, WitnessEvent};
use lictor_logic::{Arena, Formula, Interval, Node, Span, Unary};

use super::words::{escape_hidden, is_deciding};

/// How many absent facts a headline names.
const MAX_ABSENT: usize = 2;

/// Returns what happened.
pub(super) fn write_headline(finding: &Finding) -> String {
    let bounds = TimeBounds::new(&finding.property.formula);
    let absent = describe_absent(finding, &bounds);
    match finding.decided {
        DecidedBy::Event => {
            let parts = [describe_deed(finding), absent, describe_earlier(finding)];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
        }
        DecidedBy::Deadline => describe_duty("a deadline passed", finding, &absent),
        DecidedBy::End => describe_duty("the session ended", finding, &absent),
    }
}

/// Describes what the agent did: the tool or the kind of the event, and the amount that a fact of it names.
fn describe_deed(finding: &Finding) -> String {
    let deed = escape_hidden(finding.tool.as_deref().unwrap_or(finding.kind.name())).into_owned();
    let deciding = finding.witness.iter().rfind(|proof| is_deciding(finding, proof));
    let facts = deciding.into_iter().flat_map(|proof| &proof.present);
    match facts.filter_map(|fact| find_amount(fact)).next() {
        Some(amount) => format!("{deed} of {amount}"),
        None => deed,
    }
}

/// Returns the first number among the values of a fact.
fn find_amount(fact: &str) -> Option<&str> {
    let (_, values) = fact.strip_suffix(')')?.split_once('(')?;
    values.split(", ").find(|value| value.parse::<f64>().is_ok())
}

/// Describes the facts that did not hold: `no approval in the 30 minutes before`.
fn describe_absent(finding: &Finding, bounds: &TimeBounds) -> String {
    let mut seen: Vec<String> = Vec::new();
    for fact in finding.witness.iter().flat_map(|proof| &proof.absent) {
        let fact = strip_steps(fact);
        let name = fact.split('(').next().unwrap_or(fact);
        // `approval("refund_order")` of a call of `refund_order` is simply its approval.
        let own = finding.tool.as_ref().is_some_and(|tool| fact == format!("{name}({:?})", tool.as_str()));
        let shown = escape_hidden(if own { name } else { fact }).into_owned();
        let phrase = format!("no {shown}{}", bounds.describe(name));
        if !seen.contains(&phrase) {
            seen.push(phrase);
        }
    }
    let more = if seen.len() > MAX_ABSENT { " and more" } else { "" };
    seen.truncate(MAX_ABSENT);
    seen.join(", ") + more
}

/// Describes the last fact that held before the deciding event: `after erasure("ann") at step 4`.
fn describe_earlier(finding: &Finding) -> String {
    let earlier = finding.witness.iter().rev().filter(|proof| !is_deciding(finding, proof));
    let Some((proof, fact)) = earlier.filter_map(|proof| Some((proof, proof.present.first()?))).next() else {
        return String::new();
    };
    format!("after {} at {}", escape_hidden(strip_steps(fact)), super::words::describe_step(proof))
}

/// Describes a duty that was not met: `the session ended with no verified after refund_order at step 3`.
fn describe_duty(occasion: &str, finding: &Finding, absent: &str) -> String {
    let duty = if absent.is_empty() { String::new() } else { format!(" with {absent}") };
    let cause = finding.witness.iter().rfind(|proof| !proof.present.is_empty());
    let cause = cause.map_or_else(String::new, |proof: &WitnessEvent| {
        let deed = escape_hidden(proof.tool.as_deref().unwrap_or(proof.kind.name())).into_owned();
        format!(" after {deed} at {}", super::words::describe_step(proof))
    });
    format!("{occasion}{duty}{cause}")
}

/// Returns a fact without the steps that a witness adds: `approval (steps 1 to 3)`.
fn strip_steps(fact: &str) -> &str {
    fact.split_once(" (step").map_or(fact, |(fact, _)| fact)
}

/// The time bounds of a formula around its facts.
struct TimeBounds(Vec<(String, Span, bool)>);

impl TimeBounds {
    fn new(formula: &str) -> TimeBounds {
        let mut arena = Arena::new();
        let mut bounds = TimeBounds(Vec::new());
        if let Ok(formula) = arena.parse(formula) {
            bounds.collect(&arena, formula, None);
        }
        bounds
    }

    fn collect(&mut self, arena: &Arena, formula: Formula, bound: Option<(Span, bool)>) {
        let bound = match &arena[formula] {
            Node::Fact(atom) => {
                self.0.extend(bound.map(|(span, is_past)| (atom.name.to_string(), span, is_past)));
                return;
            }
            Node::Unary(operator, Interval::Time { to: Some(to), .. }, _) => {
                let is_past = matches!(operator, Unary::Once | Unary::Historically | Unary::Previous);
                Some((*to, is_past))
            }
            _ => bound,
        };
        arena[formula].operands().into_iter().for_each(|operand| self.collect(arena, operand, bound));
    }

    /// Describes the bound of a fact; nothing if it has none, or several.
    fn describe(&self, name: &str) -> String {
        let mut own = self.0.iter().filter(|(bounded, ..)| bounded == name);
        match (own.next(), own.next()) {
            (Some((_, span, true)), None) => format!(" in the {} before", describe_span(*span)),
            (Some((_, span, false)), None) => format!(" within {}", describe_span(*span)),
            _ => String::new(),
        }
    }
}

/// Writes a span with the name of its unit: `30 minutes`.
fn describe_span(span: Span) -> String {
    const NAMES: [&str; 5] = ["day", "hour", "minute", "second", "millisecond"];
    let mut units = Span::UNITS.iter().zip(NAMES);
    match units.find(|((_, size), _)| span.0 >= *size && span.0.is_multiple_of(*size)) {
        Some(((_, size), name)) => super::words::format_count(span.0 / size, name),
        None => span.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_amounts_are_put_in_words() {
        let bounds = TimeBounds::new(r#"always (large_refund implies once within 30m approval)"#);
        let parsed = TimeBounds::new("G(refund -> O[0,30m] approval) & G(breach -> F[0,72h] notified)");
        assert_eq!(parsed.describe("approval"), " in the 30 minutes before");
        assert_eq!(parsed.describe("notified"), " within 3 days");
        assert_eq!(parsed.describe("refund"), "");
        assert_eq!(bounds.describe("large_refund"), "");
        assert_eq!(find_amount("large_refund(1899)"), Some("1899"));
        assert_eq!(find_amount(r#"tool_call("refund")"#), None);
        assert_eq!(strip_steps("approval (steps 1 to 3)"), "approval");
    }
}
