//! Reads the commands that a shell would run from a text, in one spelling for all ways to write them.
//!
//! `sudo /bin/rm -r"f" "$HOME"/`, `bash -c 'rm -rf ~'` and `cd ~ && rm -rf .` all contain the command `rm -rf ~`. A
//! policy compares commands with patterns, and each pattern would have to know all those spellings. The reading is no
//! shell: files, aliases and most variables are unknown to it. It never fails, its work grows with the text, and it
//! says if a command may run that it could not read.

mod container;
mod disguise;
mod download;
mod embedded;
mod file;
mod launcher;
mod lexer;
mod marks;
mod output;
mod program;
mod scope;
mod search;
mod spelling;

use std::collections::VecDeque;
use std::rc::Rc;

use disguise::{OtherName, join_assigned_files};
use file::WrittenFile;
use lexer::{Token, divide};
use marks::{FILE_MARK, NETWORK_MARK, OUTPUT_MARK, UNKNOWN_MARK, remove_marks};
use output::{CommandOutput, OutputRest};
use scope::{ShellScope, is_one_variable};
use spelling::{BareCommand, join_words, resolve_path};

/// How deep commands may contain commands, as in `sh -c "sh -c '…'"`.
const MAX_NESTED_COMMANDS: usize = 6;

/// The most commands that are read from one text.
const MAX_COMMANDS: usize = 4096;

/// The most bytes of words and commands that are made from one text, beyond twice its length: a variable of many values
/// may stand in many words.
const MAX_MADE_BYTES: usize = 1 << 20;

/// The most calls of functions whose bodies are read.
const MAX_FUNCTION_CALLS: usize = 64;

/// The deepest brackets whose folder and variables are told apart.
const MAX_OPEN_BRACKETS: usize = 64;

/// The longest output that becomes part of a word.
const MAX_OUTPUT_IN_WORD: usize = 256;

/// The programs whose arguments are paths, which are resolved.
const PATH_PROGRAMS: [&str; 17] = [
    "rm",
    "chmod",
    "chown",
    "chgrp",
    "setfacl",
    "find",
    "mv",
    "cp",
    "shred",
    "srm",
    "rimraf",
    "del",
    "erase",
    "rd",
    "rmdir",
    "remove-item",
    "ri",
];

/// The programs whose input counts as one of their words, if the text shows it: clients of databases, and interpreters.
const INPUT_PROGRAMS: [&str; 21] = [
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlcmd",
    "duckdb",
    "bq",
    "snowsql",
    "clickhouse-client",
    "cockroach",
    "cqlsh",
    "mongosh",
    "mongo",
    "redis-cli",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "deno",
];

/// The functions of programming languages that run a command and do nothing else: without a text in the call, the
/// command is unknown.
const SHELL_FUNCTIONS: [&str; 9] =
    ["system", "popen", "Popen", "check_output", "getoutput", "getstatusoutput", "execSync", "shell_exec", "passthru"];

/// The commands of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellCommands {
    /// Each command as its words, with a blank between them.
    pub(crate) commands: Vec<String>,
    /// Whether a command may run that is not among them: text of unknown content runs as commands, or a limit was
    /// reached.
    pub(crate) is_incomplete: bool,
}

/// Reads the commands of a text. It runs in a folder, if that is known.
pub(crate) fn read_commands(text: &str, folder: Option<&str>) -> ShellCommands {
    let mut shell = ShellReader::new(folder, text.len());
    shell.read_text(&remove_marks(text), CommandOutput::default());
    shell.found
}

/// Reads the command that a list of words is, such as `["bash", "-c", "…"]`, and the commands in it.
pub(crate) fn read_word_list(words: Vec<String>, folder: Option<&str>) -> ShellCommands {
    let mut shell = ShellReader::new(folder, words.iter().map(String::len).sum());
    let words = words.iter().flat_map(|word| shell.expand(remove_marks(word).into_owned())).collect();
    shell.read_words(words, CommandOutput::default());
    shell.found
}

/// What is known at a place of a text.
#[derive(Debug)]
struct ShellReader {
    found: ShellCommands,
    scope: Rc<ShellScope>,
    depth: usize,
    /// The functions whose bodies are being read.
    running: Vec<String>,
    function_calls: usize,
    /// How many bytes may still be made.
    left_bytes: usize,
    /// The files that the text writes.
    files: Vec<WrittenFile>,
    /// The programs to which the text gives another name.
    other_names: Vec<OtherName>,
}

