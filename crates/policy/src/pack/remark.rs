//! Remarks in traces: what must be found at an event, at the end, or when nothing happens.

use lictor_logic::{Arena, Interval, Node, Span, Value};

use super::ExpectedFinding;
use lictor_json::{Json, Number, Text, parse_str};

/// What a remark says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Remark {
    /// Found at the event in this line.
    Here(Vec<ExpectedFinding>),
    /// Found at the end.
    End(Vec<ExpectedFinding>),
    /// Found when nothing happens for so long.
    After(Span, Vec<ExpectedFinding>),
}

/// A line cut into the event and the remark behind it. A `#` inside the JSON belongs to it.
pub(super) fn split(line: &str) -> (&str, &str) {
    let mut in_text = false;
    let mut escaped = false;
    for (place, character) in line.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '#' if !in_text => return line.split_at(place),
            _ => {}
        }
    }
    (line, "")
}

/// Reads the remark behind an event; empty if there is none.
pub(super) fn read(text: &str) -> Result<Vec<Remark>, String> {
    // Several remarks may stand in one line, each with its own `#`; one inside quotes is part of a value.
    let mut remarks = Vec::new();
    let mut rest = text.trim();
    while let Some(inside) = rest.strip_prefix('#') {
        let (one, next) = split(inside);
        remarks.push(remark(one.trim())?);
        rest = next.trim();
    }
    Ok(remarks)
}

fn remark(text: &str) -> Result<Remark, String> {
    if let Some(rest) = text.strip_prefix("end:") {
        return expected(rest.trim()).map(Remark::End);
    }
    if let Some(rest) = text.strip_prefix("after ") {
        let (span, rest) = rest.split_once(':').ok_or("a colon is missing behind the time")?;
        let length = length(span.trim()).ok_or_else(|| format!("`{}` is no length of time", span.trim()))?;
        return expected(rest.trim()).map(|list| Remark::After(length, list));
    }
    expected(text).map(Remark::Here)
}

/// `violated`, `violated p="x"`, `violated: property, other p="x"`.
fn expected(text: &str) -> Result<Vec<ExpectedFinding>, String> {
    let Some(rest) = text.strip_prefix("violated") else {
        return Err(format!("`{text}` is no remark"));
    };
    if let Some(named) = rest.strip_prefix(':') {
        let each = pieces(named).into_iter().map(|piece| {
            let piece = piece.trim();
            let (property, binding) = piece.split_once(char::is_whitespace).unwrap_or((piece, ""));
            if property.is_empty() || property.contains(['=', '"']) {
                return Err(format!("`{piece}` does not name a property"));
            }
            Ok(ExpectedFinding { property: Some(property.into()), binding: bindings(binding)? })
        });
        return each.collect();
    }
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return Err(format!("`{text}` is no remark"));
    }
    Ok(vec![ExpectedFinding { property: None, binding: bindings(rest)? }])
}

/// Cuts at commas that are not in quotes.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut in_text, mut escaped) = (0, false, false);
    for (place, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            ',' if !in_text => {
                pieces.push(text.get(start..place).unwrap_or_default());
                start = place + 1;
            }
            _ => {}
        }
    }
    pieces.push(text.get(start..).unwrap_or_default());
    pieces
}

/// `p="marketing" n=3`.
fn bindings(text: &str) -> Result<Vec<(Text, Value)>, String> {
    let mut bindings = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or_else(|| format!("`{rest}` gives no value: write `p=\"x\"`"))?;
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("`{name}` is no variable"));
        }
        let after = after.trim_start();
        let end = match after.strip_prefix('"') {
            Some(inside) => 1 + closing(inside).ok_or("the quotes are not closed")?,
            None => after.find(char::is_whitespace).unwrap_or(after.len()),
        };
        let (written, more) = after.split_at(end);
        let value = parse_str(written).ok().as_ref().and_then(value);
        let value = value.ok_or_else(|| format!("`{written}` is no value; texts are in double quotes"))?;
        bindings.push((name.into(), value));
        rest = more.trim_start();
    }
    Ok(bindings)
}

/// The place behind the quote that closes a text.
fn closing(inside: &str) -> Option<usize> {
    let mut escaped = false;
    for (place, character) in inside.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(place + 1),
            _ => {}
        }
    }
    None
}

fn value(json: &Json) -> Option<Value> {
    match json {
        Json::Bool(value) => Some(Value::Bool(*value)),
        Json::Number(Number::Integer(value)) => Some(Value::Integer(*value)),
        Json::Number(number) => Value::number(number.as_f64()),
        Json::String(text) => Some(Value::text(text.as_str())),
        _ => None,
    }
}

/// A length of time, as bounds in formulas write it.
fn length(text: &str) -> Option<Span> {
    let mut arena = Arena::new();
    let formula = arena.parse(&format!("F[0,{text}] a")).ok()?;
    match &arena[formula] {
        Node::Unary(_, Interval::Time { to, .. }, _) => *to,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(property: Option<&str>, binding: &[(&str, Value)]) -> ExpectedFinding {
        let binding = binding.iter().map(|(name, value)| (Text::from(*name), value.clone())).collect();
        ExpectedFinding { property: property.map(Text::from), binding }
    }

    #[test]
    fn remark_is_parsed() {
        let text = |text: &str| Value::text(text);
        assert_eq!(read("# violated"), Ok(vec![Remark::Here(vec![one(None, &[])])]));
        assert_eq!(
            read("# violated p=\"a b\" n=3").unwrap(),
            [Remark::Here(vec![one(None, &[("p", text("a b")), ("n", Value::Integer(3))])])]
        );
        assert_eq!(
            read("# violated: cap, gdpr/x p=\"a, b\"").unwrap(),
            [Remark::Here(vec![one(Some("cap"), &[]), one(Some("gdpr/x"), &[("p", text("a, b"))])])]
        );
        assert_eq!(read("# end: violated").unwrap(), [Remark::End(vec![one(None, &[])])]);
        let month = Span(31 * 86_400_000_000_000);
        assert_eq!(read("# after 31d: violated").unwrap(), [Remark::After(month, vec![one(None, &[])])]);
        assert_eq!(read("# violated p=\"#1\" # violated p=\"2\"").unwrap().len(), 2);
        assert_eq!(read(""), Ok(vec![]));
    }

    #[test]
    fn malformed_remark_is_an_error() {
        for text in [
            "# broken",
            "# violatedd",
            "# violated p",
            "# violated p=x",
            "# violated p=\"x",
            "# after 3: violated",
            "# after d: violated",
            "# after 3d violated",
            "# end violated",
            "# violated: ",
            "# violated: p=\"x\"",
        ] {
            assert!(read(text).is_err(), "{text}: {:?}", read(text));
        }
    }

    #[test]
    fn remark_split_ignores_hash_inside_json() {
        assert_eq!(
            split(r#"{"text":"a # violated \" #"} # violated"#),
            (r#"{"text":"a # violated \" #"} "#, "# violated")
        );
    }
}
