//! Forecasts for one policy and one chain.

use std::sync::Arc;

use lictor_logic::{FormulaError, Monitor, Snapshot, SnapshotError, Verdict};

use crate::chain::{Chain, ChainPlace};
use crate::forecast::{Forecast, ForecastMethod, Outlook};
use crate::machine::{Machine, Outcome, SOME_VIOLATION};
use crate::paths::walk_paths;
use crate::reach::{Reach, Reached};
use crate::symbol::Step;

/// The number of random paths for properties whose states cannot be compared.
const PATHS: u32 = 400;

/// Forecasts whether a pattern over the verdicts of properties happens soon.
///
/// ```
/// use lictor_logic::{Facts, Monitor, MonitorSet};
/// use lictor_predict::{Chain, Predictor, SOME_VIOLATION, Step};
///
/// // Every second of forty sessions deletes right after it has listed.
/// let step = |tool: &str| Step {
///     kind: "tool_call".into(),
///     tool: Some(tool.into()),
///     facts: Facts::from_names([tool]).unwrap(),
///     is_action: true,
/// };
/// let sessions: Vec<Vec<Step>> = (0..40)
///     .map(|n| if n % 2 == 0 { vec![step("list"), step("delete")] } else { vec![step("list"), step("read")] })
///     .collect();
/// let chain = Chain::learn(&sessions, &[])?;
/// let monitor = Monitor::parse("always not delete")?;
///
/// let mut session = MonitorSet::new();
/// session.add(monitor.clone());
/// let mut state = session.start();
/// let mut place = chain.start();
/// session.step(&mut state, &step("list").facts);
/// chain.follow(&mut place, &step("list"));
///
/// let mut predictor = Predictor::new(chain.into(), &[("no-deletion", monitor)], SOME_VIOLATION, 1)?;
/// let outlook = predictor.forecast(&session.snapshot(&state), &place, &[])?;
/// let forecast = outlook.forecast().unwrap();
/// assert!((forecast.chance - 0.5).abs() < 0.05, "{outlook}");
/// assert!(forecast.least < 0.5 && forecast.most > 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Predictor {
    chain: Arc<Chain>,
    whole: FollowedPattern,
    /// Each property alone, if the pattern is that some property is violated. What one of them risks, all of them risk.
    members: Vec<FollowedPattern>,
    within: u32,
}

/// A pattern, and what was computed of it before.
#[derive(Debug)]
struct FollowedPattern {
    machine: Machine,
    reach: Reach,
}

impl FollowedPattern {
    fn new(properties: &[(&str, Monitor)], pattern: &str) -> Result<FollowedPattern, FormulaError> {
        Ok(FollowedPattern { machine: Machine::new(properties, pattern)?, reach: Reach::default() })
    }

    fn measure(
        &mut self,
        chain: &Chain,
        from: (&Snapshot, &[(&str, Verdict)]),
        place: &ChainPlace,
        within: u32,
    ) -> Result<(Reached, ForecastMethod), SnapshotError> {
        let machine = &mut self.machine;
        Ok(match machine.is_finite() {
            true => (self.reach.probability(machine, chain, from, place, within)?, ForecastMethod::Chain),
            false => {
                let seed = place.seed();
                let reached = walk_paths(machine, chain, from, place, within, (PATHS, seed))?;
                (reached, ForecastMethod::ChainPaths { paths: PATHS, seed })
            }
        })
    }
}

impl Predictor {
    /// Returns a predictor for properties by their ids, and a pattern over their verdicts: a formula about
    /// `violated("id")` and `satisfied("id")`. It looks `within` actions of the agent ahead.
    ///
    /// # Errors
    ///
    /// The pattern is no formula that can be monitored.
    pub fn new(
        chain: Arc<Chain>,
        properties: &[(&str, Monitor)],
        pattern: &str,
        within: u32,
    ) -> Result<Predictor, FormulaError> {
        let is_union = pattern == SOME_VIOLATION && properties.len() > 1;
        let alone = properties.iter().filter(|_| is_union);
        let members = alone.map(|property| FollowedPattern::new(std::slice::from_ref(property), pattern));
        let members = members.collect::<Result<_, _>>()?;
        Ok(Predictor { chain, whole: FollowedPattern::new(properties, pattern)?, members, within })
    }

    /// The chain it forecasts by.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Returns whether the pattern happened in what followed; `None` if that depends on unknown facts, or if the log ends
    /// before it is known. `is_whole` says that the session ended after it.
    ///
    /// # Errors
    ///
    /// The snapshot is damaged, or of another version.
    pub fn has_happened(
        &mut self,
        session: &Snapshot,
        following: &[Step],
        is_whole: bool,
    ) -> Result<Option<bool>, SnapshotError> {
        let machine = &mut self.whole.machine;
        let mut state = machine.resume(session, &[])?;
        let (mut outcome, mut actions) = (machine.outcome(&mut state), 0);
        for step in following {
            if outcome != Outcome::Open || actions == self.within {
                break;
            }
            machine.step(&mut state, &step.facts);
            actions += u32::from(step.is_action);
            outcome = machine.outcome(&mut state);
        }
        outcome = match outcome {
            Outcome::Open if actions == self.within => machine.outcome_at_horizon(&mut state),
            Outcome::Open if is_whole => machine.outcome_at_end(&mut state),
            outcome => outcome,
        };
        Ok(match outcome {
            Outcome::Hit => Some(true),
            Outcome::Missed => Some(false),
            Outcome::Open | Outcome::Unknown => None,
        })
    }

    /// Returns the probability that the pattern happens, from where a session is. `present` are the verdicts that its
    /// last event brought: they count, too.
    ///
    /// # Errors
    ///
    /// The snapshot is damaged, or of another version.
    pub fn forecast(
        &mut self,
        session: &Snapshot,
        place: &ChainPlace,
        present: &[(&str, Verdict)],
    ) -> Result<Outlook, SnapshotError> {
        match self.chain.is_out_of_model(place) {
            true => Ok(Outlook::OutOfModel),
            false => self.estimate(session, place, present).map(Outlook::Forecast),
        }
    }

    /// Returns what the chain says even if the session is unlike those that it was learnt from. Its upper end holds for
    /// sessions like those only: the number may be a reason for care, and never one to be at ease.
    ///
    /// # Errors
    ///
    /// The snapshot is damaged, or of another version.
    pub fn estimate(
        &mut self,
        session: &Snapshot,
        place: &ChainPlace,
        present: &[(&str, Verdict)],
    ) -> Result<Forecast, SnapshotError> {
        let (chain, from, within) = (&*self.chain, (session, present), self.within);
        let (mut reached, method) = self.whole.measure(chain, from, place, within)?;
        let mut members = Vec::with_capacity(self.members.len());
        for member in &mut self.members {
            members.push(member.measure(chain, from, place, within)?.0);
        }
        if !members.is_empty() {
            reached.fit_union(&members);
        }
        let (known, (least, most)) = (reached.known, reached.interval);
        Ok(Forecast { within, least, chance: known.0, most, method })
    }
}
