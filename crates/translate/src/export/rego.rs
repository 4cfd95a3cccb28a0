//! Rego, for Open Policy Agent: a module that says of a stored trace which properties each event breaks.
//!
//! ```text
//! opa eval -d policy.rego -i trace.json data.lictor.violations
//! ```
//!
//! The module is the definition of the logic in another language: a function for every part of a formula, with the
//! position and the values of its variables. It is slow, and that is the point of it: there is nothing in it to believe.

use std::fmt::Write;
use std::sync::Arc;

use lictor_logic::{
    Aggregate, AggregateKind, Arena, Arithmetic, Binary, Comparison, Formula, Interval, Measure, Node, Quantifier,
    Term, Unary, Value,
};
use rustc_hash::FxHashMap;

use super::{ExportedPolicy, FactTrace, Inexpressible, Safety, file_name, free, safety};
use lictor_policy::Policy;

/// What every module begins with.
const PRELUDE: &str = r#"package lictor

# Made by `lictor export rego`. For each event, counted from zero, the properties it breaks:
#   opa eval -d policy.rego -i trace.json data.lictor.violations
#
# input.events is a list of {"time": nanoseconds or null, "facts": [{"name": …, "values": […]}]}.

import rego.v1

length := count(input.events)

# Every value there is, and one for all that were never seen.
domain := {value | some event in input.events; some fact in event.facts; some value in fact.values} | constants | unseen

# An event without a time is at the time of the one before it.
clock(i) := max(array.concat([0], [event.time | some j in numbers.range(0, i); event := input.events[j]; event.time != null]))

age(i, j) := clock(i) - clock(j)

# Engines add up binary fractions; nine decimals of the sum are right.
exact(x) := round(x * 1000000000) / 1000000000

# Values of different kinds are unequal and in no order.
less(x, y) if {
	type_name(x) == type_name(y)
	type_name(x) in {"number", "string", "boolean"}
	x < y
}

at_most(x, y) if x == y

at_most(x, y) if less(x, y)
"#;

/// A policy as a Rego module, and an input for each trace.
pub fn policy(policy: &Policy, traces: &[FactTrace]) -> ExportedPolicy {
    let (properties, mut left_out) = safety(policy);
    let mut module = Module { text: String::new(), constants: Vec::new(), unseen: 1, functions: 0 };
    let mut rules = String::new();
    for property in &properties {
        match module.property(property) {
            Ok(rule) => rules.push_str(&rule),
            Err(reason) => left_out.push(Inexpressible { property: property.property.id.to_string(), reason }),
        }
    }
    if rules.is_empty() {
        rules.push_str("\n# No property of the policy can be said in Rego.\nviolations := set()\n");
    }
    let constants: Vec<String> = module.constants.iter().map(literal).collect();
    let unseen: Vec<String> = (0..module.unseen).map(|place| format!("{{\"never seen\": {place}}}")).collect();
    let constants = if constants.is_empty() { "set()".to_owned() } else { format!("{{{}}}", constants.join(", ")) };
    let head = format!("{PRELUDE}\nconstants := {constants}\n\nunseen := {{{}}}\n", unseen.join(", "));
    let text = format!("{head}{rules}{}", module.text);
    let inputs = traces.iter().map(|it| (format!("{}.json", file_name(&it.session)), trace(it) + "\n"));
    ExportedPolicy { files: std::iter::once(("policy.rego".to_owned(), text)).chain(inputs).collect(), left_out }
}

/// A trace as input.
pub fn trace(trace: &FactTrace) -> String {
    let events: Vec<serde_json::Value> = trace
        .events
        .iter()
        .map(|(time, facts)| {
            let facts: Vec<serde_json::Value> = facts
                .iter()
                .map(|fact| {
                    let values: Vec<serde_json::Value> = fact.values.iter().map(json).collect();
                    serde_json::json!({"name": &*fact.name, "values": values})
                })
                .collect();
            serde_json::json!({"time": time.map(|time| time.0), "facts": facts})
        })
        .collect();
    serde_json::json!({"session": trace.session.as_str(), "events": events}).to_string()
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Decimal(value) => value.get().into(),
        Value::Text(text) => (&**text).into(),
    }
}

fn literal(value: &Value) -> String {
    json(value).to_string()
}

struct Module {
    text: String,
    constants: Vec<Value>,
    /// How many values stand for all that were never seen.
    unseen: usize,
    functions: usize,
}

