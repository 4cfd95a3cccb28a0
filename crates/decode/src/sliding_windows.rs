//! Sliding windows: requests that hold the last messages of their conversation only, in a log that names no session.
//!
//! Such a request repeats the end of what is known of its conversation, from its first message on, and then continues. It
//! is joined with that conversation only if what it repeats can be of no other one: it has messages of users, results of
//! tools or calls that no other conversation of the log has. Everything else that repeats the end of a conversation is reported:
//! words of one customer would count for another, or one call several times.

use std::collections::HashMap;

use lictor_logic::Time;

use super::Fault;
use super::repeated_history::{Continuation, EventKey};
use lictor_event::Source;
use lictor_event::content_hash::ContentHash;

/// The code of the fault of windows that could not be joined.
pub(super) const UNJOINED_WINDOWS: &str = "decode.unjoined_windows";

/// The fewest events that a window repeats, and the fewest of them that no other conversation has. The agent may say the
/// same to everyone.
const MIN_REPEATED_EVENTS: usize = 3;
const MIN_OWN_EVENTS: usize = 2;

/// The fewest requests that repeat a single short message before they are reported: people begin with words with which
/// others end.
const MIN_SINGLE_REPEATS: u64 = 2;

/// How many conversations that end with the same message are compared.
const MAX_CANDIDATES: usize = 16;

/// What is known of the ends of conversations.
#[derive(Debug, Default)]
pub(super) struct SlidingWindows {
    /// The conversations whose last message has this content, by the beginning of its hash.
    ends: HashMap<u64, Vec<usize>>,
    /// The conversation that has a telling message, with its time; none if several have it.
    owners: HashMap<(ContentHash, Option<Time>), Option<usize>>,
    /// How many conversations began.
    begun: u64,
    /// How many of them begin with the short last message of another one.
    single: u64,
    /// The requests that repeat the end of a conversation without a proof: the first, and how many.
    doubtful: Option<(Source, u64)>,
    /// The first of those that repeat one short message.
    first_single: Option<Source>,
    /// The requests that may be sent again, or be windows that repeat themselves: the first, and how many.
    periodic: Option<(Source, u64)>,
    /// Whether some request is a window.
    has_windows: bool,
}

/// The conversation of which a request is a window.
#[derive(Debug)]
pub(super) struct WindowMatch {
    pub(super) conversation: usize,
    pub(super) continuation: Continuation,
}

impl SlidingWindows {
    /// Notes the last message of a conversation, which had another one before.
    pub(super) fn note_end(&mut self, conversation: usize, before: Option<ContentHash>, history: &[EventKey]) {
        let last = history.last().map(EventKey::hash);
        if before == last {
            return;
        }
        if let Some(hash) = before
            && let Some(ending) = self.ends.get_mut(&shorten(&hash))
        {
            ending.retain(|known| *known != conversation);
            if ending.is_empty() {
                self.ends.remove(&shorten(&hash));
            }
        }
        if let Some(hash) = last {
            self.ends.entry(shorten(&hash)).or_default().push(conversation);
        }
    }

