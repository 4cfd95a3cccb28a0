//! Replays sessions with a violation from their beginning, for the witnesses.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lictor_logic::Verdict;
use rayon::prelude::*;

use super::answers::EventKey;
use super::batch::find_logs;
use super::closed_session::{ClosedSession, SessionKey};
use super::join::{JoinCursor, JoinEntries};
use super::noise::{FindingNoise, find_noise};
use super::{AuditError, AuditOptions, Progress};
use crate::report::FileReport;
use lictor_decode::input::{Chunk, Input};
use lictor_decode::{DecodedEvents, Format};
use lictor_event::Event;
use lictor_event::order::{GapCause, ReorderBuffer, ReorderWindow, SequenceStep};
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::{Session, SessionError};

/// How many events are held in memory at once.
const MAX_REPLAYED_EVENTS: u64 = 100_000;

/// Findings with their witnesses, and the labels on which they rest if those were asked for.
type ReplayedFindings = (Vec<Finding>, Vec<FindingNoise>);

/// Returns the findings of the sessions with their witnesses, in the order of the sessions.
pub(super) fn find_witnesses(
    judge: &Judge,
    inputs: &[Input],
    files: &[Option<FileReport>],
    sessions: &mut [ClosedSession],
    options: &AuditOptions,
    joins: Option<&JoinEntries>,
    progress: &dyn Progress,
) -> Result<ReplayedFindings, AuditError> {
    let mut suspects: Vec<&mut ClosedSession> = sessions.iter_mut().filter(|session| session.is_suspect).collect();
    let (mut findings, mut noise) = (Vec::new(), Vec::new());
    let all = suspects.len();
    progress.explained(0, all);
    let mut rest = &mut suspects[..];
    while !rest.is_empty() {
        let mut events = 0;
        let fits = |session: &&&mut ClosedSession| {
            let before = events;
            events += u64::from(session.report.steps);
            before == 0 || events <= MAX_REPLAYED_EVENTS
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (group, later) = rest.split_at_mut(count);
        rest = later;
        let events = read_events(inputs, files, group, options)?;
        let found: Result<Vec<ReplayedFindings>, SessionError> = group
            .par_iter_mut()
            .zip(events)
            .map_init(
                || judge.fork(),
                |judge, (session, events)| replay_session(judge, session, &events, options, joins),
            )
            .collect();
        for (mut found, mut rests) in found? {
            findings.append(&mut found);
            noise.append(&mut rests);
        }
        progress.explained(all - rest.len(), all);
    }
    Ok((findings, noise))
}

/// Reads the events of some sessions.
fn read_events(
    inputs: &[Input],
    files: &[Option<FileReport>],
    group: &[&mut ClosedSession],
    options: &AuditOptions,
) -> Result<Vec<Vec<Event>>, AuditError> {
    // Records wanted from each file, and the sessions they belong to.
    let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); inputs.len()];
    for session in group {
        for (file, indices) in session.records.by_file() {
            wanted[file as usize].extend(indices);
        }
    }
    let places: HashMap<(Option<u32>, Option<&str>), usize> =
        group.iter().enumerate().map(|(place, session)| (borrow_key(&session.key), place)).collect();
    let mut events: Vec<Vec<Event>> = group.iter().map(|_| Vec::new()).collect();
    let logs = find_logs(inputs, files);
    let mut read_logs = HashSet::new();
    for (file, mut indices) in wanted.into_iter().enumerate().filter(|(_, indices)| !indices.is_empty()) {
        indices.sort_unstable();
        indices.dedup();
        let Some(format) = files[file].as_ref().map(|file| file.format) else { continue };
        let decoded = match format.records_stand_alone() {
            true => decode_records(&inputs[file], format, &indices, options)?,
            false if read_logs.insert(logs[file]) => {
                let parts = inputs.iter().zip(&logs).filter(|(_, log)| **log == logs[file]);
                decode_log(parts.map(|(part, _)| part), format, options)?
            }
            false => continue,
        };
        for event in decoded {
            let of_file = (format != Format::Native || event.session.is_none()).then_some(logs[file] as u32);
            if let Some(place) = places.get(&(of_file, event.session.as_deref())) {
                events[*place].push(event);
            }
        }
    }
    Ok(events)
}

fn borrow_key(key: &SessionKey) -> (Option<u32>, Option<&str>) {
    (key.file, key.name.as_deref())
}

/// Decodes a log whose records depend on each other: a file, or the parts of one log.
fn decode_log<'i>(
    parts: impl Iterator<Item = &'i Input>,
    format: Format,
    options: &AuditOptions,
) -> Result<Vec<Event>, AuditError> {
    let (mut decoder, mut decoded) = (options.decoder(format), DecodedEvents::default());
    for part in parts {
        for chunk in part.chunks(&options.limits)? {
            chunk.decode(None, decoder.as_mut(), &mut decoded);
        }
    }
    decoder.finish(&mut decoded);
    Ok(decoded.events)
}

/// Decodes some records of a file, each of which is decoded on its own.
fn decode_records(
    input: &Input,
    format: Format,
    indices: &[u32],
    options: &AuditOptions,
) -> Result<Vec<Event>, AuditError> {
    let mut chunks = input.chunks(&options.limits)?;
    let decode_chunk = |chunk: Chunk| {
        let (mut decoder, mut decoded) = (options.decoder(format), DecodedEvents::default());
        let range = chunk.indices();
        let from = indices.partition_point(|index| *index < range.start);
        let to = indices.partition_point(|index| *index < range.end);
        chunk.decode(Some(&indices[from..to]), decoder.as_mut(), &mut decoded);
        decoder.finish(&mut decoded);
        decoded.events
    };
    let mut events = Vec::with_capacity(indices.len());
    loop {
        let round: Vec<Chunk> = chunks.by_ref().take(4 * rayon::current_num_threads()).collect();
        if round.is_empty() {
            return Ok(events);
        }
        let decoded: Vec<Vec<Event>> = round.into_par_iter().map(decode_chunk).collect();
        events.extend(decoded.into_iter().flatten());
    }
}

