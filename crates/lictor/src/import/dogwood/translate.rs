//! Conditions on the history as formulas.
//!
//! What a condition compares without counting does not depend on the time at which it is asked, since every variable
//! keeps its value. So comparisons, and the variables that are chosen, are moved out of `formerly`, `previous` and the
//! right of `since`: where they end up, every variable has its value.

use std::collections::HashMap;

use super::refusal::{At, MOVED, Refused, TYPE, refused};
use super::syntax::{Binder, Condition, Gathered, Past, Predicate, Sign, Term, TermKind, Variable, Window};
use super::value::{ABSENT, Value};
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

    fn comparison(&mut self, at: At, sign: Sign, left: &Term, right: &Term) -> Result<Parts, Refused> {
        let mut parts = Parts::default();
        let is_order = !matches!(sign, Sign::Equal | Sign::Unequal);
        for (term, other) in [(left, right), (right, left)] {
            self.note_numbers(term, is_order || computes(other) || self.is_number(other))?;
            self.guards(term, &mut parts.rigid);
        }
        let symbol = match sign {
            Sign::Equal => "=",
            Sign::Unequal => "!=",
            Sign::Less => "<",
            Sign::AtMost => "<=",
            Sign::Greater => ">",
            Sign::AtLeast => ">=",
            _ => return Err(refused(at, TYPE, "this compares nothing")),
        };
        let text = format!("({} {symbol} {})", self.term(left)?, self.term(right)?);
        if counts(left) || counts(right) {
            parts.core.push(text);
            // What depends on the time cannot be moved, and neither can what guards it.
            parts.core.append(&mut parts.rigid);
        } else {
            parts.rigid.push(text);
        }
        Ok(parts)
    }

    /// Is a term a variable that stands for a number?
    fn is_number(&self, term: &Term) -> bool {
        matches!(&term.kind, TermKind::Variable(variable) if self.is_long(variable))
    }

    /// Notes which values must be numbers, so that an order among texts is never taken for one among numbers.
    fn note_numbers(&mut self, term: &Term, is_needed: bool) -> Result<(), Refused> {
        match &term.kind {
            TermKind::Variable(variable) if is_needed => {
                let kind = self.types.get(name(variable)).map(String::as_str).unwrap_or_default();
                if matches!(kind, "Long" | "Timepoint") {
                    return Ok(());
                }
                Err(refused(term.at, TYPE, format!("a variable of type `{kind}` is compared with a number"))
                    .hint("declare it as `Long`"))
            }
            TermKind::Request(root, path) if is_needed => {
                let place = self.vocabulary.part(*root, path);
                self.vocabulary.parts[place].is_number = true;
                Ok(())
            }
            TermKind::Computed(_, left, right) => {
                self.note_numbers(left, true)?;
                self.note_numbers(right, true)
            }
            _ => Ok(()),
        }
    }

    /// Nothing is equal or unequal to what the request does not have.
    fn guards(&mut self, term: &Term, guards: &mut Vec<String>) {
        match &term.kind {
            TermKind::Request(root, path) => {
                let place = self.vocabulary.part(*root, path);
                let guard = format!("({} != \"{ABSENT}\")", self.vocabulary.parts[place].variable);
                if !guards.contains(&guard) {
                    guards.push(guard);
                }
            }
            TermKind::Computed(_, left, right) => {
                self.guards(left, guards);
                self.guards(right, guards);
            }
            _ => {}
        }
    }

    fn term(&mut self, term: &Term) -> Result<String, Refused> {
        let value = |value: Value| Ok(value.carried().to_string());
        match &term.kind {
            TermKind::Bool(truth) => value(Value::Bool(*truth)),
            TermKind::Long(number) => value(Value::Long(*number)),
            TermKind::Text(text) => value(Value::Text(text.clone())),
            TermKind::Decimal(text) => value(Value::Decimal(text.clone())),
            TermKind::Entity(entity) => value(Value::Entity(entity.clone())),
            TermKind::Variable(variable) => Ok(name(variable).to_owned()),
            TermKind::Request(root, path) => {
                let place = self.vocabulary.part(*root, path);
                if !self.asked.contains(&place) {
                    self.asked.push(place);
                }
                Ok(self.vocabulary.parts[place].variable.clone())
            }
            TermKind::Computed(sign, left, right) => {
                let symbol = match sign {
                    Sign::Plus => "+",
                    Sign::Minus => "-",
                    _ => "*",
                };
                Ok(format!("({} {symbol} {})", self.term(left)?, self.term(right)?))
            }
            TermKind::Gathered(gathered) => self.gathered(gathered),
            TermKind::Any => Err(refused(term.at, TYPE, "`*` stands for any value and cannot be compared")),
            TermKind::Call(_) => Err(refused(term.at, TYPE, "a macro that was not written out")),
        }
    }

    /// How many values of its variables a condition has now, or their sum.
    fn gathered(&mut self, gathered: &Gathered) -> Result<String, Refused> {
        let Gathered { summed, binders, body } = gathered;
        for binder in binders {
            self.types.insert(name(&binder.variable).to_owned(), binder.kind.clone());
        }
        let mut variables: Vec<&str> = binders.iter().map(|binder| name(&binder.variable)).collect();
        if let Some(summed) = summed {
            let first = name(summed);
            self.types.insert(first.to_owned(), "Long".to_owned());
            variables.retain(|variable| *variable != first);
            variables.insert(0, first);
        }
        let word = if summed.is_some() { "sum" } else { "count" };
        // Our own aggregates look back by themselves, and tell the steps of the trace apart as `tp` does.
        if let Past::Formerly(within, inner) = &body.kind {
            let list = match &inner.kind {
                Past::And(list) => list.clone(),
                _ => vec![(**inner).clone()],
            };
            let is_time = |part: &Condition| match &part.kind {
                Past::Timepoint(time) => {
                    binders.iter().any(|binder| binder.variable == *time).then(|| name(time).to_owned())
                }
                _ => None,
            };
            let rest: Vec<Condition> = list.iter().filter(|part| is_time(part).is_none()).cloned().collect();
            let times: Vec<String> = list.iter().filter_map(is_time).collect();
            if let [time] = &times[..]
                && !rest.iter().any(|part| mentions(part, time))
                && !summed.as_ref().is_some_and(|summed| name(summed) == time)
            {
                variables.retain(|variable| variable != time);
                let inner = self.formula(&Condition { at: body.at, kind: Past::And(rest) })?;
                return Ok(aggregate(word, &seconds(within), &variables, &inner));
            }
            if times.is_empty() && variables.len() == 1 && summed.is_none() {
                let inner = self.formula(inner)?;
                return Ok(aggregate("distinct", &seconds(within), &variables, &inner));
            }
        }
        let inner = self.formula(body)?;
        Ok(aggregate(word, "0", &variables, &inner))
    }

    fn made_up(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("x_{stem}_{}", self.fresh)
    }
}

