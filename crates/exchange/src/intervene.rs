//! Replaces a reply that leads to a violation by a better one, before the guard decides on it.
//!
//! The reply is held while other replies are asked for: by the same request, with a reminder, or of another model. All
//! are scored by the same forecast: of the chain, or by [plans](sample) of the model. Another one is taken only if its
//! score is strictly better; what is taken is then judged as any reply, so that an intervention never lets pass what the
//! guard stops. Calls that are risky all the same are stopped by the guard, or wait for a reviewer, if the policy says so.
//! All calls to the model are within one [budget].

mod budget;
mod offered;
mod plan;
mod record;
mod risk;
mod sample;
mod stated;

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Json;
use lictor_judge::guard::ReplyScores;
use lictor_policy::{ForecastSource, Intervention, PredictSettings};
use lictor_predict::{Score, choose_candidate};
use lictor_wire::{Api, Reply, ReplyTerms, Request};
use serde_json::{Map, Value};

use crate::exchange::{Life, Stop, unexpected};
use crate::memory::SessionMemory;
use crate::step::{ExchangeStep, StepResult};
use budget::CallBudget;
use offered::AllowedCalls;
use record::InterventionRecord;
use risk::ReplyRisk;

/// An intervention in one reply: what is known of the reply, and what may be asked instead.
pub(crate) struct OpenIntervention<'a> {
    plan: &'a PredictSettings,
    /// What the model was sent.
    request: &'a Bytes,
    offered: AllowedCalls,
    terms: ReplyTerms,
    /// The events of the reply.
    events: Vec<Event>,
    /// What to mind, for the model.
    advice: String,
    /// The other requests, in the order in which they are sent; none if the reply is not risky.
    pub(crate) requests: Vec<(Intervention, Bytes)>,
    pub(crate) budget: CallBudget,
    record: InterventionRecord,
}

/// A reply that was asked for.
pub(crate) struct ReceivedReply<T> {
    pub(crate) by: Intervention,
    /// The whole body, or the stream.
    pub(crate) body: T,
    /// None if it cannot be read.
    pub(crate) events: Option<Vec<Event>>,
}

/// A reply that could be taken instead.
struct Candidate<T> {
    reply: ReceivedReply<T>,
    risk: ReplyRisk,
}

impl OpenIntervention<'_> {
    /// Whether a candidate calls only what is on offer, and meets the terms of the request.
    pub(crate) fn accepts(&self, events: &[Event]) -> bool {
        self.offered.has_all(events) && self.terms.are_met(events)
    }
}

impl Life {
    /// Returns the reply to judge: the one given, or a better one. `request` is what the model was sent, and `sent` the
    /// memory as of then.
    pub(crate) async fn intervene(&self, sent: &SessionMemory, request: &Bytes, reply: Bytes) -> Result<Bytes, Stop> {
        if self.replacing_plan().is_none() {
            return Ok(reply);
        }
        // What cannot be read is refused by what follows.
        let Some(events) = self.read_events(&reply) else { return Ok(reply) };
        let Some(mut open) = self.open_intervention(sent, request, events).await? else { return Ok(reply) };
        let received = match self.ask_candidates(&mut open).await {
            Ok(received) => received,
            Err(stop) => return Err(self.note_interrupted(&open, stop).await),
        };
        let taken = self.choose(open, received).await?;
        Ok(taken.unwrap_or(reply))
    }

    /// Asks for other replies: all at once, or one by one until one is not risky.
    async fn ask_candidates(&self, open: &mut OpenIntervention<'_>) -> Result<Vec<ReceivedReply<Bytes>>, Stop> {
        let asked = std::mem::take(&mut open.requests);
        let at_once = if open.plan.one_by_one { 1 } else { asked.len().max(1) };
        let mut received: Vec<ReceivedReply<Bytes>> = Vec::new();
        for batch in asked.chunks(at_once) {
            let bodies = self.ask_within(&mut open.budget, batch.iter().map(|(_, it)| it.clone()).collect()).await?;
            for ((by, _), body) in batch.iter().zip(bodies) {
                if let Some(body) = body {
                    received.push(ReceivedReply { by: *by, events: self.read_candidate_events(open, &body), body });
                }
            }
            if self.is_enough(open, &received).await? {
                break;
            }
        }
        Ok(received)
    }

