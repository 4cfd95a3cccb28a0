//! One session, judged once more with its whole history.

use std::borrow::Cow;
use std::sync::Arc;

use lictor_logic::Verdict;

use crate::AuditOptions;
use crate::answers::{AnswerBook, EventKey};
use crate::closed_session::{ClosedSession, LogEnd};
use crate::join::JoinEntries;
use crate::noise::{FindingNoise, find_noise};
use crate::session::sequence::{SequenceOptions, SessionSequence, SessionStep, StepSink};
use lictor_event::Event;
use lictor_event::order::GapCause;
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::{Session, SessionError};

/// Findings with their witnesses, and the labels on which they rest if those were asked for.
pub(super) type ReplayedFindings = (Vec<Finding>, Vec<FindingNoise>);

/// Judges the events of a session, and returns its findings.
pub(super) fn replay_session(
    judge: &mut Judge,
    closed: &mut ClosedSession,
    events: &[Event],
    options: &AuditOptions,
    joins: Option<&JoinEntries>,
    end: LogEnd,
) -> Result<ReplayedFindings, SessionError> {
    let name = closed.report.name.clone();
    let mut session = Session::new(judge, name.clone());
    if options.content {
        session = session.showing_content();
    }
    let keeps_events = options.noise || judge.properties().iter().any(|property| property.risk.is_some());
    // A session whose events are all in the order of their numbers is replayed as it is.
    let rules = SequenceOptions { window: options.reorder.as_ref().filter(|_| closed.is_unordered), joins };
    let mut sequence = SessionSequence::new(rules, || name.clone());
    let mut run = ReplayRun {
        judge,
        session,
        joins,
        answers: options.answers.as_deref(),
        key: EventKey { file: Arc::clone(&closed.report.file), session: name, step: 0 },
        findings: Vec::new(),
        judged: keeps_events.then(Vec::new),
        placed: Vec::new(),
        again: Vec::new(),
    };
    for (place, event) in events.iter().enumerate() {
        sequence.take(rules, event, place, Cow::Borrowed, &mut run)?;
    }
    if end != LogEnd::Cut {
        sequence.finish(rules, |_| events.len(), &mut run)?;
    }
    let ReplayRun { judge, mut session, mut findings, judged, placed, again, .. } = run;
    if closed.is_unordered {
        closed.compare_repeated(events, &placed, &again);
    }
    if let LogEnd::Reached(as_of) = end {
        if let Some(now) = as_of {
            findings.append(&mut session.tick(judge, now)?);
        }
        findings.append(&mut session.finish(judge)?);
    }
    let judged = judged.unwrap_or_default();
    judge.add_grounds(&judged, &mut findings);
    let noise = if options.noise { find_noise(judge, &judged, &findings)? } else { Vec::new() };
    Ok((findings, noise))
}

/// One session that is replayed.
struct ReplayRun<'a> {
    judge: &'a mut Judge,
    session: Session,
    joins: Option<&'a JoinEntries>,
    /// The first pass asked what was open; here the same answers count.
    answers: Option<&'a AnswerBook>,
    /// The last event, as answers name it.
    key: EventKey,
    findings: Vec<Finding>,
    /// The events as they were judged, if they are needed afterwards.
    judged: Option<Vec<Event>>,
    /// The places of the events of the log that have their number first, and of those that repeat one.
    placed: Vec<usize>,
    again: Vec<usize>,
}

impl StepSink<usize> for ReplayRun<'_> {
    fn judge(&self) -> &Judge {
        self.judge
    }

    fn take_step(&mut self, step: SessionStep<'_, usize>) -> Result<(), SessionError> {
        match step {
            SessionStep::Event(event, place) => {
                self.placed.push(place);
                self.observe(event)?;
            }
            SessionStep::Joined(number, _) => {
                if let Some(joins) = self.joins {
                    self.observe(joins.event(number))?;
                }
            }
            SessionStep::Missing(count, next) => {
                let time = next.and_then(|(event, _)| event.time);
                self.findings.append(&mut self.session.miss(self.judge, count, time)?);
            }
            SessionStep::Late(place) => self.placed.push(place),
            SessionStep::Again(place) => self.again.push(place),
        }
        Ok(())
    }
}

impl ReplayRun<'_> {
    /// Judges an event with the answers of the first pass.
    fn observe(&mut self, event: &Event) -> Result<(), SessionError> {
        self.key.step = self.session.steps() + 1;
        let event = self.answers.map_or(Cow::Borrowed(event), |answers| answers.add_known(&self.key, event));
        self.findings.append(&mut self.session.observe_alone(self.judge, &event)?);
        if let Some(judged) = &mut self.judged {
            judged.push(event.into_owned());
        }
        Ok(())
    }
}

impl ClosedSession {
    /// Separates duplicate events from different events with one number, by the places of the events that have their
    /// number first and of those that repeat one. Different ones make satisfied properties inconclusive, since it is
    /// unknown which of them happened.
    fn compare_repeated(&mut self, events: &[Event], placed: &[usize], again: &[usize]) {
        let is_same = |one: &Event, other: &Event| Event { source: one.source.clone(), ..other.clone() } == *one;
        let mut again = again.iter().map(|place| &events[*place]);
        for gap in self.report.gaps.iter_mut().filter(|gap| gap.cause == GapCause::Repeated) {
            let Some(event) = again.next() else { break };
            let first = placed.iter().map(|place| &events[*place]).find(|first| first.seq == event.seq);
            if !first.is_some_and(|first| is_same(first, event)) {
                gap.cause = GapCause::Conflicting;
                for outcome in self.report.outcomes.iter_mut().filter(|outcome| outcome.verdict == Verdict::Satisfied) {
                    outcome.verdict = Verdict::Inconclusive;
                }
            }
        }
    }
}
