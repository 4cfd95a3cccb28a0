//! Shadow mode: everything is judged and recorded, and everything crosses as it came.
//!
//! INVARIANT: nothing that judging does, finds or fails to do changes or stops a byte. What could not be judged is counted
//! as unchecked.

use std::sync::Arc;

use bytes::Bytes;
use lictor_wire::Request;

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
                    let judged = self.settle_reply(&memory, &Bytes::new(), bytes.clone(), 0).await;
                    self.tolerate(judged)?;
                }
                self.send_body(bytes).await
            }
            StepResult::Stream => self.follow_unchanged(memory).await,
            StepResult::Unjudged => Ok(ExchangeEnd::Complete),
            other => Err(unexpected(&other)),
        }
    }

    async fn judge_unchanged_request(&mut self, body: &Bytes) -> Result<Arc<SessionMemory>, Stop> {
        let request = match Request::read(self.api, body) {
            Ok(request) => request,
            Err(refused) => return Err(self.refuse_input(400, refused, body.clone()).await?),
        };
        self.identify(&request).await?;
        Ok(self.judge_request(&request).await?.0)
    }

    /// Sends a stream as it comes, and judges it beside.
    async fn follow_unchanged(&self, memory: Option<Arc<SessionMemory>>) -> Result<ExchangeEnd, Stop> {
        let mut judged = memory.map(|memory| (memory, self.open_stream(0)));
        let was_cut = loop {
            let last = match self.perform(ExchangeStep::Read).await? {
                StepResult::Bytes(bytes) => {
                    if let Err(Stop::Gone) = self.perform(ExchangeStep::SendPiece(bytes.clone())).await {
                        return self.abandon_unchanged(judged).await;
                    }
                    if let Some((_, state)) = &mut judged {
                        let actions = state.stream.push(&bytes);
                        state.actions.extend(actions);
                    }
                    None
                }
                StepResult::End => Some(false),
                StepResult::Cut => Some(true),
                other => return Err(unexpected(&other)),
            };
            if let Some((memory, state)) = &mut judged {
                if last.is_some() {
                    let actions = state.stream.end();
                    state.actions.extend(actions);
                }
                let played = self.play(memory, state).await;
                if self.tolerate(played)?.is_none() {
                    judged = None;
                }
            }
            if let Some(was_cut) = last {
                break was_cut;
            }
        };
        let mut is_whole = true;
        if let Some((memory, state)) = &mut judged {
            let remembered = self.remember_once(memory, state).await;
            self.tolerate(remembered)?;
            is_whole = state.stream.is_complete() && !state.was_torn;
        }
        match (was_cut, is_whole) {
            (true, _) => Ok(ExchangeEnd::Cut),
            (false, false) => Ok(ExchangeEnd::Truncated),
            (false, true) => Ok(ExchangeEnd::Complete),
        }
    }

    /// Judges what a client got that has disconnected.
    async fn abandon_unchanged(&self, judged: Option<(Arc<SessionMemory>, StreamState)>) -> Result<ExchangeEnd, Stop> {
        if let Some((memory, mut state)) = judged {
            state.is_gone = true;
            state.actions = state.stream.abandon().into();
            self.play(&memory, &mut state).await?;
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
