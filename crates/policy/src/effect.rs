//! What a tool does to the world, as far as its name or its definition says so.
//!
//! A policy states the effects of tools under `tools:`. For the others they follow from the words of the name, see
//! `effect/verbs.txt`, else from the definition that the tool came with. A tool about which neither says anything has
//! *unknown* effects. That is a value of its own: it is neither "no effect" nor "all effects".

mod clause;
mod definition;
mod set;
mod vocabulary;
mod words;

pub use definition::{each_definition, guess_from_definition};
pub use set::Effects;

use clause::read_words;
use words::split_name;

/// Returns the effects that the name of a tool tells; none if they are unknown.
///
/// ```
/// use lictor_policy::effect::guess_from_name;
/// let effects = guess_from_name("get_and_delete_file").unwrap();
/// assert_eq!(effects.names().collect::<Vec<_>>(), ["read", "write", "destructive"]);
/// assert_eq!(guess_from_name("frobnicate"), None);
/// ```
pub fn guess_from_name(tool: &str) -> Option<Effects> {
    let parts = split_name(tool);
    let is_mcp = parts.first().is_some_and(|first| first.len() == 1 && first[0] == "mcp");
    // The last part is the tool and those before it are its server or its resource: `mcp__files__delete`. They count
    // only if the last part tells nothing: `transfer.funds`. That a server is called `search` does not make its tools
    // harmless.
    parts.iter().rev().enumerate().find_map(|(place, words)| {
        let reading = read_words(words);
        let is_server = is_mcp && place > 0;
        let counts = reading.tells() && !(is_server && reading.effects().is_none_or(Effects::only_reads));
        counts.then(|| reading.effects())
    })?
}

#[cfg(test)]
mod tests;
