//! Traces as they are written in cases: `@5s p consent("alice") ?q`, `tick @30s`.

use lictor_logic::{Atom, Fact, Facts, Span, Term, Time, Value};

use crate::trace::Entry;

/// Reads one entry.
pub(crate) fn read(text: &str) -> Entry {
    let words = split(text, |c| c == ',' || c.is_whitespace());
    if let [first, moment] = &words[..]
        && first == "tick"
        && let Some(moment) = moment.strip_prefix('@')
    {
        return Entry::Tick(read_time(moment));
    }
    let mut facts = Facts::default();
    for word in &words {
        if let Some(moment) = word.strip_prefix('@') {
            facts.time = Some(read_time(moment));
        } else if let Some(unknown) = word.strip_prefix('?') {
            let (name, arguments) = read_call(unknown);
            let terms: Vec<Term> = arguments
                .iter()
                .map(|text| if text == "_" { Term::Any } else { Term::Value(read_value(text)) })
                .collect();
            facts.unknown.push(Atom::new(name, terms));
        } else {
            let (name, arguments) = read_call(word);
            let values: Vec<Value> = arguments.iter().map(|text| read_value(text)).collect();
            facts.known.push(Fact::new(name, values));
        }
    }
    Entry::Position(facts)
}

/// Splits at separators outside of quotes and brackets, without empty pieces.
fn split(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<String> {
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for character in text.chars() {
        if depth == 0 && !quoted && is_separator(character) {
            pieces.push(std::mem::take(&mut piece));
            continue;
        }
        piece.push(character);
        match character {
            '"' if !escaped => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        escaped = quoted && character == '\\' && !escaped;
    }
    pieces.push(piece);
    pieces.iter().map(|piece| piece.trim().to_owned()).filter(|piece| !piece.is_empty()).collect()
}

fn read_call(text: &str) -> (&str, Vec<String>) {
    match text.split_once('(') {
        None => (text, Vec::new()),
        Some((name, rest)) => {
            let inner = rest.strip_suffix(')').unwrap_or_else(|| panic!("`{text}` lacks its closing bracket"));
            (name, split(inner, |c| c == ','))
        }
    }
}

fn read_value(text: &str) -> Value {
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Value::text(inner.replace("\\\"", "\"").replace("\\\\", "\\"));
    }
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match text.parse::<i64>() {
            Ok(integer) => Value::Integer(integer),
            Err(_) => text.parse().ok().and_then(Value::number).unwrap_or_else(|| panic!("`{text}` is not a value")),
        },
    }
}

/// Reads `90s`, `1m30s` or `250ms` after the origin.
fn read_time(text: &str) -> Time {
    let (mut total, mut rest) = (0, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let size = Span::UNITS.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size);
        match (number.parse::<u64>(), size) {
            (Ok(number), Some(size)) => total += number * size,
            _ => panic!("`@{text}` is not a time"),
        }
        rest = after;
    }
    Time(total as i64)
}