    /// Records an intervention whose calls were made in vain, since the client disconnected or a step failed.
    pub(crate) async fn note_interrupted(&self, open: &OpenIntervention<'_>, stop: Stop) -> Stop {
        self.note_interruption(self.reply_record(open.plan, &open.record, &open.budget), stop).await
    }

    async fn note_interruption(&self, mut record: Map<String, Value>, stop: Stop) -> Stop {
        record.insert("interrupted".to_owned(), true.into());
        // The exchange ends either way, with the reason that it has.
        let _ = self.perform(ExchangeStep::Note(record)).await;
        stop
    }

    /// Returns the settings by which replies are replaced, if they are.
    fn replacing_plan(&self) -> Option<&PredictSettings> {
        self.options.interventions.as_deref().filter(|plan| plan.replaces_replies())
    }

    /// Looks whether a reply is risky, and what may be asked instead. None if there is nothing to do or to record.
    pub(crate) async fn open_intervention<'a>(
        &'a self,
        sent: &SessionMemory,
        request: &'a Bytes,
        events: Vec<Event>,
    ) -> Result<Option<OpenIntervention<'a>>, Stop> {
        let Some(plan) = self.replacing_plan() else { return Ok(None) };
        if Request::may_run_vendor_tools(self.api, request) || is_kept_by_vendor(request) {
            return Ok(None);
        }
        let mut budget = CallBudget::new(plan, sent);
        let before = self.score(vec![events.clone()]).await?;
        self.count_missing(plan, &before);
        let mut record = InterventionRecord { at_risk: before.at_risk, ..InterventionRecord::default() };
        record.original.score = before.scores.first().copied().flatten();
        let is_low = record.original.score.is_some_and(|score| score.most < plan.risk.to_f64());
        record.is_sampled = plan.is_by(ForecastSource::Sample) && !is_low;
        if record.is_sampled && before.violations.first() != Some(&true) {
            let sampled = match self.sample_risk(plan, &mut budget, request, &events).await {
                Ok(sampled) => sampled,
                Err(stop) => return Err(self.note_interruption(self.reply_record(plan, &record, &budget), stop).await),
            };
            record.original.score = sampled.score_of_reply();
            record.original.sampled = Some(sampled);
        }
        // After sampling, an exhausted budget leaves the reply; and nothing is below an interval that begins at 0.
        let can_be_better = match record.original.sampled {
            Some(sampled) => budget.exhausted.is_none() && sampled.least() > 0.0,
            // Nothing is better than a reply of which nothing is known.
            None => record.original.score.is_some(),
        };
        let mut requests = Vec::new();
        if can_be_better && record.original.is_risky(plan) {
            requests = self.change_requests(plan, request, &before.advice);
        } else if budget.calls == 0 && budget.exhausted.is_none() {
            return Ok(None);
        }
        let advice = before.advice;
        let (offered, terms) = (AllowedCalls::read(self.api, request), ReplyTerms::read(self.api, request));
        Ok(Some(OpenIntervention { plan, request, offered, terms, events, advice, requests, budget, record }))
    }

    /// Whether no further reply need be asked for: with `one_by_one`, the last one is better, and neither risky nor stopped.
    pub(crate) async fn is_enough<T>(
        &self,
        open: &OpenIntervention<'_>,
        received: &[ReceivedReply<T>],
    ) -> Result<bool, Stop> {
        if open.budget.exhausted.is_some() {
            return Ok(true);
        }
        let Some(events) = received.last().and_then(|last| last.events.as_ref()).filter(|_| open.plan.one_by_one)
        else {
            return Ok(false);
        };
        let scored = self.score(vec![events.clone()]).await?;
        let (score, is_stopped) = (scored.scores.first().copied().flatten(), scored.stopped.first() == Some(&true));
        let is_risky = ReplyRisk { score, ..ReplyRisk::default() }.is_risky(open.plan);
        Ok(!is_stopped && !is_risky && choose_candidate(open.record.original.floor(), &[score]).is_some())
    }

    /// Returns the requests for other replies, as many as the policy wants.
    fn change_requests(&self, plan: &PredictSettings, request: &Bytes, advice: &str) -> Vec<(Intervention, Bytes)> {
        let mut left = plan.candidates as usize;
        let mut requests = Vec::new();
        for by in plan.intervene.iter().copied().filter(|by| by.asks_model()) {
            // A model that was reminded with the request is not reminded twice.
            if by == Intervention::Inject && self.is_reminded {
                continue;
            }
            let Some(changed) = change_request(self.api, request, by, plan, advice) else { continue };
            // A reminder and another model are asked once; the same request as often as is allowed.
            let times = if by == Intervention::Resample { left } else { left.min(1) };
            left -= times;
            requests.extend(std::iter::repeat_n((by, changed), times));
        }
        requests
    }

    /// Scores the replies that were received, records them, and returns the one to take; none if the reply stays.
    pub(crate) async fn choose<T>(
        &self,
        mut open: OpenIntervention<'_>,
        received: Vec<ReceivedReply<T>>,
    ) -> Result<Option<T>, Stop> {
        open.record.received = received.len();
        let taken = match received.is_empty() {
            true => None,
            false => match self.find_better(&mut open, received).await {
                Ok(taken) => taken,
                Err(stop) => return Err(self.note_interrupted(&open, stop).await),
            },
        };
        let OpenIntervention { plan, budget, record, .. } = open;
        self.perform(ExchangeStep::Note(self.reply_record(plan, &record, &budget))).await?;
        self.count(|counts| {
            counts.candidates += record.received as u64;
            counts.replaced += u64::from(taken.is_some());
        });
        Ok(taken)
    }

    /// Returns the reply whose forecast is better than that of the given one; none if there is none.
    async fn find_better<T>(
        &self,
        open: &mut OpenIntervention<'_>,
        received: Vec<ReceivedReply<T>>,
    ) -> Result<Option<T>, Stop> {
        let OpenIntervention { plan, request, events, advice, budget, record, .. } = open;
        let mut candidates: Vec<Candidate<T>> = Vec::new();
        for reply in received {
            // Equal candidates are one candidate, and one that equals the reply is none.
            let is_known = |read: &Vec<Event>| {
                let mut known = candidates.iter().filter_map(|it| it.reply.events.as_ref()).chain([&*events]);
                known.any(|known| is_equal(known, read))
            };
            match reply.events.as_ref().is_some_and(is_known) {
                true => record.equal += 1,
                false => candidates.push(Candidate { reply, risk: ReplyRisk::default() }),
            }
        }
        let readable: Vec<Vec<Event>> = candidates.iter().filter_map(|it| it.reply.events.clone()).collect();
        let scored = self.score([vec![events.clone()], readable].concat()).await?;
        // A candidate that the guard would stop is no help, whichever property objects to it.
        let of_candidate = |((score, violates), is_stopped): ((Option<Score>, bool), bool)| match is_stopped {
            true => (Some(Score::WORST), true),
            false => (score, violates),
        };
        let original = scored.scores.first().copied().flatten();
        let scores = scored.scores.into_iter().zip(scored.violations).zip(scored.stopped);
        let mut scores = scores.skip(1).map(of_candidate);
        let mut plans_needed = Vec::new();
        for (place, candidate) in candidates.iter_mut().enumerate().filter(|(_, it)| it.reply.events.is_some()) {
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
            let of_candidates = candidates.iter().filter_map(|it| it.reply.events.as_deref());
            let asked: Vec<&[Event]> = [events.as_slice()].into_iter().chain(of_candidates).collect();
            let mut stated = self.ask_stated(plan, budget, request, &asked, advice).await?.into_iter();
            record.original.stated = stated.next().flatten();
            for candidate in candidates.iter_mut().filter(|it| it.reply.events.is_some()) {
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
            let tried_events = tried.reply.events.as_deref().unwrap_or_default();
            let sampled = self.sample_risk(plan, budget, request, tried_events).await?;
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
        record.candidates = candidates.iter().map(|it| (it.reply.by, it.risk)).collect();
        let Some(taken) = record.taken.map(|place| candidates.swap_remove(place)) else { return Ok(None) };
        if taken.risk.sampled.is_some() && !self.confirm(open, taken.reply.events.as_deref()).await? {
            return Ok(None);
        }
        Ok(Some(taken.reply.body))
    }

    /// Scores the candidate that was chosen by fresh plans, since the ones that chose it flatter it. Returns whether it is
    /// still better; without a budget for that, the choice stands.
    async fn confirm(&self, open: &mut OpenIntervention<'_>, taken: Option<&[Event]>) -> Result<bool, Stop> {
        let OpenIntervention { plan, request, budget, record, .. } = open;
        if budget.exhausted.is_some() {
            return Ok(true);
        }
        let sampled = self.sample_risk(plan, budget, request, taken.unwrap_or_default()).await?;
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

    /// Returns the events of a candidate; none if it cannot be read, is no whole answer, calls what is not on offer, or does
    /// not meet the terms of the request.
    fn read_candidate_events(&self, open: &OpenIntervention<'_>, body: &Bytes) -> Option<Vec<Event>> {
        let reply = Reply::read_with(self.api, body, self.options.unknown_fields).ok()?;
        let is_whole = reply.is_whole_answer(self.choices);
        let events: Vec<Event> = reply.events().iter().map(|event| self.assign(event.clone())).collect();
        (is_whole && open.accepts(&events)).then_some(events)
    }

    /// Returns the events of a reply; none if it cannot be read.
    pub(crate) fn read_events(&self, body: &Bytes) -> Option<Vec<Event>> {
        let reply = Reply::read_with(self.api, body, self.options.unknown_fields).ok()?;
        Some(reply.events().iter().map(|event| self.assign(event.clone())).collect())
    }

    /// Counts a forecast that the chain could not make.
    pub(crate) fn count_missing(&self, plan: &PredictSettings, scored: &ReplyScores) {
        let is_missing = plan.is_by(ForecastSource::Chain) && scored.scores.first().copied().flatten().is_none();
        self.count(|counts| counts.forecasts_missing += u64::from(is_missing));
    }

    /// Returns how likely each of several replies leads to a violation.
    pub(crate) async fn score(&self, replies: Vec<Vec<Event>>) -> Result<ReplyScores, Stop> {
        let count = replies.len();
        match self.perform(ExchangeStep::Score(replies)).await? {
            StepResult::Scores(it) if it.scores.len() == count && it.violations.len() == count => Ok(*it),
            other => Err(unexpected(&other)),
        }
    }
}

/// Whether two replies say and do the same, whatever their ids.
fn is_equal(one: &[Event], other: &[Event]) -> bool {
    let is_same = |(one, other): (&Event, &Event)| {
        (&one.kind, &one.tool, &one.args, &one.text) == (&other.kind, &other.tool, &other.args, &other.text)
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Whether the vendor adds a request to a conversation that it keeps: asking again would add it again.
pub(crate) fn is_kept_by_vendor(request: &Bytes) -> bool {
    let Ok(body) = lictor_json::parse(request) else { return true };
    body.get("conversation").is_some_and(|kept| !kept.is_null())
}

/// Returns a request without the seed of its random numbers: with it, a model repeats its reply.
fn without_seed(request: &Bytes) -> Bytes {
    match lictor_json::parse(request) {
        Ok(Json::Object(mut body)) if body.get("seed").is_some() => {
            body.remove("seed");
            Bytes::from(Json::Object(body).to_string())
        }
        _ => request.clone(),
    }
}

/// Returns the request for another reply; none if it cannot be made.
fn change_request(api: Api, request: &Bytes, by: Intervention, plan: &PredictSettings, advice: &str) -> Option<Bytes> {
    match by {
        Intervention::Resample => Some(without_seed(request)),
        Intervention::Inject => Request::with_note(api, request, advice).map(Bytes::from),
        Intervention::Switch => {
            let Ok(Json::Object(mut body)) = lictor_json::parse(request) else { return None };
            body.insert("model", plan.model.clone()?);
            Some(Bytes::from(Json::Object(body).to_string()))
        }
        Intervention::Ask | Intervention::Stop => None,
    }
}
