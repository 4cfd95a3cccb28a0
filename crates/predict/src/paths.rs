//! Random paths of a chain, for properties whose states cannot be compared: those with values, counts or deadlines.

use lictor_logic::{Snapshot, SnapshotError, Time, Verdict};
use lictor_math::clopper_pearson;

use crate::chain::{Chain, ChainPlace, END, SYMBOLS_PER_ACTION, SymbolContext};
use crate::machine::{Machine, MachineState, Outcome};
use crate::random::SeededRandom;
use crate::reach::Reached;
use crate::symbol::write_facts;

/// The confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// Returns the probability that a pattern happens, by random paths.
pub(crate) fn walk_paths(
    machine: &mut Machine,
    chain: &Chain,
    (session, present): (&Snapshot, &[(&str, Verdict)]),
    place: &ChainPlace,
    within: u32,
    (paths, seed): (u32, u64),
) -> Result<Reached, SnapshotError> {
    let mut start = machine.resume(session, present)?;
    let is_guess = machine.outcome(&mut start) == Outcome::Open && chain.is_unseen(place);
    let mut random = SeededRandom::new(seed);
    let (mut least, mut most) = (0u32, 0u32);
    for _ in 0..paths {
        match walk(machine, chain, start.clone(), place, within, &mut random) {
            Outcome::Hit => (least, most) = (least + 1, most + 1),
            Outcome::Missed => {}
            Outcome::Open | Outcome::Unknown => most += 1,
        }
    }
    let share = |hits: u32| f64::from(hits) / f64::from(paths.max(1));
    let bound = |hits: u32| clopper_pearson(f64::from(hits), f64::from(paths.max(1)), CONFIDENCE);
    // After an event that no log had, the paths are drawn by what follows events of all classes.
    let interval = if is_guess { (0.0, 1.0) } else { (bound(least).0, bound(most).1) };
    Ok(Reached { known: (share(least), share(most)), interval })
}

fn walk(
    machine: &mut Machine,
    chain: &Chain,
    mut state: MachineState,
    place: &ChainPlace,
    within: u32,
    random: &mut SeededRandom,
) -> Outcome {
    let ChainPlace { mut context, mut recent, .. } = place.clone();
    let (mut used, mut fresh) = (0, 0);
    let mut time = machine.clock(&state);
    for _ in 0..within * SYMBOLS_PER_ACTION {
        match machine.outcome(&mut state) {
            Outcome::Open if used < within => {}
            Outcome::Open => return machine.outcome_at_horizon(&mut state),
            outcome => return outcome,
        }
        let symbol = draw(chain, context, random);
        let Some(class) = chain.symbol(symbol) else {
            return if symbol == END { machine.outcome_at_end(&mut state) } else { Outcome::Unknown };
        };
        time = time.map(|time| Time(time.0.saturating_add(chain.gap(symbol))));
        let mut facts = write_facts(class, &mut recent, &mut fresh);
        facts.time = time;
        machine.step(&mut state, &facts);
        used += u32::from(class.is_action);
        context = chain.push(context, symbol);
    }
    match machine.outcome(&mut state) {
        Outcome::Open => Outcome::Unknown,
        outcome => outcome,
    }
}

/// Draws the next symbol.
fn draw(chain: &Chain, context: SymbolContext, random: &mut SeededRandom) -> u32 {
    let (_, row) = chain.row(context);
    let whole = row.total as f64 + chain.smoothing * chain.width() as f64;
    let mut rest = random.next_share() * whole;
    for (symbol, count) in &row.next {
        rest -= *count as f64;
        if rest < 0.0 {
            return *symbol;
        }
    }
    // What was never counted here: each symbol has the same share.
    let place = (rest / chain.smoothing) as usize;
    chain.successors().nth(place.min(chain.width() - 1)).unwrap_or(END)
}
