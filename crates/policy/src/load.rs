//! From a text, and the texts it uses, to a policy; or everything that is wrong with them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::merge::Merger;
use super::source::PolicyText;
use super::{Place, Policy, Problem, Problems, yaml};
use crate::pack::{Pack, Page, packs};
use lictor_json::Json;

/// A policy that can be used, and what is probably not meant in it.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    /// The policy.
    pub policy: Policy,
    /// What is probably not meant; no errors.
    pub warnings: Problems,
}

/// Finds what a policy uses.
pub trait Resolver {
    /// The file that a policy uses; `from` is the file that uses it, by the name it was found under. An error says why it
    /// cannot be had.
    fn file(&self, path: &str, from: &str) -> Result<ResolvedFile, String>;

    /// The packs that there are.
    fn packs(&self) -> &[Pack] {
        packs()
    }
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedFile {
    /// Its name, for people and to tell files apart.
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
        let path = tidied(&folder.join(path));
        let text = read(&path)?;
        Ok(ResolvedFile { name: path.display().to_string(), text })
    }
}

impl Policy {
    /// Reads a policy file, and the files and packs it uses.
    pub fn load(path: &Path) -> Result<LoadedPolicy, Problems> {
        let name = path.display().to_string();
        match read(path) {
            Ok(text) => Policy::parse(&text, &name, &FileResolver),
            Err(reason) => {
                let place = Place { file: name.into(), ..Place::default() };
                let mut problems = Problems::default();
                problems.add(Problem::at(&place, "policy.unreadable", format!("the policy cannot be read: {reason}")));
                Err(problems)
            }
        }
    }

    /// A section at the top of a policy file that is no part of the policy, such as `gateway`; none if it is not there.
    pub fn section(path: &Path, key: &str) -> Result<Option<Json>, Problems> {
        let mut problems = Problems::default();
        // A file that cannot be read is complained about where the policy is loaded.
        let Ok(text) = read(path) else { return Ok(None) };
        let source = PolicyText::new(&path.display().to_string(), &text);
        let root = yaml::read(&source, &mut problems);
        match problems.has_errors() {
            true => Err(problems),
            false => Ok(root.and_then(|root| root.json().get(key).cloned())),
        }
    }

    /// Reads the text of a policy file of that name; what it uses comes from the resolver.
    pub fn parse(text: &str, name: &str, resolver: &dyn Resolver) -> Result<LoadedPolicy, Problems> {
        let mut merger = Merger::new(resolver);
        let merged = merger.file(&PolicyText::new(name, text));
        merger.finish(merged)
    }

    /// The policy under which the examples of a page are judged: its own block together with what it builds on, and its
    /// setup, which counts before both.
    pub fn for_page(page: &Page, base: PageBase<'_>, resolver: &dyn Resolver) -> Result<LoadedPolicy, Problems> {
        let mut merger = Merger::new(resolver);
        let merged = merger.page(page, base);
        merger.finish(merged)
    }
}

/// What the policy of a page builds on.
#[derive(Clone, Copy, Debug)]
pub enum PageBase<'a> {
    /// Nothing else.
    Nothing,
    /// The pack it belongs to.
    Pack(&'a Pack),
    /// A policy file.
    File(&'a PolicyText),
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    String::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
}

/// A path without detours, so that one file has one name.
fn tidied(path: &Path) -> PathBuf {
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
