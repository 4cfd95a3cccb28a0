//! Checks that need the whole merged policy: facts in formulas, expressions over tables, suppressions.

mod labeler;

use std::collections::BTreeSet;
use std::ops::Range;

use lictor_logic::nearest;

use super::Problems;
use super::atoms::collect_atoms;
use super::draft::{ExpressionUse, PropertyDraft};
use super::merged_draft::MergedDraft;
use super::policy_reader::{PolicyReader, ScalarProblem};
use super::vocabulary::{builtin, builtins};
use super::yaml::Content;
use crate::expression::{Expression, Tables};
use crate::glob::Glob;
use lictor_json::{Json, Text};

/// Checks a policy merged with everything it uses. If something that it uses is missing, checks only what does not
/// depend on it.
pub(super) fn check(merged: &MergedDraft, incomplete: bool, problems: &mut Problems) {
    check_expressions(merged, problems);
    for draft in &merged.properties {
        check_facts(draft, merged, problems);
    }
    labeler::check_labelers(merged, problems);
    if !incomplete {
        check_suppressions(merged, problems);
    }
}

/// Compiles every expression with the tables of the policy.
fn check_expressions(merged: &MergedDraft, problems: &mut Problems) {
    let tables: Vec<(Text, Json)> =
        merged.tables.iter().map(|table| (table.name.clone(), table.value.clone())).collect();
    let tables = Tables::new(&tables);
    for fact in &merged.facts {
        let mut reader = PolicyReader::new(&fact.source, problems);
        for (usage, node) in &fact.expressions {
            let Content::Scalar { text, .. } = &node.content else { continue };
            let errors = match Expression::compile(text, &tables) {
                Ok(expression) if *usage == ExpressionUse::Condition && !expression.may_hold() => {
                    let message = "not a condition: the value is neither true nor false".to_owned();
                    let hint = Some("compare it with something, as in `args.amount > 100`".to_owned());
                    let problem = ScalarProblem { code: "policy.expression", message, hint };
                    reader.report_in_scalar(node, 0..text.trim_end().len(), problem);
                    continue;
                }
                Ok(_) => continue,
                Err(errors) => errors.errors,
            };
            for error in errors {
                let end = error.offset + word_length(text, error.offset);
                let hint = yaml_quotes_hint(text, &node.content).or(error.hint);
                let problem = ScalarProblem { code: "policy.expression", message: error.message, hint };
                reader.report_in_scalar(node, error.offset..end, problem);
            }
        }
    }
}

/// Returns how long the word is that begins at a place; at least one character.
fn word_length(text: &str, offset: usize) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    end.max(rest.chars().next().map_or(0, char::len_utf8))
}

/// Returns a hint for a word in YAML's quotes, which an expression reads as a name.
fn yaml_quotes_hint(text: &str, content: &Content) -> Option<String> {
    use saphyr_parser::ScalarStyle::{DoubleQuoted, SingleQuoted};
    let quoted = matches!(content, Content::Scalar { style: DoubleQuoted | SingleQuoted, .. });
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    (quoted && is_word).then(|| format!("the quotes belong to YAML; for the text itself write `'\"{text}\"'`"))
}

/// Checks that each fact of a formula exists and has that many values.
fn check_facts(draft: &PropertyDraft, merged: &MergedDraft, problems: &mut Problems) {
    let Some((arena, formula)) = &draft.formula else { return };
    let Content::Scalar { text, .. } = &draft.node.content else { return };
    let mut reader = PolicyReader::new(&draft.source, problems);
    let mut reported: BTreeSet<(String, usize)> = BTreeSet::new();
    for atom in collect_atoms(arena, *formula) {
        let (name, given) = (atom.name.as_ref(), atom.terms.len());
        if !reported.insert((name.to_owned(), given)) {
            continue;
        }
        match fact_parameters(name, merged) {
            Some((parameters, place)) if given > parameters.len() => {
                let values = if parameters.len() == 1 { "value" } else { "values" };
                let message = format!("`{name}` has {} {values}, and {given} are given", parameters.len());
                let hint = Some(format!("it is `{}`, {place}", format_fact(name, &parameters)));
                let problem = ScalarProblem { code: "policy.arity", message, hint };
                reader.report_in_scalar(&draft.node, find_word(text, name, true), problem);
            }
            Some(_) => {}
            None => {
                let defined = merged.facts.iter().map(|fact| fact.definition.name.as_str());
                let known = defined.chain(builtins().iter().map(|builtin| builtin.name));
                if let Some(near) = nearest(name, known) {
                    let message = format!("`{name}` is neither built in nor defined; only a label can provide it");
                    let part = find_word(text, name, false);
                    let span = draft.node.span_inside(reader.source, part).unwrap_or(draft.node.head_span());
                    reader.report_warning(
                        span,
                        "policy.unknown-fact",
                        message,
                        Some(format!("did you mean `{near}`?")),
                    );
                }
            }
        }
    }
}

/// Returns the names of a fact's values, and where they are from.
fn fact_parameters(name: &str, merged: &MergedDraft) -> Option<(Vec<String>, String)> {
    if let Some(builtin) = builtin(name) {
        return Some((builtin.parameters.iter().map(|name| (*name).to_owned()).collect(), "which is built in".into()));
    }
    let fact = merged.facts.iter().find(|fact| fact.definition.name == name)?;
    let place = &fact.definition.place;
    let parameters = fact.definition.parameters.iter().map(ToString::to_string).collect();
    Some((parameters, format!("defined in {}:{}", place.file, place.line)))
}

/// Formats a fact with its values, as formulas write it.
fn format_fact(name: &str, parameters: &[String]) -> String {
    if parameters.is_empty() { name.to_owned() } else { format!("{name}({})", parameters.join(", ")) }
}

/// Returns the span of a word in a formula; with `called`, of its first use with values.
fn find_word(text: &str, word: &str, called: bool) -> Range<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut places = text.match_indices(word).filter(|(place, _)| {
        let (before, after) =
            (text.get(..*place).unwrap_or_default(), text.get(place + word.len()..).unwrap_or_default());
        !before.ends_with(inside) && !after.starts_with(inside) && (!called || after.trim_start().starts_with('('))
    });
    places.next().map_or(0..text.trim_end().len(), |(place, _)| place..place + word.len())
}

/// Warns of suppressions that match no property.
fn check_suppressions(merged: &MergedDraft, problems: &mut Problems) {
    let known: Vec<&str> = merged.properties.iter().map(|draft| draft.property.id.as_str()).collect();
    for (source, span, suppression) in &merged.suppressions {
        let glob = Glob::new(&suppression.property);
        if !known.iter().any(|id| glob.matches(id)) {
            let message = format!("no property matches `{}`; the suppression has no effect", suppression.property);
            let problem = source.problem(span.clone(), "policy.unknown-property", message).into_warning();
            problems.add(problem.with_hint(merged.suggest_property(&suppression.property)));
        }
    }
}
