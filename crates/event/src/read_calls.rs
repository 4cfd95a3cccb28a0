//! The calls of a log, and what else in it looks like one.
//!
//! Logs say a call more than once: as an event, and within a message, a summary or the text of the model. What looks like a
//! call is excused only by an event that is this call: one of the same tool with the same id or equal arguments.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use crate::content_hash::hash_arguments;
use crate::{Arguments, Event};

/// How many calls of a file are told apart. In a file with more of them, an event of the same tool excuses what looks like
/// a call.
const MAX_CALLS: usize = 100_000;

/// Seeded, so that an attacker cannot choose a name that hides another; one for all, so that notes can be merged.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// What looks like a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallMention {
    tool: u64,
    /// A hash for each way to know the call again: by each of its ids, and by its arguments.
    signs: Vec<u64>,
}

impl CallMention {
    /// Returns a mention of a call, with what it says of the call. Arguments that are no object, such as a piece of a
    /// stream or the only input of a tool, tell nothing: the call may name them.
    pub fn new<'a>(tool: &str, ids: impl IntoIterator<Item = &'a str>, args: Option<&Arguments>) -> CallMention {
        let ids = ids.into_iter().map(|id| hash_id(tool, id));
        let args = args
            .filter(|args| args.value().is_some_and(|value| value.as_object().is_some()))
            .map(|args| hash_args(tool, Some(args)));
        CallMention { tool: hash_tool(tool), signs: ids.chain(args).collect() }
    }

    /// Returns the mention without what tells calls of the same tool apart.
    pub fn of_tool_only(&self) -> CallMention {
        CallMention { tool: self.tool, signs: Vec::new() }
    }
}

/// The calls that a log holds as events.
#[derive(Debug, Default)]
pub struct ReadCalls {
    tools: HashSet<u64>,
    signs: HashSet<u64>,
    /// Whether there were more calls than are told apart.
    is_full: bool,
}

impl ReadCalls {
    /// Adds an event with a tool.
    pub fn add(&mut self, call: &Event) {
        let Some(tool) = call.tool.as_deref() else { return };
        self.tools.insert(hash_tool(tool));
        if !self.is_full {
            self.signs.insert(hash_args(tool, call.args.as_ref()));
            self.signs.extend(call.id.as_deref().map(|id| hash_id(tool, id)));
            self.limit();
        }
    }

    /// Adds the calls of another part of the log.
    pub fn merge(&mut self, other: ReadCalls) {
        self.tools.extend(other.tools);
        self.signs.extend(other.signs);
        self.is_full |= other.is_full;
        self.limit();
    }

    /// Whether an event is the call that looks like one.
    pub fn has(&self, mention: &CallMention) -> bool {
        let is_told = !self.is_full && !mention.signs.is_empty();
        match is_told {
            true => mention.signs.iter().any(|sign| self.signs.contains(sign)),
            false => self.tools.contains(&mention.tool),
        }
    }

    /// Forgets the single calls once there are too many. Whether that happens does not depend on the order of the parts.
    fn limit(&mut self) {
        // An id and arguments for each call.
        self.is_full |= self.signs.len() > 2 * MAX_CALLS;
        if self.is_full {
            self.signs = HashSet::new();
        }
    }
}

fn hash_tool(tool: &str) -> u64 {
    HASHER.hash_one(tool)
}

fn hash_id(tool: &str, id: &str) -> u64 {
    HASHER.hash_one((tool, id))
}

/// Returns the hash of a tool with arguments. No arguments are empty ones.
fn hash_args(tool: &str, args: Option<&Arguments>) -> u64 {
    let is_empty =
        |args: &&Arguments| args.value().and_then(|value| value.as_object()).is_some_and(|args| args.is_empty());
    HASHER.hash_one((tool, hash_arguments(args.filter(|args| !is_empty(args)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use lictor_json::Json;

    fn args(text: &str) -> Arguments {
        Arguments::from_json(Json::from(text))
    }

    fn call(tool: &str, id: &str, text: &str) -> Event {
        let id = (!id.is_empty()).then(|| id.into());
        Event { tool: Some(tool.into()), id, args: Some(args(text)), ..Event::new(Kind::ToolCall) }
    }

    #[test]
    fn mention_needs_call_of_same_id_or_arguments() {
        let mut calls = ReadCalls::default();
        calls.add(&call("pay", "c1", r#"{"n":1,"to":"a"}"#));
        calls.add(&Event { tool: Some("list".into()), ..Event::new(Kind::ToolCall) });
        for (tool, ids, text, is_read) in [
            ("pay", &["c1"][..], r#"{"n":2}"#, true),
            ("pay", &["x", "c1"], "", true),
            ("pay", &[], r#"{"to":"a","n":1.0}"#, true),
            ("pay", &["c2"], r#"{"to":"a","n":1}"#, true),
            ("pay", &[], r#"{"to":"b","n":1}"#, false),
            ("pay", &["c2"], r#"{"n":2}"#, false),
            ("refund", &["c1"], r#"{"n":1,"to":"a"}"#, false),
            ("pay", &[], "{\"n\"", true),
            ("pay", &[], "10", true),
            ("list", &[], "{}", true),
            ("list", &[], "", true),
        ] {
            let mention = CallMention::new(tool, ids.iter().copied(), Some(&args(text)));
            assert_eq!(calls.has(&mention), is_read, "{tool} {ids:?} {text}");
        }
        assert!(calls.has(&CallMention::new("pay", [], None)) && !calls.has(&CallMention::new("refund", [], None)));
    }

    #[test]
    fn too_many_calls_are_known_by_their_tools() {
        for parts in [1, 3] {
            let mut calls: Vec<ReadCalls> = (0..parts).map(|_| ReadCalls::default()).collect();
            for number in 0..=2 * MAX_CALLS {
                calls[number % parts].add(&call("pay", "", &format!("[{number}]")));
            }
            let mut merged = ReadCalls::default();
            calls.into_iter().for_each(|part| merged.merge(part));
            assert!(merged.has(&CallMention::new("pay", ["x"], None)));
            assert!(!merged.has(&CallMention::new("refund", ["x"], None)));
        }
    }
}
