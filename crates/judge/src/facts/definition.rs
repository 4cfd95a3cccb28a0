//! Facts that a policy defines.

use lictor_logic::Value;
use regex::Regex;

use super::labels::{Labels, NameId};
use lictor_event::labeler::name_of;
use lictor_event::{Answer, Event, Kind};
use lictor_json::Text;
use lictor_policy::expression::{self, Evaluation, EvaluationScope, Expression, Matcher, Tables, Truth};
use lictor_policy::glob::Glob;
use lictor_policy::{FactCase, FactDefinition, FactPattern, Problem};

/// How many facts one definition may give for one event; a list in a log may have any length.
const MAX_FACTS: usize = 10_000;

/// One way in which a fact comes to hold, compiled.
#[derive(Debug)]
pub(crate) struct CasePlan {
    name: NameId,
    on: Vec<(Kind, Option<Glob>)>,
    tests: Vec<Matcher>,
    when: Option<Expression>,
    each: Option<Expression>,
    values: Vec<Source>,
    ask: Option<AskPlan>,
}

/// A question to a labeler.
#[derive(Debug)]
struct AskPlan {
    /// The label for yes, which is the fact, and the label for no.
    yes: Text,
    no: Text,
    /// The labeler that must answer; none if anyone may.
    by: Option<Text>,
}

/// Where a value of a fact comes from.
#[derive(Debug)]
enum Source {
    Expression(Expression),
    /// A named group of a regular expression over a field.
    Group {
        path: Expression,
        regex: Regex,
        group: Text,
    },
}

/// The result of computing a value.
enum ComputedValue {
    Value(Value),
    Absent,
    Unknown,
}

impl CasePlan {
    pub(super) fn new(
        name: NameId,
        definition: &FactDefinition,
        case: &FactCase,
        tables: &Tables,
    ) -> Result<CasePlan, Box<Problem>> {
        let problem = |message: String| Box::new(Problem::new(&case.place, "policy.fact", message));
        let compile = |text: &Text| Expression::compile(text, tables).map_err(|errors| problem(errors.to_string()));
        let on = case
            .on
            .iter()
            .map(|trigger| (Kind::named(&trigger.kind), trigger.tool.as_ref().map(|tool| Glob::new(tool))));
        let tests = case.tests.iter().map(|test| Matcher::compile(test).map_err(|errors| problem(errors.to_string())));
        let mut values = Vec::new();
        for (place, parameter) in definition.parameters.iter().enumerate() {
            values.push(match case.values.get(place).filter(|text| !text.is_empty()) {
                Some(text) => Source::Expression(compile(text)?),
                None => group(case, parameter, tables).ok_or_else(|| {
                    problem(format!("no value for `{parameter}`: neither an expression nor a named group gives it"))
                })??,
            });
        }
        Ok(CasePlan {
            name,
            on: on.collect(),
            tests: tests.collect::<Result<_, _>>()?,
            when: case.when.as_ref().map(compile).transpose()?,
            each: case.each.as_ref().map(compile).transpose()?,
            values,
            ask: case.ask.as_ref().map(|ask| AskPlan {
                yes: definition.name.clone(),
                no: Text::new(format!("!{}", definition.name)),
                by: ask.by.clone(),
            }),
        })
    }

    /// Whether it may hold at events of a kind and tool.
    pub(crate) fn is_at(&self, kind: &Kind, tool: Option<&str>) -> bool {
        let fits = |glob: &Option<Glob>| match (glob, tool) {
            (None, _) => true,
            (Some(glob), Some(tool)) => glob.matches(tool),
            (Some(_), None) => false,
        };
        self.on.is_empty() || self.on.iter().any(|(known, glob)| known == kind && fits(glob))
    }

    /// Whether it holds at every event of its kinds and tools.
    pub(crate) fn is_plain(&self) -> bool {
        let CasePlan { name: _, on: _, tests, when, each, values, ask } = self;
        tests.is_empty() && when.is_none() && each.is_none() && values.is_empty() && ask.is_none()
    }

    /// Whether the log or a labeler answers its question about an event. What they say is among the facts already.
    pub(crate) fn is_answered(&self, event: &Event) -> bool {
        let Some(AskPlan { yes, no, .. }) = &self.ask else { return false };
        event.labels.iter().any(|label| label == yes || label == no)
            || event.answers.iter().any(|answer| self.takes_answer(answer))
    }

    /// Whether an answer is to its question and by the labeler that must answer it.
    pub(crate) fn takes_answer(&self, answer: &Answer) -> bool {
        let is_by = |by: &Text| answer.by.as_deref().is_some_and(|version| name_of(version) == by);
        self.ask.as_ref().is_some_and(|ask| *answer.fact.name == *ask.yes && ask.by.as_ref().is_none_or(is_by))
    }

