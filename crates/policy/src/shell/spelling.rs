//! One spelling for a command: without the programs that only run another one, and with resolved paths.

use std::collections::VecDeque;
use std::path::Path;

use super::marks::{BLANK_MARK, FILE_MARK, NETWORK_MARK, UNKNOWN_MARK};

/// A program or keyword that runs the command after it.
struct Wrapper {
    name: &'static str,
    /// Its short options that take a value.
    short: &'static str,
    /// Its long options that take a value as the next word, with a blank between them.
    long: &'static str,
    /// How many words come before the command.
    operands: usize,
}

const fn wrapper(name: &'static str, short: &'static str, long: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, short, long, operands }
}

const WRAPPERS: [Wrapper; 57] = [
    wrapper(
        "sudo",
        "ughpCrtUDRT",
        "user group host prompt close-from role type other-user chdir chroot command-timeout",
        0,
    ),
    wrapper("doas", "uC", "", 0),
    wrapper("pkexec", "", "user", 0),
    wrapper("runuser", "ugGsw", "user group supp-group shell whitelist-environment", 0),
    wrapper("run0", "u", "user group unit property description slice chdir", 0),
    wrapper("env", "uC", "unset chdir", 0),
    wrapper("nice", "n", "adjustment", 0),
    wrapper("ionice", "cnp", "class classdata pid", 0),
    wrapper("chrt", "T", "sched-runtime", 1),
    wrapper("taskset", "", "", 1),
    wrapper("timeout", "sk", "signal kill-after", 1),
    wrapper("stdbuf", "ioe", "input output error", 0),
    wrapper("flock", "wE", "wait timeout conflict-exit-code", 1),
    wrapper("chroot", "", "userspec groups", 1),
    wrapper(
        "unshare",
        "RwSGl",
        "root wd setuid setgid map-user map-group map-users map-groups propagation setgroups",
        0,
    ),
    wrapper("nsenter", "tSG", "target setuid setgid", 0),
    wrapper("setpriv", "", "reuid regid groups inh-caps bounding-set ambient-caps", 0),
    wrapper("systemd-run", "puHM", "unit property slice uid gid nice working-directory setenv description", 0),
    wrapper("fakeroot", "lsib", "lib faked", 0),
    wrapper("xargs", "nPIdLsaE", "max-args max-procs arg-file delimiter max-chars max-lines", 0),
    wrapper("parallel", "jINSa", "jobs max-args colsep delay timeout", 0),
    wrapper("watch", "n", "interval", 0),
    wrapper("strace", "eopPsuSaI", "output trace attach user", 0),
    wrapper("ltrace", "eopsu", "output", 0),
    wrapper("caffeinate", "tw", "", 0),
    wrapper("xvfb-run", "enfps", "server-num server-args error-file", 0),
    wrapper("nohup", "", "", 0),
    wrapper("setsid", "", "", 0),
    wrapper("time", "fo", "format output", 0),
    wrapper("exec", "a", "", 0),
    wrapper("command", "", "", 0),
    wrapper("builtin", "", "", 0),
    wrapper("coproc", "", "", 0),
    wrapper("busybox", "", "", 0),
    wrapper("toybox", "", "", 0),
    wrapper("call", "", "", 0),
    wrapper("start", "", "", 0),
    wrapper("if", "", "", 0),
    wrapper("then", "", "", 0),
    wrapper("else", "", "", 0),
    wrapper("elif", "", "", 0),
    wrapper("do", "", "", 0),
    wrapper("while", "", "", 0),
    wrapper("until", "", "", 0),
    wrapper("!", "", "", 0),
    wrapper("{", "", "", 0),
    wrapper("&", "", "", 0),
    wrapper("@", "", "", 0),
    wrapper("RUN", "", "", 0),
    wrapper("unbuffer", "", "", 0),
    wrapper("winpty", "", "", 0),
    wrapper("dbus-run-session", "", "config-file", 0),
    wrapper("valgrind", "", "", 0),
    wrapper("gdb", "xp", "ex eval-command command pid", 0),
    wrapper("lldb", "sopn", "source one-line attach-pid", 0),
    wrapper("sshpass", "pfdP", "", 0),
    wrapper("firejail", "", "", 0),
];

