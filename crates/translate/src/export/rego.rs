//! Rego, for Open Policy Agent: a module that lists which properties each event of a stored trace violates.
//!
//! ```text
//! opa eval -d policy.rego -i trace.json data.lictor.violations
//! ```
//!
//! The module is the definition of the logic in another language: a function for every part of a formula, with the
//! position and the values of its variables. It is slow on purpose: it has no optimization that would need trust.

use std::fmt::Write;
use std::sync::Arc;

use lictor_logic::{
    Aggregate, AggregateKind, Arena, Arithmetic, Binary, Comparison, Formula, Interval, Measure, Node, Quantifier,
    Term, Unary, Value,
};
use rustc_hash::FxHashMap;

use super::{ExportedPolicy, FactTrace, Inexpressible, SafetyProperty, free_variables, split_safety, to_file_name};
use lictor_policy::Policy;

/// The beginning of every module.
const PRELUDE: &str = r#"package lictor

# Made by `lictor export rego`. For each event, counted from zero, the properties it breaks:
#   opa eval -d policy.rego -i trace.json data.lictor.violations
#
# input.events is a list of {"time": nanoseconds or null, "facts": [{"name": …, "values": […]}]}.

import rego.v1

length := count(input.events)

# Every value there is, and one for all that were never seen.
domain := {value | some event in input.events; some fact in event.facts; some value in fact.values} | constants | unseen

known_times := [event.time | some event in input.events; event.time != null]

# Events before the first known time are at that time.
start := known_times[0] if count(known_times) > 0

start := 0 if count(known_times) == 0

# An event without a time is at the time of the one before it.
clock(i) := max(array.concat([start], [event.time | some j in numbers.range(0, i); event := input.events[j]; event.time != null]))

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

/// Exports a policy as a Rego module, with an input for each trace.
pub fn policy(policy: &Policy, traces: &[FactTrace]) -> ExportedPolicy {
    let (properties, mut left_out) = split_safety(policy);
    let mut module = RegoModule { text: String::new(), constants: Vec::new(), unseen: 1, functions: 0 };
    let mut rules = String::new();
    for property in &properties {
        match module.write_property(property) {
            Ok(rule) => rules.push_str(&rule),
            Err(reason) => left_out.push(Inexpressible { property: property.property.id.to_string(), reason }),
        }
    }
    if rules.is_empty() {
        rules.push_str("\n# No property of the policy can be said in Rego.\nviolations := set()\n");
    }
    let constants: Vec<String> = module.constants.iter().map(write_literal).collect();
    let unseen: Vec<String> = (0..module.unseen).map(|place| format!("{{\"never seen\": {place}}}")).collect();
    let constants = if constants.is_empty() { "set()".to_owned() } else { format!("{{{}}}", constants.join(", ")) };
    let head = format!("{PRELUDE}\nconstants := {constants}\n\nunseen := {{{}}}\n", unseen.join(", "));
    let text = format!("{head}{rules}{}", module.text);
    let inputs = traces.iter().map(|it| (format!("{}.json", to_file_name(&it.session)), trace(it) + "\n"));
    ExportedPolicy { files: std::iter::once(("policy.rego".to_owned(), text)).chain(inputs).collect(), left_out }
}

/// Returns a trace as input of the module.
pub fn trace(trace: &FactTrace) -> String {
    let events: Vec<serde_json::Value> = trace
        .events
        .iter()
        .map(|(time, facts)| {
            let facts: Vec<serde_json::Value> = facts
                .iter()
                .map(|fact| {
                    let values: Vec<serde_json::Value> = fact.values.iter().map(value_to_json).collect();
                    serde_json::json!({"name": &*fact.name, "values": values})
                })
                .collect();
            serde_json::json!({"time": time.map(|time| time.0), "facts": facts})
        })
        .collect();
    serde_json::json!({"session": trace.session.as_str(), "events": events}).to_string()
}

