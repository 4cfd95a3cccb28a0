//! Logs: one event a line, in the notation of Dogwood.
//!
//! ```text
//! @12 scope(principal: A::User::"eve", resource: A::Shop::"s") request_context(input: { n: 1 }) A::Action::"Pay"::request(input: { n: 1 })
//! ```
//!
//! The notation is read as its own reader reads it, which takes a word it does not know for a text.

use super::lexer::closing_quote;
use super::refusal::{At, ENTITIES, Refused, SYNTAX, TIME, refused};
use super::syntax::Entity;
use super::value::{Record, Value};

/// How deep values may nest.
const DEEPEST: usize = 128;

/// The latest time that our clock of nanoseconds can tell, in seconds; the earliest is its opposite.
const LATEST: i64 = 9_000_000_000;

/// One line of a log.
#[derive(Clone, Debug)]
pub(super) struct Happened {
    pub(super) at: At,
    /// In seconds.
    pub(super) time: i64,
    pub(super) principal: Option<Value>,
    pub(super) resource: Option<Value>,
    /// What the request says; only the decision about it sees that.
    pub(super) context: Record,
    pub(super) action: Entity,
    pub(super) kind: String,
    /// What is kept of the event, for later decisions.
    pub(super) logged: Record,
}

/// Reads a log; times never go back in one.
pub(super) fn log(file: usize, text: &str) -> Result<Vec<Happened>, Refused> {
    let mut found: Vec<Happened> = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let at = At { file, offset };
        offset += line.len();
        if line.trim().is_empty() {
            continue;
        }
        let event = event(at, line.trim())?;
        if found.last().is_some_and(|before| before.time > event.time) {
            return Err(refused(at, TIME, "this event is earlier than the one before it")
                .hint("put the events in the order of their times"));
        }
        found.push(event);
    }
    Ok(found)
}

fn event(at: At, line: &str) -> Result<Happened, Refused> {
    let wrong = |message: &str| refused(at, SYNTAX, message);
    let (time, rest) = line
        .strip_prefix('@')
        .and_then(|rest| rest.split_once(char::is_whitespace))
        .ok_or_else(|| wrong("an event begins with `@`, its time in seconds, and a space"))?;
    let time: i64 = time.parse().map_err(|_| wrong("the time is no whole number of seconds"))?;
    if !(0..=LATEST).contains(&time) {
        return Err(refused(at, TIME, format!("the time is before 0 or beyond {LATEST} seconds")));
    }
    let mut rest = rest.trim();
    let mut scope = Record::new();
    if let Some(inside) = rest.strip_prefix("scope(") {
        let (inner, behind) = inside.split_once(')').ok_or_else(|| wrong("`scope(` is not closed"))?;
        scope = members(at, inner, 0)?;
        rest = behind.trim();
    }
    if let Some(inside) = rest.strip_prefix("entities(") {
        let close = closing(inside).ok_or_else(|| wrong("`entities(` is not closed"))?;
        if !inside[..close].trim().is_empty() {
            return Err(refused(at, ENTITIES, "the event brings entities with attributes or parents")
                .hint("have what the policy asks of them written into the context of the request"));
        }
        rest = inside[close + 1..].trim();
    }
    let mut context = Record::new();
    if let Some(inside) = rest.strip_prefix("request_context(") {
        let close = closing(inside).ok_or_else(|| wrong("`request_context(` is not closed"))?;
        context = members(at, &inside[..close], 0)?;
        rest = inside[close + 1..].trim();
    }
    let (head, fields) = rest
        .split_once('(')
        .and_then(|(head, inside)| Some((head.trim(), &inside[..inside.rfind(')')?])))
        .ok_or_else(|| wrong("the event has no `(` … `)` with its fields"))?;
    let (action, kind) =
        name(head).ok_or_else(|| wrong("the event is not named as `Namespace::Action::\"Id\"::kind`"))?;
    let logged = members(at, fields, 0)?;
    let (principal, resource) = (scope.remove("principal"), scope.remove("resource"));
    Ok(Happened { at, time, principal, resource, context, action, kind, logged })
}

/// `A::Action::"Pay"::request`: the action and the kind.
fn name(head: &str) -> Option<(Entity, String)> {
    let (kind, behind) = head.split_once("::\"")?;
    let close = closing_quote(behind)?;
    let event = behind[close + 1..].trim().strip_prefix("::")?.trim();
    let action = Entity { kind: kind.to_owned(), id: unescaped(&behind[..close]) };
    (!event.is_empty()).then(|| (action, event.to_owned()))
}

