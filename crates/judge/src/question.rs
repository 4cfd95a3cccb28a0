//! The questions of a policy about an event, as far as their answers can still change a verdict.

use std::borrow::Cow;
use std::sync::Arc;

use lictor_event::labeler::{Question, name_of};
use lictor_event::{Answer, Event, Kind};
use lictor_logic::{After, Fact, Facts, Verdict};

use crate::facts::NameId;
use crate::prepared::PreparedPolicy;
use crate::session::{Session, SessionError};
use crate::{Judge, LabeledEvent, SessionState};

/// Which of the open questions about an event are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    /// All. If an event is not the next one, what happens before it may give any question a meaning.
    All,
    /// Those whose answers can still change a verdict.
    Relevant,
    /// Those of them that cannot wait for later events.
    Urgent,
    /// Those that matter to some properties, by number.
    About(&'a [usize]),
}

impl SessionState {
    /// Whether nothing changes what became of a property: a finding that only reports is still a finding, one that was
    /// final changes no more.
    fn is_final(&self, prepared: &PreparedPolicy, property: usize) -> bool {
        prepared.formulas[property].after == After::Latch && self.counts[property].count > 0
    }
}

impl Session {
    /// Returns the questions about an event whose answers can still change a verdict, for the labelers that the policy
    /// names. What they answered already is not asked again.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn questions(&self, judge: &mut Judge, event: &Event) -> Result<Vec<Question>, SessionError> {
        self.check_judge(judge)?;
        Ok(judge.find_questions(self.state(), event, Asked::Relevant))
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
            true => Ok(self.find_questions(state, event, Asked::Relevant)),
            false => Err(SessionError::foreign_judge(None)),
        }
    }

    /// Returns those of the [questions](Judge::questions) that cannot wait: about properties with a risk, with deadlines or
    /// over several sessions, whose verdicts do not say that they hang on an answer to come; and about facts that the event
    /// states itself, because the statement would pass for an answer.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn urgent_questions(&mut self, state: &SessionState, event: &Event) -> Result<Vec<Question>, SessionError> {
        if !self.owns(state) {
            return Err(SessionError::foreign_judge(None));
        }
        let mut questions = self.find_questions(state, event, Asked::Urgent);
        if !(event.labels.is_empty() && event.answers.is_empty() && event.facts.is_empty()) {
            let stated = self.find_questions(state, event, Asked::Relevant);
            let is_new = |question: &Question| states(event, &question.fact.name) && !questions.contains(question);
            let stated: Vec<Question> = stated.into_iter().filter(is_new).collect();
            questions.extend(stated);
        }
        Ok(questions)
    }

    /// Returns those of the [questions](Judge::questions) that matter to some properties, by number.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn questions_about(
        &mut self,
        state: &SessionState,
        event: &Event,
        properties: &[usize],
    ) -> Result<Vec<Question>, SessionError> {
        match self.owns(state) {
            true => Ok(self.find_questions(state, event, Asked::About(properties))),
            false => Err(SessionError::foreign_judge(None)),
        }
    }

    /// Returns the properties that ask labelers, by number, of which it is unknown what becomes of them if the session
    /// ends here.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn find_unknown_ends(&mut self, state: &mut SessionState) -> Result<Vec<usize>, SessionError> {
        if !self.owns(state) {
            return Err(SessionError::foreign_judge(None));
        }
        let prepared = Arc::clone(self.prepared());
        let is_unknown = |property: &usize| match self.monitor(*property) {
            Some(id) if !prepared.asked(*property).is_empty() && !state.is_final(&prepared, *property) => {
                self.group.end(&mut state.standing, id) == Verdict::Inconclusive
            }
            _ => false,
        };
        Ok((0..prepared.properties.len()).filter(is_unknown).collect())
    }

    /// Returns all open questions about the next event of a session, whether they can change a verdict or not.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn all_questions(&mut self, state: &SessionState, event: &Event) -> Result<Vec<Question>, SessionError> {
        match self.owns(state) {
            true => Ok(self.find_questions(state, event, Asked::All)),
            false => Err(SessionError::foreign_judge(None)),
        }
    }

    /// Whether an answer about the next event of a session counts: the policy asks for the fact there, and of the labeler
    /// that answered. A fact without questions takes every answer.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn takes_answer(&self, state: &SessionState, event: &Event, answer: &Answer) -> Result<bool, SessionError> {
        if !self.owns(state) {
            return Err(SessionError::foreign_judge(None));
        }
        let plan = &self.prepared().plan;
        let tool = find_tool(state, event);
        let name = plan.id(&answer.fact.name);
        Ok(name.is_none_or(|name| plan.takes_answer(name, answer, event.judged_kind(), tool)))
    }

    /// Returns the questions of the policy.
    pub fn policy_questions(&self) -> impl Iterator<Item = &Question> {
        self.prepared().plan.questions.iter().map(|(_, question)| question)
    }

    /// How many events before a question looks back at most.
    pub fn question_window(&self) -> usize {
        let windows = self.prepared().plan.questions.iter().map(|(_, question)| question.window as usize);
        windows.max().unwrap_or(0)
    }

    /// Returns open questions about an event.
    pub(crate) fn find_questions(&mut self, state: &SessionState, event: &Event, asked: Asked<'_>) -> Vec<Question> {
        if self.prepared().plan.questions.is_empty() {
            return Vec::new();
        }
        let plan = &self.prepared().plan;
        let tool = find_tool(state, event);
        // A turn that a program wrote, or without a letter, is no word of the user: facts about those do not hold there.
        let kind = event.judged_kind();
        // Only the labeler itself settles its question: what a log says of the fact may be the excuse of a liar.
        let open = plan.questions.iter().filter(|(case, question)| {
            let is_own = |answer: &Answer| {
                answer.fact == question.fact && answer.by.as_deref().is_some_and(|by| name_of(by) == question.by)
            };
            plan.cases[*case as usize].is_at(kind, tool) && !event.answers.iter().any(is_own)
        });
        let open: Vec<(NameId, Question)> =
            open.map(|(case, question)| (plan.cases[*case as usize].name(), question.clone())).collect();
        if open.is_empty() || asked == Asked::All {
            return open.into_iter().map(|(_, question)| question).collect();
        }
        let labeled = self.label(state, &without_statements(event, &open));
        let facts: Vec<Fact> = open.iter().map(|(_, question)| question.fact.clone()).collect();
        let names: Vec<NameId> = open.iter().map(|(name, _)| *name).collect();
        let matters = self.find_relevant(state, &labeled, &names, &facts, asked);
        self.recycle(labeled.labels, labeled.observation);
        open.into_iter().zip(matters).filter(|(_, matters)| *matters).map(|((_, question), _)| question).collect()
    }
}

