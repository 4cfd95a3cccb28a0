//! Divides a text into the words, separators and redirections of a shell command.
//!
//! It follows POSIX shells, and keeps the backslashes of Windows paths. Every text divides somehow: a quote that is
//! never closed is an ordinary character.

use super::marks::{FILE_MARK, OUTPUT_MARK, UNKNOWN_MARK};
use super::output::decode_escapes;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word without its quotes.
    Word(String),
    /// The target of a redirection to a file.
    Target(String),
    /// The file that a redirection reads.
    Source(String),
    /// The input of a command that the text itself contains: a here-document or a here-string.
    Input(String),
    /// The end of a command.
    End,
    /// The end of a command whose output the next one reads.
    Pipe,
    /// The end of a command that runs in the background.
    Background,
    /// The start of commands in brackets, or of what a call in a programming language passes.
    Open {
        /// Whether a word comes right before the bracket, as in `print(`.
        is_call: bool,
    },
    /// The end of commands in brackets.
    Close,
    /// Text that runs as commands of its own, such as in `$(…)`.
    Nested(String),
    /// The definition of a function: its name and its body.
    Function(String, String),
    /// A call in a programming language that runs a command, and the texts that it passes.
    Call(String, Vec<String>),
}

/// The functions of programming languages that run a command or remove a folder.
const COMMAND_FUNCTIONS: [&str; 25] = [
    "system",
    "popen",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "shell_exec",
    "passthru",
    "rmtree",
    "rmSync",
    "rmdirSync",
    "rimraf",
    "rm_rf",
    "removeSync",
    "remove_dir_all",
    "remove_tree",
];

/// The longest body of a function that becomes a token, in characters. The commands of a longer one are read where it is
/// defined.
const MAX_FUNCTION_BODY: usize = 1000;

