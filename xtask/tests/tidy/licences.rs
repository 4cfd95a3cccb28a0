//! Every package we build with is available under a licence that deny.toml allows.
//!
//! The cheap part of `cargo xtask deny`, which takes minutes to install. Packages for other platforms are left to it, since
//! asking for them would download them.

use std::process::Command;

use serde_json::Value as Json;
use toml::Table;

use crate::expect_none;
use crate::tree::Tree;

#[test]
fn licences_of_dependencies_are_allowed() {
    let tree = Tree::read().unwrap();
    let allowed = allowed(tree.text("deny.toml")).unwrap();
    let version = output(&["-vV"]).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = ["metadata", "--format-version", "1", "--locked", "--filter-platform", host];
    let metadata: Json = serde_json::from_str(&output(&metadata).unwrap()).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "cargo names {} packages only", packages.len());
    expect_none(packages.iter().filter_map(|package| {
        let (name, licence) = (package["name"].as_str()?, package["license"].as_str().unwrap_or_default());
        (!is_allowed(licence, &allowed))
            .then(|| format!("{name}: licence `{licence}` is not allowed by deny.toml\n  hint: choose another package"))
    }));
}

/// Returns the output of a call of cargo.
fn output(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// Returns the licences that deny.toml allows.
fn allowed(deny: &str) -> Option<Vec<String>> {
    let deny: Table = deny.parse().ok()?;
    let list = deny.get("licenses")?.get("allow")?.as_array()?;
    list.iter().map(|licence| licence.as_str().map(str::to_owned)).collect()
}

/// Whether allowed licences satisfy an SPDX expression. A slash is an older spelling of `OR`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    alternatives(&mut rest, allowed) == Some(true) && rest.is_empty()
}

/// Parses `a OR b OR …`; `None` if this is no expression.
fn alternatives(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut any = all(words, allowed)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        any |= all(words, allowed)?;
    }
    Some(any)
}

/// Parses `a AND b AND …`, which binds tighter.
fn all(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut all = licence(words, allowed)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        all &= licence(words, allowed)?;
    }
    Some(all)
}

fn licence(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let inner = alternatives(words, allowed)?;
            *words = words.strip_prefix(&[")"])?;
            Some(inner)
        }
        [")" | "OR" | "AND" | "WITH", ..] | [] => None,
        [name, "WITH", exception, rest @ ..] => {
            *words = rest;
            Some(allowed.contains(&format!("{name} WITH {exception}")))
        }
        [name, rest @ ..] => {
            *words = rest;
            Some(allowed.iter().any(|licence| licence == name))
        }
    }
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(String::from);
    for expression in [
        "MIT",
        "MIT/GPL-3.0",
        "GPL-3.0 OR MIT",
        "(GPL-3.0 OR MIT) AND ISC",
        "GPL-3.0 AND BSL-1.0 OR MIT",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
    ] {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    for expression in
        ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "MIT OR", "(MIT", "MIT ISC", "(GPL-3.0 OR MIT) AND X"]
    {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}
