//! The engine under test, in every configuration that must not change a verdict.

use lictor_logic::{
    After, Arena, CacheLimits, Facts, Formula, Monitor, MonitorId, MonitorSet, Time, TraceState, Verdict,
};

use crate::claim::{Engine, Run};

/// A watch with one monitor, and what is done to it between entries.
pub(crate) struct Configuration {
    name: &'static str,
    limits: CacheLimits,
    habit: Habit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    None,
    Clear,
    /// Save, forget everything that was learnt, and restore.
    Save,
    /// Say every fact many times over: positions with many facts are read another way than those with few.
    Repeat,
}

/// Every configuration.
pub(crate) fn configurations() -> Vec<Box<dyn Engine>> {
    let few = CacheLimits { states: 4, transitions: 8, ..CacheLimits::DEFAULT };
    vec![
        Box::new(Configuration { name: "watch", limits: CacheLimits::DEFAULT, habit: Habit::None }),
        Box::new(Configuration { name: "watch with four states", limits: few, habit: Habit::None }),
        Box::new(Configuration {
            name: "watch cleared at every entry",
            limits: CacheLimits::DEFAULT,
            habit: Habit::Clear,
        }),
        Box::new(Configuration {
            name: "watch restored at every entry",
            limits: CacheLimits::DEFAULT,
            habit: Habit::Save,
        }),
        Box::new(Configuration {
            name: "watch told all many times",
            limits: CacheLimits::DEFAULT,
            habit: Habit::Repeat,
        }),
    ]
}

struct Watching {
    /// The watch before it has learnt anything.
    fresh: MonitorSet,
    watch: MonitorSet,
    standing: TraceState,
    id: MonitorId,
    habit: Habit,
}

impl Engine for Configuration {
    fn name(&self) -> &str {
        self.name
    }

    fn start<'a>(&'a self, arena: &'a Arena, f: Formula) -> Option<Box<dyn Run + 'a>> {
        let monitor = Monitor::new(arena, f).ok()?;
        let mut watch = MonitorSet::with_limits(self.limits);
        let id = watch.add(monitor, After::Latch);
        let standing = watch.start();
        Some(Box::new(Watching { fresh: watch.clone(), watch, standing, id, habit: self.habit }))
    }
}

impl Watching {
    fn indulge(&mut self) {
        match self.habit {
            Habit::None | Habit::Repeat => {}
            Habit::Clear => self.watch.clear(),
            Habit::Save => {
                let saved = serde_json::to_string(&self.watch.snapshot(&self.standing)).unwrap();
                self.watch = self.fresh.clone();
                self.standing = self.watch.restore(&serde_json::from_str(&saved).unwrap()).unwrap();
            }
        }
    }
}

impl Run for Watching {
    fn step(&mut self, facts: &Facts) {
        self.indulge();
        if self.habit == Habit::Repeat {
            let known = std::iter::repeat_n(&facts.known, 20).flatten().cloned().collect();
            self.watch.step(&mut self.standing, &Facts { known, ..facts.clone() });
        } else {
            self.watch.step(&mut self.standing, facts);
        }
    }

    fn tick(&mut self, now: Time) {
        self.indulge();
        self.watch.tick(&mut self.standing, now);
    }

    fn verdict(&mut self) -> Verdict {
        self.watch.verdict(&mut self.standing, self.id)
    }

    fn end(&mut self) -> Verdict {
        self.watch.end(&mut self.standing, self.id)
    }
}
