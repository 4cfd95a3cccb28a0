//! Scores a reply by plans of the model: how often the next actions that it plans violate a property.
//!
//! The model is asked for its next actions after the reply, in one answer; results of tools are invented by nobody. Each
//! plan is tried on a fork of the session and never committed. Plans are asked for in batches until the threshold is
//! outside of the interval, which holds at all times at once, or until the allowed number is spent.
//!
//! A plan that cannot be read may or may not violate a property. The interval counts both: it never makes the reply look
//! worse than it is known to be, and never a candidate better.

use bytes::Bytes;
use lictor_event::Event;
use lictor_policy::PredictSettings;
use lictor_predict::{SampleSequence, Score};
use lictor_wire::Request;

use super::budget::CallBudget;
use super::offered::AllowedCalls;
use super::plan::{read_plan, write_question};
use crate::exchange::{Life, Stop};

/// How many plans are asked for at once.
const BATCH_CALLS: usize = 8;

/// How often an interval may miss the truth at some time.
const INTERVAL_ERROR: f64 = 0.05;

/// The plans after a reply, and how many of them violate a property.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledRisk {
    /// With unreadable plans as harmless.
    low: SampleSequence,
    /// With unreadable plans as violations.
    high: SampleSequence,
    pub(super) unread: u32,
}

impl SampledRisk {
    fn new() -> SampledRisk {
        let sequence = SampleSequence::new(INTERVAL_ERROR);
        SampledRisk { low: sequence, high: sequence, unread: 0 }
    }

    /// Adds a plan; none if it cannot be read.
    fn add(&mut self, violates: Option<bool>) {
        let risk = |violates: bool| if violates { 1.0 } else { 0.0 };
        self.low.add(risk(violates.unwrap_or(false)));
        self.high.add(risk(violates.unwrap_or(true)));
        self.unread += u32::from(violates.is_none());
    }

    pub(super) fn samples(&self) -> u32 {
        self.low.samples()
    }

    /// The risk is at least this.
    pub(super) fn least(&self) -> f64 {
        self.low.interval().0
    }

    fn most(&self) -> f64 {
        self.high.interval().1
    }

    /// Whether the threshold is outside of the interval.
    fn is_decided(&self, threshold: f64) -> bool {
        self.most() < threshold || self.least() > threshold
    }

    /// Returns the score of the reply; none without a plan.
    pub(super) fn score_of_reply(&self) -> Option<Score> {
        (self.samples() > 0).then(|| Score { most: self.most(), chance: self.low.mean() })
    }

    /// Returns the score of a candidate; none without a plan.
    pub(super) fn score_of_candidate(&self) -> Option<Score> {
        (self.samples() > 0).then(|| Score { most: self.most(), chance: self.high.mean() })
    }
}

impl Life {
    /// Scores a reply by plans of the model. `request` is what the model was sent.
    pub(super) async fn sample_risk(
        &self,
        plan: &PredictSettings,
        budget: &mut CallBudget,
        request: &Bytes,
        reply: &[Event],
    ) -> Result<SampledRisk, Stop> {
        let (mut risk, mut left) = (SampledRisk::new(), plan.samples as usize);
        let question = write_question(reply, plan.within);
        let Some(asked) = Request::with_question(self.api, request, &question).map(Bytes::from) else {
            return Ok(risk);
        };
        let offered = AllowedCalls::read(self.api, request);
        while left > 0 && !risk.is_decided(plan.risk.to_f64()) {
            let calls = left.min(BATCH_CALLS);
            let bodies = self.ask_within(budget, vec![asked.clone(); calls]).await?;
            left -= calls;
            let answers: Vec<Bytes> = bodies.into_iter().flatten().collect();
            // The budget is exhausted, or the model gives no answers.
            if answers.is_empty() {
                break;
            }
            self.count(|counts| counts.samples += answers.len() as u64);
            for violates in self.try_plans(plan, (reply, &offered), &answers).await? {
                risk.add(violates);
            }
        }
        Ok(risk)
    }

    /// Returns for each answer whether its plan violates a property after the reply; none if it cannot be read.
    async fn try_plans(
        &self,
        plan: &PredictSettings,
        (reply, offered): (&[Event], &AllowedCalls),
        answers: &[Bytes],
    ) -> Result<Vec<Option<bool>>, Stop> {
        let unknown = self.options.unknown_fields;
        // A plan with a tool that there is not says nothing about those that there are.
        let read = |answer: &Bytes| {
            read_plan(self.api, answer, unknown, plan.within).filter(|actions| offered.has_all(actions))
        };
        let plans: Vec<Option<Vec<Event>>> = answers.iter().map(read).collect();
        let follow = |actions: &Vec<Event>| {
            let actions = actions.iter().map(|action| self.assign(action.clone()));
            reply.iter().cloned().chain(actions).collect::<Vec<Event>>()
        };
        let traces: Vec<Vec<Event>> = plans.iter().flatten().map(follow).collect();
        let mut violations = self.score(traces).await?.violations.into_iter();
        Ok(plans.iter().map(|actions| actions.as_ref().and_then(|_| violations.next())).collect())
    }
}
