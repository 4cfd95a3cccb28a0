//! Facts that a policy defines.

use lictor_logic::{Arena, Node as FormulaNode, nearest};

use super::{ExpressionUse, FactDraft};
use crate::policy_reader::{Fields, PolicyReader, quote_words};
use crate::vocabulary::builtin;
use crate::yaml::{Content, Key, YamlNode};
use crate::{FactCase, FactDefinition, Trigger};
use lictor_event::Kind;
use lictor_json::Text;

/// The keys of a case that are not values of the fact.
const CASE_KEYS: [&str; 9] = ["on", "where", "when", "each", "ask", "of", "by", "window", "examples"];

/// The keys of a case that belong to `ask`.
const QUESTION_KEYS: [&str; 4] = ["of", "by", "window", "examples"];

const EXAMPLE: &str =
    "such as `big_order(amount): {on: tool_call(order), when: args.amount > 100, amount: args.amount}`";

/// The name of a fact and the names of its values.
struct FactSignature {
    name: Text,
    parameters: Vec<Text>,
}

impl PolicyReader<'_> {
    /// Reads the facts of a policy.
    pub(super) fn read_facts(&mut self, node: &YamlNode) -> Vec<FactDraft> {
        let mut facts: Vec<FactDraft> = Vec::new();
        for (key, value) in self.read_entries(node, "`facts`", EXAMPLE) {
            let Some(signature) = self.read_signature(key) else { continue };
            let mut expressions = Vec::new();
            let cases: Vec<FactCase> = match &value.content {
                Content::List(items) if items.is_empty() => {
                    let message = format!("`{}` can never hold: there is no case", signature.name);
                    self.report_error(value.span.clone(), "policy.empty", message, Some(EXAMPLE.to_owned()));
                    Vec::new()
                }
                Content::List(items) => {
                    items.iter().map(|item| self.read_case(item, &signature, &mut expressions)).collect()
                }
                _ => vec![self.read_case(value, &signature, &mut expressions)],
            };
            if let Some(first) = facts.iter().find(|other| other.definition.name == signature.name) {
                let message = format!("the fact `{}` is defined for the second time", signature.name);
                let hint =
                    format!("the first is in line {}; give both as a list of cases", first.definition.place.line);
                self.report_error(key.span.clone(), "policy.duplicate", message, Some(hint));
                continue;
            }
            let FactSignature { name, parameters } = signature;
            let place = self.source.place(key.span.start);
            let definition = FactDefinition { name, parameters, cases, place };
            facts.push(FactDraft { definition, source: self.source.clone(), expressions });
        }
        facts
    }

    /// Reads `name` or `name(parameter, …)`.
    fn read_signature(&mut self, key: &Key) -> Option<FactSignature> {
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
            self.report_error(key.span.clone(), "policy.fact-name", message, Some(hint));
            return None;
        };
        if let Some(problem) = check_fact_name(name, &parameters) {
            self.report_error(key.span.clone(), "policy.fact-name", problem.0, Some(problem.1));
            return None;
        }
        let parameters = parameters.into_iter().map(Text::from).collect();
        Some(FactSignature { name: name.into(), parameters })
    }

    /// Reads one way in which a fact comes to hold.
    fn read_case(
        &mut self,
        node: &YamlNode,
        signature: &FactSignature,
        expressions: &mut Vec<(ExpressionUse, YamlNode)>,
    ) -> FactCase {
        let FactSignature { name, parameters } = signature;
        let known: Vec<&str> = CASE_KEYS.into_iter().chain(parameters.iter().map(Text::as_str)).collect();
        let entries = self.read_entries(node, &format!("the fact `{name}`"), EXAMPLE);
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.text.as_str())) {
            let hint = match nearest(&key.text, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("to give the fact this value, name it: `{}`", with_parameter(signature, &key.text)),
            };
            let message = format!("`{}` is neither a key nor a value of `{name}`", key.text);
            self.report_error(key.span.clone(), "policy.value-without-parameter", message, Some(hint));
        }
        let fields = Fields::new(entries);
        let tests = fields.get("where").map(|node| self.read_tests(node)).unwrap_or_default();
        let mut expression = |reader: &mut Self, key: &str, what: &str| {
            let node = fields.get(key)?;
            let text = reader.read_scalar(node, what)?;
            let usage = if key == "when" { ExpressionUse::Condition } else { ExpressionUse::Value };
            expressions.push((usage, node.clone()));
            Some(Text::from(text.trim()))
        };
        let when = expression(self, "when", "`when`");
        let each = expression(self, "each", "`each`");
        let ask = fields.get("ask").and_then(|node| self.read_text(node, "`ask`")).map(Text::from);
        let ask = ask.map(|statement| self.read_question(statement, &fields));
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
                    self.report_error(node.head_span(), "policy.parameter-without-value", message, Some(hint));
                }
                None => {}
            }
        }
        self.check_ask(node, &fields, signature);
        let trigger = if fields.get("ask").is_some() { "of" } else { "on" };
        let on = fields.get(trigger).map(|node| self.read_triggers(node)).unwrap_or_default();
        let is_bare = on.is_empty() && tests.is_empty() && when.is_none() && each.is_none() && ask.is_none();
        if is_bare && matches!(node.content, Content::Map(_)) && fields.get("on").or(fields.get("of")).is_none() {
            let message = format!("`{name}` has no condition");
            self.report_error(
                node.head_span(),
                "policy.empty",
                message,
                Some("add `on:`, `where:` or `when:`".to_owned()),
            );
        }
        FactCase { on, tests, when, each, values, ask, place: node.place(self.source) }
    }

    /// Checks that a fact with `ask` has no other condition: only a label answers its question.
    fn check_ask(&mut self, node: &YamlNode, fields: &Fields<'_>, signature: &FactSignature) {
        if fields.get("ask").is_none() {
            for key in QUESTION_KEYS {
                // A fact may have a value of that name.
                let is_value = signature.parameters.iter().any(|parameter| parameter == key);
                if let Some(span) = fields.key_span(key).filter(|_| !is_value) {
                    let message = format!("`{key}` belongs to `ask`");
                    let hint = (key == "of").then(|| "write `on:` here".to_owned());
                    self.report_error(span, "policy.key-combination", message, hint);
                }
            }
            return;
        }
        for key in ["on", "where", "when", "each"] {
            if let Some(span) = fields.key_span(key) {
                let message = format!("`{key}` cannot be combined with `ask`");
                let hint = if key == "on" { "write `of:`" } else { "put the condition into a fact of its own" };
                self.report_error(span, "policy.key-combination", message, Some(hint.to_owned()));
            }
        }
        if !signature.parameters.is_empty() {
            let message = format!("`{}` asks a question, so it cannot have values", signature.name);
            let hint = format!("write `{}` without parentheses", signature.name);
            self.report_error(node.head_span(), "policy.key-combination", message, Some(hint));
        }
    }

    /// Reads the events at which a fact may hold: one or a list.
    fn read_triggers(&mut self, node: &YamlNode) -> Vec<Trigger> {
        match &node.content {
            Content::List(items) => items.iter().filter_map(|item| self.read_trigger(item)).collect(),
            _ => self.read_trigger(node).into_iter().collect(),
        }
    }

    /// Reads `kind`, `tool_call(name)` or `tool_result(name)`.
    fn read_trigger(&mut self, node: &YamlNode) -> Option<Trigger> {
        let text = self.read_text(node, "`on`")?.trim();
        let (kind, tool) = match text.split_once('(') {
            None => (text, None),
            Some((kind, rest)) => match rest.strip_suffix(')') {
                Some(tool) if !tool.contains([',', '(', ')']) && !tool.trim().is_empty() => {
                    (kind.trim(), Some(strip_quotes(tool.trim())))
                }
                _ => {
                    let message = format!("`{text}` does not name events");
                    let hint = "write a kind, or `tool_call(name)`; for several write a list".to_owned();
                    self.report_error(node.span.clone(), "policy.trigger", message, Some(hint));
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
            self.report_error(node.span.clone(), "policy.trigger", message, Some(hint));
        } else if tool.is_some() && !takes_tool {
            let message = format!("`{kind}` takes no tool; only `tool_call` and `tool_result` do");
            self.report_error(node.span.clone(), "policy.trigger", message, hint.or(Some(format!("write `{kind}`"))));
        } else if !is_name(kind) {
            let message = format!("`{kind}` does not name a kind of event");
            let known: Vec<&str> = Kind::names().collect();
            let known = format!("one of {}, or a kind of your own", quote_words(&known));
            self.report_error(node.span.clone(), "policy.trigger", message, hint.or(Some(known)));
        } else if !is_kind && hint.is_some() {
            let message = format!("`{kind}` is not a kind that Lictor knows");
            self.report_warning(node.span.clone(), "policy.unknown-kind", message, hint);
        }
        Some(Trigger { kind: kind.into(), tool: tool.map(Text::from) })
    }
}

/// Returns a tool name without the quotes that formulas put around it.
fn strip_quotes(tool: &str) -> &str {
    tool.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(tool)
}

fn with_parameter(signature: &FactSignature, parameter: &str) -> String {
    let parameters: Vec<&str> = signature.parameters.iter().map(Text::as_str).chain([parameter]).collect();
    format!("{}({})", signature.name, parameters.join(", "))
}

/// Whether formulas can name a fact so.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().all(plain) && name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name != "_"
}

/// Returns a message and a hint if a fact cannot have this name or these parameters.
fn check_fact_name(name: &str, parameters: &[&str]) -> Option<(String, String)> {
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
