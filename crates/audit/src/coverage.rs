//! Coverage: what a log puts to the test. A property is not exercised if nothing occurs that could violate it.

mod unknown;

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_event::{Arguments, Event, Kind};
use lictor_json::Text;
use lictor_judge::{Coverage, Judge, PropertyGap};
use lictor_logic::{Atom, Term, Value};
use lictor_policy::Property;
use lictor_policy::glob::Glob;
use rustc_hash::FxHashSet;

use unknown::SeenUnknown;
pub use unknown::UnknownFact;

/// The most names of tools, and of labels and facts, that are kept for the nearest name.
const MAX_NAMES: usize = 10_000;

/// What a log does not put to the test.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LogCoverage {
    /// The properties with facts that never occur, in the order of the policy.
    pub gaps: Vec<UnexercisedProperty>,
    /// How many sessions have no fact that any property asks for.
    pub silent_sessions: usize,
    /// The facts that are unknown at some event.
    pub unknown: Vec<UnknownFact>,
    /// How much of their content the events have.
    pub content: RecordedContent,
    /// How many events have no time.
    pub untimed_events: u64,
    /// The properties with time bounds that the log puts to the test, if it has events without a time.
    pub untimed: Vec<Arc<Property>>,
    /// The tools that the policy names and the log never has, with the tool of the log that may be meant.
    pub renamed_tools: Vec<(Text, Text)>,
    /// The tools that the policy names, with a tool of the log that it does not name and that differs in spelling only.
    pub alike_tools: Vec<(Text, Text)>,
    /// The facts that properties ask for, with a label or fact of the log that differs in spelling only.
    pub alike_facts: Vec<(Text, Text)>,
}

/// How many calls and messages of a log have their content. Some recorders leave it out by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedContent {
    /// The calls of tools.
    pub calls: u64,
    /// The calls without arguments.
    pub bare_calls: u64,
    /// The messages and results that have a text or a value.
    pub texts: u64,
    /// All events.
    pub events: u64,
}

impl RecordedContent {
    /// Whether most calls have no arguments, and nothing has a text.
    pub fn is_left_out(&self) -> bool {
        self.texts == 0 && self.bare_calls * 2 > self.calls
    }

    fn note(&mut self, event: &Event) {
        let is_call = event.kind == Kind::ToolCall;
        let is_bare = event.args.as_ref().is_none_or(|args| match args {
            Arguments::Value(value) => value.is_null(),
            Arguments::Unparsed(text) => text.is_empty(),
        });
        let has_text = event.text.as_ref().is_some_and(|text| !text.is_empty()) || event.result.is_some();
        self.calls += u64::from(is_call);
        self.bare_calls += u64::from(is_call && is_bare);
        self.texts += u64::from(has_text);
        self.events += 1;
    }

    fn add(&mut self, other: RecordedContent) {
        self.calls += other.calls;
        self.bare_calls += other.bare_calls;
        self.texts += other.texts;
        self.events += other.events;
    }
}

/// A property, and its facts that never occur.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnexercisedProperty {
    /// The property.
    pub property: Arc<Property>,
    /// Its facts that occur at no event.
    pub missing: Vec<MissingFact>,
    /// Whether nothing occurs that could violate it, or that could show whether it holds.
    pub entirely: bool,
    /// The evidence that it needs, if the logs state none of it: its sessions are not judged.
    pub lacking: Vec<Text>,
}

/// A fact that a property asks for and that never occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingFact {
    /// The fact, as the property writes it.
    pub fact: Text,
    /// The name in the log that is like the one asked for: of a tool, or of a label or fact in another spelling.
    pub nearest: Option<Text>,
}

impl LogCoverage {
    /// Returns the properties that nothing in the log could violate, and those that lack the evidence they need.
    pub fn unexercised(&self) -> impl Iterator<Item = &UnexercisedProperty> {
        self.gaps.iter().filter(|gap| gap.entirely)
    }

    /// Returns the properties that were not judged, as the log states none of the evidence they need.
    pub fn lacking(&self) -> impl Iterator<Item = &UnexercisedProperty> {
        self.gaps.iter().filter(|gap| !gap.lacking.is_empty())
    }
}

/// What one thread has seen of a log.
#[derive(Debug)]
pub(crate) struct SeenFacts {
    facts: Coverage,
    tools: FxHashSet<Text>,
    /// The names of the labels, facts and answers that the log states.
    stated: FxHashSet<Text>,
    unknown: SeenUnknown,
    content: RecordedContent,
    untimed_events: u64,
}

impl SeenFacts {
    pub(crate) fn new(judge: &Judge) -> SeenFacts {
        SeenFacts {
            facts: judge.start_coverage(),
            tools: FxHashSet::default(),
            stated: FxHashSet::default(),
            unknown: SeenUnknown::default(),
            content: RecordedContent::default(),
            untimed_events: 0,
        }
    }

