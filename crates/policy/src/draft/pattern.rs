//! Patterns for fields of an event: globs, regular expressions, comparisons, values.

use std::ops::Range;

use crate::expression::{LiteralPattern, Matcher, is_surely_compilable};
use crate::policy_reader::{PolicyReader, ScalarProblem};
use crate::yaml::{Content, YamlNode};
use crate::{FactPattern, Test};
use lictor_event::parse_time;
use lictor_json::{Json, Number};

/// The comparison operators, the longer ones first.
const COMPARISONS: [&str; 5] = ["<=", ">=", "!=", "<", ">"];

/// The limits of the regex crate on nested groups, and on the bytes of a compiled pattern.
const DEFAULT_MAX_DEPTH: u32 = 250;
const DEFAULT_MAX_BYTES: usize = 10 << 20;

impl PolicyReader<'_> {
    /// Reads the tests under `where`.
    pub(super) fn read_tests(&mut self, node: &YamlNode) -> Vec<Test> {
        let mut tests = Vec::new();
        for (key, value) in self.read_entries(node, "`where`", "such as `where: {args.command: '*git push*'}`") {
            let any: Vec<FactPattern> = match &value.content {
                Content::List(items) if items.is_empty() => {
                    self.report_error(
                        value.span.clone(),
                        "policy.empty",
                        "no value can fit an empty list".into(),
                        None,
                    );
                    continue;
                }
                Content::List(items) => items.iter().filter_map(|item| self.read_pattern(item)).collect(),
                _ => self.read_pattern(value).into_iter().collect(),
            };
            let test = Test { path: key.text.as_str().into(), any };
            if let Err(errors) = Matcher::compile(&test) {
                for error in errors.errors {
                    // The offset counts bytes of the path, which is the key.
                    let start = (key.span.start + error.offset).min(key.span.end);
                    self.report_error(start..key.span.end, "policy.field", error.message, error.hint);
                }
            }
            tests.push(test);
        }
        tests
    }

    /// Reads a pattern for a value.
    fn read_pattern(&mut self, node: &YamlNode) -> Option<FactPattern> {
        let text = match node.to_json() {
            Json::String(text) => text,
            value @ (Json::Bool(_) | Json::Number(_)) => return Some(FactPattern::Equal(value)),
            _ if matches!(node.content, Content::Bad) => return None,
            _ => {
                let wanted = "a text, a number or a truth value";
                self.report_type(node, "a pattern", wanted, "for anything else write a condition: `when: has(args.x)`");
                return None;
            }
        };
        if let Some(regex) = parse_regex_literal(&text) {
            let expression = text.get(regex.inside.clone())?;
            let expression = self.put_parts_in(node, expression, regex.inside.start)?;
            let written = format!("{}{expression}", if regex.ignores_case { "(?i)" } else { "" });
            // Usable patterns are parsed once; only an unusable one is parsed again, for the place of its mistake.
            let valid = LiteralPattern::new(&written).is_ok() || self.check_regex(node, &expression, regex.inside);
            return valid.then(|| FactPattern::Regex(written.into()));
        }
        if let Some(operator) = COMPARISONS.into_iter().find(|operator| text.starts_with(operator)) {
            return self.read_comparison(node, operator, &text);
        }
        Some(if text.contains('*') { FactPattern::Glob(text) } else { FactPattern::Equal(Json::String(text)) })
    }

    fn read_comparison(&mut self, node: &YamlNode, operator: &'static str, text: &str) -> Option<FactPattern> {
        let operand = text.get(operator.len()..).unwrap_or_default().trim();
        let value = match operand {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            _ => parse_number(operand).map_or_else(|| Json::from(operand), Json::Number),
        };
        let is_ordered = matches!(value, Json::Number(_)) || parse_time(operand).is_some();
        if operand.is_empty() || (operator != "!=" && !is_ordered) {
            let what = if operator == "!=" { "a value" } else { "a number" };
            let problem = ScalarProblem {
                code: "policy.comparison",
                message: format!("`{operator}` needs {what} after it"),
                hint: Some(format!(
                    "such as `'{operator} 10'`; a text that begins with `{operator}` is found by `/^{operator}/`"
                )),
            };
            self.report_in_scalar(node, 0..text.len(), problem);
            return None;
        }
        Some(FactPattern::Compare(operator.into(), value))
    }

    /// Whether a part of the node's text is a regular expression, here with its named parts; reports an error if not.
    pub(super) fn check_regex(&mut self, node: &YamlNode, expression: &str, part: Range<usize>) -> bool {
        if is_surely_compilable(expression, DEFAULT_MAX_DEPTH, DEFAULT_MAX_BYTES) {
            return true;
        }
        let Err(error) = regex::Regex::new(expression) else { return true };
        let (message, place) = match &error {
            regex::Error::Syntax(text) => (describe_regex_error(text), find_caret(text, expression)),
            regex::Error::CompiledTooBig(_) => ("the regular expression is too large".into(), None),
            _ => ("the regular expression cannot be read".into(), None),
        };
        // With parts put in, places in the expression are no places in the text.
        let place = place.filter(|_| expression.len() == part.len());
        let span = place.map_or(part.clone(), |place| part.start + place.start..part.start + place.end);
        let hint =
            "look-around and back-references are not available; in YAML write regular expressions in single quotes";
        let problem = ScalarProblem { code: "policy.regex", message, hint: Some(hint.to_owned()) };
        self.report_in_scalar(node, span, problem);
        false
    }
}

struct RegexLiteral {
    inside: Range<usize>,
    ignores_case: bool,
}

/// Parses `/text/` or `/text/i`.
fn parse_regex_literal(text: &str) -> Option<RegexLiteral> {
    let rest = text.strip_prefix('/')?;
    let (inside, ignores_case) = match rest.strip_suffix("/i") {
        Some(inside) => (inside, true),
        None => (rest.strip_suffix('/')?, false),
    };
    (!inside.is_empty()).then(|| RegexLiteral { inside: 1..1 + inside.len(), ignores_case })
}

fn parse_number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Number::Integer(whole));
    }
    let begins = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    let float = begins.then(|| text.parse::<f64>().ok())??;
    float.is_finite().then_some(Number::Float(float))
}

/// Describes the last line of the message, which says what is wrong without drawing it.
fn describe_regex_error(message: &str) -> String {
    let last = message.lines().last().unwrap_or_default();
    format!("not a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
}

/// Returns where the message draws its caret, in bytes of the expression.
fn find_caret(message: &str, expression: &str) -> Option<Range<usize>> {
    let carets = message.lines().find(|line| line.trim_start().starts_with('^'))?;
    // Single-line expressions are drawn with four spaces before them.
    let start = carets.find('^')?.checked_sub(4)?;
    let width = carets.trim().len();
    let offset =
        |characters: usize| expression.char_indices().nth(characters).map_or(expression.len(), |(offset, _)| offset);
    (!expression.contains('\n')).then(|| offset(start)..offset(start + width))
}
