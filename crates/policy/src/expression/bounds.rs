//! Limits on the size of an expression, checked before it is parsed.
//!
//! The parser recurses on brackets and what reads its tree recurses on chains of operators, so both are bounded here:
//! no text can make them run out of stack. What counts as a string or a comment here is what the parser's lexer takes
//! for one; where that is in doubt, as in a string without an end, the text is refused.

use super::error::ExpressionError;

/// The longest expression, in bytes.
const MAX_EXPRESSION_BYTES: usize = 16 * 1024;

/// The deepest nesting of brackets.
pub(super) const MAX_BRACKET_DEPTH: usize = 32;

/// The longest chain of operators, as in `a + b + c`, or `a.b.c`.
pub(super) const MAX_CHAINED_OPERATORS: usize = 200;

/// A bracket that is still open.
struct OpenBracket {
    bracket: u8,
    offset: usize,
    /// Operators since the last comma, `&&` or `||`.
    operators: usize,
    /// Parts of conditionals since the last comma; these nest also across `&&` and `||`.
    conditionals: usize,
}

/// Refuses a text that is too large, or whose brackets or strings have no end.
pub(super) fn check_bounds(source: &str) -> Result<(), ExpressionError> {
    if source.len() > MAX_EXPRESSION_BYTES {
        let message = format!("expression of {} bytes is over the limit of {MAX_EXPRESSION_BYTES} bytes", source.len());
        return Err(ExpressionError::new(0, message).hint("put long lists into a table of the policy"));
    }
    let bytes = source.as_bytes();
    let mut open = vec![OpenBracket { bracket: 0, offset: 0, operators: 0, conditionals: 0 }];
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let mut width = 1;
        match byte {
            b'/' if next == Some(b'/') => {
                width = bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at);
            }
            b'"' | b'\'' => width = string_length(bytes, at, false)?,
            b'`' => width = quoted_name_length(&bytes[at + 1..]).map_or(1, |length| length + 2),
            b'(' | b'[' | b'{' => {
                if open.len() > MAX_BRACKET_DEPTH {
                    let message = format!("brackets are nested deeper than {MAX_BRACKET_DEPTH} levels");
                    return Err(ExpressionError::new(at, message).hint("split the condition into several facts"));
                }
                open.push(OpenBracket { bracket: byte, offset: at, operators: 1, conditionals: 0 });
            }
            b')' | b']' | b'}' => close_bracket(&mut open, byte, at)?,
            _ => {}
        }
        if let Some(level) = open.last_mut() {
            match byte {
                b',' => (level.operators, level.conditionals) = (0, 0),
                b'&' | b'|' => level.operators = 0,
                b'?' | b':' => level.conditionals += 1,
                b'.' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' if width == 1 => {
                    // `<=` and its like are one operator.
                    width = if next == Some(b'=') && byte != b'.' { 2 } else { 1 };
                    level.operators += 1;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    width = bytes[at..].iter().position(|&byte| !is_word(byte)).unwrap_or(bytes.len() - at);
                    let word = &bytes[at..at + width];
                    let quote = bytes.get(at + width).is_some_and(|&byte| byte == b'"' || byte == b'\'');
                    if word == b"in" {
                        level.operators += 1;
                    } else if quote && matches!(word, b"r" | b"R" | b"br" | b"bR" | b"Br" | b"BR") {
                        width += string_length(bytes, at + width, true)?;
                    }
                }
                _ => {}
            }
        }
        if open.iter().map(|level| level.operators + level.conditionals).sum::<usize>() > MAX_CHAINED_OPERATORS {
            let message = format!("more than {MAX_CHAINED_OPERATORS} operators depend on one another");
            return Err(ExpressionError::new(at, message).hint("split the condition into several facts"));
        }
        at += width;
    }
    match open.pop() {
        Some(OpenBracket { bracket, offset, .. }) if bracket != 0 => {
            Err(ExpressionError::new(offset, format!("`{}` is never closed", char::from(bracket))))
        }
        _ => Ok(()),
    }
}

fn close_bracket(open: &mut Vec<OpenBracket>, byte: u8, at: usize) -> Result<(), ExpressionError> {
    let wanted = match byte {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    };
    match open.last() {
        Some(level) if level.bracket == wanted => {
            open.pop();
            // A call or an index is one more link of its chain.
            if let Some(level) = open.last_mut() {
                level.operators += 1;
            }
            Ok(())
        }
        _ => Err(ExpressionError::new(at, format!("unmatched `{}`", char::from(byte)))),
    }
}

