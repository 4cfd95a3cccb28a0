//! Searches for a small part of a trace that still decides.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::engine::{LetterBits, WitnessEngine};
use super::{Moment, WitnessBasis, WitnessBudget, WitnessStep};
use crate::facts::{Fact, Facts, fits};
use crate::interval::Time;
use crate::sentence::Sentence;
use crate::term::Atom;
use crate::verdict::Verdict;

/// A set of atoms, by their place in [`WitnessSearch::atoms`]. Atoms beyond the last bit are always kept.
type AtomSet = u128;

/// A position as the search sees it.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// The number of its content, and its time.
    Position(u32, Option<Time>),
    Tick(Time),
}

/// Searches for a small part of a trace that still decides.
pub(super) struct WitnessSearch<'a, E: WitnessEngine> {
    engine: &'a mut E,
    ground: &'a Sentence,
    entries: Vec<Entry>,
    /// The different contents of positions, without time and without facts that no atom asks for.
    contents: Vec<Facts>,
    verdict: Verdict,
    at_end: bool,
    /// The atoms the formula asks for.
    atoms: Vec<Atom>,
    /// For each entry, which atoms are kept.
    kept: Vec<AtomSet>,
    /// For each entry, the atoms that were kept when it was read last, and the input it was read as.
    read: Vec<(AtomSet, u32)>,
    /// The state after the first entries.
    prefix: Option<ReadPrefix<E::State>>,
    /// The inputs prepared so far, by content and kept atoms.
    inputs: Vec<E::Input>,
    prepared: FxHashMap<(u32, AtomSet), u32>,
    budget: &'a mut WitnessBudget,
    /// The work of the engine that is paid for.
    paid: u64,
}

/// The state after some entries with their kept facts.
#[derive(Clone)]
struct ReadPrefix<S> {
    entries: usize,
    stand: S,
    /// The letter that left the state unchanged, if the last one did: it does so again.
    idle: Option<LetterBits>,
}

/// No input was prepared yet.
const NO_INPUT: u32 = u32::MAX;

/// The cost of writing a part of a residual as text, in positions that are looked up.
const WRITTEN_RESIDUAL_COST: u64 = 300;

/// The cost of preparing one entry, in positions that are looked up: its facts are copied and compared with the atoms.
const ENTRY_COST: u64 = 20;

/// The most that reading the whole trace may cost, beyond what the positions cost; the rest then counts as changes.
const MAX_READING_COST: u64 = 10_000_000;

/// The most positions of a witness by its changes; the last ones are kept.
const MAX_CHANGES: usize = 100;

