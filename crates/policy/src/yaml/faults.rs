//! What is wrong with a text that is not YAML, or not the YAML that policies use, in words that help.

use std::ops::Range;

use saphyr_parser::ScanError;

use crate::Problem;
use crate::source::PolicyText;

/// The byte at which a character begins.
pub(super) fn byte(bytes: &[usize], index: usize, length: usize) -> usize {
    match bytes.is_empty() {
        true => index.min(length),
        false => bytes.get(index).copied().unwrap_or(length),
    }
}

/// What the parser stumbled over.
pub(super) fn describe(source: &PolicyText, error: &ScanError, bytes: &[usize]) -> Problem {
    let body = source.body();
    let offset = byte(bytes, error.marker().index(), body.len());
    let start = source.outer(offset);
    let line = body.get(..offset).unwrap_or(body).rsplit('\n').next().unwrap_or_default();
    let rest = body.get(offset..).unwrap_or_default();
    let info = error.info();
    let value = line.rsplit_once(": ").map_or(line, |(_, value)| value).trim_start();
    let end = start + rest.chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let problem = |message: &str, hint: &str| source.problem(start..end, "yaml.syntax", message).help(hint);
    if info.contains("tab") && (rest.starts_with('\t') || line.ends_with('\t') || line.trim().is_empty()) {
        return problem("a tab cannot indent", "indent with spaces");
    }
    if info.contains("anchor") || info.contains("alias") || info.contains("tag") || value.starts_with(['*', '&', '!']) {
        return problem("a text cannot begin with `*`, `&` or `!`", QUOTE);
    }
    if info.contains("mapping values are not allowed") {
        let hint = "put a text that contains `: ` in quotes, and check that keys of one mapping begin in one column";
        return problem("a colon cannot stand here", hint);
    }
    if info.contains("recursion limit") {
        return source.problem(start..end, "yaml.too-deep", "this is nested too deeply");
    }
    if info.contains("quoted scalar") && (info.contains("end of stream") || info.contains("indentation")) {
        let hint = "end the text with the quote it began with, and indent its further lines";
        return problem("the quotes are not closed", hint);
    }
    if info.contains("block mapping") || info.contains("block collection") || info.contains("indentation") {
        return problem("the indentation does not fit", "keys of one mapping begin in one column");
    }
    if info.contains("flow mapping") || info.contains("flow sequence") {
        let hint = "separate entries by commas, close every bracket, and put a text with `,`, `[` or `{` in quotes";
        return problem("a comma or a closing bracket is missing", hint);
    }
    if info.contains("quoted scalar") && info.contains("escape") {
        let hint = "use single quotes, in which a backslash is an ordinary character: `'\\d+'`";
        return problem("double quotes do not know this escape", hint);
    }
    problem(&format!("this is not YAML: {info}"), "put texts with special characters in quotes")
}

const QUOTE: &str = "put the text in quotes: `'*@example.com'`";

/// An alias, or a pattern that looks like one.
pub(super) fn alias(source: &PolicyText, span: Range<usize>) -> Problem {
    source.problem(span, "yaml.alias", "a text cannot begin with `*`: YAML takes it for an alias").help(QUOTE)
}

/// An anchor or a tag, or a formula that looks like one.
pub(super) fn sign(source: &PolicyText, span: Range<usize>, tagged: bool) -> Problem {
    let (sign, name) = if tagged { ('!', "tag") } else { ('&', "anchor") };
    // The sign stands before the value that the parser reports, in the same line unless it is alone in it.
    let place = source.place(span.start);
    let start = source.offset(&crate::Place { column: 1, ..place });
    let before = source.slice(start..span.start);
    let from = before.rfind(sign).map_or(span.start, |found| start + found);
    let message =
        format!("a text cannot begin with `{sign}`: YAML takes it for {} {name}", if tagged { "a" } else { "an" });
    let hint = format!("put the text in quotes: `'{sign}a'`");
    source.problem(from..span.end.max(from), "yaml.tag", message).help(hint)
}
