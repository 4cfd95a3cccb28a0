//! A finding as JSON, in the shape that reports and decisions share.

use lictor_event::write_time;
use lictor_json::Text;
use lictor_logic::Value;
use serde::{Serialize, Serializer};

use super::{Finding, FindingGround, WitnessEvent};

/// A finding with its witness.
#[derive(Debug, Serialize)]
pub struct FindingView<'a> {
    property: &'a str,
    severity: &'static str,
    session: &'a str,
    step: u32,
    decided: &'static str,
    file: &'a str,
    line: u32,
    kind: &'a str,
    tool: Option<&'a str>,
    #[serde(serialize_with = "as_object")]
    binding: Vec<(&'a str, Vec<&'a Value>)>,
    witness: Vec<ProofView<'a>>,
    /// Only if the witness is no proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    witness_basis: Option<&'static str>,
    /// Only for a property with a risk: the least and the most that it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<[f64; 2]>,
    /// Only for a property with a risk: the answers that carry it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rests_on: Vec<GroundView<'a>>,
    owed: Option<&'a str>,
    suppressed: Option<&'a str>,
    fingerprint: &'a str,
}

/// An answer that carries a risk.
#[derive(Debug, Serialize)]
struct GroundView<'a> {
    step: u32,
    fact: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    chance: f64,
}

/// An event of a witness, with content only if the user asked for it.
#[derive(Debug, Serialize)]
struct ProofView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    step: u32,
    file: &'a str,
    line: u32,
    kind: &'a str,
    tool: Option<&'a str>,
    time: Option<String>,
    present: &'a [String],
    absent: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

impl Finding {
    /// Returns the finding as a JSON object, in the shape that reports have.
    pub fn to_json(&self) -> String {
        // Text keys and no maps with other ones: this cannot fail.
        serde_json::to_string(&FindingView::of(self)).unwrap_or_default()
    }
}

impl<'a> FindingView<'a> {
    /// The view of a finding.
    pub fn of(finding: &'a Finding) -> FindingView<'a> {
        FindingView {
            property: &finding.property.id,
            severity: finding.property.severity.name(),
            session: &finding.session,
            step: finding.step,
            decided: finding.decided.name(),
            file: &finding.source.file,
            line: finding.source.line,
            kind: finding.kind.name(),
            tool: finding.tool.as_deref(),
            binding: values(&finding.binding),
            witness: finding.witness.iter().map(ProofView::of).collect(),
            witness_basis: finding.basis_note().map(|_| finding.basis.name()),
            risk: finding.risk.map(|risk| [risk.least.to_f64(), risk.most.to_f64()]),
            rests_on: finding.grounds.iter().map(GroundView::of).collect(),
            owed: finding.owed.as_deref(),
            suppressed: finding.suppressed.as_deref(),
            fingerprint: &finding.fingerprint,
        }
    }
}

impl<'a> GroundView<'a> {
    fn of(ground: &'a FindingGround) -> GroundView<'a> {
        GroundView { step: ground.step, fact: &ground.fact, by: ground.by.as_deref(), chance: ground.chance }
    }
}

impl<'a> ProofView<'a> {
    fn of(proof: &'a WitnessEvent) -> ProofView<'a> {
        ProofView {
            session: proof.session.as_deref(),
            step: proof.step,
            file: &proof.source.file,
            line: proof.source.line,
            kind: proof.kind.name(),
            tool: proof.tool.as_deref(),
            time: proof.time.map(write_time),
            present: &proof.present,
            absent: &proof.absent,
            content: proof.content.as_deref(),
        }
    }
}

/// Returns the values of each name. A finding for several values binds a name several times, and readers treat
/// duplicate keys differently.
pub fn values(binding: &[(Text, Value)]) -> Vec<(&str, Vec<&Value>)> {
    let mut names: Vec<(&str, Vec<&Value>)> = Vec::new();
    for (name, value) in binding {
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => names.push((name, vec![value])),
        }
    }
    names
}

/// Serializes pairs as one object, in their order.
pub fn as_object<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
