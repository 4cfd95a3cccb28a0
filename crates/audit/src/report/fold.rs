//! Findings that repeat: shown once for each session, and a few sessions for each property.

use std::collections::HashMap;

use lictor_judge::finding::Finding;

use super::totals::group_findings;

/// Findings of one property in one session.
pub(super) struct FoldedFindings<'a> {
    /// Those of the first event; they differ only in their values.
    pub(super) first: Vec<&'a Finding>,
    /// The steps of later events with such findings.
    pub(super) later_steps: Vec<u32>,
}

/// The findings of a report that are shown, and how many are not.
pub(super) struct ShownFindings<'a> {
    pub(super) shown: Vec<FoldedFindings<'a>>,
    /// For each property with more: how many findings, and how many sessions they are in.
    pub(super) hidden: Vec<(&'a str, usize, usize)>,
}

/// Folds findings, with at most so many sessions for each property; none shows all of them by themselves.
pub(super) fn fold_findings(findings: &[Finding], max_sessions: Option<usize>) -> ShownFindings<'_> {
    let Some(max_sessions) = max_sessions else {
        let alone = |first| FoldedFindings { first, later_steps: Vec::new() };
        return ShownFindings { shown: group_findings(findings).into_iter().map(alone).collect(), hidden: Vec::new() };
    };
    let mut folded: Vec<FoldedFindings<'_>> = Vec::new();
    let mut places: HashMap<(&str, &str, &str, Option<&str>), usize> = HashMap::new();
    let mut sessions: HashMap<(&str, Option<&str>), usize> = HashMap::new();
    let mut hidden: Vec<(&str, usize, usize)> = Vec::new();
    let mut is_hidden: HashMap<(&str, &str, &str, Option<&str>), usize> = HashMap::new();
    for group in group_findings(findings) {
        let Some(first) = group.first() else { continue };
        let (id, suppressed) = (first.property.id.as_str(), first.suppressed.as_deref());
        let key = (id, first.session.as_str(), &*first.source.file, suppressed);
        if let Some(&place) = places.get(&key) {
            folded[place].later_steps.push(first.step);
            continue;
        }
        if let Some(&place) = is_hidden.get(&key) {
            hidden[place].1 += group.len();
            continue;
        }
        let count = sessions.entry((id, suppressed)).or_default();
        *count += 1;
        if *count <= max_sessions {
            places.insert(key, folded.len());
            folded.push(FoldedFindings { first: group, later_steps: Vec::new() });
            continue;
        }
        let place = match hidden.iter().position(|(property, ..)| *property == id) {
            Some(place) => place,
            None => {
                hidden.push((id, 0, 0));
                hidden.len() - 1
            }
        };
        hidden[place].1 += group.len();
        hidden[place].2 += 1;
        is_hidden.insert(key, place);
    }
    ShownFindings { shown: folded, hidden }
}
