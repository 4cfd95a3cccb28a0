//! Pages about the tree must be complete: root entries, crates, modules, dependencies, links.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::expect_none;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

/// Returns the lines below a heading, up to the next one of the same or a higher level.
fn section<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let level = heading.chars().take_while(|&c| c == '#').count();
    let ends = |line: &&str| line.starts_with('#') && line.chars().take_while(|&c| c == '#').count() <= level;
    page.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !ends(line)).collect()
}

/// Returns the first name in backticks of every table row that begins with one.
fn rows<'a>(lines: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let row = |line: &&'a str| Some((line.strip_prefix("| `")?.split('`').next()?, *line));
    lines.iter().filter_map(row).collect()
}

#[test]
fn root_folder_matches_the_map() {
    let tree = Tree::read().unwrap();
    let section = section(tree.text(MAP), "## The root");
    let there: BTreeSet<&str> = tree.files.iter().filter_map(|file| file.path.split('/').next()).collect();
    let mut named = BTreeSet::new();
    let mut complaints = Vec::new();
    for (name, row) in rows(&section) {
        let name = name.trim_end_matches('/');
        named.insert(name);
        match (there.contains(name), row.contains("*to come*")) {
            (true, true) => complaints.push(format!("{MAP}: `{name}` has come; drop *to come* from its line")),
            (false, false) => complaints.push(format!("{MAP}: `{name}` is listed under \"The root\" but is not there")),
            _ => {}
        }
    }
    for name in there.difference(&named) {
        complaints.push(format!("`{name}` stands at the root without a line under \"The root\" in {MAP}"));
    }
    expect_none(complaints);
}

#[test]
fn map_names_every_crate_and_logic_module() {
    let tree = Tree::read().unwrap();
    let section = section(tree.text(MAP), "## Code map").join("\n");
    let mut complaints = Vec::new();
    for (folder, _) in tree.manifests().filter(|(folder, _)| !section.contains(&format!("`{folder}`"))) {
        complaints.push(format!("{MAP}: the code map does not name `{folder}`"));
    }
    for file in tree.sources() {
        let module = file.path.strip_prefix("crates/logic/src/").and_then(|name| name.strip_suffix(".rs"));
        let Some(module) = module.filter(|name| !name.contains('/') && *name != "lib" && *name != "tests") else {
            continue;
        };
        if !section.contains(&format!("`{module}`")) {
            complaints.push(format!("{MAP}: the code map does not name the module `{module}` of crates/logic"));
        }
    }
    expect_none(complaints);
}

#[test]
fn map_gives_reason_for_every_dependency() {
    let tree = Tree::read().unwrap();
    let section = section(tree.text(MAP), "## Dependencies");
    // Dependencies with the same reason may share a row.
    let first_cells = section.iter().filter_map(|row| row.strip_prefix("| ")?.split(" | ").next());
    let named: BTreeSet<&str> = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let manifest: Table = tree.text("Cargo.toml").parse().unwrap();
    let dependencies = manifest["workspace"].get("dependencies").and_then(Value::as_table).unwrap();
    let outside = dependencies.iter().filter(|(_, dependency)| dependency.get("path").is_none());
    expect_none(
        outside.filter(|(name, _)| !named.contains(name.as_str())).map(|(name, _)| {
            format!("{MAP}: `{name}` is missing under \"Dependencies\": why this one, and its licence")
        }),
    );
}

#[test]
fn map_stays_within_line_limit() {
    let lines = Tree::read().unwrap().text(MAP).lines().count();
    assert!(lines <= 560, "{MAP} has {lines} lines where 560 are the most");
}

#[test]
fn page_links_are_not_broken() {
    let tree = Tree::read().unwrap();
    let pages = tree.files.iter().filter(|file| file.extension() == "md");
    expect_none(pages.flat_map(|file| {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let here = tree.root.join(folder);
        local_links(&file.text)
            .into_iter()
            .filter(move |link| !here.join(link).exists())
            .map(|link| format!("{}: the link to `{link}` leads nowhere", file.path))
    }));
}

/// Returns the targets of a page's links that are files.
fn local_links(page: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        // Text between backticks is code: `sum[0,24h](a: pays(a))` is no link.
        let is_code = |index: usize| line[..index].matches('`').count() % 2 == 1;
        for (index, open) in line.match_indices("](").filter(|(index, _)| !fenced && !is_code(*index)) {
            let target = line[index + open.len()..].split(')').next().unwrap_or_default();
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !path.starts_with("mailto:") {
                links.push(path);
            }
        }
    }
    links
}

#[test]
fn page_link_check_ignores_urls() {
    let page = "[a](b.md#c) and [d](https://e.org) or [f](#g)\n```\n[h](i.md)\n```\n[`j`](k/l.md) `m[n](o)`";
    assert_eq!(local_links(page), ["b.md", "k/l.md"]);
}

#[test]
fn changelog_has_section_for_next_release() {
    let tree = Tree::read().unwrap();
    let is_version = |line: &str| {
        line.strip_prefix("## [")
            .is_some_and(|rest| rest.starts_with("Unreleased]") || rest.starts_with(char::is_numeric))
    };
    assert!(tree.text("CHANGELOG.md").lines().any(is_version), "CHANGELOG.md: no `## [Unreleased]` and no version");
}

#[test]
fn licence_files_exist() {
    let tree = Tree::read().unwrap();
    assert!(tree.text("LICENSE-APACHE").contains("Apache License"));
    assert!(tree.text("LICENSE-MIT").contains("MIT License"));
    let manifest: Table = tree.text("Cargo.toml").parse().unwrap();
    assert_eq!(manifest["workspace"]["package"]["license"].as_str(), Some("Apache-2.0 OR MIT"));
}

#[test]
fn ci_runs_the_contributor_checks() {
    let tree = Tree::read().unwrap();
    let script = tree.text(".ci/run");
    assert!(script.starts_with("#!/usr/bin/env bash\n") && script.contains("set -euo pipefail"), "{script}");
    assert!(script.contains("exec cargo xtask test"), "{script}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(tree.root.join(".ci/run")).unwrap().permissions().mode();
        assert!(mode & 0o111 != 0, ".ci/run is not executable");
    }
}
