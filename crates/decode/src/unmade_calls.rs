//! Results of tools in sessions without a call: the calls were logged somewhere else, or not at all.
//!
//! A log that begins in the middle of a session begins with the results of the calls before it. So only a result after
//! a message of its session counts, and only where the whole file has no call of that session.

use std::collections::HashMap;

use super::Fault;
use lictor_event::{Event, Kind, Source};
use lictor_json::Text;

/// How many sessions are followed.
const MAX_SESSIONS: usize = 100_000;

/// What the sessions of a file hold.
#[derive(Debug, Default)]
pub(super) struct UnmadeCalls {
    sessions: HashMap<Option<Text>, SessionResults>,
}

#[derive(Debug, Default)]
struct SessionResults {
    has_call: bool,
    has_message: bool,
    /// The first result after a message, and how many there are.
    first: Option<Source>,
    count: u64,
}

impl UnmadeCalls {
    pub(super) fn take_events(&mut self, events: &[Event]) {
        for event in events {
            let is_message = matches!(event.kind, Kind::UserMessage | Kind::AssistantMessage);
            let is_result = event.kind == Kind::ToolResult;
            // Sessions without results take no room.
            let is_known = self.sessions.contains_key(&event.session);
            if !is_known && (!(is_message || is_result || is_call(event)) || self.sessions.len() >= MAX_SESSIONS) {
                continue;
            }
            let session = match is_known {
                true => self.sessions.get_mut(&event.session),
                false => Some(self.sessions.entry(event.session.clone()).or_default()),
            };
            let Some(session) = session else { continue };
            session.has_call |= is_call(event);
            session.has_message |= is_message;
            if is_result && session.has_message {
                session.first.get_or_insert_with(|| event.source.clone());
                session.count += 1;
            }
        }
    }

    /// Reports the sessions that have results and no call.
    pub(super) fn report(&mut self, faults: &mut Vec<Fault>) {
        let sessions = std::mem::take(&mut self.sessions).into_iter().filter(|(_, session)| !session.has_call);
        let mut found: Vec<_> =
            sessions.filter_map(|(name, session)| Some((session.first?, name, session.count))).collect();
        found.sort_by(|a, b| (a.0.line, a.0.record, &a.1).cmp(&(b.0.line, b.0.record, &b.1)));
        faults.extend(found.into_iter().map(|(Source { file, line, .. }, name, count)| {
            let session = name.map_or_else(|| "the file".to_owned(), |name| format!("session `{name}`"));
            let message = format!(
                "{session} has results of tools ({count}) and no call: the calls are not judged; log them with the \
                 messages of the agent"
            );
            Fault { file, line, column: None, code: "decode.missing_call", message }
        }));
    }
}

/// Whether an event is a call, made or asked for.
fn is_call(event: &Event) -> bool {
    match &event.kind {
        Kind::ToolCall | Kind::Handoff => true,
        kind => kind.name() == super::chat::APPROVAL_REQUEST,
    }
}
