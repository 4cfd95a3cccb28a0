//! Signs that messages without a session belong to several conversations.
//!
//! A conversation may begin with instructions, as a system message. But not every system message begins one: harnesses of
//! coding agents put reminders in the midst of a conversation.

use lictor_event::{Event, Kind};

/// How system messages begin that only remind of something.
const REMINDER_STARTS: [&str; 6] = ["<system-reminder", "reminder", "remember", "note", "system reminder", "[reminder"];

/// Whether a system message reads like the instructions of another conversation, not like a reminder: it begins with the
/// same word as the first instructions, or speaks to the agent as they do.
pub(super) fn is_instruction(first: &str, later: &str) -> bool {
    let start = |text: &str| text.trim_start().chars().take(40).collect::<String>().to_lowercase();
    let (first, later) = (start(first), start(later));
    if REMINDER_STARTS.iter().any(|reminder| later.starts_with(reminder) && !first.starts_with(reminder)) {
        return false;
    }
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).map(str::to_owned);
    let (first, later) = (word(&first), word(&later));
    let speaks = |word: &Option<String>| word.as_deref().is_some_and(|word| matches!(word, "you" | "your" | "act"));
    first.is_some() && (first == later || (speaks(&first) && speaks(&later)))
}

/// Returns how many conversations begin within a history after its first one: an answer of the agent, then instructions
/// like the first ones, then the user.
pub(super) fn count_restarts(events: &[Event]) -> usize {
    let Some(first) = events.first().filter(|event| event.kind == Kind::SystemMessage) else { return 0 };
    let text = |event: &Event| event.text.clone().unwrap_or_default();
    let is_restart = |trio: &&[Event]| match trio {
        [before, system, after] => {
            (&before.kind, &system.kind, &after.kind)
                == (&Kind::AssistantMessage, &Kind::SystemMessage, &Kind::UserMessage)
                && is_instruction(&text(first), &text(system))
        }
        _ => false,
    };
    events.windows(3).filter(is_restart).count()
}

#[cfg(test)]
mod tests {
    use super::is_instruction;

    #[test]
    fn reminder_is_no_instruction() {
        let first = "You are a coding agent.";
        for later in [first, "You sell hats.", "Your task: sell hats", "you are"] {
            assert!(is_instruction(first, later), "{later}");
        }
        for later in [
            "<system-reminder>You have no todos.</system-reminder>",
            "Reminder: run the tests.",
            "The user opened main.rs in the editor.",
            "File changed: src/lib.rs",
            "",
        ] {
            assert!(!is_instruction(first, later), "{later}");
        }
        assert!(is_instruction("# Shop\nSell shoes.", "# Shop\nSell hats."));
    }
}
