//! What a command writes, as far as the text of the command shows it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::marks::{NETWORK_MARK, has_unknown};
use super::search::{find_paths, lists_all};
use super::spelling::resolve_path;

/// The longest output that is followed.
const MAX_OUTPUT_BYTES: usize = 65_536;

/// Programs that write nothing, or nothing that another program reads.
const SILENT_PROGRAMS: [&str; 27] = [
    "cd", "chdir", "pushd", "popd", "export", "declare", "local", "set", "unset", "read", "alias", "trap", "true", ":",
    "false", "test", "[", "[[", "sleep", "shopt", "umask", "wait", "done", "fi", "esac", "for", "exit",
];

/// Programs that write what another machine sent.
pub(super) const NETWORK_PROGRAMS: [&str; 13] = [
    "curl",
    "wget",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "http",
    "https",
    "xh",
    "aria2c",
    "lynx",
    "w3m",
    "nc",
];

/// The text that a command writes, and whether it writes more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandOutput {
    pub(super) text: String,
    pub(super) rest: OutputRest,
}

/// What a command writes beside the known text; a later one hides more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OutputRest {
    /// Nothing.
    #[default]
    Nothing,
    /// The content of a file.
    File,
    /// Anything.
    Hidden,
    /// Anything that comes from another machine.
    Network,
}

impl CommandOutput {
    fn known(text: String) -> CommandOutput {
        CommandOutput { text, rest: OutputRest::Nothing }
    }

    fn unseen(rest: OutputRest) -> CommandOutput {
        CommandOutput { text: String::new(), rest }
    }

    /// Returns the output that a word stands for.
    pub(super) fn from_word(word: &str) -> CommandOutput {
        let rest = match word.contains(NETWORK_MARK) {
            true => OutputRest::Network,
            false if has_unknown(word) => OutputRest::Hidden,
            false => OutputRest::Nothing,
        };
        CommandOutput { text: word.to_owned(), rest }
    }

    /// Adds what the next command writes.
    pub(super) fn append(&mut self, next: CommandOutput) {
        self.rest = self.rest.max(next.rest);
        if next.text.is_empty() {
            return;
        }
        if self.text.len() + next.text.len() > MAX_OUTPUT_BYTES {
            self.rest = OutputRest::Hidden;
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&next.text);
    }

    /// Returns what a program with these words writes when it reads `input`.
    pub(super) fn find(program: &str, words: &[String], input: CommandOutput, folder: Option<&str>) -> CommandOutput {
        let plain = || words.iter().filter(|word| !word.starts_with(['-', '>', '<']));
        let has_source = words.iter().any(|word| word.starts_with('<'));
        match program {
            "echo" | "write-output" => {
                let words = words.iter().filter(|word| !word.starts_with('>')).map(String::as_str);
                let words = words.skip_while(|word| matches!(*word, "-n" | "-e" | "-E" | "-ne" | "-en"));
                CommandOutput::known(decode_escapes(&words.collect::<Vec<_>>().join(" ")))
            }
            "printf" => CommandOutput::known(print_format(words)),
            "cat" | "tee" | "head" | "tail" if has_source => CommandOutput::unseen(OutputRest::File),
            "cat" | "tee" | "head" | "tail" if program != "cat" || plain().next().is_none() => match program {
                "head" | "tail" if input.text.is_empty() => CommandOutput::unseen(OutputRest::File),
                _ => input,
            },
            "cat" | "type" | "get-content" => CommandOutput::unseen(OutputRest::File),
            "which" | "command" | "readlink" | "realpath" => plain()
                .next_back()
                .map_or(CommandOutput::unseen(OutputRest::Hidden), |word| CommandOutput::known(word.clone())),
            "mktemp" => CommandOutput::known(["", "tmp", "tmp.XXXXXXXXXX"].join("/")),
            "pwd" => CommandOutput::known(folder.unwrap_or(".").to_owned()),
            "base64" if words.iter().any(|word| matches!(word.as_str(), "-d" | "-D" | "--decode")) => {
                let decoded = decode_base64(&input.text).filter(|_| input.rest == OutputRest::Nothing);
                decoded.map_or(CommandOutput::unseen(input.rest.max(OutputRest::Hidden)), CommandOutput::known)
            }
            "find" => find_paths(words, folder)
                .map_or(CommandOutput::unseen(OutputRest::Hidden), |paths| CommandOutput::known(paths.join(" "))),
            "ls" | "dir" | "get-childitem" | "gci" if lists_all(words) => {
                let paths = words.iter().filter(|word| {
                    !word.starts_with(['-', '>']) && word.parse::<u32>().is_err() && !matches!(word.as_str(), "f" | "d")
                });
                let paths = paths.map(|word| resolve_path(word, folder));
                CommandOutput::known(paths.collect::<Vec<_>>().join(" "))
            }
            program if SILENT_PROGRAMS.contains(&program) || writes_settings(program, words) => {
                CommandOutput::default()
            }
            program if NETWORK_PROGRAMS.contains(&program) => CommandOutput::unseen(OutputRest::Network),
            _ => CommandOutput::unseen(input.rest.max(OutputRest::Hidden)),
        }
    }
}

