//! What a shell knows at a place of a text: its folder, its variables and its functions.
//!
//! A subshell starts with a copy and loses it at its end.

use std::rc::Rc;

use super::marks::{BLANK_MARK, has_unknown};
use super::spelling::resolve_path;

/// The most variables and the most functions that are followed.
const MAX_NAMES: usize = 32;

/// The longest word in which variables are replaced, and the longest value of one.
const MAX_EXPANDED_BYTES: usize = 256;

/// The most values of a variable, and the most words that one word becomes.
const MAX_VALUES: usize = 256;

/// The longest word that variables make.
const MAX_WORD_BYTES: usize = 4096;

/// The most folders that `pushd` keeps.
const MAX_FOLDERS: usize = 32;

/// All spellings of the home folder.
const HOME_NAMES: [&str; 6] = ["${HOME}", "$HOME", "$env:USERPROFILE", "$env:HOME", "%USERPROFILE%", "$home"];

#[derive(Clone, Debug, Default)]
pub(super) struct ShellScope {
    /// The current folder, if a command chose it.
    pub(super) folder: Option<String>,
    previous_folder: Option<String>,
    pushed_folders: Vec<Option<String>>,
    /// The variables with their values: one, or those that a loop gives it. They are shared, since a scope is copied for
    /// each subshell.
    variables: Vec<Rc<(String, Vec<String>)>>,
    /// The functions with their bodies.
    functions: Vec<Rc<(String, String)>>,
}

impl ShellScope {
    /// Starts in a folder, if that is known.
    pub(super) fn new(folder: Option<String>) -> ShellScope {
        ShellScope { folder, ..ShellScope::default() }
    }

    /// Changes the folder, as `cd`, `pushd` and `popd` do.
    pub(super) fn change_folder(&mut self, program: &str, words: &[String]) {
        let target = words
            .iter()
            .find(|word| (!word.starts_with('-') || *word == "-") && *word != "/d" && !word.starts_with('>'));
        let next = match (program, target.map(String::as_str)) {
            ("popd", _) => self.pushed_folders.pop().flatten(),
            ("pushd", None) => None,
            (_, Some("-")) => self.previous_folder.clone(),
            (_, target) => Some(resolve_path(target.unwrap_or("~"), self.folder.as_deref())),
        };
        if program == "pushd" && self.pushed_folders.len() < MAX_FOLDERS {
            self.pushed_folders.push(self.folder.clone());
        }
        self.previous_folder = std::mem::replace(&mut self.folder, next);
    }

    /// Reads an assignment, `name=value`.
    pub(super) fn assign(&mut self, word: &str) {
        if let Some((name, value)) = word.split_once('=') {
            self.define(name.trim_end_matches('+'), vec![value.to_owned()]);
        }
    }

    /// Gives a variable its values. One with a value that is not known is unknown from then on.
    pub(super) fn define(&mut self, name: &str, values: Vec<String>) {
        self.forget(name);
        let is_known = |value: &String| value.len() <= MAX_EXPANDED_BYTES && !value.contains('$');
        if values.len() <= MAX_VALUES && values.iter().all(is_known) && self.variables.len() < MAX_NAMES {
            self.variables.push(Rc::new((name.to_owned(), values)));
        }
    }

    /// Makes the value of a variable unknown.
    pub(super) fn forget(&mut self, name: &str) {
        self.variables.retain(|known| known.0 != name);
    }

    pub(super) fn define_function(&mut self, name: &str, body: String) {
        self.functions.retain(|known| known.0 != name);
        if self.functions.len() < MAX_NAMES {
            self.functions.push(Rc::new((name.to_owned(), body)));
        }
    }

    pub(super) fn find_function(&self, name: &str) -> Option<&str> {
        self.functions.iter().find(|known| known.0 == name).map(|known| known.1.as_str())
    }

