//! The definition in the place of an engine, and two engines that are wrong in the usual ways.
//!
//! They keep the whole trace and judge it again at every entry. They test the comparison, not an engine.

use lictor_logic::{Arena, Ending, Facts, Formula, Time, Verdict, Word, evaluate};

use crate::support::claim::{Engine, EngineRun};
use crate::support::oracle::{Oracle, Prefix};
use crate::support::trace::Entry;

type JudgeFn = fn(&Arena, Formula, &[Entry]) -> Verdict;

/// An engine that replays the trace.
pub(crate) struct Replay {
    name: &'static str,
    live: JudgeFn,
    end: JudgeFn,
}

/// Looks for continuations and evaluates each.
pub(crate) const DEFINITION: Replay = Replay {
    name: "definition",
    live: |arena, f, trace| {
        let (oracle, prefix) = (Oracle::new(arena, f, trace), prefix(trace));
        match [true, false].map(|value| oracle.example(&prefix, value, 2000).is_some()) {
            [true, false] => Verdict::Satisfied,
            [false, true] => Verdict::Violated,
            _ => Verdict::Inconclusive,
        }
    },
    end: |arena, f, trace| Oracle::new(arena, f, trace).end(&prefix(trace), 2000),
};

/// Leaves open what three-valued evaluation leaves open, as progression without anticipation does.
pub(crate) const KLEENE: Replay = Replay {
    name: "kleene",
    live: |arena, f, trace| judge(arena, f, trace, Ending::Open),
    end: |arena, f, trace| match judge(arena, f, trace, Ending::Open) {
        Verdict::Inconclusive => judge(arena, f, trace, Ending::Stops),
        definite => definite,
    },
};

/// Judges the trace so far as if it were complete.
pub(crate) const HINDSIGHT: Replay = Replay {
    name: "hindsight",
    live: |arena, f, trace| judge(arena, f, trace, Ending::Stops),
    end: |arena, f, trace| judge(arena, f, trace, Ending::Stops),
};

fn prefix(trace: &[Entry]) -> Prefix {
    let mut prefix = Prefix::default();
    trace.iter().for_each(|entry| prefix.push(entry));
    prefix
}

fn judge(arena: &Arena, f: Formula, trace: &[Entry], ending: Ending) -> Verdict {
    let positions = prefix(trace).positions;
    Verdict::from_truth(evaluate(arena, f, &Word { positions: &positions, ending }))
}

struct ReplayRun<'a> {
    engine: &'a Replay,
    arena: &'a Arena,
    f: Formula,
    trace: Vec<Entry>,
}

impl Engine for Replay {
    fn name(&self) -> &str {
        self.name
    }

    fn start<'a>(&'a self, arena: &'a Arena, f: Formula) -> Option<Box<dyn EngineRun + 'a>> {
        Some(Box::new(ReplayRun { engine: self, arena, f, trace: Vec::new() }))
    }
}

impl EngineRun for ReplayRun<'_> {
    fn step(&mut self, facts: &Facts) {
        self.trace.push(Entry::Position(facts.clone()));
    }

    fn tick(&mut self, now: Time) {
        self.trace.push(Entry::Tick(now));
    }

    fn verdict(&mut self) -> Verdict {
        (self.engine.live)(self.arena, self.f, &self.trace)
    }

    fn end(&mut self) -> Verdict {
        (self.engine.end)(self.arena, self.f, &self.trace)
    }
}