struct Lexer<'t> {
    chars: &'t [char],
    place: usize,
    tokens: Vec<Token>,
    word: String,
    /// Whether a word has begun; it may be empty, as `''` is.
    has_word: bool,
    /// Whether the word is a Windows path, in which a backslash is an ordinary character.
    is_windows_path: bool,
    /// Whether the next word is the target of a redirection, the input, or the end of a here-document.
    next_word: NextWord,
    /// Whether a part of the word was quoted.
    is_quoted: bool,
    /// The here-documents that begin on the next line: their last lines, and whether their texts are literal.
    documents: Vec<(String, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NextWord {
    Plain,
    Target,
    Source,
    Input,
    Document,
}

/// Divides a text into tokens.
pub(super) fn divide(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut lexer = Lexer {
        chars: &chars,
        place: 0,
        tokens: Vec::new(),
        word: String::new(),
        has_word: false,
        is_windows_path: false,
        next_word: NextWord::Plain,
        is_quoted: false,
        documents: Vec::new(),
    };
    while let Some(c) = lexer.peek(0) {
        lexer.read(c);
    }
    lexer.end_command(Token::End);
    lexer.tokens
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.place + ahead).copied()
    }

    fn read(&mut self, c: char) {
        self.place += 1;
        match c {
            '\n' => {
                self.end_command(Token::End);
                self.read_documents();
            }
            '&' if self.peek(0) == Some('>') => self.end_word(),
            ';' => self.end_command(Token::End),
            ')' => {
                self.end_command(Token::End);
                self.tokens.push(Token::Close);
            }
            '&' | '|' if self.peek(0) == Some(c) => {
                self.place += 1;
                self.end_command(Token::End);
            }
            '&' => self.end_command(Token::Background),
            '|' => {
                // `|&` pipes errors too.
                self.place += usize::from(self.peek(0) == Some('&'));
                self.end_command(Token::Pipe);
            }
            '(' => self.open_bracket(),
            '{' if !self.has_word && self.peek(0).is_none_or(char::is_whitespace) => self.define_by_keyword(),
            '}' if !self.has_word => self.end_command(Token::End),
            '#' if !self.has_word => {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.place += 1;
                }
            }
            '>' | '<' => self.redirect(c),
            '\'' => self.read_quoted('\''),
            '"' => self.read_quoted('"'),
            '`' => self.read_nested('`'),
            '$' if self.peek(0) == Some('(') => self.read_substitution(),
            '$' if self.peek(0) == Some('\'') => self.read_escaped_quotes(),
            '$' if self.peek(0) == Some('"') => {}
            '$' if self.peek(0) == Some('{') => self.read_variable(),
            '\\' => self.read_backslash(),
            c if c.is_whitespace() => self.end_word(),
            c => self.push(c),
        }
    }

    fn push(&mut self, c: char) {
        self.is_windows_path |= match self.word.is_empty() {
            true => matches!(c, '\\' | '%'),
            false => c == '\\' && self.word.ends_with(':'),
        };
        self.word.push(c);
        self.has_word = true;
    }

    fn clear_word(&mut self) -> String {
        (self.has_word, self.is_windows_path, self.is_quoted) = (false, false, false);
        std::mem::take(&mut self.word)
    }

    fn end_word(&mut self) {
        if !self.has_word {
            return;
        }
        let is_literal = self.is_quoted;
        let word = self.clear_word();
        match std::mem::replace(&mut self.next_word, NextWord::Plain) {
            NextWord::Plain => self.tokens.push(Token::Word(word)),
            NextWord::Target => self.tokens.push(Token::Target(word)),
            NextWord::Input => self.tokens.push(Token::Input(word)),
            NextWord::Document => self.documents.push((word, is_literal)),
            NextWord::Source => self.tokens.push(Token::Source(word)),
        }
    }

    fn end_command(&mut self, end: Token) {
        self.end_word();
        self.next_word = NextWord::Plain;
        self.tokens.push(end);
    }

    /// Reads what follows `(`: a function's definition, a call that runs a command, or a group of commands.
    fn open_bracket(&mut self) {
        if self.peek_word().is_some_and(|(c, _)| c == ')')
            && let Some(name) = self.take_function_name()
        {
            self.place += self.peek_word().map_or(0, |(_, blanks)| blanks + 1);
            self.define_function(name);
            return;
        }
        let is_call = self.has_word;
        let name = self.word.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        if COMMAND_FUNCTIONS.contains(&name) {
            let call = Token::Call(name.to_owned(), self.read_call_texts());
            self.clear_word();
            self.end_command(Token::End);
            self.tokens.push(call);
            if matches!(self.chars[self.place - 1], ')' | ';' | '\n') {
                return;
            }
        }
        self.end_word();
        self.next_word = NextWord::Plain;
        self.tokens.push(Token::Open { is_call });
    }

    /// Returns the next character that is not a blank, and how many blanks come before it.
    fn peek_word(&self) -> Option<(char, usize)> {
        let rest = self.chars.get(self.place..)?;
        let blanks = rest.iter().take(MAX_FUNCTION_BODY).position(|c| !c.is_whitespace())?;
        Some((rest[blanks], blanks))
    }

    /// Takes the word before `()`, if it is the first of its command or follows `function`.
    fn take_function_name(&mut self) -> Option<String> {
        if self.has_word {
            let name = self.clear_word();
            self.tokens.pop_if(|token| is_word(token, "function"));
            return Some(name);
        }
        let is_first = match self.tokens.as_slice() {
            [.., before, Token::Word(_)] => is_word(before, "function") || !matches!(before, Token::Word(_)),
            [Token::Word(_)] => true,
            _ => false,
        };
        if !is_first {
            return None;
        }
        let Some(Token::Word(name)) = self.tokens.pop() else { return None };
        self.tokens.pop_if(|token| is_word(token, "function"));
        Some(name)
    }

    /// Reads `function name {`, where the brace was just read.
    fn define_by_keyword(&mut self) {
        if let [.., keyword, Token::Word(name)] = self.tokens.as_slice()
            && is_word(keyword, "function")
        {
            let name = name.clone();
            self.tokens.truncate(self.tokens.len() - 2);
            self.place -= 1;
            self.define_function(name);
        }
    }

    /// Reads the body of a function, if it is a short one in braces or brackets. Otherwise its commands follow as if
    /// they stood outside.
    fn define_function(&mut self, name: String) {
        self.end_command(Token::End);
        let Some((open @ ('{' | '('), blanks)) = self.peek_word() else { return };
        let start = self.place + blanks + 1;
        let rest = &self.chars[start..];
        let rest = &rest[..rest.len().min(MAX_FUNCTION_BODY)];
        match find_closing(rest, open, if open == '{' { '}' } else { ')' }) {
            Some(length) => {
                let body: String = rest[..length].iter().collect();
                self.tokens.push(Token::Function(name, if open == '{' { body } else { format!("({body})") }));
                self.place = start + length + 1;
            }
            None if open == '{' => self.place = start,
            None => {}
        }
    }

    /// Reads the texts that a call passes: those of its first list, or the first one.
    fn read_call_texts(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut is_list = false;
        while let Some(c) = self.peek(0) {
            self.place += 1;
            match c {
                '[' => is_list = true,
                ']' | ')' | ';' | '\n' if !is_list || c == ']' => break,
                '\'' | '"' => {
                    let rest = &self.chars[self.place..];
                    let Some(end) = find_unescaped(rest, c) else { break };
                    texts.push(rest[..end].iter().collect());
                    self.place += end + 1;
                    // `execFile("rm", ["-rf", "/"])`: a list after a text has the other words.
                    let next = self.chars[self.place..].iter().find(|c| !c.is_whitespace() && **c != ',');
                    if !is_list && next != Some(&'[') {
                        break;
                    }
                }
                _ => {}
            }
        }
        texts
    }

    fn redirect(&mut self, c: char) {
        if self.word.chars().all(|c| c.is_ascii_digit()) {
            // `2>`: the number is a file descriptor.
            self.clear_word();
        }
        self.end_word();
        let rest: String = self.chars[self.place..].iter().take(3).collect();
        if rest.starts_with('(') {
            self.place += 1;
            if c == '<' {
                self.push(FILE_MARK);
            }
            self.read_nested(')');
        } else if c == '<' && rest.starts_with("<<") {
            self.place += 2;
            self.next_word = NextWord::Input;
        } else if c == '<' && rest.starts_with('<') {
            self.place += 1 + usize::from(rest.starts_with("<-"));
            self.next_word = NextWord::Document;
        } else {
            self.place += usize::from(rest.starts_with(['>', '|', '&']));
            self.next_word = if c == '>' { NextWord::Target } else { NextWord::Source };
        }
    }

    /// Reads the here-documents that were announced on the line before.
    fn read_documents(&mut self) {
        for (last_line, is_literal) in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while self.place < self.chars.len() {
                let rest = &self.chars[self.place..];
                let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.place = (self.place + length + 1).min(self.chars.len());
                if line.trim() == last_line {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            // It belongs to the command before the end of the line.
            let end = self.tokens.pop();
            let body = if is_literal { body } else { self.read_document_commands(&body) };
            self.tokens.push(Token::Input(body));
            self.tokens.extend(end);
        }
    }

    /// Reads the commands in a here-document whose end is not quoted: the shell runs them, and puts their output there.
    fn read_document_commands(&mut self, body: &str) -> String {
        let chars: Vec<char> = body.chars().collect();
        let mut text = String::with_capacity(body.len());
        let mut place = 0;
        // An end that is missing is searched for once.
        let (mut has_quotes, mut has_brackets) = (true, true);
        while let Some(c) = chars.get(place) {
            let rest = &chars[place + 1..];
            let inside = match c {
                '`' if has_quotes => {
                    let end = find_unescaped(rest, '`');
                    has_quotes = end.is_some();
                    end.map(|end| (1, end))
                }
                '$' if has_brackets && rest.first() == Some(&'(') => {
                    let end = find_closing(&rest[1..], '(', ')');
                    has_brackets = end.is_some();
                    end.filter(|end| rest.get(1) != Some(&'(') || !is_arithmetic(&rest[1..1 + end])).map(|end| (2, end))
                }
                _ => None,
            };
            match inside {
                Some((start, length)) => {
                    let commands = &chars[place + start..place + start + length];
                    self.tokens.push(Token::Nested(commands.iter().collect()));
                    text.push(OUTPUT_MARK);
                    place += start + length + 1;
                }
                None => {
                    // A backslash keeps the next character from its meaning.
                    let is_escape = *c == '\\' && matches!(rest.first(), Some('$' | '`' | '\\'));
                    let c = if is_escape { rest[0] } else { *c };
                    text.push(c);
                    place += 1 + usize::from(is_escape);
                }
            }
        }
        text
    }

    fn read_quoted(&mut self, quote: char) {
        let rest = &self.chars[self.place..];
        let end = match quote {
            '\'' => rest.iter().position(|c| *c == quote),
            // A backslash before the last quote ends a Windows path, as in `"C:\"`.
            _ => find_closing_quote(rest).or_else(|| rest.iter().position(|c| *c == quote)),
        };
        let Some(end) = end else { return self.push(quote) };
        (self.has_word, self.is_quoted) = (true, true);
        let end = self.place + end;
        while self.place < end {
            let c = self.chars[self.place];
            self.place += 1;
            match c {
                '`' if quote == '"' => self.read_nested('`'),
                '$' if quote == '"' && self.peek(0) == Some('(') => self.read_substitution(),
                '\\' if quote == '"' && self.place < end && matches!(self.peek(0), Some('"' | '\\' | '$' | '`')) => {
                    let next = self.chars[self.place];
                    self.push(next);
                    self.place += 1;
                }
                c => self.push(c),
            }
        }
        self.place = self.place.max(end + 1);
    }

    /// Reads `$(…)`, or `$((…))`, which computes a number and runs only the commands of substitutions in it.
    fn read_substitution(&mut self) {
        self.place += 1;
        let rest = &self.chars[self.place..];
        if rest.first() == Some(&'(')
            && let Some(end) = find_closing(rest, '(', ')')
            && is_arithmetic(&rest[..end])
        {
            let end = self.place + end;
            while self.place < end {
                let is_nested = self.chars[self.place..].starts_with(&['$', '(']);
                self.place += if is_nested { 2 } else { 1 };
                if is_nested {
                    self.read_nested(')');
                }
            }
            self.place = end + 1;
            self.push(UNKNOWN_MARK);
        } else {
            self.read_nested(')');
        }
    }

    /// Reads the commands up to a closing backquote or bracket. They stand for a part of the word.
    fn read_nested(&mut self, close: char) {
        let rest = &self.chars[self.place..];
        let end = match close {
            '`' => find_unescaped(rest, close),
            _ => find_closing(rest, '(', ')'),
        };
        let end = end.unwrap_or(rest.len());
        self.tokens.push(Token::Nested(rest[..end].iter().collect()));
        self.place = (self.place + end + 1).min(self.chars.len());
        self.push(OUTPUT_MARK);
    }

    /// Reads `${…}` up to its brace: it may contain blanks.
    fn read_variable(&mut self) {
        let rest = &self.chars[self.place..];
        let rest = &rest[..rest.len().min(MAX_FUNCTION_BODY)];
        self.push('$');
        if let Some(end) = rest.iter().position(|c| matches!(c, '}' | '\n' | '(' | '`')).filter(|end| rest[*end] == '}')
        {
            for place in self.place..=self.place + end {
                match self.chars[place] {
                    '\'' | '"' => {}
                    c => self.push(c),
                }
            }
            self.place += end + 1;
        }
    }

    /// Reads `$'…'`, in which a backslash begins an escape.
    fn read_escaped_quotes(&mut self) {
        let rest = &self.chars[self.place + 1..];
        let Some(end) = find_unescaped(rest, '\'') else { return };
        let text: String = rest[..end].iter().collect();
        self.has_word = true;
        for c in decode_escapes(&text).chars() {
            self.push(c);
        }
        self.place += end + 2;
    }

    fn read_backslash(&mut self) {
        let is_windows_path = self.is_windows_path || self.word.ends_with(':');
        match self.peek(0) {
            Some('\n') => self.place += 1,
            Some(next) if !is_windows_path => {
                self.is_quoted = true;
                self.push(next);
                self.place += 1;
            }
            _ => self.push('\\'),
        }
    }
}

