//! Searches for a small part of a trace that still decides.

use std::ops::Range;

use super::engine::WitnessEngine;
use super::{Moment, WitnessStep, collect_atoms, mask_facts};
use crate::facts::{Fact, Facts, fits};
use crate::sentence::Sentence;
use crate::term::Atom;
use crate::verdict::Verdict;

/// Searches for a small part of a trace that still decides.
pub(super) struct WitnessSearch<'a, E: WitnessEngine> {
    engine: &'a mut E,
    ground: &'a Sentence,
    /// The trace, without the facts that no atom asks for.
    trace: Vec<Moment>,
    verdict: Verdict,
    at_end: bool,
    /// The atoms the formula asks for.
    atoms: Vec<Atom>,
    /// For each entry, which atoms are kept.
    kept: Vec<Vec<bool>>,
    /// For each entry, its last prepared input, and the atoms that were kept in it.
    read: Vec<Option<(Vec<bool>, E::Input)>>,
    /// How many positions the search has read.
    spent: usize,
}

/// The most positions that the search reads before it stops with the witness at hand.
const MAX_WITNESS_READS: usize = 5_000_000;

impl<'a, E: WitnessEngine> WitnessSearch<'a, E> {
    pub(super) fn new(
        engine: &'a mut E,
        ground: &'a Sentence,
        trace: &[Moment],
        verdict: Verdict,
        at_end: bool,
    ) -> WitnessSearch<'a, E> {
        let mut atoms = Vec::new();
        collect_atoms(&ground.arena, ground.formula, &mut atoms);
        let kept = vec![vec![true; atoms.len()]; trace.len()];
        let asked = |moment: &Moment| match moment {
            Moment::Position(facts) => {
                let known = facts.known.iter().filter(|fact| atoms.iter().any(|atom| fits(atom, fact)));
                let unknown = facts.unknown.iter().filter(|doubt| atoms.iter().any(|atom| atom.name == doubt.name));
                let (known, unknown) = (known.cloned().collect(), unknown.cloned().collect());
                Moment::Position(Facts { time: facts.time, known, unknown })
            }
            Moment::Tick(now) => Moment::Tick(*now),
        };
        let trace: Vec<Moment> = trace.iter().map(asked).collect();
        let read = trace.iter().map(|_| None).collect();
        WitnessSearch { engine, ground, trace, verdict, at_end, atoms, kept, read, spent: 0 }
    }

    pub(super) fn run(mut self) -> Vec<WitnessStep> {
        let changes = self.find_changes();
        let everything = self.kept.clone();
        for (kept, changed) in self.kept.iter_mut().zip(changes) {
            if !changed {
                kept.fill(false);
            }
        }
        // Positions that left the residual unchanged can still matter: a `G` must have held there.
        if !self.decides() {
            self.kept = everything;
        }
        self.minimise();
        self.into_steps()
    }

    /// Returns for each entry whether the residual changed at it.
    fn find_changes(&mut self) -> Vec<bool> {
        if !self.engine.has_residuals() {
            return vec![true; self.trace.len()];
        }
        let mut stand = self.engine.start();
        let mut before = self.residual_key(&mut stand);
        let mut changes = Vec::with_capacity(self.trace.len());
        for entry in 0..self.trace.len() {
            self.step(&mut stand, entry);
            let after = self.residual_key(&mut stand);
            changes.push(after != before);
            before = after;
        }
        changes
    }

    /// Reads an entry with all its facts.
    fn step(&mut self, stand: &mut E::State, entry: usize) {
        match &self.trace[entry] {
            Moment::Position(facts) => {
                let reading = self.engine.prepare(facts);
                self.engine.step(stand, &reading);
            }
            Moment::Tick(now) => self.engine.tick(stand, *now),
        }
    }

    fn residual_key(&mut self, stand: &mut E::State) -> ResidualKey {
        match self.engine.state(stand) {
            Some(state) => ResidualKey::State(state),
            None => ResidualKey::Text(self.engine.residual(stand).map(|residual| residual.to_string())),
        }
    }

    /// Leaves out what the verdict does not need: first many pieces at once, then halves of them, then single atoms,
    /// and the ends of stretches without facts.
    ///
    /// Stops at [`MAX_WITNESS_READS`]; the rest is still a witness, though perhaps not the smallest.
    fn minimise(&mut self) {
        let pieces = self.split_pieces();
        self.leave_out(&pieces);
        for piece in &pieces {
            for atom in 0..self.atoms.len() {
                if self.is_exhausted() {
                    return;
                }
                if self.is_kept(piece, atom) && !self.can_do_without(piece.clone(), atom) && piece.len() > 1 {
                    self.trim(piece.clone(), atom);
                }
            }
        }
    }

    /// Returns the entries at which some atom holds, each as one piece, and the stretches between them.
    fn split_pieces(&self) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for (entry, moment) in self.trace.iter().enumerate() {
            // Facts that no atom asks for were removed before.
            let holds =
                matches!(moment, Moment::Position(facts) if !facts.known.is_empty() || !facts.unknown.is_empty());
            match pieces.last_mut() {
                Some(last) if !holds && self.is_empty(last.start) => last.end = entry + 1,
                _ => pieces.push(entry..entry + 1),
            }
        }
        pieces
    }

    fn is_empty(&self, entry: usize) -> bool {
        match &self.trace[entry] {
            Moment::Position(facts) => facts.known.is_empty() && facts.unknown.is_empty(),
            Moment::Tick(_) => true,
        }
    }

    fn is_kept(&self, piece: &Range<usize>, atom: usize) -> bool {
        self.kept[piece.clone()].iter().any(|kept| kept[atom])
    }

    /// Removes an atom from a piece if the verdict does not need it; whether it did.
    fn can_do_without(&mut self, piece: Range<usize>, atom: usize) -> bool {
        let before: Vec<bool> = self.kept[piece.clone()].iter().map(|kept| kept[atom]).collect();
        self.kept[piece.clone()].iter_mut().for_each(|kept| kept[atom] = false);
        if self.decides() {
            return true;
        }
        for (kept, before) in self.kept[piece].iter_mut().zip(before) {
            kept[atom] = before;
        }
        false
    }

    /// Shortens a stretch that matters at its beginning, and then at its end.
    fn trim(&mut self, piece: Range<usize>, atom: usize) {
        let (mut start, mut end) = (piece.start, piece.end);
        let mut step = (end - start) / 2;
        while step > 0 && !self.is_exhausted() {
            if start + step < end && self.can_do_without(start..start + step, atom) {
                start += step;
            }
            step /= 2;
        }
        let mut step = (end - start) / 2;
        while step > 0 && !self.is_exhausted() {
            if start + step < end && self.can_do_without(end - step..end, atom) {
                end -= step;
            }
            step /= 2;
        }
    }

    fn leave_out(&mut self, pieces: &[Range<usize>]) {
        let is_kept = |search: &WitnessSearch<'_, E>, piece: &Range<usize>| {
            search.kept[piece.clone()].iter().any(|kept| kept.contains(&true))
        };
        let kept: Vec<Range<usize>> = pieces.iter().filter(|piece| is_kept(self, piece)).cloned().collect();
        if kept.is_empty() || self.is_exhausted() {
            return;
        }
        let entries = || kept.iter().cloned().flatten();
        let whole: Vec<Vec<bool>> = entries().map(|entry| std::mem::take(&mut self.kept[entry])).collect();
        entries().for_each(|entry| self.kept[entry] = vec![false; self.atoms.len()]);
        if self.decides() {
            return;
        }
        for (entry, atoms) in entries().zip(whole) {
            self.kept[entry] = atoms;
        }
        if kept.len() > 1 {
            let (left, right) = kept.split_at(kept.len().div_ceil(2));
            self.leave_out(left);
            self.leave_out(right);
        }
    }

    fn is_exhausted(&self) -> bool {
        self.spent > MAX_WITNESS_READS
    }

    /// Whether the verdict follows from the kept atoms, for all values of the others.
    fn decides(&mut self) -> bool {
        self.spent += self.trace.len();
        let mut stand = self.engine.start();
        // A letter that left the state unchanged does so again.
        let mut idle = None;
        for (entry, moment) in self.trace.iter().enumerate() {
            let facts = match moment {
                Moment::Tick(now) => {
                    self.engine.tick(&mut stand, *now);
                    continue;
                }
                Moment::Position(facts) => facts,
            };
            // Entries are read many times, mostly with the same atoms kept.
            let (kept, read) = (&self.kept[entry], &mut self.read[entry]);
            let reading = match read {
                Some((then, reading)) if then == kept => reading,
                _ => {
                    let reading = self.engine.prepare(&mask_facts(facts, &self.atoms, kept));
                    &mut read.insert((kept.clone(), reading)).1
                }
            };
            let letter = self.engine.letter(reading);
            if letter.is_some() && idle == letter {
                continue;
            }
            let before = self.engine.state(&stand);
            self.engine.step(&mut stand, reading);
            let is_idle = before.is_some() && before == self.engine.state(&stand);
            idle = letter.filter(|_| is_idle);
        }
        self.engine.verdict(&mut stand, self.at_end) == self.verdict
    }

    fn into_steps(mut self) -> Vec<WitnessStep> {
        let mut stand = self.engine.start();
        let mut steps = Vec::new();
        let mut position = 0;
        for entry in 0..self.trace.len() {
            self.step(&mut stand, entry);
            let Moment::Position(facts) = &self.trace[entry] else { continue };
            position += 1;
            let atoms: Vec<&Atom> =
                self.atoms.iter().zip(&self.kept[entry]).filter(|(_, kept)| **kept).map(|(atom, _)| atom).collect();
            if atoms.is_empty() {
                continue;
            }
            let matters = |fact: &&Fact| atoms.iter().any(|atom| fits(atom, fact));
            let present: Vec<Fact> = facts.known.iter().filter(matters).cloned().collect();
            let is_absent = |atom: &&&Atom| !present.iter().any(|fact| fits(atom, fact));
            let absent = atoms.iter().filter(is_absent).map(|atom| (*atom).clone()).collect();
            let residual = self.engine.residual(&mut stand).unwrap_or_else(|| self.ground.clone());
            steps.push(WitnessStep { entry, position, present, absent, residual });
        }
        steps
    }
}

/// Identifies a residual: by the number of its state, or else by its text.
#[derive(PartialEq)]
enum ResidualKey {
    State(u32),
    Text(Option<String>),
}
