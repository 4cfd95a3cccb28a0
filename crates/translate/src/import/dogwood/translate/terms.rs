//! Comparisons, and what stands in them.

use super::super::counted::{counts, mentions, name};
use super::super::refusal::{At, Refused, TYPE, refused};
use super::super::syntax::{Condition, Gathered, Past, Sign, Term, TermKind};
use super::super::value::{ABSENT, Value};
use super::{Parts, Translator, seconds};

impl Translator<'_> {
    pub(super) fn comparison(&mut self, at: At, sign: Sign, left: &Term, right: &Term) -> Result<Parts, Refused> {
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

    pub(super) fn term(&mut self, term: &Term) -> Result<String, Refused> {
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
                && summed.as_ref().is_none_or(|summed| name(summed) != time)
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
}

fn aggregate(word: &str, bound: &str, variables: &[&str], body: &str) -> String {
    let colon = if variables.is_empty() { "" } else { ": " };
    format!("{word}[0,{bound}]({}{colon}{body})", variables.join(", "))
}

/// Is a term a number that is counted or computed?
fn computes(term: &Term) -> bool {
    matches!(term.kind, TermKind::Gathered(_) | TermKind::Computed(..))
}
