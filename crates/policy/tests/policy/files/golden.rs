//! Policies with mistakes, each with its expected messages in `NAME.txt`. `LICTOR_BLESS=1` writes the present messages;
//! read the difference before you keep it.

use std::fs;
use std::path::{Path, PathBuf};

use lictor_policy::{FileResolver, Policy, ResolvedFile, Resolver};

/// Files under the folder of golden files, by their place in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Resolver for Folder {
    fn file(&self, path: &str, from: &str) -> Result<ResolvedFile, String> {
        let folder = Path::new(from).parent().unwrap_or(Path::new(""));
        let name = folder.join(path.trim_start_matches("./")).to_string_lossy().replace('\\', "/");
        match fs::read_to_string(self.0.join(&name)) {
            Ok(text) => Ok(ResolvedFile { name, text }),
            Err(_) => Err("there is no such file".into()),
        }
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/policy")
}

fn said_about(name: &str, text: &str) -> String {
    match Policy::parse(text, name, &Folder(folder())) {
        Ok(loaded) if loaded.warnings.is_empty() => "nothing\n".into(),
        Ok(loaded) => format!("{}\n", loaded.warnings),
        Err(problems) => format!("{problems}\n"),
    }
}

#[test]
fn policy_error_messages_match_golden_files() {
    let mut wrong = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() > 20, "the golden files are missing");
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let said = said_about(&name, &fs::read_to_string(&path).unwrap());
        wrong.extend(super::differs(&path, said));
    }
    assert!(wrong.is_empty(), "\n{}\nhint: LICTOR_BLESS=1 accepts this", wrong.join("\n"));
}

#[test]
fn problem_place_is_exact_in_every_scalar_style() {
    let text = fs::read_to_string(folder().join("formulas.yaml")).unwrap();
    let problems = Policy::parse(&text, "formulas.yaml", &Folder(folder())).unwrap_err();
    let lines: Vec<&str> = text.lines().collect();
    for word in ["alwyas", "previus", "eventualy"] {
        let found = problems.iter().find(|problem| problem.message.contains(word)).unwrap();
        let line = lines[found.line as usize - 1];
        let shown: String = line.chars().skip(found.column as usize - 1).take(found.length as usize).collect();
        assert_eq!(shown, word, "{found}");
    }
}

#[test]
fn folder_of_pages_is_used_like_a_pack() {
    let path = folder().join("own_folder/policy.yaml");
    let loaded = Policy::load(&path).unwrap();
    let ids: Vec<&str> = loaded.policy.properties.iter().map(|property| property.id.as_str()).collect();
    assert_eq!(ids, ["rules/no-drop", "rules/no-wipe"]);
    let empty = Policy::parse("lictor: 1\nname: p\nuses: [./empty]\n", path.to_str().unwrap(), &FileResolver);
    assert!(empty.unwrap_err().to_string().contains("is a folder without a page that has a policy"));
}
