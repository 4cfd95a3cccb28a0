//! Why a verdict came about: the few positions and facts that prove it.
//!
//! First the trail of TRAC's Algorithm 1: the positions at which the residual changed. Then everything is left out that
//! the verdict does not need: what is not in a witness may have been any way at all, and the verdict is the same.
//! `check.rs` proves a witness by the definition alone.

use std::ops::Range;
use std::sync::Arc;

use crate::facts::{Fact, Facts, fits};
use crate::formula::{Arena, Formula, Node, Quantifier};
use crate::interval::Time;
use crate::monitor::{Monitor, within_always};
use crate::sentence::Sentence;
use crate::standing::Standing;
use crate::term::{Atom, Term, Value};
use crate::verdict::Verdict;
use crate::watch::{After, Decided, MonitorId, Watch};

/// One entry of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Something happened.
    Position(Facts),
    /// Time passed: no position up to this moment comes any more.
    Tick(Time),
}

/// What decided a formula on a trace.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The verdict that is proved.
    pub verdict: Verdict,
    /// For a quantified formula, the variables and values that brought the verdict.
    pub binding: Vec<(Arc<str>, Value)>,
    /// How many entries of the trace it took.
    pub entries: usize,
    /// Does the verdict need the trace to end there?
    pub at_end: bool,
    /// The positions that matter, in order.
    pub steps: Vec<WitnessStep>,
}

/// A position that matters.
#[derive(Clone, Debug)]
pub struct WitnessStep {
    /// Which entry of the trace it is, from 0.
    pub entry: usize,
    /// Its number among the positions, from 1.
    pub position: usize,
    /// The facts that matter and were there.
    pub present: Vec<Fact>,
    /// The facts that matter by not being there.
    pub absent: Vec<Atom>,
    /// What had to hold after it.
    pub residual: Sentence,
}

/// The fact that marks the entry a question is about; no formula and no trace can spell it.
const HERE: &str = "(here)";

impl Witness {
    /// Finds why a formula `G f`, with `f` about the past and the present, fails at one entry of a trace, whatever
    /// failed before it: for the given values of its quantified variables, or for any.
    pub fn at(
        arena: &Arena,
        formula: Formula,
        trace: &[Moment],
        entry: usize,
        binding: &[(Arc<str>, Value)],
    ) -> Option<Witness> {
        let mut asked = Arena::new();
        let mut formula = asked.copy(arena, formula);
        for (variable, value) in binding {
            formula = asked.instantiate(formula, variable, value);
        }
        let here = |arena: &mut Arena, f| {
            let here = arena.fact(HERE);
            arena.implies(here, f)
        };
        let formula = within_always(&mut asked, formula, &here)?;
        let mut trace = trace.get(..=entry)?.to_vec();
        if let Some(Moment::Position(facts)) = trace.last_mut() {
            facts.known.push(Fact::from(HERE));
        }
        let mut witness = Witness::find(&asked, formula, &trace, false)?;
        for step in &mut witness.steps {
            step.present.retain(|fact| &*fact.name != HERE);
            step.absent.retain(|atom| &*atom.name != HERE);
        }
        witness.binding = binding.iter().cloned().chain(witness.binding).collect();
        Some(witness)
    }

    /// Finds why a formula has a definite verdict on a trace, or on the trace if it ends (`at_end`); none if it has
    /// none, or cannot be monitored.
    pub fn find(arena: &Arena, formula: Formula, trace: &[Moment], at_end: bool) -> Option<Witness> {
        let (decided, entries) = decide(arena, formula, trace, at_end)?;
        // A verdict that was there before the end does not need it.
        let at_end = at_end && decide(arena, formula, &trace[..entries], false).is_none();
        let (ground, binding) = grounded(arena, formula, decided.binding.as_deref());
        // The deciding binding alone decides, unless bindings decided together or no value was seen.
        let single = decide(&ground.arena, ground.formula, &trace[..entries], at_end);
        let (ground, binding) = match single {
            Some((again, _)) if again.verdict == decided.verdict => (ground, binding),
            _ => (Sentence { arena: arena.clone(), formula }, Vec::new()),
        };
        let search = Search::new(&ground, &trace[..entries], decided.verdict, at_end)?;
        Some(Witness { verdict: decided.verdict, binding, entries, at_end, steps: search.run() })
    }
}

