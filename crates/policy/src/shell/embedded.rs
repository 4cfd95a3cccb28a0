//! Commands within the words of programs that are no shells: `awk`, editors, `sed`, `tar`, clients of databases, `git`,
//! `make`, `crontab`.

use super::ShellReader;
use super::lexer::{Token, divide};
use super::marks::FILE_MARK;
use super::output::CommandOutput;

/// The settings of `git` whose values run as commands.
const GIT_COMMAND_SETTINGS: [&str; 9] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "sequence.editor",
    "diff.external",
    "credential.helper",
    "gpg.program",
];

/// The variables whose values other programs run as commands.
const COMMAND_VARIABLES: [&str; 21] = [
    "PAGER",
    "GIT_PAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_SEQUENCE_EDITOR",
    "PROMPT_COMMAND",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "PSQL_PAGER",
    "SUDO_EDITOR",
    "FCEDIT",
    "GIT_SSH",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "SSH_ASKPASS",
    "RSYNC_RSH",
];

/// The variables whose substitutions a shell runs: its prompts.
const PROMPT_VARIABLES: [&str; 4] = ["PS0", "PS1", "PS2", "PS4"];

/// The variables that name a file which a shell runs first.
const START_VARIABLES: [&str; 2] = ["BASH_ENV", "ENV"];

impl ShellReader {
    /// Reads the commands that the program of `awk` runs: `system("…")` and `print | "…"`.
    pub(super) fn read_awk(&mut self, words: &[String]) {
        for word in words.iter().filter(|word| !word.starts_with(['-', '>', '<'])) {
            for token in divide(word) {
                if let Token::Call(name, texts) = token {
                    self.read_call(&name, texts);
                }
            }
            let piped = word.split('|').skip(1).filter_map(|part| part.trim_start().strip_prefix('"'));
            for text in piped.filter_map(|part| part.split('"').next()) {
                self.read_nested(Some(text.to_owned()));
            }
        }
    }

    /// Reads the commands that an editor is given as options or input: `-c ':!…'`, `!…`.
    pub(super) fn read_editor(&mut self, words: &[String], input: &CommandOutput) {
        let options = words.iter().map(String::as_str).filter(|word| !word.starts_with(['>', '<']));
        for word in options.chain(input.text.lines()) {
            if let Some((before, text)) = word.split_once('!')
                && before.trim_start_matches('+').chars().all(|c| c.is_alphabetic() || matches!(c, ':' | ' ' | '%'))
            {
                self.read_nested(Some(text.to_owned()));
            }
        }
    }

    /// Reads the commands that a script of `sed` runs: `1e …`.
    pub(super) fn read_sed(&mut self, words: &[String]) {
        for word in words.iter().filter(|word| !word.starts_with(['>', '<'])) {
            for command in word.split(['\n', ';', '{', '}']) {
                let text = skip_address(command).strip_prefix("e ");
                self.read_nested(text.map(str::to_owned));
            }
        }
    }

    /// Reads the commands that `tar` runs.
    pub(super) fn read_tar(&mut self, words: &[String]) {
        let pairs = words.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
        let pairs = pairs.chain(words.iter().filter_map(|word| word.split_once('=')));
        let commands = pairs.filter_map(|(option, value)| match option {
            "--checkpoint-action" => value.strip_prefix("exec="),
            "--to-command" | "--use-compress-program" | "-I" | "--info-script" | "--new-volume-script" | "-F" => {
                Some(value)
            }
            _ => None,
        });
        let commands: Vec<String> = commands.map(str::to_owned).collect();
        commands.into_iter().for_each(|text| self.read_nested(Some(text)));
    }

    /// Reads the commands that a client of a database passes to a shell: `\\! …`, `.shell …`, `system …`.
    pub(super) fn read_database_client(&mut self, words: &[String], input: &CommandOutput) {
        for line in words.iter().flat_map(|word| word.lines()).chain(input.text.lines()) {
            let line = line.trim_start_matches('<').trim_start();
            let escaped = line.find("\\!").map(|place| &line[place + 2..]);
            let named = [".shell ", ".system ", "system "].iter().find_map(|name| line.strip_prefix(name));
            self.read_nested(escaped.or(named).map(str::to_owned));
        }
    }

    /// Reads the commands that `git` runs: of settings after `-c`, of aliases, and of its subcommands.
    pub(super) fn read_git(&mut self, words: &[String]) {
        for pair in words.windows(2) {
            let text = match pair[0].as_str() {
                "-c" => pair[1].split_once('=').and_then(|(name, value)| find_git_command(name, value)),
                "config" | "--global" | "--local" | "--add" => None,
                "-x" | "--exec" => Some(pair[1].clone()),
                name => find_git_command(name, &pair[1]),
            };
            self.read_nested(text);
        }
        let place = words.windows(2).position(|pair| {
            matches!([pair[0].as_str(), pair[1].as_str()], ["bisect", "run"] | ["submodule", "foreach"])
        });
        if let Some(place) = place {
            let command = words[place + 2..].iter().skip_while(|word| word.starts_with('-'));
            let command: Vec<String> = command.cloned().collect();
            match command.as_slice() {
                [text] => self.read_nested(Some(text.clone())),
                _ => {
                    self.run_words(command, CommandOutput::default());
                }
            }
        }
    }