fn value_to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Decimal(value) => value.get().into(),
        Value::Text(text) => (&**text).into(),
    }
}

fn write_literal(value: &Value) -> String {
    value_to_json(value).to_string()
}

/// The module while it is written.
struct RegoModule {
    text: String,
    constants: Vec<Value>,
    /// How many values represent all that never occur.
    unseen: usize,
    functions: usize,
}

/// The functions that were written for parts of one formula.
struct FunctionTable<'a> {
    arena: &'a Arena,
    made: FxHashMap<Formula, (String, Vec<Arc<str>>)>,
}

impl RegoModule {
    fn write_property(&mut self, safety: &SafetyProperty<'_>) -> Result<String, String> {
        let mut parts = FunctionTable { arena: &safety.arena, made: FxHashMap::default() };
        self.unseen = self.unseen.max(safety.variables.len());
        let (name, parameters) = self.write_function(&mut parts, safety.body)?;
        let mut rule = format!(
            "\n# {}\nviolations contains {{\"event\": i, \"property\": {}}} if {{\n",
            collapse_whitespace(&safety.property.says),
            write_literal(&Value::text(safety.property.id.as_str()))
        );
        rule.push_str("\tsome i in numbers.range(0, length - 1)\n");
        for variable in &safety.variables {
            let domain = self.write_domain(&safety.arena, safety.body, variable);
            let _ = writeln!(rule, "\tsome {} in {domain}", to_variable_name(variable));
        }
        let _ = writeln!(rule, "\tnot {name}({})\n}}", write_arguments("i", &parameters));
        Ok(rule)
    }

