//! Expands macros, so that later stages know nothing of them.

use std::collections::HashMap;

use super::refusal::{Location, MACRO, Refusal, refuse};
use super::syntax::{
    Aggregation, Argument, Binder, Call, Condition, ConditionKind, Expression, ExpressionKind, Field, Macro, MacroBody,
    Term, TermKind, Variable, Window,
};

/// How many levels deep macros may call macros.
const MAX_MACRO_DEPTH: usize = 32;

/// Expands macros.
#[derive(Debug)]
pub(super) struct Expander<'m> {
    macros: &'m [Macro],
    /// How many variables were made up, so that no two are the same.
    fresh: usize,
    depth: usize,
}

/// The arguments of a macro, by parameter.
type MacroArguments = HashMap<String, Argument>;

/// The scope of an expansion: the arguments, and the number of the macro call.
struct ExpansionScope<'g> {
    arguments: &'g MacroArguments,
    number: usize,
}

impl<'m> Expander<'m> {
    /// Returns an expander. The macros of a policy come before those of the library, since the first of a name wins.
    pub(super) fn new(macros: &'m [Macro]) -> Expander<'m> {
        Expander { macros, fresh: 0, depth: 0 }
    }

    /// Returns an expression without macros.
    pub(super) fn expand_expression(&mut self, expression: &Expression) -> Result<Expression, Refusal> {
        self.expand(expression, &HashMap::new())
    }

    fn expand(&mut self, expression: &Expression, given: &HashMap<String, Expression>) -> Result<Expression, Refusal> {
        let at = expression.at;
        let boxed = |expander: &mut Self, inner: &Expression| expander.expand(inner, given).map(Box::new);
        let kind = match &expression.kind {
            ExpressionKind::Parameter(name) => match given.get(name) {
                Some(argument) => return Ok(argument.clone()),
                None => return Err(refuse(at, MACRO, format!("unknown parameter `?{name}`"))),
            },
            ExpressionKind::Call(name, arguments) => {
                let arguments = arguments.iter().map(|a| self.expand(a, given)).collect::<Result<Vec<_>, _>>()?;
                let found = self.macros.iter().find(|found| found.name == *name);
                match found.map(|found| (found, &found.body)) {
                    Some((found, MacroBody::Expression(body))) => {
                        check_argument_count(at, found, arguments.len())?;
                        let inner = found.parameters.iter().cloned().zip(arguments).collect();
                        return self.with_depth(at, |expander| expander.expand(body, &inner));
                    }
                    _ => ExpressionKind::Call(name.clone(), arguments),
                }
            }
            ExpressionKind::Not(inner) => ExpressionKind::Not(boxed(self, inner)?),
            ExpressionKind::Minus(inner) => ExpressionKind::Minus(boxed(self, inner)?),
            ExpressionKind::And(left, right) => ExpressionKind::And(boxed(self, left)?, boxed(self, right)?),
            ExpressionKind::Or(left, right) => ExpressionKind::Or(boxed(self, left)?, boxed(self, right)?),
            ExpressionKind::Binary(sign, left, right) => {
                ExpressionKind::Binary(*sign, boxed(self, left)?, boxed(self, right)?)
            }
            ExpressionKind::If(parts) => {
                let [condition, yes, no] = &**parts;
                let parts = [self.expand(condition, given)?, self.expand(yes, given)?, self.expand(no, given)?];
                ExpressionKind::If(Box::new(parts))
            }
            ExpressionKind::Has(inner, path) => ExpressionKind::Has(boxed(self, inner)?, path.clone()),
            ExpressionKind::Like(inner, pattern) => ExpressionKind::Like(boxed(self, inner)?, pattern.clone()),
            ExpressionKind::Is(inner, kind) => ExpressionKind::Is(boxed(self, inner)?, kind.clone()),
            ExpressionKind::Attribute(inner, name) => ExpressionKind::Attribute(boxed(self, inner)?, name.clone()),
            ExpressionKind::Method(inner, name, arguments) => {
                let arguments = arguments.iter().map(|a| self.expand(a, given)).collect::<Result<_, _>>()?;
                ExpressionKind::Method(boxed(self, inner)?, name.clone(), arguments)
            }
            ExpressionKind::Set(list) => {
                ExpressionKind::Set(list.iter().map(|a| self.expand(a, given)).collect::<Result<_, _>>()?)
            }
            ExpressionKind::Record(list) => {
                let member = |(name, value): &(String, Expression)| Ok((name.clone(), self.expand(value, given)?));
                ExpressionKind::Record(list.iter().map(member).collect::<Result<_, Refusal>>()?)
            }
            ExpressionKind::Temporal(condition) => {
                let scope = ExpansionScope { arguments: &HashMap::new(), number: 0 };
                ExpressionKind::Temporal(Box::new(self.expand_condition(condition, &scope)?))
            }
            plain => plain.clone(),
        };
        Ok(Expression { at, kind })
    }

    fn expand_condition(&mut self, condition: &Condition, scope: &ExpansionScope<'_>) -> Result<Condition, Refusal> {
        let at = condition.at;
        let kind = match &condition.kind {
            ConditionKind::And(parts) => ConditionKind::And(
                parts.iter().map(|part| self.expand_condition(part, scope)).collect::<Result<_, _>>()?,
            ),
            ConditionKind::Not(inner) => ConditionKind::Not(Box::new(self.expand_condition(inner, scope)?)),
            ConditionKind::Formerly(within, inner) => ConditionKind::Formerly(
                expand_window(at, within, scope)?,
                Box::new(self.expand_condition(inner, scope)?),
            ),
            ConditionKind::Previous(within, inner) => ConditionKind::Previous(
                expand_window(at, within, scope)?,
                Box::new(self.expand_condition(inner, scope)?),
            ),
            ConditionKind::Since(left, within, right) => ConditionKind::Since(
                Box::new(self.expand_condition(left, scope)?),
                expand_window(at, within, scope)?,
                Box::new(self.expand_condition(right, scope)?),
            ),
            ConditionKind::Exists(bound, inner) => {
                ConditionKind::Exists(expand_binder(at, bound, scope)?, Box::new(self.expand_condition(inner, scope)?))
            }
            ConditionKind::Timepoint(name) => ConditionKind::Timepoint(expand_variable(at, name, scope)?),
            ConditionKind::Predicate(predicate) => {
                let mut predicate = predicate.clone();
                predicate.fields = self.expand_fields(&predicate.fields, scope)?;
                ConditionKind::Predicate(predicate)
            }
            ConditionKind::Comparison(sign, left, right) => {
                ConditionKind::Comparison(*sign, self.expand_term(left, scope)?, self.expand_term(right, scope)?)
            }
            ConditionKind::Call(call) => {
                return self.expand_call(at, call, scope, |expander, body, inner| match body {
                    MacroBody::Condition(body) => expander.expand_condition(body, inner),
                    _ => Err(refuse(at, MACRO, format!("`{}` is a number, and a condition is needed", call.name))),
                });
            }
            ConditionKind::Parameter(name, added) => {
                let mut found = match scope.arguments.get(name) {
                    Some(Argument::Condition(condition)) => condition.clone(),
                    _ => return Err(refuse(at, MACRO, format!("`?{name}` does not stand for a condition"))),
                };
                let added = self.expand_fields(added, scope)?;
                if !added.is_empty() {
                    let ConditionKind::Predicate(predicate) = &mut found.kind else {
                        return Err(refuse(at, MACRO, format!("fields are added to `?{name}`, which is not an event")));
                    };
                    predicate.fields.extend(added);
                }
                return Ok(found);
            }
        };
        Ok(Condition { at, kind })
    }

    fn expand_fields(&mut self, fields: &[Field], scope: &ExpansionScope<'_>) -> Result<Vec<Field>, Refusal> {
        let field =
            |field: &Field| Ok(Field { path: field.path.clone(), value: self.expand_term(&field.value, scope)? });
        fields.iter().map(field).collect()
    }

    fn expand_term(&mut self, term: &Term, scope: &ExpansionScope<'_>) -> Result<Term, Refusal> {
        let at = term.at;
        let kind = match &term.kind {
            TermKind::Variable(Variable::Parameter(name)) => match scope.arguments.get(name) {
                Some(Argument::Term(term)) => return Ok(term.clone()),
                _ => return Err(refuse(at, MACRO, format!("`?{name}` does not stand for a value"))),
            },
            TermKind::Variable(name) => TermKind::Variable(expand_variable(at, name, scope)?),
            TermKind::Aggregation(gathered) => {
                let Aggregation { summed, binders, body } = &**gathered;
                TermKind::Aggregation(Box::new(Aggregation {
                    summed: summed.as_ref().map(|name| expand_variable(at, name, scope)).transpose()?,
                    binders: binders.iter().map(|bound| expand_binder(at, bound, scope)).collect::<Result<_, _>>()?,
                    body: self.expand_condition(body, scope)?,
                }))
            }
            TermKind::Computed(sign, left, right) => TermKind::Computed(
                *sign,
                Box::new(self.expand_term(left, scope)?),
                Box::new(self.expand_term(right, scope)?),
            ),
            TermKind::Call(call) => {
                return self.expand_call(at, call, scope, |expander, body, inner| match body {
                    MacroBody::Term(body) => expander.expand_term(body, inner),
                    _ => Err(refuse(at, MACRO, format!("`{}` is a condition, and a value is needed", call.name))),
                });
            }
            plain => plain.clone(),
        };
        Ok(Term { at, kind })
    }

    fn expand_call<T>(
        &mut self,
        at: Location,
        call: &Call,
        scope: &ExpansionScope<'_>,
        body: impl FnOnce(&mut Self, &MacroBody, &ExpansionScope<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let macros = self.macros;
        let found =
            macros.iter().find(|found| found.name == call.name && !matches!(found.body, MacroBody::Expression(_)));
        let found = found.ok_or_else(|| {
            refuse(at, MACRO, format!("unknown macro `{}`", call.name))
                .with_hint("give the file that defines it with `--macros`")
        })?;
        check_argument_count(at, found, call.arguments.len())?;
        let mut arguments = MacroArguments::new();
        for (parameter, argument) in found.parameters.iter().zip(&call.arguments) {
            arguments.insert(parameter.clone(), self.expand_argument(argument, scope)?);
        }
        self.fresh += 1;
        let inner = ExpansionScope { arguments: &arguments, number: self.fresh };
        self.with_depth(at, |expander| body(expander, &found.body, &inner))
    }

    fn expand_argument(&mut self, argument: &Argument, scope: &ExpansionScope<'_>) -> Result<Argument, Refusal> {
        Ok(match argument {
            Argument::Window(seconds) => Argument::Window(*seconds),
            Argument::Condition(Condition { kind: ConditionKind::Parameter(name, added), .. })
                if added.is_empty() && scope.arguments.contains_key(name) =>
            {
                // Its argument is passed on.
                scope.arguments[name].clone()
            }
            // A call may be a number as well; the macro decides.
            Argument::Condition(Condition { at, kind: ConditionKind::Call(call) }) if self.is_number(call) => {
                Argument::Term(self.expand_term(&Term { at: *at, kind: TermKind::Call(call.clone()) }, scope)?)
            }
            Argument::Condition(condition) => Argument::Condition(self.expand_condition(condition, scope)?),
            Argument::Term(term) => Argument::Term(self.expand_term(term, scope)?),
        })
    }

    fn is_number(&self, call: &Call) -> bool {
        self.macros.iter().any(|found| found.name == call.name && matches!(found.body, MacroBody::Term(_)))
    }

    fn with_depth<T>(
        &mut self,
        at: Location,
        inner: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.depth >= MAX_MACRO_DEPTH {
            return Err(refuse(at, MACRO, format!("macro calls nest deeper than {MAX_MACRO_DEPTH} levels")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}

fn check_argument_count(at: Location, found: &Macro, count: usize) -> Result<(), Refusal> {
    let wanted = found.parameters.len();
    if wanted == count {
        return Ok(());
    }
    Err(refuse(at, MACRO, format!("`{}` takes {wanted} arguments, found {count}", found.name)))
}

fn expand_window(at: Location, window: &Window, scope: &ExpansionScope<'_>) -> Result<Window, Refusal> {
    match window {
        Window::Seconds(seconds) => Ok(Window::Seconds(*seconds)),
        Window::Parameter(name) => match scope.arguments.get(name) {
            Some(Argument::Window(seconds)) => Ok(Window::Seconds(*seconds)),
            _ => Err(refuse(at, MACRO, format!("`?{name}` does not stand for a window such as `1h`"))),
        },
    }
}

fn expand_binder(at: Location, bound: &Binder, scope: &ExpansionScope<'_>) -> Result<Binder, Refusal> {
    Ok(Binder { variable: expand_variable(at, &bound.variable, scope)?, kind: bound.kind.clone() })
}

/// Returns a variable by its name; a fresh one gets a name that no policy can write.
fn expand_variable(at: Location, variable: &Variable, scope: &ExpansionScope<'_>) -> Result<Variable, Refusal> {
    match variable {
        Variable::Name(name) => Ok(Variable::Name(name.clone())),
        Variable::Fresh(name) => Ok(Variable::Name(format!("{name}${}", scope.number))),
        Variable::Parameter(name) => match scope.arguments.get(name) {
            Some(Argument::Term(Term { kind: TermKind::Variable(found), .. })) => Ok(found.clone()),
            _ => Err(refuse(at, MACRO, format!("`?{name}` does not stand for a variable"))),
        },
    }
}
