//! The result of `lictor check` as text and as JSON.

use std::io::{self, Write};

use lictor_logic::{Class, CompileError, Lasso, Relation};
use serde::Serialize;

use super::word;

/// The analysis of one formula.
pub(crate) struct FormulaCheck {
    pub(crate) number: usize,
    pub(crate) place: Option<String>,
    pub(crate) text: String,
    pub(crate) class: Class,
    pub(crate) satisfying: Option<Lasso>,
    pub(crate) violating: Option<Lasso>,
    /// The facts that made no difference on the trace, if one is given.
    pub(crate) vacuous: Option<Vec<String>>,
}

/// The relation of two formulas, or why it is unknown.
pub(crate) struct FormulaPair {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) relation: Result<Relation, CompileError>,
}

/// Writes every formula with its kind and examples, then the related pairs.
pub(crate) fn write_text(out: &mut dyn Write, checked: &[FormulaCheck], pairs: &[FormulaPair]) -> io::Result<()> {
    for it in checked {
        writeln!(out, "{:>3}. {}", it.number, it.text)?;
        writeln!(out, "     {}", it.class)?;
        for (word, example) in [("satisfied", &it.satisfying), ("violated", &it.violating)] {
            let possible = if word == "satisfied" { it.class.satisfiable } else { !it.class.valid };
            match example {
                Some(example) => writeln!(out, "     {word} by {}", word::lasso(example))?,
                None if possible => writeln!(out, "     no example was found that is {word}")?,
                None => {}
            }
        }
        match it.vacuous.as_deref() {
            Some([]) | None => {}
            Some(atoms) => {
                let atoms = atoms.join(", ");
                writeln!(out, "     warning: holds on the trace even without {atoms}: nothing there asked for it")?;
            }
        }
    }
    let (related, unrelated): (Vec<&FormulaPair>, Vec<&FormulaPair>) =
        pairs.iter().partition(|pair| describe_relation(pair).is_some());
    if !pairs.is_empty() {
        writeln!(out)?;
    }
    for text in related.iter().filter_map(|pair| describe_relation(pair)) {
        writeln!(out, "{text}")?;
    }
    let open = list_pairs(pairs, is_open);
    if !open.is_empty() {
        writeln!(out, "nothing was proved and no example was found for {}", open.join("; "))?;
    }
    let refused = list_pairs(pairs, |pair| pair.relation.is_err());
    if !refused.is_empty() {
        writeln!(out, "could not be compared, for their quantifiers do not go together: {}", refused.join("; "))?;
    }
    match (pairs.len(), unrelated.len() - open.len() - refused.len()) {
        (_, 0) => Ok(()),
        (1, _) => writeln!(out, "the two are independent"),
        (all, count) => writeln!(out, "independent: {count} of {all} pairs"),
    }
}

/// Returns the numbers of the wanted pairs.
fn list_pairs(pairs: &[FormulaPair], wanted: impl Fn(&FormulaPair) -> bool) -> Vec<String> {
    pairs.iter().filter(|pair| wanted(pair)).map(|pair| format!("{} and {}", pair.left, pair.right)).collect()
}

/// Returns the relation of a pair in words, if there is one.
fn describe_relation(pair: &FormulaPair) -> Option<String> {
    let FormulaPair { left, right, relation } = pair;
    let relation = relation.as_ref().ok()?;
    let unless = |lasso: &Option<Lasso>| {
        lasso.as_ref().map_or(String::new(), |lasso| format!(", but not the other way round: {}", word::lasso(lasso)))
    };
    match (relation.contradict, relation.implies, relation.implied) {
        (true, ..) => {
            let first = relation.left_only.as_ref().map(|lasso| format!("{left} alone by {}", word::lasso(lasso)));
            let second = relation.right_only.as_ref().map(|lasso| format!("{right} alone by {}", word::lasso(lasso)));
            let examples: Vec<String> = first.into_iter().chain(second).map(|it| format!("\n     {it}")).collect();
            Some(format!("{left} and {right} contradict each other: no trace satisfies both{}", examples.concat()))
        }
        (_, true, true) => Some(format!("{left} and {right} are equivalent")),
        (_, true, false) => Some(format!("{left} implies {right}{}", unless(&relation.right_only))),
        (_, false, true) => Some(format!("{right} implies {left}{}", unless(&relation.left_only))),
        (_, false, false) => None,
    }
}

/// Whether a pair is neither proved related nor shown independent by examples.
fn is_open(pair: &FormulaPair) -> bool {
    let shown = |it: &Relation| it.both.is_some() && it.left_only.is_some() && it.right_only.is_some();
    let proved = |it: &Relation| it.contradict || it.implies || it.implied;
    pair.relation.as_ref().is_ok_and(|relation| !proved(relation) && !shown(relation))
}

/// Writes a JSON document.
pub(crate) fn write_json(out: &mut dyn Write, checked: &[FormulaCheck], pairs: &[FormulaPair]) -> io::Result<()> {
    let document = CheckDocumentShape {
        v: 1,
        formulas: checked.iter().map(CheckFormulaShape::new).collect(),
        pairs: pairs.iter().map(PairShape::new).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct CheckDocumentShape<'a> {
    v: u32,
    formulas: Vec<CheckFormulaShape<'a>>,
    pairs: Vec<PairShape>,
}

#[derive(Serialize)]
struct CheckFormulaShape<'a> {
    formula: usize,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    satisfiable: bool,
    valid: bool,
    safety: Option<bool>,
    co_safety: Option<bool>,
    monitorable: Option<bool>,
    decided_after: Option<u32>,
    satisfied_by: Option<String>,
    violated_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vacuous: Option<&'a [String]>,
}

impl<'a> CheckFormulaShape<'a> {
    fn new(checked: &'a FormulaCheck) -> CheckFormulaShape<'a> {
        let Class { satisfiable, valid, safety, co_safety, monitorable, bounded } = checked.class;
        CheckFormulaShape {
            formula: checked.number,
            text: &checked.text,
            place: checked.place.as_deref(),
            satisfiable,
            valid,
            safety,
            co_safety,
            monitorable,
            decided_after: bounded,
            satisfied_by: checked.satisfying.as_ref().map(word::lasso),
            violated_by: checked.violating.as_ref().map(word::lasso),
            vacuous: checked.vacuous.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct PairShape {
    left: usize,
    right: usize,
    relation: &'static str,
    both: Option<String>,
    left_only: Option<String>,
    right_only: Option<String>,
}

impl PairShape {
    fn new(pair: &FormulaPair) -> PairShape {
        let relation = match &pair.relation {
            Err(_) => "unknown",
            Ok(relation) => match (relation.contradict, relation.implies, relation.implied) {
                (true, ..) => "contradict",
                (_, true, true) => "equivalent",
                (_, true, false) => "left_implies_right",
                (_, false, true) => "right_implies_left",
                (_, false, false) if is_open(pair) => "unknown",
                (_, false, false) => "independent",
            },
        };
        let found = pair.relation.as_ref().ok();
        let show = |lasso: Option<&Lasso>| lasso.map(word::lasso);
        PairShape {
            left: pair.left,
            right: pair.right,
            relation,
            both: show(found.and_then(|it| it.both.as_ref())),
            left_only: show(found.and_then(|it| it.left_only.as_ref())),
            right_only: show(found.and_then(|it| it.right_only.as_ref())),
        }
    }
}
