//! What can be judged only when everything is known: facts in formulas, expressions over tables, suppressions.

use std::collections::BTreeSet;
use std::ops::Range;

use lictor_logic::{Arena, Atom, Formula, Node as FormulaNode, nearest};

use super::Problems;
use super::draft::{Stated, Usage};
use super::form::{Form, InsideProblem};
use super::merge::{Merged, meant};
use super::vocabulary::{builtin, builtins};
use super::yaml::Content;
use crate::expression::{Expression, Tables};
use crate::glob::Glob;
use lictor_json::{Json, Text};

/// Checks what a policy and all it uses say together. Where something is missing that it uses, only what does not depend
/// on that.
pub(super) fn check(merged: &Merged, incomplete: bool, problems: &mut Problems) {
    expressions(merged, problems);
    for stated in &merged.properties {
        facts(stated, merged, problems);
    }
    if !incomplete {
        suppressions(merged, problems);
    }
}

/// Compiles every expression with the tables that there are.
fn expressions(merged: &Merged, problems: &mut Problems) {
    let tables: Vec<(Text, Json)> =
        merged.tables.iter().map(|table| (table.name.clone(), table.value.clone())).collect();
    let tables = Tables::new(&tables);
    for defined in &merged.facts {
        let mut form = Form { source: &defined.source, problems };
        for (usage, node) in &defined.expressions {
            let Content::Scalar { text, .. } = &node.content else { continue };
            let errors = match Expression::compile(text, &tables) {
                Ok(expression) if *usage == Usage::Condition && !expression.may_hold() => {
                    let message =
                        "this is not a condition: it comes to a value that is neither true nor false".to_owned();
                    let hint = Some("compare it with something, as in `args.amount > 100`".to_owned());
                    let problem = InsideProblem { code: "policy.expression", message, hint };
                    form.complain_inside(node, 0..text.trim_end().len(), problem);
                    continue;
                }
                Ok(_) => continue,
                Err(errors) => errors.errors,
            };
            for error in errors {
                let end = error.offset + word_at(text, error.offset);
                let hint = quoted_word(text, &node.content).or(error.hint);
                let problem = InsideProblem { code: "policy.expression", message: error.message, hint };
                form.complain_inside(node, error.offset..end, problem);
            }
        }
    }
}

/// How long the word is that begins at a place; at least one character.
fn word_at(text: &str, offset: usize) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    end.max(rest.chars().next().map_or(0, char::len_utf8))
}

/// A text in YAML's quotes is a name to the expression; people mean the text.
fn quoted_word(text: &str, content: &Content) -> Option<String> {
    use saphyr_parser::ScalarStyle::{DoubleQuoted, SingleQuoted};
    let quoted = matches!(content, Content::Scalar { style: DoubleQuoted | SingleQuoted, .. });
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    (quoted && is_word).then(|| format!("the quotes belong to YAML; for the text itself write `'\"{text}\"'`"))
}

/// Does each fact of a formula exist, with that many values?
fn facts(stated: &Stated, merged: &Merged, problems: &mut Problems) {
    let Some((arena, formula)) = &stated.formula else { return };
    let Content::Scalar { text, .. } = &stated.node.content else { return };
    let mut form = Form { source: &stated.source, problems };
    let mut told: BTreeSet<(String, usize)> = BTreeSet::new();
    for atom in atoms(arena, *formula) {
        let (name, given) = (atom.name.as_ref(), atom.terms.len());
        if !told.insert((name.to_owned(), given)) {
            continue;
        }
        match parameters(name, merged) {
            Some((parameters, place)) if given > parameters.len() => {
                let values = if parameters.len() == 1 { "value" } else { "values" };
                let message = format!("`{name}` has {} {values}, and {given} are given", parameters.len());
                let hint = Some(format!("it is `{}`, {place}", written(name, &parameters)));
                let problem = InsideProblem { code: "policy.arity", message, hint };
                form.complain_inside(&stated.node, word_in(text, name, true), problem);
            }
            Some(_) => {}
            None => {
                let defined = merged.facts.iter().map(|defined| defined.definition.name.as_str());
                let known = defined.chain(builtins().iter().map(|builtin| builtin.name));
                if let Some(near) = nearest(name, known) {
                    let message = format!("`{name}` is neither built in nor defined, so only a label can bring it");
                    let part = word_in(text, name, false);
                    let span = stated.node.inside(form.source, part).unwrap_or(stated.node.head());
                    form.warn(span, "policy.unknown-fact", message, Some(format!("did you mean `{near}`?")));
                }
            }
        }
    }
}

/// The names of a fact's values, and where they are from.
fn parameters(name: &str, merged: &Merged) -> Option<(Vec<String>, String)> {
    if let Some(builtin) = builtin(name) {
        return Some((builtin.parameters.iter().map(|name| (*name).to_owned()).collect(), "which is built in".into()));
    }
    let defined = merged.facts.iter().find(|defined| defined.definition.name == name)?;
    let place = &defined.definition.place;
    let parameters = defined.definition.parameters.iter().map(ToString::to_string).collect();
    Some((parameters, format!("defined in {}:{}", place.file, place.line)))
}

/// A fact with its values, as formulas write it.
fn written(name: &str, parameters: &[String]) -> String {
    if parameters.is_empty() { name.to_owned() } else { format!("{name}({})", parameters.join(", ")) }
}

/// The atoms of a formula, in the order in which they stand in it.
pub(super) fn atoms(arena: &Arena, formula: Formula) -> Vec<Atom> {
    let mut found = Vec::new();
    collect(arena, formula, &mut found);
    found
}

fn collect(arena: &Arena, formula: Formula, found: &mut Vec<Atom>) {
    if let FormulaNode::Fact(atom) = &arena[formula] {
        found.push(atom.clone());
    }
    arena[formula].operands().into_iter().for_each(|operand| collect(arena, operand, found));
}

/// Where a word stands in a formula; with `called`, where values follow it.
fn word_in(text: &str, word: &str, called: bool) -> Range<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut places = text.match_indices(word).filter(|(place, _)| {
        let (before, after) =
            (text.get(..*place).unwrap_or_default(), text.get(place + word.len()..).unwrap_or_default());
        !before.ends_with(inside) && !after.starts_with(inside) && (!called || after.trim_start().starts_with('('))
    });
    places.next().map_or(0..text.trim_end().len(), |(place, _)| place..place + word.len())
}

/// Does each suppression concern a property that there is?
fn suppressions(merged: &Merged, problems: &mut Problems) {
    let known: Vec<&str> = merged.properties.iter().map(|stated| stated.property.id.as_str()).collect();
    for (source, span, suppression) in &merged.suppressions {
        let glob = Glob::new(&suppression.property);
        if !known.iter().any(|id| glob.matches(id)) {
            let message = format!("no property is called `{}`, so nothing is suppressed", suppression.property);
            let problem = source.problem(span.clone(), "policy.unknown-property", message).warning();
            problems.add(problem.help(meant(&suppression.property, &known)));
        }
    }
}