fn replay_session(
    judge: &mut Judge,
    closed: &mut ClosedSession,
    events: &[Event],
    options: &AuditOptions,
    joins: Option<&JoinEntries>,
) -> Result<ReplayedFindings, SessionError> {
    let mut session = Session::new(judge, closed.report.name.clone());
    if options.content {
        session = session.showing_content();
    }
    let mut findings = Vec::new();
    let mut join = joins.map(|joins| (joins, JoinCursor::new(joins, closed.report.name.clone())));
    let (title, file) = (closed.report.name.clone(), Arc::clone(&closed.report.file));
    // The first pass asked what was open; here the same answers count.
    let judged: RefCell<Vec<Event>> = RefCell::default();
    let keeps_events = options.noise || judge.properties().iter().any(|property| property.risk.is_some());
    let observe_answered = |session: &mut Session, judge: &mut Judge, event: &Event| {
        let event = match &options.answers {
            None => Cow::Borrowed(event),
            Some(answers) => {
                let key = EventKey { file: Arc::clone(&file), session: title.clone(), step: session.steps() + 1 };
                answers.add_known(&key, event)
            }
        };
        let findings = session.observe_alone(judge, &event)?;
        if keeps_events {
            judged.borrow_mut().push(event.into_owned());
        }
        Ok::<Vec<Finding>, SessionError>(findings)
    };
    let mut observe = |session: &mut Session, judge: &mut Judge, event: &Event| {
        let mut found = Vec::new();
        if let Some((joins, cursor)) = &mut join {
            for number in cursor.take_before(joins, judge, event) {
                found.append(&mut observe_answered(session, judge, joins.event(number))?);
            }
        }
        found.append(&mut observe_answered(session, judge, event)?);
        Ok::<Vec<Finding>, SessionError>(found)
    };
    // A session whose events are all in the order of their numbers is replayed as it is.
    let numbered = options.reorder.filter(|_| closed.is_unordered);
    match numbered {
        Some(window) => {
            let turns = sort_events(events, &window);
            closed.compare_repeated(&turns);
            for (place, turn) in turns.iter().enumerate() {
                let next = || {
                    turns[place..]
                        .iter()
                        .find_map(|turn| if let SequenceStep::Event(event) = turn { event.time } else { None })
                };
                match turn {
                    SequenceStep::Event(event) => findings.append(&mut observe(&mut session, judge, event)?),
                    SequenceStep::Missing(first, last) => {
                        findings.append(&mut session.miss(judge, last.abs_diff(*first).saturating_add(1), next())?);
                    }
                    SequenceStep::Late(_) | SequenceStep::Again(_) => {}
                }
            }
        }
        None => {
            for event in events {
                findings.append(&mut observe(&mut session, judge, event)?);
            }
        }
    }
    if let Some((joins, cursor)) = &mut join {
        for number in cursor.finish().after {
            findings.append(&mut observe_answered(&mut session, judge, joins.event(number))?);
        }
    }
    if let Some(now) = options.as_of {
        findings.append(&mut session.tick(judge, now)?);
    }
    findings.append(&mut session.finish(judge)?);
    let judged = judged.take();
    judge.add_grounds(&judged, &mut findings);
    let noise = if options.noise { find_noise(judge, &judged, &findings)? } else { Vec::new() };
    Ok((findings, noise))
}

/// Returns the events of a session as they were judged.
fn sort_events<'e>(events: &'e [Event], window: &ReorderWindow) -> Vec<SequenceStep<&'e Event>> {
    let (mut order, mut turns) = (ReorderBuffer::default(), Vec::with_capacity(events.len()));
    for event in events {
        match event.seq {
            Some(number) if !order.admits(number) => {
                turns.append(&mut order.take(number, event.time, event, window));
            }
            _ => turns.push(SequenceStep::Event(event)),
        }
    }
    turns.append(&mut order.finish());
    turns
}

impl ClosedSession {
    /// Separates duplicate events from different events with one number. The latter make satisfied properties
    /// inconclusive, since it is unknown which of them happened.
    fn compare_repeated(&mut self, turns: &[SequenceStep<&Event>]) {
        let first = |number: Option<i64>| {
            turns.iter().find_map(|turn| match turn {
                SequenceStep::Event(event) | SequenceStep::Late(event) if event.seq == number => Some(*event),
                _ => None,
            })
        };
        let is_same = |one: &Event, other: &Event| Event { source: one.source.clone(), ..other.clone() } == *one;
        let mut again =
            turns.iter().filter_map(|turn| if let SequenceStep::Again(event) = turn { Some(*event) } else { None });
        for gap in self.report.gaps.iter_mut().filter(|gap| gap.cause == GapCause::Repeated) {
            let Some(event) = again.next() else { break };
            if !first(event.seq).is_some_and(|first| is_same(first, event)) {
                gap.cause = GapCause::Conflicting;
                for outcome in self.report.outcomes.iter_mut().filter(|outcome| outcome.verdict == Verdict::Satisfied) {
                    outcome.verdict = Verdict::Inconclusive;
                }
            }
        }
    }
}
