//! Translates comparisons and their terms.

use super::super::counted::{is_counted, mentions_variable, variable_name};
use super::super::refusal::{Location, Refusal, TYPE, refuse};
use super::super::syntax::{Aggregation, Condition, ConditionKind, Operator, Term, TermKind};
use super::super::value::{ABSENT, Value};
use super::{FormulaParts, Translator, write_seconds};

impl Translator<'_> {
    pub(super) fn translate_comparison(
        &mut self,
        at: Location,
        sign: Operator,
        left: &Term,
        right: &Term,
    ) -> Result<FormulaParts, Refusal> {
        let mut parts = FormulaParts::default();
        let is_order = !matches!(sign, Operator::Equal | Operator::Unequal);
        for (term, other) in [(left, right), (right, left)] {
            self.note_numbers(term, is_order || is_computed(other) || self.is_number(other))?;
            self.add_guards(term, &mut parts.rigid);
        }
        let symbol = match sign {
            Operator::Equal => "=",
            Operator::Unequal => "!=",
            Operator::Less => "<",
            Operator::AtMost => "<=",
            Operator::Greater => ">",
            Operator::AtLeast => ">=",
            _ => return Err(refuse(at, TYPE, "this compares nothing")),
        };
        let text = format!("({} {symbol} {})", self.write_term(left)?, self.write_term(right)?);
        if is_counted(left) || is_counted(right) {
            parts.core.push(text);
            // A part that depends on the time cannot be moved, nor can its guards.
            parts.core.append(&mut parts.rigid);
        } else {
            parts.rigid.push(text);
        }
        Ok(parts)
    }

    /// Whether a term is a variable for a number.
    fn is_number(&self, term: &Term) -> bool {
        matches!(&term.kind, TermKind::Variable(variable) if self.is_long(variable))
    }

    /// Notes which values must be numbers, so that texts are never compared as numbers.
    fn note_numbers(&mut self, term: &Term, is_needed: bool) -> Result<(), Refusal> {
        match &term.kind {
            TermKind::Variable(variable) if is_needed => {
                let kind = self.types.get(variable_name(variable)).map(String::as_str).unwrap_or_default();
                if matches!(kind, "Long" | "Timepoint") {
                    return Ok(());
                }
                Err(refuse(term.at, TYPE, format!("a variable of type `{kind}` is compared with a number"))
                    .with_hint("declare it as `Long`"))
            }
            TermKind::Request(root, path) if is_needed => {
                let place = self.vocabulary.request_part(*root, path);
                self.vocabulary.request_parts[place].is_number = true;
                Ok(())
            }
            TermKind::Computed(_, left, right) => {
                self.note_numbers(left, true)?;
                self.note_numbers(right, true)
            }
            _ => Ok(()),
        }
    }

    /// Adds guards: a part that the request lacks is neither equal nor unequal to anything.
    fn add_guards(&mut self, term: &Term, guards: &mut Vec<String>) {
        match &term.kind {
            TermKind::Request(root, path) => {
                let place = self.vocabulary.request_part(*root, path);
                let guard = format!("({} != \"{ABSENT}\")", self.vocabulary.request_parts[place].variable);
                if !guards.contains(&guard) {
                    guards.push(guard);
                }
            }
            TermKind::Computed(_, left, right) => {
                self.add_guards(left, guards);
                self.add_guards(right, guards);
            }
            _ => {}
        }
    }

    pub(super) fn write_term(&mut self, term: &Term) -> Result<String, Refusal> {
        let value = |value: Value| Ok(value.to_fact_value().to_string());
        match &term.kind {
            TermKind::Bool(truth) => value(Value::Bool(*truth)),
            TermKind::Long(number) => value(Value::Long(*number)),
            TermKind::Text(text) => value(Value::Text(text.clone())),
            TermKind::Decimal(text) => value(Value::Decimal(text.clone())),
            TermKind::Entity(entity) => value(Value::Entity(entity.clone())),
            TermKind::Variable(variable) => Ok(variable_name(variable).to_owned()),
            TermKind::Request(root, path) => {
                let place = self.vocabulary.request_part(*root, path);
                if !self.asked.contains(&place) {
                    self.asked.push(place);
                }
                Ok(self.vocabulary.request_parts[place].variable.clone())
            }
            TermKind::Computed(sign, left, right) => {
                let symbol = match sign {
                    Operator::Plus => "+",
                    Operator::Minus => "-",
                    _ => "*",
                };
                Ok(format!("({} {symbol} {})", self.write_term(left)?, self.write_term(right)?))
            }
            TermKind::Aggregation(gathered) => self.write_aggregation(gathered),
            TermKind::Any => Err(refuse(term.at, TYPE, "`*` matches any value and cannot be compared")),
            TermKind::Call(_) => Err(refuse(term.at, TYPE, "a macro that was not written out")),
        }
    }

    /// Writes how many values of its variables a condition has now, or their sum.
    fn write_aggregation(&mut self, gathered: &Aggregation) -> Result<String, Refusal> {
        let Aggregation { summed, binders, body } = gathered;
        for binder in binders {
            self.types.insert(variable_name(&binder.variable).to_owned(), binder.kind.clone());
        }
        let mut variables: Vec<&str> = binders.iter().map(|binder| variable_name(&binder.variable)).collect();
        if let Some(summed) = summed {
            let first = variable_name(summed);
            self.types.insert(first.to_owned(), "Long".to_owned());
            variables.retain(|variable| *variable != first);
            variables.insert(0, first);
        }
        let word = if summed.is_some() { "sum" } else { "count" };
        // Our aggregates look back on their own, and tell the steps of the trace apart as `tp` does.
        if let ConditionKind::Formerly(within, inner) = &body.kind {
            let list = match &inner.kind {
                ConditionKind::And(list) => list.clone(),
                _ => vec![(**inner).clone()],
            };
            let is_time = |part: &Condition| match &part.kind {
                ConditionKind::Timepoint(time) => {
                    binders.iter().any(|binder| binder.variable == *time).then(|| variable_name(time).to_owned())
                }
                _ => None,
            };
            let rest: Vec<Condition> = list.iter().filter(|part| is_time(part).is_none()).cloned().collect();
            let times: Vec<String> = list.iter().filter_map(is_time).collect();
            if let [time] = &times[..]
                && !rest.iter().any(|part| mentions_variable(part, time))
                && summed.as_ref().is_none_or(|summed| variable_name(summed) != time)
            {
                variables.retain(|variable| variable != time);
                let inner = self.translate(&Condition { at: body.at, kind: ConditionKind::And(rest) })?;
                return Ok(write_aggregate(word, &write_seconds(within), &variables, &inner));
            }
            if times.is_empty() && variables.len() == 1 && summed.is_none() {
                let inner = self.translate(inner)?;
                return Ok(write_aggregate("distinct", &write_seconds(within), &variables, &inner));
            }
        }
        let inner = self.translate(body)?;
        Ok(write_aggregate(word, "0", &variables, &inner))
    }
}

fn write_aggregate(word: &str, bound: &str, variables: &[&str], body: &str) -> String {
    let colon = if variables.is_empty() { "" } else { ": " };
    format!("{word}[0,{bound}]({}{colon}{body})", variables.join(", "))
}

/// Whether a term is a counted or computed number.
fn is_computed(term: &Term) -> bool {
    matches!(term.kind, TermKind::Aggregation(_) | TermKind::Computed(..))
}
