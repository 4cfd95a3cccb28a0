//! Packs: properties that many need, each a page that explains, states and tests it.
//!
//! A page is Markdown for people. What programs need of it stands in fenced blocks: the policy itself, a setup for the
//! examples, and traces whose lines say what must be found at them. The same pages test policies of one's own.

mod page;
mod remark;
mod shelf;

use std::sync::OnceLock;

use lictor_logic::{Span, Value};

pub use page::read_page;

use crate::{FileResolver, LoadedPolicy, PageBase, Place, Policy, PolicyText, Problems};
use lictor_json::Text;

/// A pack: properties on one subject.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Its name, as in `uses: [gdpr]`.
    pub name: Text,
    /// What it is about, in a paragraph.
    pub about: Text,
    /// The whole page about it, in Markdown.
    pub prose: Text,
    /// Facts that its pages share.
    pub shared: Option<PolicyText>,
    /// Its properties, a page each, by name.
    pub pages: Vec<Page>,
}

/// A page that explains, states and tests a property; or only tests, for a policy that stands elsewhere.
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
    /// What is to be added for the examples.
    pub setup: Option<PolicyText>,
    /// The examples.
    pub traces: Vec<Trace>,
}

/// A session, and what must be found in it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What it shows.
    pub title: Text,
    /// Where it stands.
    pub place: Place,
    /// Its events.
    pub lines: Vec<ExampleLine>,
    /// What must be found when nothing happens for so long after the last event.
    pub later: Vec<(Span, Vec<ExpectedFinding>)>,
    /// What must be found at the end.
    pub end: Vec<ExpectedFinding>,
}

/// An event of a trace, and what must be found at it.
#[derive(Clone, Debug)]
pub struct ExampleLine {
    /// Its line in the page, from one.
    pub line: u32,
    /// The event, as JSON.
    pub text: Text,
    /// What must be found.
    pub expected: Vec<ExpectedFinding>,
}

/// A finding that must come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFinding {
    /// The property; none is the one of the page.
    pub property: Option<Text>,
    /// Values for which it is broken; others may be there beside them.
    pub binding: Vec<(Text, Value)>,
}

/// Every pack that comes with Lictor, by name.
pub fn packs() -> &'static [Pack] {
    static PACKS: OnceLock<Vec<Pack>> = OnceLock::new();
    PACKS.get_or_init(|| shelf::PACKS.iter().map(|(name, readme, pages)| Pack::read(name, readme, pages)).collect())
}

/// The pack of that name.
pub fn pack(name: &str) -> Option<&'static Pack> {
    packs().iter().find(|pack| pack.name == name)
}

/// The text of a policy that uses packs by their names, with commas between them; or why there is none.
pub fn using(names: &str) -> Result<String, String> {
    let asked: Vec<&str> = names.split(',').map(str::trim).collect();
    if asked.iter().any(|name| pack(name).is_none()) {
        let known: Vec<&str> = packs().iter().map(|pack| pack.name.as_str()).collect();
        return Err(format!("{names}: no such file and no such pack; packs are {}", known.join(", ")));
    }
    Ok(format!("lictor: 1\nname: {}\nuses: [{}]\n", asked.join("-"), asked.join(", ")))
}

impl Pack {
    /// Reads a pack from its page and the pages of its properties, each with its name. What is wrong with them shows when
    /// they are [read by themselves](read_page) or used.
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

    /// The page of a property.
    pub fn page(&self, id: &str) -> Option<&Page> {
        self.pages.iter().find(|page| page.id == id)
    }

    /// The policy under which the examples of one of its pages are judged.
    pub fn policy(&self, page: &Page) -> Result<LoadedPolicy, Problems> {
        Policy::for_page(page, PageBase::Pack(self), &FileResolver)
    }
}
