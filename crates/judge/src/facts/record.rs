//! Erasures, consents and withdrawals that tools make: a successful call has the facts of the record.
//!
//! A text never makes a record. A call makes one if the policy says so for its tool and its result reports no error.

use lictor_json::Text;
use lictor_policy::ToolRecordKind;
use lictor_policy::expression::{AnsweredCall, CelValue, Evaluation, EvaluationScope, Expression};

use super::failure::{is_success, misses_object};
use super::labels::{Labels, NameId};
use super::person;
use super::plan::Plan;
use super::record_plan::{PurposePlace, RecordPlan};
use super::values::Values;
use lictor_event::{Arguments, Declared, Event, Kind, find_contradiction};

/// How many persons or purposes one record may name; a list in a log may have any length.
const MAX_NAMES: usize = 1000;

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
    let (refuses, misses) = (refuses_consent(&event), misses_object(&event));
    let counts = |record: &&RecordPlan| match record.kind {
        ToolRecordKind::Consent | ToolRecordKind::ExplicitConsent => !refuses && !misses,
        ToolRecordKind::Erasure => !misses,
        // A person may withdraw from what no record knows.
        _ => true,
    };
    let mut scope = EvaluationScope::new(&event);
    scope.call = call;
    let records = records.iter().filter(counts);
    records.flat_map(|record| label_record(record, plan, &scope, values, labels)).collect()
}

/// Whether the arguments of a call or its result say that consent was refused, withdrawn, or only asked for:
/// `set_consent(granted=false)` records none.
fn refuses_consent(event: &Event) -> bool {
    let args = event.args.as_ref().and_then(Arguments::value);
    let text = event.text.as_deref().map(str::trim).filter(|text| text.starts_with('{'));
    let parsed = text.and_then(|text| lictor_json::parse_str(text).ok());
    let tool = event.tool.as_deref().unwrap_or_default();
    let mut values = args.into_iter().chain(&event.result).chain(&parsed);
    values.any(|value| {
        value.as_object().is_some_and(|members| find_contradiction(members, Declared::Allowance, tool).is_some())
    })
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