fn aggregate(word: &str, bound: &str, variables: &[&str], body: &str) -> String {
    let colon = if variables.is_empty() { "" } else { ": " };
    format!("{word}[0,{bound}]({}{colon}{body})", variables.join(", "))
}

/// A formula that may stand behind an operator. One that begins with a parenthesis ends with the same.
fn enclosed(text: String) -> String {
    if text.starts_with(['(', '!']) { text } else { format!("({text})") }
}

fn name(variable: &Variable) -> &str {
    match variable {
        Variable::Name(name) | Variable::Parameter(name) | Variable::Fresh(name) => name,
    }
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

/// Does a term count or add up what happened?
fn counts(term: &Term) -> bool {
    match &term.kind {
        TermKind::Gathered(_) => true,
        TermKind::Computed(_, left, right) => counts(left) || counts(right),
        _ => false,
    }
}

/// Is a term a number that is counted or computed?
fn computes(term: &Term) -> bool {
    matches!(term.kind, TermKind::Gathered(_) | TermKind::Computed(..))
}

/// The number, if a part is `x == number` or `number == x` and the number is counted.
fn counted(part: &Condition, variable: &str) -> Option<Term> {
    let Past::Comparison(Sign::Equal, left, right) = &part.kind else { return None };
    let is_it = |term: &Term| matches!(&term.kind, TermKind::Variable(found) if name(found) == variable);
    if is_it(left) && counts(right) && !term_mentions(right, variable) {
        return Some(right.clone());
    }
    (is_it(right) && counts(left) && !term_mentions(left, variable)).then(|| left.clone())
}

/// The parts of a condition that hold together, and the variables that are chosen for them.
fn flatten(condition: &Condition, binders: &mut Vec<Binder>, list: &mut Vec<Condition>) {
    match &condition.kind {
        Past::And(parts) => parts.iter().for_each(|part| flatten(part, binders, list)),
        Past::Exists(binder, body) => {
            binders.push(binder.clone());
            flatten(body, binders, list);
        }
        _ => list.push(condition.clone()),
    }
}

/// Does an event give a variable its value?
fn is_given(condition: &Condition, variable: &str) -> bool {
    match &condition.kind {
        Past::And(list) => list.iter().any(|part| is_given(part, variable)),
        Past::Formerly(_, inner) | Past::Previous(_, inner) | Past::Exists(_, inner) => is_given(inner, variable),
        Past::Since(_, _, right) => is_given(right, variable),
        Past::Predicate(_) | Past::Timepoint(_) => mentions(condition, variable),
        _ => false,
    }
}

fn mentions(condition: &Condition, variable: &str) -> bool {
    let in_term = |term: &Term| term_mentions(term, variable);
    match &condition.kind {
        Past::And(list) => list.iter().any(|part| mentions(part, variable)),
        Past::Not(inner) | Past::Formerly(_, inner) | Past::Previous(_, inner) | Past::Exists(_, inner) => {
            mentions(inner, variable)
        }
        Past::Since(left, _, right) => mentions(left, variable) || mentions(right, variable),
        Past::Timepoint(found) => name(found) == variable,
        Past::Predicate(predicate) => predicate.fields.iter().any(|field| in_term(&field.value)),
        Past::Comparison(_, left, right) => in_term(left) || in_term(right),
        Past::Call(_) | Past::Parameter(..) => false,
    }
}

fn term_mentions(term: &Term, variable: &str) -> bool {
    match &term.kind {
        TermKind::Variable(found) => name(found) == variable,
        TermKind::Computed(_, left, right) => term_mentions(left, variable) || term_mentions(right, variable),
        TermKind::Gathered(gathered) => mentions(&gathered.body, variable),
        _ => false,
    }
}

/// Puts a number in the place of its name. The number is one of now, so it cannot stand where a condition looks back.
fn replace(condition: &mut Condition, variable: &str, number: &Term, is_past: bool) -> Result<(), Refused> {
    let (at, is_mentioned) = (condition.at, mentions(condition, variable));
    match &mut condition.kind {
        _ if !is_mentioned => Ok(()),
        Past::And(list) => list.iter_mut().try_for_each(|part| replace(part, variable, number, is_past)),
        Past::Not(inner) | Past::Exists(_, inner) => replace(inner, variable, number, is_past),
        Past::Formerly(_, inner) | Past::Previous(_, inner) => replace(inner, variable, number, true),
        Past::Since(left, _, right) => {
            replace(left, variable, number, true)?;
            replace(right, variable, number, true)
        }
        Past::Comparison(_, left, right) => {
            replace_term(left, variable, number, is_past)?;
            replace_term(right, variable, number, is_past)
        }
        _ => Err(moved(at, variable)),
    }
}

fn replace_term(term: &mut Term, variable: &str, number: &Term, is_past: bool) -> Result<(), Refused> {
    match &mut term.kind {
        TermKind::Variable(found) if name(found) == variable => {
            if is_past {
                return Err(moved(term.at, variable));
            }
            *term = number.clone();
            Ok(())
        }
        TermKind::Computed(_, left, right) => {
            replace_term(left, variable, number, is_past)?;
            replace_term(right, variable, number, is_past)
        }
        TermKind::Gathered(gathered) => replace(&mut gathered.body, variable, number, is_past),
        _ => Ok(()),
    }
}

fn moved(at: At, variable: &str) -> Refused {
    refused(at, MOVED, format!("`{variable}` is counted now, and compared here with another time or with an event"))
}
