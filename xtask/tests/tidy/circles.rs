//! No circle of files: of two files of a crate, at most one depends on the other, directly or through others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::source::{code_of, without_tests};
use crate::tree::Tree;
use crate::{expect_none, is_test};

/// The files of a crate by their module paths; the root has the empty one.
type Modules = BTreeMap<Vec<String>, String>;

#[test]
fn files_of_a_crate_form_no_circle() {
    let tree = Tree::read().unwrap();
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    let mut texts = BTreeMap::new();
    for file in tree.sources().filter(|file| file.path.starts_with("crates/") && !is_test(file)) {
        let Some((folder, path)) = file.path.split_once("/src/") else { continue };
        let modules = crates.entry(folder).or_default();
        modules.insert(module_path(path), file.path.clone());
        texts.insert(file.path.clone(), without_tests(&code_of(&file.text)));
    }
    expect_none(crates.values().filter_map(|modules| {
        let imports = modules.iter().map(|(module, file)| (file.clone(), imports(module, &texts[file], modules)));
        let circle = shortest_circle(&imports.collect())?;
        Some(format!(
            "{}: these files depend on each other; move what both need to a file of its own",
            circle.join(" → ")
        ))
    }));
}

/// Returns the module path of a file below `src`.
fn module_path(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    path.split('/').filter(|name| !matches!(*name, "lib" | "main")).map(str::to_owned).collect()
}

/// Returns the files that a file imports from. Its own module and those around it do not count: they declare it.
fn imports(module: &[String], code: &str, modules: &Modules) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for path in paths(code) {
        let (mut at, rest) = match path.split_first() {
            Some((first, rest)) if first == "crate" => (Vec::new(), rest),
            Some((first, rest)) if first == "self" => (module.to_vec(), rest),
            Some((first, _)) if first == "super" => {
                let levels = path.iter().take_while(|name| *name == "super").count();
                (module[..module.len().saturating_sub(levels)].to_vec(), &path[levels..])
            }
            _ => (module.to_vec(), path.as_slice()),
        };
        for name in rest {
            at.push(name.clone());
            if !modules.contains_key(&at) {
                at.pop();
                break;
            }
        }
        if !module.starts_with(&at) {
            files.extend(modules.get(&at).cloned());
        }
    }
    files
}

/// Returns every path in code, as its names; those of a `use` with braces are spelled out.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let (mut path, mut bases): (Vec<String>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
    let mut rest = code;
    while let Some(character) = rest.chars().next() {
        let length = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum::<usize>();
        if length > 0 {
            path.push(rest[..length].to_owned());
            rest = &rest[length..];
            if !rest.starts_with("::") {
                paths.push(path.clone());
                path = bases.last().cloned().unwrap_or_default();
            }
            continue;
        }
        rest = match rest.strip_prefix("::{") {
            Some(inner) => {
                bases.push(path.clone());
                inner
            }
            None if rest.starts_with("::") => &rest[2..],
            None => {
                if character == '}' {
                    bases.pop();
                }
                path = bases.last().cloned().unwrap_or_default();
                &rest[character.len_utf8()..]
            }
        };
    }
    paths
}

/// Returns the shortest list of files of which each imports the next, and the last is the first.
fn shortest_circle(imports: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let circles = imports.keys().filter_map(|start| {
        let mut before: BTreeMap<&String, &String> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(file) = queue.pop_front() {
            for next in imports.get(file).into_iter().flatten() {
                if next == start {
                    let mut circle = vec![start.clone()];
                    let mut at = file;
                    while at != start {
                        circle.push(at.clone());
                        at = before[at];
                    }
                    circle.push(start.clone());
                    circle.reverse();
                    return Some(circle);
                }
                if !before.contains_key(next) {
                    before.insert(next, file);
                    queue.push_back(next);
                }
            }
        }
        None
    });
    circles.min_by_key(Vec::len)
}

#[test]
fn circle_is_found_through_grouped_imports() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; pub use a::A;"),
        ("a.rs", "use crate::{b::B, other::Thing}; fn f(x: super::c::C) {}"),
        ("b.rs", "use std::fmt::{self, Debug}; use crate::A;"),
        ("c.rs", "use crate::c::part::Part;"),
        ("c/part.rs", "use super::C; use crate::a::{A, Z as Y};"),
    ];
    let modules: Modules = files.iter().map(|(path, _)| (module_path(path), (*path).to_owned())).collect();
    let imports: BTreeMap<String, BTreeSet<String>> =
        files.iter().map(|(path, code)| ((*path).to_owned(), imports(&module_path(path), code, &modules))).collect();
    assert_eq!(imports["a.rs"], ["b.rs", "c.rs"].map(str::to_owned).into());
    assert_eq!(imports["b.rs"], BTreeSet::new(), "what is used through the root is no edge");
    assert_eq!(shortest_circle(&imports).unwrap(), ["a.rs", "c.rs", "c/part.rs", "a.rs"]);
}
