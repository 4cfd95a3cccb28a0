//! One text for one meaning: the same policy has the same fingerprint, wherever and however it was written.

use std::fmt::Write;

use lictor_logic::{Arena, Spelling};
use sha2::{Digest, Sha256};

use super::{FactCase, FactDefinition, FactPattern, Policy, Property, Test};
use lictor_json::{Json, Text};

impl Policy {
    /// A hash of what the policy says. Spelling of formulas, order of names, comments and places do not matter; the
    /// order of tools does, for the first that fits counts.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.canonical().as_bytes());
        digest.iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Everything that has a bearing on verdicts and reports, a line each; every text as JSON, so that no line can be
    /// mistaken for another.
    fn canonical(&self) -> String {
        let mut lines = vec![line("policy", [string(&self.name)])];
        for tool in &self.tools {
            lines.push(line("tool", [string(&tool.name), list(&tool.purposes), list(&tool.effects)]));
        }
        let mut names: Vec<String> = self.properties.iter().map(|property| stated(property)).collect();
        for purpose in &self.purposes {
            let (basis, survives) = (format!("{:?}", purpose.basis), purpose.survives_erasure.to_string());
            names.push(line("purpose", [string(&purpose.name), basis, texts(&purpose.necessary), survives]));
        }
        for category in &self.categories {
            let (pattern, identifies) = (optional(&category.pattern), category.identifies.to_string());
            names.push(line("category", [string(&category.name), pattern, texts(&category.words), identifies]));
        }
        names.extend(self.tables.iter().map(|(name, value)| line("table", [string(name), value.to_string()])));
        names.extend(self.facts.iter().map(defined));
        for it in &self.suppressions {
            let until = it.until.map(|date| date.to_string()).unwrap_or_default();
            names.push(line("suppress", [string(&it.property), optional(&it.session), string(&it.reason), until]));
        }
        names.sort();
        lines.extend(names);
        lines.join("\n")
    }
}

fn line<const N: usize>(kind: &str, parts: [String; N]) -> String {
    format!("{kind} {}", parts.join(" "))
}

fn string(text: &str) -> String {
    Json::from(text).to_string()
}

fn optional(text: &Option<Text>) -> String {
    text.as_deref().map_or_else(|| "null".into(), string)
}

fn texts(list: &[Text]) -> String {
    let texts: Vec<String> = list.iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(","))
}

fn list(list: &Option<Vec<Text>>) -> String {
    list.as_deref().map_or_else(|| "null".into(), texts)
}

fn stated(property: &Property) -> String {
    let Property { id, says, formula, source, remedy, severity, respond, unknown, after, history, mode, place: _ } =
        property;
    let mut arena = Arena::new();
    let formula = match arena.parse(formula) {
        Ok(parsed) => arena.show(parsed, Spelling::Ascii).to_string(),
        Err(_) => formula.to_string(),
    };
    let settings = format!("{severity:?} {respond:?} {unknown:?} {after:?} {history:?} {mode:?}");
    line("property", [string(id), string(says), string(&formula), optional(source), optional(remedy), settings])
}

fn defined(definition: &FactDefinition) -> String {
    let cases: Vec<String> = definition.cases.iter().map(case).collect();
    line("fact", [string(&definition.name), texts(&definition.parameters), cases.join(" ")])
}

fn case(case: &FactCase) -> String {
    let FactCase { on, tests, when, each, values, ask, place: _ } = case;
    let on: Vec<String> = on.iter().map(|it| format!("{}({})", string(&it.kind), optional(&it.tool))).collect();
    let tests: Vec<String> = tests.iter().map(tested).collect();
    format!(
        "case [{}] [{}] {} {} {} {}",
        on.join(","),
        tests.join(","),
        optional(when),
        optional(each),
        texts(values),
        optional(ask)
    )
}

fn tested(test: &Test) -> String {
    let pattern = |pattern: &FactPattern| match pattern {
        FactPattern::Equal(value) => format!("= {value}"),
        FactPattern::Glob(glob) => format!("* {}", string(glob)),
        FactPattern::Regex(regex) => format!("/ {}", string(regex)),
        FactPattern::Compare(operator, value) => format!("{operator} {value}"),
    };
    let any: Vec<String> = test.any.iter().map(pattern).collect();
    format!("{} {}", string(&test.path), any.join(" | "))
}