    /// Reads a makefile: its recipes, which begin with a tab, or follow a rule after `;`.
    pub(super) fn run_makefile(&mut self, input: &CommandOutput) {
        self.note_hidden(input.rest);
        let recipe = |line: &str| match line.strip_prefix('\t') {
            Some(recipe) => Some(recipe.to_owned()),
            None => line.split_once(':')?.1.split_once(';').map(|(_, recipe)| recipe.trim_start().to_owned()),
        };
        for line in input.text.lines().filter_map(recipe) {
            self.read_nested(Some(line.trim_start_matches(['@', '-', '+']).to_owned()));
        }
    }

    /// Reads a table of times and commands.
    pub(super) fn run_crontab(&mut self, input: &CommandOutput) {
        for line in input.text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')) {
            let fields = if line.starts_with('@') { 1 } else { 5 };
            let text = line.splitn(fields + 1, char::is_whitespace).nth(fields);
            self.read_nested(text.map(str::to_owned));
        }
    }

    /// Reads the value of a variable that other programs run.
    pub(super) fn read_command_variable(&mut self, assignment: &str) {
        let Some((name, value)) = assignment.split_once('=') else { return };
        if COMMAND_VARIABLES.contains(&name) {
            self.read_nested(Some(value.to_owned()));
        } else if PROMPT_VARIABLES.contains(&name) || value.contains('[') {
            // A subscript in a value runs where something computes with the variable.
            self.read_substitutions(value);
        } else if START_VARIABLES.contains(&name) {
            match value.strip_prefix(FILE_MARK) {
                Some(content) => {
                    self.note_hidden_word(content);
                    self.read_nested(Some(content.to_owned()));
                }
                None => self.run_file(value),
            }
        }
    }
}

/// Returns a command of `sed` without the lines that it is for.
fn skip_address(command: &str) -> &str {
    let mut rest = command;
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_ascii_digit() || c.is_whitespace() || matches!(c, '$' | ',' | '!' | '~' | '+')
        });
        match rest.strip_prefix('/').and_then(|pattern| pattern.split_once('/')) {
            Some((_, after)) => rest = after,
            None => return rest,
        }
    }
}

/// Returns the command of a setting, if it is one whose value runs.
fn find_git_command(name: &str, value: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let is_command = GIT_COMMAND_SETTINGS.contains(&name.as_str()) || name.starts_with("pager.");
    match value.strip_prefix('!') {
        Some(text) if is_command || name.starts_with("alias.") => Some(text.to_owned()),
        None if is_command => Some(value.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_commands;
    use super::super::tests::check_command as check;

    #[test]
    fn shell_commands_of_other_programs_are_read() {
        for text in [
            "awk 'BEGIN{system(\"rm -rf x\")}'",
            "awk '{print | \"rm -rf x\"}' y",
            "vim -c ':!rm -rf x' -c ':q'",
            "nvim +'silent !rm -rf x' y",
            "git -c core.pager='rm -rf x' log",
            "git -c alias.y='!rm -rf x' y",
            "git config --global alias.y '!rm -rf x'",
            "git submodule foreach 'rm -rf x'",
            "git submodule foreach --recursive rm -rf x",
            "git bisect run rm -rf x",
            "git rebase -i --exec 'rm -rf x' main",
            "GIT_PAGER='rm -rf x' git log",
            "make -f - <<< $'all:\\n\\t@rm -rf x'",
            "make -f - <<< 'all:; rm -rf x'",
            "ed y <<< '!rm -rf x'",
            "sed '1e rm -rf x' y",
            "sed -n '/a/,$ e rm -rf x' y",
            "tar cf a.tar y --checkpoint=1 --checkpoint-action=exec='rm -rf x'",
            "tar xf a.tar --to-command 'rm -rf x'",
            "psql -c '\\! rm -rf x'",
            "mysql <<< 'system rm -rf x'",
            "sqlite3 y '.shell rm -rf x'",
            "ruby -e 'system \"rm -rf x\"'",
            "ansible all -m shell -a 'rm -rf x'",
            "screen -dmS work rm -rf x",
            "valgrind --tool=none rm -rf x",
            "gdb --args rm -rf x",
            "direnv exec . rm -rf x",
            "op run --env-file=.env -- rm -rf x",
            "sshpass -p y rm -rf x",
            "(crontab -l; echo '* * * * * rm -rf x') | crontab -",
            "echo '@daily rm -rf x' | crontab -",
            "echo rm -rf x | at now",
            "tmux send-keys -t 0 'rm -rf x' Enter",
        ] {
            check(text, "rm -rf x");
        }
    }

    #[test]
    fn shell_words_of_other_programs_are_no_commands() {
        for (text, expected) in [
            ("awk '$3 > 100 {print $1}' x", "awk $3_>_100_{print_$1} x"),
            ("vim -c 'set nu' x", "vim -c set_nu x"),
            ("git config alias.st status", "git config alias.st status"),
            ("git commit -m 'rm -rf x!'", "git commit -m rm_-rf_x!"),
        ] {
            let read = read_commands(text, None);
            assert_eq!(read.commands, [expected], "{text}");
            assert!(!read.is_incomplete, "{text}");
        }
    }
}
