//! Separates code from comments, strings and tests in Rust source, without a full parser.

use std::ops::Range;

/// Returns the source with every comment and every literal blanked out; line numbers stay the same.
pub(crate) fn code_of(source: &str) -> String {
    let source: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while at < source.len() {
        let end = end_of_blank(&source, at);
        if end == at {
            code.push(source[at]);
            at += 1;
        }
        while at < end {
            code.push(if source[at] == '\n' { '\n' } else { ' ' });
            at += 1;
        }
    }
    code
}

/// Returns the end of the comment or literal that begins at `at`; `at` itself if none does.
fn end_of_blank(source: &[char], at: usize) -> usize {
    let char_at = |index: usize| source.get(index).copied().unwrap_or('\0');
    let find = |from: usize, end: &[char]| {
        let found = (from..source.len()).find(|&index| source[index..].starts_with(end));
        found.map_or(source.len(), |index| index + end.len())
    };
    match (char_at(at), char_at(at + 1)) {
        ('/', '/') => find(at, &['\n']) - usize::from(source[at..].contains(&'\n')),
        ('/', '*') => {
            let (mut depth, mut index) = (1, at + 2);
            while depth > 0 && index < source.len() {
                match (char_at(index), char_at(index + 1)) {
                    ('/', '*') => (depth, index) = (depth + 1, index + 2),
                    ('*', '/') => (depth, index) = (depth - 1, index + 2),
                    _ => index += 1,
                }
            }
            index
        }
        ('r', '"' | '#') => {
            let hashes = source[at + 1..].iter().take_while(|&&c| c == '#').count();
            // Without the quote it is a raw identifier.
            if char_at(at + 1 + hashes) != '"' || (at > 0 && is_word(source[at - 1]) && source[at - 1] != 'b') {
                return at;
            }
            let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            find(at + 2 + hashes, &end)
        }
        ('"', _) => {
            let mut index = at + 1;
            while index < source.len() && source[index] != '"' {
                index += if source[index] == '\\' { 2 } else { 1 };
            }
            (index + 1).min(source.len())
        }
        ('\'', '\\') => find(at + 3, &['\'']),
        ('\'', _) if char_at(at + 2) == '\'' => at + 3,
        _ => at,
    }
}

/// Returns the ranges of tests in code: every item after `#[cfg(test)]`.
pub(crate) fn tests_of(code: &str) -> Vec<Range<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let mut ranges: Vec<Range<usize>> = Vec::new();
    while let Some(found) = code[ranges.last().map_or(0, |range| range.end)..].find(MARK) {
        let start = ranges.last().map_or(0, |range| range.end) + found;
        ranges.push(start..end_of_item(code, start + MARK.len()));
    }
    ranges
}

/// Returns the end of the item that begins at `start`: its `;`, or the brace that closes it.
fn end_of_item(code: &str, start: usize) -> usize {
    let (mut braces, mut others) = (0, 0);
    let is_use = code[start..].trim_start().starts_with("use ");
    for (index, c) in code[start..].char_indices() {
        match c {
            '(' | '[' => others += 1,
            ')' | ']' => others -= 1,
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        let closed = (c == '}' && !is_use) || c == ';';
        if closed && braces == 0 && others == 0 {
            return start + index + 1;
        }
    }
    code.len()
}

/// Returns the code without its tests; line numbers stay the same.
pub(crate) fn without_tests(code: &str) -> String {
    let mut rest = code.to_string();
    for range in tests_of(code) {
        let blank: String = code[range.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        rest.truncate(range.start);
        rest.push_str(&blank);
        rest.push_str(&code[range.end..]);
    }
    rest
}

/// Counts the lines of a source that are not tests.
pub(crate) fn lines_without_tests(source: &str) -> usize {
    let code = code_of(source);
    let tests: usize = tests_of(&code).iter().map(|range| code[range.clone()].lines().count()).sum();
    source.lines().count().saturating_sub(tests)
}

/// Returns every identifier and keyword with its line, from 1.
pub(crate) fn identifiers(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().flat_map(|(index, line)| {
        let words = line.split(|c| !is_word(c)).filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()));
        words.map(move |word| (index + 1, word))
    })
}