/// Whether the inside of `$(…)` is arithmetic: in brackets of its own, and one expression.
fn is_arithmetic(inside: &[char]) -> bool {
    inside.last() == Some(&')') && !inside.iter().any(|c| matches!(c, '`' | ';' | '\n'))
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word == wanted)
}

/// Returns the place of a character that no backslash precedes.
fn find_unescaped(chars: &[char], wanted: char) -> Option<usize> {
    let mut place = 0;
    while let Some(c) = chars.get(place) {
        match c {
            '\\' => place += 1,
            c if *c == wanted => return Some(place),
            _ => {}
        }
        place += 1;
    }
    None
}

/// Returns the place of the double quote that ends a text; quotes in `$(…)` and backquotes belong to the commands there.
fn find_closing_quote(chars: &[char]) -> Option<usize> {
    let mut place = 0;
    while let Some(c) = chars.get(place) {
        match c {
            '\\' => place += 1,
            '"' => return Some(place),
            '$' if chars.get(place + 1) == Some(&'(') => {
                let inside = chars.get(place + 2..).unwrap_or_default();
                match find_closing(inside, '(', ')') {
                    Some(length) => place += 2 + length,
                    // A bracket that is never closed must not be searched for again and again.
                    None => return find_unescaped(inside, '"').map(|length| place + 2 + length),
                }
            }
            _ => {}
        }
        place += 1;
    }
    None
}

