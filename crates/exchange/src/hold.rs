//! Interventions in streamed replies.
//!
//! Bytes that were sent cannot be replaced. So the forecast before the reply decides: a reminder is added to the request
//! itself, which costs no further call, and a stream with a forecast of at least `hold` is read to its end before any of it
//! is judged. Then it can be replaced as a [whole reply](Life::intervene) can. The stream that is taken is judged as if it
//! had just arrived. Other streams are judged while they arrive.
//!
//! INVARIANT: a stream and its candidates together hold at most [`held`](crate::ExchangeOptions::held) bytes, and one
//! piece more. A stream that is longer is judged as it arrives; a candidate that is longer is dropped.

use bytes::Bytes;
use lictor_event::Event;
use lictor_policy::Intervention;
use lictor_wire::{Reply, Request, Ruling, Stream, StreamAction, StreamLimits, says_something};

use crate::exchange::{Life, Stop, unexpected};
use crate::intervene::{OpenIntervention, ReceivedReply, is_kept_by_vendor};
use crate::memory::SessionMemory;
use crate::step::{ExchangeEnd, ExchangeStep, StepResult};
use crate::stream::HeldStream;

impl HeldStream {
    fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
}

impl Life {
    /// Looks ahead before a stream is asked for. Returns the body of the request, with a reminder of the rules if the
    /// forecast is bad, and whether the stream is to be held.
    pub(crate) async fn look_ahead(
        &mut self,
        sent: &SessionMemory,
        request: &Request,
        body: Bytes,
    ) -> Result<(Bytes, bool), Stop> {
        let Some(plan) = self.options.interventions.clone().filter(|_| request.streams) else {
            return Ok((body, false));
        };
        let is_reminding = plan.intervene.contains(&Intervention::Inject);
        // A stream that cannot be replaced is not held.
        let hold = plan.hold.filter(|_| {
            let is_replaceable = !Request::may_run_vendor_tools(self.api, &body) && !is_kept_by_vendor(&body);
            sent.candidates < plan.session_calls as usize && is_replaceable
        });
        if !is_reminding && hold.is_none() {
            return Ok((body, false));
        }
        let scored = self.score(vec![Vec::new()]).await?;
        self.count_missing(&plan, &scored);
        let score = scored.scores.first().copied().flatten();
        let is_held = score.zip(hold).is_some_and(|(score, hold)| score.chance >= hold.to_f64());
        if !is_reminding || !plan.is_risky(score.map(|score| (score.chance, score.most))) {
            return Ok((body, is_held));
        }
        let Some(reminded) = Request::with_note(self.api, &body, &scored.advice) else { return Ok((body, is_held)) };
        self.perform(ExchangeStep::Note(self.reminder_record(&plan, &scored))).await?;
        self.is_reminded = true;
        self.count(|counts| counts.reminded += 1);
        Ok((Bytes::from(reminded), is_held))
    }

    /// Reads a stream to its end, replaces it if it is risky, and judges it; `request` is what the model was sent, and
    /// `before` the memory as of then.
    pub(crate) async fn judge_held_stream(&self, before: &SessionMemory, request: Bytes) -> Result<ExchangeEnd, Stop> {
        self.count(|counts| counts.streams_held += 1);
        match self.hold_stream(before, &request).await {
            Ok(held) => self.judge_stream_from(before, request, held).await,
            // The head was sent, and nothing else.
            Err(stop) => self.end_stream(before, self.open_stream(0), Err(stop)).await,
        }
    }

    /// Returns the stream to judge: the one that is read, or a better one.
    async fn hold_stream(&self, before: &SessionMemory, request: &Bytes) -> Result<HeldStream, Stop> {
        let held = self.read_stream(self.options.held).await?;
        let other = self.find_better_stream(before, request, &held).await?;
        Ok(other.unwrap_or(held))
    }

