//! Replaces a reply that leads to a violation by a better one, before the guard decides on it.
//!
//! The reply is held while other replies are asked for: by the same request, with a reminder, or of another model. All
//! are scored by the same forecast. Another one is taken only if its score is strictly better; what is taken is then
//! judged as any reply, so that an intervention never lets pass what the guard stops. Calls that are risky all the same
//! are stopped by the guard, or wait for a reviewer, if the policy says so.

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Json;
use lictor_judge::guard::ReplyScores;
use lictor_policy::{Intervention, PredictSettings};
use lictor_predict::{Score, choose_candidate};
use lictor_wire::{Api, Reply, Request};
use serde_json::{Map, Value, json};

use crate::exchange::{Life, Stop, unexpected};
use crate::memory::SessionMemory;
use crate::step::{ExchangeStep, StepResult};

/// A reply that could be taken instead.
pub(crate) struct Candidate<T> {
    pub(crate) by: Intervention,
    /// The whole body, or the stream.
    pub(crate) body: T,
    /// None if it cannot be read.
    pub(crate) events: Option<Vec<Event>>,
}

/// Other requests for a reply that is risky.
pub(crate) struct OtherRequests<'a> {
    pub(crate) plan: &'a PredictSettings,
    /// The requests, in the order in which they are sent.
    pub(crate) requests: Vec<(Intervention, Bytes)>,
}

impl Life {
    /// Returns the reply to judge: the one given, or a better one. `request` is what the model was sent, and `sent` the
    /// memory as of then.
    pub(crate) async fn intervene(&self, sent: &SessionMemory, request: &Bytes, reply: Bytes) -> Result<Bytes, Stop> {
        // What cannot be read is refused by what follows.
        let Some(events) = self.read_events(&reply) else { return Ok(reply) };
        let Some(others) = self.plan_requests(sent, request, &events).await? else { return Ok(reply) };
        let mut candidates = Vec::new();
        for (by, asked) in others.requests {
            if let Some(body) = self.ask_candidate(&asked).await? {
                let events = self.read_events(&body);
                candidates.push(Candidate { by, body, events });
            }
        }
        Ok(self.choose(others.plan, events, candidates).await?.unwrap_or(reply))
    }