/// A text that is being read, command by command.
#[derive(Default)]
struct OpenText {
    words: Vec<String>,
    input: CommandOutput,
    /// What the commands so far have written.
    output: CommandOutput,
    /// What the commands within the next word write.
    nested: VecDeque<CommandOutput>,
    is_piped: bool,
    /// Whether the next words are what a call in a programming language passes.
    is_call: bool,
    /// The brackets around, each with the scope and the output before it.
    brackets: Vec<(Rc<ShellScope>, CommandOutput)>,
    /// Brackets that are too deep to be kept.
    deep_brackets: usize,
}

impl ShellReader {
    fn new(folder: Option<&str>, text_bytes: usize) -> ShellReader {
        let scope = ShellScope::new(folder.map(|folder| resolve_path(folder, None)));
        let found = ShellCommands::default();
        ShellReader {
            found,
            scope: Rc::new(scope),
            depth: 0,
            running: Vec::new(),
            function_calls: 0,
            left_bytes: MAX_MADE_BYTES + 2 * text_bytes,
            files: Vec::new(),
            other_names: Vec::new(),
        }
    }

    /// Reads the commands of a text, the first of which reads `input`. Returns what they write.
    fn read_text(&mut self, text: &str, input: CommandOutput) -> CommandOutput {
        if self.depth >= MAX_NESTED_COMMANDS {
            self.found.is_incomplete |= !text.trim().is_empty();
            return CommandOutput { rest: OutputRest::Hidden, ..CommandOutput::default() };
        }
        self.depth += 1;
        let mut open = OpenText { input, ..OpenText::default() };
        for token in divide(text) {
            self.read_token(token, &mut open);
        }
        self.depth -= 1;
        while let Some((_, before)) = open.brackets.pop() {
            let inner = std::mem::replace(&mut open.output, before);
            open.output.append(inner);
        }
        open.output
    }

    fn read_token(&mut self, token: Token, open: &mut OpenText) {
        match token {
            Token::Word(word) if word.chars().eq([OUTPUT_MARK]) => {
                let output = fill_outputs(word, &mut open.nested);
                open.words.extend(output.split_whitespace().map(str::to_owned));
            }
            Token::Word(word) => open.words.extend(self.expand(fill_outputs(word, &mut open.nested))),
            Token::Target(target) => {
                let targets = self.expand(fill_outputs(target, &mut open.nested));
                open.words.extend(targets.into_iter().map(|target| format!(">{target}")));
            }
            Token::Source(source) => {
                for source in self.expand(fill_outputs(source, &mut open.nested)) {
                    match source.strip_prefix(FILE_MARK) {
                        Some(content) => open.input = CommandOutput::from_word(content),
                        None => open.words.push(format!("<{source}")),
                    }
                }
            }
            Token::Input(text) => {
                let text = self.expand(fill_outputs(text, &mut open.nested)).join(" ");
                open.input = CommandOutput { text, rest: OutputRest::Nothing };
            }
            Token::Nested(text) => {
                let output = self.read_in_subshell(|shell| shell.read_text(&text, CommandOutput::default()));
                open.nested.push_back(output);
            }
            Token::Function(name, body) => self.define_function(&name, body),
            Token::Call(name, texts) => self.read_call(&name, texts),
            Token::Open { is_call } => {
                // What comes before the bracket of a call names no program.
                open.is_call |= is_call;
                self.end_command(&Token::End, open);
                open.is_call = is_call;
                match open.brackets.len() < MAX_OPEN_BRACKETS {
                    true => open.brackets.push((Rc::clone(&self.scope), std::mem::take(&mut open.output))),
                    false => open.deep_brackets += 1,
                }
            }
            Token::Close if open.deep_brackets > 0 => open.deep_brackets -= 1,
            Token::Close => {
                if let Some((scope, before)) = open.brackets.pop() {
                    self.scope = scope;
                    // The input of a pipe after the bracket is what is in it.
                    open.input = std::mem::replace(&mut open.output, before);
                    open.output.append(open.input.clone());
                }
            }
            Token::End | Token::Background | Token::Pipe => self.end_command(&token, open),
        }
    }

