//! Patterns for fields of an event: globs, regular expressions, comparisons, values.

use std::ops::Range;

use crate::expression::Matcher;
use crate::form::{Form, InsideProblem};
use crate::yaml::{Content, Node};
use crate::{FactPattern, Test};
use lictor_event::parse_time;
use lictor_json::{Json, Number};

/// Comparisons, the longer ones first.
const COMPARISONS: [&str; 5] = ["<=", ">=", "!=", "<", ">"];

impl Form<'_> {
    /// The tests under `where`.
    pub(super) fn tests(&mut self, node: &Node) -> Vec<Test> {
        let mut tests = Vec::new();
        for (key, value) in self.entries(node, "`where`", "such as `where: {args.command: '*git push*'}`") {
            let any: Vec<FactPattern> = match &value.content {
                Content::List(items) if items.is_empty() => {
                    self.complain(value.span.clone(), "policy.empty", "no value can fit an empty list".into(), None);
                    continue;
                }
                Content::List(items) => items.iter().filter_map(|item| self.pattern(item)).collect(),
                _ => self.pattern(value).into_iter().collect(),
            };
            let test = Test { path: key.text.as_str().into(), any };
            if let Err(errors) = Matcher::compile(&test) {
                for error in errors.errors {
                    // The offset is one of the path, which stands in the key.
                    let start = (key.span.start + error.offset).min(key.span.end);
                    self.complain(start..key.span.end, "policy.field", error.message, error.hint);
                }
            }
            tests.push(test);
        }
        tests
    }

    /// What a value must be like.
    fn pattern(&mut self, node: &Node) -> Option<FactPattern> {
        let text = match node.json() {
            Json::String(text) => text,
            value @ (Json::Bool(_) | Json::Number(_)) => return Some(FactPattern::Equal(value)),
            _ if matches!(node.content, Content::Bad) => return None,
            _ => {
                let wanted = "a text, a number or a truth value";
                self.expected(node, "a pattern", wanted, "for anything else write a condition: `when: has(args.x)`");
                return None;
            }
        };
        if let Some(regex) = as_regex(&text) {
            let expression = text.get(regex.inside.clone())?;
            let valid = self.regex(node, expression, regex.inside);
            let flag = if regex.ignores_case { "(?i)" } else { "" };
            return valid.then(|| FactPattern::Regex(format!("{flag}{expression}").into()));
        }
        if let Some(operator) = COMPARISONS.into_iter().find(|operator| text.starts_with(operator)) {
            return self.comparison(node, operator, &text);
        }
        Some(if text.contains('*') { FactPattern::Glob(text) } else { FactPattern::Equal(Json::String(text)) })
    }

    fn comparison(&mut self, node: &Node, operator: &'static str, text: &str) -> Option<FactPattern> {
        let operand = text.get(operator.len()..).unwrap_or_default().trim();
        let value = match operand {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            _ => number(operand).map_or_else(|| Json::from(operand), Json::Number),
        };
        let is_ordered = matches!(value, Json::Number(_)) || parse_time(operand).is_some();
        if operand.is_empty() || (operator != "!=" && !is_ordered) {
            let what = if operator == "!=" { "a value" } else { "a number" };
            let problem = InsideProblem {
                code: "policy.comparison",
                message: format!("`{operator}` needs {what} behind it"),
                hint: Some(format!(
                    "such as `'{operator} 10'`; a text that begins with `{operator}` is found by `/^{operator}/`"
                )),
            };
            self.complain_inside(node, 0..text.len(), problem);
            return None;
        }
        Some(FactPattern::Compare(operator.into(), value))
    }

    /// Is this a regular expression? It stands in a part of the node's text.
    pub(super) fn regex(&mut self, node: &Node, expression: &str, part: Range<usize>) -> bool {
        let Err(error) = regex::Regex::new(expression) else { return true };
        let (message, place) = match &error {
            regex::Error::Syntax(text) => (told(text), place_in(text, expression)),
            regex::Error::CompiledTooBig(_) => ("the regular expression is too large".into(), None),
            _ => ("the regular expression cannot be read".into(), None),
        };
        let span = place.map_or(part.clone(), |place| part.start + place.start..part.start + place.end);
        let hint =
            "look-around and back-references are not available; in YAML write regular expressions in single quotes";
        let problem = InsideProblem { code: "policy.regex", message, hint: Some(hint.to_owned()) };
        self.complain_inside(node, span, problem);
        false
    }
}

struct Slashes {
    inside: Range<usize>,
    ignores_case: bool,
}

/// `/text/` or `/text/i`.
fn as_regex(text: &str) -> Option<Slashes> {
    let rest = text.strip_prefix('/')?;
    let (inside, ignores_case) = match rest.strip_suffix("/i") {
        Some(inside) => (inside, true),
        None => (rest.strip_suffix('/')?, false),
    };
    (!inside.is_empty()).then(|| Slashes { inside: 1..1 + inside.len(), ignores_case })
}

fn number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Number::Integer(whole));
    }
    let begins = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    let float = begins.then(|| text.parse::<f64>().ok())??;
    float.is_finite().then_some(Number::Float(float))
}

/// The last line of the message, which says what is wrong without drawing it.
fn told(message: &str) -> String {
    let last = message.lines().last().unwrap_or_default();
    format!("not a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
}

/// Where the message draws its caret, in bytes of the expression.
fn place_in(message: &str, expression: &str) -> Option<Range<usize>> {
    let carets = message.lines().find(|line| line.trim_start().starts_with('^'))?;
    // Single-line expressions are drawn with four spaces before them.
    let start = carets.find('^')?.checked_sub(4)?;
    let width = carets.trim().len();
    let offset =
        |characters: usize| expression.char_indices().nth(characters).map_or(expression.len(), |(offset, _)| offset);
    (!expression.contains('\n')).then(|| offset(start)..offset(start + width))
}