/// Returns the length of the string literal that begins here, with its quotes.
fn string_length(bytes: &[u8], at: usize, raw: bool) -> Result<usize, ExpressionError> {
    let quote = bytes[at];
    let triple = bytes.len() >= at + 3 && bytes[at..at + 3].iter().all(|&byte| byte == quote);
    let (mut end, closing) = if triple { (at + 3, 3) } else { (at + 1, 1) };
    while let Some(&byte) = bytes.get(end) {
        if byte == b'\\' && !raw {
            end += escape_length(&bytes[end + 1..]).ok_or_else(|| {
                ExpressionError::new(end, "unknown escape sequence").hint("write `\\\\` for a backslash")
            })?;
        } else if bytes[end..].len() >= closing && bytes[end..end + closing].iter().all(|&byte| byte == quote) {
            return Ok(end + closing - at);
        } else if !triple && matches!(byte, b'\n' | b'\r') {
            break;
        } else {
            end += 1;
        }
    }
    Err(ExpressionError::new(at, "the text has no closing quote"))
}

/// Returns the length of an escape sequence, given without its backslash.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    let digits = |count: usize| {
        bytes.get(1..=count).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)).then_some(count + 2)
    };
    match bytes.first()? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'\\' | b'\'' | b'"' | b'`' | b'?' => Some(2),
        b'x' | b'X' => digits(2),
        b'u' => digits(4),
        b'U' => digits(8),
        b'0'..=b'3' => bytes.get(1..3)?.iter().all(|byte| (b'0'..=b'7').contains(byte)).then_some(4),
        _ => None,
    }
}

/// Returns the length of a name in backquotes up to the closing one, if it is one.
fn quoted_name_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.iter().position(|&byte| byte == b'`')?;
    let is_plain = |byte: &u8| is_word(*byte) || matches!(byte, b'.' | b'-' | b'/' | b' ');
    (length > 0 && bytes[..length].iter().all(is_plain)).then_some(length)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::check_bounds;

    #[test]
    fn expression_bounds_accept_small_closed_text() {
        let long_list = format!("x in [{}]", vec!["'abc'"; 1000].join(", "));
        let long_condition = vec!["args.a.b > 1"; 500].join(" && ");
        let cases = [
            "a.b + 1 > 2",
            "'(' + \"[\" == r'\\'",
            "'''a ' b'''",
            "\"it's\" // a comment with (",
            "br'\\' == R\"\\\"",
            "a.`b-c/d e`",
            r#"'\x41\u00e9\U0001f431\101\n\''"#,
            &long_list,
            &long_condition,
        ];
        for case in cases {
            assert_eq!(check_bounds(case), Ok(()), "{case}");
        }
    }

    #[test]
    fn expression_bounds_refuse_large_or_unclosed_text() {
        let cases = [
            (&format!("`{}`", "(".repeat(50)), 33, "nested deeper"),
            (&"a".repeat(20_000), 0, "over the limit"),
            (&"(".repeat(50), 32, "nested deeper"),
            (&format!("a{}", ".b".repeat(300)), 401, "operators depend"),
            (&format!("a{}", "[0]".repeat(300)), 601, "operators depend"),
            (&format!("a{}", " in b".repeat(300)), 1002, "operators depend"),
            (&format!("{}d", "a && b ? c : ".repeat(150)), 1307, "operators depend"),
            (&"(1".to_owned(), 0, "never closed"),
            (&"f(1]".to_owned(), 3, "unmatched"),
            (&"a == 'b".to_owned(), 5, "no closing quote"),
            (&"'a\nb'".to_owned(), 0, "no closing quote"),
            (&"'a\\".to_owned(), 2, "unknown escape"),
            (&"'\\d+'".to_owned(), 1, "unknown escape"),
            (&"'\\u12'".to_owned(), 1, "unknown escape"),
        ];
        for (case, offset, message) in cases {
            let error = check_bounds(case).unwrap_err();
            assert!(error.message.contains(message), "{case}: {error}");
            assert_eq!(error.offset, offset, "{case}");
        }
    }
}