/// `a: 1, b: 2`.
fn members(at: At, text: &str, depth: usize) -> Result<Record, Refused> {
    let mut found = Record::new();
    for part in split(text, ',') {
        if part.trim().is_empty() {
            continue;
        }
        let parts = split(part, ':');
        let name = parts.first().copied().unwrap_or_default();
        let value = part.get(name.len() + 1..).filter(|_| parts.len() > 1);
        let value = value.ok_or_else(|| refused(at, SYNTAX, format!("`{}` has no `:` and no value", part.trim())))?;
        let name = unquoted(name.trim());
        if found.insert(name.clone(), self::value(at, value.trim(), depth)?).is_some() {
            return Err(refused(at, SYNTAX, format!("the field `{name}` stands there twice")));
        }
    }
    Ok(found)
}

fn value(at: At, text: &str, depth: usize) -> Result<Value, Refused> {
    if depth > DEEPEST {
        return Err(refused(at, SYNTAX, format!("a value nests deeper than {DEEPEST} levels")));
    }
    let inside = |open: char, close: char| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    Ok(match text {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => {
            if let Some(inner) = inside('[', ']') {
                let parts = split(inner, ',').into_iter().map(str::trim).filter(|part| !part.is_empty());
                Value::List(parts.map(|part| value(at, part, depth + 1)).collect::<Result<_, _>>()?)
            } else if let Some(inner) = inside('{', '}') {
                Value::Record(members(at, inner, depth + 1)?)
            } else if let Some(entity) = entity(text) {
                Value::Entity(entity)
            } else if text.len() >= 2 && text.starts_with('"') && text.ends_with('"') {
                Value::Text(unquoted(text))
            } else if let Ok(number) = text.parse() {
                Value::Long(number)
            } else if text.contains('.') && text.parse::<f64>().is_ok() {
                Value::Decimal(text.to_owned())
            } else {
                Value::Text(text.to_owned())
            }
        }
    })
}

/// `A::User::"eve"`, if the quote that opens behind a `::` closes at the end.
fn entity(text: &str) -> Option<Entity> {
    text.match_indices("::\"").find_map(|(place, opening)| {
        let id = &text[place + opening.len()..];
        let close = closing_quote(id)?;
        (close + 1 == id.len()).then(|| Entity { kind: text[..place].to_owned(), id: unescaped(&id[..close]) })
    })
}

/// Walks over a text and tells for each character whether it stands outside of quotes, and how deep in brackets.
fn outside(text: &str) -> impl Iterator<Item = (usize, char, i32)> + '_ {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    text.char_indices().filter_map(move |(place, character)| {
        if quoted {
            quoted = character != '"' || escaped;
            escaped = character == '\\' && !escaped;
            return None;
        }
        match character {
            '"' => quoted = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        Some((place, character, depth))
    })
}

/// The parts between separators that stand in no brackets and no quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for (place, character, depth) in outside(text) {
        if character == separator && depth == 0 {
            parts.push(&text[begin..place]);
            begin = place + character.len_utf8();
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Where the parenthesis closes that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    outside(text).find(|(_, character, depth)| *character == ')' && *depth == -1).map(|(place, ..)| place)
}

fn unquoted(text: &str) -> String {
    unescaped(text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text))
}

/// Reads escapes; unlike in a policy, one that means nothing stands for itself.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, behind)) = rest.split_once('\\') {
        text.push_str(before);
        let mut characters = behind.chars();
        let plain = match characters.next() {
            Some('"') => Some('"'),
            Some('\\') => Some('\\'),
            Some('\'') => Some('\''),
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('0') => Some('\0'),
            _ => None,
        };
        if let Some(plain) = plain {
            text.push(plain);
            rest = characters.as_str();
        } else if let Some((character, length)) = coded(behind) {
            text.push(character);
            rest = &behind[length..];
        } else {
            text.push('\\');
            rest = behind;
        }
    }
    text.push_str(rest);
    text
}

/// A character by its code, `x41` or `u{41}`, and how long that is.
fn coded(text: &str) -> Option<(char, usize)> {
    if let Some(digits) = text.strip_prefix('x') {
        let length = digits.bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
        let code = u32::from_str_radix(digits.get(..length)?, 16).ok()?;
        return Some((char::from_u32(code)?, 1 + length));
    }
    let digits = text.strip_prefix("u{")?;
    let length = digits.find('}')?;
    let digits = digits.get(..length).filter(|digits| !digits.starts_with('_'))?;
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    Some((char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?, length + 3))
}