/// Programs that run the command after a verb of theirs, such as tools that manage environments, and how many words come
/// between the two.
const RUNNERS: [(&str, &str, usize); 20] = [
    ("uv", "run", 0),
    ("poetry", "run", 0),
    ("pdm", "run", 0),
    ("pipenv", "run", 0),
    ("hatch", "run", 0),
    ("rye", "run", 0),
    ("conda", "run", 0),
    ("bundle", "exec", 0),
    ("npm", "exec", 0),
    ("pnpm", "exec", 0),
    ("yarn", "exec", 0),
    ("mise", "exec", 0),
    ("op", "run", 0),
    ("doppler", "run", 0),
    ("infisical", "run", 0),
    ("dotenv", "run", 0),
    ("dotenvx", "run", 0),
    ("direnv", "exec", 1),
    ("aws-vault", "exec", 1),
    ("chamber", "exec", 1),
];

/// The options of `ssh` that take a value.
const SSH_OPTIONS: &str = "BbcDEeFIiJLlmOopQRSWw";

/// A command without the programs that only run it.
#[derive(Debug, Default)]
pub(super) struct BareCommand {
    /// The assignments before it.
    pub(super) assignments: Vec<String>,
    /// Its words, with the bare name of its program.
    pub(super) words: Vec<String>,
    /// Whether its last arguments come from its input, as `xargs` has it.
    pub(super) takes_input_as_arguments: bool,
    /// The commands in options of the programs that were removed.
    pub(super) texts: Vec<String>,
    /// Whether a shell reads its words again as one text, as `watch` has it.
    pub(super) is_text: bool,
}

impl BareCommand {
    /// Removes the programs that only run another one.
    pub(super) fn new(words: Vec<String>) -> BareCommand {
        let mut bare = BareCommand::default();
        // A redirection may come before its command, which changes nothing.
        let mut targets = Vec::new();
        let mut words = VecDeque::from(words);
        while let Some(word) = words.pop_front() {
            if is_assignment(&word) {
                bare.assignments.push(word);
                continue;
            }
            if word.starts_with(['>', '<']) {
                targets.push(word);
                continue;
            }
            let program = find_program_name(&word);
            let runner = RUNNERS
                .iter()
                .find(|(runner, verb, _)| *runner == program && words.front().is_some_and(|word| word == verb));
            if let Some((_, _, operands)) = runner {
                words.pop_front();
                words.drain(..words.len().min(*operands));
                while program == "conda" && words.front().is_some_and(|word| word.starts_with('-')) {
                    let option = words.pop_front().unwrap_or_default();
                    words.drain(..words.len().min(usize::from(takes_next_word(&option, "np", "name prefix cwd"))));
                }
                bare.is_text |= skip_runner_options(&mut words);
                continue;
            }
            if program == "npx" && words.front().is_some_and(|word| is_call_option(word)) {
                bare.is_text |= skip_runner_options(&mut words);
                continue;
            }
            let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == program);
            let is_question = program == "command" && words.front().is_some_and(|word| word == "-v" || word == "-V");
            let Some(wrapper) = wrapper.filter(|_| !is_question) else {
                bare.words.push(program.to_owned());
                bare.words.extend(words);
                break;
            };
            bare.takes_input_as_arguments |= matches!(wrapper.name, "xargs" | "parallel");
            bare.is_text |= wrapper.name == "watch";
            if matches!(wrapper.name, "gdb" | "lldb") {
                let values = words.iter().zip(words.iter().skip(1)).filter(|(option, _)| option.starts_with('-'));
                let commands = values.filter_map(|(_, value)| {
                    ["shell ", "!", "platform shell "].iter().find_map(|start| value.strip_prefix(start))
                });
                bare.texts.extend(commands.map(str::to_owned));
            }
            wrapper.skip_options(&mut words);
            // Without a command it lists the variables.
            if wrapper.name == "env" && words.iter().all(|word| is_assignment(word) || word.starts_with(['>', '<'])) {
                bare.words.push("env".to_owned());
                targets.extend(words);
                break;
            }
            if wrapper.name == "flock" && words.front().is_some_and(|word| word == "-c" || word == "--command") {
                words.pop_front();
                bare.is_text = true;
            }
        }
        bare.words.extend(targets);
        bare
    }
}

