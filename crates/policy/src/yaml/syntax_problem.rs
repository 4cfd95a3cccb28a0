//! Problems of texts that are not YAML, or not the YAML that policies use.

use std::ops::Range;

use saphyr_parser::ScanError;

use crate::Problem;
use crate::policy_text::PolicyText;

/// Returns the byte at which a character begins.
pub(super) fn byte_offset(bytes: &[usize], index: usize, length: usize) -> usize {
    match bytes.is_empty() {
        true => index.min(length),
        false => bytes.get(index).copied().unwrap_or(length),
    }
}

/// Describes a problem for an error of the parser.
pub(super) fn describe_scan_error(source: &PolicyText, error: &ScanError, bytes: &[usize]) -> Problem {
    let body = source.body();
    let offset = byte_offset(bytes, error.marker().index(), body.len());
    let start = source.file_offset(offset);
    let line = body.get(..offset).unwrap_or(body).rsplit('\n').next().unwrap_or_default();
    let rest = body.get(offset..).unwrap_or_default();
    let info = error.info();
    let value = line.rsplit_once(": ").map_or(line, |(_, value)| value).trim_start();
    let end = start + rest.chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let problem = |message: &str, hint: &str| source.problem(start..end, "yaml.syntax", message).with_hint(hint);
    if info.contains("tab") && (rest.starts_with('\t') || line.ends_with('\t') || line.trim().is_empty()) {
        return problem("a tab cannot indent", "indent with spaces");
    }
    if info.contains("anchor") || info.contains("alias") || info.contains("tag") || value.starts_with(['*', '&', '!']) {
        return problem("a text cannot begin with `*`, `&` or `!`", QUOTE_HINT);
    }
    if info.contains("mapping values are not allowed") {
        let hint = "put a text that contains `: ` in quotes, and check that keys of one mapping begin in one column";
        return problem("unexpected colon", hint);
    }
    if info.contains("recursion limit") {
        return source.problem(start..end, "yaml.too-deep", "nested too deeply");
    }
    if info.contains("quoted scalar") && (info.contains("end of stream") || info.contains("indentation")) {
        let hint = "end the text with the quote it began with, and indent its further lines";
        return problem("the quotes are not closed", hint);
    }
    if info.contains("block mapping") || info.contains("block collection") || info.contains("indentation") {
        return problem("inconsistent indentation", "keys of one mapping begin in one column");
    }
    if info.contains("flow mapping") || info.contains("flow sequence") {
        let hint = "separate entries by commas, close every bracket, and put a text with `,`, `[` or `{` in quotes";
        return problem("a comma or a closing bracket is missing", hint);
    }
    if info.contains("quoted scalar") && info.contains("escape") {
        let hint = "use single quotes, in which a backslash is an ordinary character: `'\\d+'`";
        return problem("unknown escape in double quotes", hint);
    }
    problem(&format!("this is not YAML: {info}"), "put texts with special characters in quotes")
}

const QUOTE_HINT: &str = "put the text in quotes: `'*@example.com'`";

/// Returns the problem of an alias, or of a pattern that looks like one.
pub(super) fn alias_problem(source: &PolicyText, span: Range<usize>) -> Problem {
    source.problem(span, "yaml.alias", "a text cannot begin with `*`: YAML takes it for an alias").with_hint(QUOTE_HINT)
}

/// Returns the problem of an anchor or a tag, or of a formula that looks like one.
pub(super) fn sign_problem(source: &PolicyText, span: Range<usize>, tagged: bool) -> Problem {
    let (sign, name) = if tagged { ('!', "tag") } else { ('&', "anchor") };
    // The sign is before the value that the parser reports, on the same line unless it is alone on it.
    let place = source.place(span.start);
    let start = source.offset(&crate::Place { column: 1, ..place });
    let before = source.slice(start..span.start);
    let from = before.rfind(sign).map_or(span.start, |found| start + found);
    let message =
        format!("a text cannot begin with `{sign}`: YAML takes it for {} {name}", if tagged { "a" } else { "an" });
    let hint = format!("put the text in quotes: `'{sign}a'`");
    source.problem(from..span.end.max(from), "yaml.tag", message).with_hint(hint)
}
