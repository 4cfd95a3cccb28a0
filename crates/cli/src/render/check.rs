//! The result of `lictor check`, for people and as a document.

use std::io::{self, Write};

use lictor_logic::{Class, Lasso, Relation};
use serde::Serialize;

use super::word;
use crate::commands::check::{Checked, Pair};

/// Every formula with its kind and examples, then every two that have something to do with each other.
pub(crate) fn write_text(out: &mut dyn Write, checked: &[Checked], pairs: &[Pair]) -> io::Result<()> {
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
    let (told, silent): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| relation(pair).is_some());
    if !pairs.is_empty() {
        writeln!(out)?;
    }
    for text in told.iter().filter_map(|pair| relation(pair)) {
        writeln!(out, "{text}")?;
    }
    let open = listed(pairs, is_open);
    if !open.is_empty() {
        writeln!(out, "nothing was proved and no example was found for {}", open.join("; "))?;
    }
    let refused = listed(pairs, |pair| pair.relation.is_err());
    if !refused.is_empty() {
        writeln!(out, "could not be compared, for their quantifiers do not go together: {}", refused.join("; "))?;
    }
    match (pairs.len(), silent.len() - open.len() - refused.len()) {
        (_, 0) => Ok(()),
        (1, _) => writeln!(out, "the two are independent"),
        (all, count) => writeln!(out, "independent: {count} of {all} pairs"),
    }
}

/// The numbers of some pairs.
fn listed(pairs: &[Pair], wanted: impl Fn(&Pair) -> bool) -> Vec<String> {
    pairs.iter().filter(|pair| wanted(pair)).map(|pair| format!("{} and {}", pair.left, pair.right)).collect()
}

/// What is to be said about a pair; none if there is nothing.
fn relation(pair: &Pair) -> Option<String> {
    let Pair { left, right, relation } = pair;
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

/// Is nothing proved of a pair, but not shown by examples either that the two are independent?
fn is_open(pair: &Pair) -> bool {
    let shown = |it: &Relation| it.both.is_some() && it.left_only.is_some() && it.right_only.is_some();
    let proved = |it: &Relation| it.contradict || it.implies || it.implied;
    pair.relation.as_ref().is_ok_and(|relation| !proved(relation) && !shown(relation))
}

/// Writes a document.
pub(crate) fn write_json(out: &mut dyn Write, checked: &[Checked], pairs: &[Pair]) -> io::Result<()> {
    let document = DocumentShape {
        v: 1,
        formulas: checked.iter().map(FormulaShape::new).collect(),
        pairs: pairs.iter().map(PairShape::new).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct DocumentShape<'a> {
    v: u32,
    formulas: Vec<FormulaShape<'a>>,
    pairs: Vec<PairShape>,
}

#[derive(Serialize)]
struct FormulaShape<'a> {
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

impl<'a> FormulaShape<'a> {
    fn new(checked: &'a Checked) -> FormulaShape<'a> {
        let Class { satisfiable, valid, safety, co_safety, monitorable, bounded } = checked.class;
        FormulaShape {
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
    fn new(pair: &Pair) -> PairShape {
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
