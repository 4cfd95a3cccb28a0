//! Properties as SARIF describes what a tool looks for.

use serde_json::{Map, Value, json};

use super::{level, message, sentence};
use crate::report::Report;
use crate::report::markdown::{code, prose};
use lictor_policy::{Property, Severity};

/// Who writes, and what it looks for.
pub(super) fn tool(report: &Report) -> Value {
    json!({"driver": {
        "name": "Lictor",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": report.properties.iter().map(|property| descriptor(property)).collect::<Vec<_>>(),
    }})
}

fn descriptor(property: &Property) -> Value {
    let says = message(&sentence(&property.says));
    let mut tags = vec!["security", "compliance"];
    tags.extend(property.id.split_once('/').map(|(pack, _)| pack));
    let mut properties = Map::new();
    properties.insert("tags".into(), json!(tags));
    if let Some(score) = score(property.severity) {
        properties.insert("security-severity".into(), json!(score));
    }
    properties.insert("severity".into(), json!(property.severity.name()));
    properties.insert("formula".into(), json!(property.formula.as_str()));
    if let Some(source) = &property.source {
        properties.insert("source".into(), json!(source.as_str()));
    }
    json!({
        "id": property.id.as_str(),
        "shortDescription": {"text": says},
        "fullDescription": {"text": format!("{says} As a formula: {}", message(&sentence(&property.formula)))},
        "help": {"text": help(property), "markdown": help_in_markdown(property)},
        "defaultConfiguration": {"level": level(property.severity)},
        "properties": properties,
    })
}

fn help(property: &Property) -> String {
    let mut lines = vec![sentence(&property.says)];
    lines.extend(property.remedy.as_ref().map(|remedy| format!("What would be right: {}", sentence(remedy))));
    lines.extend(property.source.as_ref().map(|source| format!("Source: {}", sentence(source))));
    lines.push(format!("Formula: {}", sentence(&property.formula)));
    message(&lines.join("\n"))
}

fn help_in_markdown(property: &Property) -> String {
    let mut lines = vec![prose(&sentence(&property.says))];
    lines.extend(
        property.remedy.as_ref().map(|remedy| format!("**What would be right:** {}", prose(&sentence(remedy)))),
    );
    lines.extend(property.source.as_ref().map(|source| format!("**Source:** {}", prose(source))));
    lines.push(format!("**Formula:** {}", code(&property.formula)));
    lines.join("\n\n")
}

/// A score in the middle of the range that GitHub shows under the same name; what is good to know has none.
fn score(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Critical => Some("9.5"),
        Severity::High => Some("8.0"),
        Severity::Medium => Some("5.5"),
        Severity::Low => Some("2.0"),
        Severity::Info => None,
    }
}