    /// Whether it looks at a part of the event.
    pub(crate) fn reads(&self, root: &str) -> bool {
        let sources = self.values.iter().map(|source| match source {
            Source::Expression(expression) | Source::Group { path: expression, .. } => expression,
        });
        self.when.iter().chain(&self.each).chain(sources).any(|expression| expression.reads(root))
            || self.tests.iter().any(|test| test.reads(root))
    }

    /// Returns the number of the fact.
    pub(crate) fn name(&self) -> NameId {
        self.name
    }

    /// Whether a labeler is asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.ask.is_some()
    }

    /// Returns the regular expressions that it looks for in the text of an event; none if it looks at the text in other
    /// ways, too.
    pub(crate) fn text_patterns(&self) -> Option<Vec<String>> {
        let mut patterns = Vec::new();
        let sources = self.values.iter().map(|source| match source {
            // Its pattern is one of the tests.
            Source::Group { .. } => Some(Vec::new()),
            Source::Expression(expression) => expression.text_patterns(),
        });
        let expressions = self.when.iter().chain(&self.each).map(Expression::text_patterns);
        for found in self.tests.iter().map(Matcher::text_patterns).chain(expressions).chain(sources) {
            patterns.extend(found?);
        }
        Some(patterns)
    }

    /// Adds the fact to the labels, as often as it holds.
    pub(super) fn label(&self, scope: &EvaluationScope<'_>, labels: &mut Labels) {
        if self.ask.is_some() {
            if !self.is_answered(scope.event) {
                labels.doubt(self.name, Vec::new());
            }
            return;
        }
        let tests = self.tests.iter().map(|test| test.holds(scope));
        let when = self.when.iter().map(|when| when.holds(scope));
        let mut is_unknown = false;
        for truth in tests.chain(when) {
            match truth {
                Truth::True => {}
                Truth::False => return,
                Truth::Unknown(_) => is_unknown = true,
            }
        }
        if is_unknown {
            labels.doubt(self.name, vec![None; self.values.len()]);
            return;
        }
        match &self.each {
            None => self.add(scope, labels),
            Some(each) => match each.evaluate(scope) {
                Evaluation::Value(list) => {
                    for element in list.elements().into_iter().flatten().take(MAX_FACTS) {
                        self.add(&scope.with_element(element), labels);
                    }
                }
                Evaluation::Absent => {}
                Evaluation::Unknown(_) => labels.doubt(self.name, vec![None; self.values.len()]),
            },
        }
    }

    fn add(&self, scope: &EvaluationScope<'_>, labels: &mut Labels) {
        let mut values = Vec::with_capacity(self.values.len());
        let mut is_unknown = false;
        for source in &self.values {
            values.push(match source.find(scope) {
                ComputedValue::Value(value) => Some(value),
                // A fact needs all its values.
                ComputedValue::Absent => return,
                ComputedValue::Unknown => {
                    is_unknown = true;
                    None
                }
            });
        }
        if is_unknown {
            labels.doubt(self.name, values);
        } else {
            let values: Vec<Value> = values.into_iter().flatten().collect();
            labels.push(self.name, &values);
        }
    }
}

impl Source {
    fn find(&self, scope: &EvaluationScope<'_>) -> ComputedValue {
        match self {
            Source::Expression(expression) => match expression.evaluate(scope) {
                Evaluation::Value(expression::CelValue::Null) => ComputedValue::Absent,
                // The value exists but cannot be in a fact. It is unknown, not absent: wrapping a number in a list must
                // not evade a limit.
                Evaluation::Value(value) => value.to_fact_value().map_or(ComputedValue::Unknown, ComputedValue::Value),
                Evaluation::Absent => ComputedValue::Absent,
                Evaluation::Unknown(_) => ComputedValue::Unknown,
            },
            Source::Group { path, regex, group } => match path.evaluate(scope) {
                Evaluation::Value(expression::CelValue::Text(text)) => {
                    let captures = regex.captures(&text);
                    let part = captures.as_ref().and_then(|captures| captures.name(group));
                    part.map_or(ComputedValue::Absent, |part| ComputedValue::Value(Value::text(part.as_str())))
                }
                Evaluation::Value(expression::CelValue::Null) | Evaluation::Absent => ComputedValue::Absent,
                Evaluation::Value(_) | Evaluation::Unknown(_) => ComputedValue::Unknown,
            },
        }
    }
}

/// A named group for a parameter, in one of the tests.
fn group(case: &FactCase, parameter: &Text, tables: &Tables) -> Option<Result<Source, Box<Problem>>> {
    for test in &case.tests {
        for pattern in &test.any {
            let FactPattern::Regex(text) = pattern else { continue };
            let Ok(regex) = Regex::new(text) else { continue };
            if regex.capture_names().flatten().any(|name| name == parameter.as_str()) {
                let path = Expression::compile(&test.path, tables)
                    .map_err(|errors| Box::new(Problem::new(&case.place, "policy.fact", errors.to_string())));
                return Some(path.map(|path| Source::Group { path, regex, group: parameter.clone() }));
            }
        }
    }
    None
}
