//! YAML of policies: problems have their places in the text, and JSON read as YAML is the value that it is as JSON.

use lictor_json::{Json, Number, parse_str};
use lictor_policy::Policy;

use crate::choices::Choices;
use crate::policy::{NoFiles, check_problems};

/// What the values of a table may nest to, less than the limit of policies.
const MAX_DEPTH: usize = 24;

pub(crate) fn run(input: &[u8]) {
    let mut choices = Choices(input);
    let as_table = choices.byte() % 2 == 1;
    let text = choices.text();
    // As the value of a table any value is read; as a whole text its keys would have to be those of policies.
    let written = match as_table {
        true => format!("lictor: 1\ntables:\n  t: {text}\n"),
        false => text.to_owned(),
    };
    let loaded = Policy::parse(&written, "fuzz.yaml", &NoFiles);
    match &loaded {
        Ok(loaded) => check_problems(&loaded.warnings, &written),
        Err(problems) => check_problems(problems, &written),
    }
    let json = parse_str(text).ok().filter(|json| as_table && !text.contains(['\n', '\r', '\t']) && is_plain(json, 0));
    if let Some(json) = json {
        assert!(loaded.is_ok(), "JSON that is no YAML: {loaded:?}");
        let table = loaded.ok().and_then(|loaded| loaded.policy.tables.into_iter().next());
        assert_eq!(table.map(|(_, value)| value), Some(json), "JSON read as YAML");
    }
}

/// Whether both readers take a value for the same: lists and objects that do not nest too deeply, whose texts and keys
/// hold nothing that YAML reads otherwise.
fn is_plain(json: &Json, depth: usize) -> bool {
    let is_text = |text: &str| text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    match json {
        Json::Array(items) => depth < MAX_DEPTH && items.iter().all(|item| is_plain(item, depth + 1)),
        Json::Object(object) => {
            let is_member = |(key, value): (&lictor_json::Text, &Json)| is_text(key) && is_plain(value, depth + 1);
            depth < MAX_DEPTH && !object.is_empty() && object.iter().all(is_member)
        }
        Json::String(text) => depth > 0 && is_text(text),
        Json::Number(Number::Float(_) | Number::Long(_)) => false,
        Json::Null | Json::Bool(_) | Json::Number(_) => depth > 0,
    }
}
