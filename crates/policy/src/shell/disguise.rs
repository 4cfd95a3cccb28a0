//! Programs under another name: variables within a name, copies and links, and commands in the subscripts of arrays.

use super::lexer::{Token, divide};
use super::marks::FILE_MARK;
use super::output::CommandOutput;
use super::spelling::find_program_name;
use super::{MAX_FUNCTION_CALLS, ShellReader};

/// The most other names of programs that are followed.
const MAX_OTHER_NAMES: usize = 32;

/// The programs that compute, and so run the substitutions in subscripts of arrays, even if the words are quoted.
const COMPUTING_PROGRAMS: [&str; 14] = [
    "let",
    "test",
    "[",
    "[[",
    "unset",
    "printf",
    "read",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "mapfile",
    "readarray",
];

/// Another name of a program, which a copy or a link gives it.
#[derive(Debug)]
pub(super) struct OtherName {
    path: String,
    program: String,
}

impl ShellReader {
    /// Notes a program that gets another name: `cp /bin/rm q`, `ln -s /bin/rm q`, `hash -p /bin/rm q`.
    pub(super) fn note_other_name(&mut self, program: &str, words: &[String]) {
        if !matches!(program, "cp" | "mv" | "ln" | "install" | "link" | "hash") {
            return;
        }
        let mut named = words.iter().filter(|word| !word.starts_with(['-', '>', '<'])).rev();
        let (Some(path), Some(source)) = (named.next(), named.next()) else { return };
        let folder = match source.rsplit_once('/') {
            Some((folder, _)) => Some(folder),
            None => self.scope.folder.as_deref(),
        };
        let copied = self.other_names.iter().find(|known| known.path == *source);
        // The output of `which rm` is read as `rm`, without a folder.
        let is_program = copied.is_some() || folder.is_none_or(|folder| folder.ends_with("bin"));
        let program = copied.map_or(find_program_name(source), |copied| copied.program.as_str());
        if is_program && program != find_program_name(path) && self.other_names.len() < MAX_OTHER_NAMES {
            let program = program.to_owned();
            self.other_names.push(OtherName { path: path.clone(), program });
        }
    }

    /// Reads a command once more with the program that a name of the text stands for.
    pub(super) fn read_other_name(&mut self, words: &[String]) {
        let Some((name, rest)) = words.split_first() else { return };
        let is_same = |known: &str| known == name || known.rsplit('/').next() == Some(name);
        let known = self.other_names.iter().find(|known| is_same(&known.path));
        let Some(program) = known.map(|known| known.program.clone()) else { return };
        if self.function_calls >= MAX_FUNCTION_CALLS {
            self.found.is_incomplete = true;
            return;
        }
        self.function_calls += 1;
        let words = [program].into_iter().chain(rest.iter().cloned()).collect();
        self.read_in_subshell(|shell| shell.run_words(words, CommandOutput::default()));
    }

    /// Reads a command once more without the variables in its name and its short options: they may be empty, as in
    /// `r${x}m`.
    pub(super) fn read_without_variables(&mut self, words: &[String]) {
        let Some((name, rest)) = words.split_first() else { return };
        let Some(bare) = remove_variables(name) else { return };
        let is_option =
            |word: &str| word.starts_with('-') && word.trim_start_matches('-').starts_with(char::is_alphabetic);
        // With other values it is another program, if this is a command at all. Other languages have such words, too.
        let is_ending = !name.contains(['{', '@', '*']) && name.starts_with(&bare) && bare.len() > 2;
        let has_arguments = rest.iter().any(|word| is_option(word) || word.starts_with(['/', '~']));
        self.found.is_incomplete |= has_arguments && !is_ending;
        let rest = rest.iter().map(|word| match remove_variables(word) {
            Some(option) if is_option(word) => option,
            _ => word.clone(),
        });
        let words = [bare].into_iter().chain(rest).collect();
        self.read_in_subshell(|shell| shell.run_words(words, CommandOutput::default()));
    }

    /// Reads the commands that a program runs where it computes a subscript: `let 'a[$(rm x)]=1'`.
    pub(super) fn read_subscripts(&mut self, program: &str, words: &[String]) {
        if COMPUTING_PROGRAMS.contains(&program) {
            for word in words.iter().filter(|word| program == "let" || word.contains('[')) {
                self.read_substitutions(word);
            }
        }
    }

    /// Reads the commands in the substitutions of a text.
    pub(super) fn read_substitutions(&mut self, text: &str) {
        if !text.contains("$(") && !text.contains('`') {
            return;
        }
        for token in divide(text) {
            if let Token::Nested(text) = token {
                self.read_nested(Some(text));
            }
        }
    }
}

/// Returns the name of a program or an option without the variables in it; none if it has none, or is no such name.
fn remove_variables(word: &str) -> Option<String> {
    let mut bare = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        bare.push_str(before);
        let length = match after.chars().next()? {
            '{' => after.find('}')? + 1,
            '@' | '*' | '!' | '?' | '#' | '-' | '0'..='9' => 1,
            _ => after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len()),
        };
        rest = after.get(length..).filter(|_| length > 0)?;
    }
    bare.push_str(rest);
    let is_name = bare.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+'));
    (bare.len() < word.len() && is_name && bare.contains(|c: char| c.is_ascii_alphabetic())).then_some(bare)
}

