//! Splits a text into tokens.
//!
//! A formula reserves the words of the operators, a fact does not. Characters that cannot be read are reported and
//! become a [`TokenKind::Bad`] token, about which the parser reports nothing more.

use std::borrow::Cow;
use std::ops::Range;

use crate::comparison::Comparison;
use crate::measure::Arithmetic;
use crate::name_syntax::{begins_name, continues_name};
use crate::parse_error::Faults;
use crate::spelling::{COMPARISONS, Sign};

/// The kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    Formula,
    Fact,
    /// Several facts, with `@` before a time and `?` before an unknown fact.
    Position,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind<'a> {
    Sign(Sign),
    Compare(Comparison),
    Arithmetic(Arithmetic),
    Name {
        name: Cow<'a, str>,
        quoted: bool,
    },
    Text(Cow<'a, str>),
    /// The digits with sign, fraction and exponent, and the letters right after them.
    Number {
        digits: &'a str,
        unit: &'a str,
    },
    /// `_`
    Any,
    /// `∞`
    Infinity,
    /// `@`, in a position.
    At,
    /// `?`, in a position.
    Question,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Comma,
    Dot,
    Colon,
    /// An error that is already reported.
    Bad,
    End,
}

/// Returns all tokens of a text, the last one being [`TokenKind::End`].
pub(crate) fn lex<'a>(text: &'a str, grammar: Grammar, faults: &mut Faults) -> Vec<Token<'a>> {
    let mut lexer = Lexer { text, at: 0, grammar, binding: false, faults };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.read_token();
        // A dot ends the variables of a quantifier and is part of any other name: `forall x.p(x)`, `args.amount`.
        lexer.binding = match token.kind {
            TokenKind::Sign(Sign::Quantifier(_)) => true,
            TokenKind::Name { .. } | TokenKind::Comma => lexer.binding,
            _ => false,
        };
        let done = token.kind == TokenKind::End;
        tokens.push(token);
        if done {
            return tokens;
        }
    }
}

struct Lexer<'a, 'f> {
    text: &'a str,
    at: usize,
    grammar: Grammar,
    /// Whether the variables of a quantifier are being read.
    binding: bool,
    faults: &'f mut Faults,
}

