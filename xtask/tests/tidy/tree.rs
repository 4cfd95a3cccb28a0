//! The files of the repository, as the tidy tests see them.
//!
//! Git lists them, with new files that it does not ignore, so that a file is checked before it is committed. Without
//! git (an unpacked archive) the folders are walked, without those that builds create.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file that is text.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path from the root, with `/` between the names.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Returns its name without folders.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns its extension; empty if there is none.
    pub(crate) fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

/// Every text file of the repository, by path.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<File>,
}

impl Tree {
    pub(crate) fn read() -> Result<Tree, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().unwrap_or(here).to_path_buf();
        let mut paths = match from_git(&root) {
            Some(paths) => paths,
            None => {
                let mut paths = Vec::new();
                walk(&root, "", &mut paths)?;
                paths
            }
        };
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            let full = root.join(&path);
            // Git also lists a tracked file that was just deleted.
            if !full.is_file() {
                continue;
            }
            let bytes = fs::read(&full).map_err(|error| format!("could not read {path}: {error}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path, text });
            }
        }
        Ok(Tree { root, files })
    }

    /// Returns the text of a file; empty if there is none.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
    }

    /// Returns the Rust sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.extension() == "rs")
    }

    /// Returns the manifests of the workspace's crates, each with its folder.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().filter_map(|file| {
            let folder = file.path.strip_suffix("/Cargo.toml")?;
            let member = folder == "xtask" || folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/'));
            member.then_some((folder, file))
        })
    }
}

fn from_git(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let names = String::from_utf8(output.stdout).ok()?;
    Some(names.split('\0').filter(|name| !name.is_empty()).map(String::from).collect())
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<(), String> {
    let unreadable = |error| format!("could not read {folder}/: {error}");
    for entry in fs::read_dir(root.join(folder)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        match entry.file_type().map_err(unreadable)?.is_dir() {
            true if name == "target" || name == ".git" => {}
            true => walk(root, &path, paths)?,
            false => paths.push(path),
        }
    }
    Ok(())
}

#[test]
fn source_list_agrees_with_git() {
    let tree = Tree::read().unwrap();
    let mut walked = Vec::new();
    walk(&tree.root, "", &mut walked).unwrap();
    for file in tree.sources() {
        assert!(walked.contains(&file.path), "{} was not walked to", file.path);
    }
    assert!(tree.sources().any(|file| file.path == "xtask/tests/tidy/tree.rs"));
}
