//! Forecasts for sessions: what a chain says about the properties of a judge.

use std::fmt;
use std::sync::Arc;

use lictor_event::{Event, Kind};
use lictor_logic::{Atom, Facts, Monitor, Snapshot, Verdict};
use lictor_policy::{ForecastSource, History, Mode, Policy, PredictSettings, Problem};
use lictor_predict::{Chain, ChainError, ChainPlace, Forecast, Outlook, Predictor, SOME_VIOLATION, Score, Step};

use crate::decision::ForecastObjection;
use crate::label::collect_atoms;
use crate::session::{Proposal, Session, SessionError};
use crate::{Follower, Judge};

/// How many events before the next one a forecast looks at.
const RECENT_EVENTS: usize = 24;

/// The most rules that a model is reminded of.
const MAX_ADVICE: usize = 8;

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

/// Returns an event as chains read it.
fn as_step(kind: &Kind, tool: Option<&str>, facts: Facts) -> Step {
    let is_action = matches!(kind, Kind::ToolCall | Kind::AssistantMessage | Kind::Handoff);
    Step { kind: kind.name().into(), tool: tool.map(Arc::from), facts, is_action }
}

impl Judge {
    /// Returns the facts that the formulas of the policy ask for.
    fn atoms(&self) -> Vec<Atom> {
        let mut atoms = Vec::new();
        for parsed in &self.prepared().formulas {
            collect_atoms(&parsed.arena, parsed.formula, true, &mut atoms);
        }
        let mut atoms: Vec<Atom> = atoms.into_iter().map(|(atom, _)| atom).collect();
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

    /// Returns the properties that a chain can forecast, by number.
    pub fn predictable_properties(&self, chain: &Arc<Chain>) -> Vec<usize> {
        let can_be = |place: &usize| self.predictor(chain, &[*place], SOME_VIOLATION, 1).is_ok();
        (0..self.properties().len()).filter(can_be).collect()
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
        let mut monitors = Vec::with_capacity(properties.len());
        for place in properties.iter().copied() {
            let (property, parsed) = (&prepared.properties[place], &prepared.formulas[place]);
            if property.history != History::Session {
                return refuse(format!(
                    "`{}` cannot be forecast: it is judged over more than one session",
                    property.id
                ));
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

/// Forecasts for the replies of a guard's sessions, as its policy says.
#[derive(Debug)]
pub struct Foresight {
    /// None if replies are scored by plans of the model only.
    predictor: Option<Predictor>,
    /// The properties that are forecast, by number.
    properties: Vec<usize>,
    settings: PredictSettings,
}

impl Foresight {
    /// Returns the forecasts that a policy asks for, by the chain if it names one; none if it asks for none.
    ///
    /// # Errors
    ///
    /// The chain cannot be read, or what the policy names cannot be forecast by it.
    pub fn open(judge: &Judge, policy: &Policy) -> Result<Option<Foresight>, Box<Problem>> {
        let Some(settings) = &policy.predict else { return Ok(None) };
        let refuse = |message: String| Box::new(Problem::new(&settings.place, "policy.predict", message));
        let mut chain = None;
        if settings.is_by(ForecastSource::Chain) {
            let text = settings.read_chain().map_err(refuse)?;
            let name = settings.chain.as_deref().unwrap_or_default();
            chain = Some(Arc::new(Chain::parse(&text).map_err(|error| refuse(format!("`{name}`: {error}")))?));
        }
        let foresight = Foresight::new(judge, settings, chain.as_ref());
        foresight.map(Some).map_err(|error| refuse(error.to_string()))
    }

    /// Returns the forecasts that a policy asks for, by a chain if there is one.
    ///
    /// # Errors
    ///
    /// A property that the policy names cannot be forecast, or none can.
    pub fn new(
        judge: &Judge,
        settings: &PredictSettings,
        chain: Option<&Arc<Chain>>,
    ) -> Result<Foresight, ForesightError> {
        let all = judge.properties();
        let mut properties = Vec::new();
        for name in &settings.properties {
            match all.iter().position(|property| property.id == *name) {
                Some(place) => properties.push(place),
                None => return Err(ForesightError { message: format!("there is no property `{name}` to forecast") }),
            }
        }
        if properties.is_empty() {
            // A property in shadow mode only reports.
            let can_be = |place: &usize| all[*place].mode == Mode::Enforce;
            properties = match chain {
                Some(chain) => judge.predictable_properties(chain).into_iter().filter(can_be).collect(),
                None => {
                    let is_single = |place: &usize| all[*place].history == History::Session;
                    (0..all.len()).filter(can_be).filter(is_single).collect()
                }
            };
        }
        let Some(chain) = chain else {
            let of_many = |place: &&usize| all[**place].history != History::Session;
            let message = match (properties.iter().find(of_many), properties.is_empty()) {
                (Some(place), _) => {
                    format!("`{}` cannot be forecast: it is judged over more than one session", all[*place].id)
                }
                (None, true) => "no property of the policy is judged over single sessions".to_owned(),
                (None, false) => return Ok(Foresight { predictor: None, properties, settings: settings.clone() }),
            };
            return Err(ForesightError { message });
        };
        if properties.is_empty() {
            let message = "no property of the policy can be forecast by its chain\n\
                           hint: learn it again with this policy: `lictor learn chain`";
            return Err(ForesightError { message: message.to_owned() });
        }
        let predictor = judge.predictor(chain, &properties, SOME_VIOLATION, settings.within)?;
        Ok(Foresight { predictor: Some(predictor), properties, settings: settings.clone() })
    }

    /// Returns whether one of the events of a reply violates a property that is forecast, and the score of the reply: the
    /// worst if one does, else the forecast behind them. There is no score without a chain, or if the session is unlike
    /// what the chain was learnt from.
    pub(crate) fn score(&mut self, judge: &mut Judge, session: &Session, events: &[Event]) -> (bool, Option<Score>) {
        let mut fork = session.fork();
        for event in events {
            let proposal = fork.make_proposal(judge, event);
            let is_followed = |finding: &crate::finding::Finding| {
                self.properties.iter().any(|place| judge.properties()[*place].id == finding.property.id)
            };
            if proposal.findings.iter().any(is_followed) {
                return (true, Some(Score::WORST));
            }
            fork.accept(judge, proposal);
        }
        let outlook = self.predictor.as_mut().and_then(|predictor| fork.forecast(judge, predictor).ok());
        let score = |forecast: &Forecast| Score { most: forecast.most, chance: forecast.chance };
        (false, outlook.as_ref().and_then(Outlook::forecast).map(score))
    }

    /// Returns the objection to a call that probably leads to a violation, if the policy has a response to such calls.
    pub(crate) fn find_objection(
        &mut self,
        judge: &mut Judge,
        session: &Session,
        event: &Event,
    ) -> Option<ForecastObjection> {
        let response = self.settings.call_response().filter(|_| event.kind == Kind::ToolCall)?;
        let (_, score) = self.score(judge, session, std::slice::from_ref(event));
        if !self.settings.is_risky(score.map(|score| (score.chance, score.most))) {
            return None;
        }
        let properties = self.properties.iter().map(|place| Arc::clone(&judge.properties()[*place])).collect();
        Some(ForecastObjection { response, score, within: self.settings.within, properties })
    }

    /// Returns what to mind, for the model: what the properties that are forecast ask for.
    pub(crate) fn advice(&self, judge: &Judge) -> String {
        let says = |place: &usize| {
            let property = &judge.properties()[*place];
            format!("- {}", property.remedy.as_ref().unwrap_or(&property.says))
        };
        let lines: Vec<String> = self.properties.iter().take(MAX_ADVICE).map(says).collect();
        format!("Before the next step, mind these rules:\n{}", lines.join("\n"))
    }
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