/// The functions that were made for parts of one formula.
struct Parts<'a> {
    arena: &'a Arena,
    made: FxHashMap<Formula, (String, Vec<Arc<str>>)>,
}

impl Module {
    fn property(&mut self, safety: &Safety<'_>) -> Result<String, String> {
        let mut parts = Parts { arena: &safety.arena, made: FxHashMap::default() };
        self.unseen = self.unseen.max(safety.variables.len());
        let (name, parameters) = self.function(&mut parts, safety.body)?;
        let mut rule = format!(
            "\n# {}\nviolations contains {{\"event\": i, \"property\": {}}} if {{\n",
            one_line(&safety.property.says),
            literal(&Value::text(safety.property.id.as_str()))
        );
        rule.push_str("\tsome i in numbers.range(0, length - 1)\n");
        for variable in &safety.variables {
            let domain = self.domain(&safety.arena, safety.body, variable);
            let _ = writeln!(rule, "\tsome {} in {domain}", spelt(variable));
        }
        let _ = writeln!(rule, "\tnot {name}({})\n}}", arguments("i", &parameters));
        Ok(rule)
    }

    /// The name of the function of a part, and the variables it takes beside the position.
    fn function(&mut self, parts: &mut Parts<'_>, f: Formula) -> Result<(String, Vec<Arc<str>>), String> {
        if let Some(known) = parts.made.get(&f) {
            return Ok(known.clone());
        }
        let arena = parts.arena;
        let name = format!("f{}", self.functions);
        self.functions += 1;
        let parameters = free(arena, f);
        let head = format!("{name}({})", arguments("i", &parameters));
        let bodies: Vec<String> = match &arena[f] {
            Node::True => vec!["true".to_owned()],
            Node::False => vec!["false".to_owned()],
            Node::Fact(atom) => {
                let mut body = format!(
                    "some fact in input.events[i].facts\n\tfact.name == {}\n\tcount(fact.values) >= {}",
                    literal(&Value::text(&*atom.name)),
                    atom.terms.len()
                );
                for (place, term) in atom.terms.iter().enumerate() {
                    if let Some(term) = self.term(term) {
                        let _ = write!(body, "\n\tfact.values[{place}] == {term}");
                    }
                }
                vec![body]
            }
            Node::Compare(comparison, left, right) => match (self.term(left), self.term(right)) {
                (Some(left), Some(right)) => vec![compare(*comparison, &left, &right)],
                _ => vec!["false".to_owned()],
            },
            Node::Measure(comparison, left, right) => {
                let mut lines = Vec::new();
                let left = self.measure(parts, left, &mut lines)?;
                let right = self.measure(parts, right, &mut lines)?;
                lines.push(compare(*comparison, &left, &right));
                vec![lines.join("\n\t")]
            }
            Node::Not(g) => vec![format!("not {}", self.call(parts, *g, "i")?)],
            Node::And(list) => {
                let calls: Result<Vec<String>, String> = list.iter().map(|part| self.call(parts, *part, "i")).collect();
                vec![calls?.join("\n\t")]
            }
            Node::Or(list) => list.iter().map(|part| self.call(parts, *part, "i")).collect::<Result<_, _>>()?,
            Node::Implies(left, right) => {
                vec![format!("not {}", self.call(parts, *left, "i")?), self.call(parts, *right, "i")?]
            }
            Node::Iff(left, right) => {
                let (left, right) = (self.call(parts, *left, "i")?, self.call(parts, *right, "i")?);
                vec![format!("{left}\n\t{right}"), format!("not {left}\n\tnot {right}")]
            }
            Node::Unary(operator, interval, g) => match operator {
                Unary::Previous => vec![format!("i > 0\n\t{}", self.call(parts, *g, "i - 1")?)],
                Unary::WeakPrevious => vec!["i == 0".to_owned(), self.call(parts, *g, "i - 1")?],
                Unary::Once => {
                    let inner = self.call(parts, *g, "j")?;
                    vec![format!("some j in numbers.range(0, i)\n\t{}{inner}", within(*interval))]
                }
                Unary::Historically => {
                    let inner = self.call(parts, *g, "j")?;
                    let broken = format!("{name}_not({})", arguments("i", &parameters));
                    let _ = write!(
                        self.text,
                        "\n{broken} if {{\n\tsome j in numbers.range(0, i)\n\t{}not {inner}\n}}\n",
                        within(*interval)
                    );
                    vec![format!("not {broken}")]
                }
                Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always => return Err(ahead()),
            },
            Node::Binary(operator, interval, left, right) => {
                let positive = match operator {
                    Binary::Since => true,
                    Binary::Trigger => false,
                    _ => return Err(ahead()),
                };
                // `f T g` is that `!f S !g` is not.
                let sign = if positive { "" } else { "not " };
                let (left, right) = (self.call(parts, *left, "k")?, self.call(parts, *right, "j")?);
                let since = format!(
                    "some j in numbers.range(0, i)\n\t{}{sign}{right}\n\tevery k in [k | some k in numbers.range(0, i); k > j] {{\n\t\t{sign}{left}\n\t}}",
                    within(*interval)
                );
                if positive {
                    vec![since]
                } else {
                    let broken = format!("{name}_not({})", arguments("i", &parameters));
                    let _ = write!(self.text, "\n{broken} if {{\n\t{since}\n}}\n");
                    vec![format!("not {broken}")]
                }
            }
            Node::Quantified(quantifier, variables, body) => {
                self.unseen = self.unseen.max(variables.len() + parameters.len());
                let inner = self.call(parts, *body, "i")?;
                let choose: Vec<String> = variables
                    .iter()
                    .map(|variable| format!("some {} in {}", spelt(variable), self.domain(arena, *body, variable)))
                    .collect();
                match quantifier {
                    Quantifier::Exists => vec![format!("{}\n\t{inner}", choose.join("\n\t"))],
                    Quantifier::Forall => {
                        let broken = format!("{name}_not({})", arguments("i", &parameters));
                        let _ = write!(self.text, "\n{broken} if {{\n\t{}\n\tnot {inner}\n}}\n", choose.join("\n\t"));
                        vec![format!("not {broken}")]
                    }
                }
            }
        };
        for body in bodies {
            let _ = write!(self.text, "\n{head} if {{\n\t{body}\n}}\n");
        }
        parts.made.insert(f, (name.clone(), parameters.clone()));
        Ok((name, parameters))
    }

