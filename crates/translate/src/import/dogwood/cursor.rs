//! Where a parser stands in the tokens of a file.

use super::lexer::{Token, tokens, unescaped};
use super::refusal::{At, Refused, SYNTAX, refused};
use super::syntax::Entity;

/// How deep expressions and conditions may nest.
const DEEPEST: usize = 128;

/// How many tokens are read, those included that are read again after a wrong guess.
const MOST_READ: usize = 2_000_000;

/// Reads tokens one after the other, and goes back where a guess was wrong.
#[derive(Debug)]
pub(super) struct Cursor {
    tokens: Vec<(Token, At)>,
    place: usize,
    depth: usize,
    read: usize,
    /// What was wrong with the guess that went furthest.
    furthest: Option<Refused>,
}

impl Cursor {
    /// At the beginning of a file.
    pub(super) fn new(file: usize, text: &str) -> Result<Cursor, Refused> {
        Ok(Cursor { tokens: tokens(file, text)?, place: 0, depth: 0, read: 0, furthest: None })
    }

    /// The token so many places ahead.
    pub(super) fn ahead(&self, places: usize) -> &Token {
        self.tokens.get(self.place + places).map_or(&Token::End, |(token, _)| token)
    }

    /// Where the next token begins.
    pub(super) fn at(&self) -> At {
        self.tokens.get(self.place).or(self.tokens.last()).map(|(_, at)| *at).unwrap_or_default()
    }

    pub(super) fn is_at_end(&self) -> bool {
        *self.ahead(0) == Token::End
    }

    pub(super) fn is_sign(&self, places: usize, sign: &str) -> bool {
        matches!(self.ahead(places), Token::Sign(found) if *found == sign)
    }

    pub(super) fn is_name(&self, places: usize, name: &str) -> bool {
        matches!(self.ahead(places), Token::Name(found) if found == name)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token {
        let token = self.ahead(0).clone();
        self.skip(1);
        token
    }

    fn skip(&mut self, places: usize) {
        self.read += places;
        self.place = (self.place + places).min(self.tokens.len());
    }

    /// Takes a sign if it is the next token.
    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(0, sign);
        self.skip(usize::from(is_next));
        is_next
    }

    /// Takes a keyword if it is the next token.
    pub(super) fn takes_name(&mut self, name: &str) -> bool {
        let is_next = self.is_name(0, name);
        self.skip(usize::from(is_next));
        is_next
    }

    /// Takes a sign that must be there.
    pub(super) fn expect(&mut self, sign: &str) -> Result<(), Refused> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    /// Takes a keyword that must be there.
    pub(super) fn expect_name(&mut self, name: &str) -> Result<(), Refused> {
        if self.takes_name(name) { Ok(()) } else { Err(self.unexpected(&format!("`{name}`"))) }
    }

    /// Takes a name.
    pub(super) fn name(&mut self) -> Result<String, Refused> {
        match self.ahead(0).clone() {
            Token::Name(name) => {
                self.skip(1);
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// Takes a text and reads its escapes.
    pub(super) fn text(&mut self) -> Result<String, Refused> {
        let at = self.at();
        match self.ahead(0).clone() {
            Token::Text(raw) => {
                self.skip(1);
                unescaped(&raw).ok_or_else(|| refused(at, SYNTAX, "an escape in this text has no meaning"))
            }
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    /// Takes a whole number, with its sign.
    pub(super) fn integer(&mut self) -> Result<i64, Refused> {
        let at = self.at();
        let sign = if self.takes("-") { "-" } else { "" };
        match self.ahead(0).clone() {
            Token::Number(digits) => {
                self.skip(1);
                format!("{sign}{digits}")
                    .parse()
                    .map_err(|_| refused(at, SYNTAX, format!("`{sign}{digits}` is too large for a number of Cedar")))
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    /// Takes `a.b.c`.
    pub(super) fn path(&mut self) -> Result<Vec<String>, Refused> {
        let mut path = vec![self.name()?];
        while self.takes(".") {
            path.push(self.name()?);
        }
        Ok(path)
    }

    /// Takes `A::B`, and `::"id"` behind it if it is there.
    pub(super) fn qualified(&mut self) -> Result<(String, Option<String>), Refused> {
        let mut kind = self.name()?;
        while self.is_sign(0, "::") {
            match self.ahead(1) {
                Token::Name(name) => {
                    kind = format!("{kind}::{name}");
                    self.skip(2);
                }
                Token::Text(_) => {
                    self.skip(1);
                    return Ok((kind, Some(self.text()?)));
                }
                _ => break,
            }
        }
        Ok((kind, None))
    }

    /// Takes an entity, such as `Shop::User::"eve"`.
    pub(super) fn entity(&mut self) -> Result<Entity, Refused> {
        match self.qualified()? {
            (kind, Some(id)) => Ok(Entity { kind, id }),
            _ => Err(self.unexpected("`::` and the id of an entity in quotes")),
        }
    }

    /// Takes a list up to its closing sign; a comma may stand behind the last.
    pub(super) fn list<T>(
        &mut self,
        close: &str,
        one: impl Fn(&mut Cursor) -> Result<T, Refused>,
    ) -> Result<Vec<T>, Refused> {
        let mut found = Vec::new();
        while !self.takes(close) {
            found.push(one(self)?);
            if !self.is_sign(0, close) {
                self.expect(",")?;
            }
        }
        Ok(found)
    }

    /// Takes what a guess says is there, or nothing.
    pub(super) fn attempt<T>(&mut self, guess: impl Fn(&mut Cursor) -> Result<T, Refused>) -> Option<T> {
        let before = self.place;
        guess(self)
            .map_err(|wrong| {
                self.place = before;
                let is_further = self.furthest.as_ref().is_none_or(|known| wrong.at.offset > known.at.offset);
                self.furthest = is_further.then_some(wrong).or(self.furthest.take());
            })
            .ok()
    }

    /// What is wrong: of a mistake and what was wrong with guesses, that which was read furthest into the file.
    pub(super) fn mistake(&mut self, wrong: Refused) -> Refused {
        self.furthest.take().filter(|guess| guess.at.offset > wrong.at.offset).unwrap_or(wrong)
    }

    /// Takes something that may hold more of its kind.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Cursor) -> Result<T, Refused>) -> Result<T, Refused> {
        if self.depth >= DEEPEST || self.read >= MOST_READ {
            return Err(refused(self.at(), SYNTAX, format!("this nests deeper than {DEEPEST} levels, or is too long"))
                .hint("split it into several statements or macros"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// What stands here instead of what was expected.
    pub(super) fn unexpected(&self, wanted: &str) -> Refused {
        refused(self.at(), SYNTAX, format!("expected {wanted}, found {}", self.ahead(0).shown()))
    }
}
