//! The packs that come with Lictor: complete, readable, free of mistakes, and at peace with each other.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lictor_policy::pack::{Pack, Page, Trace, pack, packs, read_page};
use lictor_policy::{FileResolver, PageBase, Policy, PolicyText, Problems};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packs")
}

/// The pages on the disk: packs with the names of their properties.
fn folders() -> BTreeMap<String, Vec<String>> {
    let mut folders = BTreeMap::new();
    for entry in fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        if !path.is_dir() {
            continue;
        }
        let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let mut names: Vec<String> = pages.map(|path| path.file_stem().unwrap().to_string_lossy().into()).collect();
        names.retain(|name| name != "README");
        names.sort();
        folders.insert(path.file_name().unwrap().to_string_lossy().into(), names);
    }
    folders
}

#[test]
fn pack_list_names_every_page() {
    let catalog: BTreeMap<String, Vec<String>> = packs()
        .iter()
        .map(|pack| (pack.name.to_string(), pack.pages.iter().map(|page| page.id.to_string()).collect()))
        .collect();
    let folders = folders();
    let list: String = folders
        .iter()
        .map(|(name, pages)| {
            format!(
                "    {name:?}: [\n{}    ],\n",
                pages.iter().map(|id| format!("        {id:?},\n")).collect::<String>()
            )
        })
        .collect();
    assert_eq!(catalog, folders, "\nthe list in src/pack/catalog.rs should be\n{list}");
}

