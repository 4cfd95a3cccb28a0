//! Compares the public items of the library with a list on record, so that a change of the interface shows in review.
//!
//! The compiler refuses `pub` on items that cannot be reached from outside, so every `pub` of a library is public API.
//! `LICTOR_BLESS=1 cargo test -p xtask --test tidy public_api` writes the list; read the difference before you keep it.

use std::collections::BTreeSet;
use std::fs;

use crate::is_test;
use crate::source::{code_of, without_tests};
use crate::tree::Tree;

/// The list on record.
const RECORD: &str = "xtask/tests/tidy/api.txt";

/// The crates that others may use.
const LIBRARIES: [&str; 16] = [
    "audit",
    "decode",
    "event",
    "exchange",
    "json",
    "judge",
    "ledger",
    "lictor",
    "logic",
    "policy",
    "recognise",
    "store",
    "store-postgres",
    "translate",
    "warden",
    "wire",
];

#[test]
fn public_api_is_the_one_on_record() {
    let tree = Tree::read().unwrap();
    let mut items = BTreeSet::new();
    for file in tree.sources().filter(|file| !is_test(file)) {
        let Some((name, path)) = file.path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else {
            continue;
        };
        if LIBRARIES.contains(&name) {
            let module = path.trim_end_matches(".rs").replace('/', "::");
            let code = without_tests(&code_of(&file.text));
            items.extend(public_items(&code).into_iter().map(|item| format!("{name} {module}: {item}")));
        }
    }
    let found: String = items.iter().map(|item| format!("{item}\n")).collect();
    if std::env::var_os("LICTOR_BLESS").is_some() {
        fs::write(tree.root.join(RECORD), found).unwrap();
        return;
    }
    let known: BTreeSet<String> = tree.text(RECORD).lines().map(String::from).collect();
    let (new, gone) = (items.difference(&known), known.difference(&items));
    let changes: Vec<String> =
        new.map(|item| format!("+ {item}")).chain(gone.map(|item| format!("- {item}"))).collect();
    assert!(
        changes.is_empty(),
        "the public interface differs from {RECORD}:\n{}\nhint: LICTOR_BLESS=1 writes it; say so in CHANGELOG.md",
        changes.join("\n")
    );
}

/// Returns the public items of a source: kind and name.
fn public_items(code: &str) -> Vec<String> {
    let kinds = ["const fn", "async fn", "fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
    let item = |line: &str| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let (kind, rest) = kinds.iter().find_map(|kind| Some((kind, rest.strip_prefix(kind)?.strip_prefix(' ')?)))?;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        Some(format!("{} {name}", kind.trim_start_matches("const ").trim_start_matches("async ")))
    };
    code.lines().filter_map(item).collect()
}

#[test]
fn public_items_are_found_by_kind_and_name() {
    let code = "pub struct A<T>(T);\n    pub const fn b(&self) {}\npub(crate) fn c() {}\npub use d::E;\npub mod f;\n";
    assert_eq!(public_items(code), ["struct A", "fn b", "mod f"]);
}
