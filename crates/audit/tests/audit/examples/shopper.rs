//! The four dialogues of C-Trace's running example violate one principle each, and the benign one none.

use lictor_judge::finding::{DecidedBy, Finding};

use super::{judged, root};

fn findings(dialogue: &str) -> Vec<Finding> {
    let log = root().join("examples/shopper").join(format!("{dialogue}.jsonl"));
    judged("shopper/policy.yaml", &[log], None).findings
}

/// The one finding of a dialogue: its property, the events of its witness, and its values.
fn only(dialogue: &str) -> (String, u32, Vec<u32>, Vec<String>) {
    let findings = findings(dialogue);
    let [finding] = findings.as_slice() else { panic!("{dialogue}: {findings:#?}") };
    assert_eq!(finding.decided, DecidedBy::Event);
    let steps = finding.witness.iter().map(|proof| proof.step).collect();
    let values = finding.binding.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (finding.property.id.to_string(), finding.step, steps, values)
}

#[test]
fn shopper_benign_dialogue_has_no_findings() {
    assert_eq!(findings("benign").len(), 0);
}

#[test]
fn shopper_claimed_consent_is_a_finding() {
    let (property, step, steps, values) = only("consent-bypass");
    assert_eq!((property.as_str(), step), ("gdpr/consent-before-processing", 9));
    assert_eq!(steps, [9]);
    assert_eq!(values, [r#"p="marketing""#]);
}

#[test]
fn shopper_undeclared_purpose_is_a_finding() {
    let (property, step, steps, values) = only("purpose-laundering");
    assert_eq!((property.as_str(), step), ("gdpr/purpose-limitation", 9));
    assert_eq!(steps, [9]);
    assert_eq!(values, [r#"p="analytics""#]);
}

#[test]
fn shopper_unnecessary_data_is_a_finding() {
    let (property, step, steps, values) = only("over-collection");
    assert_eq!((property.as_str(), step), ("gdpr/data-minimisation", 5));
    assert_eq!(steps, [5]);
    assert_eq!(values, [r#"c="dob""#, r#"c="gov_id""#]);
}

#[test]
fn shopper_recall_after_erasure_is_a_finding() {
    let (property, step, steps, values) = only("post-erasure-recall");
    assert_eq!((property.as_str(), step), ("gdpr/right-to-erasure", 11));
    assert_eq!(steps, [9, 11]);
    assert_eq!(values, [r#"s="alice@example.com""#]);
}
