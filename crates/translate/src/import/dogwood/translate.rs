//! Translates conditions on the history into formulas.
//!
//! A comparison without counting does not depend on the time at which it is asked, since every variable keeps its
//! value. So comparisons, and the variables of `exists`, are moved out of `formerly`, `previous` and the right of
//! `since`: where they end up, every variable is bound.

mod terms;

use std::collections::HashMap;

use super::counted::{find_counted_number, flatten_condition, is_bound_by_event, replace_variable, variable_name};
use super::refusal::{Refusal, TYPE, refuse};
use super::syntax::{Condition, ConditionKind, Operator, Predicate, TermKind, Variable, Window};
use super::vocabulary::{ELAPSED_FACT, REQUEST_FACT, TIMEPOINT_FACT, Vocabulary};

/// The style of a property, if there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As it is written.
    Plain,
    /// A `since` whose left is negated is written as two looks back, which may then ask for different values.
    Apart,
}

impl Style {
    /// All styles, in the order in which to try them.
    pub(super) const ALL: [Style; 2] = [Style::Plain, Style::Apart];
}

/// Translates the conditions of one property.
#[derive(Debug)]
pub(super) struct Translator<'v> {
    vocabulary: &'v mut Vocabulary,
    style: Style,
    /// The types of the variables.
    types: HashMap<String, String>,
    /// The parts of the request that the property asks for.
    asked: Vec<usize>,
    /// How many variables were made up.
    fresh: usize,
}

/// A formula in parts: bound variables, comparisons that do not depend on the time, and the rest.
#[derive(Debug, Default)]
struct FormulaParts {
    chosen: Vec<String>,
    rigid: Vec<String>,
    core: Vec<String>,
}

impl FormulaParts {
    fn from_core(text: String) -> FormulaParts {
        FormulaParts { core: vec![text], ..FormulaParts::default() }
    }

    /// Returns all parts as one formula.
    fn into_formula(self) -> String {
        let whole = join_all(self.core.into_iter().chain(self.rigid).collect());
        if self.chosen.is_empty() { whole } else { format!("(exists {}. {whole})", self.chosen.join(", ")) }
    }
}

fn join_all(parts: Vec<String>) -> String {
    match parts.len() {
        0 => "true".to_owned(),
        1 => parts.into_iter().next().unwrap_or_default(),
        _ => format!("({})", parts.join(" & ")),
    }
}