/// Joins `NAME=` with the file `<(…)` after it, which is its value.
pub(super) fn join_assigned_files(words: &mut Vec<String>) {
    let mut place = 1;
    while place < words.len() {
        if words[place].starts_with(FILE_MARK) && words[place - 1].ends_with('=') {
            let file = words.remove(place);
            words[place - 1].push_str(&file);
        } else {
            place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_commands;
    use super::super::tests::check_command as check;

    #[test]
    fn shell_program_name_with_variables_is_read() {
        for text in [
            "r${x}m -rf /",
            "r$@m -rf /",
            "${x}rm -rf /",
            "sudo r$*m -r${x}f /",
            "rm$x -rf /",
            "IFS=,; c=rm,-rf,/; $c",
            "mapfile -t a <<< 'rm -rf /'; eval \"${a[0]}\"",
            "mapfile -t a <<< $'rm\\n-rf\\n/'; \"${a[@]}\"",
        ] {
            check(text, "rm -rf /");
        }
        for text in [
            "r${x}m -rf /",
            "${x}cp -r a b",
            "a${x}b --now",
            "mapfile -t a < x; eval \"${a[0]}\"",
            "${a[1]} -rf /",
            "a=(/ -rf rm); ${a[2]} -rf /",
            "r$x -rf /",
        ] {
            assert!(read_commands(text, None).is_incomplete, "{text}");
        }
        for text in [
            "python$VERSION -m pytest",
            "gcc-$V -O2 x.c",
            "cp=(ls -l); \"${cp[@]}\"",
            "df$column <- 3",
            "console.log(`item${i}`)",
            "./build-$ARCH.sh -v",
            "\"$DIR/tool\" -x",
            "IFS=, read -r a b <<< x,y; echo \"$a\"",
            "echo a${x}b -c",
            "mapfile -t files < <(ls); echo \"${files[@]}\"",
        ] {
            assert!(!read_commands(text, None).is_incomplete, "{text}");
        }
    }

    #[test]
    fn shell_subscript_runs_its_substitution() {
        for text in [
            "let 'a[$(rm -rf /)]=1'",
            "[[ -v 'a[$(rm -rf /)]' ]]",
            "test -v 'a[`rm -rf /`]'",
            "unset 'a[$(rm -rf /)]'",
            "printf -v 'a[$(rm -rf /)]' x",
            "read 'a[$(rm -rf /)]' <<< y",
            "declare 'a[$(rm -rf /)]=1'",
            "x='a[$(rm -rf /)]'; (( x ))",
        ] {
            check(text, "rm -rf /");
        }
        for text in ["[[ $x == y[0-9] ]]", "let i=i+1", "unset 'a[1]'", "echo 'a[$(rm -rf /)]'"] {
            let read = read_commands(text, None);
            assert!(!read.is_incomplete && !read.commands.iter().any(|command| command == "rm -rf /"), "{text}");
        }
    }

    #[test]
    fn shell_variable_that_runs_is_read() {
        for text in [
            "PS4='$(rm -rf /)'; set -x; ls",
            "export PS4='+ `rm -rf /`'",
            "BASH_ENV=<(echo rm -rf /) bash -c true",
            "export ENV=<(echo rm -rf /); sh",
            "echo 'rm -rf /' > x; BASH_ENV=x bash -c true",
            "export PROMPT_COMMAND='rm -rf /'",
            "MANPAGER='rm -rf /' man ls",
        ] {
            check(text, "rm -rf /");
        }
        for text in
            ["PS4='+ ${BASH_SOURCE}:${LINENO}: '; set -x; ls", "BASH_ENV=~/.bashrc bash -c ls", "export ENV=prod"]
        {
            assert!(!read_commands(text, None).is_incomplete, "{text}");
        }
    }

    #[test]
    fn shell_program_keeps_its_name() {
        for text in [
            "cp /bin/rm ./q; ./q -rf /",
            "ln -s /bin/rm q && ./q -rf /",
            "ln -sf $(which rm) /srv/q; /srv/q -rf /",
            "cd /bin; cp rm /srv/q; /srv/q -rf /",
            "cp /bin/busybox q; ./q rm -rf /",
            "cp /bin/rm q; ln q ./p; ./p -rf /",
            "cp /bin/sh q; ./q -c './q -c \"rm -rf /\"'",
            "hash -p /bin/rm ls; ls -rf /",
            "install -m 755 /bin/rm q; sudo ./q -rf /",
        ] {
            check(text, "rm -rf /");
        }
        let read = read_commands("cp config/rm q; ./q -rf /; ln -s ../lib.sh lib; ./lib", None);
        assert!(!read.is_incomplete && !read.commands.iter().any(|command| command.starts_with("rm ")));
    }
}