    /// Notes the new messages of a conversation.
    pub(super) fn note_events<'k>(&mut self, conversation: usize, keys: impl Iterator<Item = &'k EventKey>) {
        for key in keys.filter(|key| key.is_telling()) {
            let owner = self.owners.entry(key.content()).or_insert(Some(conversation));
            if *owner != Some(conversation) {
                *owner = None;
            }
        }
    }

    /// Notes a request that begins a conversation; `count_events` says how long the history of another one is.
    pub(super) fn note_beginning(&mut self, keys: &[EventKey], source: &Source, count_events: impl Fn(usize) -> usize) {
        self.begun += 1;
        let Some(first) = keys.first().filter(|_| keys.len() > 1) else { return };
        // A word with which several conversations end is said at any place.
        let Some([ending]) = self.ends.get(&shorten(&first.hash())).map(Vec::as_slice) else { return };
        if count_events(*ending) > 1 {
            match first.is_telling() {
                true => self.note_doubt(source),
                false => {
                    self.single += 1;
                    self.first_single.get_or_insert_with(|| source.clone());
                }
            }
        }
    }

    /// Notes a request that repeats a whole history, and itself within that: it was sent again, or it is the next window of
    /// a conversation that repeats itself. The latter is only likely where there are windows.
    pub(super) fn note_periodic(&mut self, source: &Source) {
        let (_, count) = self.periodic.get_or_insert_with(|| (source.clone(), 0));
        *count += 1;
    }

    /// Notes that a request was joined with the conversation of which it is a window.
    pub(super) fn note_joined(&mut self) {
        self.has_windows = true;
    }

    /// Notes a request whose conversation is in doubt.
    pub(super) fn note_doubt(&mut self, source: &Source) {
        let (_, count) = self.doubtful.get_or_insert_with(|| (source.clone(), 0));
        *count += 1;
    }

    /// Returns the conversations of which a request may be a window: it repeats their end, and nothing new comes before
    /// that.
    pub(super) fn find_candidates<'h>(
        &self,
        keys: &[EventKey],
        history: impl Fn(usize) -> &'h [EventKey],
    ) -> Vec<WindowMatch> {
        let mut found: Vec<WindowMatch> = Vec::new();
        let mut tried: Vec<usize> = Vec::new();
        let ending = keys.iter().filter_map(|key| self.ends.get(&shorten(&key.hash())));
        for &conversation in ending.flat_map(|ending| ending.iter().rev().take(MAX_CANDIDATES)) {
            if tried.contains(&conversation) {
                continue;
            }
            if tried.len() == MAX_CANDIDATES {
                break;
            }
            tried.push(conversation);
            let history = history(conversation);
            let continuation = Continuation::find(history, keys);
            let end = continuation.known_end();
            if continuation.goes_on && end < history.len() && continuation.count_repeated() == end {
                found.push(WindowMatch { conversation, continuation });
            } else if let Some(continuation) = Continuation::find_window(history, keys) {
                found.push(WindowMatch { conversation, continuation });
            }
        }
        found
    }

    /// Whether what a window repeats is of its conversation and of no other one, and at one place of it.
    pub(super) fn is_proven(&self, window: &WindowMatch, keys: &[EventKey]) -> bool {
        let repeated = &keys[..window.continuation.known_end()];
        let is_own = |key: &&EventKey| {
            key.is_unique_call() || self.owners.get(&key.content()) == Some(&Some(window.conversation))
        };
        let own = repeated.iter().filter(|key| !key.is_said_by_agent()).filter(is_own).count();
        repeated.len() >= MIN_REPEATED_EVENTS && own >= MIN_OWN_EVENTS && !is_periodic(repeated)
    }

    /// Returns the fault of windows that could not be joined.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        let is_telling = self.single >= MIN_SINGLE_REPEATS && self.single * 2 >= self.begun;
        let single = self.first_single.take().filter(|_| is_telling).map(|source| (source, self.single));
        let doubtful = self.doubtful.take();
        let has_windows = self.has_windows || doubtful.is_some() || single.is_some();
        let periodic = self.periodic.take().filter(|_| has_windows);
        let found: Vec<(Source, u64)> = [doubtful, single, periodic].into_iter().flatten().collect();
        let count: u64 = found.iter().map(|(_, count)| count).sum();
        let (source, _) = found.into_iter().min_by_key(|(source, _)| (source.line, source.record))?;
        let requests = if count == 1 { "one request repeats".to_owned() } else { format!("{count} requests repeat") };
        let message = format!(
            "{requests} the last messages of another one, which does not prove that both are one conversation: calls may \
             be judged several times, and words of one conversation count for another; log a session id, or name the \
             member that has it with --session-key"
        );
        Some(Fault { file: source.file, line: source.line, column: None, code: UNJOINED_WINDOWS, message })
    }
}

/// Whether what a window repeats may stand at two places of its conversation, since it repeats itself: most of its end is
/// its beginning.
pub(super) fn is_periodic(repeated: &[EventKey]) -> bool {
    // The failure function of Knuth, Morris and Pratt: the longest end of each prefix that is its beginning.
    let mut borders = vec![0; repeated.len()];
    for place in 1..repeated.len() {
        let mut border: usize = borders[place - 1];
        while border > 0 && repeated[border].content() != repeated[place].content() {
            border = borders[border - 1];
        }
        borders[place] = border + usize::from(repeated[border].content() == repeated[place].content());
    }
    let border = borders.last().copied().unwrap_or(0);
    border >= MIN_REPEATED_EVENTS || border > 0 && 2 * border + 1 >= repeated.len()
}

/// Returns the beginning of a hash. What is found by it is compared as a whole.
fn shorten(hash: &ContentHash) -> u64 {
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