impl<'v> Translator<'v> {
    pub(super) fn new(vocabulary: &'v mut Vocabulary, style: Style) -> Translator<'v> {
        Translator { vocabulary, style, types: HashMap::new(), asked: Vec::new(), fresh: 0 }
    }

    /// Translates a condition into a formula.
    pub(super) fn translate(&mut self, condition: &Condition) -> Result<String, Refusal> {
        self.translate_parts(condition).map(FormulaParts::into_formula)
    }

    /// Returns the property that a formula holds at every request, with the parts of the request translated so far.
    pub(super) fn write_invariant(&self, formula: &str) -> String {
        let last = self.asked.iter().max().map_or(0, |last| last + 1);
        let parts = self.vocabulary.request_parts.iter().take(last).enumerate();
        let terms: Vec<&str> =
            parts.map(|(place, part)| if self.asked.contains(&place) { part.variable.as_str() } else { "_" }).collect();
        let variables: Vec<&str> = terms.iter().copied().filter(|term| *term != "_").collect();
        // A property that counts is answered from tables. Otherwise every value would have a state of its own, with a
        // clock for every window, which is dear where statements have several of them.
        let one = format!("count[0,0]({REQUEST_FACT}) = 1");
        if variables.is_empty() {
            return format!("always ({REQUEST_FACT} & {one} -> {formula})");
        }
        format!("always forall {}. ({REQUEST_FACT}({}) & {one} -> {formula})", variables.join(", "), terms.join(", "))
    }

    fn translate_parts(&mut self, condition: &Condition) -> Result<FormulaParts, Refusal> {
        let at = condition.at;
        Ok(match &condition.kind {
            ConditionKind::And(list) if list.iter().any(|part| matches!(part.kind, ConditionKind::Exists(..))) => {
                return self.translate_exists(condition);
            }
            ConditionKind::And(list) => {
                let mut whole = FormulaParts::default();
                for part in list {
                    let part = self.translate_parts(part)?;
                    whole.chosen.extend(part.chosen);
                    whole.rigid.extend(part.rigid);
                    whole.core.extend(part.core);
                }
                whole
            }
            ConditionKind::Not(inner) => {
                let inner = self.translate_parts(inner)?;
                let is_rigid = inner.core.is_empty() && inner.chosen.is_empty();
                let text = format!("!{}", parenthesize(inner.into_formula()));
                if is_rigid {
                    FormulaParts { rigid: vec![text], ..FormulaParts::default() }
                } else {
                    FormulaParts::from_core(text)
                }
            }
            ConditionKind::Formerly(within, inner) => {
                let mut inner = self.translate_parts(inner)?;
                // A condition that holds at any time holds now, and now is within every window.
                if !inner.core.is_empty() {
                    let core = std::mem::take(&mut inner.core);
                    inner.core.push(format!("once[0,{}] {}", write_seconds(within), parenthesize(join_all(core))));
                }
                inner
            }
            ConditionKind::Previous(within, inner) => {
                let mut inner = self.translate_parts(inner)?;
                self.vocabulary.asks_elapsed = true;
                let core = std::mem::take(&mut inner.core);
                inner.core.push(format!("previous {}", parenthesize(join_all(core))));
                let gap = self.fresh_variable("gap");
                inner.core.push(format!("{ELAPSED_FACT}({gap})"));
                inner.rigid.push(format!("({gap} <= {})", window_seconds(within)));
                inner.chosen.push(gap);
                inner
            }
            ConditionKind::Since(left, within, right) => {
                let mut right = self.translate_parts(right)?;
                if !right.core.is_empty() {
                    let core = std::mem::take(&mut right.core);
                    match &left.kind {
                        ConditionKind::Not(broken) if self.style == Style::Apart => {
                            let (begin, end) = (self.fresh_variable("begin"), self.fresh_variable("end"));
                            let broken = self.translate_parts(broken)?.into_formula();
                            self.vocabulary.asks_timepoint = true;
                            let bound = write_seconds(within);
                            right
                                .core
                                .push(format!("once[0,{bound}] ({} & {TIMEPOINT_FACT}({begin}))", join_all(core)));
                            right.core.push(format!(
                                "!(exists {end}. (once[0,{bound}] ({broken} & {TIMEPOINT_FACT}({end})) & {end} > {begin}))"
                            ));
                            right.chosen.push(begin);
                        }
                        _ => {
                            let left = parenthesize(self.translate_parts(left)?.into_formula());
                            right.core.push(format!(
                                "({left} since[0,{}] {})",
                                write_seconds(within),
                                parenthesize(join_all(core))
                            ));
                        }
                    }
                }
                right
            }
            ConditionKind::Exists(..) => return self.translate_exists(condition),
            ConditionKind::Timepoint(variable) => {
                self.vocabulary.asks_timepoint = true;
                FormulaParts::from_core(format!("{TIMEPOINT_FACT}({})", variable_name(variable)))
            }
            ConditionKind::Predicate(predicate) => FormulaParts::from_core(self.write_predicate(predicate)?),
            ConditionKind::Comparison(sign, left, right) => self.translate_comparison(at, *sign, left, right)?,
            ConditionKind::Call(_) | ConditionKind::Parameter(..) => {
                return Err(refuse(at, TYPE, "a macro that was not written out"));
            }
        })
    }

    /// Translates `exists`. A counted number gets its name by a comparison; the name is then replaced by the number.
    fn translate_exists(&mut self, condition: &Condition) -> Result<FormulaParts, Refusal> {
        let (mut binders, mut list) = (Vec::new(), Vec::new());
        flatten_condition(condition, &mut binders, &mut list);
        let mut chosen = Vec::new();
        for binder in &binders {
            self.types.insert(variable_name(&binder.variable).to_owned(), binder.kind.clone());
        }
        for binder in &binders {
            let variable = variable_name(&binder.variable);
            let is_given = list.iter().any(|part| is_bound_by_event(part, variable));
            let number =
                list.iter().enumerate().find_map(|(place, part)| Some((place, find_counted_number(part, variable)?)));
            let Some((place, number)) = number.filter(|_| !is_given) else {
                chosen.push(variable.to_owned());
                continue;
            };
            let at = list.remove(place).at;
            for part in &mut list {
                replace_variable(part, variable, &number, false)?;
            }
            // A count is always a number; a computed number is missing if the request lacks a part of it.
            if matches!(number.kind, TermKind::Computed(..)) {
                list.push(Condition { at, kind: ConditionKind::Comparison(Operator::Equal, number.clone(), number) });
            }
        }
        let mut parts = self.translate_parts(&Condition { at: condition.at, kind: ConditionKind::And(list) })?;
        parts.chosen.extend(chosen);
        Ok(parts)
    }

    fn write_predicate(&mut self, predicate: &Predicate) -> Result<String, Refusal> {
        let paths: Vec<Vec<String>> = predicate.fields.iter().map(|field| field.path.clone()).collect();
        let mut numbers = Vec::new();
        let mut terms = Vec::new();
        for field in &predicate.fields {
            numbers.push(match &field.value.kind {
                TermKind::Variable(variable) => self.is_long(variable),
                _ => false,
            });
            terms.push(match &field.value.kind {
                TermKind::Any => "_".to_owned(),
                _ => self.write_term(&field.value)?,
            });
        }
        let shape = self.vocabulary.event_fact(&predicate.action, &predicate.kind, &paths, &numbers);
        let shape = shape.name.clone();
        Ok(if terms.is_empty() { shape } else { format!("{shape}({})", terms.join(", ")) })
    }

    fn is_long(&self, variable: &Variable) -> bool {
        self.types.get(variable_name(variable)).is_some_and(|kind| kind == "Long")
    }

    fn fresh_variable(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("x_{stem}_{}", self.fresh)
    }
}

/// Returns a formula that may follow an operator. One that begins with a parenthesis ends with the same.
fn parenthesize(text: String) -> String {
    if text.starts_with(['(', '!']) { text } else { format!("({text})") }
}

fn window_seconds(window: &Window) -> i64 {
    match window {
        Window::Seconds(seconds) => *seconds,
        Window::Parameter(_) => 0,
    }
}

fn write_seconds(window: &Window) -> String {
    format!("{}s", window_seconds(window))
}
