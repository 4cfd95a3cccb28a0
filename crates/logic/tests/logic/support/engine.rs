//! The engine under test, in every configuration that must not change a verdict.

use lictor_logic::{Arena, CacheLimits, Facts, Formula, Monitor, MonitorId, MonitorSet, Time, TraceState, Verdict};

use crate::support::claim::{Engine, EngineRun};

/// A set with one monitor, and what is done to it between entries.
pub(crate) struct Configuration {
    name: &'static str,
    limits: CacheLimits,
    habit: Habit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    None,
    Clear,
    /// Take a snapshot, drop the cache, and restore.
    Save,
    /// Repeat every fact many times: positions with many facts take another path than those with few.
    Repeat,
}

/// Every configuration.
pub(crate) fn configurations() -> Vec<Box<dyn Engine>> {
    let mut few = CacheLimits::DEFAULT;
    (few.states, few.transitions) = (4, 8);
    vec![
        Box::new(Configuration { name: "monitor set", limits: CacheLimits::DEFAULT, habit: Habit::None }),
        Box::new(Configuration { name: "monitor set with four states", limits: few, habit: Habit::None }),
        Box::new(Configuration {
            name: "monitor set cleared at every entry",
            limits: CacheLimits::DEFAULT,
            habit: Habit::Clear,
        }),
        Box::new(Configuration {
            name: "monitor set restored at every entry",
            limits: CacheLimits::DEFAULT,
            habit: Habit::Save,
        }),
        Box::new(Configuration {
            name: "monitor set with repeated facts",
            limits: CacheLimits::DEFAULT,
            habit: Habit::Repeat,
        }),
    ]
}

/// A set that follows few resolutions of unknown facts one by one: its verdicts may be late.
pub(crate) fn limited_resolutions(resolutions: usize) -> Box<dyn Engine> {
    let mut limits = CacheLimits::DEFAULT;
    limits.resolutions = resolutions;
    Box::new(Configuration { name: "monitor set with few resolutions", limits, habit: Habit::Save })
}

struct MonitorRun {
    /// The set before it has learnt anything.
    fresh: MonitorSet,
    monitors: MonitorSet,
    trace_state: TraceState,
    id: MonitorId,
    habit: Habit,
}

impl Engine for Configuration {
    fn name(&self) -> &str {
        self.name
    }

    fn start<'a>(&'a self, arena: &'a Arena, f: Formula) -> Option<Box<dyn EngineRun + 'a>> {
        let monitor = Monitor::new(arena, f).ok()?;
        let mut monitors = MonitorSet::with_limits(self.limits);
        let id = monitors.add(monitor);
        let trace_state = monitors.start();
        Some(Box::new(MonitorRun { fresh: monitors.clone(), monitors, trace_state, id, habit: self.habit }))
    }
}

impl MonitorRun {
    fn apply_habit(&mut self) {
        match self.habit {
            Habit::None | Habit::Repeat => {}
            Habit::Clear => self.monitors.clear(),
            Habit::Save => {
                let saved = serde_json::to_string(&self.monitors.snapshot(&self.trace_state)).unwrap();
                self.monitors = self.fresh.clone();
                self.trace_state = self.monitors.restore(&serde_json::from_str(&saved).unwrap()).unwrap();
            }
        }
    }
}

impl EngineRun for MonitorRun {
    fn step(&mut self, facts: &Facts) {
        self.apply_habit();
        if self.habit == Habit::Repeat {
            let known = std::iter::repeat_n(&facts.known, 20).flatten().cloned().collect();
            self.monitors.step(&mut self.trace_state, &Facts { known, ..facts.clone() });
        } else {
            self.monitors.step(&mut self.trace_state, facts);
        }
    }

    fn tick(&mut self, now: Time) {
        self.apply_habit();
        self.monitors.tick(&mut self.trace_state, now);
    }

    fn verdict(&mut self) -> Verdict {
        self.monitors.verdict(&mut self.trace_state, self.id)
    }

    fn end(&mut self) -> Verdict {
        self.monitors.end(&mut self.trace_state, self.id)
    }
}
