//! Loads a policy from a text and the texts it uses, or returns all its problems.

use std::path::Path;

use crate::merge::Merger;
use crate::pack::{Pack, Page};
use crate::place::Place;
use crate::policy::{LoadedPolicy, Policy};
use crate::policy_text::PolicyText;
use crate::problem::{Problem, Problems};
use crate::resolver::{FileResolver, PageBase, Resolver, read_text};
use crate::yaml;
use lictor_json::Json;

impl Policy {
    /// Reads a policy file, and the files and packs it uses.
    pub fn load(path: &Path) -> Result<LoadedPolicy, Problems> {
        let name = path.display().to_string();
        match read_text(path) {
            Ok(text) => Policy::parse(&text, &name, &FileResolver),
            Err(reason) => {
                let place = Place { file: name.into(), ..Place::default() };
                let mut problems = Problems::default();
                problems.add(Problem::new(&place, "policy.unreadable", format!("the policy cannot be read: {reason}")));
                Err(problems)
            }
        }
    }

    /// Reads a section at the top of a policy file that is no part of the policy, such as `gateway`; none if it is
    /// missing.
    pub fn read_section(path: &Path, key: &str) -> Result<Option<Json>, Problems> {
        let mut problems = Problems::default();
        // A file that cannot be read is reported when the policy is loaded.
        let Ok(text) = read_text(path) else { return Ok(None) };
        let source = PolicyText::new(&path.display().to_string(), &text);
        let root = yaml::read(&source, &mut problems);
        match problems.has_errors() {
            true => Err(problems),
            false => Ok(root.and_then(|root| root.to_json().get(key).cloned())),
        }
    }

    /// Reads the text of a policy file of that name; what it uses comes from the resolver.
    pub fn parse(text: &str, name: &str, resolver: &dyn Resolver) -> Result<LoadedPolicy, Problems> {
        let mut merger = Merger::new(resolver);
        let merged = merger.merge_file(&PolicyText::new(name, text));
        merger.finish(merged)
    }

    /// Returns the policy under which the examples of a page are judged: its own block together with what it builds on,
    /// and its setup, which counts before both.
    pub fn for_page(page: &Page, base: PageBase<'_>, resolver: &dyn Resolver) -> Result<LoadedPolicy, Problems> {
        let mut merger = Merger::new(resolver);
        let merged = merger.merge_page(page, base);
        merger.finish(merged)
    }
}

impl Pack {
    /// Returns the policy under which the examples of one of its pages are judged.
    pub fn policy(&self, page: &Page) -> Result<LoadedPolicy, Problems> {
        Policy::for_page(page, PageBase::Pack(self), &FileResolver)
    }
}
