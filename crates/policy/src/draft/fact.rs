//! Facts that a policy defines.

use lictor_logic::{Arena, Node as FormulaNode, nearest};

use super::{Defined, Usage};
use crate::form::{Fields, Form, listed};
use crate::vocabulary::builtin;
use crate::yaml::{Content, Key, Node};
use crate::{FactCase, FactDefinition, Trigger};
use lictor_event::Kind;
use lictor_json::Text;

/// Keys of a case that are no values.
const CASE_KEYS: [&str; 6] = ["on", "where", "when", "each", "ask", "of"];

const EXAMPLE: &str =
    "such as `big_order(amount): {on: tool_call(order), when: args.amount > 100, amount: args.amount}`";

/// The name of a fact and of its values.
struct Signature {
    name: Text,
    parameters: Vec<Text>,
}

impl Form<'_> {
    /// The facts of a policy.
    pub(super) fn facts(&mut self, node: &Node) -> Vec<Defined> {
        let mut facts: Vec<Defined> = Vec::new();
        for (key, value) in self.entries(node, "`facts`", EXAMPLE) {
            let Some(signature) = self.signature(key) else { continue };
            let mut expressions = Vec::new();
            let cases: Vec<FactCase> = match &value.content {
                Content::List(items) if items.is_empty() => {
                    let message = format!("`{}` can never hold: there is no case", signature.name);
                    self.complain(value.span.clone(), "policy.empty", message, Some(EXAMPLE.to_owned()));
                    Vec::new()
                }
                Content::List(items) => {
                    items.iter().map(|item| self.case(item, &signature, &mut expressions)).collect()
                }
                _ => vec![self.case(value, &signature, &mut expressions)],
            };
            if let Some(first) = facts.iter().find(|other| other.definition.name == signature.name) {
                let message = format!("the fact `{}` is defined for the second time", signature.name);
                let hint =
                    format!("the first is in line {}; give both as a list of cases", first.definition.place.line);
                self.complain(key.span.clone(), "policy.duplicate", message, Some(hint));
                continue;
            }
            let Signature { name, parameters } = signature;
            let place = self.source.place(key.span.start);
            let definition = FactDefinition { name, parameters, cases, place };
            facts.push(Defined { definition, source: self.source.clone(), expressions });
        }
        facts
    }

    /// `name` or `name(parameter, …)`.
    fn signature(&mut self, key: &Key) -> Option<Signature> {
        let text = key.text.trim();
        let (name, inside) = match text.split_once('(') {
            Some((name, rest)) => (name.trim(), rest.strip_suffix(')')),
            None => (text, Some("")),
        };
        let parameters = inside.map(|inside| match inside.trim() {
            "" => Vec::new(),
            inside => inside.split(',').map(str::trim).collect::<Vec<&str>>(),
        });
        let hint = "write `name` or `name(value, other)`, with letters, digits and `_`".to_owned();
        let Some(parameters) = parameters.filter(|list| list.iter().copied().chain([name]).all(is_name)) else {
            let message = format!("`{text}` does not name a fact");
            self.complain(key.span.clone(), "policy.fact-name", message, Some(hint));
            return None;
        };
        if let Some(problem) = unusable(name, &parameters) {
            self.complain(key.span.clone(), "policy.fact-name", problem.0, Some(problem.1));
            return None;
        }
        let parameters = parameters.into_iter().map(Text::from).collect();
        Some(Signature { name: name.into(), parameters })
    }

    /// One way in which a fact comes to hold.
    fn case(&mut self, node: &Node, signature: &Signature, expressions: &mut Vec<(Usage, Node)>) -> FactCase {
        let Signature { name, parameters } = signature;
        let known: Vec<&str> = CASE_KEYS.into_iter().chain(parameters.iter().map(Text::as_str)).collect();
        let entries = self.entries(node, &format!("the fact `{name}`"), EXAMPLE);
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.text.as_str())) {
            let hint = match nearest(&key.text, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("to give the fact this value, name it: `{}`", with_parameter(signature, &key.text)),
            };
            let message = format!("`{}` is neither a key nor a value of `{name}`", key.text);
            self.complain(key.span.clone(), "policy.value-without-parameter", message, Some(hint));
        }
        let fields = Fields::of(entries);
        let tests = fields.get("where").map(|node| self.tests(node)).unwrap_or_default();
        let mut expression = |form: &mut Self, key: &str, what: &str| {
            let node = fields.get(key)?;
            let text = form.scalar(node, what)?;
            let usage = if key == "when" { Usage::Condition } else { Usage::Value };
            expressions.push((usage, node.clone()));
            Some(Text::from(text.trim()))
        };
        let when = expression(self, "when", "`when`");
        let each = expression(self, "each", "`each`");
        let ask = fields.get("ask").and_then(|node| self.text(node, "`ask`")).map(Text::from);
        let mut values = Vec::new();
        for parameter in parameters.iter().filter(|_| fields.get("ask").is_none()) {
            match fields.get(parameter) {
                Some(_) => values.extend(expression(self, parameter, &format!("the value `{parameter}`"))),
                None if tests.iter().any(|test| test.has_group(parameter)) => values.push(Text::default()),
                None if matches!(node.content, Content::Map(_)) => {
                    let message = format!("the value `{parameter}` of `{name}` is missing");
                    let hint = format!(
                        "say where it comes from: `{parameter}: args.{parameter}`, or name a group of a regular \
                         expression under `where`: `(?P<{parameter}>…)`"
                    );
                    self.complain(node.head(), "policy.parameter-without-value", message, Some(hint));
                }
                None => {}
            }
        }
        self.check_ask(node, &fields, signature);
        let trigger = if fields.get("ask").is_some() { "of" } else { "on" };
        let on = fields.get(trigger).map(|node| self.triggers(node)).unwrap_or_default();
        let is_bare = on.is_empty() && tests.is_empty() && when.is_none() && each.is_none() && ask.is_none();
        if is_bare && matches!(node.content, Content::Map(_)) && fields.get("on").or(fields.get("of")).is_none() {
            let message = format!("nothing says when `{name}` holds");
            self.complain(node.head(), "policy.empty", message, Some("add `on:`, `where:` or `when:`".to_owned()));
        }
        FactCase { on, tests, when, each, values, ask, place: node.place(self.source) }
    }

    /// A question is answered by a label, so nothing else decides.
    fn check_ask(&mut self, node: &Node, fields: &Fields<'_>, signature: &Signature) {
        if fields.get("ask").is_none() {
            if let Some(span) = fields.key("of") {
                let message = "`of` belongs to `ask`".to_owned();
                self.complain(span, "policy.key-combination", message, Some("write `on:` here".to_owned()));
            }
            return;
        }
        for key in ["on", "where", "when", "each"] {
            if let Some(span) = fields.key(key) {
                let message = format!("`{key}` cannot stand beside `ask`");
                let hint = if key == "on" { "write `of:`" } else { "put the condition into a fact of its own" };
                self.complain(span, "policy.key-combination", message, Some(hint.to_owned()));
            }
        }
        if !signature.parameters.is_empty() {
            let message = format!("`{}` asks a question, so it cannot have values", signature.name);
            let hint = format!("write `{}` without parentheses", signature.name);
            self.complain(node.head(), "policy.key-combination", message, Some(hint));
        }
    }

    /// The events at which a fact may hold: one or a list.
    fn triggers(&mut self, node: &Node) -> Vec<Trigger> {
        match &node.content {
            Content::List(items) => items.iter().filter_map(|item| self.trigger(item)).collect(),
            _ => self.trigger(node).into_iter().collect(),
        }
    }

    /// `kind`, `tool_call(name)` or `tool_result(name)`.
    fn trigger(&mut self, node: &Node) -> Option<Trigger> {
        let text = self.text(node, "`on`")?.trim();
        let (kind, tool) = match text.split_once('(') {
            None => (text, None),
            Some((kind, rest)) => match rest.strip_suffix(')') {
                Some(tool) if !tool.contains([',', '(', ')']) && !tool.trim().is_empty() => {
                    (kind.trim(), Some(unquoted(tool.trim())))
                }
                _ => {
                    let message = format!("`{text}` does not name events");
                    let hint = "write a kind, or `tool_call(name)`; for several write a list".to_owned();
                    self.complain(node.span.clone(), "policy.trigger", message, Some(hint));
                    return None;
                }
            },
        };
        let is_kind = Kind::names().any(|name| name == kind);
        let takes_tool = matches!(kind, "tool_call" | "tool_result");
        let near = nearest(kind, Kind::names()).filter(|meant| *meant != kind);
        let hint = near.map(|meant| format!("did you mean `{meant}`?"));
        if !is_kind && builtin(kind).is_some() {
            let message = format!("`{kind}` is a fact, not a kind of event");
            let hint = "name the kind here, and the fact in the formula".to_owned();
            self.complain(node.span.clone(), "policy.trigger", message, Some(hint));
        } else if tool.is_some() && !takes_tool {
            let message = format!("`{kind}` takes no tool; only `tool_call` and `tool_result` do");
            self.complain(node.span.clone(), "policy.trigger", message, hint.or(Some(format!("write `{kind}`"))));
        } else if !is_name(kind) {
            let message = format!("`{kind}` does not name a kind of event");
            let known: Vec<&str> = Kind::names().collect();
            let known = format!("one of {}, or a kind of your own", listed(&known));
            self.complain(node.span.clone(), "policy.trigger", message, hint.or(Some(known)));
        } else if !is_kind && hint.is_some() {
            let message = format!("`{kind}` is not a kind that Lictor knows");
            self.warn(node.span.clone(), "policy.unknown-kind", message, hint);
        }
        Some(Trigger { kind: kind.into(), tool: tool.map(Text::from) })
    }
}

