//! Replaces a reply that leads to a violation by a better one, before the guard decides on it.
//!
//! The reply is held while other replies are asked for: by the same request, with a reminder, or of another model. All
//! are scored by the same forecast: of the chain, or by [plans](sample) of the model. Another one is taken
//! only if its score is strictly better; what is taken is then judged as any reply, so that an intervention never lets
//! pass what the guard stops. All calls are within one [budget].

mod budget;
mod plan;
mod record;
mod risk;
mod sample;
mod stated;

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Json;
use lictor_judge::guard::ReplyScores;
use lictor_policy::{ForecastSource, Intervention, PredictSettings, Undecided};
use lictor_predict::{Score, ThresholdSide, choose_candidate};
use lictor_wire::{Api, Reply, Request};

use crate::exchange::{Life, Stop, unexpected};
use crate::memory::SessionMemory;
use crate::step::{ExchangeStep, StepResult};
use budget::CallBudget;
use record::InterventionRecord;
use risk::ReplyRisk;

/// A reply that could be taken instead.
struct Candidate {
    by: Intervention,
    body: Bytes,
    /// None if it cannot be read.
    events: Option<Vec<Event>>,
    risk: ReplyRisk,
}

impl Life {
    /// Returns the reply to judge: the one given, or a better one. `request` is what the model was sent, and `sent` the
    /// memory as of then.
    pub(crate) async fn intervene(&self, sent: &SessionMemory, request: &Bytes, reply: Bytes) -> Result<Bytes, Stop> {
        let plan = self.options.interventions.as_deref().filter(|plan| !plan.intervene.is_empty());
        let Some(plan) = plan else { return Ok(reply) };
        // What cannot be read is refused by what follows.
        let Some(events) = self.read_events(&reply) else { return Ok(reply) };
        if has_vendor_tools(request) || is_kept_by_vendor(request) {
            return Ok(reply);
        }
        let mut budget = CallBudget::new(plan, sent);
        let before = self.score(vec![events.clone()]).await?;
        let mut record = InterventionRecord::default();
        record.original.score = before.scores.first().copied().flatten();
        let is_low = record.original.score.is_some_and(|score| score.most < plan.risk.to_f64());
        record.is_sampled = plan.is_by(ForecastSource::Sample) && !is_low;
        if record.is_sampled && before.violations.first() != Some(&true) {
            let sampled = self.sample_risk(plan, &mut budget, request, &events).await?;
            record.original.score = sampled.score_of_reply();
            record.original.sampled = Some(sampled);
        }
        let mut taken = None;
        // After sampling, an exhausted budget leaves the reply; and nothing is below an interval that begins at 0.
        let can_be_better = match record.original.sampled {
            Some(sampled) => budget.exhausted.is_none() && sampled.least() > 0.0,
            None => true,
        };
        if can_be_better && is_risky(plan, &record.original) {
            taken = self.find_better(plan, &mut budget, request, &events, &before.advice, &mut record).await?;
        } else if budget.calls == 0 && budget.exhausted.is_none() {
            return Ok(reply);
        }
        self.perform(ExchangeStep::Note(self.record(plan, &record, &budget))).await?;
        self.count(|counts| {
            counts.candidates += record.received as u64;
            counts.replaced += u64::from(taken.is_some());
        });
        Ok(taken.unwrap_or(reply))
    }

