//! Plain text, one action a line, as people print what an agent does.
//!
//! Lines may be numbered in any of the usual ways (`3.`, `3)`, `Step 3:`, `Step: 3 Action:`), begin with a bullet, or
//! be set in Markdown; what is left is the action, and the number is its `seq`. Blank lines, rules, fences, headings
//! with `#`, and lines that end in a colon to announce a list are no actions. An action is the n-th such line: numbers
//! may start over within a file.

use super::conversation::Stamp;
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Whether a record is a numbered action. Any text has lines, so a line without a number is no sign of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let action = value.as_str().filter(|line| !line.contains('\n')).and_then(parse_action);
    action.is_some_and(|(number, _)| number.is_some())
}

/// Whether records are clearly a list of actions: most lines are numbered, and the numbers count up.
pub(super) fn is_action_list(records: &[Json]) -> bool {
    let lines = records.iter().filter_map(Json::as_str).filter_map(parse_action);
    let numbers: Vec<Option<i64>> = lines.map(|(number, _)| number).collect();
    let counted: Vec<i64> = numbers.iter().copied().flatten().collect();
    let steps = counted.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    matches!(counted[..], [0 | 1, ..]) && counted.len() * 3 >= numbers.len() * 2 && steps * 3 >= (counted.len() - 1) * 2
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct ActionsDecoder {}

impl Decoder for ActionsDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let Some(text) = record.value.as_str() else {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        };
        let stamp = Stamp::new(&record, None);
        // A file that was not cut into lines comes whole.
        for (line, below) in text.lines().zip(0..) {
            if let Some((number, action)) = parse_action(line) {
                let mut event = stamp.mark(Event::new(Kind::Other(Text::from("action"))));
                event.text = Some(Text::from(action));
                event.seq = number;
                event.source.line += below;
                out.events.push(event);
            }
        }
    }
}

/// Returns the number and the text of an action; none for a line that is no action.
fn parse_action(line: &str) -> Option<(Option<i64>, &str)> {
    let line = line.trim();
    if line.starts_with("```") || line.starts_with('#') || line.chars().all(|mark| "-=*_ ".contains(mark)) {
        return None;
    }
    let (number, rest) = take_number(line);
    let action = strip_marks(rest);
    let announces = number.is_none() && action.ends_with(':');
    (!action.is_empty() && !announces).then_some((number, action))
}

/// Takes the number off a line.
fn take_number(line: &str) -> (Option<i64>, &str) {
    let unstarred = line.trim_start_matches(['*', '_']);
    for word in ["step", "action"] {
        let Some(rest) = strip_word(unstarred, word) else { continue };
        if let (Some(number), rest) = leading_number(rest.trim_start_matches([':', '#', ' '])) {
            let rest = rest.trim_start_matches(['*', '_', '.', ')', ':', '-', ' ']);
            let rest = strip_word(rest, "action").filter(|rest| rest.starts_with(':')).unwrap_or(rest);
            return (Some(number), rest.trim_start_matches([':', ' ']));
        }
    }
    // A bare number is a list's only with a mark after it: "3 apples" is no third line.
    if let (Some(number), rest) = leading_number(line)
        && let Some(rest) = rest.strip_prefix(['.', ')', ':'])
        && !rest.starts_with(|next: char| next.is_ascii_digit())
    {
        return (Some(number), rest);
    }
    (None, line)
}

/// Returns the rest of a line after a word at its beginning, in any case.
fn strip_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = line.split_at_checked(word.len())?;
    (head.eq_ignore_ascii_case(word) && !rest.starts_with(char::is_alphabetic)).then_some(rest)
}

fn leading_number(line: &str) -> (Option<i64>, &str) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at(digits);
    (number.parse().ok(), rest)
}

/// Takes bullets and the marks of Markdown off an action.
fn strip_marks(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let before = text;
        for bullet in ["- ", "* ", "+ ", "• ", "> "] {
            text = text.strip_prefix(bullet).unwrap_or(text).trim_start();
        }
        for mark in ["**", "__", "*", "_", "`"] {
            if let Some(inner) = text.strip_prefix(mark) {
                // The mark may be closed, or only opened.
                text = inner.strip_suffix(mark).unwrap_or(inner).trim();
            }
        }
        if text == before {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse_action;

    #[test]
    fn action_line_loses_number_bullet_and_markdown() {
        let cases = [
            ("1. **LOAD crate1 into a1**  ", Some((Some(1), "LOAD crate1 into a1"))),
            ("2.*DRIVE(van1, l3, to-l1) [Time: 1]", Some((Some(2), "DRIVE(van1, l3, to-l1) [Time: 1]"))),
            ("12) open door", Some((Some(12), "open door"))),
            (" Step 4: go door", Some((Some(4), "go door"))),
            ("Step: 3 Action: take knife", Some((Some(3), "take knife"))),
            ("**Step 7**: `ls -la`", Some((Some(7), "ls -la"))),
            ("Step 62: 0", Some((Some(62), "0"))),
            ("- go north", Some((None, "go north"))),
            ("go north", Some((None, "go north"))),
            ("3 apples", Some((None, "3 apples"))),
            ("3.5 litres poured", Some((None, "3.5 litres poured"))),
            ("stepladder up", Some((None, "stepladder up"))),
            ("say: yes", Some((None, "say: yes"))),
            ("Step 5: prepare meal:", Some((Some(5), "prepare meal:"))),
            ("Here is the plan:", None),
            ("## Plan", None),
            ("```", None),
            ("---", None),
            ("   ", None),
            ("4.", None),
        ];
        for (line, action) in cases {
            assert_eq!(parse_action(line), action, "{line}");
        }
    }
}