    /// Notes the event that was judged last.
    pub(crate) fn note(&mut self, judge: &Judge, event: &Event) {
        if let (Kind::ToolCall, Some(tool)) = (&event.kind, &event.tool)
            && !self.tools.contains(tool)
            && self.tools.len() < MAX_NAMES
        {
            self.tools.insert(tool.clone());
        }
        self.note_names(event);
        self.content.note(event);
        self.untimed_events += u64::from(event.time.is_none());
        judge.mark_coverage(&mut self.facts);
        self.unknown.note(judge, &self.facts, event);
    }

    fn note_names(&mut self, event: &Event) {
        let labels = event.labels.iter().map(|label| name_label(label));
        let answers = event.answers.iter().map(|answer| &*answer.fact.name);
        for name in labels.chain(event.facts.iter().map(|fact| &*fact.name)).chain(answers) {
            if !self.stated.contains(name) && self.stated.len() < MAX_NAMES {
                self.stated.insert(name.into());
            }
        }
    }

    /// Notes the answers about an event that was noted before, after it was judged again.
    pub(crate) fn note_answers(&mut self, judge: &Judge, event: &Event) {
        self.note_names(event);
        judge.mark_coverage(&mut self.facts);
    }

    /// Whether the event that was judged last has a fact that some property asks for.
    pub(crate) fn is_asked(&self, judge: &Judge) -> bool {
        judge.has_asked_fact(&self.facts)
    }

    pub(crate) fn merge(&mut self, other: SeenFacts) {
        self.facts.merge(&other.facts);
        self.tools.extend(other.tools);
        self.stated.extend(other.stated);
        self.unknown.merge(other.unknown);
        self.content.add(other.content);
        self.untimed_events += other.untimed_events;
    }

    /// Returns, for each property, whether the log has the evidence it needs.
    pub(crate) fn judged_properties(&self, judge: &Judge) -> Vec<bool> {
        (0..judge.properties().len()).map(|property| !judge.lacks_evidence(&self.facts, property)).collect()
    }

    /// Returns what was not seen.
    pub(crate) fn into_coverage(self, judge: &Judge, silent_sessions: usize) -> LogCoverage {
        let mut tools: Vec<Text> = self.tools.into_iter().collect();
        tools.sort_unstable();
        let mut stated: Vec<Text> = self.stated.into_iter().collect();
        stated.sort_unstable();
        let asked = (0..).map_while(|number| self.facts.fact(number)).map(|atom| Text::from(&*atom.name));
        let asked: BTreeSet<Text> = asked.collect();
        stated.retain(|name| !asked.contains(name));
        let describe = |gap: PropertyGap| {
            let mut missing: Vec<MissingFact> = Vec::new();
            for fact in gap.missing.iter().map(|atom| describe_missing(atom, &tools, &stated)) {
                // Atoms that differ in their variables only are one fact here.
                if !missing.contains(&fact) {
                    missing.push(fact);
                }
            }
            UnexercisedProperty {
                property: Arc::clone(&judge.properties()[gap.property]),
                missing,
                entirely: gap.is_unexercised,
                lacking: match gap.lacks_evidence {
                    true => judge.properties()[gap.property].needs.clone(),
                    false => Vec::new(),
                },
            }
        };
        let gaps = judge.find_gaps(&self.facts);
        let is_timed = |(number, property): (usize, &Arc<Property>)| {
            let is_judged = !gaps.iter().any(|gap| gap.property == number && gap.is_unexercised);
            (self.untimed_events > 0 && is_judged && judge.measures_time(number)).then(|| Arc::clone(property))
        };
        LogCoverage {
            untimed_events: self.untimed_events,
            untimed: judge.properties().iter().enumerate().filter_map(is_timed).collect(),
            gaps: gaps.into_iter().map(describe).collect(),
            silent_sessions,
            unknown: self.unknown.into_facts(judge, &self.facts),
            content: self.content,
            renamed_tools: find_renamed(judge.named_tools(), &tools),
            alike_tools: find_alike(judge.named_tools(), &tools),
            alike_facts: asked
                .iter()
                .filter_map(|name| Some((name.clone(), find_spelling(name, &stated)?.clone())))
                .collect(),
        }
    }
}

fn describe_missing(atom: &Atom, tools: &[Text], stated: &[Text]) -> MissingFact {
    let names_tool = matches!(&*atom.name, "tool_call" | "tool_result" | "tool_failed");
    let nearest = match atom.terms.first() {
        Some(Term::Value(Value::Text(asked))) if names_tool => find_nearest(asked, tools),
        _ => find_spelling(&atom.name, stated),
    };
    MissingFact { fact: name_fact(atom), nearest: nearest.cloned() }
}

/// Returns a fact as it is shown: without values of its own, the name says it all.
fn name_fact(atom: &Atom) -> Text {
    match atom.terms.iter().any(|term| matches!(term, Term::Value(_))) {
        true => atom.to_string().into(),
        false => Text::from(&*atom.name),
    }
}

