//! A report as SARIF 2.1.0, for code scanning and editors.
//!
//! A property is a `reportingDescriptor`, a finding a `result` whose location is the deciding event in its log. The
//! witness is there twice, for readers show one or the other: as `relatedLocations`, and as a code flow through the
//! session. What could not be read is a notification of the invocation, and so is a property that was not judged or is
//! inconclusive.

mod descriptor;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::Report;
use super::coverage_words::describe_needs;
use super::guarding::describe_guarding;
use super::headline::write_headline;
use super::inconclusive::find_open;
use super::json_layout::JsonLayout;
use super::totals::property_places;
use lictor_judge::finding::values;

use super::view::TotalsView;
use super::words::{self, capitalize, escape_hidden};
use lictor_decode::Fault;
use lictor_event::write_time;
use lictor_judge::finding::{Finding, WitnessEvent};
use lictor_policy::Severity;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes a report as SARIF.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let log = SarifLog { schema: SCHEMA, version: "2.1.0", runs: [SarifRun::new(report)] };
    JsonLayout::with_line_levels(4).write(&log, out)?;
    writeln!(out)
}

#[derive(Serialize)]
struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun<'a> {
    tool: Value,
    invocations: [Value; 1],
    artifacts: Vec<Value>,
    results: SarifResults<'a>,
    column_kind: &'static str,
    automation_details: Value,
    properties: Value,
}

impl<'a> SarifRun<'a> {
    fn new(report: &'a Report) -> SarifRun<'a> {
        let names = file_names(report);
        let files = ArtifactIndex::new(&names);
        let artifacts = names.iter().map(|name| {
            let mut artifact = Map::new();
            artifact.insert("location".into(), json!({"uri": to_uri(name)}));
            artifact.insert("roles".into(), json!(["analysisTarget"]));
            if let Some(file) = report.files.iter().find(|file| &*file.name == *name) {
                artifact.insert("properties".into(), json!({"format": file.format.name(), "events": file.events}));
            }
            Value::Object(artifact)
        });
        let faults = report.faults.iter().map(|fault| fault_notification(fault, &files));
        let gaps = report.gaps().map(|(session, gap)| {
            fault_notification(
                &Fault {
                    file: gap.source.file.clone(),
                    line: gap.source.line,
                    column: None,
                    code: words::gap_code(gap),
                    message: words::describe_gap(session, gap),
                },
                &files,
            )
        });
        let places = property_places(report);
        let open = open_notifications(report, &places, &files);
        let guarding = describe_guarding(report).into_iter().map(|sentence| guarding_notification(&sentence));
        let notifications: Vec<Value> =
            faults.chain(gaps).chain(guarding).chain(open).chain(coverage_notifications(report, &places)).collect();
        let mut invocation = json!({"executionSuccessful": true, "toolExecutionNotifications": notifications});
        if let Some(command) = &report.origin.command {
            invocation["commandLine"] = json!(command.as_str());
        }
        let mut properties = json!({"policy": report.policy.as_str(), "totals": TotalsView::new(report)});
        if let Some(fingerprint) = &report.origin.fingerprint {
            properties["policyFingerprint"] = json!(fingerprint.as_str());
        }
        SarifRun {
            tool: descriptor::describe_tool(report),
            invocations: [invocation],
            artifacts: artifacts.collect(),
            results: SarifResults { report, places, files },
            column_kind: "unicodeCodePoints",
            // A category of its own, so that two policies can be uploaded for one commit.
            automation_details: json!({"id": format!("lictor/{}/", report.policy)}),
            properties,
        }
    }
}

/// Returns the files of a report in their order, then those that only a finding or a fault names.
fn file_names(report: &Report) -> Vec<&str> {
    let read = report.files.iter().map(|file| &*file.name);
    let proofs = report.findings.iter().flat_map(|finding| &finding.witness).map(|proof| &*proof.source.file);
    let found = report.findings.iter().map(|finding| &*finding.source.file);
    let faulty = report.faults.iter().map(|fault| &*fault.file);
    let faulty = faulty.chain(report.gaps().map(|(_, gap)| &*gap.source.file));
    let mut seen = BTreeSet::new();
    read.chain(found).chain(proofs).chain(faulty).filter(|name| !name.is_empty() && seen.insert(*name)).collect()
}

/// The index of each file among the artifacts.
struct ArtifactIndex<'a>(HashMap<&'a str, usize>);

impl<'a> ArtifactIndex<'a> {
    fn new(names: &[&'a str]) -> ArtifactIndex<'a> {
        ArtifactIndex(names.iter().enumerate().map(|(place, name)| (*name, place)).collect())
    }

    fn location(&self, file: &str, line: u32) -> Value {
        let mut physical = Map::new();
        let mut artifact = json!({"uri": to_uri(file)});
        if let (Some(place), Some(object)) = (self.0.get(file), artifact.as_object_mut()) {
            object.insert("index".into(), json!(place));
        }
        physical.insert("artifactLocation".into(), artifact);
        if line > 0 {
            physical.insert("region".into(), json!({"startLine": line}));
        }
        Value::Object(physical)
    }
}

/// The findings, each made into an object only when it is written.
struct SarifResults<'a> {
    report: &'a Report,
    places: HashMap<&'a str, usize>,
    files: ArtifactIndex<'a>,
}

impl Serialize for SarifResults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // If one result lists its suppressions, the others must say that they have none.
        let tells = self.report.findings.iter().any(|finding| finding.suppressed.is_some());
        serializer.collect_seq(self.report.findings.iter().map(|finding| self.result_object(finding, tells)))
    }
}

