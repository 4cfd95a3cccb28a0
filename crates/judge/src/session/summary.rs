//! The summary of a session: verdicts and step numbers, and no content.

use lictor_logic::Verdict;

use super::{Session, SessionError};
use crate::Judge;
use lictor_json::Text;

/// The summary of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The worst verdict of all properties: violated before inconclusive before satisfied.
    pub verdict: Verdict,
    /// How many events there were.
    pub steps: u32,
    /// The summary of each property.
    pub properties: Vec<PropertySummary>,
    /// The names of the violated properties.
    pub violations: Vec<Text>,
}

/// The summary of a property in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertySummary {
    /// Its name.
    pub id: Text,
    /// Its verdict.
    pub verdict: Verdict,
    /// What must still hold while the property is open, else its formula.
    pub formula: String,
    /// The step of the first violation, from one.
    pub violated_at_step: Option<u32>,
}

impl Session {
    /// Returns the summary now. An open obligation is inconclusive.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn report(&mut self, judge: &mut Judge) -> Result<SessionSummary, SessionError> {
        self.check_judge(judge)?;
        Ok(self.summary(judge, false))
    }

    /// Returns the summary if the session ended here. An open obligation is violated.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn report_at_end(&mut self, judge: &mut Judge) -> Result<SessionSummary, SessionError> {
        self.check_judge(judge)?;
        Ok(self.summary(judge, true))
    }

    fn summary(&mut self, judge: &mut Judge, at_end: bool) -> SessionSummary {
        let mut properties = Vec::new();
        for place in 0..judge.properties().len() {
            let verdict = match at_end {
                true => judge.end_verdict(&mut self.state, place),
                false => judge.live_verdict(&mut self.state, place),
            };
            let property = judge.properties()[place].clone();
            let residual = match verdict {
                Verdict::Inconclusive => judge.residual(&mut self.state, place).map(|(formula, _)| formula),
                Verdict::Satisfied | Verdict::Violated => None,
            };
            let tally = self.state.counts[place];
            let late = (verdict == Verdict::Violated).then_some(self.state.steps);
            properties.push(PropertySummary {
                id: property.id.clone(),
                verdict,
                formula: residual.unwrap_or_else(|| property.formula.to_string()),
                violated_at_step: if tally.count > 0 { Some(tally.first) } else { late },
            });
        }
        let worst = |wanted| properties.iter().any(|property| property.verdict == wanted);
        let verdict = match (worst(Verdict::Violated), worst(Verdict::Inconclusive)) {
            (true, _) => Verdict::Violated,
            (false, true) => Verdict::Inconclusive,
            (false, false) => Verdict::Satisfied,
        };
        let broken = properties.iter().filter(|property| property.verdict == Verdict::Violated);
        let violations = broken.map(|property| property.id.clone()).collect();
        SessionSummary { verdict, steps: self.state.steps, properties, violations }
    }
}
