//! Reads the commands that a shell would run from a text, in one spelling for all ways to write them.
//!
//! `sudo /bin/rm -r"f" "$HOME"/`, `bash -c 'rm -rf ~'` and `cd ~ && rm -rf .` all contain the command `rm -rf ~`. A
//! policy compares commands with patterns, and each pattern would have to know all those spellings. The reading is no
//! shell: files, aliases and most variables are unknown to it. It never fails, and its work is bounded.

mod lexer;
mod spelling;

use std::collections::VecDeque;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use lexer::{OUTPUT_MARK, Token, divide};
use spelling::{join_words, resolve_path, skip_wrappers};

/// How deep commands may contain commands, as in `sh -c "sh -c '…'"`.
const MAX_NESTED_COMMANDS: usize = 6;

/// The most commands that are read from one text.
const MAX_COMMANDS: usize = 4096;

/// The most variables that are followed.
const MAX_VARIABLES: usize = 32;

/// The longest word in which variables are replaced, and the longest value of one.
const MAX_EXPANDED_BYTES: usize = 256;

/// The programs whose arguments are paths, which are resolved.
const PATH_PROGRAMS: [&str; 16] = [
    "rm",
    "chmod",
    "chown",
    "chgrp",
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

/// Reads the commands of a text, each as its words with a blank between them.
pub(crate) fn read_commands(text: &str) -> Vec<String> {
    let mut shell = ShellReader::default();
    shell.read_text(text);
    shell.commands
}

/// Reads the command that a list of words is, such as `["bash", "-c", "…"]`, and the commands in it.
pub(crate) fn read_word_list(words: Vec<String>) -> Vec<String> {
    let mut shell = ShellReader::default();
    let words = words.into_iter().map(|word| shell.expand(word)).collect();
    shell.read_words(words, None);
    shell.commands
}

/// What is known at a place of a text.
#[derive(Debug, Default)]
struct ShellReader {
    commands: Vec<String>,
    /// The current folder, if a command chose it.
    folder: Option<String>,
    variables: Vec<(String, String)>,
    depth: usize,
}

impl ShellReader {
    /// Reads the commands of a text, and returns the output of the last one if that is known.
    fn read_text(&mut self, text: &str) -> Option<String> {
        if self.depth >= MAX_NESTED_COMMANDS {
            return None;
        }
        self.depth += 1;
        let (mut words, mut input, mut output) = (Vec::new(), None, None);
        // What the commands within the next word write.
        let mut written = VecDeque::new();
        for token in divide(text) {
            match token {
                Token::Word(word) => words.push(self.expand(fill_outputs(word, &mut written))),
                Token::Target(target) => words.push(format!(">{}", self.expand(fill_outputs(target, &mut written)))),
                Token::Input(text) => input = Some(fill_outputs(text, &mut written)),
                Token::Nested(text) => written.push_back(self.read_text(&text)),
                Token::Function(definition) => self.add(definition),
                Token::Call(name, texts) => self.read_call(&name, texts),
                Token::End if words.is_empty() => {}
                Token::End => output = self.read_words(std::mem::take(&mut words), input.take()),
                Token::Pipe => input = self.read_words(std::mem::take(&mut words), input.take()),
            }
        }
        self.depth -= 1;
        output
    }

    fn add(&mut self, command: String) {
        if self.commands.len() < MAX_COMMANDS {
            self.commands.push(command);
        }
    }

    /// Replaces the variables that are known, and all spellings of the home folder by `~`.
    fn expand(&self, word: String) -> String {
        if !word.contains(['$', '%']) || word.len() > MAX_EXPANDED_BYTES {
            return word;
        }
        let home = ["${HOME}", "$HOME", "$env:USERPROFILE", "$env:HOME", "%USERPROFILE%", "$home"];
        let mut word = home.iter().fold(word, |word, name| word.replace(name, "~"));
        for (name, value) in self.variables.iter().rev() {
            word = word.replace(&format!("${{{name}}}"), value);
            let bare = format!("${name}");
            if let Some(place) = word.find(&bare) {
                let follows = word[place + bare.len()..].chars().next();
                if follows.is_none_or(|c| !c.is_alphanumeric() && c != '_') {
                    word.replace_range(place..place + bare.len(), value);
                }
            }
        }
        word
    }

    fn define(&mut self, word: &str) {
        if let Some((name, value)) = word.split_once('=')
            && self.variables.len() < MAX_VARIABLES
            && value.len() <= MAX_EXPANDED_BYTES
            && !value.contains('$')
        {
            self.variables.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Reads a call of a programming language that runs a command or removes a folder.
    fn read_call(&mut self, name: &str, mut texts: Vec<String>) {
        if matches!(name, "rmtree" | "rmSync" | "rmdirSync" | "rimraf" | "rm_rf" | "removeSync" | "remove_dir_all") {
            texts.truncate(1);
            texts.splice(0..0, ["rm".to_owned(), "-r".to_owned()]);
            self.read_words(texts, None);
        } else if let [text] = &texts[..] {
            self.read_text(text);
        } else {
            self.read_words(texts, None);
        }
    }

    /// Reads one command, and returns its output if that is known.
    fn read_words(&mut self, words: Vec<String>, input: Option<String>) -> Option<String> {
        let is_argument_list = words.iter().any(|word| word == "xargs" || word == "parallel");
        let (assignments, mut words) = skip_wrappers(words);
        for word in &assignments {
            self.define(word);
        }
        let program = words.first()?.to_ascii_lowercase();
        let rest = || words.get(1..).unwrap_or_default();
        let after_option = |is_option: fn(&str) -> bool| {
            let place = rest().iter().position(|word| is_option(&word.to_ascii_lowercase()))?;
            Some(rest()[place + 1..].join(" "))
        };
        match program.as_str() {
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "su" | "runuser" => {
                let text = after_option(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
                self.read_nested(text.or(input.clone()));
            }
            "cmd" => self.read_nested(after_option(|word| matches!(word, "/c" | "/k"))),
            "powershell" | "pwsh" => {
                let encoded = after_option(|word| "-encodedcommand".starts_with(word) && word.starts_with("-e"));
                let text = after_option(|word| "-command".starts_with(word) && word.starts_with("-c"));
                let plain = rest().first().is_some_and(|word| !word.starts_with('-')).then(|| rest().join(" "));
                self.read_nested(encoded.and_then(|text| decode_base64(&text)).or(text).or(plain).or(input.clone()));
            }
            "eval" | "iex" | "invoke-expression" => self.read_nested(Some(rest().join(" "))),
            "python" | "python3" | "perl" | "ruby" | "node" | "php" => {
                let text = after_option(|word| matches!(word, "-c" | "-e" | "-r" | "--eval"));
                self.read_nested(text.or(input.clone()));
            }
            "cd" | "chdir" | "pushd" | "set-location" | "sl" => {
                let folder = rest().iter().find(|word| !word.starts_with('-') && *word != "/d");
                let folder = folder.map_or("~", String::as_str);
                self.folder = Some(resolve_path(folder, self.folder.as_deref()));
            }
            "export" | "declare" | "local" | "set" => {
                for word in rest().to_vec() {
                    self.define(&word);
                }
            }
            "find" => {
                let run = rest().iter().position(|word| matches!(word.as_str(), "-exec" | "-execdir" | "-ok"));
                if let Some(run) = run.filter(|_| self.depth < MAX_NESTED_COMMANDS) {
                    let inner = rest()[run + 1..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
                    self.depth += 1;
                    self.read_words(inner.cloned().collect(), None);
                    self.depth -= 1;
                }
            }
            _ => {}
        }
        let output = self.find_output(&program, rest(), input.as_deref());
        if is_argument_list || matches!(program.as_str(), "remove-item" | "ri") {
            words.extend(input.as_deref().unwrap_or_default().split_whitespace().map(str::to_owned));
        }
        if PATH_PROGRAMS.contains(&program.as_str()) {
            for word in &mut words[1..] {
                *word = resolve_path(word, self.folder.as_deref());
            }
        }
        self.add(join_words(&words));
        output
    }

    fn read_nested(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.read_text(&text);
        }
    }

    /// Returns what a command writes, if the text shows it.
    fn find_output(&self, program: &str, words: &[String], input: Option<&str>) -> Option<String> {
        let plain = || words.iter().filter(|word| !word.starts_with(['-', '>']));
        match program {
            "echo" | "printf" | "write-output" => Some(plain().cloned().collect::<Vec<_>>().join(" ")),
            "cat" | "tee" => input.map(str::to_owned),
            "base64" if words.iter().any(|word| matches!(word.as_str(), "-d" | "-D" | "--decode")) => {
                input.and_then(decode_base64)
            }
            // With a condition it lists some files only.
            "ls" | "dir" | "find" | "get-childitem" | "gci" => {
                let lists_all = words.iter().all(|word| {
                    !word.starts_with('-')
                        || matches!(word.to_ascii_lowercase().as_str(), "-a" | "-r" | "-recurse" | "-force" | "-1")
                });
                lists_all.then(|| {
                    let paths = plain().map(|word| resolve_path(word, self.folder.as_deref()));
                    paths.collect::<Vec<_>>().join(" ")
                })
            }
            _ => None,
        }
    }
}

/// Replaces each mark in a word by the output that it stands for, or by `_` if that is unknown.
fn fill_outputs(word: String, written: &mut VecDeque<Option<String>>) -> String {
    if !word.contains(OUTPUT_MARK) {
        return word;
    }
    let mut filled = String::new();
    for c in word.chars() {
        match c {
            OUTPUT_MARK => {
                let output = written.pop_front().flatten().filter(|output| output.len() <= MAX_EXPANDED_BYTES);
                filled.push_str(output.as_deref().map_or("_", str::trim));
            }
            c => filled.push(c),
        }
    }
    filled
}

/// Decodes Base64 of UTF-8 or, as PowerShell has it, UTF-16.
fn decode_base64(text: &str) -> Option<String> {
    let text = text.trim();
    let bytes = STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok()?;
    if bytes.len() % 2 == 0 && bytes.chunks(2).all(|pair| pair.get(1) == Some(&0)) {
        return Some(bytes.iter().step_by(2).map(|byte| char::from(*byte)).collect());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
