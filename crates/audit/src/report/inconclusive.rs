//! Properties that are inconclusive: in how many sessions, and why in the first of them. All report formats share it.

use lictor_decode::Format;
use lictor_judge::finding::Finding;
use lictor_logic::{Verdict, WitnessBasis};
use lictor_policy::Property;

use super::coverage_words::{describe_coverage, join_some};
use super::guarding::describe_guarding;
use super::words::{escape_hidden, format_count, format_place, group_digits};
use super::{Report, SessionReport};

/// How many sentences describe properties.
const MAX_DESCRIBED: usize = 5;

/// A property that is inconclusive in some sessions.
pub(super) struct OpenProperty<'a> {
    pub(super) property: &'a Property,
    /// Its place in the policy.
    place: usize,
    /// How many sessions it is inconclusive in.
    pub(super) sessions: usize,
    /// The first of these sessions.
    first: &'a SessionReport,
    /// The file and the line of the first reason in that session; without a known reason, where the session began.
    pub(super) source: (&'a str, u32),
    reason: Option<OpenReason<'a>>,
}

/// Why a property is inconclusive in a session.
enum OpenReason<'a> {
    /// A fact that it asks for is unknown.
    Unknown(&'a str),
    /// Events are missing, or could not be judged in their place.
    Gap,
}

/// Returns the properties that are inconclusive in some session, in the order of the policy.
pub(super) fn find_open(report: &Report) -> Vec<OpenProperty<'_>> {
    let mut open: Vec<OpenProperty<'_>> = Vec::new();
    let mut places: Vec<Option<usize>> = vec![None; report.properties.len()];
    for session in report.sessions.iter() {
        for (place, outcome) in session.outcomes.iter().enumerate().take(places.len()) {
            if !outcome.is_judged || outcome.is_broken() || outcome.verdict != Verdict::Inconclusive {
                continue;
            }
            match places[place] {
                Some(known) => open[known].sessions += 1,
                None => {
                    places[place] = Some(open.len());
                    open.push(OpenProperty::new(report, place, session));
                }
            }
        }
    }
    open.sort_by_key(|open| open.place);
    open
}

/// Describes the properties that are inconclusive, those with the same sessions and reason in one sentence. The rest
/// beyond a few sentences is counted.
pub(super) fn describe_inconclusive(report: &Report) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for open in find_open(report) {
        let (description, name) = (open.describe(), escape_hidden(&open.property.id).into_owned());
        match groups.iter_mut().find(|(known, _)| *known == description) {
            Some((_, names)) => names.push(name),
            None => groups.push((description, vec![name])),
        }
    }
    let more = match groups.iter().skip(MAX_DESCRIBED).map(|(_, names)| names.len()).sum::<usize>() {
        0 => None,
        1 => Some("1 more property is inconclusive".to_owned()),
        more => Some(format!("{} more properties are inconclusive", group_digits(more as u64))),
    };
    let described = groups.into_iter().take(MAX_DESCRIBED).map(|(description, names)| match &names[..] {
        [name] => format!("{name} is {description}"),
        _ => {
            let count = group_digits(names.len() as u64);
            format!("{count} properties are {description}: {}", join_some(names.into_iter()))
        }
    });
    described.chain(more).collect()
}

/// Describes what a report leaves open: see [`Report::describe_doubts`].
pub(super) fn describe_doubts(report: &Report) -> Vec<String> {
    let mut doubts = describe_inconclusive(report);
    let is_torn = |session: &&SessionReport| session.gaps.iter().any(|gap| gap.cause.is_serious());
    let torn = report.sessions.iter().filter(is_torn).count();
    if torn > 0 {
        doubts.push(format!("events are missing or out of place in {}", format_count(torn as u64, "session")));
    }
    doubts
}

/// Describes what guards did, what is inconclusive, how many witnesses are incomplete, and what was not put to the test:
/// the notes of the summary.
pub(super) fn describe_notes(report: &Report) -> Vec<String> {
    [
        describe_interruption(report),
        describe_guarding(report),
        describe_inconclusive(report),
        describe_incomplete_witnesses(report),
        describe_coverage(report),
    ]
    .concat()
}

/// Describes what an audit that was stopped left out.
fn describe_interruption(report: &Report) -> Vec<String> {
    let Some(interruption) = report.interruption else { return Vec::new() };
    let unread = "the audit was stopped: the rest of the logs is not judged, and sessions are judged up to there, without \
                  their ends";
    let mut notes = Vec::new();
    if interruption.has_unread_logs {
        notes.push(unread.to_owned());
    }
    if interruption.unexplained > 0 {
        let sessions = format_count(interruption.unexplained as u64, "session");
        notes.push(format!("the audit was stopped: the findings of {sessions} with violations are not listed"));
    }
    notes
}

/// Describes how many findings have a witness whose search was cut short.
fn describe_incomplete_witnesses(report: &Report) -> Vec<String> {
    let is_cut = |finding: &&Finding| finding.basis != WitnessBasis::Proof && finding.risk.is_none();
    match report.findings.iter().filter(is_cut).count() {
        0 => Vec::new(),
        count => {
            let findings = format_count(count as u64, "finding");
            vec![format!("the witnesses of {findings} are incomplete: their search reached its budget")]
        }
    }
}

impl<'a> OpenProperty<'a> {
    fn new(report: &'a Report, place: usize, first: &'a SessionReport) -> OpenProperty<'a> {
        let property = &report.properties[place];
        let is_native = |file: &&super::FileReport| file.name == first.file && file.format == Format::Native;
        let spans_files = report.files.iter().any(|file| is_native(&file));
        let asked = report.coverage.unknown.iter().filter(|unknown| unknown.properties.contains(&property.id));
        let unknown = asked
            .filter_map(|unknown| Some((unknown.find_place(&first.name, &first.file, spans_files)?, unknown)))
            .min_by_key(|((_, line), _)| *line);
        let gap = first.gaps.iter().find(|gap| gap.cause.is_serious());
        let (source, reason) = match (unknown, gap) {
            (Some((source, unknown)), _) => (source, Some(OpenReason::Unknown(&unknown.fact))),
            (None, Some(gap)) => ((&*gap.source.file, gap.source.line), Some(OpenReason::Gap)),
            (None, None) => ((&*first.file, 0), None),
        };
        OpenProperty { property, place, sessions: 1, first, source, reason }
    }

    /// Describes where it is inconclusive, and why: "inconclusive in 1 session, first in session a
    /// (log.jsonl:7), since …".
    pub(super) fn describe(&self) -> String {
        let (file, line) = self.source;
        let (sessions, place) = (format_count(self.sessions as u64, "session"), format_place(file, line));
        let reason = match self.reason {
            Some(OpenReason::Unknown(fact)) => format!(", since `{}` is unknown", escape_hidden(fact)),
            Some(OpenReason::Gap) => ", since events are missing or out of place".to_owned(),
            None => String::new(),
        };
        let first = match *self.first.name == *self.first.file {
            true => place,
            false => format!("session {} ({place})", escape_hidden(&self.first.name)),
        };
        format!("inconclusive in {sessions}, first in {first}{reason}")
    }
}
