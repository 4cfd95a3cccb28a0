//! Renames variables: every binder of a condition gets a unique name, so that moved parts keep their meaning. Also
//! writes out the pins of the event schema as fields.

use super::refusal::{Location, Refusal, SYNTAX, refuse};
use super::schema::EventSchema;
use super::syntax::{Aggregation, Binder, Condition, ConditionKind, Field, Term, TermKind, Variable};
use super::vocabulary::to_identifier;

/// Words of the logic that cannot name a variable.
const RESERVED_WORDS: [&str; 41] = [
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

/// Renames variables and writes out pins.
#[derive(Debug)]
pub(super) struct Renamer<'e> {
    events: &'e EventSchema,
    /// The variables in scope: as written, and as renamed, the innermost last.
    scope: Vec<(String, String)>,
    used: Vec<String>,
}

impl<'e> Renamer<'e> {
    pub(super) fn new(events: &'e EventSchema) -> Renamer<'e> {
        Renamer { events, scope: Vec::new(), used: Vec::new() }
    }

    /// Gives every variable of a condition a unique name.
    pub(super) fn rename(&mut self, condition: &mut Condition) -> Result<(), Refusal> {
        let at = condition.at;
        match &mut condition.kind {
            ConditionKind::And(parts) => parts.iter_mut().try_for_each(|part| self.rename(part)),
            ConditionKind::Not(inner) | ConditionKind::Formerly(_, inner) | ConditionKind::Previous(_, inner) => {
                self.rename(inner)
            }
            ConditionKind::Since(left, _, right) => {
                self.rename(left)?;
                self.rename(right)
            }
            ConditionKind::Exists(binder, body) => {
                let before = self.scope.len();
                self.bind_unique(binder);
                self.rename(body)?;
                self.scope.truncate(before);
                Ok(())
            }
            ConditionKind::Timepoint(variable) => self.rename_variable(at, variable),
            ConditionKind::Predicate(predicate) => {
                predicate.fields.iter_mut().try_for_each(|field| self.rename_term(&mut field.value))?;
                for pin in self.events.pins(&predicate.kind) {
                    let kind = TermKind::Request(pin.root, pin.path.clone());
                    predicate.fields.push(Field { path: pin.field.clone(), value: Term { at, kind } });
                }
                Ok(())
            }
            ConditionKind::Comparison(_, left, right) => {
                self.rename_term(left)?;
                self.rename_term(right)
            }
            ConditionKind::Call(_) | ConditionKind::Parameter(..) => {
                Err(refuse(at, SYNTAX, "a parameter outside of a macro"))
            }
        }
    }

    fn rename_term(&mut self, term: &mut Term) -> Result<(), Refusal> {
        let at = term.at;
        match &mut term.kind {
            TermKind::Variable(variable) => self.rename_variable(at, variable),
            TermKind::Computed(_, left, right) => {
                self.rename_term(left)?;
                self.rename_term(right)
            }
            TermKind::Aggregation(gathered) => {
                let Aggregation { summed, binders, body } = &mut **gathered;
                let before = self.scope.len();
                binders.iter_mut().for_each(|binder| self.bind_unique(binder));
                if let Some(summed) = summed {
                    self.rename_variable(at, summed)?;
                }
                self.rename(body)?;
                self.scope.truncate(before);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn bind_unique(&mut self, binder: &mut Binder) {
        let Variable::Name(name) = &binder.variable else { return };
        let stem = to_identifier(name.split('$').next().unwrap_or(name));
        let is_taken = RESERVED_WORDS.contains(&stem.as_str())
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

    fn rename_variable(&self, at: Location, variable: &mut Variable) -> Result<(), Refusal> {
        let Variable::Name(name) = variable else {
            return Err(refuse(at, SYNTAX, "a parameter outside of a macro"));
        };
        match self.scope.iter().rev().find(|(written, _)| written == name) {
            Some((_, unique)) => {
                unique.clone_into(name);
                Ok(())
            }
            None => Err(refuse(at, SYNTAX, format!("the variable `{name}` is not bound"))
                .with_hint(format!("put `exists ({name}: …).` before the condition, or quote it if it is a text"))),
        }
    }
}