    /// Writes the function of a part; returns its name and the variables it takes beside the position.
    fn write_function(&mut self, parts: &mut FunctionTable<'_>, f: Formula) -> Result<(String, Vec<Arc<str>>), String> {
        if let Some(known) = parts.made.get(&f) {
            return Ok(known.clone());
        }
        let arena = parts.arena;
        let name = format!("f{}", self.functions);
        self.functions += 1;
        let parameters = free_variables(arena, f);
        let head = format!("{name}({})", write_arguments("i", &parameters));
        let bodies: Vec<String> = match &arena[f] {
            Node::True => vec!["true".to_owned()],
            Node::False => vec!["false".to_owned()],
            Node::Fact(atom) => {
                let mut body = format!(
                    "some fact in input.events[i].facts\n\tfact.name == {}\n\tcount(fact.values) >= {}",
                    write_literal(&Value::text(&*atom.name)),
                    atom.terms.len()
                );
                for (place, term) in atom.terms.iter().enumerate() {
                    if let Some(term) = self.write_term(term) {
                        let _ = write!(body, "\n\tfact.values[{place}] == {term}");
                    }
                }
                vec![body]
            }
            Node::Compare(comparison, left, right) => match (self.write_term(left), self.write_term(right)) {
                (Some(left), Some(right)) => vec![write_comparison(*comparison, &left, &right)],
                _ => vec!["false".to_owned()],
            },
            Node::Measure(comparison, left, right) => {
                let mut lines = Vec::new();
                let left = self.write_measure(parts, left, &mut lines)?;
                let right = self.write_measure(parts, right, &mut lines)?;
                lines.push(write_comparison(*comparison, &left, &right));
                vec![lines.join("\n\t")]
            }
            Node::Not(g) => vec![format!("not {}", self.write_call(parts, *g, "i")?)],
            Node::And(list) => {
                let calls: Result<Vec<String>, String> =
                    list.iter().map(|part| self.write_call(parts, *part, "i")).collect();
                vec![calls?.join("\n\t")]
            }
            Node::Or(list) => list.iter().map(|part| self.write_call(parts, *part, "i")).collect::<Result<_, _>>()?,
            Node::Implies(left, right) => {
                vec![format!("not {}", self.write_call(parts, *left, "i")?), self.write_call(parts, *right, "i")?]
            }
            Node::Iff(left, right) => {
                let (left, right) = (self.write_call(parts, *left, "i")?, self.write_call(parts, *right, "i")?);
                vec![format!("{left}\n\t{right}"), format!("not {left}\n\tnot {right}")]
            }
            Node::Unary(operator, interval, g) => match operator {
                Unary::Previous => vec![format!("i > 0\n\t{}", self.write_call(parts, *g, "i - 1")?)],
                Unary::WeakPrevious => vec!["i == 0".to_owned(), self.write_call(parts, *g, "i - 1")?],
                Unary::Once => {
                    let inner = self.write_call(parts, *g, "j")?;
                    vec![format!("some j in numbers.range(0, i)\n\t{}{inner}", write_bound(*interval))]
                }
                Unary::Historically => {
                    let inner = self.write_call(parts, *g, "j")?;
                    let broken = format!("{name}_not({})", write_arguments("i", &parameters));
                    let _ = write!(
                        self.text,
                        "\n{broken} if {{\n\tsome j in numbers.range(0, i)\n\t{}not {inner}\n}}\n",
                        write_bound(*interval)
                    );
                    vec![format!("not {broken}")]
                }
                Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always => return Err(looks_ahead_reason()),
            },
            Node::Binary(operator, interval, left, right) => {
                let positive = match operator {
                    Binary::Since => true,
                    Binary::Trigger => false,
                    _ => return Err(looks_ahead_reason()),
                };
                // `f T g` is that `!f S !g` is not.
                let sign = if positive { "" } else { "not " };
                let (left, right) = (self.write_call(parts, *left, "k")?, self.write_call(parts, *right, "j")?);
                let since = format!(
                    "some j in numbers.range(0, i)\n\t{}{sign}{right}\n\tevery k in [k | some k in numbers.range(0, i); k > j] {{\n\t\t{sign}{left}\n\t}}",
                    write_bound(*interval)
                );
                if positive {
                    vec![since]
                } else {
                    let broken = format!("{name}_not({})", write_arguments("i", &parameters));
                    let _ = write!(self.text, "\n{broken} if {{\n\t{since}\n}}\n");
                    vec![format!("not {broken}")]
                }
            }
            Node::Quantified(quantifier, variables, body) => {
                self.unseen = self.unseen.max(variables.len() + parameters.len());
                let inner = self.write_call(parts, *body, "i")?;
                let choose: Vec<String> = variables
                    .iter()
                    .map(|variable| {
                        format!("some {} in {}", to_variable_name(variable), self.write_domain(arena, *body, variable))
                    })
                    .collect();
                match quantifier {
                    Quantifier::Exists => vec![format!("{}\n\t{inner}", choose.join("\n\t"))],
                    Quantifier::Forall => {
                        let broken = format!("{name}_not({})", write_arguments("i", &parameters));
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

    fn write_call(&mut self, parts: &mut FunctionTable<'_>, f: Formula, position: &str) -> Result<String, String> {
        let (name, parameters) = self.write_function(parts, f)?;
        Ok(format!("{name}({})", write_arguments(position, &parameters)))
    }

    fn write_term(&mut self, term: &Term) -> Option<String> {
        match term {
            Term::Any => None,
            Term::Var(name) => Some(to_variable_name(name)),
            Term::Value(value) => {
                if !self.constants.contains(value) {
                    self.constants.push(value.clone());
                }
                Some(write_literal(value))
            }
        }
    }

    /// Writes the domain of a variable and returns its name: the values in the places where the formula has it, the
    /// constants, and the unseen values that represent all others. Where its order matters, every value counts.
    fn write_domain(&mut self, arena: &Arena, f: Formula, variable: &Arc<str>) -> String {
        let mut places = Vec::new();
        if !collect_places(arena, f, variable, &mut places) {
            return "domain".to_owned();
        }
        let name = format!("d{}", self.functions);
        self.functions += 1;
        let _ = write!(self.text, "\n{name} := constants | unseen");
        for (fact, place) in places {
            let fact = write_literal(&Value::text(&*fact));
            let _ = write!(
                self.text,
                " | {{value | some event in input.events; some fact in event.facts; fact.name == {fact}; value := fact.values[{place}]}}"
            );
        }
        self.text.push('\n');
        name
    }

    /// Returns an expression for a measure; adds the lines that it needs before it.
    fn write_measure(
        &mut self,
        parts: &mut FunctionTable<'_>,
        measure: &Measure,
        lines: &mut Vec<String>,
    ) -> Result<String, String> {
        match measure {
            Measure::Term(term) => self.write_term(term).ok_or_else(|| "`_` is compared".to_owned()),
            Measure::Computed(sign, left, right) => {
                let (left, right) = (self.write_measure(parts, left, lines)?, self.write_measure(parts, right, lines)?);
                let symbol = match sign {
                    Arithmetic::Plus => "+",
                    Arithmetic::Minus => "-",
                    Arithmetic::Times => "*",
                    Arithmetic::Over => "/",
                };
                Ok(format!("({left} {symbol} {right})"))
            }
            Measure::Aggregate(Aggregate { kind, interval, variables, body }) => {
                let inner = self.write_call(parts, *body, "j")?;
                let name = format!("n{}", self.functions);
                self.functions += 1;
                let arena = parts.arena;
                let choose: String = variables
                    .iter()
                    .map(|variable| {
                        format!(
                            "some {} in {}; ",
                            to_variable_name(variable),
                            self.write_domain(arena, *body, variable)
                        )
                    })
                    .collect();
                let within = write_bound(*interval).replace("\n\t", "; ");
                let first = variables.first().map_or_else(|| "1".to_owned(), |variable| to_variable_name(variable));
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

fn looks_ahead_reason() -> String {
    "it looks ahead".to_owned()
}

fn write_comparison(comparison: Comparison, left: &str, right: &str) -> String {
    match comparison {
        Comparison::Equal => format!("{left} == {right}"),
        Comparison::Unequal => format!("{left} != {right}"),
        Comparison::Less => format!("less({left}, {right})"),
        Comparison::AtMost => format!("at_most({left}, {right})"),
        Comparison::Greater => format!("less({right}, {left})"),
        Comparison::AtLeast => format!("at_most({right}, {left})"),
    }
}

/// Returns lines that keep `j` within a bound before `i`.
fn write_bound(interval: Interval) -> String {
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

/// Returns a variable as Rego allows it, apart from the names that the module uses.
fn to_variable_name(variable: &str) -> String {
    let plain: String = variable.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("v_{plain}")
}

fn write_arguments(position: &str, variables: &[Arc<str>]) -> String {
    let variables = variables.iter().map(|variable| to_variable_name(variable));
    std::iter::once(position.to_owned()).chain(variables).collect::<Vec<_>>().join(", ")
}

fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collects the facts that have a variable, and where; returns false if its order matters.
fn collect_places(arena: &Arena, f: Formula, variable: &Arc<str>, places: &mut Vec<(Arc<str>, usize)>) -> bool {
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
            [left, right].iter().all(|measure| collect_measure_places(arena, measure, variable, places))
        }
        Node::Quantified(_, variables, _) if variables.contains(variable) => true,
        node => node.operands().iter().all(|operand| collect_places(arena, *operand, variable, places)),
    }
}

fn collect_measure_places(
    arena: &Arena,
    measure: &Measure,
    variable: &Arc<str>,
    places: &mut Vec<(Arc<str>, usize)>,
) -> bool {
    match measure {
        Measure::Term(term) => !matches!(term, Term::Var(name) if name == variable),
        Measure::Computed(_, left, right) => {
            collect_measure_places(arena, left, variable, places)
                && collect_measure_places(arena, right, variable, places)
        }
        Measure::Aggregate(aggregate) if aggregate.variables.contains(variable) => true,
        Measure::Aggregate(aggregate) => collect_places(arena, aggregate.body, variable, places),
    }
}