impl Wrapper {
    /// Removes its options and operands from the front.
    fn skip_options(&self, words: &mut VecDeque<String>) {
        while words.front().is_some_and(|word| word.starts_with('-') && word.len() > 1) {
            let option = words.pop_front().unwrap_or_default();
            if option == "--" {
                break;
            }
            // `env -S` divides a text into the words of the command.
            let text = match (self.name, option.as_str()) {
                ("env", "-S" | "--split-string") => words.pop_front(),
                ("env", option) => {
                    option.strip_prefix("--split-string=").or_else(|| option.strip_prefix("-S")).map(str::to_owned)
                }
                _ => None,
            };
            for word in text.iter().flat_map(|text| text.split_whitespace().rev()) {
                words.push_front(word.to_owned());
            }
            if takes_next_word(&option, self.short, self.long) {
                words.pop_front();
            }
        }
        for _ in 0..self.operands {
            words.pop_front();
        }
    }
}

/// Removes the options of a program that runs another one; returns whether the next word is a whole command as text.
fn skip_runner_options(words: &mut VecDeque<String>) -> bool {
    while words.front().is_some_and(|word| word.starts_with('-') && word.len() > 1) {
        match words.pop_front() {
            Some(option) if is_call_option(&option) => return true,
            Some(option) if option == "--" => return false,
            _ => {}
        }
    }
    false
}

/// Whether an option of `npx` or `npm exec` is followed by a command as text.
fn is_call_option(option: &str) -> bool {
    matches!(option, "-c" | "--call")
}

/// Whether the value of an option is the next word.
pub(super) fn takes_next_word(option: &str, short: &str, long: &str) -> bool {
    match option.strip_prefix("--") {
        Some(name) => long.split(' ').any(|known| known == name),
        // In `-nu root` the last of several takes the value; in `-uroot` it is part of the word.
        None => option[1..].find(|c| short.contains(c)).is_some_and(|place| place + 2 == option.len()),
    }
}

/// Returns the words after the options. Some short ones take a value.
pub(super) fn skip_options<'w>(words: &'w [String], short: &str) -> &'w [String] {
    let mut place = 0;
    while let Some(word) = words.get(place).filter(|word| word.starts_with('-') && word.len() > 1) {
        place += 1 + usize::from(takes_next_word(word, short, ""));
    }
    words.get(place..).unwrap_or_default()
}

/// Returns the command that `ssh` runs elsewhere: its words after the options and the host.
pub(super) fn find_remote_command(words: &[String]) -> String {
    let mut place = 0;
    let mut hosts = 0;
    while let Some(word) = words.get(place) {
        if word.starts_with('-') && word.len() > 1 {
            place += 1 + usize::from(takes_next_word(word, SSH_OPTIONS, ""));
        } else if hosts == 0 {
            hosts += 1;
            place += 1;
        } else {
            break;
        }
    }
    words.get(place..).unwrap_or_default().join(" ")
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the name of a program without its folder and `.exe`.
pub(super) fn find_program_name(word: &str) -> &str {
    let name = match word.contains(char::is_whitespace) {
        true => word,
        false => word.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(word),
    };
    let is_executable = Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("exe"));
    if is_executable { &name[..name.len() - ".exe".len()] } else { name }
}

/// Returns a path without `.`, `..` and repeated slashes, from the current folder on if that is known. Options and
/// other words are returned unchanged.
pub(super) fn resolve_path(word: &str, folder: Option<&str>) -> String {
    if word.starts_with(['-', '>', '<', '$', '%', '+']) || word.is_empty() {
        return word.to_owned();
    }
    if is_drive_path(word) {
        return word.to_owned();
    }
    let whole = match folder {
        Some(folder) if !word.starts_with(['/', '~']) => {
            if is_drive_path(folder) {
                return format!("{}\\{word}", folder.trim_end_matches('\\'));
            }
            format!("{folder}/{word}")
        }
        _ => word.to_owned(),
    };
    if !whole.starts_with(['/', '~']) {
        return whole;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| last.starts_with('~')) => parts = vec!["home"],
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let is_home = parts.first().is_some_and(|part| part.starts_with('~')) && whole.starts_with('~');
    format!("{}{}", if is_home { "" } else { "/" }, parts.join("/"))
}

fn is_drive_path(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

/// Joins words with blanks. White space within a word becomes `_`, so that a blank always ends a word; so does unknown text.
pub(super) fn join_words(words: &[String]) -> String {
    let is_hidden = |c: char| c.is_whitespace() || matches!(c, UNKNOWN_MARK | NETWORK_MARK | BLANK_MARK);
    let words = words.iter().map(|word| word.trim_start_matches(FILE_MARK).replace(is_hidden, "_"));
    words.collect::<Vec<_>>().join(" ")
}
