//! Splits a text into tokens, the same for policies, event schemas and action schemas.

use super::refusal::{Location, Refusal, SYNTAX, refuse};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword; its place decides which.
    Name(String),
    /// Digits.
    Number(String),
    /// A text in double quotes, with its escapes as written.
    Text(String),
    /// `(`, `::`, `&&` and the like.
    Sign(&'static str),
    End,
}

impl Token {
    /// Describes the token for a message.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name(text) | Token::Number(text) => format!("`{text}`"),
            Token::Text(text) => format!("`\"{text}\"`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the file".to_owned(),
        }
    }
}

/// The signs; of two that begin alike the longer comes first.
const SIGNS: [&str; 31] = [
    "...", "::", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "{", "}", "[", "]", ",", ";", ":", ".", "@", "?", "$",
    "!", "-", "+", "*", "/", "%", "<", ">", "=", "#",
];

/// Returns the tokens of a file and where each begins; the last is [`Token::End`].
pub(super) fn tokenize(file: usize, text: &str) -> Result<Vec<(Token, Location)>, Refusal> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = Location { file, offset: text.len() - rest.len() };
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]);
            continue;
        }
        let Some(first) = rest.chars().next() else {
            found.push((Token::End, at));
            return Ok(found);
        };
        let (token, length) = if first.is_ascii_alphabetic() || first == '_' {
            let length = run_length(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            (Token::Name(rest[..length].to_owned()), length)
        } else if first.is_ascii_digit() {
            let length = run_length(rest, |c| c.is_ascii_digit());
            (Token::Number(rest[..length].to_owned()), length)
        } else if first == '"' {
            let length = find_closing_quote(&rest[1..])
                .ok_or_else(|| refuse(at, SYNTAX, "this text is not closed").with_hint("close it with `\"`"))?;
            (Token::Text(rest[1..=length].to_owned()), length + 2)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(refuse(at, SYNTAX, format!("unexpected character `{first}`")));
        };
        found.push((token, at));
        rest = &rest[length..];
    }
}

/// Returns how many bytes at the beginning are of such characters.
fn run_length(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Returns the position of the first quote that is not escaped.
pub(super) fn find_closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(place, character)| {
        let closes = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        closes.then_some(place)
    })
}

/// A piece of a pattern: a character, or the star that matches any characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternPiece {
    Character(char),
    Any,
}

/// Returns a text with its escapes decoded; none if one of them is invalid.
pub(super) fn unescape(raw: &str) -> Option<String> {
    let character = |piece| match piece {
        PatternPiece::Character(character) => Some(character),
        PatternPiece::Any => None,
    };
    parse_pieces(raw, false)?.into_iter().map(character).collect()
}

/// Returns the pieces of a text; in a pattern `*` matches any characters and `\*` is a star.
pub(super) fn parse_pieces(raw: &str, is_pattern: bool) -> Option<Vec<PatternPiece>> {
    let mut found = Vec::new();
    let mut rest = raw.chars();
    while let Some(character) = rest.next() {
        found.push(match character {
            '*' if is_pattern => PatternPiece::Any,
            '\\' => PatternPiece::Character(match rest.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                '\\' => '\\',
                '\'' => '\'',
                '"' => '"',
                '*' if is_pattern => '*',
                'x' => {
                    let digits: String = [rest.next()?, rest.next()?].iter().collect();
                    let code = u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii)?;
                    char::from(code)
                }
                'u' => {
                    let (digits, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                    rest = after.chars();
                    if digits.starts_with('_') {
                        return None;
                    }
                    let digits: String = digits.chars().filter(|c| *c != '_').collect();
                    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                }
                _ => return None,
            }),
            other => PatternPiece::Character(other),
        });
    }
    Some(found)
}
