//! A position in the tokens of a file, for parsers.

use super::lexer::{Token, tokenize, unescape};
use super::refusal::{Location, Refusal, SYNTAX, refuse};
use super::syntax::Entity;

/// How many levels deep expressions and conditions may nest.
const MAX_DEPTH: usize = 128;

/// How many tokens are read, those included that are read again after a wrong guess.
const MAX_TOKENS_READ: usize = 2_000_000;

/// Reads tokens one after the other, and backtracks after a wrong guess.
#[derive(Debug)]
pub(super) struct Cursor {
    tokens: Vec<(Token, Location)>,
    place: usize,
    depth: usize,
    read: usize,
    /// The mistake of the guess that read furthest.
    furthest: Option<Refusal>,
}

impl Cursor {
    /// Returns a cursor at the beginning of a file.
    pub(super) fn new(file: usize, text: &str) -> Result<Cursor, Refusal> {
        Ok(Cursor { tokens: tokenize(file, text)?, place: 0, depth: 0, read: 0, furthest: None })
    }

    /// Returns the token so many places ahead.
    pub(super) fn peek(&self, places: usize) -> &Token {
        self.tokens.get(self.place + places).map_or(&Token::End, |(token, _)| token)
    }

    /// Returns where the next token begins.
    pub(super) fn location(&self) -> Location {
        self.tokens.get(self.place).or(self.tokens.last()).map(|(_, at)| *at).unwrap_or_default()
    }

    pub(super) fn is_at_end(&self) -> bool {
        *self.peek(0) == Token::End
    }

    pub(super) fn is_sign(&self, places: usize, sign: &str) -> bool {
        matches!(self.peek(places), Token::Sign(found) if *found == sign)
    }

    pub(super) fn is_name(&self, places: usize, name: &str) -> bool {
        matches!(self.peek(places), Token::Name(found) if found == name)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek(0).clone();
        self.skip(1);
        token
    }

    fn skip(&mut self, places: usize) {
        self.read += places;
        self.place = (self.place + places).min(self.tokens.len());
    }

    /// Takes a sign if it is the next token.
    pub(super) fn take_if(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(0, sign);
        self.skip(usize::from(is_next));
        is_next
    }

    /// Takes a keyword if it is the next token.
    pub(super) fn take_name_if(&mut self, name: &str) -> bool {
        let is_next = self.is_name(0, name);
        self.skip(usize::from(is_next));
        is_next
    }

    /// Takes a sign, or fails.
    pub(super) fn expect(&mut self, sign: &str) -> Result<(), Refusal> {
        if self.take_if(sign) { Ok(()) } else { Err(self.unexpected_token(&format!("`{sign}`"))) }
    }

    /// Takes a keyword, or fails.
    pub(super) fn expect_name(&mut self, name: &str) -> Result<(), Refusal> {
        if self.take_name_if(name) { Ok(()) } else { Err(self.unexpected_token(&format!("`{name}`"))) }
    }

    /// Takes a name.
    pub(super) fn take_name(&mut self) -> Result<String, Refusal> {
        match self.peek(0).clone() {
            Token::Name(name) => {
                self.skip(1);
                Ok(name)
            }
            _ => Err(self.unexpected_token("a name")),
        }
    }

    /// Takes a text and reads its escapes.
    pub(super) fn take_text(&mut self) -> Result<String, Refusal> {
        let at = self.location();
        match self.peek(0).clone() {
            Token::Text(raw) => {
                self.skip(1);
                unescape(&raw).ok_or_else(|| refuse(at, SYNTAX, "invalid escape in this text"))
            }
            _ => Err(self.unexpected_token("a text in quotes")),
        }
    }

    /// Takes a whole number, with its sign.
    pub(super) fn take_integer(&mut self) -> Result<i64, Refusal> {
        let at = self.location();
        let sign = if self.take_if("-") { "-" } else { "" };
        match self.peek(0).clone() {
            Token::Number(digits) => {
                self.skip(1);
                format!("{sign}{digits}")
                    .parse()
                    .map_err(|_| refuse(at, SYNTAX, format!("`{sign}{digits}` is too large for a number of Cedar")))
            }
            _ => Err(self.unexpected_token("a number")),
        }
    }

    /// Takes `a.b.c`.
    pub(super) fn take_path(&mut self) -> Result<Vec<String>, Refusal> {
        let mut path = vec![self.take_name()?];
        while self.take_if(".") {
            path.push(self.take_name()?);
        }
        Ok(path)
    }

    /// Takes `A::B`, and `::"id"` after it if present.
    pub(super) fn take_qualified(&mut self) -> Result<(String, Option<String>), Refusal> {
        let mut kind = self.take_name()?;
        while self.is_sign(0, "::") {
            match self.peek(1) {
                Token::Name(name) => {
                    kind = format!("{kind}::{name}");
                    self.skip(2);
                }
                Token::Text(_) => {
                    self.skip(1);
                    return Ok((kind, Some(self.take_text()?)));
                }
                _ => break,
            }
        }
        Ok((kind, None))
    }

    /// Takes an entity, such as `Shop::User::"eve"`.
    pub(super) fn take_entity(&mut self) -> Result<Entity, Refusal> {
        match self.take_qualified()? {
            (kind, Some(id)) => Ok(Entity { kind, id }),
            _ => Err(self.unexpected_token("`::` and the id of an entity in quotes")),
        }
    }

    /// Takes a list up to its closing sign; a trailing comma is allowed.
    pub(super) fn take_list<T>(
        &mut self,
        close: &str,
        one: impl Fn(&mut Cursor) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let mut found = Vec::new();
        while !self.take_if(close) {
            found.push(one(self)?);
            if !self.is_sign(0, close) {
                self.expect(",")?;
            }
        }
        Ok(found)
    }

    /// Takes what a guess parses, or nothing.
    pub(super) fn attempt<T>(&mut self, guess: impl Fn(&mut Cursor) -> Result<T, Refusal>) -> Option<T> {
        let before = self.place;
        guess(self)
            .map_err(|wrong| {
                self.place = before;
                let is_further = self.furthest.as_ref().is_none_or(|known| wrong.at.offset > known.at.offset);
                self.furthest = is_further.then_some(wrong).or(self.furthest.take());
            })
            .ok()
    }

    /// Returns the mistake that was read furthest into the file: this one, or that of a guess.
    pub(super) fn furthest_mistake(&mut self, wrong: Refusal) -> Refusal {
        self.furthest.take().filter(|guess| guess.at.offset > wrong.at.offset).unwrap_or(wrong)
    }

    /// Parses something that may contain itself, within the depth limit.
    pub(super) fn parse_nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Cursor) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.depth >= MAX_DEPTH || self.read >= MAX_TOKENS_READ {
            return Err(refuse(
                self.location(),
                SYNTAX,
                format!("this nests deeper than {MAX_DEPTH} levels, or is too long"),
            )
            .with_hint("split it into several statements or macros"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Returns the refusal of a token that is not what was expected.
    pub(super) fn unexpected_token(&self, wanted: &str) -> Refusal {
        refuse(self.location(), SYNTAX, format!("expected {wanted}, found {}", self.peek(0).describe()))
    }
}
