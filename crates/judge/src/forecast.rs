//! Forecasts for sessions: what a chain says about the properties of a judge.

use std::fmt;
use std::sync::Arc;

use lictor_event::{Event, Kind};
use lictor_logic::{Arena, Atom, Facts, Formula, Monitor, Snapshot, Term, Value, Verdict};
use lictor_policy::History;
use lictor_predict::{Chain, ChainError, ChainPlace, Outlook, Predictor, SOME_VIOLATION, Step};

use crate::facts::collect_atoms;
use crate::session::{Proposal, Session, SessionError};
use crate::{Follower, Judge};

/// How many events before the next one a forecast looks at.
const RECENT_EVENTS: usize = 24;

/// Why a property cannot be forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForesightError {
    message: String,
}

impl fmt::Display for ForesightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ForesightError {}

impl ForesightError {
    pub(crate) fn new(message: impl Into<String>) -> ForesightError {
        ForesightError { message: message.into() }
    }
}

/// Returns an event as chains read it.
fn as_step(kind: &Kind, tool: Option<&str>, facts: Facts) -> Step {
    let is_action = matches!(kind, Kind::ToolCall | Kind::AssistantMessage | Kind::Handoff);
    Step { kind: kind.name().into(), tool: tool.map(Arc::from), facts, is_action }
}

impl Judge {
    /// Returns the facts that the formulas of the policy ask for.
    fn atoms(&self) -> Vec<Atom> {
        let formulas = self.prepared().formulas.iter();
        let mut atoms: Vec<Atom> = formulas.flat_map(|parsed| list_atoms(&parsed.arena, parsed.formula)).collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// Learns from whole sessions how their events follow each other.
    ///
    /// # Errors
    ///
    /// There are too few sessions, or too many classes of events.
    pub fn learn_chain<'a>(&mut self, sessions: impl IntoIterator<Item = &'a [Event]>) -> Result<Chain, ChainError> {
        let atoms = self.atoms();
        let read = |events: &'a [Event]| -> Vec<Step> {
            let mut follower = self.follow();
            events.iter().map(|event| follower.read_step(event)).collect()
        };
        let steps: Vec<Vec<Step>> = sessions.into_iter().map(read).collect();
        Chain::learn(&steps, &atoms)
    }

    /// Returns the properties that a chain can forecast, by number, and why it cannot forecast the others.
    pub fn predictable_properties(&self, chain: &Arc<Chain>) -> (Vec<usize>, Vec<ForesightError>) {
        let (mut predictable, mut left_out) = (Vec::new(), Vec::new());
        for place in 0..self.properties().len() {
            match self.predictor(chain, &[place], SOME_VIOLATION, 1) {
                Ok(_) => predictable.push(place),
                Err(error) => left_out.push(error),
            }
        }
        (predictable, left_out)
    }

    /// Returns a note about a tool that a property names and a chain never saw.
    pub(crate) fn find_unseen_tool(&self, place: usize, chain: &Chain) -> Option<ForesightError> {
        let (property, parsed) = (&self.prepared().properties[place], &self.prepared().formulas[place]);
        let atoms = list_atoms(&parsed.arena, parsed.formula);
        let unseen = atoms.iter().find_map(|atom| match atom.terms.first() {
            Some(Term::Value(Value::Text(tool))) if &*atom.name == "tool_call" && !chain.knows_tool(tool) => Some(tool),
            _ => None,
        })?;
        let message = format!(
            "`{}` asks for `{unseen}`, which no log had that the chain was learnt from: it is never forecast",
            property.id
        );
        Some(ForesightError { message })
    }

    pub(crate) fn single_session_properties(&self) -> impl Iterator<Item = usize> {
        let is_single = |place: &usize| self.properties()[*place].history == History::Session;
        (0..self.properties().len()).filter(is_single)
    }

    /// Returns a predictor for some properties, by number, and a pattern over their verdicts.
    ///
    /// # Errors
    ///
    /// The pattern is no formula; the chain does not know a fact that a property asks for; or a property is judged over
    /// more than one session.
    pub fn predictor(
        &self,
        chain: &Arc<Chain>,
        properties: &[usize],
        pattern: &str,
        within: u32,
    ) -> Result<Predictor, ForesightError> {
        let prepared = self.prepared();
        let refuse = |message: String| Err(ForesightError { message });
        let chosen = || properties.iter().map(|place| prepared.properties[*place].id.as_str());
        if let Some(wrong) = find_foreign_atom(pattern, chosen) {
            return refuse(format!(
                "the pattern asks for `{wrong}`, which no forecast has\n\
                 hint: it may ask for violated(\"ID\") and satisfied(\"ID\") of the properties that are forecast"
            ));
        }
        let mut monitors = Vec::with_capacity(properties.len());
        for place in properties.iter().copied() {
            let (property, parsed) = (&prepared.properties[place], &prepared.formulas[place]);
            if property.history != History::Session {
                return refuse(describe_many_sessions(&property.id));
            }
            if let Some(name) = parsed.names().iter().find(|name| !chain.knows(name)) {
                return refuse(format!(
                    "`{}` cannot be forecast: the chain was learnt without the fact `{name}`\n\
                     hint: learn it again with this policy: `lictor learn chain`",
                    property.id
                ));
            }
            match Monitor::with_after(&parsed.arena, parsed.formula, parsed.after) {
                Ok(monitor) => monitors.push((property.id.as_str(), monitor)),
                Err(error) => return refuse(format!("`{}` cannot be forecast: {error}", property.id)),
            }
        }
        Predictor::new(Arc::clone(chain), &monitors, pattern, within)
            .map_err(|error| ForesightError { message: format!("the pattern `{pattern}` is no formula: {error}") })
    }
}