/// Returns the tool of an event; that of a result may be named by its call only.
fn find_tool<'e>(state: &'e SessionState, event: &'e Event) -> Option<&'e str> {
    match event.kind {
        Kind::ToolResult => event.tool.as_deref().or_else(|| state.context.answered_tool(event)),
        _ => event.tool.as_deref(),
    }
}

/// Whether an event says of a fact that it holds, or that it does not.
fn states(event: &Event, fact: &str) -> bool {
    event.labels.iter().any(|label| stated_name(label) == fact)
        || event.answers.iter().any(|answer| *answer.fact.name == *fact)
        || event.facts.iter().any(|stated| *stated.name == *fact)
}

/// Returns the name of the fact that a label states or denies.
fn stated_name(label: &str) -> &str {
    let label = label.strip_prefix('!').unwrap_or(label);
    label.split_once('(').map_or(label, |(name, _)| name)
}

/// Returns an event without what it says itself of facts that are asked for: their labelers may say otherwise.
fn without_statements<'e>(event: &'e Event, open: &[(NameId, Question)]) -> Cow<'e, Event> {
    if !open.iter().any(|(_, question)| states(event, &question.fact.name)) {
        return Cow::Borrowed(event);
    }
    let is_kept = |name: &str| open.iter().all(|(_, question)| *question.fact.name != *name);
    let mut event = event.clone();
    event.labels.retain(|label| is_kept(stated_name(label)));
    event.answers.retain(|answer| is_kept(&answer.fact.name));
    event.facts.retain(|fact| is_kept(&fact.name));
    Cow::Owned(event)
}

impl Judge {
    /// Whether each open fact of an event can still change a verdict.
    fn find_relevant(
        &mut self,
        state: &SessionState,
        event: &LabeledEvent,
        names: &[NameId],
        open: &[Fact],
        asked: Asked<'_>,
    ) -> Vec<bool> {
        let prepared = Arc::clone(self.prepared());
        let mut matters = vec![false; open.len()];
        let facts = event.labels.facts(event.observation.time, &prepared.plan.names);
        for (property, of_property) in prepared.asked.iter().enumerate() {
            let is_asked: Vec<bool> = names.iter().map(|name| of_property.contains(name)).collect();
            if state.is_final(&prepared, property) || state.is_lost(property) || !is_asked.contains(&true) {
                continue;
            }
            let is_left_out = match asked {
                Asked::All | Asked::Relevant => false,
                Asked::Urgent => self.can_wait(property),
                Asked::About(properties) => !properties.contains(&property),
            };
            if is_left_out {
                continue;
            }
            let relevant = self.find_relevant_to(property, state, &facts, open);
            for (matters, is_relevant) in matters.iter_mut().zip(relevant) {
                *matters |= is_relevant;
            }
        }
        matters
    }

    /// Whether a property says at each event if its verdict hangs on an answer to come.
    fn can_wait(&self, property: usize) -> bool {
        let has_monitor = self.monitor(property).is_some() && !self.has_risk(property);
        has_monitor && !self.prepared().formulas[property].is_timed
    }

    /// Whether each open fact can change what becomes of one property.
    fn find_relevant_to(&mut self, property: usize, state: &SessionState, facts: &Facts, open: &[Fact]) -> Vec<bool> {
        match self.monitor(property) {
            _ if self.has_risk(property) => self.risks.find_relevant(&state.beliefs, property, facts, open),
            Some(id) => self.group.find_relevant(&state.standing, id, facts, open),
            // Which history it belongs to is known only after it was judged.
            None => vec![true; open.len()],
        }
    }
}
