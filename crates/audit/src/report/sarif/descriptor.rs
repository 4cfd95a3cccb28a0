//! Properties as SARIF rules.

use serde_json::{Map, Value, json};

use super::{end_sentence, escape_links, severity_level};
use crate::report::Report;
use crate::report::markdown::{code_span, escape_prose};
use lictor_policy::{Property, Severity};

/// Describes the tool object: Lictor and its properties as rules.
pub(super) fn describe_tool(report: &Report) -> Value {
    json!({"driver": {
        "name": "Lictor",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": report.properties.iter().map(|property| describe_property(property)).collect::<Vec<_>>(),
    }})
}

fn describe_property(property: &Property) -> Value {
    let says = escape_links(&end_sentence(&property.says));
    let mut tags = vec!["security", "compliance"];
    tags.extend(property.id.split_once('/').map(|(pack, _)| pack));
    let mut properties = Map::new();
    properties.insert("tags".into(), json!(tags));
    if let Some(score) = security_severity(property.severity) {
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
        "fullDescription": {"text": format!("{says} As a formula: {}", escape_links(&end_sentence(&property.formula)))},
        "help": {"text": help(property), "markdown": help_in_markdown(property)},
        "defaultConfiguration": {"level": severity_level(property.severity)},
        "properties": properties,
    })
}

fn help(property: &Property) -> String {
    let mut lines = vec![end_sentence(&property.says)];
    lines.extend(property.remedy.as_ref().map(|remedy| format!("What would be right: {}", end_sentence(remedy))));
    lines.extend(property.source.as_ref().map(|source| format!("Source: {}", end_sentence(source))));
    lines.push(format!("Formula: {}", end_sentence(&property.formula)));
    escape_links(&lines.join("\n"))
}

fn help_in_markdown(property: &Property) -> String {
    let mut lines = vec![escape_prose(&end_sentence(&property.says))];
    lines.extend(
        property
            .remedy
            .as_ref()
            .map(|remedy| format!("**What would be right:** {}", escape_prose(&end_sentence(remedy)))),
    );
    lines.extend(property.source.as_ref().map(|source| format!("**Source:** {}", escape_prose(source))));
    lines.push(format!("**Formula:** {}", code_span(&property.formula)));
    lines.join("\n\n")
}

/// Returns a score in the middle of the range that GitHub shows under the severity's name; `info` has none.
fn security_severity(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Critical => Some("9.5"),
        Severity::High => Some("8.0"),
        Severity::Medium => Some("5.5"),
        Severity::Low => Some("2.0"),
        Severity::Info => None,
    }
}