    fn call(&mut self, parts: &mut Parts<'_>, f: Formula, position: &str) -> Result<String, String> {
        let (name, parameters) = self.function(parts, f)?;
        Ok(format!("{name}({})", arguments(position, &parameters)))
    }

    fn term(&mut self, term: &Term) -> Option<String> {
        match term {
            Term::Any => None,
            Term::Var(name) => Some(spelt(name)),
            Term::Value(value) => {
                if !self.constants.contains(value) {
                    self.constants.push(value.clone());
                }
                Some(literal(value))
            }
        }
    }

    /// The values that a variable of a formula need stand for: those in the places where the formula has it, its
    /// constants, and those never seen, as which all others behave. Where its order matters, every value does.
    fn domain(&mut self, arena: &Arena, f: Formula, variable: &Arc<str>) -> String {
        let mut places = Vec::new();
        if !places_of(arena, f, variable, &mut places) {
            return "domain".to_owned();
        }
        let name = format!("d{}", self.functions);
        self.functions += 1;
        let _ = write!(self.text, "\n{name} := constants | unseen");
        for (fact, place) in places {
            let fact = literal(&Value::text(&*fact));
            let _ = write!(
                self.text,
                " | {{value | some event in input.events; some fact in event.facts; fact.name == {fact}; value := fact.values[{place}]}}"
            );
        }
        self.text.push('\n');
        name
    }