impl SarifResults<'_> {
    fn result_object(&self, finding: &Finding, tells_suppressions: bool) -> Value {
        let property = &finding.property;
        let mut result = Map::new();
        let mut put = |name: &str, value: Value| {
            result.insert(name.into(), value);
        };
        put("ruleId", json!(property.id.as_str()));
        if let Some(place) = self.places.get(property.id.as_str()) {
            put("ruleIndex", json!(place));
        }
        put("kind", json!("fail"));
        put("level", json!(severity_level(property.severity)));
        put("message", json!({"text": describe_finding(finding)}));
        let at = json!({
            "physicalLocation": self.files.location(&finding.source.file, finding.source.line),
            "logicalLocations": [logical_location(finding, finding.step, finding.kind.name(), finding.tool.as_deref())],
        });
        put("locations", json!([at]));
        if !finding.witness.is_empty() {
            let numbered = finding.witness.iter().enumerate();
            put(
                "relatedLocations",
                numbered.map(|(number, proof)| self.related_location(finding, proof, number)).collect(),
            );
            let is_own = finding.witness.iter().all(|proof| proof.session.is_none());
            let order = |number: usize, proof: &WitnessEvent| if is_own { proof.step } else { number as u32 + 1 };
            let numbered = finding.witness.iter().enumerate();
            let flow: Vec<Value> =
                numbered.map(|(number, proof)| self.flow_location(finding, proof, order(number, proof))).collect();
            let thread = json!({"id": finding.session.as_str(), "locations": flow});
            put("codeFlows", json!([{"threadFlows": [thread]}]));
        }
        // The second name is the one by which GitHub recognises an alert; without it, it would hash lines of the log.
        let fingerprint = finding.fingerprint.as_str();
        put("partialFingerprints", json!({"lictor/v1": fingerprint, "primaryLocationLineHash": fingerprint}));
        match &finding.suppressed {
            Some(reason) => put(
                "suppressions",
                json!([{"kind": "external", "status": "accepted", "justification": reason.as_str()}]),
            ),
            None if tells_suppressions => put("suppressions", json!([])),
            None => {}
        }
        let binding: Map<String, Value> =
            values(&finding.binding).iter().map(|(name, values)| ((*name).into(), json!(values))).collect();
        let mut properties = json!({
            "session": finding.session.as_str(),
            "step": finding.step,
            "decided": finding.decided.name(),
            "binding": binding,
            "owed": finding.owed,
        });
        if finding.basis_note().is_some() {
            properties["witness_basis"] = json!(finding.basis.name());
        }
        if let Some(risk) = finding.risk {
            properties["risk"] = json!([risk.least.to_f64(), risk.most.to_f64()]);
        }
        put("properties", properties);
        Value::Object(result)
    }

    fn related_location(&self, finding: &Finding, proof: &WitnessEvent, number: usize) -> Value {
        json!({
            "id": number,
            "physicalLocation": self.files.location(&proof.source.file, proof.source.line),
            "logicalLocations": [logical_location(finding, proof.step, proof.kind.name(), proof.tool.as_deref())],
            "message": {"text": describe_proof(proof)},
        })
    }

    fn flow_location(&self, finding: &Finding, proof: &WitnessEvent, order: u32) -> Value {
        let mut flow = Map::new();
        let location = json!({
            "physicalLocation": self.files.location(&proof.source.file, proof.source.line),
            "message": {"text": describe_proof(proof)},
        });
        flow.insert("location".into(), location);
        flow.insert("executionOrder".into(), json!(order));
        if let Some(time) = proof.time {
            flow.insert("executionTimeUtc".into(), json!(write_time(time)));
        }
        let importance = if words::is_deciding(finding, proof) { "essential" } else { "important" };
        flow.insert("importance".into(), json!(importance));
        Value::Object(flow)
    }
}

fn fault_notification(fault: &Fault, files: &ArtifactIndex<'_>) -> Value {
    let mut location = files.location(&fault.file, fault.line);
    if let (Some(column), Some(region)) = (fault.column, location.pointer_mut("/region").and_then(Value::as_object_mut))
    {
        region.insert("startColumn".into(), json!(column.max(1)));
    }
    json!({
        "level": "warning",
        "message": {"text": escape_links(&end_sentence(&fault.message))},
        "descriptor": {"id": fault.code},
        "locations": [{"physicalLocation": location}],
    })
}

