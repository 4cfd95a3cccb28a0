//! The programs that run other commands, or that change what a shell knows.

use std::rc::Rc;

use super::container::find_container_command;
use super::marks::FILE_MARK;
use super::output::{CommandOutput, OutputRest, decode_base64};
use super::search::find_run_commands;
use super::spelling::{find_remote_command, skip_options};
use super::{MAX_NESTED_COMMANDS, ShellReader};

impl ShellReader {
    /// Reads the commands that a program runs, and notes what it changes. Returns what it writes.
    pub(super) fn run_program(&mut self, program: &str, words: &[String], input: CommandOutput) -> CommandOutput {
        let after_option = |is_option: fn(&str) -> bool| {
            let place = words.iter().position(|word| is_option(&word.to_ascii_lowercase()))?;
            // Further options may come between it and its text, as in `sh -c -- '…'`.
            let text: Vec<&str> =
                words[place + 1..].iter().map(String::as_str).skip_while(|word| word.starts_with('-')).collect();
            Some(text.join(" "))
        };
        match find_family(program) {
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash" | "fish" | "csh" | "tcsh" | "rbash" | "nu"
            | "xonsh" | "su" | "runuser" => {
                let text = after_option(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
                let is_check = words.iter().any(|word| word == "-n");
                return match text {
                    Some(text) => self.read_in_subshell(|shell| shell.read_text(&text, input)),
                    None if is_check => CommandOutput::default(),
                    None => self.run_script(words, input),
                };
            }
            "cmd" => self.read_nested(after_option(|word| matches!(word, "/c" | "/k"))),
            "powershell" | "pwsh" => {
                let encoded = after_option(|word| "-encodedcommand".starts_with(word) && word.starts_with("-e"));
                let text = after_option(|word| "-command".starts_with(word) && word.starts_with("-c"));
                let plain = words.first().is_some_and(|word| !word.starts_with('-')).then(|| words.join(" "));
                self.found.is_incomplete |= encoded.as_deref().is_some_and(|text| decode_base64(text).is_none());
                match encoded.and_then(|text| decode_base64(&text)).or(text).or(plain) {
                    Some(text) => self.read_nested(Some(text)),
                    None => return self.run_script(words, input),
                }
            }
            "eval" => return self.read_text(&words.join(" "), input),
            "iex" | "invoke-expression" if words.is_empty() => {
                // The text is in the brackets after it, or comes from a pipe.
                self.found.is_incomplete |= input == CommandOutput::default();
                return self.run_input(input);
            }
            "iex" | "invoke-expression" => return self.read_text(&words.join(" "), input),
            "." | "source" => return self.run_script(words, input),
            "python" | "perl" | "ruby" | "node" | "php" | "bun" | "deno" | "lua" => {
                let text =
                    after_option(|word| matches!(word, "-c" | "-e" | "-r" | "-p" | "--eval" | "--print" | "eval"));
                return match text {
                    Some(text) => {
                        self.read_nested(Some(text));
                        CommandOutput { rest: OutputRest::Hidden, ..CommandOutput::default() }
                    }
                    None => self.run_script(words, input),
                };
            }
            "ssh" | "rsh" | "mosh" => {
                let text = find_remote_command(words);
                return self.read_in_subshell(|shell| {
                    // A remote command starts in the home folder there.
                    Rc::make_mut(&mut shell.scope).folder = Some("~".to_owned());
                    if text.is_empty() { shell.run_input(input) } else { shell.read_text(&text, input) }
                });
            }
            "script" => self.read_nested(after_option(|word| matches!(word, "-c" | "-qc" | "--command"))),
            "trap" => {
                if let Some(text) = words.iter().find(|word| !word.starts_with('-')) {
                    let text = text.clone();
                    self.read_nested(Some(text));
                }
            }
            "alias" => {
                for (name, text) in words.iter().filter_map(|word| word.split_once('=')) {
                    self.read_nested(Some(text.to_owned()));
                    Rc::make_mut(&mut self.scope).define_function(name, format!("{text} $@"));
                }
            }
            "cd" | "chdir" | "pushd" | "popd" | "set-location" | "sl" => {
                Rc::make_mut(&mut self.scope).change_folder(program, words);
            }
            "export" | "declare" | "typeset" | "readonly" | "local" | "set" => {
                for word in words {
                    self.read_command_variable(word);
                    Rc::make_mut(&mut self.scope).assign(word);
                }
            }
            "read" | "unset" | "mapfile" | "readarray" | "getopts" => {
                for word in words {
                    Rc::make_mut(&mut self.scope).forget(word);
                }
                let is_array = matches!(program, "mapfile" | "readarray") && input.rest == OutputRest::Nothing;
                let name = words.iter().rfind(|word| !word.starts_with(['-', '>', '<']));
                if let Some(name) = name.filter(|_| is_array && !input.text.is_empty()) {
                    let lines = input.text.lines().map(str::to_owned).collect();
                    Rc::make_mut(&mut self.scope).define(name, lines);
                }
            }
            "for" | "select" => self.start_loop(words),
            "find" => {
                for command in find_run_commands(words, self.scope.folder.as_deref()) {
                    self.run_words(command, CommandOutput::default());
                }
            }
            "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "lxc" | "incus" => {
                if let Some(command) = find_container_command(program, words).filter(|command| !command.is_empty()) {
                    return self.read_in_subshell(|shell| {
                        Rc::make_mut(&mut shell.scope).folder = None;
                        shell.run_words(command, input)
                    });
                }
            }
            "cat" => {
                let contents = words.iter().filter_map(|word| self.find_content(word));
                let shown = contents.reduce(|mut shown, next| {
                    shown.append(next);
                    shown
                });
                if let Some(shown) = shown {
                    return shown;
                }
            }
            "awk" | "gawk" | "mawk" | "nawk" => self.read_awk(words),
            "vim" | "nvim" | "vi" | "ex" | "view" | "ed" => self.read_editor(words, &input),
            "sed" | "gsed" => self.read_sed(words),
            "tar" | "bsdtar" | "gtar" => self.read_tar(words),
            "psql" | "mysql" | "mariadb" | "sqlite" => self.read_database_client(words, &input),
            "system" => self.read_nested(Some(words.join(" ").replace(',', " "))),
            "ansible" => self.read_nested(after_option(|word| matches!(word, "-a" | "--args"))),
            "git" => self.read_git(words),
            "make" | "gmake" if words.iter().any(|word| matches!(word.as_str(), "-" | "-f-" | "/dev/stdin")) => {
                self.run_makefile(&input);
            }
            "crontab" => self.run_crontab(&input),
            "at" | "batch" => return self.run_input(input),
            "screen" if words.iter().any(|word| word.starts_with("-dm") || word.starts_with("-Dm") || word == "-m") => {
                let command = skip_options(words, "ScetTph");
                return self.run_words(command.to_vec(), input);
            }
            "tmux" | "screen" => {
                for word in words.iter().filter(|word| word.contains(char::is_whitespace)) {
                    self.read_nested(Some(word.clone()));
                }
            }
            "nix-shell" => self.read_nested(after_option(|word| matches!(word, "--run" | "--command"))),
            _ => {}
        }
        CommandOutput::find(program, words, input, self.scope.folder.as_deref())
    }

