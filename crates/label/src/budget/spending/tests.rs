//! Tests of the accounts, with a clock of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lictor_event::{Event, Kind};

use super::*;

/// A budget and the seconds that its clock shows.
fn budget_with_clock(limits: BudgetLimits) -> (Budget, Arc<AtomicU64>) {
    let seconds = Arc::new(AtomicU64::new(0));
    let shown = seconds.clone();
    (Budget::with_clock(limits, move || Duration::from_secs(shown.load(Ordering::Relaxed))), seconds)
}

fn event_of(session: Option<&str>) -> Event {
    Event { session: session.map(Into::into), ..Event::new(Kind::UserMessage) }
}

/// Opens an allowance of a session of a tenant, and takes one request of so many tokens.
fn take(budget: &Budget, tenant: &str, session: &str, tokens: u64) -> bool {
    let event = event_of(Some(session));
    budget.open(&Inquiry::new(&event, &[]).of_tenant(tenant)).take_call(tokens).is_ok()
}

#[test]
fn event_budget_limits_calls_of_one_inquiry() {
    let (budget, _) = budget_with_clock(BudgetLimits::default().event(SpendingCap::default().calls(2)));
    let event = event_of(Some("s"));
    for _ in 0..3 {
        let allowance = budget.open(&Inquiry::new(&event, &[]));
        let taken: Vec<bool> = (0..3).map(|_| allowance.take_call(1).is_ok()).collect();
        assert_eq!(taken, [true, true, false]);
    }
}

#[test]
fn session_budget_is_per_tenant_and_session() {
    let (budget, _) = budget_with_clock(BudgetLimits::default().session(SpendingCap::default().calls(1)));
    assert!(take(&budget, "a", "s", 1));
    assert!(!take(&budget, "a", "s", 1));
    assert!(take(&budget, "b", "s", 1));
    assert!(take(&budget, "a", "t", 1));
    // A session without a name is that of its file, not the one with an empty name.
    let nameless = event_of(None);
    assert!(take(&budget, "a", "", 1));
    assert!(budget.open(&Inquiry::new(&nameless, &[]).of_tenant("a")).take_call(1).is_ok());
}

#[test]
fn hour_budget_holds_for_any_hour() {
    let (budget, clock) = budget_with_clock(BudgetLimits::default().hour(SpendingCap::default().calls(10)));
    let mut taken_at = Vec::new();
    for second in (0..4 * 3600).step_by(7) {
        clock.store(second, Ordering::Relaxed);
        if take(&budget, "a", "s", 1) {
            taken_at.push(second);
        }
    }
    for (place, start) in taken_at.iter().enumerate() {
        let within = taken_at[place..].iter().take_while(|at| **at < start + 3600).count();
        assert!(within <= 10, "{within} calls in the hour from second {start}");
    }
    assert!(taken_at.len() >= 30, "{} calls in four hours", taken_at.len());
}

#[test]
fn token_budget_reserves_estimates_and_corrects_them() {
    let (budget, _) = budget_with_clock(BudgetLimits::default().hour(SpendingCap::default().tokens(100)));
    let event = event_of(Some("s"));
    let allowance = budget.open(&Inquiry::new(&event, &[]));
    let first = allowance.take_call(60).unwrap();
    assert_eq!(allowance.take_call(60).err(), Some(LabelFailure::OverBudget), "the first is still reserved");
    first.close(Some(20));
    assert_eq!(budget.hour_spending().tokens, 20);
    drop(allowance.take_call(60).unwrap());
    assert_eq!(budget.hour_spending().tokens, 80, "without a report the estimate stands");
}

#[test]
fn time_budget_shortens_and_then_ends() {
    let cap = SpendingCap::default().time(Duration::from_secs(10));
    let (budget, clock) = budget_with_clock(BudgetLimits::default().session(cap));
    let event = event_of(Some("s"));
    let inquiry = Inquiry::new(&event, &[]);
    let allowance = budget.open(&inquiry);
    let permit = allowance.take_call(1).unwrap();
    assert_eq!(permit.time_left(), Some(Duration::from_secs(10)));
    clock.store(4, Ordering::Relaxed);
    permit.close(None);
    let permit = allowance.take_call(1).unwrap();
    assert_eq!(permit.time_left(), Some(Duration::from_secs(6)));
    clock.store(20, Ordering::Relaxed);
    drop(permit);
    assert!(budget.open(&inquiry).take_call(1).is_err());
    assert_eq!(budget.hour_spending().time, Duration::from_secs(20));
}

#[test]
fn call_budget_holds_across_threads() {
    let (budget, _) = budget_with_clock(BudgetLimits::default().hour(SpendingCap::default().calls(50)));
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for tenant in ["a", "b", "c", "d"] {
            let (budget, taken) = (&budget, &taken);
            scope.spawn(move || {
                for _ in 0..100 {
                    taken.fetch_add(u64::from(take(budget, tenant, "s", 1)), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(taken.into_inner(), 50);
}
