//! Fingerprints of policies: equal meanings have equal fingerprints, however they are written.

use std::collections::BTreeMap;
use std::fmt::Write;

use lictor_logic::{Arena, Spelling};
use sha2::{Digest, Sha256};

use super::{FactCase, FactDefinition, FactPattern, FactQuestion, FormulaLimits, LabelBudget, LabelerDefinition};
use super::{Place, Policy, PredictSettings, Property, RecordPurpose, Test};
use crate::vocabulary;
use lictor_json::{Json, Text};

/// The version of how facts are found. A version of Lictor that finds a fact at other events has another number.
const FACT_VERSION: u32 = 1;

/// How many digits the fingerprint of a fact has.
const FACT_FINGERPRINT_DIGITS: usize = 16;

/// The built-in facts that depend on no declaration of the policy.
const KIND_FACTS: [&str; 19] = [
    "user_message",
    "assistant_message",
    "system_message",
    "retrieval",
    "error",
    "session_start",
    "session_end",
    "tool_definitions",
    "tool_call",
    "tool_result",
    "tool_failed",
    "unparsed",
    "call_digest",
    "argument",
    "argument_from",
    "carries_secret",
    "approval",
    "denial",
    "handoff",
];

/// Returns the SHA-256 of a text, in hexadecimal digits.
pub(crate) fn hash_text(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

impl Policy {
    /// Returns a hash of what the policy says. Spelling of formulas, order of names, comments and places do not matter;
    /// the order of tools does, for the first that fits counts.
    pub fn fingerprint(&self) -> String {
        hash_text(&self.to_canonical_text())
    }

    /// Returns everything that affects verdicts and reports, a line each; every text as JSON, so that no line can be
    /// mistaken for another.
    fn to_canonical_text(&self) -> String {
        let mut lines = vec![join_line("policy", [quote(&self.name)])];
        lines.extend(self.write_tools());
        let mut names: Vec<String> = self.properties.iter().map(|property| write_property(property)).collect();
        names.extend(self.write_surroundings());
        names.extend(self.labelers.iter().map(write_labeler));
        if self.budget != LabelBudget::default() {
            names.push(join_line("budget", [format!("{:?}", self.budget)]));
        }
        if self.limits != FormulaLimits::default() {
            names.push(join_line("limits", [format!("{:?}", self.limits)]));
        }
        if let Some(predict) = &self.predict {
            // Where it was written changes nothing.
            let settings = PredictSettings { place: Place::default(), ..predict.clone() };
            names.push(join_line("predict", [format!("{settings:?}")]));
        }
        if self.steering.is_active() {
            names.push(join_line("steer", [format!("{:?}", self.steering)]));
        }
        names.extend(self.facts.iter().map(write_fact));
        for it in &self.suppressions {
            let until = it.until.map(|date| date.to_string()).unwrap_or_default();
            names.push(join_line(
                "suppress",
                [quote(&it.property), quote_optional(&it.session), quote(&it.reason), until],
            ));
        }
        names.sort();
        lines.extend(names);
        lines.join("\n")
    }

    /// Returns what the tools say, a line each, in their order.
    fn write_tools(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for tool in &self.tools {
            lines.push(join_line(
                "tool",
                [quote(&tool.name), quote_optional_list(&tool.purposes), quote_optional_list(&tool.effects)],
            ));
            for record in &tool.records {
                let purposes: Vec<String> = record.purposes.iter().map(write_purpose).collect();
                let kind = format!("{:?}", record.kind);
                lines.push(join_line("record", [quote(&tool.name), kind, quote(&record.subject), purposes.join(" ")]));
            }
        }
        lines
    }

    /// Returns what the purposes, the categories and the tables say, a line each.
    fn write_surroundings(&self) -> Vec<String> {
        let mut names = Vec::new();
        for purpose in &self.purposes {
            let (basis, survives) = (format!("{:?}", purpose.basis), purpose.survives_erasure.to_string());
            names.push(join_line("purpose", [quote(&purpose.name), basis, quote_list(&purpose.necessary), survives]));
            if !purpose.words.is_empty() {
                names.push(join_line("named", [quote(&purpose.name), quote_list(&purpose.words)]));
            }
        }
        for category in &self.categories {
            let (pattern, identifies) = (quote_optional(&category.pattern), category.identifies.to_string());
            names
                .push(join_line("category", [quote(&category.name), pattern, quote_list(&category.words), identifies]));
        }
        names.extend(self.tables.iter().map(|(name, value)| join_line("table", [quote(name), value.to_string()])));
        names
    }

    /// Returns the fingerprints of facts: two policies with the same fingerprint of a fact find it at the same events, as far as
    /// these are judged alike otherwise. Facts that neither Lictor nor the policy defines are found where the log states
    /// them.
    pub fn fact_fingerprints<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> BTreeMap<Text, Text> {
        let mut surroundings = self.write_surroundings();
        surroundings.sort();
        surroundings.extend(self.write_tools());
        let surroundings = surroundings.join("\n");
        let labelers: Vec<String> = self.labelers.iter().map(write_labeler).collect();
        let meaning = |name: &str| match self.facts.iter().find(|fact| fact.name == name) {
            Some(fact) => {
                let computes = |case: &FactCase| case.when.is_some() || case.each.is_some() || !case.values.is_empty();
                let surroundings = if fact.cases.iter().any(computes) { surroundings.as_str() } else { "" };
                let is_asked = fact.cases.iter().any(|case| case.ask.is_some());
                let labelers = if is_asked { labelers.join("\n") } else { String::new() };
                format!("{}\n{surroundings}\n{labelers}", write_fact(fact))
            }
            None if vocabulary::builtin(name).is_none() => "stated".to_owned(),
            None if KIND_FACTS.contains(&name) => "kind".to_owned(),
            None => format!("builtin\n{surroundings}"),
        };
        let fingerprint = |name: &str| {
            let mut hash = hash_text(&format!("{FACT_VERSION} {} {}", quote(name), meaning(name)));
            hash.truncate(FACT_FINGERPRINT_DIGITS);
            (Text::from(name), Text::from(hash.as_str()))
        };
        names.into_iter().map(fingerprint).collect()
    }
}

fn join_line<const N: usize>(kind: &str, parts: [String; N]) -> String {
    format!("{kind} {}", parts.join(" "))
}

fn quote(text: &str) -> String {
    Json::from(text).to_string()
}

fn quote_optional(text: &Option<Text>) -> String {
    text.as_deref().map_or_else(|| "null".into(), quote)
}

fn quote_list(list: &[Text]) -> String {
    let texts: Vec<String> = list.iter().map(|text| quote(text)).collect();
    format!("[{}]", texts.join(","))
}

fn quote_optional_list(list: &Option<Vec<Text>>) -> String {
    list.as_deref().map_or_else(|| "null".into(), quote_list)
}

fn write_purpose(purpose: &RecordPurpose) -> String {
    match purpose {
        RecordPurpose::Named(name) => format!("named {}", quote(name)),
        RecordPurpose::Computed(expression) => format!("computed {}", quote(expression)),
    }
}

fn write_property(property: &Property) -> String {
    let mut arena = Arena::new();
    let formula = match arena.parse(&property.formula) {
        Ok(parsed) => arena.show(parsed, Spelling::Ascii).to_string(),
        Err(_) => property.formula.to_string(),
    };
    let Property { id, says, source, remedy, .. } = property;
    let (source, remedy) = (quote_optional(source), quote_optional(remedy));
    join_line("property", [quote(id), quote(says), quote(&formula), source, remedy, write_settings(property)])
}

/// Writes what decides about a property besides its formula. Two with the same formula and settings decide alike.
pub(crate) fn write_settings(property: &Property) -> String {
    // All members are named, so that a new one must be placed here or in `write_property`.
    let Property {
        id: _,
        says: _,
        formula: _,
        source: _,
        remedy: _,
        severity,
        respond,
        unknown,
        after,
        history,
        mode,
        risk,
        needs,
        place: _,
    } = property;
    let mut settings = format!("{severity:?} {respond:?} {unknown:?} {after:?} {history:?} {mode:?}");
    if let Some(risk) = risk {
        settings.push_str(&format!(" risk {risk}"));
    }
    if !needs.is_empty() {
        let mut needs = needs.clone();
        needs.sort_unstable();
        settings.push_str(&quote_list(&needs));
    }
    settings
}

fn write_fact(definition: &FactDefinition) -> String {
    let cases: Vec<String> = definition.cases.iter().map(write_case).collect();
    join_line("fact", [quote(&definition.name), quote_list(&definition.parameters), cases.join(" ")])
}

fn write_case(case: &FactCase) -> String {
    let FactCase { on, tests, when, each, values, ask, place: _ } = case;
    let on: Vec<String> = on.iter().map(|it| format!("{}({})", quote(&it.kind), quote_optional(&it.tool))).collect();
    let tests: Vec<String> = tests.iter().map(write_test).collect();
    format!(
        "case [{}] [{}] {} {} {} {}",
        on.join(","),
        tests.join(","),
        quote_optional(when),
        quote_optional(each),
        quote_list(values),
        ask.as_ref().map_or_else(|| "null".into(), write_question)
    )
}

fn write_question(question: &FactQuestion) -> String {
    let FactQuestion { statement, by, window, yes, no } = question;
    let mut text = quote(statement);
    if by.is_some() || *window > 0 || !yes.is_empty() || !no.is_empty() {
        text.push_str(&format!(" by {} {window} {} {}", quote_optional(by), quote_list(yes), quote_list(no)));
    }
    text
}

fn write_labeler(labeler: &LabelerDefinition) -> String {
    let LabelerDefinition { name, source, calibration, timeout, calls_per_hour, place: _ } = labeler;
    let limits = format!("{timeout:?} {calls_per_hour:?}");
    join_line("labeler", [quote(name), format!("{source:?}"), quote_optional(calibration), limits])
}

fn write_test(test: &Test) -> String {
    let pattern = |pattern: &FactPattern| match pattern {
        FactPattern::Equal(value) => format!("= {value}"),
        FactPattern::Glob(glob) => format!("* {}", quote(glob)),
        FactPattern::Regex(regex) => format!("/ {}", quote(regex)),
        FactPattern::Compare(operator, value) => format!("{operator} {value}"),
    };
    let any: Vec<String> = test.any.iter().map(pattern).collect();
    format!("{} {}", quote(&test.path), any.join(" | "))
}
