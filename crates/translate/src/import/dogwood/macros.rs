//! Macros written out, so that nothing behind this knows of them.

use std::collections::HashMap;

use super::refusal::{At, MACRO, Refused, refused};
use super::syntax::{
    Argument, Binder, Body, Call, Condition, Expression, Field, Gathered, Kind, Macro, Past, Term, TermKind, Variable,
    Window,
};

/// How deep macros may call macros.
const DEEPEST: usize = 32;

/// Writes macros out.
#[derive(Debug)]
pub(super) struct Expander<'m> {
    macros: &'m [Macro],
    /// How many variables were made up, so that no two are the same.
    fresh: usize,
    depth: usize,
}

/// What the parameters of a macro stand for.
type Given = HashMap<String, Argument>;

/// What a condition or term is expanded in: the arguments at hand, and the number of the macro around it.
struct Around<'g> {
    given: &'g Given,
    number: usize,
}

impl<'m> Expander<'m> {
    /// With the macros of a policy before those of the library, since the first of a name counts.
    pub(super) fn new(macros: &'m [Macro]) -> Expander<'m> {
        Expander { macros, fresh: 0, depth: 0 }
    }

    /// An expression without macros.
    pub(super) fn expression(&mut self, expression: &Expression) -> Result<Expression, Refused> {
        self.expand(expression, &HashMap::new())
    }

    fn expand(&mut self, expression: &Expression, given: &HashMap<String, Expression>) -> Result<Expression, Refused> {
        let at = expression.at;
        let boxed = |expander: &mut Self, inner: &Expression| expander.expand(inner, given).map(Box::new);
        let kind = match &expression.kind {
            Kind::Parameter(name) => match given.get(name) {
                Some(argument) => return Ok(argument.clone()),
                None => return Err(refused(at, MACRO, format!("`?{name}` is no parameter here"))),
            },
            Kind::Call(name, arguments) => {
                let arguments = arguments.iter().map(|a| self.expand(a, given)).collect::<Result<Vec<_>, _>>()?;
                let found = self.macros.iter().find(|found| found.name == *name);
                match found.map(|found| (found, &found.body)) {
                    Some((found, Body::Expression(body))) => {
                        expect_count(at, found, arguments.len())?;
                        let inner = found.parameters.iter().cloned().zip(arguments).collect();
                        return self.deeper(at, |expander| expander.expand(body, &inner));
                    }
                    _ => Kind::Call(name.clone(), arguments),
                }
            }
            Kind::Not(inner) => Kind::Not(boxed(self, inner)?),
            Kind::Minus(inner) => Kind::Minus(boxed(self, inner)?),
            Kind::And(left, right) => Kind::And(boxed(self, left)?, boxed(self, right)?),
            Kind::Or(left, right) => Kind::Or(boxed(self, left)?, boxed(self, right)?),
            Kind::Binary(sign, left, right) => Kind::Binary(*sign, boxed(self, left)?, boxed(self, right)?),
            Kind::If(parts) => {
                let [condition, yes, no] = &**parts;
                let parts = [self.expand(condition, given)?, self.expand(yes, given)?, self.expand(no, given)?];
                Kind::If(Box::new(parts))
            }
            Kind::Has(inner, path) => Kind::Has(boxed(self, inner)?, path.clone()),
            Kind::Like(inner, pattern) => Kind::Like(boxed(self, inner)?, pattern.clone()),
            Kind::Is(inner, kind) => Kind::Is(boxed(self, inner)?, kind.clone()),
            Kind::Attribute(inner, name) => Kind::Attribute(boxed(self, inner)?, name.clone()),
            Kind::Method(inner, name, arguments) => {
                let arguments = arguments.iter().map(|a| self.expand(a, given)).collect::<Result<_, _>>()?;
                Kind::Method(boxed(self, inner)?, name.clone(), arguments)
            }
            Kind::Set(list) => Kind::Set(list.iter().map(|a| self.expand(a, given)).collect::<Result<_, _>>()?),
            Kind::Record(list) => {
                let member = |(name, value): &(String, Expression)| Ok((name.clone(), self.expand(value, given)?));
                Kind::Record(list.iter().map(member).collect::<Result<_, Refused>>()?)
            }
            Kind::Temporal(condition) => {
                let around = Around { given: &HashMap::new(), number: 0 };
                Kind::Temporal(Box::new(self.condition(condition, &around)?))
            }
            plain => plain.clone(),
        };
        Ok(Expression { at, kind })
    }

    fn condition(&mut self, condition: &Condition, around: &Around<'_>) -> Result<Condition, Refused> {
        let at = condition.at;
        let kind = match &condition.kind {
            Past::And(parts) => {
                Past::And(parts.iter().map(|part| self.condition(part, around)).collect::<Result<_, _>>()?)
            }
            Past::Not(inner) => Past::Not(Box::new(self.condition(inner, around)?)),
            Past::Formerly(within, inner) => {
                Past::Formerly(window(at, within, around)?, Box::new(self.condition(inner, around)?))
            }
            Past::Previous(within, inner) => {
                Past::Previous(window(at, within, around)?, Box::new(self.condition(inner, around)?))
            }
            Past::Since(left, within, right) => Past::Since(
                Box::new(self.condition(left, around)?),
                window(at, within, around)?,
                Box::new(self.condition(right, around)?),
            ),
            Past::Exists(bound, inner) => {
                Past::Exists(binder(at, bound, around)?, Box::new(self.condition(inner, around)?))
            }
            Past::Timepoint(name) => Past::Timepoint(variable(at, name, around)?),
            Past::Predicate(predicate) => {
                let mut predicate = predicate.clone();
                predicate.fields = self.fields(&predicate.fields, around)?;
                Past::Predicate(predicate)
            }
            Past::Comparison(sign, left, right) => {
                Past::Comparison(*sign, self.term(left, around)?, self.term(right, around)?)
            }
            Past::Call(call) => {
                return self.call(at, call, around, |expander, body, inner| match body {
                    Body::Condition(body) => expander.condition(body, inner),
                    _ => Err(refused(at, MACRO, format!("`{}` is a number, and a condition is needed", call.name))),
                });
            }
            Past::Parameter(name, added) => {
                let mut found = match around.given.get(name) {
                    Some(Argument::Condition(condition)) => condition.clone(),
                    _ => return Err(refused(at, MACRO, format!("`?{name}` does not stand for a condition"))),
                };
                let added = self.fields(added, around)?;
                if !added.is_empty() {
                    let Past::Predicate(predicate) = &mut found.kind else {
                        return Err(refused(at, MACRO, format!("fields are added to `?{name}`, which is no event")));
                    };
                    predicate.fields.extend(added);
                }
                return Ok(found);
            }
        };
        Ok(Condition { at, kind })
    }

    fn fields(&mut self, fields: &[Field], around: &Around<'_>) -> Result<Vec<Field>, Refused> {
        let field = |field: &Field| Ok(Field { path: field.path.clone(), value: self.term(&field.value, around)? });
        fields.iter().map(field).collect()
    }

    fn term(&mut self, term: &Term, around: &Around<'_>) -> Result<Term, Refused> {
        let at = term.at;
        let kind = match &term.kind {
            TermKind::Variable(Variable::Parameter(name)) => match around.given.get(name) {
                Some(Argument::Term(term)) => return Ok(term.clone()),
                _ => return Err(refused(at, MACRO, format!("`?{name}` does not stand for a value"))),
            },
            TermKind::Variable(name) => TermKind::Variable(variable(at, name, around)?),
            TermKind::Gathered(gathered) => {
                let Gathered { summed, binders, body } = &**gathered;
                TermKind::Gathered(Box::new(Gathered {
                    summed: summed.as_ref().map(|name| variable(at, name, around)).transpose()?,
                    binders: binders.iter().map(|bound| binder(at, bound, around)).collect::<Result<_, _>>()?,
                    body: self.condition(body, around)?,
                }))
            }
            TermKind::Computed(sign, left, right) => {
                TermKind::Computed(*sign, Box::new(self.term(left, around)?), Box::new(self.term(right, around)?))
            }
            TermKind::Call(call) => {
                return self.call(at, call, around, |expander, body, inner| match body {
                    Body::Term(body) => expander.term(body, inner),
                    _ => Err(refused(at, MACRO, format!("`{}` is a condition, and a value is needed", call.name))),
                });
            }
            plain => plain.clone(),
        };
        Ok(Term { at, kind })
    }

    fn call<T>(
        &mut self,
        at: At,
        call: &Call,
        around: &Around<'_>,
        body: impl FnOnce(&mut Self, &Body, &Around<'_>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let macros = self.macros;
        let found = macros.iter().find(|found| found.name == call.name && !matches!(found.body, Body::Expression(_)));
        let found = found.ok_or_else(|| {
            refused(at, MACRO, format!("no macro is called `{}`", call.name))
                .hint("give the file that defines it with `--macros`")
        })?;
        expect_count(at, found, call.arguments.len())?;
        let mut given = Given::new();
        for (parameter, argument) in found.parameters.iter().zip(&call.arguments) {
            given.insert(parameter.clone(), self.argument(argument, around)?);
        }
        self.fresh += 1;
        let inner = Around { given: &given, number: self.fresh };
        self.deeper(at, |expander| body(expander, &found.body, &inner))
    }

    fn argument(&mut self, argument: &Argument, around: &Around<'_>) -> Result<Argument, Refused> {
        Ok(match argument {
            Argument::Window(seconds) => Argument::Window(*seconds),
            Argument::Condition(Condition { kind: Past::Parameter(name, added), .. })
                if added.is_empty() && around.given.contains_key(name) =>
            {
                // Whatever it stands for is handed on.
                around.given[name].clone()
            }
            // A call may stand for a number as well; which, the macro tells.
            Argument::Condition(Condition { at, kind: Past::Call(call) }) if self.is_number(call) => {
                Argument::Term(self.term(&Term { at: *at, kind: TermKind::Call(call.clone()) }, around)?)
            }
            Argument::Condition(condition) => Argument::Condition(self.condition(condition, around)?),
            Argument::Term(term) => Argument::Term(self.term(term, around)?),
        })
    }

    fn is_number(&self, call: &Call) -> bool {
        self.macros.iter().any(|found| found.name == call.name && matches!(found.body, Body::Term(_)))
    }

    fn deeper<T>(&mut self, at: At, inner: impl FnOnce(&mut Self) -> Result<T, Refused>) -> Result<T, Refused> {
        if self.depth >= DEEPEST {
            return Err(refused(at, MACRO, format!("macros call macros more than {DEEPEST} times here")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}

fn expect_count(at: At, found: &Macro, count: usize) -> Result<(), Refused> {
    let wanted = found.parameters.len();
    if wanted == count {
        return Ok(());
    }
    Err(refused(at, MACRO, format!("`{}` takes {wanted} arguments, and here are {count}", found.name)))
}

fn window(at: At, window: &Window, around: &Around<'_>) -> Result<Window, Refused> {
    match window {
        Window::Seconds(seconds) => Ok(Window::Seconds(*seconds)),
        Window::Parameter(name) => match around.given.get(name) {
            Some(Argument::Window(seconds)) => Ok(Window::Seconds(*seconds)),
            _ => Err(refused(at, MACRO, format!("`?{name}` does not stand for a window such as `1h`"))),
        },
    }
}

fn binder(at: At, bound: &Binder, around: &Around<'_>) -> Result<Binder, Refused> {
    Ok(Binder { variable: variable(at, &bound.variable, around)?, kind: bound.kind.clone() })
}

/// A variable by its name; what a macro makes up has a name that nobody can write.
fn variable(at: At, variable: &Variable, around: &Around<'_>) -> Result<Variable, Refused> {
    match variable {
        Variable::Name(name) => Ok(Variable::Name(name.clone())),
        Variable::Fresh(name) => Ok(Variable::Name(format!("{name}${}", around.number))),
        Variable::Parameter(name) => match around.given.get(name) {
            Some(Argument::Term(Term { kind: TermKind::Variable(found), .. })) => Ok(found.clone()),
            _ => Err(refused(at, MACRO, format!("`?{name}` does not stand for a variable"))),
        },
    }
}
