//! Shadow mode: everything is judged and recorded, and everything crosses as it came.
//!
//! INVARIANT: nothing that judging does, finds or fails to do changes or stops a byte. What could not be judged is counted
//! as unchecked.

use std::sync::Arc;

use bytes::Bytes;
use lictor_event::Event;
use lictor_policy::ForecastSource;

use crate::exchange::{Life, Stop, unexpected};
use crate::memory::SessionMemory;
use crate::step::{ExchangeEnd, ExchangeStep, StepResult};
use crate::stream::StreamState;

impl Life {
    /// Judges a request and its reply without changing them.
    pub(crate) async fn run_in_shadow(&mut self, body: Bytes) -> Result<ExchangeEnd, Stop> {
        let judged = self.judge_unchanged_request(&body).await;
        let memory = self.tolerate(judged)?;
        match self.perform(ExchangeStep::SendUpstream(body)).await? {
            StepResult::Reply(bytes) => {
                if let Some(memory) = memory.filter(|_| self.options.judges_reply) {
                    let foreseen = self.foresee_unchanged(self.read_events(&bytes), "reply").await;
                    self.tolerate(foreseen)?;
                    let judged = self.settle_reply(&memory, &Bytes::new(), bytes.clone(), 0).await;
                    self.tolerate(judged)?;
                }
                self.send_body(bytes).await
            }
            StepResult::Stream => {
                if memory.is_some() {
                    let foreseen = self.foresee_unchanged(Some(Vec::new()), "request").await;
                    self.tolerate(foreseen)?;
                }
                self.follow_unchanged(memory).await
            }
            StepResult::Unjudged => Ok(ExchangeEnd::Complete),
            other => Err(unexpected(&other)),
        }
    }

    async fn judge_unchanged_request(&mut self, body: &Bytes) -> Result<Arc<SessionMemory>, Stop> {
        let request = match self.read_request(body) {
            Ok(request) => request,
            Err(refused) => return Err(self.refuse_input(400, refused, body.clone()).await?),
        };
        self.identify(&request).await?;
        Ok(self.judge_request(&request).await?.0)
    }

    /// Records the forecast with the events of a reply, or before it, if it is a reason to intervene. No model is asked.
    async fn foresee_unchanged(&self, events: Option<Vec<Event>>, at: &str) -> Result<(), Stop> {
        let Some((plan, events)) = self.options.interventions.clone().zip(events) else { return Ok(()) };
        if !plan.is_by(ForecastSource::Chain) {
            return Ok(());
        }
        let scored = self.score(vec![events]).await?;
        self.count_missing(&plan, &scored);
        let score = scored.scores.first().copied().flatten();
        if plan.is_risky(score.map(|score| (score.chance, score.most))) {
            self.perform(ExchangeStep::Note(self.shadow_record(&plan, at, &scored))).await?;
        }
        Ok(())
    }

    /// Sends a stream as it comes, and judges it beside, if the request could be judged.
    async fn follow_unchanged(&self, mut memory: Option<Arc<SessionMemory>>) -> Result<ExchangeEnd, Stop> {
        let mut state = self.open_stream(0);
        let was_cut = loop {
            let read = match self.perform(ExchangeStep::Read).await {
                Err(Stop::Gone) => return self.abandon_unchanged(memory, state).await,
                read => read?,
            };
            let (actions, last) = match read {
                StepResult::Bytes(bytes) => {
                    if let Err(Stop::Gone) = self.perform(ExchangeStep::SendPiece(bytes.clone())).await {
                        return self.abandon_unchanged(memory, state).await;
                    }
                    (state.stream.push(&bytes), None)
                }
                StepResult::End => (state.stream.end(), Some(false)),
                StepResult::Cut => (state.stream.cut(), Some(true)),
                other => return Err(unexpected(&other)),
            };
            state.actions.extend(actions);
            if let Some(judged) = &memory {
                let played = self.play(judged, &mut state).await;
                if self.tolerate(played)?.is_none() {
                    memory = None;
                    state.forward_asked();
                }
            }
            if memory.is_none() {
                state.forward_all();
            }
            if let Some(was_cut) = last {
                break was_cut;
            }
        };
        if let Some(memory) = &memory {
            let remembered = self.remember_once(memory, &mut state).await;
            self.tolerate(remembered)?;
        }
        match (was_cut, state.is_whole() || memory.is_none()) {
            (true, _) => Ok(ExchangeEnd::Cut),
            (false, false) => Ok(ExchangeEnd::Truncated),
            (false, true) => Ok(ExchangeEnd::Complete),
        }
    }

    /// Judges what a client got that has disconnected. All bytes before were sent and judged.
    async fn abandon_unchanged(
        &self,
        memory: Option<Arc<SessionMemory>>,
        mut state: StreamState,
    ) -> Result<ExchangeEnd, Stop> {
        // Clients disconnect as soon as they have the final chunk.
        if state.is_whole() {
            return Ok(ExchangeEnd::Complete);
        }
        if let Some(memory) = memory {
            state.is_gone = true;
            state.actions = state.stream.abandon().into();
            let played = self.play(&memory, &mut state).await;
            self.tolerate(played)?;
        }
        Err(Stop::Gone)
    }

    /// Returns the result; none, and counts it, if judging failed.
    fn tolerate<T>(&self, result: Result<T, Stop>) -> Result<Option<T>, Stop> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Stop::Gone) => Err(Stop::Gone),
            Err(Stop::Fail(_)) => {
                self.count(|counts| counts.unchecked += 1);
                Ok(None)
            }
        }
    }
}
