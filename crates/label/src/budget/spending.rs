//! The accounts of a budget: what was spent on this event, on its session and in the last hour.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lictor_event::labeler::Inquiry;

use crate::clock;
use crate::generations::Generations;
use crate::meter::LabelFailure;

/// Sessions whose spending is remembered. The hour limits those who open more to escape theirs.
const MAX_SESSIONS: usize = 20_000;

/// The minutes of the sliding hour, and the one under way.
const HOUR_MINUTES: u64 = 60;

/// The most that may be spent. Nothing is limited unless it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpendingCap {
    /// Requests.
    pub calls: Option<u64>,
    /// Tokens of prompts and answers.
    pub tokens: Option<u64>,
    /// Time of waiting for replies.
    pub time: Option<Duration>,
}

impl SpendingCap {
    /// Limits the requests.
    #[must_use]
    pub fn calls(self, calls: u64) -> SpendingCap {
        SpendingCap { calls: Some(calls), ..self }
    }

    /// Limits the tokens.
    #[must_use]
    pub fn tokens(self, tokens: u64) -> SpendingCap {
        SpendingCap { tokens: Some(tokens), ..self }
    }

    /// Limits the time.
    #[must_use]
    pub fn time(self, time: Duration) -> SpendingCap {
        SpendingCap { time: Some(time), ..self }
    }
}

/// The limits of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetLimits {
    /// For the questions about one event, each time that it is asked about.
    pub event: SpendingCap,
    /// For a session of a tenant.
    pub session: SpendingCap,
    /// For any 60 minutes, of all tenants together.
    pub hour: SpendingCap,
}

impl BudgetLimits {
    /// Sets the limits of an event.
    #[must_use]
    pub fn event(self, event: SpendingCap) -> BudgetLimits {
        BudgetLimits { event, ..self }
    }

    /// Sets the limits of a session.
    #[must_use]
    pub fn session(self, session: SpendingCap) -> BudgetLimits {
        BudgetLimits { session, ..self }
    }

    /// Sets the limits of an hour.
    #[must_use]
    pub fn hour(self, hour: SpendingCap) -> BudgetLimits {
        BudgetLimits { hour, ..self }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spending {
    /// Requests.
    pub calls: u64,
    /// Tokens.
    pub tokens: u64,
    /// Time of waiting for replies.
    pub time: Duration,
}

impl Spending {
    fn add(&mut self, other: Spending) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.time = self.time.saturating_add(other.time);
    }

    /// Corrects an estimate of tokens by the number that was used.
    fn correct(&mut self, estimate: u64, used: u64, time: Duration) {
        self.tokens = self.tokens.saturating_sub(estimate).saturating_add(used);
        self.time = self.time.saturating_add(time);
    }

    /// Whether one more request with so many tokens stays within the cap.
    fn allows(&self, cap: &SpendingCap, tokens: u64) -> bool {
        cap.calls.is_none_or(|calls| self.calls < calls)
            && cap.tokens.is_none_or(|most| self.tokens.saturating_add(tokens) <= most)
            && cap.time.is_none_or(|time| self.time < time)
    }

    fn time_left(&self, cap: &SpendingCap) -> Option<Duration> {
        cap.time.map(|time| time.saturating_sub(self.time))
    }
}

/// Limits what labelers spend.
pub struct Budget {
    limits: BudgetLimits,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    accounts: Mutex<Accounts>,
}

#[derive(Debug)]
struct Accounts {
    sessions: Generations<SessionKey, Spending>,
    /// The spending of each minute of the last hour with any, oldest first.
    minutes: VecDeque<(u64, Spending)>,
}

/// The tenant, then the session or the file that holds a session without a name.
type SessionKey = (String, bool, String);

impl Budget {
    /// Returns a budget of which nothing is spent.
    pub fn new(limits: BudgetLimits) -> Budget {
        let start = clock::now();
        Budget::with_clock(limits, move || clock::now().saturating_duration_since(start))
    }