/// A watch with the formula alone, and a trace before its first position.
fn watch(arena: &Arena, formula: Formula) -> Option<(Watch, Standing, MonitorId)> {
    let mut watch = Watch::new();
    let id = watch.add(Monitor::new(arena, formula).ok()?, After::Latch);
    let standing = watch.start();
    Some((watch, standing, id))
}

/// The first definite verdict on a trace and how many entries it took.
fn decide(arena: &Arena, formula: Formula, trace: &[Moment], at_end: bool) -> Option<(Decided, usize)> {
    let (mut watch, mut standing, id) = watch(arena, formula)?;
    for (index, moment) in trace.iter().enumerate() {
        let decided = match moment {
            Moment::Position(facts) => watch.step(&mut standing, facts),
            Moment::Tick(now) => watch.tick(&mut standing, *now),
        };
        if let Some(decided) = decided.first() {
            return Some((decided.clone(), index + 1));
        }
    }
    let verdict = if at_end { watch.end(&mut standing, id) } else { watch.verdict(&mut standing, id) };
    let decided = Decided { monitor: id, verdict, binding: watch.failing(&standing, id) };
    verdict.is_definite().then_some((decided, trace.len()))
}

/// The formula for one binding, and what that binding is.
fn grounded(arena: &Arena, formula: Formula, binding: Option<&[Option<Value>]>) -> (Sentence, Vec<(Arc<str>, Value)>) {
    let mut sentence = Sentence { arena: arena.clone(), formula };
    let mut named = Vec::new();
    let values: Vec<Value> = binding.unwrap_or(&[]).iter().flatten().cloned().collect();
    if values.len() != binding.map_or(0, <[_]>::len) {
        return (sentence, named);
    }
    for (variable, value) in leading_variables(arena, formula).into_iter().zip(values) {
        sentence.formula = sentence.arena.instantiate(sentence.formula, &variable, &value);
        named.push((variable, value));
    }
    (sentence, named)
}

/// The variables that the `forall`s in front of a formula bind, in order.
fn leading_variables(arena: &Arena, f: Formula) -> Vec<Arc<str>> {
    match &arena[f] {
        Node::Quantified(Quantifier::Forall, variables, body) => {
            variables.iter().cloned().chain(leading_variables(arena, *body)).collect()
        }
        Node::Unary(_, _, g) => leading_variables(arena, *g),
        _ => Vec::new(),
    }
}

/// Looks for a small part of a trace that still decides.
struct Search<'a> {
    ground: &'a Sentence,
    /// The trace, without the facts that no atom asks for.
    trace: Vec<Moment>,
    verdict: Verdict,
    at_end: bool,
    /// The atoms the formula asks for.
    atoms: Vec<Atom>,
    watch: Watch,
    start: Standing,
    id: MonitorId,
    /// For each entry, which atoms are kept.
    kept: Vec<Vec<bool>>,
    /// How many positions have been read in search of less.
    spent: usize,
}

/// More positions than this are not read in search of a smaller witness.
const MOST_READ: usize = 5_000_000;

