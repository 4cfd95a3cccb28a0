//! Formula progression by the book (Bacchus & Kabanza 1998), as a baseline.
//!
//! A position rewrites the whole formula into what must hold from the next one on. Formulas are hash-consed and
//! constants are folded. That is [`Folding::Constants`]; with [`Folding::Sets`], conjunctions and disjunctions are also
//! kept as sorted sets without duplicates, so that residuals do not grow when obligations recur.

mod formulas;

use std::error::Error;
use std::hint::black_box;

use lictor_logic::Arena;

use crate::letters::Letters;
use crate::measure::per_event;
use crate::ours::{Ours, Tally};
use crate::progression::formulas::{FALSE, Folding, Formulas, Id, TRUE};
use crate::table::Section;

/// Properties that are progressed in parallel; a decided one restarts.
#[derive(Clone, Debug)]
pub(crate) struct Progression {
    formulas: Formulas,
    starts: Vec<Id>,
    states: Vec<Id>,
}

impl Progression {
    /// Returns a progression of formulas without past operators, values and quantifiers, over the facts of letters.
    pub(crate) fn new(texts: &[&str], letters: &Letters, folding: Folding) -> Result<Progression, Box<dyn Error>> {
        let mut formulas = Formulas::new(folding);
        let mut starts = Vec::new();
        for text in texts {
            let mut arena = Arena::new();
            let formula = arena.parse(text).map_err(|errors| format!("{text}: {errors:?}"))?;
            let start = formulas.translate(&arena, formula, &letters.names);
            starts.push(start.ok_or_else(|| format!("`{text}` is beyond plain progression"))?);
        }
        Ok(Progression { formulas, states: starts.clone(), starts })
    }

    pub(crate) fn read(&mut self, letters: &[u64], events: &[u32]) -> Tally {
        let mut tally = Tally::default();
        for event in events {
            let letter = letters[*event as usize];
            for (state, start) in self.states.iter_mut().zip(&self.starts) {
                *state = self.formulas.progress(*state, letter);
                if *state <= FALSE {
                    tally.satisfied += u64::from(*state == TRUE);
                    tally.violated += u64::from(*state == FALSE);
                    *state = *start;
                }
            }
        }
        tally
    }
}

/// Measures both foldings on the first `count` events; returns the time of the plain one.
///
/// Returns an error if their verdicts differ from ours.
pub(crate) fn measure(
    texts: &[&str],
    letters: &Letters,
    count: usize,
    ours: &mut Ours,
    section: &mut Section,
) -> Result<f64, Box<dyn Error>> {
    let events = &letters.events[..count];
    let observations = ours.observations(letters);
    ours.restart();
    let expected = ours.tally(&observations, events);
    let mut figures = Vec::new();
    for (title, folding) in [("plain progression", Folding::Constants), ("progression with sets", Folding::Sets)] {
        let mut progression = Progression::new(texts, letters, folding)?;
        let tally = progression.read(&letters.distinct, events);
        if tally != expected {
            return Err(format!("{title} comes to other verdicts: {tally}, not {expected}").into());
        }
        let figure = per_event(count, || {
            progression.states.clone_from(&progression.starts);
            black_box(progression.read(&letters.distinct, events));
        });
        let formulas = progression.formulas.len();
        section.time(title, figure, format!("{formulas} formulas, the same verdicts in {count} events"));
        figures.push(figure);
    }
    Ok(figures[0])
}