impl<'a> Lexer<'a, '_> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or("")
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    fn read_token(&mut self) -> Token<'a> {
        self.skip(|c| c.is_whitespace() || c == '\u{feff}');
        let start = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some('"' | '\'') => self.read_quoted("string").map_or(TokenKind::Bad, TokenKind::Text),
            Some('`') => self.read_quoted_name(),
            Some(c) if c.is_ascii_digit() || (c == '-' && self.digit_follows(1)) => self.read_number(),
            Some(c) if begins_name(c) => self.read_word(),
            Some(c) => self.read_symbol(c),
        };
        Token { kind, span: start..self.at }
    }

    fn digit_follows(&self, offset: usize) -> bool {
        self.rest().as_bytes().get(offset).is_some_and(u8::is_ascii_digit)
    }

    fn read_word(&mut self) -> TokenKind<'a> {
        let start = self.at;
        self.skip(continues_name);
        while !self.binding && self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(continues_name)) {
            self.at += 1;
            self.skip(continues_name);
        }
        let word = self.slice(start..self.at);
        match Sign::from_word(word) {
            _ if word == "_" => TokenKind::Any,
            Some(sign) if self.grammar == Grammar::Formula => TokenKind::Sign(sign),
            _ => TokenKind::Name { name: Cow::Borrowed(word), quoted: false },
        }
    }

    fn read_number(&mut self) -> TokenKind<'a> {
        let start = self.at;
        self.at += 1;
        self.skip(|c| c.is_ascii_digit());
        if self.rest().starts_with('.') && self.digit_follows(1) {
            self.at += 1;
            self.skip(|c| c.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            let sign = usize::from(matches!(self.rest().as_bytes().get(1), Some(b'+' | b'-')));
            if self.digit_follows(1 + sign) {
                self.at += 1 + sign;
                self.skip(|c| c.is_ascii_digit());
            }
        }
        let digits = self.slice(start..self.at);
        let end = self.at;
        self.skip(continues_name);
        TokenKind::Number { digits, unit: self.slice(end..self.at) }
    }

    fn read_quoted_name(&mut self) -> TokenKind<'a> {
        let start = self.at;
        match self.read_quoted("name") {
            Some(name) if name.is_empty() => {
                self.faults.add(start..self.at, "a name is empty", "write the name of a fact between the backticks");
                TokenKind::Bad
            }
            Some(name) => TokenKind::Name { name, quoted: true },
            None => TokenKind::Bad,
        }
    }

    /// Reads from a quote to the next one, with escapes; a quoted text ends in its line.
    fn read_quoted(&mut self, what: &str) -> Option<Cow<'a, str>> {
        let start = self.at;
        let quote = self.peek().unwrap_or('"');
        self.at += 1;
        let content = self.at;
        let mut text = Cow::Borrowed("");
        loop {
            let from = self.at;
            self.skip(|c| c != quote && c != '\\' && c != '\n');
            let part = self.slice(from..self.at);
            match &mut text {
                Cow::Borrowed(_) if from == content => text = Cow::Borrowed(part),
                _ => text.to_mut().push_str(part),
            }
            match self.peek() {
                Some('\\') => {
                    let escaped = self.read_escape();
                    text.to_mut().extend(escaped);
                }
                Some(c) if c == quote => {
                    self.at += 1;
                    return Some(text);
                }
                _ => {
                    let hint = format!("close it with `{quote}` in the same line; `\\n` stands for a new line");
                    self.faults.add(start..start + 1, format!("a {what} is never closed"), hint);
                    return None;
                }
            }
        }
    }

    fn read_escape(&mut self) -> Option<char> {
        let start = self.at;
        self.at += 1;
        let character = self.peek().filter(|c| *c != '\n');
        self.at += character.map_or(0, char::len_utf8);
        let read = match character {
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some(c @ ('"' | '\'' | '`' | '\\')) => Some(c),
            Some('u') if self.rest().starts_with('{') => {
                self.at += 1;
                let from = self.at;
                self.skip(|c| c.is_ascii_hexdigit());
                let code = u32::from_str_radix(self.slice(from..self.at), 16).ok().and_then(char::from_u32);
                let closed = self.rest().starts_with('}');
                self.at += usize::from(closed);
                code.filter(|_| closed)
            }
            _ => None,
        };
        if read.is_none() {
            let hint =
                "the escapes are `\\\"` `\\'` `\\\\` `\\n` `\\r` `\\t` and `\\u{1f600}`; `\\\\` is one backslash";
            self.faults.add(start..self.at, format!("unknown escape `{}`", self.slice(start..self.at)), hint);
        }
        read
    }

    fn read_symbol(&mut self, character: char) -> TokenKind<'a> {
        let rest = self.rest();
        let comparison = COMPARISONS.iter().find(|(symbol, _)| rest.starts_with(symbol));
        let sign = Sign::from_symbol(rest);
        if let Some((symbol, comparison)) = comparison
            && sign.is_none_or(|(_, length)| length < symbol.len())
        {
            self.at += symbol.len();
            return TokenKind::Compare(*comparison);
        }
        if let Some((sign, length)) = sign {
            self.at += length;
            return TokenKind::Sign(sign);
        }
        let start = self.at;
        self.at += character.len_utf8();
        match character {
            '(' => TokenKind::Open,
            ')' => TokenKind::Close,
            '[' => TokenKind::OpenBracket,
            ']' => TokenKind::CloseBracket,
            ',' => TokenKind::Comma,
            '.' => TokenKind::Dot,
            ':' => TokenKind::Colon,
            '∞' => TokenKind::Infinity,
            '@' if self.grammar == Grammar::Position => TokenKind::At,
            '?' if self.grammar == Grammar::Position => TokenKind::Question,
            '+' if self.grammar == Grammar::Formula => TokenKind::Arithmetic(Arithmetic::Plus),
            '*' if self.grammar == Grammar::Formula => TokenKind::Arithmetic(Arithmetic::Times),
            // `tool-call` is a name that wants backticks, `a - b` is arithmetic.
            '-' if self.grammar == Grammar::Formula && !self.is_inside_name(start) => {
                TokenKind::Arithmetic(Arithmetic::Minus)
            }
            '/' if self.grammar == Grammar::Formula && !self.is_inside_name(start) => {
                TokenKind::Arithmetic(Arithmetic::Over)
            }
            _ => {
                self.report_unknown_character(character, start);
                TokenKind::Bad
            }
        }
    }

    /// Whether the character just read is between two names, without spaces.
    fn is_inside_name(&self, start: usize) -> bool {
        let before = self.text.get(..start).and_then(|text| text.chars().next_back());
        before.is_some_and(begins_name) && self.peek().is_some_and(begins_name)
    }

    fn report_unknown_character(&mut self, character: char, start: usize) {
        let hint = match character {
            '-' | '@' | '/' | '$' | '#' => {
                "a name is made of letters, digits, `_` and inner dots; any other goes in backticks: `` `my-fact` ``"
            }
            '“' | '”' | '„' | '‘' | '’' | '«' | '»' => "a string goes in straight quotes: `\"text\"`",
            '{' | '}' => "group with `(` and `)`",
            ';' => "join formulas with `&`",
            '%' => "there are `+`, `-`, `*` and `/`; numbers are written `5`, `-5`, `2.5`, `1e6`",
            _ => "remove it; a name with such a character goes in backticks: `` `name` ``",
        };
        let message = match character {
            c if c.is_control() || c.is_whitespace() || !c.is_ascii() => {
                format!("unknown character `{}` (U+{:04X})", c.escape_debug(), u32::from(c))
            }
            c => format!("unknown character `{c}`"),
        };
        self.faults.add(start..self.at, message, hint);
    }
}
