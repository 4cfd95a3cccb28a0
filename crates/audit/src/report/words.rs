//! Wording that all report formats share.

use std::borrow::Cow;
use std::fmt::Write;

use super::SessionReport;
use lictor_event::order::{Gap, GapCause};
use lictor_judge::finding::values;
use lictor_judge::finding::{DecidedBy, Finding, WitnessEvent};

/// Escapes the characters of a text that neither a person nor a terminal shows as themselves: control characters, line
/// breaks, bidirectional controls and zero-width characters.
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
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

/// Describes an event: `tool_call send_email`.
pub(super) fn describe_event(kind: &str, tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("{} {}", escape_hidden(kind), escape_hidden(tool)),
        None => escape_hidden(kind).into_owned(),
    }
}

/// Describes when a finding was decided: `step 9`.
pub(super) fn describe_occasion(finding: &Finding) -> String {
    let step = finding.step;
    match finding.decided {
        DecidedBy::Event => format!("step {step}"),
        DecidedBy::Deadline => format!("a deadline passed by step {step}"),
        DecidedBy::End => format!("the session ended after step {step}"),
    }
}

/// Describes when a finding was decided and by which event: `step 9: tool_call send_email`.
pub(super) fn describe_moment(finding: &Finding) -> String {
    format!("{}: {}", describe_occasion(finding), describe_event(finding.kind.name(), finding.tool.as_deref()))
}

/// Formats a place in a log: `shop.jsonl:9`; without a line where there is none.
pub(super) fn format_place(file: &str, line: u32) -> String {
    match line {
        0 => escape_hidden(file).into_owned(),
        line => format!("{}:{line}", escape_hidden(file)),
    }
}

/// Formats the values of a finding: `p = "marketing", x = 3`; `p = "ads" or "news"` for several. Empty if it has none.
pub(super) fn format_binding(finding: &Finding) -> String {
    let names = values(&finding.binding).into_iter().map(|(name, values)| {
        let values: Vec<String> = values.iter().map(|value| escape_hidden(&value.to_string()).into_owned()).collect();
        format!("{} = {}", escape_hidden(name), values.join(" or "))
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Describes what a witness proves, in lines: the facts that hold, those that are absent, the content.
pub(super) fn describe_proof(proof: &WitnessEvent) -> Vec<String> {
    let present = proof.present.iter().map(|fact| format!("holds: {}", escape_hidden(fact)));
    let absent = proof.absent.iter().map(|fact| format!("absent: {}", escape_hidden(fact)));
    let content = proof.content.iter().map(|content| format!("content: {}", escape_hidden(content)));
    present.chain(absent).chain(content).collect()
}

/// Whether the event of a witness is the one that decided.
pub(super) fn is_deciding(finding: &Finding, proof: &WitnessEvent) -> bool {
    finding.decided != DecidedBy::End && proof.session.is_none() && proof.step == finding.step
}

/// Describes the step of a witness: `step 9`, or `step 2 of session s1` if it is of another session than the finding.
pub(super) fn describe_step(proof: &WitnessEvent) -> String {
    match &proof.session {
        Some(session) => format!("step {} of session {}", proof.step, escape_hidden(session)),
        None => format!("step {}", proof.step),
    }
}

/// Describes a gap: `session s1: gap: events 17 to 19 are missing`.
pub(super) fn describe_gap(session: &SessionReport, gap: &Gap) -> String {
    format!("session {}: {gap}", escape_hidden(&session.name))
}

/// Returns the code of a gap, for programs.
pub(super) fn gap_code(gap: &Gap) -> &'static str {
    match gap.cause {
        GapCause::Missing => "order.missing",
        GapCause::Late => "order.late",
        GapCause::Repeated => "order.repeated",
        GapCause::Conflicting => "order.conflicting",
    }
}

/// Returns a text that begins like a sentence.
pub(super) fn capitalize(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Formats a number with its noun: `1 file`, `2 files`.
pub(super) fn format_count(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{} {noun}s", group_digits(number)),
    }
}

/// Returns a number with its thousands apart: `12,345`.
pub(super) fn group_digits(number: u64) -> String {
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
        let shown: Vec<String> = [0, 7, 999, 1000, 65_536, 10_000_000].into_iter().map(group_digits).collect();
        assert_eq!(shown, ["0", "7", "999", "1,000", "65,536", "10,000,000"]);
    }

    #[test]
    fn hidden_characters_are_escaped() {
        assert_eq!(escape_hidden("a\x1b[2Jb\nc\u{202e}d\u{9b}e"), "a\\u{1b}[2Jb\\nc\\u{202e}d\\u{9b}e");
        assert!(matches!(escape_hidden("plain – schön 日本 👩\u{200d}💻"), Cow::Borrowed(_)));
    }
}