/// Whether a program only writes settings for the shell that evaluates them, as `ssh-agent` does.
fn writes_settings(program: &str, words: &[String]) -> bool {
    let verb = words.first().map_or("", String::as_str);
    let verbs: &[&str] = match program {
        "ssh-agent" | "gpg-agent" | "keychain" | "dircolors" => return true,
        "brew" => &["shellenv"],
        "kubectl" | "helm" | "gh" | "glab" | "docker" | "npm" | "pnpm" | "minikube" | "kind" => &["completion"],
        "pyenv" | "rbenv" | "nodenv" | "jenv" | "goenv" | "starship" | "zoxide" | "atuin" => &["init"],
        "direnv" => &["hook", "export"],
        "fnm" | "opam" | "docker-machine" => &["env"],
        "mise" | "rtx" => &["activate", "env"],
        "conda" | "mamba" | "micromamba" => &["shell.bash", "shell.zsh"],
        _ => &[],
    };
    verbs.contains(&verb)
}

/// Returns what `printf` writes: its format, with each `%s` replaced by a word.
fn print_format(words: &[String]) -> String {
    let mut words = words.iter().filter(|word| !word.starts_with('>') && *word != "--");
    let Some(format) = words.next() else { return String::new() };
    let mut printed = String::new();
    let mut pieces = format.split('%');
    printed.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
        match rest.strip_prefix(['s', 'b', 'd', 'q', 'c', 'i']) {
            Some(rest) => {
                printed.push_str(words.next().map_or("", String::as_str));
                printed.push_str(rest);
            }
            None => printed.push_str(piece),
        }
    }
    // The format is used again for the words that are left.
    for word in words {
        printed.push(' ');
        printed.push_str(word);
    }
    decode_escapes(&printed)
}

/// Replaces the escapes of `printf` and `$'…'`: `\n`, `\x72`, `\162`, `\u0072`.
pub(super) fn decode_escapes(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('\\') {
        decoded.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        let (c, length) = match rest.chars().next() {
            Some('n' | 'r') => ('\n', 1),
            Some('t' | 'v' | 'f') => ('\t', 1),
            Some('x') => decode_number(rest, 1, 2, 16),
            Some('u') => decode_number(rest, 1, 4, 16),
            Some('U') => decode_number(rest, 1, 8, 16),
            Some('0'..='7') => decode_number(rest, 0, 4, 8),
            Some(c @ ('\\' | '\'' | '"')) => (c, 1),
            _ => ('\\', 0),
        };
        decoded.push(c);
        rest = &rest[length..];
    }
    decoded.push_str(rest);
    decoded
}

/// Returns the character that digits from a place on stand for, and the place after them.
fn decode_number(text: &str, start: usize, max_digits: usize, radix: u32) -> (char, usize) {
    let digits = text[start..].chars().take(max_digits).take_while(|c| c.is_digit(radix)).count();
    let value = u32::from_str_radix(&text[start..start + digits], radix).ok();
    (value.and_then(char::from_u32).unwrap_or('\\'), if value.is_some() { start + digits } else { 0 })
}

/// Decodes Base64 of UTF-8 or, as PowerShell has it, UTF-16.
pub(super) fn decode_base64(text: &str) -> Option<String> {
    let text = text.trim();
    let bytes = STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok()?;
    if bytes.len() % 2 == 0 && bytes.chunks(2).all(|pair| pair.get(1) == Some(&0)) {
        return Some(bytes.iter().step_by(2).map(|byte| char::from(*byte)).collect());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{CommandOutput, OutputRest, decode_escapes, print_format};

    #[test]
    fn escapes_are_decoded() {
        let cases = [
            (r"\x72\x6d", "rm"),
            (r"\162m", "rm"),
            (r"\u0072m -rf\t/\n", "rm -rf\t/\n"),
            (r"C:\Windows\", r"C:\Windows\"),
            (r"\xzz", r"\xzz"),
            ("plain", "plain"),
        ];
        for (text, expected) in cases {
            assert_eq!(decode_escapes(text), expected, "{text}");
        }
    }

    #[test]
    fn printf_fills_its_format() {
        let print = |words: &[&str]| print_format(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(print(&["rm -rf /"]), "rm -rf /");
        assert_eq!(print(&["%s %s\\n", "rm", "-rf", "/"]), "rm -rf\n /");
        assert_eq!(print(&["100%"]), "100");
        assert_eq!(print(&[]), "");
    }

    #[test]
    fn output_of_other_programs_is_hidden() {
        let find = |program: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            CommandOutput::find(program, &words, CommandOutput::default(), None)
        };
        assert_eq!(find("echo", &["-n", "rm", "-rf", "/"]).text, "rm -rf /");
        assert_eq!(find("find", &["/", "-print0"]).text, "/");
        assert_eq!(find("find", &["/", "-name", "x"]).text, "/\u{e002}/x");
        assert_eq!(find("make", &["x"]).rest, OutputRest::Hidden);
        assert_eq!(find("curl", &["x"]).rest, OutputRest::Network);
        assert_eq!(find("ssh-agent", &["-s"]), CommandOutput::default());
        assert_eq!(find("cat", &["x"]).rest, OutputRest::File);
        assert_eq!(find("cd", &["x"]), CommandOutput::default());
    }
}
