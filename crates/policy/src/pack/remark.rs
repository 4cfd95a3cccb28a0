//! Remarks in traces: the findings expected at an event, at the end, or after a time without events.

use lictor_logic::{Arena, Interval, Node, Span, Value};

use super::ExpectedFinding;
use lictor_json::{Json, Number, Text, parse_str};

/// A remark.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Remark {
    /// Found at the event in this line.
    Here(Vec<ExpectedFinding>),
    /// Found at the end.
    End(Vec<ExpectedFinding>),
    /// Found after this much time without events.
    After(Span, Vec<ExpectedFinding>),
}

/// Splits a line into the event and the remark after it. A `#` inside the JSON belongs to the event.
pub(super) fn split_remark(line: &str) -> (&str, &str) {
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

/// Parses the remarks after an event; empty if there is none.
pub(super) fn parse_remarks(text: &str) -> Result<Vec<Remark>, String> {
    // A line may have several remarks, each with its own `#`; one inside quotes is part of a value.
    let mut remarks = Vec::new();
    let mut rest = text.trim();
    while let Some(inside) = rest.strip_prefix('#') {
        let (one, next) = split_remark(inside);
        remarks.push(parse_remark(one.trim())?);
        rest = next.trim();
    }
    Ok(remarks)
}

fn parse_remark(text: &str) -> Result<Remark, String> {
    if let Some(rest) = text.strip_prefix("end:") {
        return parse_expected(rest.trim()).map(Remark::End);
    }
    if let Some(rest) = text.strip_prefix("after ") {
        let (span, rest) = rest.split_once(':').ok_or("a colon is missing after the time")?;
        let length = parse_span(span.trim()).ok_or_else(|| format!("`{}` is not a duration", span.trim()))?;
        return parse_expected(rest.trim()).map(|list| Remark::After(length, list));
    }
    parse_expected(text).map(Remark::Here)
}

/// Parses `violated`, `violated p="x"`, `violated: property, other p="x"`.
fn parse_expected(text: &str) -> Result<Vec<ExpectedFinding>, String> {
    let Some(rest) = text.strip_prefix("violated") else {
        return Err(format!("`{text}` is not a remark"));
    };
    if let Some(named) = rest.strip_prefix(':') {
        let each = split_at_commas(named).into_iter().map(|piece| {
            let piece = piece.trim();
            let (property, binding) = piece.split_once(char::is_whitespace).unwrap_or((piece, ""));
            if property.is_empty() || property.contains(['=', '"']) {
                return Err(format!("`{piece}` does not name a property"));
            }
            Ok(ExpectedFinding { property: Some(property.into()), binding: parse_bindings(binding)? })
        });
        return each.collect();
    }
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return Err(format!("`{text}` is not a remark"));
    }
    Ok(vec![ExpectedFinding { property: None, binding: parse_bindings(rest)? }])
}

/// Cuts at commas that are not in quotes.
fn split_at_commas(text: &str) -> Vec<&str> {
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

/// Parses `p="marketing" n=3`.
fn parse_bindings(text: &str) -> Result<Vec<(Text, Value)>, String> {
    let mut bindings = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or_else(|| {
            format!("`{rest}` gives no value: write `p=\"x\"`, or a property with a colon: `violated: {rest}`")
        })?;
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("`{name}` is not a variable"));
        }
        let after = after.trim_start();
        let end = match after.strip_prefix('"') {
            Some(inside) => 1 + find_closing_quote(inside).ok_or("the quotes are not closed")?,
            None => after.find(char::is_whitespace).unwrap_or(after.len()),
        };
        let (written, more) = after.split_at(end);
        let value = parse_str(written).ok().as_ref().and_then(to_value);
        let value = value.ok_or_else(|| format!("`{written}` is not a value; texts are in double quotes"))?;
        bindings.push((name.into(), value));
        rest = more.trim_start();
    }
    Ok(bindings)
}

/// Returns the offset after the quote that closes a text.
fn find_closing_quote(inside: &str) -> Option<usize> {
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

fn to_value(json: &Json) -> Option<Value> {
    match json {
        Json::Bool(value) => Some(Value::Bool(*value)),
        Json::Number(Number::Integer(value)) => Some(Value::Integer(*value)),
        Json::Number(number) => Value::number(number.as_f64()),
        Json::String(text) => Some(Value::text(text.as_str())),
        _ => None,
    }
}

/// Parses a length of time, as bounds in formulas write it.
fn parse_span(text: &str) -> Option<Span> {
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
        assert_eq!(parse_remarks("# violated"), Ok(vec![Remark::Here(vec![one(None, &[])])]));
        assert_eq!(
            parse_remarks("# violated p=\"a b\" n=3").unwrap(),
            [Remark::Here(vec![one(None, &[("p", text("a b")), ("n", Value::Integer(3))])])]
        );
        assert_eq!(
            parse_remarks("# violated: cap, gdpr/x p=\"a, b\"").unwrap(),
            [Remark::Here(vec![one(Some("cap"), &[]), one(Some("gdpr/x"), &[("p", text("a, b"))])])]
        );
        assert_eq!(parse_remarks("# end: violated").unwrap(), [Remark::End(vec![one(None, &[])])]);
        let month = Span(31 * 86_400_000_000_000);
        assert_eq!(parse_remarks("# after 31d: violated").unwrap(), [Remark::After(month, vec![one(None, &[])])]);
        assert_eq!(parse_remarks("# violated p=\"#1\" # violated p=\"2\"").unwrap().len(), 2);
        assert_eq!(parse_remarks(""), Ok(vec![]));
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
            assert!(parse_remarks(text).is_err(), "{text}: {:?}", parse_remarks(text));
        }
    }

    #[test]
    fn remark_split_ignores_hash_inside_json() {
        assert_eq!(
            split_remark(r#"{"text":"a # violated \" #"} # violated"#),
            (r#"{"text":"a # violated \" #"} "#, "# violated")
        );
    }
}
