//! The paths that `find` lists, as far as its words tell them, and the commands that it runs on them.

use super::marks::UNKNOWN_MARK;
use super::spelling::resolve_path;

/// The most paths that take the place of `{}`, in all words of a command together.
const MAX_PATHS: usize = 256;

/// Returns the paths that a `find` with these words lists. A path stands for all that begin with it. If only some below
/// it are listed, an unknown part follows, and the name that they have: `/src/_/.env`.
pub(super) fn find_paths(words: &[String], folder: Option<&str>) -> Option<Vec<String>> {
    let is_start = |word: &&String| !word.starts_with(['-', '>', '<', '(', '!']);
    let options = words.iter().take_while(|word| matches!(word.as_str(), "-H" | "-L" | "-P")).count();
    let (starts, tests) = split_at_first(&words[options..], |word| !is_start(&word));
    let starts = match starts {
        [] => vec![folder.unwrap_or(".").to_owned()],
        starts => starts.iter().map(|start| resolve_path(start, folder)).collect(),
    };
    let (tests, _) = split_at_first(tests, |word| is_run(word) || word == "-delete");
    if lists_all(tests) {
        return Some(starts);
    }
    let name_tests = ["-name", "-iname", "-path", "-ipath", "-wholename"];
    let names = tests.windows(2).filter(|pair| name_tests.contains(&pair[0].as_str())).map(|pair| &pair[1]);
    let names: Vec<&String> = names.collect();
    if names.is_empty() {
        return Some(starts.iter().map(|start| format!("{start}/{UNKNOWN_MARK}")).collect());
    }
    if starts.len() * names.len() > MAX_PATHS {
        return None;
    }
    let below = |start: &String, name: &&String| {
        format!("{}/{UNKNOWN_MARK}/{}", start.trim_end_matches('/'), name.trim_start_matches("./"))
    };
    Some(starts.iter().flat_map(|start| names.iter().map(move |name| below(start, name))).collect())
}

/// Returns the commands that a `find` runs, with the paths that it lists in the place of `{}`.
pub(super) fn find_run_commands(words: &[String], folder: Option<&str>) -> Vec<Vec<String>> {
    let paths = find_paths(words, folder).unwrap_or_default();
    let mut commands = Vec::new();
    let mut rest = words;
    while let Some(place) = rest.iter().position(|word| is_run(word)) {
        let (command, after) = split_at_first(&rest[place + 1..], |word| word == ";" || word == "+");
        let places = command.iter().filter(|word| word.contains("{}")).count();
        let is_filled = !paths.is_empty() && places * paths.len() <= MAX_PATHS;
        let fill = |word: &String| match word.as_str() {
            "{}" if is_filled => paths.clone(),
            word if is_filled => vec![word.replace("{}", &paths[0])],
            word => vec![word.to_owned()],
        };
        commands.push(command.iter().flat_map(fill).collect());
        rest = after;
    }
    commands
}

/// Whether a listing has no condition that leaves files out. The options of `find` that only change how or how deep it
/// lists are none.
pub(super) fn lists_all(words: &[String]) -> bool {
    let is_neutral = |word: &str| {
        matches!(
            word.to_ascii_lowercase().as_str(),
            "-a" | "-r"
                | "-1"
                | "-la"
                | "-al"
                | "-recurse"
                | "-force"
                | "-print"
                | "-print0"
                | "-depth"
                | "-xdev"
                | "-mount"
                | "-mindepth"
                | "-maxdepth"
                | "-type"
                | "-h"
                | "-l"
                | "-p"
        )
    };
    words.iter().all(|word| !word.starts_with('-') || is_neutral(word))
}

fn is_run(word: &str) -> bool {
    matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
}

fn split_at_first(words: &[String], is_end: impl Fn(&String) -> bool) -> (&[String], &[String]) {
    words.split_at(words.iter().position(is_end).unwrap_or(words.len()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_command as check;

    #[test]
    fn find_runs_commands_on_listed_paths() {
        check("find . -name .env -exec cat {} +", "cat ./_/.env");
        check("find src lib -name '*.py' -exec rm {} \\;", "rm src/_/*.py lib/_/*.py");
        check("find / -exec rm -rf {} \\;", "rm -rf /");
        check("find . -mtime +3 -exec rm {} +", "rm ./_");
        check("find . -name x -exec sh -c 'rm {}' \\; -exec cat {} +", "cat ./_/x");
        check("cd /srv; find -name .env | xargs cat", "cat /srv/_/.env");
        check("for f in $(find . -name '*.log'); do rm \"$f\"; done", "rm ./_/*.log");
    }
}
