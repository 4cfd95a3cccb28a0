//! Names that readers search for: a public type has a name of its own, and a test is named by its feature.

use std::collections::BTreeMap;

use crate::source::{code_of, without_tests};
use crate::tree::Tree;
use crate::{expect_none, is_test};

/// The most words in the name of a test.
const MAX_TEST_WORDS: usize = 8;

#[test]
fn public_type_name_occurs_once_in_workspace() {
    let tree = Tree::read().unwrap();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in tree.sources().filter(|file| file.path.starts_with("crates/") && !is_test(file)) {
        for (line, name) in public_types(&without_tests(&code_of(&file.text))) {
            places.entry(name.to_owned()).or_default().push(format!("{}:{line}", file.path));
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    expect_none(repeated.map(|(name, places)| {
        format!("`{name}` names several public types, so an import does not tell which: {}", places.join(", "))
    }));
}

/// How the names of structs end that callers fill in, and that get fields with new versions.
const OPTION_ENDINGS: [&str; 5] = ["Options", "Limits", "Config", "Settings", "Parts"];

#[test]
fn public_enum_or_options_say_whether_they_grow() {
    let tree = Tree::read().unwrap();
    let sources = tree.sources().filter(|file| file.path.starts_with("crates/") && !is_test(file));
    expect_none(sources.flat_map(|file| {
        let unsaid = undecided_types(&file.text);
        unsaid.into_iter().map(|line| {
            format!(
                "{}:{line}: add `#[non_exhaustive]`, or a comment `// Exhaustive on purpose:` with the reason",
                file.path
            )
        })
    }));
}

#[test]
fn undecided_type_is_found() {
    assert_eq!(undecided_types("/// A.\n#[derive(Debug)]\npub enum A {}\n"), [3]);
    assert!(undecided_types("/// A.\n#[derive(Debug)]\n#[non_exhaustive]\npub enum A {}\n").is_empty());
    assert!(undecided_types("// Exhaustive on purpose: closed.\n#[derive(Debug)]\npub enum A {}").is_empty());
    assert_eq!(undecided_types("pub struct A {}\npub struct AOptions {}\n\npub struct Config {}\n"), [2, 4]);
}

/// Returns the lines of public enums and option structs that say neither that they may grow nor that they will not.
fn undecided_types(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_said = |line: &&&str| line.contains("non_exhaustive") || line.starts_with("// Exhaustive on purpose:");
    let takes_options = |name: &str| OPTION_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let is_options =
        |line: &str| line.starts_with("pub struct ") && public_types(line).iter().any(|(_, name)| takes_options(name));
    let declared = lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub enum ") || is_options(line));
    let unsaid = declared.filter(|(index, _)| {
        let above = lines[..*index].iter().rev().take_while(|line| !line.trim().is_empty() && **line != "}");
        above.filter(is_said).count() == 0
    });
    unsaid.map(|(index, _)| index + 1).collect()
}

/// Returns the public types that a source declares, with their lines.
fn public_types(code: &str) -> Vec<(usize, &str)> {
    let declared = |line: &'_ str| -> Option<usize> {
        ["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub union "]
            .iter()
            .find_map(|start| line.strip_prefix(start).map(|_| start.len()))
    };
    let name = |line| -> Option<&str> {
        let rest: &str = &line[declared(line)?..];
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    };
    code.lines().enumerate().filter_map(|(index, line)| Some((index + 1, name(line)?))).collect()
}

#[test]
fn public_types_are_found_at_top_level() {
    let code = "pub struct A<T>(T);\npub(crate) enum B {}\n    pub type C = A;\npub trait D {}\n";
    assert_eq!(public_types(code), [(1, "A"), (4, "D")]);
}

#[test]
fn test_names_have_at_most_eight_words() {
    let tree = Tree::read().unwrap();
    expect_none(tree.sources().flat_map(|file| {
        let long = test_names(&file.text).into_iter().filter(|(_, name)| name.split('_').count() > MAX_TEST_WORDS);
        long.map(|(line, name)| {
            format!("{}:{line}: `{name}`: a test's name is feature, condition, result in eight words", file.path)
        })
        .collect::<Vec<_>>()
    }));
}

/// Returns the names of test functions, with their lines.
fn test_names(source: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = source.lines().collect();
    let is_mark = |line: &str| matches!(line.trim(), "#[test]" | "#[tokio::test]");
    let name = |line: &'_ str| -> Option<usize> { line.find("fn ").map(|start| start + 3) };
    let mut names = Vec::new();
    for (index, _) in lines.iter().enumerate().filter(|(_, line)| is_mark(line)) {
        let Some((place, line)) = lines.iter().enumerate().skip(index + 1).find(|(_, line)| line.contains("fn "))
        else {
            continue;
        };
        if let Some(start) = name(line) {
            names.push((place + 1, line[start..].split('(').next().unwrap_or_default()));
        }
    }
    names
}

#[test]
fn test_names_are_found_after_attributes() {
    let mark = "#[test]";
    let source = format!("{mark}\n#[cfg(unix)]\nfn a_b() {{}}\n\n    {mark}\n    fn c(x in 0..3) {{}}\n");
    assert_eq!(test_names(&source), [(3, "a_b"), (6, "c")]);
}
