//! Erasures, consents and withdrawals that tools make: a successful call has the facts of the record.
//!
//! A text never makes a record. A call makes one if the policy says so for its tool and its result reports no error.

use lictor_json::{Json, Text};
use lictor_policy::ToolRecordKind;
use lictor_policy::expression::{AnsweredCall, CelValue, Evaluation, EvaluationScope, Expression};

use super::facts::{Labels, NameId};
use super::person;
use super::plan::Plan;
use super::record_plan::{PurposePlace, RecordPlan};
use super::values::Values;
use lictor_event::{Event, Kind};

/// How many persons or purposes one record may name; a list in a log may have any length.
const MAX_NAMES: usize = 1000;

/// Beginnings of a text that reports a failure.
const FAILURES: &[&str] =
    &["error", "failed", "failure", "exception", "traceback", "could not", "cannot", "unable", "denied"];

/// The persons or purposes that an expression names; `None` among them is one that is not known.
type Names = Vec<Option<Text>>;

/// Adds the facts of the record, and the persons that were erased or gave it.
fn label_record(
    record: &RecordPlan,
    plan: &Plan,
    scope: &EvaluationScope<'_>,
    values: &mut Values,
    labels: &mut Labels,
) -> Vec<Text> {
    let wants = &plan.wants;
    let persons = find_names(&record.subject, scope);
    let mut purposes: Names = Vec::new();
    for purpose in &record.purposes {
        match purpose {
            PurposePlace::Named(name) => purposes.push(Some(name.clone())),
            PurposePlace::Computed(expression) => purposes.extend(find_names(expression, scope)),
        }
    }
    if record.kind == ToolRecordKind::Withdrawal && record.purposes.is_empty() {
        purposes.extend(plan.purposes.keys().cloned().map(Some));
    }
    let persons: Names = persons.into_iter().map(|name| name.map(|name| person(&name).into())).collect();
    for person in &persons {
        let mut add = |name: Option<NameId>, purpose: Option<&Option<Text>>| {
            let all: Vec<_> = std::iter::once(person).chain(purpose).collect();
            let all: Vec<_> = all.into_iter().map(|text| text.as_ref().map(|text| values.get(text))).collect();
            match (name, all.iter().cloned().collect::<Option<Vec<_>>>()) {
                (None, _) => {}
                (Some(name), Some(known)) => labels.push(name, &known),
                (Some(name), None) => labels.doubt(name, all),
            }
        };
        match record.kind {
            ToolRecordKind::Erasure => {
                add(wants.erasure, None);
                add(wants.erasure_done, None);
            }
            ToolRecordKind::Withdrawal => purposes.iter().for_each(|purpose| add(wants.withdraws, Some(purpose))),
            ToolRecordKind::Consent => purposes.iter().for_each(|purpose| add(wants.consent, Some(purpose))),
            ToolRecordKind::ExplicitConsent => {
                for purpose in &purposes {
                    add(wants.consent, Some(purpose));
                    add(wants.explicit_consent, Some(purpose));
                }
            }
            _ => {}
        }
    }
    persons.into_iter().flatten().collect()
}

/// Adds the facts of the records that a result makes, and returns the persons they are about.
pub(super) fn label_records(
    plan: &Plan,
    records: &[RecordPlan],
    event: &Event,
    call: Option<&AnsweredCall>,
    values: &mut Values,
    labels: &mut Labels,
) -> Vec<Text> {
    if records.is_empty() || event.kind != Kind::ToolResult || !is_success(event) {
        return Vec::new();
    }
    // The arguments of the call are those of the record.
    let event = Event { args: call.and_then(|call| call.args.clone()), ..event.clone() };
    let mut scope = EvaluationScope::new(&event);
    scope.call = call;
    records.iter().flat_map(|record| label_record(record, plan, &scope, values, labels)).collect()
}

/// Returns the names that an expression gives: a scalar or a list of them. A missing one is not known, since the call
/// succeeded for an unknown one.
fn find_names(expression: &Expression, scope: &EvaluationScope<'_>) -> Names {
    let Evaluation::Value(value) = expression.evaluate(scope) else { return vec![None] };
    let name = |value: &CelValue<'_>| value.to_fact_value().map(|value| Text::from(plain_name(&value)));
    let names: Names = match value.elements() {
        Some(elements) => elements.into_iter().take(MAX_NAMES).map(|element| name(&element)).collect(),
        None => vec![name(&value)],
    };
    if names.is_empty() { vec![None] } else { names }
}

fn plain_name(value: &lictor_logic::Value) -> String {
    match value {
        lictor_logic::Value::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// Whether a result reports no error: neither as a flag, nor as a member of its value, nor as the beginning of its text.
fn is_success(event: &Event) -> bool {
    let text = event.text.as_deref().unwrap_or_default().trim_start();
    let parsed = text.starts_with('{').then(|| lictor_json::parse_str(text).ok()).flatten();
    let starts_badly = |text: &str| {
        FAILURES.iter().any(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
    };
    !event.failed
        && !starts_badly(text)
        && event.result.iter().chain(&parsed).all(|value| !reports_error(value))
        && !event.result.as_ref().and_then(Json::as_str).is_some_and(|text| starts_badly(text.trim_start()))
}

fn reports_error(value: &Json) -> bool {
    let is_set = |key: &str| {
        value.get(key).is_some_and(|value| match value {
            Json::Null | Json::Bool(false) => false,
            Json::String(text) => !text.is_empty(),
            Json::Array(items) => !items.is_empty(),
            _ => true,
        })
    };
    let is_false = |key: &str| value.get(key).and_then(Json::as_bool) == Some(false);
    let status = value.get("status").and_then(Json::as_str).unwrap_or_default().to_ascii_lowercase();
    ["error", "errors", "isError", "is_error"].into_iter().any(is_set)
        || ["success", "ok", "succeeded"].into_iter().any(is_false)
        || matches!(status.as_str(), "error" | "failed" | "failure" | "denied" | "rejected" | "not_found")
}