    /// Returns the other requests for a reply with these events; none if the reply is not risky, or may not be replaced.
    pub(crate) async fn plan_requests(
        &self,
        sent: &SessionMemory,
        request: &Bytes,
        events: &[Event],
    ) -> Result<Option<OtherRequests<'_>>, Stop> {
        let plan = self.options.interventions.as_deref().filter(|plan| plan.replaces_replies());
        let Some(plan) = plan else { return Ok(None) };
        let before = self.score(vec![events.to_vec()]).await?;
        let original = before.scores.first().copied().flatten();
        if !is_risky(plan, original) || Request::may_run_vendor_tools(self.api, request) {
            return Ok(None);
        }
        let mut left = (plan.session_calls as usize).saturating_sub(sent.candidates).min(plan.candidates as usize);
        let mut requests = Vec::new();
        for by in plan.intervene.iter().copied().filter(|by| by.asks_model()) {
            // A model that was reminded with the request is not reminded twice.
            if by == Intervention::Inject && self.is_reminded {
                continue;
            }
            let Some(asked) = change_request(self.api, request, by, plan, &before.advice) else { continue };
            // A reminder and another model are asked once; the same request as often as is allowed.
            let times = if by == Intervention::Resample { left } else { left.min(1) };
            left -= times;
            requests.extend(std::iter::repeat_n((by, asked), times));
        }
        Ok(Some(OtherRequests { plan, requests }))
    }

    /// Scores a reply and its candidates, records them, and returns the candidate to take; none if the reply stays.
    pub(crate) async fn choose<T>(
        &self,
        plan: &PredictSettings,
        events: Vec<Event>,
        mut candidates: Vec<Candidate<T>>,
    ) -> Result<Option<T>, Stop> {
        let readable: Vec<Vec<Event>> = candidates.iter().filter_map(|it| it.events.clone()).collect();
        let scored = self.score([vec![events], readable].concat()).await?;
        let mut scores = scored.scores.into_iter();
        let original = scores.next().flatten();
        let scores: Vec<Option<Score>> =
            candidates.iter().map(|it| it.events.as_ref().and_then(|_| scores.next().flatten())).collect();
        // A session that the chain knows nothing about gives no reason to replace anything.
        let taken = choose_candidate(original, &scores);
        let ways: Vec<Intervention> = candidates.iter().map(|it| it.by).collect();
        let mut record = self.record(plan, "reply", original);
        let each = ways.iter().zip(&scores).map(|(by, score)| json!({"by": by.name(), "risk": describe_risk(*score)}));
        record.insert("candidates".into(), each.collect());
        record.insert("taken".into(), json!(taken));
        self.perform(ExchangeStep::Note(record)).await?;
        self.count(|counts| {
            counts.candidates += candidates.len() as u64;
            counts.replaced += u64::from(taken.is_some());
        });
        Ok(taken.map(|place| candidates.swap_remove(place).body))
    }

    /// Returns the events of a reply; none if it cannot be read.
    fn read_events(&self, body: &Bytes) -> Option<Vec<Event>> {
        let reply = Reply::read_with(self.api, body, self.options.unknown_fields).ok()?;
        Some(reply.events().iter().map(|event| self.assign(event.clone())).collect())
    }

    /// Returns how likely each of several replies leads to a violation.
    pub(crate) async fn score(&self, replies: Vec<Vec<Event>>) -> Result<ReplyScores, Stop> {
        let count = replies.len();
        match self.perform(ExchangeStep::Score(replies)).await? {
            StepResult::Scores(scores) if scores.scores.len() == count => Ok(*scores),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks for another reply. It is counted before it is asked for, so that no crash makes it free.
    async fn ask_candidate(&self, request: &Bytes) -> Result<Option<Bytes>, Stop> {
        self.update(|memory| memory.candidates += 1).await?;
        match self.perform(ExchangeStep::AskAgain(request.clone())).await? {
            StepResult::Reply(body) => Ok(Some(body)),
            _ => Ok(None),
        }
    }

    /// Returns the record of an intervention `at` a request or a reply with this forecast.
    pub(crate) fn record(&self, plan: &PredictSettings, at: &str, original: Option<Score>) -> Map<String, Value> {
        let mut record = Map::new();
        record.insert("type".into(), json!("intervention"));
        record.insert("at".into(), json!(at));
        record.insert("session".into(), json!(self.session));
        record.insert("exchange".into(), json!(self.id));
        record.insert("within".into(), json!(plan.within));
        record.insert("threshold".into(), json!(plan.risk.to_f64()));
        record.insert("original".into(), json!(describe_risk(original)));
        record
    }
}

fn describe_risk(score: Option<Score>) -> Option<Value> {
    score.map(|it| json!({"chance": it.chance, "most": it.most}))
}

/// Whether a forecast is a reason to look for another reply.
pub(crate) fn is_risky(plan: &PredictSettings, score: Option<Score>) -> bool {
    plan.is_risky(score.map(|score| (score.chance, score.most)))
}

/// Returns the request for another reply; none if it cannot be made.
fn change_request(api: Api, request: &Bytes, by: Intervention, plan: &PredictSettings, advice: &str) -> Option<Bytes> {
    match by {
        Intervention::Resample => Some(request.clone()),
        Intervention::Inject => Request::with_note(api, request, advice).map(Bytes::from),
        Intervention::Switch => {
            let Ok(Json::Object(mut body)) = lictor_json::parse(request) else { return None };
            body.insert("model", plan.model.clone()?);
            Some(Bytes::from(Json::Object(body).to_string()))
        }
        Intervention::Ask | Intervention::Stop => None,
    }
}
