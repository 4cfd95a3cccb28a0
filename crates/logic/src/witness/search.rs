//! Looks for the least that still decides.

use std::ops::Range;

use super::engine::Engine;
use super::{Moment, WitnessStep, collect_atoms, mask};
use crate::facts::{Fact, Facts, fits};
use crate::sentence::Sentence;
use crate::term::Atom;
use crate::verdict::Verdict;

/// Looks for a small part of a trace that still decides.
pub(super) struct Search<'a, E: Engine> {
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
    /// For each entry, what was read of it last, and which atoms were kept then.
    read: Vec<Option<(Vec<bool>, E::Reading)>>,
    /// How many positions have been read in search of less.
    spent: usize,
}

/// More positions than this are not read in search of a smaller witness.
const MOST_READ: usize = 5_000_000;

impl<'a, E: Engine> Search<'a, E> {
    pub(super) fn new(
        engine: &'a mut E,
        ground: &'a Sentence,
        trace: &[Moment],
        verdict: Verdict,
        at_end: bool,
    ) -> Search<'a, E> {
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
        Search { engine, ground, trace, verdict, at_end, atoms, kept, read, spent: 0 }
    }

    pub(super) fn run(mut self) -> Vec<WitnessStep> {
        let changes = self.changes();
        let everything = self.kept.clone();
        for (kept, changed) in self.kept.iter_mut().zip(changes) {
            if !changed {
                kept.fill(false);
            }
        }
        // Positions that left the residual alone can still matter: a `G` must have held there.
        if !self.decides() {
            self.kept = everything;
        }
        self.minimise();
        self.steps()
    }

    /// For each entry, whether the residual changed at it.
    fn changes(&mut self) -> Vec<bool> {
        if !self.engine.has_residuals() {
            return vec![true; self.trace.len()];
        }
        let mut stand = self.engine.start();
        let mut before = self.residue(&mut stand);
        let mut changes = Vec::with_capacity(self.trace.len());
        for entry in 0..self.trace.len() {
            self.step(&mut stand, entry);
            let after = self.residue(&mut stand);
            changes.push(after != before);
            before = after;
        }
        changes
    }

    /// Reads an entry with all its facts.
    fn step(&mut self, stand: &mut E::Stand, entry: usize) {
        match &self.trace[entry] {
            Moment::Position(facts) => {
                let reading = self.engine.ready(facts);
                self.engine.step(stand, &reading);
            }
            Moment::Tick(now) => self.engine.pass(stand, *now),
        }
    }

    fn residue(&mut self, stand: &mut E::Stand) -> Residue {
        match self.engine.state(stand) {
            Some(state) => Residue::State(state),
            None => Residue::Text(self.engine.residual(stand).map(|residual| residual.to_string())),
        }
    }

    /// Leaves out as much as the verdict can do without: many pieces at once first, then half of them, then single
    /// atoms, and of a stretch where nothing held its ends.
    ///
    /// Stops when it has read too many positions over and over; what is left then is a witness all the same, if not
    /// the smallest.
    fn minimise(&mut self) {
        let pieces = self.pieces();
        self.leave_out(&pieces);
        for piece in &pieces {
            for atom in 0..self.atoms.len() {
                if self.is_spent() {
                    return;
                }
                if self.is_kept(piece, atom) && !self.can_do_without(piece.clone(), atom) && piece.len() > 1 {
                    self.trim(piece.clone(), atom);
                }
            }
        }
    }

    /// The entries at which some atom holds, each by itself, and the stretches between them.
    fn pieces(&self) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for (entry, moment) in self.trace.iter().enumerate() {
            // Facts that no atom asks for were taken out before.
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

    /// Takes an atom out of a piece if the verdict can do without it.
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

    /// Of a stretch that matters, leaves out what it can at its beginning, and then at its end.
    fn trim(&mut self, piece: Range<usize>, atom: usize) {
        let (mut start, mut end) = (piece.start, piece.end);
        let mut step = (end - start) / 2;
        while step > 0 && !self.is_spent() {
            if start + step < end && self.can_do_without(start..start + step, atom) {
                start += step;
            }
            step /= 2;
        }
        let mut step = (end - start) / 2;
        while step > 0 && !self.is_spent() {
            if start + step < end && self.can_do_without(end - step..end, atom) {
                end -= step;
            }
            step /= 2;
        }
    }

    fn leave_out(&mut self, pieces: &[Range<usize>]) {
        let is_kept = |search: &Search<'_, E>, piece: &Range<usize>| {
            search.kept[piece.clone()].iter().any(|kept| kept.contains(&true))
        };
        let kept: Vec<Range<usize>> = pieces.iter().filter(|piece| is_kept(self, piece)).cloned().collect();
        if kept.is_empty() || self.is_spent() {
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

    fn is_spent(&self) -> bool {
        self.spent > MOST_READ
    }

    /// Does the verdict follow from what is kept, whatever the rest was?
    fn decides(&mut self) -> bool {
        self.spent += self.trace.len();
        let mut stand = self.engine.start();
        // A letter that left the state where it was; read again, it does so again.
        let mut idle = None;
        for (entry, moment) in self.trace.iter().enumerate() {
            let facts = match moment {
                Moment::Tick(now) => {
                    self.engine.pass(&mut stand, *now);
                    continue;
                }
                Moment::Position(facts) => facts,
            };
            // Entries are read over and over, and few of them otherwise than the time before.
            let (kept, read) = (&self.kept[entry], &mut self.read[entry]);
            let reading = match read {
                Some((then, reading)) if then == kept => reading,
                _ => {
                    let reading = self.engine.ready(&mask(facts, &self.atoms, kept));
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

    fn steps(mut self) -> Vec<WitnessStep> {
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

/// What tells one residual from another: the number of its state, or where that is not all of it, its text.
#[derive(PartialEq)]
enum Residue {
    State(u32),
    Text(Option<String>),
}