/// Returns the names of types, traits and modules, with their lines.
pub(crate) fn declared_names(code: &str) -> Vec<(usize, &str)> {
    const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "type", "mod"];
    let words: Vec<(usize, &str)> = identifiers(code).collect();
    let pairs = words.windows(2).filter(|pair| KEYWORDS.contains(&pair[0].1));
    pairs.map(|pair| pair[1]).collect()
}

/// Returns the words of an identifier in lower case: `TraceSpec` and `trace_spec` both have `trace` and `spec`.
pub(crate) fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in identifier.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the paths `std::x` in code, also within `use std::{…}`, with their lines.
pub(crate) fn std_paths(code: &str) -> Vec<(usize, &str)> {
    let mut paths = Vec::new();
    for (start, _) in code.match_indices("std::") {
        if code[..start].ends_with(is_word) {
            continue;
        }
        let line = code[..start].lines().count().max(1);
        let rest = &code[start + "std::".len()..];
        if !rest.starts_with('{') {
            paths.extend(rest.split(|c| !is_word(c)).next().map(|name| (line, name)));
            continue;
        }
        let mut depth = 0;
        let mut from = None;
        for (index, c) in rest.char_indices() {
            if depth == 1 && is_word(c) && from.is_none() {
                let name = rest[index..].split(|c| !is_word(c)).next();
                paths.extend(name.map(|name| (line, name)));
                from = Some(index);
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => from = None,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    paths
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_blanks_comments_and_literals() {
        let source = "let a = \"x\\\"y\"; // z\nlet b = 'c'; /* d /* e */\nf */ let g: &'h str = r#\"i\"j\"#;\n";
        let code = code_of(source);
        let names: Vec<&str> = identifiers(&code).map(|(_, name)| name).collect();
        assert_eq!(names, ["let", "a", "let", "b", "let", "g", "h", "str"]);
        assert_eq!(code.lines().count(), source.lines().count());
    }

    #[test]
    fn quote_character_does_not_open_string() {
        let code = code_of("let a = ['\"', '\\'', b'\"']; let b = r\"\\\"; let r#type = 1;");
        let names: Vec<&str> = identifiers(&code).map(|(_, name)| name).collect();
        assert_eq!(names, ["let", "a", "b", "let", "b", "let", "r", "type"]);
    }

    #[test]
    fn test_code_is_separated_from_code() {
        let source =
            "fn a() {}\n#[cfg(test)]\nuse x::{y, z};\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let code = without_tests(&code_of(source));
        let names: Vec<(usize, &str)> = identifiers(&code).collect();
        assert_eq!(names, [(1, "fn"), (1, "a"), (8, "fn"), (8, "c")]);
        assert_eq!(lines_without_tests(source), 2);
        assert_eq!(lines_without_tests("fn a() {}\n#[cfg(test)]\nmod tests;\n"), 1);
    }

    #[test]
    fn identifier_is_split_into_words() {
        assert_eq!(words("TraceSpec"), ["trace", "spec"]);
        assert_eq!(words("trace_spec_2"), ["trace", "spec", "2"]);
        assert_eq!(words("LTL3"), ["ltl3"]);
        assert_eq!(words("respect"), ["respect"]);
    }

    #[test]
    fn type_and_module_names_are_found() {
        let names: Vec<&str> = declared_names("pub struct A<T>(T); enum B {} mod c { type D = A<B>; }")
            .iter()
            .map(|name| name.1)
            .collect();
        assert_eq!(names, ["A", "B", "c", "D"]);
    }

    #[test]
    fn std_imports_in_groups_are_found() {
        let paths = std_paths("use std::{fmt::{self, io}, fs,\n net::IpAddr};\nlet x = std::io::stdin();");
        assert_eq!(paths, [(1, "fmt"), (1, "fs"), (1, "net"), (3, "io")]);
    }
}
