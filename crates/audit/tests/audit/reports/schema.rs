//! Documents follow the schema that others check them by.

use std::fs;
use std::path::Path;
use std::process::Command;

use jsonschema::Validator;
use lictor_audit::report::{Report, json, sarif};
use serde_json::Value;

use super::{Writer, sample, written};

/// Every complaint of a schema about what a writer says of the sample reports.
fn complaints(schema: &Value, write: Writer) -> Vec<String> {
    let validator: Validator = jsonschema::validator_for(schema).unwrap();
    let reports = [
        ("small", sample::small()),
        ("hostile", sample::hostile()),
        ("large", sample::large(60)),
        ("empty", Report::default()),
    ];
    let mut complaints = Vec::new();
    for (name, report) in reports {
        let document: Value = serde_json::from_str(&written(write, &report)).unwrap();
        complaints
            .extend(validator.iter_errors(&document).map(|error| format!("{name}{}: {error}", error.instance_path())));
    }
    complaints
}

#[test]
fn json_report_follows_published_schema() {
    let schema = serde_json::from_str(lictor_audit::report::SCHEMA).unwrap();
    assert_eq!(complaints(&schema, json::write), [""; 0]);
}

/// A schema that allows everything would find no fault with anything.
#[test]
fn report_schema_refuses_other_documents() {
    let schema = serde_json::from_str(lictor_audit::report::SCHEMA).unwrap();
    let validator: Validator = jsonschema::validator_for(&schema).unwrap();
    let mut document: Value = serde_json::from_str(&written(json::write, &sample::small())).unwrap();
    assert!(validator.is_valid(&document));
    for key in document.as_object().unwrap().keys() {
        let mut less = document.clone();
        less.as_object_mut().unwrap().remove(key);
        assert!(!validator.is_valid(&less), "without `{key}`");
    }
    document["findings"][0]["decided"] = "never".into();
    assert!(!validator.is_valid(&document));
}

#[test]
fn sarif_report_follows_standard_schema() {
    // The pattern of `language` has a stray bracket, which a strict reader refuses; we write no such field.
    let text = sarif_schema().replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["title"], "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema");
    assert_eq!(complaints(&schema, sarif::write), [""; 0]);
}

/// The schema of SARIF as OASIS published it. The crate `serde-sarif` has it among its sources; we depend on it for no
/// target at all, so that cargo fetches it and never builds it.
fn sarif_schema() -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments = ["metadata", "--format-version", "1", "--locked"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(workspace).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "serde-sarif").unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    fs::read_to_string(manifest.with_file_name("src").join("schema.json")).unwrap()
}
