//! Separates the findings that a person allowed when their event was decided.

use std::collections::HashMap;

use lictor_logic::Verdict;

use crate::guarded_log::{ApprovedFinding, GuardedLog};
use crate::report::{Report, SessionPlaces};

/// Moves the findings that a person allowed out of the findings, so that they count as no violation anywhere.
pub(crate) fn separate_approved(report: &mut Report, logs: &[GuardedLog]) {
    let findings = std::mem::take(&mut report.findings);
    for finding in findings {
        match logs.iter().find_map(|log| log.find_waiver(&finding)) {
            Some(waiver) => report.approved.push(ApprovedFinding { waiver: waiver.clone(), finding }),
            None => report.findings.push(finding),
        }
    }
    withdraw_violations(report);
    report.guarded = logs.to_vec();
}

/// Recounts the violations of sessions with approved findings.
fn withdraw_violations(report: &mut Report) {
    let places = SessionPlaces::new(&report.sessions);
    let mut left: HashMap<(usize, &str), Vec<u32>> = HashMap::new();
    for ApprovedFinding { finding, .. } in &report.approved {
        if let Some(session) = places.find(finding) {
            left.insert((session, finding.property.id.as_str()), Vec::new());
        }
    }
    for finding in &report.findings {
        let known = places.find(finding).and_then(|session| left.get_mut(&(session, finding.property.id.as_str())));
        if let Some(steps) = known {
            steps.push(finding.step);
        }
    }
    let mut recounted = Vec::with_capacity(left.len());
    for ((session, property), steps) in left {
        let place = report.properties.iter().position(|known| known.id == property);
        recounted.extend(place.map(|place| (session, place, steps)));
    }
    for (session, property, steps) in recounted {
        let Some(outcome) = report.sessions[session].outcomes.get_mut(property) else { continue };
        outcome.violations = u32::try_from(steps.len()).unwrap_or(u32::MAX);
        outcome.violated_at_step = steps.iter().min().copied();
        if steps.is_empty() && outcome.verdict == Verdict::Violated {
            outcome.verdict = Verdict::Satisfied;
        }
    }
}