    /// An expression for a measure, after the lines that it needs.
    fn measure(&mut self, parts: &mut Parts<'_>, measure: &Measure, lines: &mut Vec<String>) -> Result<String, String> {
        match measure {
            Measure::Term(term) => self.term(term).ok_or_else(|| "`_` is compared".to_owned()),
            Measure::Computed(sign, left, right) => {
                let (left, right) = (self.measure(parts, left, lines)?, self.measure(parts, right, lines)?);
                let symbol = match sign {
                    Arithmetic::Plus => "+",
                    Arithmetic::Minus => "-",
                    Arithmetic::Times => "*",
                    Arithmetic::Over => "/",
                };
                Ok(format!("({left} {symbol} {right})"))
            }
            Measure::Aggregate(Aggregate { kind, interval, variables, body }) => {
                let inner = self.call(parts, *body, "j")?;
                let name = format!("n{}", self.functions);
                self.functions += 1;
                let arena = parts.arena;
                let choose: String = variables
                    .iter()
                    .map(|variable| format!("some {} in {}; ", spelt(variable), self.domain(arena, *body, variable)))
                    .collect();
                let within = within(*interval).replace("\n\t", "; ");
                let first = variables.first().map_or_else(|| "1".to_owned(), |variable| spelt(variable));
                let all = format!("some j in numbers.range(0, i); {within}{choose}{inner}");
                let value = match kind {
                    AggregateKind::Count => format!("count([1 | {all}])"),
                    AggregateKind::Distinct => format!("count({{{first} | {all}}})"),
                    AggregateKind::Sum => format!("exact(sum([{first} | {all}]))"),
                    AggregateKind::Min => format!("min([{first} | {all}])"),
                    AggregateKind::Max => format!("max([{first} | {all}])"),
                    AggregateKind::Average => {
                        lines.push(format!("{name}_all := [{first} | {all}]"));
                        lines.push(format!("count({name}_all) > 0"));
                        format!("exact(sum({name}_all) / count({name}_all))")
                    }
                    AggregateKind::Latest => format!("max([[j, {first}] | {all}])[1]"),
                };
                lines.push(format!("{name} := {value}"));
                Ok(name)
            }
        }
    }
}

fn ahead() -> String {
    "it looks ahead".to_owned()
}

fn compare(comparison: Comparison, left: &str, right: &str) -> String {
    match comparison {
        Comparison::Equal => format!("{left} == {right}"),
        Comparison::Unequal => format!("{left} != {right}"),
        Comparison::Less => format!("less({left}, {right})"),
        Comparison::AtMost => format!("at_most({left}, {right})"),
        Comparison::Greater => format!("less({right}, {left})"),
        Comparison::AtLeast => format!("at_most({right}, {left})"),
    }
}

/// Lines that keep `j` within a bound behind `i`.
fn within(interval: Interval) -> String {
    let ends = match interval {
        Interval::Steps { from, to } => {
            [(from > 0).then(|| format!("i - j >= {from}\n\t")), to.map(|to| format!("i - j <= {to}\n\t"))]
        }
        Interval::Time { from, to } => [
            (from.0 > 0).then(|| format!("age(i, j) >= {}\n\t", from.0)),
            to.map(|to| format!("age(i, j) <= {}\n\t", to.0)),
        ],
    };
    ends.into_iter().flatten().collect()
}

/// A variable as Rego allows it, apart from the names that the module uses.
fn spelt(variable: &str) -> String {
    let plain: String = variable.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("v_{plain}")
}

fn arguments(position: &str, variables: &[Arc<str>]) -> String {
    let variables = variables.iter().map(|variable| spelt(variable));
    std::iter::once(position.to_owned()).chain(variables).collect::<Vec<_>>().join(", ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The facts that have a variable, and where; false if its order matters.
fn places_of(arena: &Arena, f: Formula, variable: &Arc<str>, places: &mut Vec<(Arc<str>, usize)>) -> bool {
    let is_it = |term: &Term| matches!(term, Term::Var(name) if name == variable);
    match &arena[f] {
        Node::Fact(atom) => {
            for (place, _) in atom.terms.iter().enumerate().filter(|(_, term)| is_it(term)) {
                let found = (Arc::clone(&atom.name), place);
                if !places.contains(&found) {
                    places.push(found);
                }
            }
            true
        }
        Node::Compare(comparison, left, right) => {
            let is_equality = matches!(comparison, Comparison::Equal | Comparison::Unequal);
            let is_constant = |term: &Term| matches!(term, Term::Value(_));
            (!is_it(left) && !is_it(right)) || (is_equality && (is_constant(left) || is_constant(right)))
        }
        Node::Measure(_, left, right) => {
            [left, right].iter().all(|measure| places_in(arena, measure, variable, places))
        }
        Node::Quantified(_, variables, _) if variables.contains(variable) => true,
        node => node.operands().iter().all(|operand| places_of(arena, *operand, variable, places)),
    }
}

fn places_in(arena: &Arena, measure: &Measure, variable: &Arc<str>, places: &mut Vec<(Arc<str>, usize)>) -> bool {
    match measure {
        Measure::Term(term) => !matches!(term, Term::Var(name) if name == variable),
        Measure::Computed(_, left, right) => {
            places_in(arena, left, variable, places) && places_in(arena, right, variable, places)
        }
        Measure::Aggregate(aggregate) if aggregate.variables.contains(variable) => true,
        Measure::Aggregate(aggregate) => places_of(arena, aggregate.body, variable, places),
    }
}
