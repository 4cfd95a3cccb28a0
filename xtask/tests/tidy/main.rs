//! Tests of rules that the compiler cannot check: the layout of the tree, the words, the layers of crates.
//!
//! Each test collects all complaints, with the place and the way out. STYLE.md and ARCHITECTURE.md explain the rules;
//! these tests enforce them.

mod api;
mod circles;
mod licences;
mod names;
mod pages;
mod source;
mod tree;

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::source::{code_of, declared_names, identifiers, lines_without_tests, std_paths, without_tests, words};
use crate::tree::{File, Tree};

/// The crates of the workspace that each crate may depend on. Tests may use more, as long as there is no cycle.
const EDGES: [(&str, &[&str]); 26] = [
    ("lictor-logic", &[]),
    ("lictor-json", &[]),
    ("lictor-math", &[]),
    ("lictor-predict", &["lictor-logic", "lictor-json", "lictor-math"]),
    ("lictor-event", &["lictor-logic", "lictor-json"]),
    ("lictor-decode", &["lictor-logic", "lictor-json", "lictor-event"]),
    ("lictor-recognise", &["lictor-json"]),
    ("lictor-policy", &["lictor-logic", "lictor-json", "lictor-event", "lictor-recognise"]),
    (
        "lictor-label",
        &["lictor-logic", "lictor-json", "lictor-math", "lictor-event", "lictor-policy", "lictor-recognise"],
    ),
    (
        "lictor-judge",
        &["lictor-logic", "lictor-json", "lictor-predict", "lictor-event", "lictor-policy", "lictor-recognise"],
    ),
    (
        "lictor-audit",
        &["lictor-logic", "lictor-json", "lictor-event", "lictor-decode", "lictor-policy", "lictor-judge"],
    ),
    ("lictor-translate", &["lictor-logic", "lictor-json", "lictor-event", "lictor-policy", "lictor-judge"]),
    (
        "lictor",
        &[
            "lictor-logic",
            "lictor-json",
            "lictor-event",
            "lictor-decode",
            "lictor-recognise",
            "lictor-policy",
            "lictor-predict",
            "lictor-judge",
            "lictor-audit",
        ],
    ),
    ("lictor-store", &[]),
    ("lictor-store-postgres", &["lictor-store"]),
    ("lictor-ledger", &[]),
    (
        "lictor-warden",
        &[
            "lictor-logic",
            "lictor-json",
            "lictor-event",
            "lictor-policy",
            "lictor-judge",
            "lictor-store",
            "lictor-ledger",
        ],
    ),
    ("lictor-wire", &["lictor-json", "lictor-event", "lictor-decode"]),
    (
        "lictor-exchange",
        &[
            "lictor-logic",
            "lictor-json",
            "lictor-event",
            "lictor-policy",
            "lictor-predict",
            "lictor-judge",
            "lictor-wire",
        ],
    ),
    (
        "lictor-gateway",
        &[
            "lictor-logic",
            "lictor-json",
            "lictor-event",
            "lictor-policy",
            "lictor-judge",
            "lictor-label",
            "lictor-store",
            "lictor-store-postgres",
            "lictor-ledger",
            "lictor-warden",
            "lictor-wire",
            "lictor-exchange",
        ],
    ),
    ("lictor-hook", &["lictor-logic", "lictor-json", "lictor-event", "lictor-decode", "lictor-judge", "lictor-warden"]),
    (
        "lictor-mcp",
        &[
            "lictor-logic",
            "lictor-json",
            "lictor-event",
            "lictor-decode",
            "lictor-judge",
            "lictor-store",
            "lictor-warden",
            "lictor-wire",
        ],
    ),
    ("lictor-lab", &["lictor", "lictor-exchange", "lictor-math", "lictor-wire"]),
    (
        "lictor-py",
        &[
            "lictor-logic",
            "lictor",
            "lictor-exchange",
            "lictor-label",
            "lictor-ledger",
            "lictor-store",
            "lictor-warden",
            "lictor-wire",
            "lictor-cli",
        ],
    ),
    (
        "lictor-cli",
        &[
            "lictor-logic",
            "lictor",
            "lictor-translate",
            "lictor-store",
            "lictor-store-postgres",
            "lictor-ledger",
            "lictor-warden",
            "lictor-gateway",
            "lictor-hook",
            "lictor-label",
            "lictor-mcp",
            "lictor-lab",
        ],
    ),
    ("xtask", &[]),
];

