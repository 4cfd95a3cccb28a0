//! Resolvers: where a policy finds the files and packs it uses.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::pack::{Pack, packs};
use crate::policy_text::PolicyText;

/// Finds the files and packs that a policy uses.
pub trait Resolver {
    /// Returns the file that a policy uses; `from` is the file that uses it, by the name it was found under. An error
    /// says why it cannot be had.
    fn file(&self, path: &str, from: &str) -> Result<ResolvedFile, String>;

    /// Returns the pages of a folder that a policy uses, as paths for [`Resolver::file`], in the order of their names;
    /// none if the path is no folder.
    fn pages(&self, _path: &str, _from: &str) -> Option<Vec<String>> {
        None
    }

    /// Returns the available packs.
    fn packs(&self) -> &[Pack] {
        packs()
    }
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedFile {
    /// Its name, for people and to identify the file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Looks for files beside the file that uses them.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileResolver;

impl Resolver for FileResolver {
    fn file(&self, path: &str, from: &str) -> Result<ResolvedFile, String> {
        let folder = Path::new(from).parent().unwrap_or(Path::new(""));
        let path = normalize_path(&folder.join(path));
        let text = read_text(&path)?;
        Ok(ResolvedFile { name: path.display().to_string(), text })
    }

    fn pages(&self, path: &str, from: &str) -> Option<Vec<String>> {
        let folder = Path::new(from).parent().unwrap_or(Path::new(""));
        let entries = fs::read_dir(normalize_path(&folder.join(path))).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut pages: Vec<String> = names
            .filter(|name| name.ends_with(".md"))
            .map(|name| format!("{}/{name}", path.trim_end_matches('/')))
            .collect();
        pages.sort_unstable();
        Some(pages)
    }
}

/// The base of a page's policy.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PageBase<'a> {
    /// Nothing else.
    Nothing,
    /// The pack it belongs to.
    Pack(&'a Pack),
    /// A policy file.
    File(&'a PolicyText),
}

/// Reads a file that must be UTF-8; the error says why it cannot be read.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    String::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
}

/// Returns a path without detours, so that one file has one name.
fn normalize_path(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if tidy.file_name().is_some() => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}
