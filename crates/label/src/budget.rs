//! Budgets: limits of calls, tokens and time for each event, session and hour.
//!
//! One [`Budget`] may limit several labelers. It is asked before every single request, retries and probes among them, so
//! a limit of calls is never exceeded, whatever runs at the same time. Tokens are known after a reply only; until then
//! an estimate is reserved. Questions over the budget are [`AnswerValue::Failed`].
//!
//! ```
//! use std::time::Duration;
//! use lictor_label::budget::{Budget, BudgetLimits, SpendingCap};
//!
//! let event = SpendingCap::default().calls(5).tokens(4000).time(Duration::from_secs(3));
//! let limits = BudgetLimits::default().event(event).hour(SpendingCap::default().calls(1000));
//! let budget = Budget::new(limits);
//! assert_eq!(budget.hour_spending().calls, 0);
//! ```

mod spending;

use std::sync::Arc;

use lictor_event::labeler::{Inquiry, Labeler};
use lictor_event::{Answer, AnswerValue};

pub use self::spending::{Allowance, Budget, BudgetLimits, CallPermit, Spending, SpendingCap};
use crate::meter::{LabelCounters, LabelFailure};

/// A labeler that asks for each of its requests, so that a budget can limit it.
pub trait MeteredLabeler: Labeler {
    /// Answers each question about an event, within an allowance.
    fn answer_within(&self, inquiry: &Inquiry<'_>, allowance: &Allowance<'_>) -> Vec<Answer>;

    /// Returns its counters.
    fn counters(&self) -> &LabelCounters;
}

/// A labeler with a budget.
pub struct BudgetedLabeler {
    inner: Arc<dyn MeteredLabeler>,
    budget: Arc<Budget>,
}

impl BudgetedLabeler {
    /// Returns the labeler limited by the budget, which other labelers may share.
    pub fn new(inner: Arc<dyn MeteredLabeler>, budget: Arc<Budget>) -> BudgetedLabeler {
        BudgetedLabeler { inner, budget }
    }

    /// Returns the counters of the labeler; questions over the budget are among its failed ones.
    pub fn counters(&self) -> &LabelCounters {
        self.inner.counters()
    }
}

impl std::fmt::Debug for BudgetedLabeler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BudgetedLabeler").field("labeler", &self.version()).finish_non_exhaustive()
    }
}

impl Labeler for BudgetedLabeler {
    fn version(&self) -> &str {
        self.inner.version()
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.inner.answer_within(inquiry, &self.budget.open(inquiry))
    }
}

/// Returns a failed answer to each question, and counts them.
pub(crate) fn fail_all(inquiry: &Inquiry<'_>, by: &str, reason: LabelFailure, counters: &LabelCounters) -> Vec<Answer> {
    counters.count_failed(reason, inquiry.questions.len());
    let failed = |question: &lictor_event::labeler::Question| {
        Answer::new(question.fact.clone(), AnswerValue::Failed).by(by).because(reason.name())
    };
    inquiry.questions.iter().map(failed).collect()
}
