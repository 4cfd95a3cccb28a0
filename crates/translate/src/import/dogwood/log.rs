//! Logs: one event a line, in the notation of Dogwood.
//!
//! ```text
//! @12 scope(principal: A::User::"eve", resource: A::Shop::"s") request_context(input: { n: 1 }) A::Action::"Pay"::request(input: { n: 1 })
//! ```
//!
//! The notation is read as its own reader reads it, which takes a word it does not know for a text.

use super::lexer::find_closing_quote;
use super::refusal::{ENTITIES, Location, Refusal, SYNTAX, TIME, refuse};
use super::syntax::Entity;
use super::value::{Record, Value};

/// How many levels deep values may nest.
const MAX_VALUE_DEPTH: usize = 128;

/// The latest time that our clock of nanoseconds holds, in seconds; the earliest is its opposite.
const MAX_TIME_SECONDS: i64 = 9_000_000_000;

/// One line of a log.
#[derive(Clone, Debug)]
pub(super) struct LogEvent {
    pub(super) at: Location,
    /// In seconds.
    pub(super) time: i64,
    pub(super) principal: Option<Value>,
    pub(super) resource: Option<Value>,
    /// The context of the request; only its own decision sees it.
    pub(super) context: Record,
    pub(super) action: Entity,
    pub(super) kind: String,
    /// The fields that later decisions see.
    pub(super) logged: Record,
}

/// Reads a log; times never go back in one.
pub(super) fn read_log(file: usize, text: &str) -> Result<Vec<LogEvent>, Refusal> {
    let mut found: Vec<LogEvent> = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let at = Location { file, offset };
        offset += line.len();
        if line.trim().is_empty() {
            continue;
        }
        let event = read_event(at, line.trim())?;
        if found.last().is_some_and(|before| before.time > event.time) {
            return Err(refuse(at, TIME, "this event is earlier than the one before it")
                .with_hint("put the events in the order of their times"));
        }
        found.push(event);
    }
    Ok(found)
}

fn read_event(at: Location, line: &str) -> Result<LogEvent, Refusal> {
    let wrong = |message: &str| refuse(at, SYNTAX, message);
    let (time, rest) = line
        .strip_prefix('@')
        .and_then(|rest| rest.split_once(char::is_whitespace))
        .ok_or_else(|| wrong("an event begins with `@`, its time in seconds, and a space"))?;
    let time: i64 = time.parse().map_err(|_| wrong("the time is not a whole number of seconds"))?;
    if !(0..=MAX_TIME_SECONDS).contains(&time) {
        return Err(refuse(at, TIME, format!("the time {time} is not between 0 and {MAX_TIME_SECONDS} seconds")));
    }
    let mut rest = rest.trim();
    let mut scope = Record::new();
    if let Some(inside) = rest.strip_prefix("scope(") {
        let (inner, after) = inside.split_once(')').ok_or_else(|| wrong("`scope(` is not closed"))?;
        scope = read_members(at, inner, 0)?;
        rest = after.trim();
    }
    if let Some(inside) = rest.strip_prefix("entities(") {
        let close = find_closing(inside).ok_or_else(|| wrong("`entities(` is not closed"))?;
        if !inside[..close].trim().is_empty() {
            return Err(refuse(at, ENTITIES, "the event brings entities with attributes or parents")
                .with_hint("have what the policy asks of them written into the context of the request"));
        }
        rest = inside[close + 1..].trim();
    }
    let mut context = Record::new();
    if let Some(inside) = rest.strip_prefix("request_context(") {
        let close = find_closing(inside).ok_or_else(|| wrong("`request_context(` is not closed"))?;
        context = read_members(at, &inside[..close], 0)?;
        rest = inside[close + 1..].trim();
    }
    let (head, fields) = rest
        .split_once('(')
        .and_then(|(head, inside)| Some((head.trim(), &inside[..inside.rfind(')')?])))
        .ok_or_else(|| wrong("the event has no `(` … `)` with its fields"))?;
    let (action, kind) =
        read_name(head).ok_or_else(|| wrong("the event is not named as `Namespace::Action::\"Id\"::kind`"))?;
    let logged = read_members(at, fields, 0)?;
    let (principal, resource) = (scope.remove("principal"), scope.remove("resource"));
    Ok(LogEvent { at, time, principal, resource, context, action, kind, logged })
}

