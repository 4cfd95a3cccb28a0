//! Conditions on the history as formulas.
//!
//! What a condition compares without counting does not depend on the time at which it is asked, since every variable
//! keeps its value. So comparisons, and the variables that are chosen, are moved out of `formerly`, `previous` and the
//! right of `since`: where they end up, every variable has its value.

mod terms;

use std::collections::HashMap;

use super::counted::{counted, flatten, is_given, name, replace};
use super::refusal::{Refused, TYPE, refused};
use super::syntax::{Condition, Past, Predicate, Sign, TermKind, Variable, Window};
use super::vocabulary::{ASKED, ELAPSED, TIMEPOINT, Vocabulary};

/// How a property is put, if there are several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As it stands.
    Plain,
    /// A `since` whose left is denied is put as two looks back, which may then ask for different values.
    Apart,
}

impl Style {
    /// The ways, in the order in which to try them.
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

/// A formula in parts: variables that are chosen, comparisons that hold at any time or at none, and the rest.
#[derive(Debug, Default)]
struct Parts {
    chosen: Vec<String>,
    rigid: Vec<String>,
    core: Vec<String>,
}

impl Parts {
    fn core(text: String) -> Parts {
        Parts { core: vec![text], ..Parts::default() }
    }

    /// All of it as one formula.
    fn closed(self) -> String {
        let whole = all(self.core.into_iter().chain(self.rigid).collect());
        if self.chosen.is_empty() { whole } else { format!("(exists {}. {whole})", self.chosen.join(", ")) }
    }
}

fn all(parts: Vec<String>) -> String {
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

    /// A condition as a formula.
    pub(super) fn formula(&mut self, condition: &Condition) -> Result<String, Refused> {
        self.condition(condition).map(Parts::closed)
    }

    /// The property that a formula holds at every request; what was translated so far tells what it asks of one.
    pub(super) fn invariant(&self, formula: &str) -> String {
        let last = self.asked.iter().max().map_or(0, |last| last + 1);
        let parts = self.vocabulary.parts.iter().take(last).enumerate();
        let terms: Vec<&str> =
            parts.map(|(place, part)| if self.asked.contains(&place) { part.variable.as_str() } else { "_" }).collect();
        let variables: Vec<&str> = terms.iter().copied().filter(|term| *term != "_").collect();
        // A property that counts is answered from tables. Otherwise every value would have a state of its own, with a
        // clock for every window, which is dear where statements have several of them.
        let one = format!("count[0,0]({ASKED}) = 1");
        if variables.is_empty() {
            return format!("always ({ASKED} & {one} -> {formula})");
        }
        format!("always forall {}. ({ASKED}({}) & {one} -> {formula})", variables.join(", "), terms.join(", "))
    }

    fn condition(&mut self, condition: &Condition) -> Result<Parts, Refused> {
        let at = condition.at;
        Ok(match &condition.kind {
            Past::And(list) if list.iter().any(|part| matches!(part.kind, Past::Exists(..))) => {
                return self.exists(condition);
            }
            Past::And(list) => {
                let mut whole = Parts::default();
                for part in list {
                    let part = self.condition(part)?;
                    whole.chosen.extend(part.chosen);
                    whole.rigid.extend(part.rigid);
                    whole.core.extend(part.core);
                }
                whole
            }
            Past::Not(inner) => {
                let inner = self.condition(inner)?;
                let is_rigid = inner.core.is_empty() && inner.chosen.is_empty();
                let text = format!("!{}", enclosed(inner.closed()));
                if is_rigid { Parts { rigid: vec![text], ..Parts::default() } } else { Parts::core(text) }
            }
            Past::Formerly(within, inner) => {
                let mut inner = self.condition(inner)?;
                // What holds at any time holds now, and now is within every window.
                if !inner.core.is_empty() {
                    let core = std::mem::take(&mut inner.core);
                    inner.core.push(format!("once[0,{}] {}", seconds(within), enclosed(all(core))));
                }
                inner
            }
            Past::Previous(within, inner) => {
                let mut inner = self.condition(inner)?;
                self.vocabulary.asks_elapsed = true;
                let core = std::mem::take(&mut inner.core);
                inner.core.push(format!("previous {}", enclosed(all(core))));
                let gap = self.made_up("gap");
                inner.core.push(format!("{ELAPSED}({gap})"));
                inner.rigid.push(format!("({gap} <= {})", length(within)));
                inner.chosen.push(gap);
                inner
            }
            Past::Since(left, within, right) => {
                let mut right = self.condition(right)?;
                if !right.core.is_empty() {
                    let core = std::mem::take(&mut right.core);
                    match &left.kind {
                        Past::Not(broken) if self.style == Style::Apart => {
                            let (begin, end) = (self.made_up("begin"), self.made_up("end"));
                            let broken = self.condition(broken)?.closed();
                            self.vocabulary.asks_timepoint = true;
                            let bound = seconds(within);
                            right.core.push(format!("once[0,{bound}] ({} & {TIMEPOINT}({begin}))", all(core)));
                            right.core.push(format!(
                                "!(exists {end}. (once[0,{bound}] ({broken} & {TIMEPOINT}({end})) & {end} > {begin}))"
                            ));
                            right.chosen.push(begin);
                        }
                        _ => {
                            let left = enclosed(self.condition(left)?.closed());
                            right.core.push(format!("({left} since[0,{}] {})", seconds(within), enclosed(all(core))));
                        }
                    }
                }
                right
            }
            Past::Exists(..) => return self.exists(condition),
            Past::Timepoint(variable) => {
                self.vocabulary.asks_timepoint = true;
                Parts::core(format!("{TIMEPOINT}({})", name(variable)))
            }
            Past::Predicate(predicate) => Parts::core(self.predicate(predicate)?),
            Past::Comparison(sign, left, right) => self.comparison(at, *sign, left, right)?,
            Past::Call(_) | Past::Parameter(..) => return Err(refused(at, TYPE, "a macro that was not written out")),
        })
    }

    /// Chosen values. A number that is counted gets its name by a comparison; the name is then replaced by the number.
    fn exists(&mut self, condition: &Condition) -> Result<Parts, Refused> {
        let (mut binders, mut list) = (Vec::new(), Vec::new());
        flatten(condition, &mut binders, &mut list);
        let mut chosen = Vec::new();
        for binder in &binders {
            self.types.insert(name(&binder.variable).to_owned(), binder.kind.clone());
        }
        for binder in &binders {
            let variable = name(&binder.variable);
            let is_given = list.iter().any(|part| is_given(part, variable));
            let number = list.iter().enumerate().find_map(|(place, part)| Some((place, counted(part, variable)?)));
            let Some((place, number)) = number.filter(|_| !is_given) else {
                chosen.push(variable.to_owned());
                continue;
            };
            let at = list.remove(place).at;
            for part in &mut list {
                replace(part, variable, &number, false)?;
            }
            // What is counted always is a number; what is computed is none if the request does not have a part of it.
            if matches!(number.kind, TermKind::Computed(..)) {
                list.push(Condition { at, kind: Past::Comparison(Sign::Equal, number.clone(), number) });
            }
        }
        let mut parts = self.condition(&Condition { at: condition.at, kind: Past::And(list) })?;
        parts.chosen.extend(chosen);
        Ok(parts)
    }

    fn predicate(&mut self, predicate: &Predicate) -> Result<String, Refused> {
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
                _ => self.term(&field.value)?,
            });
        }
        let shape = self.vocabulary.shape(&predicate.action, &predicate.kind, &paths, &numbers);
        let shape = shape.name.clone();
        Ok(if terms.is_empty() { shape } else { format!("{shape}({})", terms.join(", ")) })
    }

    fn is_long(&self, variable: &Variable) -> bool {
        self.types.get(name(variable)).is_some_and(|kind| kind == "Long")
    }

    fn made_up(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("x_{stem}_{}", self.fresh)
    }
}

/// A formula that may stand behind an operator. One that begins with a parenthesis ends with the same.
fn enclosed(text: String) -> String {
    if text.starts_with(['(', '!']) { text } else { format!("({text})") }
}

fn length(window: &Window) -> i64 {
    match window {
        Window::Seconds(seconds) => *seconds,
        Window::Parameter(_) => 0,
    }
}

fn seconds(window: &Window) -> String {
    format!("{}s", length(window))
}