    /// Gives the variable of `for NAME in …` its values.
    fn start_loop(&mut self, words: &[String]) {
        if let [name, keyword, values @ ..] = words {
            let scope = Rc::make_mut(&mut self.scope);
            match keyword == "in" {
                true => scope.define(name, values.to_vec()),
                false => scope.forget(name),
            }
        }
    }

    /// Reads the file that a shell is given, if the text has its content, or its input.
    fn run_script(&mut self, words: &[String], input: CommandOutput) -> CommandOutput {
        let reads_input = words.iter().any(|word| matches!(word.as_str(), "-s" | "-" | "/dev/stdin" | "/dev/fd/0"));
        let file = words.iter().find(|word| !word.starts_with(['-', '>', '<', '+']));
        match file.and_then(|file| file.strip_prefix(FILE_MARK)) {
            Some(content) => {
                let content = content.to_owned();
                self.note_hidden_word(&content);
                self.read_text(&content, CommandOutput::default())
            }
            None if file.is_none() || reads_input => {
                let source = words.iter().find_map(|word| word.strip_prefix('<'));
                let input = source.and_then(|source| self.find_content(source)).unwrap_or(input);
                self.run_input(input)
            }
            // A file that is somewhere else.
            None => {
                if let Some(file) = file {
                    self.run_file(file);
                }
                CommandOutput { rest: OutputRest::Hidden, ..CommandOutput::default() }
            }
        }
    }

    /// Reads the input of a shell as commands.
    fn run_input(&mut self, input: CommandOutput) -> CommandOutput {
        self.note_hidden(input.rest);
        let mut output = self.read_in_subshell(|shell| shell.read_text(&input.text, CommandOutput::default()));
        output.rest = output.rest.max(input.rest);
        output
    }

    pub(super) fn run_words(&mut self, words: Vec<String>, input: CommandOutput) -> CommandOutput {
        if self.depth >= MAX_NESTED_COMMANDS {
            self.found.is_incomplete |= !words.is_empty();
            return CommandOutput { rest: OutputRest::Hidden, ..CommandOutput::default() };
        }
        self.depth += 1;
        let output = self.read_words(words, input);
        self.depth -= 1;
        output
    }

    pub(super) fn read_nested(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.read_in_subshell(|shell| shell.read_text(&text, CommandOutput::default()));
        }
    }
}

/// Returns the name of a program without its version: `python` of `python3.12`.
fn find_family(program: &str) -> &str {
    let family = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if family.is_empty() { program } else { family }
}