/// Returns a fact of a pattern that is no verdict on one of these properties.
fn find_foreign_atom<'a, I: Iterator<Item = &'a str>>(pattern: &str, properties: impl Fn() -> I) -> Option<Atom> {
    let mut arena = Arena::new();
    // What is no formula is refused by what follows.
    let formula = arena.parse(pattern).ok()?;
    let is_verdict = |atom: &Atom| {
        let is_of_one = match atom.terms.first() {
            Some(Term::Value(Value::Text(name))) => properties().any(|id| *id == **name),
            Some(Term::Value(_)) => false,
            Some(Term::Any | Term::Var(_)) | None => true,
        };
        matches!(&*atom.name, "violated" | "satisfied") && atom.terms.len() <= 1 && is_of_one
    };
    list_atoms(&arena, formula).into_iter().find(|atom| !is_verdict(atom))
}

/// Returns the facts that a formula asks for.
fn list_atoms(arena: &Arena, formula: Formula) -> Vec<Atom> {
    let mut atoms = Vec::new();
    collect_atoms(arena, formula, true, &mut atoms);
    atoms.into_iter().map(|(atom, _)| atom).collect()
}

/// Returns why a property over several sessions cannot be forecast.
pub(crate) fn describe_many_sessions(id: &str) -> String {
    format!("`{id}` cannot be forecast: it is judged over more than one session")
}

impl Follower<'_> {
    /// Advances the session by an event, and returns the event as chains read it.
    pub fn read_step(&mut self, event: &Event) -> Step {
        self.advance(event);
        as_step(&event.kind, event.tool.as_deref(), self.last_facts(event.time))
    }

    /// Returns the states of the properties, to forecast from.
    pub fn snapshot(&self) -> Snapshot {
        self.judge.save_monitors(&self.state.standing)
    }
}

impl Session {
    /// Returns the last events as chains read them, the oldest first.
    fn recent_steps(&self, judge: &Judge) -> Vec<Step> {
        let names = &judge.prepared().plan.names;
        let recent = self.trail().recent_events(RECENT_EVENTS, names);
        recent.into_iter().map(|(summary, facts)| as_step(&summary.kind, summary.tool.as_deref(), facts)).collect()
    }

    fn chain_place(&self, judge: &Judge, chain: &Chain) -> ChainPlace {
        let mut place = chain.start();
        self.recent_steps(judge).iter().for_each(|step| chain.follow(&mut place, step));
        place
    }

    /// Returns the number that a chain has from here on, even out of model.
    pub(crate) fn estimate(&self, judge: &Judge, predictor: &mut Predictor) -> Option<f64> {
        let place = self.chain_place(judge, predictor.chain());
        let snapshot = judge.save_monitors(&self.state().standing);
        predictor.estimate(&snapshot, &place, &[]).ok().map(|estimate| estimate.chance)
    }

    /// Returns a forecast from here on.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn forecast(&self, judge: &Judge, predictor: &mut Predictor) -> Result<Outlook, SessionError> {
        self.check_judge(judge)?;
        let place = self.chain_place(judge, predictor.chain());
        let snapshot = judge.save_monitors(&self.state().standing);
        // INVARIANT: a snapshot that was just taken is valid.
        Ok(predictor.forecast(&snapshot, &place, &[]).unwrap_or(Outlook::OutOfModel))
    }

    /// Returns a forecast from a proposed event on. What the event itself would violate counts.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge, or the proposal to another state of it.
    pub fn forecast_upon(
        &self,
        judge: &Judge,
        predictor: &mut Predictor,
        proposal: &Proposal,
    ) -> Result<Outlook, SessionError> {
        self.check_judge(judge)?;
        let base = self.base_of(proposal)?;
        let mut place = base.chain_place(judge, predictor.chain());
        let (summary, labeled) = (&proposal.summary, &proposal.labeled);
        let facts = labeled.labels.facts(summary.time, &judge.prepared().plan.names);
        predictor.chain().follow(&mut place, &as_step(&summary.kind, summary.tool.as_deref(), facts));
        let snapshot = judge.save_monitors(&proposal.standing);
        let violated = |finding: &crate::finding::Finding| (finding.property.id.clone(), Verdict::Violated);
        let present: Vec<_> = proposal.findings.iter().map(violated).collect();
        let present: Vec<(&str, Verdict)> = present.iter().map(|(id, verdict)| (id.as_str(), *verdict)).collect();
        Ok(predictor.forecast(&snapshot, &place, &present).unwrap_or(Outlook::OutOfModel))
    }
}