/// Returns the length of a here-document that a text begins with after `<<`, up to the start of its last line.
fn skip_document(chars: &[char]) -> Option<usize> {
    let start = chars.iter().take_while(|c| matches!(c, '-' | '\'' | '"' | '\\')).count();
    let word: Vec<char> =
        chars.get(start..)?.iter().take_while(|c| c.is_alphanumeric() || **c == '_').copied().collect();
    let mut place = start + word.len();
    if word.is_empty() {
        return None;
    }
    loop {
        place += chars.get(place..)?.iter().position(|c| *c == '\n')? + 1;
        let line = chars.get(place..)?;
        let tabs = line.iter().take_while(|c| **c == '\t' || **c == ' ').count();
        let line = line.get(tabs..)?;
        if line.starts_with(&word) && line.get(word.len()).is_none_or(|c| matches!(c, '\n' | '\r' | ')')) {
            return Some(place);
        }
    }
}

/// Returns the place of the bracket that closes one before the text; brackets in quotes do not count.
fn find_closing(chars: &[char], open: char, close: char) -> Option<usize> {
    let (mut place, mut depth) = (0, 0usize);
    let mut has_open_document = false;
    while let Some(c) = chars.get(place) {
        match *c {
            '\\' => place += 1,
            // A here-document may hold any quotes and brackets. The end of one that has none is searched for once.
            '<' if chars[place + 1..].starts_with(&['<']) && !has_open_document => {
                let length = skip_document(&chars[place + 2..]);
                has_open_document = length.is_none();
                place += 1 + length.unwrap_or(0);
            }
            '\'' => place += chars[place + 1..].iter().position(|c| *c == '\'').map_or(0, |length| length + 1),
            '"' => place += find_unescaped(&chars[place + 1..], '"').map_or(0, |length| length + 1),
            c if c == open => depth += 1,
            c if c == close && depth == 0 => return Some(place),
            c if c == close => depth -= 1,
            _ => {}
        }
        place += 1;
    }
    None
}