/// Returns the named tools that the log never has, each with the tool of the log that may be meant: one that nothing
/// names and that has the same letters or shares most of the words. Names with `*` are meant to match or not.
fn find_renamed(named: &[Text], tools: &[Text]) -> Vec<(Text, Text)> {
    let unnamed = find_unnamed(named, tools);
    let missing = named.iter().filter(|name| !name.contains('*') && !tools.contains(name));
    let renamed = missing.filter_map(|name| {
        let letters = fold_name(name);
        if let Some(tool) = unnamed.iter().find(|tool| fold_name(tool) == letters) {
            return Some((name.clone(), tool.clone()));
        }
        let tool = find_nearest(name, &unnamed)?;
        let (asked, words) = (split_words(name), split_words(tool));
        let shared = asked.iter().filter(|word| words.contains(word)).count();
        (shared * 2 > asked.len()).then(|| (name.clone(), tool.clone()))
    });
    renamed.collect()
}

/// Returns the named tools that the log has, each with another tool that nothing names and that has the same letters.
fn find_alike(named: &[Text], tools: &[Text]) -> Vec<(Text, Text)> {
    let unnamed = find_unnamed(named, tools);
    let present = named.iter().filter(|name| tools.contains(name));
    let alike = present.filter_map(|name| {
        let letters = fold_name(name);
        let tool = unnamed.iter().find(|tool| fold_name(tool) == letters)?;
        Some((name.clone(), tool.clone()))
    });
    alike.collect()
}

fn find_unnamed(named: &[Text], tools: &[Text]) -> Vec<Text> {
    let globs: Vec<Glob> = named.iter().map(|name| Glob::new(name)).collect();
    tools.iter().filter(|tool| !globs.iter().any(|glob| glob.matches(tool))).cloned().collect()
}

/// Returns the tool whose name shares the most words with the asked one.
fn find_nearest<'a>(asked: &str, tools: &'a [Text]) -> Option<&'a Text> {
    let asked = split_words(asked);
    let shared = |tool: &Text| split_words(tool).iter().filter(|word| asked.contains(word)).count();
    let score = |tool: &&Text| (shared(tool), std::cmp::Reverse(split_words(tool).len()));
    // The first of several equals, in the order of the alphabet.
    tools.iter().rev().max_by_key(score).filter(|tool| shared(tool) > 0)
}

/// Returns the name among others that has the same letters.
fn find_spelling<'a>(asked: &str, names: &'a [Text]) -> Option<&'a Text> {
    let letters = fold_name(asked);
    names.iter().find(|name| fold_name(name) == letters)
}

/// Returns the name of the fact that a label states or denies.
fn name_label(label: &str) -> &str {
    let label = label.strip_prefix('!').unwrap_or(label);
    label.split_once('(').map_or(label, |(name, _)| name)
}

/// Returns the letters and digits of a name in lower case: `refund_order`, `refundOrder` and `REFUND-ORDER` are alike.
fn fold_name(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Splits a name into its words: `refundOrder` and `refund_order` are the same two.
fn split_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    for letter in name.chars() {
        if letter.is_uppercase() || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_tool_shares_most_words() {
        let tools = ["get_order", "refund_order", "RefundAll", "send_email"].map(Text::from);
        let nearest = |asked: &str| find_nearest(asked, &tools).map(|tool| tool.to_string());
        assert_eq!(nearest("refund").as_deref(), Some("refund_order"));
        assert_eq!(nearest("refund-all").as_deref(), Some("RefundAll"));
        assert_eq!(nearest("refundOrder").as_deref(), Some("refund_order"));
        assert_eq!(nearest("delete"), None);
    }

    #[test]
    fn renamed_tool_is_one_that_nothing_names() {
        let named = ["delete_customer", "refund_order", "send_*", "wipe_disk"].map(Text::from);
        let tools = ["mcp__shop__delete_customer", "refund_order", "send_delete_customer"].map(Text::from);
        let renamed = [(Text::from("delete_customer"), Text::from("mcp__shop__delete_customer"))];
        assert_eq!(find_renamed(&named, &tools), renamed);
        assert_eq!(find_renamed(&named, &[Text::from("delete_customer")]), []);
    }

    #[test]
    fn renamed_tool_may_differ_in_spelling_only() {
        let named = ["refund_order"].map(Text::from);
        for spelling in ["refundOrder", "refund-order", "RefundOrder", "REFUND_ORDER", "refundorder"] {
            let tools = ["get_order", "refund_order", spelling].map(Text::from);
            let meant = [(Text::from("refund_order"), Text::from(spelling))];
            assert_eq!((find_renamed(&named, &tools), &find_alike(&named, &tools)[..]), (Vec::new(), &meant[..]));
            assert_eq!(
                (&find_renamed(&named, &tools[2..])[..], find_alike(&named, &tools[2..])),
                (&meant[..], Vec::new())
            );
        }
    }
}