/// Generic names, which say nothing about the content of a file.
const DRAWERS: [&str; 4] = ["util", "helper", "common", "misc"];

/// Words that name no idea of ours, or name one that has its own word in the glossary.
const SYNONYMS: [&str; 10] =
    ["rule", "spec", "specification", "constraint", "guardrail", "manager", "handler", "util", "helper", "factory"];

/// The most lines of a file that are not tests, and of a file that is nothing but tests.
const MAX_LINES: usize = 600;
const MAX_TEST_LINES: usize = 1000;

/// Parts of the standard library that reach outside the program.
const OUTSIDE: [&str; 7] = ["env", "fs", "io", "net", "os", "process", "thread"];

/// Identifiers by which a clock, a runtime, a printer or a wire format would come into the logic.
const IMPURE: [&str; 9] =
    ["SystemTime", "Instant", "tokio", "async", "println", "eprintln", "print", "eprint", "serde_json"];

/// Words about the use of formulas, which the logic must not know.
const FOREIGN: [&str; 4] = ["agent", "llm", "gdpr", "tool_call"];

/// Fails with all complaints, one per line.
fn expect_none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn source_files_have_a_header() {
    let tree = Tree::read().unwrap();
    let silent = tree.sources().filter(|file| !file.text.starts_with("//!"));
    expect_none(silent.map(|file| format!("{}:1: a file begins with `//!` and says what it is for", file.path)));
}

#[test]
fn file_names_are_not_generic() {
    let tree = Tree::read().unwrap();
    let code = tree.files.iter().filter(|file| matches!(file.extension(), "rs" | "py"));
    expect_none(code.filter(|file| is_drawer(&file.path)).map(|file| {
        format!("{}: name a file after the one thing in it; a module is `foo.rs`, never `mod.rs`", file.path)
    }));
}

fn is_drawer(path: &str) -> bool {
    let mut names = path.split('/').map(|name| name.split('.').next().unwrap_or(name));
    path.ends_with("/mod.rs") || names.any(|name| DRAWERS.iter().any(|drawer| name.starts_with(drawer)))
}

#[test]
fn generic_file_names_are_recognised() {
    for path in ["crates/a/src/b/mod.rs", "crates/a/src/utils.rs", "crates/a/tests/common/x.rs", "helper.py"] {
        assert!(is_drawer(path), "{path}");
    }
    for path in ["crates/a/src/model.rs", "crates/a/src/uncommon.rs", "docs/module.py"] {
        assert!(!is_drawer(path), "{path}");
    }
}

#[test]
fn source_files_stay_within_line_limits() {
    let tree = Tree::read().unwrap();
    expect_none(tree.sources().filter_map(|file| {
        let (lines, most) = match is_test(file) {
            true => (file.text.lines().count(), MAX_TEST_LINES),
            false => (lines_without_tests(&file.text), MAX_LINES),
        };
        (lines > most)
            .then(|| format!("{}: {lines} lines where {most} are the most; find the two ideas in it", file.path))
    }));
}

fn is_test(file: &File) -> bool {
    file.path.split('/').any(|name| matches!(name, "tests" | "tests.rs"))
}

#[test]
fn source_files_have_no_leftovers() {
    let tree = Tree::read().unwrap();
    expect_none(tree.sources().flat_map(|file| {
        let code = code_of(&file.text);
        let left = ["#[ignore", "todo!(", "unimplemented!("].into_iter().filter(move |mark| code.contains(mark));
        left.map(move |mark| {
            format!("{}: `{mark}`: a test runs or is deleted, a function works or is absent", file.path)
        })
    }));
}

#[test]
fn logic_crate_does_no_io() {
    let tree = Tree::read().unwrap();
    let logic = tree.sources().filter(|file| file.path.starts_with("crates/logic/src/") && !is_test(file));
    expect_none(logic.flat_map(|file| {
        impurities(&file.text)
            .into_iter()
            .map(move |(line, name)| format!("{}:{line}: the logic has no use for `{name}`", file.path))
    }));
}

/// Returns the identifiers of a source that reach outside the program or are about the use of formulas, with lines.
fn impurities(source: &str) -> Vec<(usize, String)> {
    let code = without_tests(&code_of(source));
    let outside = std_paths(&code).into_iter().filter(|(_, name)| OUTSIDE.contains(name));
    let mut found: Vec<(usize, String)> = outside.map(|(line, name)| (line, format!("std::{name}"))).collect();
    found.extend(identifiers(&code).filter(|(_, name)| is_impure(name)).map(|(line, name)| (line, name.into())));
    found
}