    fn end_command(&mut self, end: &Token, open: &mut OpenText) {
        let words = std::mem::take(&mut open.words);
        let input = std::mem::take(&mut open.input);
        let is_subshell = open.is_piped || *end != Token::End;
        open.is_piped = *end == Token::Pipe;
        if words.is_empty() {
            if open.is_piped {
                // The output of commands in brackets or of a loop.
                open.input = if input.text.is_empty() { std::mem::take(&mut open.output) } else { input };
            }
            return;
        }
        if !std::mem::take(&mut open.is_call) {
            self.note_unknown_program(&words, open.is_piped);
        }
        let is_end_of_loop = matches!(words[0].as_str(), "done" | "fi" | "esac");
        let output = match is_subshell {
            true => self.read_in_subshell(|shell| shell.read_words(words, input)),
            false => self.read_words(words, input),
        };
        match open.is_piped {
            true if is_end_of_loop => open.input = std::mem::take(&mut open.output),
            true => open.input = output,
            false => open.output.append(output),
        }
    }

    /// Notes that the program of a command is unknown text.
    fn note_unknown_program(&mut self, words: &[String], is_piped: bool) {
        let bare = BareCommand::new(words.to_vec());
        let Some((program, rest)) = bare.words.split_first() else { return };
        self.note_hidden_word(program);
        // A variable before `=` or a pipe is the value of one, in languages other than that of a shell. In `[[ … && … ]]` it
        // is compared.
        let is_value = match rest.first().map(String::as_str) {
            Some("->" | "." | "," | "+" | "-" | "in" | "is" | "~" | "=~" | "]]") => true,
            Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => true,
            Some(next) => next.ends_with('='),
            None => is_piped,
        };
        self.found.is_incomplete |= is_one_variable(program) && !is_value;
    }

    /// Reads something whose folder and variables are gone after it.
    fn read_in_subshell<T>(&mut self, read: impl FnOnce(&mut ShellReader) -> T) -> T {
        let scope = Rc::clone(&self.scope);
        let read = read(self);
        self.scope = scope;
        read
    }

    fn add(&mut self, command: String) {
        match self.found.commands.len() < MAX_COMMANDS && self.may_make(command.len()) {
            true => self.found.commands.push(command),
            false => self.found.is_incomplete = true,
        }
    }

    /// Whether so many bytes may still be made, which then count. Otherwise something is left out, and all that follows.
    fn may_make(&mut self, bytes: usize) -> bool {
        let left = self.left_bytes.checked_sub(bytes);
        self.found.is_incomplete |= left.is_none();
        self.left_bytes = left.unwrap_or(0);
        left.is_some()
    }

    /// Replaces variables in a word, as [`ShellScope::expand`] does.
    fn expand(&mut self, word: String) -> Vec<String> {
        if self.left_bytes == 0 {
            return vec![word];
        }
        let words = self.scope.expand(word);
        match words.len() == 1 || self.may_make(words.iter().map(String::len).sum()) {
            true => words,
            false => Vec::new(),
        }
    }

    /// Reads the body of a function where it is defined, since something else may call it. A function that calls itself
    /// twice by a pipe in the background is a fork bomb, spelled `name(){name|name&}`.
    fn define_function(&mut self, name: &str, body: String) {
        if is_fork_bomb(name, &body) {
            self.add(format!("{name}(){{{name}|{name}&}}"));
        }
        self.read_in_subshell(|shell| shell.read_text(&body, CommandOutput::default()));
        Rc::make_mut(&mut self.scope).define_function(name, body);
    }

    /// Returns the body of a function, unless it is being read already.
    fn find_callable(&mut self, name: &str) -> Option<String> {
        let body = self.scope.find_function(name)?;
        if self.running.iter().any(|running| running == name) {
            return None;
        }
        if self.function_calls >= MAX_FUNCTION_CALLS {
            self.found.is_incomplete = true;
            return None;
        }
        Some(body.to_owned())
    }

    /// Reads the body of a function again where it is called, with the words that the call passes.
    fn call_function(&mut self, name: &str, body: &str, words: &[String], input: CommandOutput) -> CommandOutput {
        self.function_calls += 1;
        let scope = Rc::make_mut(&mut self.scope);
        for (place, word) in words.iter().take(9).enumerate() {
            scope.define(&(place + 1).to_string(), vec![word.clone()]);
        }
        for all in ["@", "*"] {
            scope.define(all, words.to_vec());
        }
        self.running.push(name.to_owned());
        let output = self.read_text(body, input);
        self.running.pop();
        output
    }

    /// Reads a call of a programming language that runs a command or removes a folder.
    fn read_call(&mut self, name: &str, mut texts: Vec<String>) {
        if matches!(
            name,
            "rmtree" | "rmSync" | "rmdirSync" | "rimraf" | "rm_rf" | "removeSync" | "remove_dir_all" | "remove_tree"
        ) {
            texts.truncate(1);
            texts.splice(0..0, ["rm".to_owned(), "-r".to_owned()]);
            self.read_words(texts, CommandOutput::default());
        } else if texts.is_empty() {
            self.found.is_incomplete |= SHELL_FUNCTIONS.contains(&name);
        } else if let [text] = &texts[..] {
            self.read_in_subshell(|shell| shell.read_text(text, CommandOutput::default()));
        } else {
            self.read_words(texts, CommandOutput::default());
        }
    }

