//! Which open facts can still change a belief.

use super::{Belief, BeliefMonitor, BeliefState};
use crate::facts::{Fact, Facts};
use crate::relevance::OpenFacts;

impl BeliefMonitor {
    /// Returns for each open fact whether it can still change the belief: `facts` are those of the next position that
    /// are certain, and each open fact may hold there or not. A fact that is reported as false changes the successor of
    /// no state that has a weight, whatever the other open facts are. So its chance needs no question.
    ///
    /// ```
    /// use lictor_logic::{BeliefMonitor, Fact, Facts, Monitor};
    /// let mut monitor = BeliefMonitor::new(Monitor::parse("G(pay -> O approved)")?)?;
    /// let mut belief = monitor.start();
    /// let open = [Fact::new("pay", []), Fact::new("approved", [])];
    /// assert_eq!(monitor.find_relevant(&belief, &Facts::default(), &open), [true, true]);
    /// // Once it is approved, payments do not matter any more.
    /// monitor.step(&mut belief, &Facts::from_names(["approved"])?, &[]);
    /// assert_eq!(monitor.find_relevant(&belief, &Facts::default(), &open), [false, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_relevant(&mut self, belief: &Belief, facts: &Facts, open: &[Fact]) -> Vec<bool> {
        let time = belief.clock.peek(facts.time);
        let mut state = belief.state.clone();
        self.expire(&mut state, time);
        let (monitor, cache) = (&self.monitor, &mut self.cache);
        match &state {
            BeliefState::Single(distribution) => {
                let points = || distribution.points.iter().map(|weighted| &weighted.point);
                let support = points().fold(0, |bits, point| bits | cache.support(point));
                let mut open = OpenFacts::new(monitor, facts, open, support);
                open.compare_points(monitor, cache, points(), time);
                open.into_relevant()
            }
            BeliefState::Bindings(bindings) => {
                let mut open = OpenFacts::new(monitor, facts, open, u64::MAX);
                let groups = bindings.populations.iter().flat_map(|population| population.groups.occupied());
                let points = groups.flat_map(|(_, _, it)| it.points.iter().map(|weighted| &weighted.point));
                let touched = |facts: &Facts| bindings.touched_states(monitor, facts);
                open.compare_bindings(monitor, cache, touched, points, time);
                open.into_relevant()
            }
        }
    }
}
