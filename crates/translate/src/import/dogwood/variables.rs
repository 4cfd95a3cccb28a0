//! One name for one variable: every binder of a condition gets a name of its own, so that whatever is moved in it
//! keeps its meaning. And the pins of the event schema, which are written out as fields.

use super::refusal::{At, Refused, SYNTAX, refused};
use super::schema::Events;
use super::syntax::{Binder, Condition, Field, Gathered, Past, Term, TermKind, Variable};
use super::vocabulary::plain;

/// Words of the logic that a variable cannot be called.
const TAKEN: [&str; 41] = [
    "true",
    "false",
    "not",
    "and",
    "or",
    "implies",
    "iff",
    "next",
    "weak_next",
    "eventually",
    "always",
    "until",
    "weak_until",
    "release",
    "strong_release",
    "previous",
    "weak_previous",
    "once",
    "historically",
    "since",
    "trigger",
    "forall",
    "exists",
    "count",
    "distinct",
    "sum",
    "min",
    "max",
    "avg",
    "latest",
    "inf",
    "init",
    "end",
    "last",
    "choice",
    "absence",
    "existence",
    "universality",
    "precedence",
    "response",
    "succession",
];

/// Gives names, and writes pins out.
#[derive(Debug)]
pub(super) struct Renamer<'e> {
    events: &'e Events,
    /// The variables in scope: as they were written, and as they are called here, the innermost last.
    scope: Vec<(String, String)>,
    used: Vec<String>,
}

impl<'e> Renamer<'e> {
    pub(super) fn new(events: &'e Events) -> Renamer<'e> {
        Renamer { events, scope: Vec::new(), used: Vec::new() }
    }

    /// The condition with every variable under a name of its own.
    pub(super) fn condition(&mut self, condition: &mut Condition) -> Result<(), Refused> {
        let at = condition.at;
        match &mut condition.kind {
            Past::And(parts) => parts.iter_mut().try_for_each(|part| self.condition(part)),
            Past::Not(inner) | Past::Formerly(_, inner) | Past::Previous(_, inner) => self.condition(inner),
            Past::Since(left, _, right) => {
                self.condition(left)?;
                self.condition(right)
            }
            Past::Exists(binder, body) => {
                let before = self.scope.len();
                self.bind(binder);
                self.condition(body)?;
                self.scope.truncate(before);
                Ok(())
            }
            Past::Timepoint(variable) => self.variable(at, variable),
            Past::Predicate(predicate) => {
                predicate.fields.iter_mut().try_for_each(|field| self.term(&mut field.value))?;
                for pin in self.events.pins(&predicate.kind) {
                    let kind = TermKind::Request(pin.root, pin.path.clone());
                    predicate.fields.push(Field { path: pin.field.clone(), value: Term { at, kind } });
                }
                Ok(())
            }
            Past::Comparison(_, left, right) => {
                self.term(left)?;
                self.term(right)
            }
            Past::Call(_) | Past::Parameter(..) => Err(refused(at, SYNTAX, "a parameter outside of a macro")),
        }
    }

    fn term(&mut self, term: &mut Term) -> Result<(), Refused> {
        let at = term.at;
        match &mut term.kind {
            TermKind::Variable(variable) => self.variable(at, variable),
            TermKind::Computed(_, left, right) => {
                self.term(left)?;
                self.term(right)
            }
            TermKind::Gathered(gathered) => {
                let Gathered { summed, binders, body } = &mut **gathered;
                let before = self.scope.len();
                binders.iter_mut().for_each(|binder| self.bind(binder));
                if let Some(summed) = summed {
                    self.variable(at, summed)?;
                }
                self.condition(body)?;
                self.scope.truncate(before);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn bind(&mut self, binder: &mut Binder) {
        let Variable::Name(name) = &binder.variable else { return };
        let stem = plain(name.split('$').next().unwrap_or(name));
        let is_taken = TAKEN.contains(&stem.as_str())
            || stem.len() == 1 && stem.starts_with(|c: char| c.is_ascii_uppercase())
            || ["context", "principal", "resource"].iter().any(|word| stem.starts_with(word));
        let stem = if is_taken { format!("x_{stem}") } else { stem };
        let mut unique = stem.clone();
        let mut count = 1;
        while self.used.contains(&unique) {
            count += 1;
            unique = format!("{stem}_{count}");
        }
        self.used.push(unique.clone());
        self.scope.push((name.clone(), unique.clone()));
        binder.variable = Variable::Name(unique);
    }

    fn variable(&self, at: At, variable: &mut Variable) -> Result<(), Refused> {
        let Variable::Name(name) = variable else {
            return Err(refused(at, SYNTAX, "a parameter outside of a macro"));
        };
        match self.scope.iter().rev().find(|(written, _)| written == name) {
            Some((_, unique)) => {
                unique.clone_into(name);
                Ok(())
            }
            None => Err(refused(at, SYNTAX, format!("nothing binds the variable `{name}`"))
                .hint(format!("put `exists ({name}: …).` before the condition, or quote it if it is a text"))),
        }
    }
}