    /// Replaces the variables that are known, and all spellings of the home folder by `~`. A word may become several, or
    /// none.
    pub(super) fn expand(&self, word: String) -> Vec<String> {
        if word.len() > MAX_EXPANDED_BYTES {
            return vec![word];
        }
        if word.contains('{')
            && !word.contains(['$', '"', '\'', ':'])
            && !has_unknown(&word)
            && !word.contains(char::is_whitespace)
        {
            return expand_braces(&word).unwrap_or_else(|| vec![word]);
        }
        if !word.contains(['$', '%']) {
            return vec![word];
        }
        let is_variable = is_one_variable(&word);
        let word = HOME_NAMES.iter().fold(word, |word, name| word.replace(name, "~"));
        let mut words = vec![String::new()];
        let mut rest = word.as_str();
        while let Some(place) = rest.find('$') {
            append(&mut words, &rest[..place]);
            rest = &rest[place..];
            let length = find_reference(rest);
            let values = self.find_values(&rest[..length]);
            let fits = |values: &Vec<String>| {
                let longest = |words: &[String]| words.iter().map(String::len).max().unwrap_or_default();
                values.len() * words.len() <= MAX_VALUES && longest(values) + longest(&words) <= MAX_WORD_BYTES
            };
            match values.filter(fits) {
                Some(values) => {
                    let all = words.iter().flat_map(|word| values.iter().map(move |value| format!("{word}{value}")));
                    words = all.collect();
                }
                None => append(&mut words, &rest[..length]),
            }
            rest = &rest[length..];
        }
        append(&mut words, rest);
        // A shell divides values where `IFS` says.
        let separators = self.variables.iter().find(|known| known.0 == "IFS").and_then(|known| known.1.first());
        let is_separator = |c: char| c.is_whitespace() || separators.is_some_and(|separators| separators.contains(c));
        let is_blank = |c: char| c == BLANK_MARK || (is_variable && is_separator(c));
        let has_blank = |word: &String| word.contains(is_blank) || (is_variable && word.is_empty());
        if !words.iter().any(has_blank) {
            return words;
        }
        let pieces = words.iter().flat_map(|word| word.split(is_blank)).filter(|piece| !piece.is_empty());
        pieces.map(str::to_owned).collect()
    }

    /// Returns the values of a reference such as `$X`, `${X}` or `${X:-default}`; none if they are unknown.
    fn find_values(&self, reference: &str) -> Option<Vec<String>> {
        let inner = reference.strip_prefix('$')?;
        let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
        let name = &inner[..find_name(inner)];
        let operator = &inner[name.len()..];
        let known = self.variables.iter().find(|known| known.0 == name).map(|known| known.1.clone());
        let value = match name {
            "IFS" => Some(vec![BLANK_MARK.to_string()]),
            "HOME" => known.or_else(|| Some(vec!["~".to_owned()])),
            "PWD" => Some(vec![self.folder.as_deref().unwrap_or(".").to_owned()]),
            // Nothing passes so many arguments: it is empty, and only separates a name from what follows.
            "9" => known.or_else(|| Some(vec![String::new()])),
            _ => known.or_else(|| find_usual_program(name).map(|program| vec![program.to_owned()])),
        };
        if let Some(index) = operator.strip_prefix('[').and_then(|operator| operator.strip_suffix(']')) {
            // `name=(…)` seems empty; its elements are read as commands.
            let value = value.filter(|value| value.iter().any(|value| !value.is_empty()));
            return match index {
                "@" | "*" => value,
                index => Some(vec![value?.get(index.parse::<usize>().ok()?)?.clone()]),
            };
        }
        let default = operator.trim_start_matches(':');
        match default.chars().next() {
            None if operator.is_empty() => value,
            Some('-' | '=') => value.or_else(|| Some(vec![default[1..].to_owned()])),
            Some('?') => value,
            // A slash at the end changes nothing.
            Some('%') if operator.trim_start_matches('%') == "/" => value,
            // The rest cuts or changes the value.
            _ => None,
        }
    }
}

/// Returns the program that a variable names by convention, if the text does not set it.
fn find_usual_program(variable: &str) -> Option<&'static str> {
    Some(match variable {
        "PYTHON" | "PYTHON3" => "python3",
        "PIP" => "pip",
        "CC" => "cc",
        "CXX" => "c++",
        "MAKE" => "make",
        "CARGO" => "cargo",
        "RUSTC" => "rustc",
        "NODE" => "node",
        "NPM" => "npm",
        "GO" => "go",
        "JAVA" => "java",
        "DOCKER" => "docker",
        "KUBECTL" => "kubectl",
        "SUDO" => "sudo",
        _ => return None,
    })
}

