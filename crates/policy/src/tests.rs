//! The JSON Schemas against what is read and written here.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::{FileResolver, Policy, PolicyText, Problems, yaml};
use crate::pack::packs;
use lictor_event::record::{DecodedEvents, Decoder, LogRecord};

fn validator(text: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

/// Returns the errors that a schema finds.
fn complaints(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn golden(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

/// Returns a text in YAML as JSON.
fn value_of(source: &PolicyText) -> Value {
    let mut problems = Problems::default();
    let node = yaml::read(source, &mut problems).unwrap_or_else(|| panic!("{problems}"));
    serde_json::to_value(node.to_json()).unwrap()
}

fn good() -> Value {
    let mut good = value_of(&PolicyText::new("good.yaml", &golden("policy/good.yaml")));
    // A file would have to be looked for.
    good["uses"] = json!(["gdpr", "agent-safety/denial-is-respected"]);
    good
}

#[test]
fn policy_schema_accepts_policies_and_pages() {
    let schema = validator(crate::SCHEMA);
    let check = |name: &str, value: &Value| {
        assert_eq!(complaints(&schema, value), [""; 0], "{name}");
    };
    check("good.yaml", &good());
    for pack in packs() {
        let pages = pack.pages.iter().flat_map(|page| page.policy.iter().chain(&page.setup));
        for block in pack.shared.iter().chain(pages) {
            let mut value = value_of(block);
            value["lictor"] = json!(1);
            check(&block.file, &value);
        }
    }
}

/// Returns a value in which one thing is different, for each way to make it so: another type, a key more, a key less.
fn mutations(value: &Value) -> Vec<Value> {
    let others = [json!(null), json!(5), json!(true), json!("zzz"), json!(""), json!([]), json!({}), json!([{}])];
    let mut all: Vec<Value> = others.into_iter().filter(|other| other != value).collect();
    match value {
        Value::Object(map) => {
            for key in map.keys() {
                let mut less = map.clone();
                less.remove(key);
                all.push(Value::Object(less));
            }
            let mut more: Map<String, Value> = map.clone();
            more.insert("zzz".into(), json!("zzz"));
            all.push(Value::Object(more));
            for (key, inner) in map {
                all.extend(mutations(inner).into_iter().map(|changed| {
                    let mut map = map.clone();
                    map.insert(key.clone(), changed);
                    Value::Object(map)
                }));
            }
        }
        Value::Array(items) => {
            for (place, inner) in items.iter().enumerate() {
                all.extend(mutations(inner).into_iter().map(|changed| {
                    let mut items = items.clone();
                    items[place] = changed;
                    Value::Array(items)
                }));
            }
        }
        _ => {}
    }
    all
}

/// A policy small enough that each of its mutations can be tried.
const EVERYTHING: &str = "
lictor: 1
name: all
uses: [gdpr/data-minimisation]
purposes: {p: {basis: contract, necessary: [email], survives_erasure: true, words: [a]}}
tools: {t: {purposes: [p], effects: [read], erases: args.a, consents: {subject: args.a, purpose: [p], explicit: true}, withdraws: {subject: args.a, purpose: p}}}
categories: {c: {pattern: a, words: [b], identifies: true}}
tables: {x: [1]}
labelers:
  m: {endpoint: \"http://h/v1\", model: m, key: K, calibration: m.json, timeout: 2s, calls: 9/h}
  q: {log: true, calibration: m.json}
budget: {event: {calls: 1, tokens: 2, time: 3s}, session: {calls: 1}, hour: {calls: 1}}
limits: {work: 4000000, rows: 8000000}
predict: {chain: c.json, by: [chain, sample, stated], within: 2, risk: 0.5, hold: 0.6, undecided: intervene, intervene: [inject, resample, switch, ask], candidates: 2, samples: 8, session_calls: 4, hour_calls: 9, session_tokens: 900, time: 3s, model: m, properties: [i]}
facts:
  f(v): {on: tool_call(t), where: {args.a: [x, 1]}, when: args.a == 1, each: args.b, v: it}
  g: [{on: [user_message]}, {when: failed}]
  h: {ask: is it so, of: user_message, by: m, window: 1, examples: {yes: [a], no: [b]}}
  k: {ask: is it this, by: q}
properties:
  - {id: i, says: s, formula: always !f, source: s, remedy: r, severity: low, respond: ask, unknown: warn, after: reset, history: agent, mode: shadow}
  - {id: j, formula: always !h, risk: 0.5}
change: {gdpr/data-minimisation: {severity: low}}
suppress: [{property: i, session: s, reason: r, until: 2027-01-31}]
";

#[test]
fn policy_schema_and_loader_refuse_same_shapes() {
    const STRUCTURE: [&str; 5] =
        ["policy.type", "policy.unknown-key", "policy.missing-key", "policy.unknown-word", "policy.version"];
    let schema = validator(crate::SCHEMA);
    let everything = value_of(&PolicyText::new("all.yaml", EVERYTHING));
    assert!(schema.is_valid(&everything));
    let mutations = mutations(&everything);
    assert!(mutations.len() > 300, "{}", mutations.len());
    let mut wrong = Vec::new();
    for changed in mutations {
        let text = changed.to_string();
        let loaded = Policy::parse(&text, "changed.json", &FileResolver);
        let valid = schema.is_valid(&changed);
        match loaded {
            Ok(_) if !valid => wrong.push(format!("only the schema refuses {text}")),
            Err(problems) if valid && problems.iter().any(|problem| STRUCTURE.contains(&problem.code)) => {
                wrong.push(format!("only the loader refuses {text}\n{problems}"));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The words of the schema's enums must be those that the loader suggests for an unknown word.
#[test]
fn policy_schema_and_loader_list_same_words() {
    let schema: Value = serde_json::from_str(crate::SCHEMA).unwrap();
    let cases = [
        ("/$defs/purpose/properties/basis/enum", "purposes: {p: {basis: qqqqqqqq}}"),
        ("/$defs/tool/properties/effects/items/enum", "tools: {t: {effects: [qqqqqqqq]}}"),
        ("/$defs/severity/enum", "properties: [{id: p, formula: always !error, severity: qqqqqqqq}]"),
        ("/$defs/response/enum", "properties: [{id: p, formula: always !error, respond: qqqqqqqq}]"),
        ("/$defs/response/enum", "properties: [{id: p, formula: always !error, unknown: qqqqqqqq}]"),
        ("/$defs/history/enum", "properties: [{id: p, formula: always !error, history: qqqqqqqq}]"),
        ("/$defs/after/enum", "properties: [{id: p, formula: always !error, after: qqqqqqqq}]"),
        ("/properties/predict/properties/intervene/items/enum", "predict: {chain: c.json, intervene: [qqqqqqqq]}"),
        ("/$defs/mode/enum", "properties: [{id: p, formula: always !error, mode: qqqqqqqq}]"),
    ];
    for (pointer, text) in cases {
        let problems = Policy::parse(&format!("lictor: 1\n{text}\n"), "words.yaml", &FileResolver).unwrap_err();
        let hint = problems.iter().next().and_then(|problem| problem.hint.clone()).unwrap();
        let mut told: Vec<&str> = hint.split('`').skip(1).step_by(2).collect();
        let mut listed: Vec<&str> = schema
            .pointer(pointer)
            .and_then(Value::as_array)
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        told.sort_unstable();
        listed.sort_unstable();
        assert_eq!(told, listed, "{pointer}");
    }
}

/// Whether the decoder accepts a line as an event.
fn is_event(line: &str) -> bool {
    let record = LogRecord { value: lictor_json::parse_str(line).unwrap(), file: "x".into(), line: 1, index: 0 };
    let mut out = DecodedEvents::default();
    lictor_event::native::NativeDecoder::default().record(record, &mut out);
    out.faults.is_empty() && out.events.len() == 1
}

#[test]
fn event_schema_agrees_with_decoder() {
    let schema = validator(lictor_event::SCHEMA);
    let pages = packs().iter().flat_map(|pack| &pack.pages);
    for line in pages.flat_map(|page| &page.traces).flat_map(|trace| &trace.lines) {
        assert!(schema.is_valid(&serde_json::from_str(&line.text).unwrap()), "{}", line.text);
    }
    let event = json!({
        "v": 1, "session": "s", "seq": 4, "time": "2026-05-01T10:00:03Z", "kind": "tool_call", "agent": "a", "principal": "p", "id": "c",
        "tool": "t", "args": {"x": 1}, "result": 5, "text": "x", "failed": false, "to": "b", "purposes": ["p"],
        "categories": ["c"], "subjects": ["s"], "labels": ["l"], "facts": ["f"]
    });
    let mut values: Vec<Value> = mutations(&event);
    values.extend([json!({"facts": ["a"]}), json!(["a", "b(1)"]), json!([]), json!([5]), json!({"v": 2, "kind": "x"})]);
    values.extend(
        ["2026-05-01", "2026-05-01T10:00:03", "2026-05-01T10:00:03+02:00", "2026-05-01 10:00:03.5z", "now"]
            .map(|time| json!({"kind": "x", "time": time})),
    );
    values.extend([
        json!({"kind": "x", "time": 1e15}),
        json!({"kind": "x", "time": 1.5}),
        json!({"kind": "x", "seq": 1.5}),
    ]);
    // The schema does not check the text of a fact.
    values.retain(|value| value.get("facts") != Some(&json!([""])) && *value != json!([""]));
    for value in values {
        let line = value.to_string();
        assert_eq!(schema.is_valid(&value), is_event(&line), "{line}");
    }
}
