//! How things are put into words, the same in every format.

use std::borrow::Cow;
use std::fmt::Write;

use super::SessionReport;
use lictor_event::order::{Gap, GapCause};
use lictor_judge::finding::values;
use lictor_judge::finding::{DecidedBy, Finding, WitnessEvent};

/// A text in which whatever an eye or a terminal would not see as itself is written out: control characters, line
/// breaks, characters that turn the direction of writing or take no room.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            hidden if is_hidden(hidden) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(hidden));
            }
            plain => shown.push(plain),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character is not seen as itself.
///
/// The joiners U+200C and U+200D are not hidden: several scripts and most emoji need them.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What an event was: `tool_call send_email`.
pub(super) fn event(kind: &str, tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("{} {}", visible(kind), visible(tool)),
        None => visible(kind).into_owned(),
    }
}

/// When a finding was decided: `step 9`.
pub(super) fn occasion(finding: &Finding) -> String {
    let step = finding.step;
    match finding.decided {
        DecidedBy::Event => format!("step {step}"),
        DecidedBy::Deadline => format!("a deadline passed by step {step}"),
        DecidedBy::End => format!("the session ended after step {step}"),
    }
}

/// Which event a finding is about: `step 9: tool_call send_email`.
pub(super) fn moment(finding: &Finding) -> String {
    format!("{}: {}", occasion(finding), event(finding.kind.name(), finding.tool.as_deref()))
}

/// A place in a log: `shop.jsonl:9`; without a line where there is none.
pub(super) fn place(file: &str, line: u32) -> String {
    match line {
        0 => visible(file).into_owned(),
        line => format!("{}:{line}", visible(file)),
    }
}

/// The values of a finding: `p = "marketing", x = 3`; `p = "ads" or "news"` for several. Empty if it has none.
pub(super) fn binding(finding: &Finding) -> String {
    let names = values(&finding.binding).into_iter().map(|(name, values)| {
        let values: Vec<String> = values.iter().map(|value| visible(&value.to_string()).into_owned()).collect();
        format!("{} = {}", visible(name), values.join(" or "))
    });
    names.collect::<Vec<_>>().join(", ")
}

/// What a witness says of its event, in lines: the facts that held, those that did not, what was said.
pub(super) fn testimony(proof: &WitnessEvent) -> Vec<String> {
    let present = proof.present.iter().map(|fact| format!("holds: {}", visible(fact)));
    let absent = proof.absent.iter().map(|fact| format!("absent: {}", visible(fact)));
    let content = proof.content.iter().map(|content| format!("content: {}", visible(content)));
    present.chain(absent).chain(content).collect()
}

/// Whether the event of a witness is the one that decided.
pub(super) fn is_deciding(finding: &Finding, proof: &WitnessEvent) -> bool {
    finding.decided != DecidedBy::End && proof.session.is_none() && proof.step == finding.step
}

/// Which event of which session a witness is: `step 9`, `step 2 of session s1` where it is not the finding's.
pub(super) fn step(proof: &WitnessEvent) -> String {
    match &proof.session {
        Some(session) => format!("step {} of session {}", proof.step, visible(session)),
        None => format!("step {}", proof.step),
    }
}

/// Events that could not be judged in their place: `session s1: gap: events 17 to 19 are missing`.
pub(super) fn gap(session: &SessionReport, gap: &Gap) -> String {
    format!("session {}: {gap}", visible(&session.name))
}

/// The code of what could not be judged in its place.
pub(super) fn gap_code(gap: &Gap) -> &'static str {
    match gap.cause {
        GapCause::Missing => "order.missing",
        GapCause::Late => "order.late",
        GapCause::Repeated => "order.repeated",
        GapCause::Conflicting => "order.conflicting",
    }
}

/// A number with its noun: `1 file`, `2 files`.
pub(super) fn count(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{} {noun}s", grouped(number)),
    }
}

/// A number with its thousands apart: `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_thousands() {
        let shown: Vec<String> = [0, 7, 999, 1000, 65_536, 10_000_000].into_iter().map(grouped).collect();
        assert_eq!(shown, ["0", "7", "999", "1,000", "65,536", "10,000,000"]);
    }

    #[test]
    fn hidden_characters_are_escaped() {
        assert_eq!(visible("a\x1b[2Jb\nc\u{202e}d\u{9b}e"), "a\\u{1b}[2Jb\\nc\\u{202e}d\\u{9b}e");
        assert!(matches!(visible("plain – schön 日本 👩\u{200d}💻"), Cow::Borrowed(_)));
    }
}