/// Returns a notification for each property that was not judged or not exercised. A result of the kind `notApplicable`
/// would say the same, but code scanning shows every result as an alert.
fn coverage_notifications<'a>(
    report: &'a Report,
    places: &'a HashMap<&str, usize>,
) -> impl Iterator<Item = Value> + use<'a> {
    report.coverage.unexercised().map(|gap| {
        let id = gap.property.id.as_str();
        let (code, reason) = match gap.lacking.is_empty() {
            true => ("coverage.not_exercised", "Not exercised: nothing occurs that could violate it.".to_owned()),
            false => {
                let needs = describe_needs(gap);
                ("coverage.not_judged", format!("Not judged: it {needs}, which the logs never state."))
            }
        };
        json!({
            "level": "note",
            "message": {"text": escape_links(&reason)},
            "descriptor": {"id": code},
            "associatedRule": rule_reference(id, places),
        })
    })
}

/// Returns a notification of what a guard stopped, or a person approved.
fn guarding_notification(sentence: &str) -> Value {
    json!({
        "level": "note",
        "message": {"text": escape_links(&capitalize(&end_sentence(sentence)))},
        "descriptor": {"id": "guard.decided"},
    })
}

/// Returns a notification for each property that is inconclusive in some session, at the first place that makes it so.
fn open_notifications(report: &Report, places: &HashMap<&str, usize>, files: &ArtifactIndex<'_>) -> Vec<Value> {
    let open = find_open(report);
    let notifications = open.iter().map(|open| {
        let (file, line) = open.source;
        json!({
            "level": "note",
            "message": {"text": escape_links(&capitalize(&end_sentence(&open.describe())))},
            "descriptor": {"id": "verdict.inconclusive"},
            "associatedRule": rule_reference(&open.property.id, places),
            "locations": [{"physicalLocation": files.location(file, line)}],
        })
    });
    notifications.collect()
}

/// Returns a property as a reference to its rule.
fn rule_reference(id: &str, places: &HashMap<&str, usize>) -> Value {
    let mut rule = json!({"id": id});
    if let Some(place) = places.get(id) {
        rule["index"] = json!(place);
    }
    rule
}

/// Describes a finding in a few sentences.
fn describe_finding(finding: &Finding) -> String {
    let mut text = format!(
        "{} {} In session {}, {}",
        end_sentence(&write_headline(finding)),
        end_sentence(&finding.property.says),
        finding.session,
        words::describe_moment(finding)
    );
    let binding = words::format_binding(finding);
    if !binding.is_empty() {
        text = format!("{text}, for {binding}");
    }
    text.push('.');
    if let Some(owed) = &finding.owed {
        text = format!("{text} Owed: {}", end_sentence(owed));
    }
    if let Some(remedy) = &finding.property.remedy {
        text = format!("{text} Help: {}", end_sentence(remedy));
    }
    escape_links(&text)
}

fn describe_proof(proof: &WitnessEvent) -> String {
    let event = words::describe_event(proof.kind.name(), proof.tool.as_deref());
    let statements = words::describe_proof(proof);
    let detail = if statements.is_empty() { String::new() } else { format!("; {}", statements.join("; ")) };
    escape_links(&format!("{}: {event}{detail}.", words::describe_step(proof)))
}

fn logical_location(finding: &Finding, step: u32, kind: &str, tool: Option<&str>) -> Value {
    json!({
        "name": tool.unwrap_or(kind),
        "fullyQualifiedName": format!("{}/{step}", finding.session),
        "kind": "event",
    })
}

/// Returns a text that ends like a sentence.
fn end_sentence(text: &str) -> String {
    let text = text.trim_end();
    match text.chars().next_back() {
        Some('.' | '!' | '?') | None => text.into(),
        Some(_) => format!("{text}."),
    }
}

/// Escapes a text for SARIF, where `[words](target)` would be a link.
fn escape_links(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escape_hidden).collect();
    lines.join("\n").replace("](", "] (")
}

fn severity_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// Returns a file name as a reference: relative where the name is, percent-encoded.
fn to_uri(name: &str) -> String {
    let name = if cfg!(windows) { name.replace('\\', "/") } else { name.into() };
    let mut uri = String::with_capacity(name.len() + 8);
    if name.starts_with('/') {
        uri.push_str("file://");
    } else if cfg!(windows) && name.get(1..3) == Some(":/") {
        uri.push_str("file:///");
    }
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sarif_uri_percent_encodes_file_names() {
        assert_eq!(to_uri("logs/shop 1.jsonl"), "logs/shop%201.jsonl");
        assert_eq!(to_uri("/var/log/a#b?.jsonl"), "file:///var/log/a%23b%3F.jsonl");
        assert_eq!(to_uri("s3:bucket/é%.json"), "s3%3Abucket/%C3%A9%25.json");
        assert_eq!(to_uri("../<stdin>"), "../%3Cstdin%3E");
    }

    #[test]
    fn sarif_message_makes_no_links() {
        assert_eq!(escape_links("see [here](https://example.invalid)"), "see [here] (https://example.invalid)");
    }

    #[test]
    fn sarif_sentence_ends_with_punctuation() {
        assert_eq!(["Stop", "Stop.", "Stop?", ""].map(end_sentence), ["Stop.", "Stop.", "Stop?", ""]);
    }
}
