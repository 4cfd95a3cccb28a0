//! Programs that run a command from their options, or code of a language: `rsync -e`, `ssh -o ProxyCommand=`, `fd -x`.

use super::ShellReader;
use super::output::CommandOutput;
use super::spelling::{skip_options, takes_next_word};

/// Options whose value is a command as text.
const TEXT_OPTIONS: [(&str, &[&str]); 8] = [
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S"]),
    ("sftp", &["-S"]),
    ("man", &["-P", "--pager"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("git", &["-O", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--extcmd"]),
    ("hyperfine", &["-p", "--prepare", "-s", "--setup", "-c", "--cleanup"]),
];

/// Options after which all words are a command.
const WORD_OPTIONS: [(&str, &[&str]); 5] = [
    ("nix", &["-c", "--command"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("cmake", &["-E"]),
    ("just", &["-c", "--command"]),
];

/// Options whose value is code of a language that runs commands as texts.
const CODE_OPTIONS: [(&str, &[&str]); 12] = [
    ("lua", &["-e"]),
    ("luajit", &["-e"]),
    ("expect", &["-c"]),
    ("emacs", &["--eval", "-eval", "--execute", "-execute"]),
    ("osascript", &["-e"]),
    ("r", &["-e"]),
    ("rscript", &["-e"]),
    ("julia", &["-e", "-E", "--eval", "--print"]),
    ("guile", &["-c"]),
    ("groovy", &["-e"]),
    ("elixir", &["-e", "--eval"]),
    ("octave", &["--eval"]),
];

/// The settings of `ssh` whose values run as commands.
const SSH_COMMAND_SETTINGS: [&str; 3] = ["proxycommand", "localcommand", "knownhostscommand"];

impl ShellReader {
    /// Reads the commands in the options of a program, and in code that it is given.
    pub(super) fn read_launched(&mut self, program: &str, words: &[String], input: &CommandOutput) {
        for text in find_values(&TEXT_OPTIONS, program, words) {
            self.read_nested(Some(text));
        }
        for code in find_values(&CODE_OPTIONS, program, words) {
            self.read_code(&code);
        }
        if let Some(options) = find_options(&WORD_OPTIONS, program)
            && let Some(place) = words.iter().position(|word| options.contains(&word.as_str()))
        {
            // `fd` runs the command on what it finds in the paths after its pattern.
            let paths =
                words[..place].iter().filter(|word| program.starts_with("fd") && !word.starts_with('-')).skip(1);
            let command: Vec<String> = words[place + 1..].iter().chain(paths).cloned().collect();
            self.launch(command);
        }
        match program {
            "ssh" | "scp" | "sftp" => self.read_ssh_settings(words),
            "npx" | "bunx" | "pnpx" => self.launch(skip_options(words, "p").to_vec()),
            "pnpm" | "yarn" if words.first().is_some_and(|word| word == "dlx") => {
                self.launch(skip_options(&words[1..], "p").to_vec());
            }
            "entr" => self.launch(skip_options(words, "").to_vec()),
            "hyperfine" => {
                for word in words.iter().filter(|word| !word.starts_with(['-', '>', '<'])) {
                    self.read_nested(Some(word.clone()));
                }
            }
            "tclsh" | "expect" if !input.text.is_empty() => self.read_code(&input.text),
            "ftp" => self.read_editor(&[], input),
            "make" | "gmake" => {
                for text in find_values(&[(program, &["--eval"])], program, words) {
                    self.run_makefile(&CommandOutput { text, ..CommandOutput::default() });
                }
            }
            "remove-item" | "ri" if words.iter().any(|word| word.to_ascii_lowercase().starts_with("-r")) => {
                let paths = words.iter().filter(|word| word.starts_with(['/', '~']));
                for path in paths {
                    self.launch(["rm", "-rf", path].map(str::to_owned).to_vec());
                }
            }
            "git" => {
                // `ext::` runs a command whose words have `% ` for a blank.
                for text in words.iter().filter_map(|word| word.strip_prefix("ext::")) {
                    let command = text.replace("% ", "\u{1}");
                    self.launch(command.split_whitespace().map(|word| word.replace('\u{1}', " ")).collect());
                }
            }
            _ => {}
        }
    }

    fn launch(&mut self, command: Vec<String>) {
        self.read_in_subshell(|shell| shell.run_words(command, CommandOutput::default()));
    }

    /// Reads code: its calls as everywhere, and every text in quotes, which may be a command.
    fn read_code(&mut self, code: &str) {
        self.read_nested(Some(code.to_owned()));
        for quote in ['"', '\'', '`'] {
            for text in code.split(quote).skip(1).step_by(2) {
                self.read_nested(Some(text.to_owned()));
            }
        }
        for line in code.lines() {
            let command = line.trim_start().strip_prefix("spawn ");
            self.read_nested(command.map(str::to_owned));
        }
    }

    fn read_ssh_settings(&mut self, words: &[String]) {
        for text in find_values(&[("ssh", &["-o"])], "ssh", words) {
            if let Some((name, value)) = text.split_once(['=', ' '])
                && SSH_COMMAND_SETTINGS.contains(&name.to_ascii_lowercase().as_str())
            {
                self.read_nested(Some(value.to_owned()));
            }
        }
    }
}

fn find_options<'t>(table: &[(&str, &'t [&'t str])], program: &str) -> Option<&'t [&'t str]> {
    table.iter().find(|(known, _)| *known == program).map(|(_, options)| *options)
}

/// Returns the values of the options of a program in a table: the next word, or the rest of the word.
fn find_values(table: &[(&str, &[&str])], program: &str, words: &[String]) -> Vec<String> {
    let Some(options) = find_options(table, program) else { return Vec::new() };
    let mut values = Vec::new();
    for (place, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
        for option in options {
            let is_short = option.len() == 2;
            let is_option =
                word == option || (is_short && !word.starts_with("--") && takes_next_word(word, &option[1..], ""));
            let rest = word.strip_prefix(option).filter(|rest| !rest.is_empty());
            let value = match rest {
                Some(rest) if is_short => Some(rest),
                Some(rest) => rest.strip_prefix('='),
                None if is_option => words.get(place + 1).map(String::as_str),
                None => None,
            };
            values.extend(value.map(str::to_owned));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::super::read_commands;
    use super::super::tests::check_command as check;

    #[test]
    fn shell_command_in_option_is_read() {
        for text in [
            "ssh -o ProxyCommand='rm -rf /' x",
            "scp -oproxycommand='rm -rf /' a b:",
            "rsync -ave 'rm -rf /' x y:",
            "rsync --rsh='rm -rf /' x y:",
            "scp -S 'rm -rf /' a b:",
            "git grep -O'rm -rf /' x",
            "git clone ext::'sh -c rm% -rf% /' x",
            "make --eval='x:;rm -rf /' x",
            "conda run -n x rm -rf /",
            "nix shell -c rm -rf /",
            "hyperfine 'rm -rf /'",
            "fd . / -x rm -rf",
            "fd -X rm -rf /",
            "rg --pre 'rm -rf /' x",
            "man -P 'rm -rf /' ls",
            "zip -T x.zip y -TT 'rm -rf /'",
            "cmake -E rm -rf /",
            "gdb -batch -ex 'shell rm -rf /'",
            "just --command rm -rf /",
            "ls | entr -r rm -rf /",
            "ftp <<< '!rm -rf /'",
            "lua -e 'os.execute(\"rm -rf /\")'",
            "tclsh <<< 'exec rm -rf /'",
            "expect -c 'spawn rm -rf /'",
            "emacs --batch --eval '(shell-command \"rm -rf /\")'",
            "osascript -e 'do shell script \"rm -rf /\"'",
            "R -e 'system(\"rm -rf /\")'",
            "julia -e 'run(`rm -rf /`)'",
            "nu -c 'rm -rf /'",
            "xonsh -c 'rm -rf /'",
            "pwsh -c 'Remove-Item -Recurse -Force /'",
        ] {
            check(text, "rm -rf /");
        }
        check("npx -y rimraf /", "rimraf /");
    }

    #[test]
    fn shell_option_of_other_program_is_no_command() {
        for text in [
            "ssh -o StrictHostKeyChecking=no x ls",
            "rsync -av -e ssh x y:",
            "git log --oneline -5",
            "npx eslint .",
            "cmake -B build -S .",
            "nix develop -c cargo test",
            "julia -e 'println(1 + 1)'",
            "R -e 'df$x'",
            "conda run -n x python a.py",
            "fd -e rs",
        ] {
            let read = read_commands(text, None);
            assert!(!read.is_incomplete && !read.commands.iter().any(|command| command.starts_with("rm")), "{text}");
        }
    }
}
