//! The warnings about policies that are valid but probably mean something else. `LICTOR_BLESS=1` writes the present
//! warnings; read the difference before you keep it.

use std::fs;
use std::path::PathBuf;

use jiff::civil::date;
use lictor_policy::pack::packs;
use lictor_policy::{FileResolver, Policy, lint};

use super::golden::folder;

#[test]
fn lint_messages_match_golden_files() {
    let mut wrong = Vec::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder().join("lint")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() > 5, "the golden files are missing");
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let loaded = Policy::parse(&fs::read_to_string(&path).unwrap(), &name, &FileResolver);
        let policy = loaded.unwrap_or_else(|problems| panic!("{problems}")).policy;
        let said = lint(&policy, date(2026, 11, 15));
        let said = if said.is_empty() { "nothing\n".into() } else { format!("{said}\n") };
        wrong.extend(super::differs(&path, said));
    }
    assert!(wrong.is_empty(), "\n{}\nhint: LICTOR_BLESS=1 accepts this", wrong.join("\n"));
}

#[test]
fn lint_finds_nothing_in_packs() {
    let mut wrong = Vec::new();
    for pack in packs() {
        for page in &pack.pages {
            let policy = pack.policy(page).unwrap_or_else(|problems| panic!("{problems}")).policy;
            wrong.extend(lint(&policy, date(2026, 11, 15)).iter().map(ToString::to_string));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// Repetitions, contradictions and implications among many properties over the same facts, each written in another way.
#[test]
fn relations_among_many_properties_are_found() {
    let call = |number: usize| format!("tool_call(\"t{}\")", number % 40);
    let mut properties: Vec<(String, String)> = (0..240)
        .map(|number| {
            let (a, b, c) = (call(number), call(number * 7 + 3), call(number * 11 + 5));
            let formula = match number % 4 {
                0 => format!("always ({a} implies once ({b} | {c}))"),
                1 => format!("always ({a} & once {b} implies eventually {c})"),
                2 => format!("always ({a} implies (!{b} since {c}))"),
                _ => format!("always ({a} implies eventually[0,30m] {b})"),
            };
            (format!("plain-{number}"), formula)
        })
        .collect();
    let mut planted = Vec::new();
    for number in 0..12 {
        let (a, b, c) = (call(number * 3 + 1), call(number * 5 + 2), call(number * 13 + 4));
        let (code, one, other) = match number % 3 {
            0 => (
                "lint.repeated",
                format!("always ({a} | {b} implies once {c})"),
                format!("always ({a} implies once {c}) & always (!{b} | once {c})"),
            ),
            1 => ("lint.contradiction", format!("eventually ({a} & {b})"), format!("always !({b} & {a})")),
            _ => (
                "lint.implied",
                format!("always ({a} implies once[0,1h] {b})"),
                format!("always ({a} & {c} implies once[0,2h] {b})"),
            ),
        };
        let ids = [format!("planted-{number}-one"), format!("planted-{number}-other")];
        properties.insert(number * 17, (ids[0].clone(), one));
        properties.push((ids[1].clone(), other));
        planted.push((code, ids));
    }
    let mut text = "lictor: 1\nname: many\nproperties:\n".to_owned();
    for (id, formula) in &properties {
        text.push_str(&format!("  - {{id: {id}, formula: '{formula}'}}\n"));
    }
    let policy = Policy::parse(&text, "many.yaml", &FileResolver).unwrap().policy;
    let problems = lint(&policy, date(2026, 11, 15));
    let names = |message: &str, id: &String| message.contains(&format!("`{id}`"));
    for (code, ids) in &planted {
        let is_found = problems.iter().any(|it| it.code == *code && ids.iter().all(|id| names(&it.message, id)));
        assert!(is_found, "{code} of {ids:?} was not found");
    }
}
