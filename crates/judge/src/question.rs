//! The questions of a policy about an event, as far as their answers can still change a verdict.

use std::sync::Arc;

use lictor_event::labeler::{Question, name_of};
use lictor_event::{Answer, Event, Kind};
use lictor_logic::{After, Fact, Facts};

use crate::label::NameId;
use crate::session::{Session, SessionError};
use crate::{Judge, LabeledEvent, SessionState};

impl Session {
    /// Returns the questions about an event whose answers can still change a verdict, for the labelers that the policy
    /// names. What they answered already is not asked again.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn questions(&self, judge: &mut Judge, event: &Event) -> Result<Vec<Question>, SessionError> {
        self.check_judge(judge)?;
        Ok(judge.find_questions(self.state(), event, true))
    }
}

impl Judge {
    /// Returns the questions about the next event of a session whose answers can still change a verdict.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn questions(&mut self, state: &SessionState, event: &Event) -> Result<Vec<Question>, SessionError> {
        match self.owns(state) {
            true => Ok(self.find_questions(state, event, true)),
            false => Err(SessionError::foreign_judge(None)),
        }
    }

    /// Returns all open questions about the next event of a session, whether they can change a verdict or not.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn all_questions(&mut self, state: &SessionState, event: &Event) -> Result<Vec<Question>, SessionError> {
        match self.owns(state) {
            true => Ok(self.find_questions(state, event, false)),
            false => Err(SessionError::foreign_judge(None)),
        }
    }

    /// How many events before a question looks back at most.
    pub fn question_window(&self) -> usize {
        let windows = self.prepared().plan.questions.iter().map(|(_, question)| question.window as usize);
        windows.max().unwrap_or(0)
    }

    /// Returns the open questions about an event. If it is not the next one, what happens before it may give any of them
    /// a meaning, so all of them are returned.
    pub(crate) fn find_questions(&mut self, state: &SessionState, event: &Event, is_next: bool) -> Vec<Question> {
        if self.prepared().plan.questions.is_empty() {
            return Vec::new();
        }
        let plan = &self.prepared().plan;
        let tool = match event.kind {
            Kind::ToolResult => event.tool.as_deref().or_else(|| state.context.answered_tool(event)),
            _ => event.tool.as_deref(),
        };
        // Only the labeler itself settles its question: what a log says of the fact may be the excuse of a liar.
        let open = plan.questions.iter().filter(|(case, question)| {
            let is_own = |answer: &Answer| {
                answer.fact == question.fact && answer.by.as_deref().is_some_and(|by| name_of(by) == question.by)
            };
            plan.cases[*case as usize].is_at(&event.kind, tool) && !event.answers.iter().any(is_own)
        });
        let open: Vec<(NameId, Question)> =
            open.map(|(case, question)| (plan.cases[*case as usize].name(), question.clone())).collect();
        if open.is_empty() || !is_next {
            return open.into_iter().map(|(_, question)| question).collect();
        }
        let labeled = self.label(state, event);
        let facts: Vec<Fact> = open.iter().map(|(_, question)| question.fact.clone()).collect();
        let names: Vec<NameId> = open.iter().map(|(name, _)| *name).collect();
        let matters = self.find_relevant(state, &labeled, &names, &facts);
        self.recycle(labeled.labels, labeled.observation);
        open.into_iter().zip(matters).filter(|(_, matters)| *matters).map(|((_, question), _)| question).collect()
    }
}

impl Judge {
    /// Whether each open fact of an event can still change a verdict.
    fn find_relevant(
        &mut self,
        state: &SessionState,
        event: &LabeledEvent,
        names: &[NameId],
        open: &[Fact],
    ) -> Vec<bool> {
        let prepared = Arc::clone(self.prepared());
        let mut matters = vec![false; open.len()];
        let facts = event.labels.facts(event.observation.time, &prepared.plan.names);
        for (property, asked) in prepared.asked.iter().enumerate() {
            let is_asked: Vec<bool> = names.iter().map(|name| asked.contains(name)).collect();
            // A finding that only reports is still a finding; one that was final changes no more.
            let is_final = prepared.formulas[property].after == After::Latch && state.counts[property].count > 0;
            if is_final || state.is_lost(property) || !is_asked.contains(&true) {
                continue;
            }
            let relevant = self.find_relevant_to(property, state, &facts, open);
            for (matters, is_relevant) in matters.iter_mut().zip(relevant) {
                *matters |= is_relevant;
            }
        }
        matters
    }

    /// Whether each open fact can change what becomes of one property.
    fn find_relevant_to(&mut self, property: usize, state: &SessionState, facts: &Facts, open: &[Fact]) -> Vec<bool> {
        match self.monitor(property) {
            _ if self.has_risk(&state.beliefs, property) => {
                self.risks.find_relevant(&state.beliefs, property, facts, open)
            }
            Some(id) => self.group.find_relevant(&state.standing, id, facts, open),
            // Which history it belongs to is known only after it was judged.
            None => vec![true; open.len()],
        }
    }
}