    /// Reads one command, and returns what it writes.
    fn read_words(&mut self, mut words: Vec<String>, input: CommandOutput) -> CommandOutput {
        join_assigned_files(&mut words);
        let mut bare = BareCommand::new(words);
        for text in std::mem::take(&mut bare.texts) {
            self.read_nested(Some(text));
        }
        if bare.words.is_empty() {
            for word in &bare.assignments {
                self.read_command_variable(word);
                Rc::make_mut(&mut self.scope).assign(word);
            }
            return CommandOutput::default();
        }
        if bare.assignments.is_empty() {
            return self.read_bare_command(&mut bare, input);
        }
        // The assignments hold for this command only.
        self.read_in_subshell(|shell| {
            for word in &bare.assignments {
                shell.read_command_variable(word);
                Rc::make_mut(&mut shell.scope).assign(word);
            }
            shell.read_bare_command(&mut bare, input)
        })
    }

    fn read_bare_command(&mut self, bare: &mut BareCommand, input: CommandOutput) -> CommandOutput {
        let words = &mut bare.words;
        let program = words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        if bare.is_text {
            let text = words.join(" ");
            self.read_in_subshell(|shell| shell.read_text(&text, CommandOutput::default()));
        }
        let takes_input = bare.takes_input_as_arguments || matches!(program.as_str(), "remove-item" | "ri");
        if takes_input && self.may_make(input.text.len()) {
            let is_end = |c: char| c.is_whitespace() || c == '\0';
            words.extend(input.text.split(is_end).filter(|word| !word.is_empty()).map(str::to_owned));
        }
        if INPUT_PROGRAMS.contains(&program.as_str()) && !input.text.is_empty() && self.may_make(input.text.len()) {
            words.push(format!("<<{}", input.text));
        }
        self.read_without_variables(words);
        self.read_other_name(words);
        self.read_launched(&program, words.get(1..).unwrap_or_default(), &input);
        self.read_subscripts(&program, words.get(1..).unwrap_or_default());
        self.note_downloads(&program, words);
        if let Some(name) = words.first() {
            self.run_file(name);
        }
        let output = match words.split_first() {
            Some((name, rest)) => match self.find_callable(name) {
                Some(body) => self.call_function(name, &body, rest, input),
                None => self.run_program(&program, rest, input),
            },
            None => CommandOutput::default(),
        };
        self.note_written(&program, words, &output);
        self.note_other_name(&program, words.get(1..).unwrap_or_default());
        if PATH_PROGRAMS.contains(&program.as_str()) {
            for word in words.iter_mut().skip(1) {
                *word = resolve_path(word, self.scope.folder.as_deref());
            }
        }
        self.add(join_words(words));
        output
    }
}

/// Whether a function calls itself twice by a pipe in the background.
fn is_fork_bomb(name: &str, body: &str) -> bool {
    let (mut calls, mut is_start) = (0, true);
    for token in divide(body) {
        match token {
            Token::Word(word) => calls += usize::from(std::mem::take(&mut is_start) && word == name),
            Token::Pipe => is_start = true,
            Token::Background if calls >= 2 => return true,
            Token::End | Token::Background => (calls, is_start) = (0, true),
            _ => {}
        }
    }
    false
}

/// Replaces each mark in a word by the output that it stands for, as far as that is known.
fn fill_outputs(word: String, nested: &mut VecDeque<CommandOutput>) -> String {
    if !word.contains(OUTPUT_MARK) {
        return word;
    }
    let is_file = word.starts_with(FILE_MARK);
    let mut filled = String::new();
    for c in word.chars() {
        if c != OUTPUT_MARK {
            filled.push(c);
            continue;
        }
        let output = nested.pop_front().unwrap_or_default();
        match is_file || output.text.len() <= MAX_OUTPUT_IN_WORD {
            true => filled.push_str(output.text.trim()),
            false => filled.push(UNKNOWN_MARK),
        }
        match output.rest {
            OutputRest::Nothing => {}
            OutputRest::Network => filled.push(NETWORK_MARK),
            _ => filled.push(UNKNOWN_MARK),
        }
    }
    filled
}

#[cfg(test)]
mod tests;