impl<'a, E: WitnessEngine> WitnessSearch<'a, E> {
    pub(super) fn new(
        engine: &'a mut E,
        ground: &'a Sentence,
        trace: &[Moment],
        verdict: Verdict,
        at_end: bool,
        budget: &'a mut WitnessBudget,
    ) -> WitnessSearch<'a, E> {
        let mut atoms = Vec::new();
        ground.arena.collect_atoms(ground.formula, &mut atoms);
        let mut numbers: FxHashMap<(Vec<Fact>, Vec<Atom>), u32> = FxHashMap::default();
        let mut contents = Vec::new();
        let mut entry = |moment: &Moment| match moment {
            Moment::Position(facts) => {
                let known = facts.known.iter().filter(|fact| atoms.iter().any(|atom| fits(atom, fact)));
                let unknown = facts.unknown.iter().filter(|doubt| atoms.iter().any(|atom| atom.name == doubt.name));
                let content: (Vec<Fact>, Vec<Atom>) = (known.cloned().collect(), unknown.cloned().collect());
                let number = *numbers.entry(content).or_insert_with_key(|(known, unknown)| {
                    contents.push(Facts { time: None, known: known.clone(), unknown: unknown.clone() });
                    contents.len() as u32 - 1
                });
                Entry::Position(number, facts.time)
            }
            Moment::Tick(now) => Entry::Tick(*now),
        };
        let entries: Vec<Entry> = trace.iter().map(&mut entry).collect();
        let (kept, read) = (vec![AtomSet::MAX; entries.len()], vec![(AtomSet::MAX, NO_INPUT); entries.len()]);
        engine.begin_search();
        let (inputs, prepared, paid) = (Vec::new(), FxHashMap::default(), engine.work());
        budget.spend(ENTRY_COST * entries.len() as u64);
        WitnessSearch {
            engine,
            ground,
            entries,
            contents,
            verdict,
            at_end,
            atoms,
            kept,
            read,
            prefix: None,
            inputs,
            prepared,
            budget,
            paid,
        }
    }

    pub(super) fn run(mut self, with_residuals: bool) -> (WitnessBasis, Vec<WitnessStep>) {
        let changes = self.find_changes();
        for (kept, changed) in self.kept.iter_mut().zip(&changes) {
            if !changed {
                *kept = 0;
            }
        }
        // Positions that left the residual unchanged can still matter: a `G` must have held there.
        if !self.decides(0) {
            self.kept.fill(AtomSet::MAX);
        }
        if !self.engine.has_residuals() {
            self.leave_out_atoms();
        }
        self.minimise();
        let mut basis = WitnessBasis::Proof;
        if self.is_over() {
            basis = WitnessBasis::Changes;
            let mut left = MAX_CHANGES;
            for (kept, changed) in self.kept.iter_mut().zip(changes).rev() {
                *kept = if changed && left > 0 { AtomSet::MAX } else { 0 };
                left = left.saturating_sub(changed.into());
            }
        }
        (basis, self.into_steps(with_residuals))
    }

    /// Returns for each entry whether the residual changed at it.
    fn find_changes(&mut self) -> Vec<bool> {
        if !self.engine.has_residuals() {
            return vec![true; self.entries.len()];
        }
        let mut stand = self.engine.start();
        let begun = self.engine.work();
        let mut before = self.residual_key(&mut stand);
        let mut changes = Vec::with_capacity(self.entries.len());
        for entry in 0..self.entries.len() {
            if self.engine.work() - begun > MAX_READING_COST || self.engine.is_over() {
                changes.resize(self.entries.len(), true);
                break;
            }
            self.step(&mut stand, entry);
            let after = self.residual_key(&mut stand);
            changes.push(after != before);
            before = after;
        }
        self.pay();
        changes
    }

    /// Reads an entry with its kept facts.
    fn step(&mut self, stand: &mut E::State, entry: usize) {
        match self.entries[entry] {
            Entry::Position(_, time) => {
                let input = self.input(entry);
                self.engine.step(stand, &mut self.inputs[input as usize], time);
            }
            Entry::Tick(now) => self.engine.tick(stand, now),
        }
    }

    /// Returns the input of a position: entries are read many times, mostly with the same atoms kept.
    fn input(&mut self, entry: usize) -> u32 {
        let (kept, Entry::Position(content, _)) = (self.kept[entry], self.entries[entry]) else { return NO_INPUT };
        match self.read[entry] {
            (then, input) if then == kept && input != NO_INPUT => return input,
            _ => {}
        }
        let input = *self.prepared.entry((content, kept)).or_insert_with(|| {
            let facts = mask_facts(&self.contents[content as usize], &self.atoms, kept);
            self.inputs.push(self.engine.prepare(&facts));
            self.inputs.len() as u32 - 1
        });
        self.read[entry] = (kept, input);
        input
    }

    fn residual_key(&mut self, stand: &mut E::State) -> ResidualKey {
        match self.engine.state(stand) {
            Some(state) => ResidualKey::State(state),
            None => {
                self.budget.spend(WRITTEN_RESIDUAL_COST * self.engine.state_size(stand));
                ResidualKey::Text(self.engine.residual(stand).map(|residual| residual.to_string()))
            }
        }
    }

    /// Leaves out what the verdict does not need: first many pieces at once, then halves of them, then single atoms,
    /// and the ends of stretches without facts. Stops if the budget is used up.
    fn minimise(&mut self) {
        let pieces = self.split_pieces();
        self.leave_out(&pieces);
        for piece in &pieces {
            for atom in 0..self.atoms.len().min(AtomSet::BITS as usize) {
                if self.is_over() {
                    return;
                }
                if self.is_kept(piece, atom) && !self.can_do_without(piece.clone(), atom) && piece.len() > 1 {
                    self.trim(piece.clone(), atom);
                }
            }
        }
    }

    /// Leaves out atoms everywhere, or else everywhere but at the last entry. Without residuals no entry was left out so
    /// far. Most facts of a formula about data matter at no entry, and each entry with a fact that matters is a piece.
    fn leave_out_atoms(&mut self) {
        let all = 0..self.entries.len();
        for atom in 0..self.atoms.len().min(AtomSet::BITS as usize) {
            if self.is_over() {
                return;
            }
            if !self.can_do_without(all.clone(), atom) && all.len() > 1 {
                self.can_do_without(0..all.len() - 1, atom);
            }
        }
    }

    /// Returns the entries at which some atom holds, each as one piece, and the stretches between them.
    fn split_pieces(&self) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for entry in 0..self.entries.len() {
            match pieces.last_mut() {
                Some(last) if self.is_empty(entry) && self.is_empty(last.start) => last.end = entry + 1,
                _ => pieces.push(entry..entry + 1),
            }
        }
        pieces
    }

    /// Whether no atom holds at an entry, or none that is kept if atoms were left out. Facts that no atom asks for were
    /// removed before.
    fn is_empty(&self, entry: usize) -> bool {
        match self.entries[entry] {
            Entry::Position(content, _) => {
                let facts = &self.contents[content as usize];
                let is_asked = |fact: &Fact| {
                    self.engine.has_residuals() || self.kept_atoms(self.kept[entry]).any(|(_, atom)| fits(atom, fact))
                };
                facts.unknown.is_empty() && !facts.known.iter().any(is_asked)
            }
            Entry::Tick(_) => true,
        }
    }

    /// Returns the atoms of a set, with their places.
    fn kept_atoms(&self, kept: AtomSet) -> impl Iterator<Item = (usize, &Atom)> {
        self.atoms.iter().enumerate().filter(move |(place, _)| is_kept_atom(*place, kept))
    }

    fn is_kept(&self, piece: &Range<usize>, atom: usize) -> bool {
        self.kept[piece.clone()].iter().any(|kept| kept >> atom & 1 == 1)
    }

    /// Removes an atom from a piece if the verdict does not need it; whether it did.
    fn can_do_without(&mut self, piece: Range<usize>, atom: usize) -> bool {
        let before = self.kept[piece.clone()].to_vec();
        self.kept[piece.clone()].iter_mut().for_each(|kept| *kept &= !(1 << atom));
        if self.decides(piece.start) {
            return true;
        }
        self.kept[piece].copy_from_slice(&before);
        false
    }

    /// Shortens a stretch that matters at its beginning, and then at its end.
    fn trim(&mut self, piece: Range<usize>, atom: usize) {
        let (mut start, mut end) = (piece.start, piece.end);
        let mut step = (end - start) / 2;
        while step > 0 && !self.is_over() {
            if start + step < end && self.can_do_without(start..start + step, atom) {
                start += step;
            }
            step /= 2;
        }
        let mut step = (end - start) / 2;
        while step > 0 && !self.is_over() {
            if start + step < end && self.can_do_without(end - step..end, atom) {
                end -= step;
            }
            step /= 2;
        }
    }

    fn leave_out(&mut self, pieces: &[Range<usize>]) {
        let is_kept = |piece: &&Range<usize>| self.kept[(*piece).clone()].iter().any(|kept| *kept != 0);
        let kept: Vec<Range<usize>> = pieces.iter().filter(is_kept).cloned().collect();
        let Some(first) = kept.first().filter(|_| !self.is_over()) else { return };
        let entries = || kept.iter().cloned().flatten();
        let whole: Vec<AtomSet> = entries().map(|entry| std::mem::take(&mut self.kept[entry])).collect();
        if self.decides(first.start) {
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

    /// Whether the search ends here: its budget is used up, or it has taken too many different steps.
    fn is_over(&self) -> bool {
        self.budget.is_exhausted() || self.engine.is_over()
    }

    /// Pays for the work of the engine since the last time.
    fn pay(&mut self) {
        self.budget.spend(self.engine.read_cost() * self.entries.len() as u64);
        self.pay_engine();
    }

    /// Pays for the steps of the engine since the last time, without the reading.
    fn pay_engine(&mut self) {
        let work = self.engine.work();
        self.budget.spend(work - self.paid);
        self.paid = work;
    }

    /// Whether the verdict follows from the kept atoms, for all values of the others. INVARIANT: before both `changed` and
    /// that of the last call, no kept atoms have changed since then.
    fn decides(&mut self, changed: usize) -> bool {
        let mut prefix = match self.prefix.take() {
            Some(prefix) if prefix.entries <= changed => prefix,
            _ => ReadPrefix { entries: 0, stand: self.engine.start(), idle: None },
        };
        self.read_entries(&mut prefix, changed);
        let mut whole = prefix.clone();
        self.prefix = Some(prefix);
        self.read_entries(&mut whole, self.entries.len());
        self.pay();
        // A search that ended on the way has not read all entries.
        !self.is_over() && self.engine.verdict(&mut whole.stand, self.at_end) == self.verdict
    }

    /// Reads the entries up to one with their kept facts.
    fn read_entries(&mut self, read: &mut ReadPrefix<E::State>, end: usize) {
        for entry in read.entries..end {
            self.pay_engine();
            if self.is_over() {
                break;
            }
            let time = match self.entries[entry] {
                Entry::Tick(now) => {
                    self.engine.tick(&mut read.stand, now);
                    continue;
                }
                Entry::Position(_, time) => time,
            };
            let input = self.input(entry) as usize;
            let letter = self.engine.letter(&self.inputs[input]);
            if letter.is_some() && read.idle == letter {
                continue;
            }
            let before = self.engine.state(&read.stand);
            self.engine.step(&mut read.stand, &mut self.inputs[input], time);
            let is_idle = before.is_some() && before == self.engine.state(&read.stand);
            read.idle = letter.filter(|_| is_idle);
        }
        read.entries = end;
    }

    fn into_steps(mut self, with_residuals: bool) -> Vec<WitnessStep> {
        let kept = std::mem::replace(&mut self.kept, vec![AtomSet::MAX; self.entries.len()]);
        let whole = Arc::new(self.ground.clone());
        // Many positions of a trace have the same residual.
        let mut residuals: FxHashMap<u32, Arc<Sentence>> = FxHashMap::default();
        let mut stand = self.engine.start();
        let mut steps = Vec::new();
        let mut position = 0;
        for (entry, kept) in kept.into_iter().enumerate() {
            if with_residuals {
                self.step(&mut stand, entry);
            }
            let Entry::Position(content, _) = self.entries[entry] else { continue };
            position += 1;
            let atoms: Vec<&Atom> = self.kept_atoms(kept).map(|(_, atom)| atom).collect();
            if kept == 0 || atoms.is_empty() {
                continue;
            }
            let facts = &self.contents[content as usize];
            let matters = |fact: &&Fact| atoms.iter().any(|atom| fits(atom, fact));
            let present: Vec<Fact> = facts.known.iter().filter(matters).cloned().collect();
            let is_absent = |atom: &&&Atom| !present.iter().any(|fact| fits(atom, fact));
            let absent = atoms.iter().filter(is_absent).map(|atom| (*atom).clone()).collect();
            let known = self.engine.state(&stand).filter(|_| with_residuals);
            let residual = match known.and_then(|state| residuals.get(&state)) {
                Some(residual) => Arc::clone(residual),
                None if !with_residuals => Arc::clone(&whole),
                None => {
                    let residual = self.engine.residual(&mut stand).map_or_else(|| Arc::clone(&whole), Arc::new);
                    residuals.extend(known.map(|state| (state, Arc::clone(&residual))));
                    residual
                }
            };
            steps.push(WitnessStep { entry, position, present, absent, residual });
        }
        steps
    }
}

/// Whether an atom is in a set. Atoms beyond the last bit always are.
fn is_kept_atom(place: usize, kept: AtomSet) -> bool {
    AtomSet::BITS as usize <= place || kept >> place & 1 == 1
}

/// Returns the facts of a position, with every atom unknown that is not kept.
fn mask_facts(facts: &Facts, atoms: &[Atom], kept: AtomSet) -> Facts {
    let is_kept = |place: usize| is_kept_atom(place, kept);
    let matters = |fact: &&Fact| atoms.iter().enumerate().any(|(place, atom)| is_kept(place) && fits(atom, fact));
    let known: Vec<Fact> = facts.known.iter().filter(matters).cloned().collect();
    let mut unknown = facts.unknown.clone();
    unknown.extend(atoms.iter().enumerate().filter(|(place, _)| !is_kept(*place)).map(|(_, atom)| atom.clone()));
    Facts { time: facts.time, known, unknown }
}

/// Identifies a residual: by the number of its state, or else by its text.
#[derive(PartialEq)]
enum ResidualKey {
    State(u32),
    Text(Option<String>),
}
