//! Packs: properties that many need, each a page that explains, states and tests it.
//!
//! A page is Markdown for people. Programs read its fenced blocks: the policy itself, a setup for the
//! examples, and traces whose lines name the expected findings. Such pages also test a user's own policies.

mod catalog;
mod page;
mod remark;

use std::sync::OnceLock;

use lictor_logic::{Span, Value};

pub use page::read_page;

use crate::place::Place;
use crate::policy_text::PolicyText;
use crate::problem::Problems;
use lictor_json::Text;

/// A pack: properties on one subject.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Its name, as in `uses: [gdpr]`.
    pub name: Text,
    /// Its subject, in a paragraph.
    pub about: Text,
    /// The whole page about it, in Markdown.
    pub prose: Text,
    /// Facts that its pages share.
    pub shared: Option<PolicyText>,
    /// Its properties, a page each, by name.
    pub pages: Vec<Page>,
}

/// A page that explains, states and tests a property; or only tests, for a policy in another file.
#[derive(Clone, Debug)]
pub struct Page {
    /// The heading: for a property of a pack, its name.
    pub id: Text,
    /// What it asks for, in a paragraph.
    pub about: Text,
    /// The text for people, in Markdown: all but the policy and the examples.
    pub prose: Text,
    /// The policy that it states.
    pub policy: Option<PolicyText>,
    /// The policy to add for the examples.
    pub setup: Option<PolicyText>,
    /// The examples.
    pub traces: Vec<Trace>,
}

/// An example session, and the findings expected in it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its title.
    pub title: Text,
    /// Its place in the page.
    pub place: Place,
    /// Its events.
    pub lines: Vec<ExampleLine>,
    /// The findings expected after this much time without events.
    pub later: Vec<(Span, Vec<ExpectedFinding>)>,
    /// The findings expected at the end.
    pub end: Vec<ExpectedFinding>,
}

/// An event of a trace, and the findings expected at it.
#[derive(Clone, Debug)]
pub struct ExampleLine {
    /// Its line in the page, from one.
    pub line: u32,
    /// The event, as JSON.
    pub text: Text,
    /// The expected findings.
    pub expected: Vec<ExpectedFinding>,
}

/// A finding that a page expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFinding {
    /// The property; none is the one of the page.
    pub property: Option<Text>,
    /// Values for which it is violated; the finding may have more.
    pub binding: Vec<(Text, Value)>,
}

/// Returns every pack that comes with Lictor, by name.
pub fn packs() -> &'static [Pack] {
    static PACKS: OnceLock<Vec<Pack>> = OnceLock::new();
    PACKS.get_or_init(|| catalog::PACKS.iter().map(|(name, readme, pages)| Pack::read(name, readme, pages)).collect())
}

/// Returns the pack of that name.
pub fn pack(name: &str) -> Option<&'static Pack> {
    packs().iter().find(|pack| pack.name == name)
}

/// Returns the text of a policy that uses the named packs, separated by commas; the error names the known packs.
pub fn compose_policy(names: &str) -> Result<String, String> {
    let asked: Vec<&str> = names.split(',').map(str::trim).collect();
    if asked.iter().any(|name| pack(name).is_none()) {
        let known: Vec<&str> = packs().iter().map(|pack| pack.name.as_str()).collect();
        return Err(format!("{names}: no such file and no such pack; packs are {}", known.join(", ")));
    }
    Ok(format!("lictor: 1\nname: {}\nuses: [{}]\n", asked.join("-"), asked.join(", ")))
}

impl Pack {
    /// Reads a pack from its page and the pages of its properties, each with its name. What is wrong with them shows
    /// when they are [read by themselves](read_page) or used.
    pub fn read(name: &str, readme: &str, pages: &[(&str, &str)]) -> Pack {
        let mut ignored = Problems::default();
        let about = read_page(&PolicyText::new(&format!("packs/{name}/README.md"), readme), &mut ignored);
        let page = |(id, text): &(&str, &str)| {
            read_page(&PolicyText::new(&format!("packs/{name}/{id}.md"), text), &mut ignored)
        };
        Pack {
            name: name.into(),
            pages: pages.iter().map(page).collect(),
            about: about.about,
            prose: about.prose,
            shared: about.policy,
        }
    }

    /// Returns the page of a property.
    pub fn page(&self, id: &str) -> Option<&Page> {
        self.pages.iter().find(|page| page.id == id)
    }
}