    /// Asks for other replies. Returns one with a better forecast than the reply with these events; none if there is none.
    async fn find_better(
        &self,
        plan: &PredictSettings,
        budget: &mut CallBudget,
        request: &Bytes,
        events: &[Event],
        advice: &str,
        record: &mut InterventionRecord,
    ) -> Result<Option<Bytes>, Stop> {
        let mut left = plan.candidates as usize;
        let mut asked: Vec<(Intervention, Bytes)> = Vec::new();
        for by in plan.intervene.iter().copied() {
            let Some(changed) = change_request(self.api, request, by, plan, advice) else { continue };
            // A reminder and another model are asked once; the same request as often as is allowed.
            let times = if by == Intervention::Resample { left } else { left.min(1) };
            left -= times;
            asked.extend(std::iter::repeat_n((by, changed), times));
        }
        let bodies = self.ask_within(budget, asked.iter().map(|(_, request)| request.clone()).collect()).await?;
        let mut candidates: Vec<Candidate> = Vec::new();
        for ((by, _), body) in asked.into_iter().zip(bodies) {
            let Some(body) = body else { continue };
            record.received += 1;
            let read = self.read_events(&body);
            // Equal candidates are one candidate, and one that equals the reply is none.
            let is_known = |read: &Vec<Event>| {
                let mut known = candidates.iter().filter_map(|it| it.events.as_deref()).chain([events]);
                known.any(|known| is_equal(known, read))
            };
            match read.as_ref().is_some_and(is_known) {
                true => record.equal += 1,
                false => candidates.push(Candidate { by, body, events: read, risk: ReplyRisk::default() }),
            }
        }
        let readable: Vec<Vec<Event>> = candidates.iter().filter_map(|it| it.events.clone()).collect();
        let scored = self.score([vec![events.to_vec()], readable].concat()).await?;
        let mut scores = scored.scores.into_iter().zip(scored.violations);
        let original = scores.next().and_then(|(score, _)| score);
        let mut plans_needed = Vec::new();
        for (place, candidate) in candidates.iter_mut().enumerate().filter(|(_, it)| it.events.is_some()) {
            let Some((score, violates)) = scores.next() else { break };
            candidate.risk.score = score;
            if record.is_sampled && !violates {
                candidate.risk.score = None;
                plans_needed.push((place, score.map_or(1.0, |score| score.most)));
            }
        }
        if !record.is_sampled {
            record.original.score = original;
        }
        if plan.is_by(ForecastSource::Stated) {
            let of_candidates = candidates.iter().filter_map(|it| it.events.as_deref());
            let asked: Vec<&[Event]> = [events].into_iter().chain(of_candidates).collect();
            let mut stated = self.ask_stated(plan, budget, request, &asked, advice).await?.into_iter();
            record.original.stated = stated.next().flatten();
            for candidate in candidates.iter_mut().filter(|it| it.events.is_some()) {
                candidate.risk.stated = stated.next().flatten();
            }
            for (place, order) in &mut plans_needed {
                *order = candidates.get(*place).and_then(|it| it.risk.stated).unwrap_or(*order);
            }
        }
        // The model, or else the chain, says which candidates are worth their calls first.
        plans_needed.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let floor = record.original.floor();
        for (place, _) in plans_needed {
            let Some(tried) = candidates.get_mut(place) else { continue };
            let sampled = self.sample_risk(plan, budget, request, tried.events.as_deref().unwrap_or_default()).await?;
            tried.risk.score = sampled.score_of_candidate();
            tried.risk.sampled = Some(sampled);
            // One that is surely better is enough: further calls would only look for the luckiest.
            if budget.exhausted.is_some() || choose_candidate(floor, &[tried.risk.score]).is_some() {
                break;
            }
        }
        let scores: Vec<Option<Score>> = candidates.iter().map(|it| it.risk.score).collect();
        // A session that nothing is known about gives no reason to replace anything.
        record.taken = choose_candidate(floor, &scores);
        record.candidates = candidates.iter().map(|it| (it.by, it.risk)).collect();
        let taken = record.taken.map(|place| candidates.swap_remove(place));
        let Some(taken) = taken else { return Ok(None) };
        if taken.risk.sampled.is_some() && !self.confirm(plan, budget, request, &taken, record).await? {
            return Ok(None);
        }
        Ok(Some(taken.body))
    }

    /// Scores the candidate that was chosen by fresh plans, since the ones that chose it flatter it. Returns whether it is
    /// still better; without a budget for that, the choice stands.
    async fn confirm(
        &self,
        plan: &PredictSettings,
        budget: &mut CallBudget,
        request: &Bytes,
        taken: &Candidate,
        record: &mut InterventionRecord,
    ) -> Result<bool, Stop> {
        if budget.exhausted.is_some() {
            return Ok(true);
        }
        let events = taken.events.as_deref().unwrap_or_default();
        let sampled = self.sample_risk(plan, budget, request, events).await?;
        let fresh = ReplyRisk { score: sampled.score_of_candidate(), sampled: Some(sampled), stated: None };
        if budget.exhausted.is_some() || fresh.score.is_none() {
            return Ok(true);
        }
        record.fresh = Some(fresh);
        let is_better = choose_candidate(record.original.score, &[fresh.score]).is_some();
        if !is_better {
            record.taken = None;
        }
        Ok(is_better)
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
            StepResult::Scores(it) if it.scores.len() == count && it.violations.len() == count => Ok(*it),
            other => Err(unexpected(&other)),
        }
    }
}

/// Whether a forecast is a reason to look for another reply.
fn is_risky(plan: &PredictSettings, risk: &ReplyRisk) -> bool {
    match risk.side(plan.risk.to_f64()) {
        ThresholdSide::Below => false,
        ThresholdSide::Above => true,
        ThresholdSide::Undecided => plan.undecided == Undecided::Intervene,
    }
}

/// Whether two replies say and do the same, whatever their ids.
fn is_equal(one: &[Event], other: &[Event]) -> bool {
    let is_same = |(one, other): (&Event, &Event)| {
        (&one.kind, &one.tool, &one.args, &one.text) == (&other.kind, &other.tool, &other.args, &other.text)
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Whether a request offers tools that the vendor runs itself: asking again would run them again.
fn has_vendor_tools(request: &Bytes) -> bool {
    const OWN_TYPES: [&str; 2] = ["function", "custom"];
    let Ok(body) = lictor_json::parse(request) else { return true };
    let tools = body.get("tools").and_then(Json::as_array).unwrap_or_default();
    let is_vendors = |tool: &Json| tool.text("type").is_some_and(|kind| !OWN_TYPES.contains(&kind));
    tools.iter().any(is_vendors) || ["web_search_options", "mcp_servers"].iter().any(|key| body.get(key).is_some())
}

/// Whether the vendor adds a request to a conversation that it keeps: asking again would add it again.
fn is_kept_by_vendor(request: &Bytes) -> bool {
    let Ok(body) = lictor_json::parse(request) else { return true };
    body.get("conversation").is_some_and(|kept| !kept.is_null())
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
