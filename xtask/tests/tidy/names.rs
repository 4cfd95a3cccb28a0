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

#[test]
fn public_enum_says_whether_it_may_grow() {
    let tree = Tree::read().unwrap();
    let sources = tree.sources().filter(|file| file.path.starts_with("crates/") && !is_test(file));
    expect_none(sources.flat_map(|file| {
        let unsaid = undecided_enums(&file.text);
        unsaid.into_iter().map(|line| {
            format!(
                "{}:{line}: add `#[non_exhaustive]`, or a comment `// Exhaustive on purpose:` with the reason",
                file.path
            )
        })
    }));
}

#[test]
fn undecided_enum_is_found() {
    assert_eq!(undecided_enums("/// A.\n#[derive(Debug)]\npub enum A {}\n"), [3]);
    assert!(undecided_enums("/// A.\n#[derive(Debug)]\n#[non_exhaustive]\npub enum A {}\n").is_empty());
    assert!(undecided_enums("// Exhaustive on purpose: closed.\n#[derive(Debug)]\npub enum A {}").is_empty());
}

/// Returns the lines of public enums that say neither that they may grow nor that they will not.
fn undecided_enums(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_said = |line: &&&str| line.contains("non_exhaustive") || line.starts_with("// Exhaustive on purpose:");
    let declared = lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub enum "));
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
