//! Replaces a reply that leads to a violation by a better one, before the guard decides on it.
//!
//! The reply is held while other replies are asked for: by the same request, with a reminder, or of another model. All
//! are scored by the same forecast. Another one is taken only if its score is strictly better; what is taken is then
//! judged as any reply, so that an intervention never lets pass what the guard stops.

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Json;
use lictor_judge::guard::ReplyScores;
use lictor_policy::{Intervention, PredictSettings, Undecided};
use lictor_predict::{Score, choose_candidate};
use lictor_wire::{Api, Reply, Request};
use serde_json::{Map, Value, json};

use crate::exchange::{Life, Stop, unexpected};
use crate::memory::SessionMemory;
use crate::step::{ExchangeStep, StepResult};

/// A reply that could be taken instead.
struct Candidate {
    by: Intervention,
    body: Bytes,
    /// None if it cannot be read.
    events: Option<Vec<Event>>,
}

impl Life {
    /// Returns the reply to judge: the one given, or a better one. `request` is what the model was sent, and `sent` the
    /// memory as of then.
    pub(crate) async fn intervene(&self, sent: &SessionMemory, request: &Bytes, reply: Bytes) -> Result<Bytes, Stop> {
        let plan = self.options.interventions.as_deref().filter(|plan| !plan.intervene.is_empty());
        let Some(plan) = plan else { return Ok(reply) };
        // What cannot be read is refused by what follows.
        let Some(events) = self.read_events(&reply) else { return Ok(reply) };
        let before = self.score(vec![events.clone()]).await?;
        let original = before.scores.first().copied().flatten();
        if !is_risky(plan, original) || has_vendor_tools(request) {
            return Ok(reply);
        }
        let mut left = (plan.session_calls as usize).saturating_sub(sent.candidates).min(plan.candidates as usize);
        let mut candidates: Vec<Candidate> = Vec::new();
        for by in plan.intervene.iter().copied() {
            let Some(asked) = change_request(self.api, request, by, plan, &before.advice) else { continue };
            // A reminder and another model are asked once; the same request as often as is allowed.
            let times = if by == Intervention::Resample { left } else { left.min(1) };
            left -= times;
            for _ in 0..times {
                if let Some(body) = self.ask_candidate(&asked).await? {
                    let events = self.read_events(&body);
                    candidates.push(Candidate { by, body, events });
                }
            }
        }
        let readable: Vec<Vec<Event>> = candidates.iter().filter_map(|it| it.events.clone()).collect();
        let scored = self.score([vec![events], readable].concat()).await?;
        let mut scores = scored.scores.into_iter();
        let original = scores.next().flatten();
        let scores: Vec<Option<Score>> =
            candidates.iter().map(|it| it.events.as_ref().and_then(|_| scores.next().flatten())).collect();
        // A session that the chain knows nothing about gives no reason to replace anything.
        let taken = choose_candidate(original, &scores);
        self.perform(ExchangeStep::Note(self.record(plan, original, &candidates, &scores, taken))).await?;
        self.count(|counts| {
            counts.candidates += candidates.len() as u64;
            counts.replaced += u64::from(taken.is_some());
        });
        Ok(match taken {
            Some(place) => candidates.swap_remove(place).body,
            None => reply,
        })
    }

    /// Returns the events of a reply; none if it cannot be read.
    fn read_events(&self, body: &Bytes) -> Option<Vec<Event>> {
        let reply = Reply::read_with(self.api, body, self.options.unknown_fields).ok()?;
        Some(reply.events().iter().map(|event| self.assign(event.clone())).collect())
    }

    /// Returns how likely each of several replies leads to a violation.
    async fn score(&self, replies: Vec<Vec<Event>>) -> Result<ReplyScores, Stop> {
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

    fn record(
        &self,
        plan: &PredictSettings,
        original: Option<Score>,
        candidates: &[Candidate],
        scores: &[Option<Score>],
        taken: Option<usize>,
    ) -> Map<String, Value> {
        let risk = |score: Option<Score>| score.map(|it| json!({"chance": it.chance, "most": it.most}));
        let each = candidates.iter().zip(scores).map(|(it, score)| json!({"by": it.by.name(), "risk": risk(*score)}));
        let mut record = Map::new();
        record.insert("type".into(), json!("intervention"));
        record.insert("session".into(), json!(self.session));
        record.insert("exchange".into(), json!(self.id));
        record.insert("within".into(), json!(plan.within));
        record.insert("threshold".into(), json!(plan.risk.to_f64()));
        record.insert("original".into(), json!(risk(original)));
        record.insert("candidates".into(), each.collect());
        record.insert("taken".into(), json!(taken));
        record
    }
}

/// Whether a forecast is a reason to look for another reply.
fn is_risky(plan: &PredictSettings, score: Option<Score>) -> bool {
    let threshold = plan.risk.to_f64();
    match score {
        Some(score) if score.most < threshold => false,
        Some(score) if score.chance >= threshold => true,
        Some(_) | None => plan.undecided == Undecided::Intervene,
    }
}

/// Whether a request offers tools that the vendor runs itself: asking again would run them again.
fn has_vendor_tools(request: &Bytes) -> bool {
    const OWN_TYPES: [&str; 2] = ["function", "custom"];
    let Ok(body) = lictor_json::parse(request) else { return true };
    let tools = body.get("tools").and_then(Json::as_array).unwrap_or_default();
    let is_vendors = |tool: &Json| tool.text("type").is_some_and(|kind| !OWN_TYPES.contains(&kind));
    tools.iter().any(is_vendors) || ["web_search_options", "mcp_servers"].iter().any(|key| body.get(key).is_some())
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
    }
}
