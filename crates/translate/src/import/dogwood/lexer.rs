//! Text into tokens. Policies, event schemas and action schemas are written with the same ones.

use super::refusal::{At, Refused, SYNTAX, refused};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword; which of them, its place decides.
    Name(String),
    /// Digits.
    Number(String),
    /// What stands between double quotes, with its escapes as they were written.
    Text(String),
    /// `(`, `::`, `&&` and the like.
    Sign(&'static str),
    End,
}

impl Token {
    /// The token as a message shows it.
    pub(super) fn shown(&self) -> String {
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

/// The tokens of a file and where each begins; the last is [`Token::End`].
pub(super) fn tokens(file: usize, text: &str) -> Result<Vec<(Token, At)>, Refused> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = At { file, offset: text.len() - rest.len() };
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]);
            continue;
        }
        let Some(first) = rest.chars().next() else {
            found.push((Token::End, at));
            return Ok(found);
        };
        let (token, length) = if first.is_ascii_alphabetic() || first == '_' {
            let length = run(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            (Token::Name(rest[..length].to_owned()), length)
        } else if first.is_ascii_digit() {
            let length = run(rest, |c| c.is_ascii_digit());
            (Token::Number(rest[..length].to_owned()), length)
        } else if first == '"' {
            let length = closing_quote(&rest[1..])
                .ok_or_else(|| refused(at, SYNTAX, "a text begins here and does not end").hint("close it with `\"`"))?;
            (Token::Text(rest[1..=length].to_owned()), length + 2)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(refused(at, SYNTAX, format!("`{first}` has no meaning here")));
        };
        found.push((token, at));
        rest = &rest[length..];
    }
}

/// How many bytes at the beginning are of such characters.
fn run(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Where the first quote stands that is not behind a backslash.
pub(super) fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(place, character)| {
        let closes = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        closes.then_some(place)
    })
}

/// A piece of a text: a character, or the star of a pattern, which stands for any characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Character(char),
    Any,
}

/// What a text of a policy says, with its escapes read; none if one of them means nothing.
pub(super) fn unescaped(raw: &str) -> Option<String> {
    let character = |piece| match piece {
        Piece::Character(character) => Some(character),
        Piece::Any => None,
    };
    pieces(raw, false)?.into_iter().map(character).collect()
}

/// What a text says, piece by piece; in a pattern `*` stands for any characters and `\*` for itself.
pub(super) fn pieces(raw: &str, is_pattern: bool) -> Option<Vec<Piece>> {
    let mut found = Vec::new();
    let mut rest = raw.chars();
    while let Some(character) = rest.next() {
        found.push(match character {
            '*' if is_pattern => Piece::Any,
            '\\' => Piece::Character(match rest.next()? {
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
                    let (digits, behind) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                    rest = behind.chars();
                    if digits.starts_with('_') {
                        return None;
                    }
                    let digits: String = digits.chars().filter(|c| *c != '_').collect();
                    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                }
                _ => return None,
            }),
            other => Piece::Character(other),
        });
    }
    Some(found)
}