/// A name in quotes, as formulas write it, is the same name.
fn unquoted(tool: &str) -> &str {
    tool.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(tool)
}

fn with_parameter(signature: &Signature, parameter: &str) -> String {
    let parameters: Vec<&str> = signature.parameters.iter().map(Text::as_str).chain([parameter]).collect();
    format!("{}({})", signature.name, parameters.join(", "))
}

/// Can a formula speak of a fact of this name?
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().all(plain) && name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name != "_"
}

/// Why a fact cannot be called so.
fn unusable(name: &str, parameters: &[&str]) -> Option<(String, String)> {
    let call = format!("{name}({})", vec!["_"; parameters.len()].join(", "));
    let text = if parameters.is_empty() { name } else { call.as_str() };
    let mut arena = Arena::new();
    let reads_back = arena.parse(text).is_ok_and(|formula| {
        matches!(&arena[formula], FormulaNode::Fact(atom) if &*atom.name == name && atom.terms.len() == parameters.len())
    });
    let repeated = parameters.iter().enumerate().find(|(place, name)| parameters[..*place].contains(name));
    if builtin(name).is_some() {
        let message = format!("`{name}` is built in and cannot be defined again");
        return Some((message, "give your fact another name".into()));
    }
    if !reads_back {
        return Some((format!("formulas read `{name}` as an operator"), "give your fact another name".into()));
    }
    if let Some((_, name)) = repeated {
        return Some((format!("two values are called `{name}`"), "give each value a name of its own".into()));
    }
    let taken = parameters.iter().find(|name| CASE_KEYS.contains(name))?;
    Some((
        format!("a value cannot be called `{taken}`"),
        format!("`{taken}:` says when the fact holds; rename the value"),
    ))
}