#[test]
fn pack_pages_are_readable_and_complete() {
    let mut wrong = Vec::new();
    for (name, pages) in folders() {
        for id in pages.iter().map(String::as_str).chain(["README"]) {
            let file = format!("packs/{name}/{id}.md");
            let text = fs::read_to_string(root().join(&name).join(format!("{id}.md"))).unwrap();
            let mut problems = Problems::default();
            let page = read_page(&PolicyText::new(&file, &text), &mut problems);
            wrong.extend(problems.iter().map(ToString::to_string));
            let heading = if id == "README" { &name } else { id };
            if page.id != heading {
                wrong.push(format!("{file}: the heading is `{}`, not `{heading}`", page.id));
            }
            if page.about.is_empty() {
                wrong.push(format!("{file}: there is no paragraph below the heading"));
            }
            if id != "README" {
                wrong.extend(incomplete(&page).map(|what| format!("{file}: {what}")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Returns what a page of a property lacks.
fn incomplete(page: &Page) -> Option<&'static str> {
    let violates = |trace: &Trace| {
        !trace.end.is_empty() || !trace.later.is_empty() || trace.lines.iter().any(|line| !line.expected.is_empty())
    };
    match () {
        () if page.policy.is_none() => Some("there is no block of `yaml policy`"),
        () if !page.traces.iter().any(violates) => Some("no trace is violated"),
        () if page.traces.iter().all(violates) => Some("every trace is violated"),
        () if !page.prose.contains("\n## Why\n") => Some("there is no section `## Why`"),
        () => None,
    }
}

fn check(pack: &Pack, page: &Page) -> Result<(), String> {
    let loaded = pack.policy(page).map_err(|problems| problems.to_string())?;
    if !loaded.warnings.is_empty() {
        return Err(loaded.warnings.to_string());
    }
    let id = format!("{}/{}", pack.name, page.id);
    let own: Vec<&str> = loaded.policy.properties.iter().map(|property| property.id.as_str()).collect();
    if own != [id.as_str()] {
        return Err(format!("packs/{id}.md: it must state the property `{}` and no other, not {own:?}", page.id));
    }
    let property = &loaded.policy.properties[0];
    if property.source.is_none() || property.remedy.is_none() {
        return Err(format!("packs/{id}.md: `source` or `remedy` is missing"));
    }
    Ok(())
}

#[test]
fn pack_page_states_one_valid_property() {
    let pages = packs().iter().flat_map(|pack| pack.pages.iter().map(move |page| (pack, page)));
    let wrong: Vec<String> = pages.filter_map(|(pack, page)| check(pack, page).err()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

#[test]
fn packs_can_all_be_used_together() {
    let names: Vec<&str> = packs().iter().map(|pack| pack.name.as_str()).collect();
    let text = format!("lictor: 1\nuses: [{}]\n", names.join(", "));
    let loaded = Policy::parse(&text, "all.yaml", &FileResolver).unwrap_or_else(|problems| panic!("\n{problems}"));
    assert_eq!(loaded.policy.properties.len(), packs().iter().map(|pack| pack.pages.len()).sum::<usize>());
    assert!(loaded.warnings.is_empty(), "\n{}", loaded.warnings);
}

const OWN_PAGE: &str = "# shop\n\nTests of the shop.\n\n```yaml setup\ntools:\n  pay: {effects: [payment]}\n```\n\n\
    ### Paid twice\n\n```jsonl\n{\"kind\":\"tool_call\",\"tool\":\"pay\"}\n\
    {\"kind\":\"tool_call\",\"tool\":\"pay\"} # violated: pay-once, gdpr/data-minimisation c=\"email\"\n```\n\n\
    ### Never\n\n```jsonl\n{\"text\":\"# violated\"}\n# after 2d: violated: pay-once\n# end: violated: pay-once\n```\n";

#[test]
fn custom_page_tests_a_policy() {
    let mut problems = Problems::default();
    let page = read_page(&PolicyText::new("shop.md", OWN_PAGE), &mut problems);
    assert!(problems.is_empty(), "{problems}");
    assert_eq!((page.id.as_str(), page.about.as_str()), ("shop", "Tests of the shop."));
    let [paid, never] = &page.traces[..] else { panic!("{:?}", page.traces) };
    assert_eq!((paid.title.as_str(), paid.place.line), ("Paid twice", 10));
    let expected: Vec<(u32, Vec<Option<&str>>)> = paid
        .lines
        .iter()
        .map(|line| (line.line, line.expected.iter().map(|expected| expected.property.as_deref()).collect()))
        .collect();
    assert_eq!(expected, [(13, vec![]), (14, vec![Some("pay-once"), Some("gdpr/data-minimisation")])]);
    assert_eq!((never.lines.len(), never.later.len(), never.end.len()), (1, 1, 1));

    let text = "lictor: 1\nname: shop\ntools:\n  pay: {effects: [read]}\n  ask: {effects: [read]}\n\
                properties:\n  - {id: pay-once, formula: 'at_most(1, effect(\"payment\"))'}\n";
    let source = PolicyText::new("shop.yaml", text);
    let policy =
        Policy::for_page(&page, PageBase::File(&source), &FileResolver).unwrap_or_else(|it| panic!("{it}")).policy;
    let effects = |name: &str| policy.tools.iter().find(|tool| tool.name == name).unwrap().effects.clone().unwrap();
    assert_eq!((effects("pay"), effects("ask")), (vec!["payment".into()], vec!["read".into()]));
    assert_eq!((policy.name.as_str(), policy.properties[0].id.as_str()), ("shop", "pay-once"));
}

#[test]
fn page_mistakes_are_reported_at_their_place() {
    let text = "# p\n\nWords.\n\n```yaml policy\nproperties:\n  - id: p\n    formula: alwyas a\n```\n\n```yaml polcy\n```\n\n\
                ```jsonl\n{}\n```\n\n### t\n\n```jsonl\n{\"a\":}\n{} # violatd\n{} # end: violated\n# violated\n```\n";
    let mut problems = Problems::default();
    let page = read_page(&PolicyText::new("p.md", text), &mut problems);
    let places: Vec<(u32, &str)> = problems.iter().map(|problem| (problem.line, problem.code)).collect();
    assert_eq!(
        places,
        [
            (11, "page.block"),
            (14, "page.trace"),
            (21, "page.json"),
            (22, "page.remark"),
            (23, "page.remark"),
            (24, "page.remark"),
        ]
    );
    let wrong = Policy::for_page(&page, PageBase::Nothing, &FileResolver).unwrap_err();
    let formula = wrong.iter().next().unwrap();
    assert_eq!((&*formula.file, formula.line, formula.column), ("p.md", 8, 14), "{formula}");
}

#[test]
fn pack_is_found_by_name() {
    let gdpr = pack("gdpr").unwrap();
    assert!(gdpr.page("data-minimisation").is_some());
    assert!(!gdpr.about.is_empty());
    assert!(pack("GDPR").is_none());
}
