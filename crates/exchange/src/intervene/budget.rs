//! What an intervention may cost: calls, tokens and waiting, checked before each call.
//!
//! Calls of a session are counted in its memory before they are made, so that no crash makes them free. Calls of an
//! hour are counted by the driver. Tokens and time are known only afterwards: once they are used up, no further call
//! begins. Exhausted is a result like any other: nothing more is asked, and the record says what ran out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lictor_policy::PredictSettings;
use lictor_wire::{Reply, ReplyUsage};

use crate::exchange::{Life, Stop, unexpected};
use crate::memory::SessionMemory;
use crate::step::{ExchangeStep, StepResult};

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exhaustion {
    Calls,
    Tokens,
    Time,
}

impl Exhaustion {
    /// Returns its name in records.
    pub(super) fn name(self) -> &'static str {
        match self {
            Exhaustion::Calls => "calls",
            Exhaustion::Tokens => "tokens",
            Exhaustion::Time => "time",
        }
    }
}

/// The budget of one exchange, and what was spent of it.
#[derive(Debug)]
pub(crate) struct CallBudget {
    session_calls: usize,
    hour_calls: Option<usize>,
    session_tokens: Option<u64>,
    time: Option<Duration>,
    /// How many calls the session is known to have made.
    known_calls: usize,
    pub(super) calls: usize,
    pub(super) tokens: u64,
    /// How many replies say something else than a count of tokens.
    pub(super) unread_usage: u64,
    pub(super) elapsed: Duration,
    pub(super) exhausted: Option<Exhaustion>,
    /// Whether replies are missing because the time was over.
    is_waiting_cut: bool,
}

impl CallBudget {
    pub(super) fn new(plan: &PredictSettings, sent: &SessionMemory) -> CallBudget {
        CallBudget {
            session_calls: plan.session_calls as usize,
            hour_calls: plan.hour_calls.map(|calls| calls as usize),
            session_tokens: plan.session_tokens.map(u64::from),
            time: plan.time.map(|time| Duration::from_nanos(time.0)),
            known_calls: sent.candidates,
            calls: 0,
            tokens: 0,
            unread_usage: 0,
            elapsed: Duration::ZERO,
            exhausted: None,
            is_waiting_cut: false,
        }
    }

    /// Returns what ran out, for the record: a limit that kept a call from being made, or the time for the replies.
    pub(super) fn used_up(&self) -> Option<Exhaustion> {
        self.exhausted.or(self.is_waiting_cut.then_some(Exhaustion::Time))
    }

    fn calls_left(&self) -> usize {
        self.session_calls.saturating_sub(self.known_calls)
    }
}

impl Life {
    /// Asks the model for several replies, as far as the budget allows: returns what it gave for the first of the
    /// requests, and nothing for the rest. A request without a reply has none.
    pub(super) async fn ask_within(
        &self,
        budget: &mut CallBudget,
        mut requests: Vec<Bytes>,
    ) -> Result<Vec<Option<Bytes>>, Stop> {
        requests.truncate(self.reserve(budget, requests.len()).await?);
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let count = requests.len();
        let wait = budget.time.map(|time| time.saturating_sub(budget.elapsed));
        budget.calls += count;
        self.count(|counts| counts.extra_calls += count as u64);
        let (bodies, is_interrupted) = match self.perform(ExchangeStep::AskAll { requests, wait }).await? {
            StepResult::Replies { bodies, elapsed, is_interrupted } if bodies.len() == count => {
                budget.elapsed = budget.elapsed.saturating_add(elapsed);
                (bodies, is_interrupted)
            }
            other => return Err(unexpected(&other)),
        };
        let is_time_over = budget.time.is_some_and(|time| budget.elapsed >= time);
        budget.is_waiting_cut |= is_time_over && bodies.iter().any(Option::is_none);
        let usages: Vec<ReplyUsage> = bodies.iter().flatten().filter_map(|body| Reply::read_usage(body)).collect();
        let tokens = usages.iter().map(|usage| usage.tokens).fold(0, u64::saturating_add);
        budget.tokens = budget.tokens.saturating_add(tokens);
        budget.unread_usage += usages.iter().filter(|usage| !usage.is_whole).count() as u64;
        self.count(|counts| counts.extra_tokens = counts.extra_tokens.saturating_add(tokens));
        if budget.session_tokens.is_some() && tokens > 0 {
            self.update(|memory| memory.extra_tokens = memory.extra_tokens.saturating_add(tokens)).await?;
        }
        if is_interrupted {
            return Err(Stop::Gone);
        }
        Ok(bodies)
    }

    /// Counts a call whose reply is streamed, before it is made. Returns whether it may begin.
    pub(crate) async fn begin_call(&self, budget: &mut CallBudget) -> Result<bool, Stop> {
        let can_begin = self.reserve(budget, 1).await? == 1;
        if can_begin {
            budget.calls += 1;
            self.count(|counts| counts.extra_calls += 1);
        }
        Ok(can_begin)
    }

    /// Counts calls before they are made. Returns how many of the wanted ones may begin now.
    async fn reserve(&self, budget: &mut CallBudget, wanted: usize) -> Result<usize, Stop> {
        if wanted == 0 {
            return Ok(0);
        }
        if budget.time.is_some_and(|time| budget.elapsed >= time) {
            budget.exhausted = Some(Exhaustion::Time);
            return Ok(0);
        }
        let mut granted = wanted.min(budget.calls_left());
        if let Some(hour_calls) = budget.hour_calls.filter(|_| granted > 0) {
            granted = match self.perform(ExchangeStep::Reserve { calls: granted, hour_calls }).await? {
                StepResult::Reserved(calls) => granted.min(calls),
                other => return Err(unexpected(&other)),
            };
        }
        while granted > 0 {
            let mut memory = self.load(false).await?;
            if budget.session_tokens.is_some_and(|most| memory.extra_tokens >= most) {
                budget.exhausted = Some(Exhaustion::Tokens);
                return Ok(0);
            }
            // Other exchanges of the session may have made calls meanwhile.
            budget.known_calls = memory.candidates;
            granted = granted.min(budget.calls_left());
            if granted == 0 {
                break;
            }
            Arc::make_mut(&mut memory).candidates += granted;
            if self.save(memory).await? {
                budget.known_calls += granted;
                break;
            }
        }
        if granted < wanted {
            budget.exhausted = Some(Exhaustion::Calls);
        }
        Ok(granted)
    }
}