impl<'a> Search<'a> {
    fn new(ground: &'a Sentence, trace: &[Moment], verdict: Verdict, at_end: bool) -> Option<Search<'a>> {
        let (watch, start, id) = watch(&ground.arena, ground.formula)?;
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
        let trace = trace.iter().map(asked).collect();
        Some(Search { ground, trace, verdict, at_end, atoms, watch, start, id, kept, spent: 0 })
    }

    fn run(mut self) -> Vec<WitnessStep> {
        let changes = self.changes();
        let everything = self.kept.clone();
        for (entry, kept) in self.kept.iter_mut().enumerate() {
            if !changes.contains(&entry) {
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

    /// The entries at which the residual changed.
    fn changes(&mut self) -> Vec<usize> {
        let mut standing = self.start.clone();
        let mut before = place(&mut self.watch, &mut standing, self.id);
        let mut changes = Vec::new();
        for (entry, moment) in self.trace.iter().enumerate() {
            match moment {
                Moment::Position(facts) => self.watch.step(&mut standing, facts),
                Moment::Tick(now) => self.watch.tick(&mut standing, *now),
            };
            let after = place(&mut self.watch, &mut standing, self.id);
            if after != before {
                changes.push(entry);
            }
            before = after;
        }
        changes
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
        let is_kept = |search: &Search<'_>, piece: &Range<usize>| {
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
        let mut standing = self.start.clone();
        for (entry, moment) in self.trace.iter().enumerate() {
            match moment {
                Moment::Tick(now) => self.watch.tick(&mut standing, *now),
                Moment::Position(facts) => {
                    let masked = mask(facts, &self.atoms, &self.kept[entry]);
                    self.watch.step(&mut standing, &masked)
                }
            };
        }
        let verdict = if self.at_end {
            self.watch.end(&mut standing, self.id)
        } else {
            self.watch.verdict(&mut standing, self.id)
        };
        verdict == self.verdict
    }

    fn steps(mut self) -> Vec<WitnessStep> {
        let mut standing = self.start.clone();
        let mut steps = Vec::new();
        let mut position = 0;
        for (entry, moment) in self.trace.iter().enumerate() {
            let facts = match moment {
                Moment::Tick(now) => {
                    self.watch.tick(&mut standing, *now);
                    continue;
                }
                Moment::Position(facts) => facts,
            };
            position += 1;
            self.watch.step(&mut standing, facts);
            let atoms: Vec<&Atom> =
                self.atoms.iter().zip(&self.kept[entry]).filter(|(_, kept)| **kept).map(|(atom, _)| atom).collect();
            if atoms.is_empty() {
                continue;
            }
            let matters = |fact: &&Fact| atoms.iter().any(|atom| fits(atom, fact));
            let present: Vec<Fact> = facts.known.iter().filter(matters).cloned().collect();
            let is_absent = |atom: &&&Atom| !present.iter().any(|fact| fits(atom, fact));
            let absent = atoms.iter().filter(is_absent).map(|atom| (*atom).clone()).collect();
            let residual = self.watch.residual(&mut standing, self.id).unwrap_or_else(|| self.ground.clone());
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

fn place(watch: &mut Watch, standing: &mut Standing, id: MonitorId) -> Residue {
    match watch.state(standing, id) {
        Some(state) => Residue::State(state),
        None => Residue::Text(watch.residual(standing, id).map(|residual| residual.to_string())),
    }
}

/// The facts of a position with everything unknown that is not kept.
pub(crate) fn mask(facts: &Facts, atoms: &[Atom], kept: &[bool]) -> Facts {
    let is_kept = |fact: &&Fact| atoms.iter().zip(kept).any(|(atom, kept)| *kept && fits(atom, fact));
    let known: Vec<Fact> = facts.known.iter().filter(is_kept).cloned().collect();
    let mut unknown = facts.unknown.clone();
    unknown.extend(atoms.iter().zip(kept).filter(|(_, kept)| !**kept).map(|(atom, _)| atom.clone()));
    Facts { time: facts.time, known, unknown }
}

/// The atoms of a formula, variables as `_`.
pub(crate) fn collect_atoms(arena: &Arena, f: Formula, atoms: &mut Vec<Atom>) {
    if let Node::Fact(atom) = &arena[f] {
        let open = |term: &Term| if let Term::Var(_) = term { Term::Any } else { term.clone() };
        let atom = Atom { name: atom.name.clone(), terms: atom.terms.iter().map(open).collect() };
        if !atoms.contains(&atom) {
            atoms.push(atom);
        }
    }
    arena[f].operands().iter().for_each(|operand| collect_atoms(arena, *operand, atoms));
}