fn is_impure(name: &str) -> bool {
    let snake = format!("_{}_", words(name).join("_"));
    let foreign = |word: &&str| snake.contains(&format!("_{word}_")) || snake.contains(&format!("_{word}s_"));
    IMPURE.contains(&name) || FOREIGN.iter().any(foreign)
}

#[test]
fn io_in_logic_is_recognised() {
    let names = |source: &str| impurities(source).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    assert_eq!(names("use std::{fmt, fs};\nlet t = std::time::Instant::now();"), ["std::fs", "Instant"]);
    assert_eq!(names("struct AgentId; fn tool_calls() { println!() }"), ["AgentId", "tool_calls", "println"]);
    assert_eq!(names("//! An agent.\nlet x = \"tool_call\"; #[cfg(test)] mod tests { use std::fs; }"), [""; 0]);
    assert_eq!(names("fn magenta(instant: u8, prints: u8) { write!(f) }"), [""; 0]);
}

#[test]
fn type_and_module_names_follow_glossary() {
    let tree = Tree::read().unwrap();
    expect_none(tree.sources().flat_map(|file| {
        let code = code_of(&file.text);
        let mut names: Vec<(usize, String)> =
            declared_names(&code).into_iter().map(|(line, name)| (line, name.into())).collect();
        names.push((1, file.name().trim_end_matches(".rs").into()));
        names.into_iter().filter(|(_, name)| has_synonym(name)).map(|(line, name)| {
            format!("{}:{line}: `{name}` is not among our words; see the glossary in ARCHITECTURE.md", file.path)
        })
    }));
}

fn has_synonym(name: &str) -> bool {
    words(name).iter().any(|word| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        SYNONYMS.contains(&word.as_str()) || SYNONYMS.contains(&singular)
    })
}

#[test]
fn avoided_words_are_recognised() {
    assert!(["Rule", "RuleSet", "trace_specs", "EventHandler", "utils"].into_iter().all(has_synonym));
    assert!(!["Property", "Ruler", "respect", "handle", "Specific"].into_iter().any(has_synonym));
}

#[test]
fn crate_dependencies_follow_the_layers() {
    let tree = Tree::read().unwrap();
    let ours: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    expect_none(tree.manifests().flat_map(|(folder, file)| {
        let manifest: Table = file.text.parse().unwrap();
        let name = text_at(&manifest, &["package", "name"]);
        let Some((_, allowed)) = EDGES.iter().find(|(package, _)| *package == name) else {
            return vec![format!("{folder}/Cargo.toml: crate `{name}` has no line in EDGES of the tidy test")];
        };
        let is_wrong = |wrong: &&String| ours.contains(wrong.as_str()) && !allowed.contains(&wrong.as_str());
        let complain = |wrong: &String| format!("{folder}/Cargo.toml: `{name}` may not depend on `{wrong}`");
        let code = dependencies_of(&manifest, &["dependencies", "build-dependencies"]);
        let tests = dependencies_of(&manifest, &["dev-dependencies"]);
        let circular = tests.iter().filter(|used| reaches(used, name));
        code.iter().filter(is_wrong).map(complain).chain(circular.map(complain)).collect()
    }));
}

#[test]
fn other_engines_depend_on_no_crate_of_ours() {
    let tree = Tree::read().unwrap();
    let manifest: Table = tree.text("peers/Cargo.toml").parse().unwrap();
    let used = dependencies_of(&manifest, &["dependencies", "build-dependencies", "dev-dependencies"]);
    let ours = used.into_iter().filter(|used| EDGES.iter().any(|(name, _)| name == used));
    expect_none(ours.map(|name| {
        format!("peers/Cargo.toml: `{name}` would be compiled again; write what is needed in an example of it instead")
    }));
}

/// Whether a crate is the other one, or may depend on it, directly or not.
fn reaches(from: &str, to: &str) -> bool {
    let direct = EDGES.iter().find(|(name, _)| *name == from).map_or(&[][..], |(_, allowed)| allowed);
    from == to || direct.iter().any(|next| reaches(next, to))
}