    /// Returns the stream to judge instead of a held one; none if there is no better one.
    async fn find_better_stream(
        &self,
        before: &SessionMemory,
        request: &Bytes,
        held: &HeldStream,
    ) -> Result<Option<HeldStream>, Stop> {
        let Some(events) = self.read_streamed_events(held) else { return Ok(None) };
        let Some(mut open) = self.open_intervention(before, request, events).await? else { return Ok(None) };
        let received = match self.ask_candidate_streams(&mut open, held.len()).await {
            Ok(received) => received,
            Err(stop) => return Err(self.note_interrupted(&open, stop).await),
        };
        self.choose(open, received).await
    }

    /// Asks for other streams, one after the other. Beside them `held` bytes are kept.
    async fn ask_candidate_streams(
        &self,
        open: &mut OpenIntervention<'_>,
        held: usize,
    ) -> Result<Vec<ReceivedReply<HeldStream>>, Stop> {
        let mut room = self.options.held.saturating_sub(held);
        let mut received = Vec::new();
        for (by, asked) in std::mem::take(&mut open.requests) {
            // Streams come one after the other, so their time and tokens are not known.
            if !self.begin_call(&mut open.budget).await? {
                break;
            }
            let StepResult::Stream = self.perform(ExchangeStep::AskAgain(asked)).await? else { continue };
            let body = self.read_candidate(room).await?;
            room = room.saturating_sub(body.len());
            let is_cut_short = Reply::is_stream_cut_short(self.api, body.pieces.iter().map(|piece| &piece[..]));
            let events = self
                .read_streamed_events(&body)
                .filter(|events| !is_cut_short && events.iter().any(says_something) && open.accepts(events));
            received.push(ReceivedReply { by, events, body });
            if self.is_enough(open, &received).await? {
                break;
            }
        }
        Ok(received)
    }

    /// Reads a stream to its end, or until it has more than `room` bytes.
    async fn read_stream(&self, room: usize) -> Result<HeldStream, Stop> {
        let mut held = HeldStream::default();
        let mut length = 0;
        while held.was_cut.is_none() && length <= room {
            match self.perform(ExchangeStep::Read).await? {
                StepResult::Bytes(bytes) => {
                    length += bytes.len();
                    held.pieces.push_back(bytes);
                }
                StepResult::End => held.was_cut = Some(false),
                StepResult::Cut => held.was_cut = Some(true),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(held)
    }

    /// Reads the stream of a candidate to its end. One with more than `room` bytes is emptied, so that it cannot be read.
    async fn read_candidate(&self, room: usize) -> Result<HeldStream, Stop> {
        let mut held = self.read_stream(room).await?;
        // A driver hands over streams one after the other, so the rest is read as well.
        while held.was_cut.is_none() {
            held = HeldStream { was_cut: self.read_stream(0).await?.was_cut, ..HeldStream::default() };
        }
        Ok(held)
    }

    /// Returns the events of a stream; none if it is not complete, or cannot be read.
    fn read_streamed_events(&self, held: &HeldStream) -> Option<Vec<Event>> {
        if held.was_cut != Some(false) {
            return None;
        }
        let limits = StreamLimits::default()
            .held(self.options.held)
            .unknown_fields(self.options.unknown_fields)
            .choices(self.choices);
        let (mut stream, mut events) = (Stream::new(self.api, limits), Vec::new());
        for piece in &held.pieces {
            let actions = stream.push(piece);
            self.collect_events(&mut stream, actions, &mut events)?;
        }
        let actions = stream.end();
        self.collect_events(&mut stream, actions, &mut events)?;
        stream.is_complete().then_some(events)
    }

    /// Collects the events that a stream asks about, and lets it continue. None if it cannot be read.
    fn collect_events(
        &self,
        stream: &mut Stream,
        mut actions: Vec<StreamAction>,
        events: &mut Vec<Event>,
    ) -> Option<()> {
        while let Some(action) = actions.pop() {
            actions = match action {
                // The one question of a list is its last action.
                StreamAction::Judge(event) => {
                    events.push(self.assign(*event));
                    stream.rule(Ruling::Forward)
                }
                StreamAction::Text { .. } => stream.mask(&[]),
                StreamAction::Release(_) => continue,
                StreamAction::Refuse(_) => return None,
            };
        }
        Some(())
    }
}
