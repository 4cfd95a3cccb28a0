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