/// Returns the packages in a manifest's dependency tables of these names, for any target.
fn dependencies_of(manifest: &Table, tables: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (key, value) in manifest {
        let Value::Table(table) = value else { continue };
        if tables.contains(&key.as_str()) {
            names.extend(table.iter().map(|(name, dependency)| {
                dependency.get("package").and_then(Value::as_str).unwrap_or(name).to_string()
            }));
        } else if key == "target" {
            names.extend(table.values().filter_map(Value::as_table).flat_map(|target| dependencies_of(target, tables)));
        }
    }
    names
}

#[test]
fn dependencies_are_read_from_every_table() {
    let manifest = "[dependencies]\na = '1'\nb = { package = 'c', version = '1' }\n[dev-dependencies]\nd.workspace = true\n\
                    [target.'cfg(unix)'.build-dependencies]\ne = '1'\n";
    let manifest = manifest.parse().unwrap();
    let named = |tables: &[&str]| dependencies_of(&manifest, tables).into_iter().collect::<String>();
    assert_eq!(named(&["dependencies", "build-dependencies"]), "ace");
    assert_eq!(named(&["dev-dependencies"]), "d");
}

#[test]
fn crates_inherit_workspace_settings() {
    let tree = Tree::read().unwrap();
    let shared = [&["package", "version"][..], &["package", "edition"], &["package", "license"], &["lints"]];
    expect_none(tree.manifests().flat_map(|(folder, file)| {
        let manifest: Table = file.text.parse().unwrap();
        let mut complaints = Vec::new();
        for path in shared {
            let inherited = at(&manifest, path).and_then(|value| value.get("workspace")).and_then(Value::as_bool);
            if inherited != Some(true) {
                complaints.push(format!("{folder}/Cargo.toml: `{}.workspace = true` is missing", path.join(".")));
            }
        }
        if manifest.contains_key("features") {
            complaints.push(format!("{folder}/Cargo.toml: no cargo features; what is optional is chosen at run time"));
        }
        complaints
    }));
}

#[test]
fn locked_packages_come_from_public_registry() {
    let tree = Tree::read().unwrap();
    let locks = tree.files.iter().filter(|file| file.name() == "Cargo.lock");
    let mut complaints = Vec::new();
    for file in locks {
        let lock: Table = file.text.parse().unwrap();
        for package in lock.get("package").and_then(Value::as_array).into_iter().flatten() {
            let source = package.get("source").and_then(Value::as_str);
            if source.is_some_and(|source| source != "registry+https://github.com/rust-lang/crates.io-index") {
                let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
                complaints.push(format!("{}: `{name}` is not locked to crates.io", file.path));
            }
        }
    }
    for word in ["source", "registry", "registries"] {
        if tree.text(".cargo/config.toml").parse::<Table>().unwrap().contains_key(word) {
            complaints.push(format!(".cargo/config.toml: `{word}` is a machine's own setting"));
        }
    }
    expect_none(complaints);
}

#[test]
fn texts_contain_no_machine_paths() {
    let tree = Tree::read().unwrap();
    let kinds = ["rs", "toml", "md", "lock", "sh", "yml", "py", ""];
    let texts = tree.files.iter().filter(|file| kinds.contains(&file.extension()) || file.path.starts_with(".ci/"));
    expect_none(texts.flat_map(|file| {
        let lines = file.text.lines().enumerate();
        lines.filter(|(_, line)| names_a_machine(line)).map(|(index, line)| {
            format!("{}:{}: a path that exists on one machine only: {}", file.path, index + 1, line.trim())
        })
    }));
}

/// Whether a line contains an absolute path that exists only on one machine, such as into a home folder.
fn names_a_machine(line: &str) -> bool {
    let inside_a_path = |c: char| c.is_alphanumeric() || "_.-~/}>*".contains(c);
    ["root", "home", "Users", "work", "workspace", "tmp", "mnt", "builds"].iter().any(|folder| {
        let path = format!("/{folder}/");
        line.match_indices(&path).any(|(index, _)| !line[..index].ends_with(inside_a_path))
    })
}

#[test]
fn machine_paths_are_recognised() {
    let slash = '/';
    assert!(names_a_machine(&format!("see {slash}home/x/y")));
    assert!(names_a_machine(&format!("path = \"{slash}work/x\"")));
    assert!(!names_a_machine("docs/work/x, https://example.org/home/x, ./tmp/x"));
}

fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

fn text_at<'a>(table: &'a Table, path: &[&str]) -> &'a str {
    at(table, path).and_then(Value::as_str).unwrap_or_default()
}