    /// Returns a budget with a clock that never runs backwards.
    pub fn with_clock(limits: BudgetLimits, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Budget {
        let accounts = Accounts { sessions: Generations::new(MAX_SESSIONS), minutes: VecDeque::new() };
        Budget { limits, clock: Box::new(clock), accounts: Mutex::new(accounts) }
    }

    /// Returns the allowance of the questions about one event.
    pub fn open<'a>(&'a self, inquiry: &Inquiry<'_>) -> Allowance<'a> {
        let session = match &inquiry.event.session {
            Some(session) => (true, session.to_string()),
            None => (false, inquiry.event.source.file.to_string()),
        };
        let session = (inquiry.tenant.to_owned(), session.0, session.1);
        Allowance { account: Some(Account { budget: self, session, opened: (self.clock)(), event: Mutex::default() }) }
    }

    /// Returns what was spent in the last hour.
    pub fn hour_spending(&self) -> Spending {
        let mut accounts = self.accounts();
        accounts.hour((self.clock)())
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Accounts {
    fn hour(&mut self, now: Duration) -> Spending {
        let minute = now.as_secs() / 60;
        // A minute counts until an hour has passed since its end, so that no 60 minutes exceed a limit.
        while self.minutes.front().is_some_and(|(first, _)| first + HOUR_MINUTES < minute) {
            self.minutes.pop_front();
        }
        self.minutes.iter().fold(Spending::default(), |mut sum, (_, spent)| {
            sum.add(*spent);
            sum
        })
    }

    fn minute(&mut self, now: Duration) -> Option<&mut Spending> {
        let minute = now.as_secs() / 60;
        if self.minutes.back().is_none_or(|(last, _)| *last != minute) {
            self.minutes.push_back((minute, Spending::default()));
        }
        self.minutes.back_mut().map(|(_, spent)| spent)
    }

    fn session(&mut self, key: &SessionKey) -> Spending {
        self.sessions.touch(key).map(|spent| *spent).unwrap_or_default()
    }
}

/// What the questions about one event may spend.
#[derive(Debug)]
pub struct Allowance<'a> {
    account: Option<Account<'a>>,
}

#[derive(Debug)]
struct Account<'a> {
    budget: &'a Budget,
    session: SessionKey,
    opened: Duration,
    event: Mutex<Spending>,
}

impl<'a> Allowance<'a> {
    /// Returns the allowance of a labeler without a budget.
    pub fn unlimited() -> Allowance<'static> {
        Allowance { account: None }
    }

    /// Takes one request with an estimate of its tokens, unless that is over the budget.
    pub fn take_call(&self, tokens: u64) -> Result<CallPermit<'_>, LabelFailure> {
        let Some(account) = &self.account else { return Ok(CallPermit { taken: None, time_left: None }) };
        let limits = &account.budget.limits;
        // The clock is read under the lock, so that minutes come in order.
        let mut accounts = account.budget.accounts();
        let now = (account.budget.clock)();
        let mut event = account.event.lock().unwrap_or_else(PoisonError::into_inner);
        // The time of an event passes also between its requests.
        event.time = now.saturating_sub(account.opened);
        let (session, hour) = (accounts.session(&account.session), accounts.hour(now));
        let spent = [(&*event, &limits.event), (&session, &limits.session), (&hour, &limits.hour)];
        if !spent.iter().all(|(spent, cap)| spent.allows(cap, tokens)) {
            return Err(LabelFailure::OverBudget);
        }
        let time_left = spent.iter().filter_map(|(spent, cap)| spent.time_left(cap)).min();
        let call = Spending { calls: 1, tokens, time: Duration::ZERO };
        event.add(call);
        let mut session = session;
        session.add(call);
        accounts.sessions.insert(account.session.clone(), session);
        if let Some(minute) = accounts.minute(now) {
            minute.add(call);
        }
        Ok(CallPermit { taken: Some(TakenCall { account, tokens, begun: now }), time_left })
    }
}

/// One request that a budget allows. Its time is counted when it is closed or dropped.
#[derive(Debug)]
pub struct CallPermit<'a> {
    taken: Option<TakenCall<'a>>,
    time_left: Option<Duration>,
}

#[derive(Debug)]
struct TakenCall<'a> {
    account: &'a Account<'a>,
    tokens: u64,
    begun: Duration,
}

impl CallPermit<'_> {
    /// Returns the time that the request may take; none is any.
    pub fn time_left(&self) -> Option<Duration> {
        self.time_left
    }

    /// Closes the request with the tokens that it used; without them the estimate stands.
    pub fn close(mut self, tokens: Option<u64>) {
        self.settle(tokens);
    }

    fn settle(&mut self, tokens: Option<u64>) {
        let Some(TakenCall { account, tokens: estimate, begun }) = self.taken.take() else { return };
        let now = (account.budget.clock)();
        let (used, time) = (tokens.unwrap_or(estimate), now.saturating_sub(begun));
        let mut accounts = account.budget.accounts();
        if let Some(session) = accounts.sessions.touch(&account.session) {
            session.correct(estimate, used, time);
        }
        // The estimate is in the minute in which the request began; that minute may be over, and is never forgotten
        // before the requests of its hour are.
        let begun = begun.as_secs() / 60;
        if let Some((_, minute)) = accounts.minutes.iter_mut().find(|(minute, _)| *minute == begun) {
            minute.correct(estimate, used, time);
        }
        let mut event = account.event.lock().unwrap_or_else(PoisonError::into_inner);
        event.correct(estimate, used, Duration::ZERO);
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        self.settle(None);
    }
}

#[cfg(test)]
mod tests;
