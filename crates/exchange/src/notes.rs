//! Notes for the model, which are added to its next request: advice of properties (steer), and denials of reviewers.

use lictor_event::{Event, Kind};
use lictor_wire::Ruling;

use crate::memory::{ModelNote, SessionMemory};
use crate::new_event::NewEvent;

/// Adds notes after the results of their calls, or else after the last new text. Notes that fit neither stay in memory.
pub(crate) fn attach(memory: &mut SessionMemory, new: &[NewEvent], changes: &mut [(usize, Ruling)]) {
    for note in std::mem::take(&mut memory.notes) {
        let is_said = |new: &&NewEvent| {
            matches!(new.event.kind, Kind::ToolResult | Kind::UserMessage) && new.event.text.is_some()
        };
        let is_about = |new: &&NewEvent| note.call.is_some() && new.event.id.as_deref() == note.call.as_deref();
        let about = new.iter().filter(is_said).find(is_about).or_else(|| new.iter().rfind(is_said));
        let Some((event, Some(place))) = about.map(|new| (&new.event, new.place)) else {
            memory.notes.push(note);
            continue;
        };
        if let Some((_, ruling)) = changes.iter_mut().find(|(known, _)| *known == place) {
            *ruling = match &*ruling {
                Ruling::Forward => with_note(event, &note.text),
                Ruling::Rewrite(rewritten) => with_note(rewritten, &note.text),
                Ruling::Deny { text } => Ruling::Deny { text: format!("{text}\n\n{}", note.text) },
            };
        }
    }
}

/// Returns the ruling that adds a note after the event's text.
pub(crate) fn with_note(event: &Event, note: &str) -> Ruling {
    let mut event = event.clone();
    match &event.text {
        Some(text) => event.text = Some(format!("{text}\n\n{note}").into()),
        None => return Ruling::Forward,
    }
    Ruling::Rewrite(Box::new(event))
}

/// Returns the note by which a model learns that a reviewer denied its call.
pub fn denial_note(tool: Option<&str>) -> ModelNote {
    let tool = tool.unwrap_or("a tool");
    ModelNote { call: None, text: format!("A reviewer denied the call of {tool}. Do not make it again.") }
}