/// `A::Action::"Pay"::request`: the action and the kind.
fn read_name(head: &str) -> Option<(Entity, String)> {
    let (kind, after) = head.split_once("::\"")?;
    let close = find_closing_quote(after)?;
    let event = after[close + 1..].trim().strip_prefix("::")?.trim();
    let action = Entity { kind: kind.to_owned(), id: unescape_lenient(&after[..close]) };
    (!event.is_empty()).then(|| (action, event.to_owned()))
}

/// `a: 1, b: 2`.
fn read_members(at: Location, text: &str, depth: usize) -> Result<Record, Refusal> {
    let mut found = Record::new();
    for part in split_outside(text, ',') {
        if part.trim().is_empty() {
            continue;
        }
        let parts = split_outside(part, ':');
        let name = parts.first().copied().unwrap_or_default();
        let value = part.get(name.len() + 1..).filter(|_| parts.len() > 1);
        let value = value.ok_or_else(|| refuse(at, SYNTAX, format!("`{}` has no `:` and no value", part.trim())))?;
        let name = unquote(name.trim());
        if found.insert(name.clone(), read_value(at, value.trim(), depth)?).is_some() {
            return Err(refuse(at, SYNTAX, format!("duplicate field `{name}`")));
        }
    }
    Ok(found)
}

fn read_value(at: Location, text: &str, depth: usize) -> Result<Value, Refusal> {
    if depth > MAX_VALUE_DEPTH {
        return Err(refuse(at, SYNTAX, format!("a value nests deeper than {MAX_VALUE_DEPTH} levels")));
    }
    let inside = |open: char, close: char| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    Ok(match text {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => {
            if let Some(inner) = inside('[', ']') {
                let parts = split_outside(inner, ',').into_iter().map(str::trim).filter(|part| !part.is_empty());
                Value::List(parts.map(|part| read_value(at, part, depth + 1)).collect::<Result<_, _>>()?)
            } else if let Some(inner) = inside('{', '}') {
                Value::Record(read_members(at, inner, depth + 1)?)
            } else if let Some(entity) = read_entity(text) {
                Value::Entity(entity)
            } else if text.len() >= 2 && text.starts_with('"') && text.ends_with('"') {
                Value::Text(unquote(text))
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

/// `A::User::"eve"`, if the quote that opens after a `::` closes at the end.
fn read_entity(text: &str) -> Option<Entity> {
    text.match_indices("::\"").find_map(|(place, opening)| {
        let id = &text[place + opening.len()..];
        let close = find_closing_quote(id)?;
        (close + 1 == id.len()).then(|| Entity { kind: text[..place].to_owned(), id: unescape_lenient(&id[..close]) })
    })
}

/// Returns each character of a text outside quotes, with its depth in brackets.
fn scan_outside(text: &str) -> impl Iterator<Item = (usize, char, i32)> + '_ {
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

/// Returns the parts between separators outside brackets and quotes.
fn split_outside(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for (place, character, depth) in scan_outside(text) {
        if character == separator && depth == 0 {
            parts.push(&text[begin..place]);
            begin = place + character.len_utf8();
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Returns where the parenthesis closes that was opened before the text.
fn find_closing(text: &str) -> Option<usize> {
    scan_outside(text).find(|(_, character, depth)| *character == ')' && *depth == -1).map(|(place, ..)| place)
}

fn unquote(text: &str) -> String {
    unescape_lenient(text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text))
}

/// Decodes escapes; unlike in a policy, an invalid one is kept as it is.
fn unescape_lenient(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let mut characters = after.chars();
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
        } else if let Some((character, length)) = decode_code(after) {
            text.push(character);
            rest = &after[length..];
        } else {
            text.push('\\');
            rest = after;
        }
    }
    text.push_str(rest);
    text
}

/// Returns a character by its code, `x41` or `u{41}`, and how long that is.
fn decode_code(text: &str) -> Option<(char, usize)> {
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
