//! What looks like a call in a log, until it is known which calls the log has.

use std::collections::HashMap;

use crate::fault::Fault;
use crate::read_calls::{CallMention, ReadCalls};

/// How many suspects of a file are told apart. In a file with more of them, one of each tool is kept.
const MAX_SUSPECTS: usize = 10_000;

/// What looks like a call, and where each was first.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    mentions: HashMap<CallMention, Fault>,
    /// Whether only the tool of each is kept.
    is_full: bool,
    /// The first of the tools beyond the limit.
    beyond: Option<Fault>,
}

impl Suspects {
    /// Adds what looks like a call. `fault` is needed only if it is new.
    pub(crate) fn add(&mut self, mention: CallMention, fault: impl FnOnce() -> Fault) {
        let mention = self.limit(mention);
        if self.mentions.contains_key(&mention) {
            return;
        }
        if self.mentions.len() < MAX_SUSPECTS {
            self.mentions.insert(mention, fault());
        } else if !self.is_full {
            self.keep_tools();
            self.add(mention, fault);
        } else if self.beyond.is_none() {
            self.beyond = Some(fault());
        }
    }

    /// Adds the suspects of another part of the log.
    pub(crate) fn merge(&mut self, other: Suspects) {
        if other.is_full {
            self.keep_tools();
        }
        for (mention, fault) in other.mentions {
            let mention = self.limit(mention);
            match self.mentions.get_mut(&mention) {
                Some(first) if fault.line < first.line => *first = fault,
                Some(_) => {}
                None => self.add(mention, || fault),
            }
        }
        self.beyond = self.beyond.take().or(other.beyond);
    }

    /// Returns the faults of those that are no call of the log.
    pub(crate) fn into_unread(self, calls: &ReadCalls) -> impl Iterator<Item = Fault> {
        let unread = self.mentions.into_iter().filter(|(mention, _)| !calls.has(mention)).map(|(_, fault)| fault);
        unread.chain(self.beyond)
    }

    /// Returns the part of a mention that counts: all of it, or its tool.
    fn limit(&self, mention: CallMention) -> CallMention {
        if self.is_full { mention.of_tool_only() } else { mention }
    }

    /// Keeps the first suspect of each tool.
    fn keep_tools(&mut self) {
        self.is_full = true;
        for (mention, fault) in std::mem::take(&mut self.mentions) {
            let first = self.mentions.entry(mention.of_tool_only()).or_insert_with(|| fault.clone());
            if fault.line < first.line {
                *first = fault;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: u32) -> Fault {
        Fault { file: "log".into(), line, column: None, code: "test", message: line.to_string() }
    }

    fn unread_lines(suspects: Suspects) -> Vec<u32> {
        let mut lines: Vec<u32> = suspects.into_unread(&ReadCalls::default()).map(|fault| fault.line).collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn limit_keeps_one_suspect_of_each_tool() {
        for parts in [1, 3] {
            let mut suspects: Vec<Suspects> = (0..parts).map(|_| Suspects::default()).collect();
            for line in 0..=MAX_SUSPECTS as u32 {
                let (tool, id) = (if line % 2 == 0 { "pay" } else { "refund" }, line.to_string());
                let mention = CallMention::new(tool, [id.as_str()], None);
                suspects[line as usize % parts].add(mention, || fault(line));
            }
            let mut merged = Suspects::default();
            suspects.into_iter().rev().for_each(|part| merged.merge(part));
            assert_eq!(unread_lines(merged), [0, 1], "{parts}");
        }
    }

    #[test]
    fn tool_beyond_the_limit_is_reported() {
        let mut suspects = Suspects::default();
        for line in 0..=MAX_SUSPECTS as u32 {
            suspects.add(CallMention::new(&format!("tool{line}"), [], None), || fault(line));
        }
        assert_eq!(unread_lines(suspects).len(), MAX_SUSPECTS + 1);
    }
}