fn append(words: &mut [String], text: &str) {
    for word in words {
        word.push_str(text);
    }
}

/// Whether a word is one reference to a variable, whose value the shell divides into words.
pub(super) fn is_one_variable(word: &str) -> bool {
    let name = match word.strip_prefix("${") {
        Some(rest) => rest.strip_suffix('}'),
        None => word.strip_prefix('$'),
    };
    // All elements of an array are the words of a command, which are read where the array gets them.
    let is_element = |rest: &str| rest.starts_with('[') && rest.ends_with(']') && !matches!(rest, "[@]" | "[*]");
    name.is_some_and(|name| {
        let length = find_name(name);
        length > 0 && (length == name.len() || is_element(&name[length..]))
    })
}

/// Returns the length of the reference that a text begins with.
fn find_reference(text: &str) -> usize {
    match text[1..].starts_with('{') {
        true => text.find('}').map_or(text.len(), |end| end + 1),
        false => 1 + find_name(&text[1..]),
    }
}

/// Returns the length of the name that a text begins with; `@` and a digit are names of one character.
fn find_name(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(b'@' | b'*' | b'0'..=b'9') => 1,
        _ => text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len()),
    }
}

/// Returns the words that `a{b,c}d` stands for; none if it is no such word.
fn expand_braces(word: &str) -> Option<Vec<String>> {
    let (start, rest) = word.split_once('{')?;
    let (inner, end) = rest.split_once('}')?;
    if !inner.contains(',') || inner.contains('{') || end.contains('{') {
        return None;
    }
    Some(inner.split(',').map(|part| format!("{start}{part}{end}")).collect())
}

#[cfg(test)]
mod tests {
    use super::ShellScope;

    #[test]
    fn shell_variables_become_words() {
        let mut scope = ShellScope::default();
        scope.assign("X=/");
        scope.assign("C=rm -rf /");
        scope.assign("EMPTY=");
        scope.define("d", vec!["/opt".to_owned(), "/".to_owned()]);
        let cases: [(&str, &[&str]); 21] = [
            ("$X", &["/"]),
            ("${X}bin", &["/bin"]),
            ("$Xbin", &["$Xbin"]),
            ("$C", &["rm", "-rf", "/"]),
            ("a$C", &["arm -rf /"]),
            ("$d", &["/opt", "/"]),
            ("$d/x", &["/opt/x", "//x"]),
            ("$EMPTY", &[]),
            ("$EMPTY/", &["/"]),
            ("${NONE:-/}", &["/"]),
            ("${X:-a}", &["/"]),
            ("${X:?}", &["/"]),
            ("${X%/}", &["/"]),
            ("${X%.*}", &["${X%.*}"]),
            ("${HOME:?}/*", &["~/*"]),
            ("$PYTHON", &["python3"]),
            ("$NONE", &["$NONE"]),
            ("rm${IFS}-rf$IFS/", &["rm", "-rf", "/"]),
            ("$PWD/", &["./"]),
            ("{rm,-rf,/}", &["rm", "-rf", "/"]),
            ("stash@{0}", &["stash@{0}"]),
        ];
        for (word, expected) in cases {
            assert_eq!(scope.expand(word.to_owned()), expected, "{word}");
        }
        scope.assign("X=$NONE");
        assert_eq!(scope.expand("$X".to_owned()), ["$X"], "a new value that is not known replaces the old one");
    }

    #[test]
    fn shell_folder_returns() {
        let words = |word: &str| vec![word.to_owned()];
        let mut scope = ShellScope::default();
        scope.change_folder("cd", &words("/a"));
        scope.change_folder("cd", &words("/"));
        scope.change_folder("cd", &words("-"));
        assert_eq!(scope.folder.as_deref(), Some("/a"));
        scope.change_folder("pushd", &words("/"));
        scope.change_folder("popd", &[]);
        assert_eq!(scope.folder.as_deref(), Some("/a"));
        scope.change_folder("cd", &[]);
        assert_eq!(scope.folder.as_deref(), Some("~"));
    }
}
