//! Compares two audits of the same logs, to show what a change of the policy changes.

use std::collections::HashSet;

use crate::report::Report;
use lictor_judge::finding::Finding;

/// The findings of two audits.
#[derive(Debug)]
pub struct AuditComparison<'a> {
    /// Findings of the new audit only.
    pub appear: Vec<&'a Finding>,
    /// Findings of the old audit only.
    pub vanish: Vec<&'a Finding>,
    /// Findings of both.
    pub stay: Vec<&'a Finding>,
}

impl<'a> AuditComparison<'a> {
    /// Compares two audits of the same logs. A finding is the same if the same property, by its name, is violated by
    /// the same event of the same session for the same values.
    pub fn new(old: &'a Report, new: &'a Report) -> AuditComparison<'a> {
        let prints = |report: &'a Report| -> HashSet<&'a str> {
            report.findings.iter().map(|finding| finding.fingerprint.as_str()).collect()
        };
        let (before, after) = (prints(old), prints(new));
        let is_new = |finding: &&Finding| !before.contains(finding.fingerprint.as_str());
        AuditComparison {
            appear: new.findings.iter().filter(is_new).collect(),
            vanish: old.findings.iter().filter(|finding| !after.contains(finding.fingerprint.as_str())).collect(),
            stay: new.findings.iter().filter(|finding| !is_new(finding)).collect(),
        }
    }

    /// Whether both have the same findings.
    pub fn is_equal(&self) -> bool {
        self.appear.is_empty() && self.vanish.is_empty()
    }
}
