//! Budgets and caches around a labeler that really calls.

use std::sync::Arc;

use lictor_event::AnswerValue;
use lictor_event::labeler::{Inquiry, Labeler};
use lictor_label::budget::{Budget, BudgetLimits, BudgetedLabeler, SpendingCap};
use lictor_label::cache::{AnswerCache, AnswerFile};
use lictor_label::endpoint::{EndpointLabeler, EndpointOptions};
use lictor_label::meter::LabelFailure;

use crate::scripted::{ScriptedServer, Turn};
use crate::{THREAT, ask, connection, labeler, say, threatens, truthful};

fn budgeted(labeler: EndpointLabeler, limits: BudgetLimits) -> BudgetedLabeler {
    BudgetedLabeler::new(Arc::new(labeler), Arc::new(Budget::new(limits)))
}

#[test]
fn hourly_budget_fails_the_calls_beyond() {
    let server = ScriptedServer::start(|_, request| truthful(request));
    let limits = BudgetLimits::default().hour(SpendingCap::default().calls(3));
    let labeler = budgeted(labeler(connection(&server)), limits);
    let says: Vec<AnswerValue> = (0..5).map(|_| ask(&labeler, THREAT).says).collect();
    use AnswerValue::{Failed, Yes};
    assert_eq!(says, [Yes, Yes, Yes, Failed, Failed]);
    assert_eq!(server.requests().len(), 3);
    assert_eq!(labeler.counters().read().failed(LabelFailure::OverBudget), 2);
}

#[test]
fn budget_counts_probes_and_retries() {
    let server = ScriptedServer::start(|number, request| match number {
        0 => truthful(request),
        _ => Turn::Reply(429, "retry-after: 0\r\n", String::new()),
    });
    let endpoint = EndpointOptions::new("small", "m", connection(&server).retries(9));
    let limits = BudgetLimits::default().event(SpendingCap::default().calls(4));
    let labeler = budgeted(EndpointLabeler::new(endpoint).unwrap(), limits);
    assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Failed);
    assert_eq!(server.requests().len(), 4, "a probe, a request and two retries");
    assert_eq!(labeler.counters().read().failed(LabelFailure::OverBudget), 1);
}

#[test]
fn token_budget_uses_reported_tokens() {
    // Each reply reports 100 tokens; a request is estimated at some 700.
    let server = ScriptedServer::start(|_, request| truthful(request));
    let limits = BudgetLimits::default().session(SpendingCap::default().tokens(1500));
    let labeler = budgeted(labeler(connection(&server)), limits);
    let answered = (0..30).filter(|_| ask(&labeler, THREAT).says == AnswerValue::Yes).count();
    assert!((5..15).contains(&answered), "{answered} requests of 100 tokens within 1500");
    assert_eq!(server.requests().len(), answered);
}

#[test]
fn budget_is_shared_by_labelers() {
    let server = ScriptedServer::start(|_, request| truthful(request));
    let budget = Arc::new(Budget::new(BudgetLimits::default().hour(SpendingCap::default().calls(3))));
    let labelers: Vec<BudgetedLabeler> =
        (0..2).map(|_| BudgetedLabeler::new(Arc::new(labeler(connection(&server))), budget.clone())).collect();
    (0..4).for_each(|number| drop(ask(&labelers[number % 2], THREAT)));
    assert_eq!((server.requests().len(), budget.hour_spending().calls), (3, 3));
}

#[test]
fn cached_endpoint_makes_no_call_in_second_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.jsonl");
    let server = ScriptedServer::start(|_, request| truthful(request));
    let run = || {
        let limits = BudgetLimits::default().hour(SpendingCap::default().calls(100));
        let inner = Arc::new(budgeted(labeler(connection(&server)), limits));
        let cache = AnswerCache::new(inner).store(Arc::new(AnswerFile::open(&file).unwrap()));
        let texts = (0..20).map(|number| say(&format!("{THREAT} {number}")));
        texts.flat_map(|event| cache.answer(&Inquiry::new(&event, &[threatens()]))).collect::<Vec<_>>()
    };
    let first = run();
    assert_eq!(server.requests().len(), 20);
    assert_eq!(run(), first);
    assert_eq!(server.requests().len(), 20, "no more");
}

#[test]
fn cache_asks_again_after_failure() {
    let server = ScriptedServer::start(|number, request| match number {
        0 => Turn::Reply(401, "", String::new()),
        _ => truthful(request),
    });
    let cache = AnswerCache::new(Arc::new(labeler(connection(&server))));
    let says: Vec<AnswerValue> = (0..3).map(|_| ask(&cache, THREAT).says).collect();
    assert_eq!(says, [AnswerValue::Failed, AnswerValue::Yes, AnswerValue::Yes]);
    assert_eq!(server.requests().len(), 2);
}
