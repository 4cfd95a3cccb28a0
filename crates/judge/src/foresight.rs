//! Forecasts for sessions: what a chain says about the properties of a judge.

use std::fmt;
use std::sync::Arc;

use lictor_event::{Event, Kind};
use lictor_logic::{Arena, Atom, Facts, Formula, Monitor, Snapshot, Term, Value, Verdict};
use lictor_policy::{ForecastSource, History, Mode, Policy, PredictSettings, Problem, Property};
use lictor_predict::{Chain, ChainError, ChainPlace, Forecast, Outlook, Predictor, SOME_VIOLATION, Score, Step};

use crate::decision::{Decision, ForecastObjection};
use crate::label::collect_atoms;
use crate::property_text::describe_property;
use crate::session::{Proposal, Session, SessionError};
use crate::{Follower, Judge};

/// How many events before the next one a forecast looks at.
const RECENT_EVENTS: usize = 24;

/// The most rules that a model is reminded of.
const MAX_ADVICE: usize = 8;

/// Properties that are less likely violated than this are not named as being at risk.
const MIN_NAMED_CHANCE: f64 = 0.01;

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
    fn find_unseen_tool(&self, place: usize, chain: &Chain) -> Option<ForesightError> {
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

    fn single_session_properties(&self) -> impl Iterator<Item = usize> {
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

/// Forecasts for the replies of a guard's sessions, as its policy says.
#[derive(Debug)]
pub struct Foresight {
    /// The forecast of a violation of any property; none if replies are scored by plans of the model only.
    predictor: Option<Predictor>,
    /// The properties that are forecast, by number.
    properties: Vec<usize>,
    /// The forecast of each of them alone, which says what is at risk; none without a chain.
    of_properties: Vec<Predictor>,
    notes: Vec<ForesightError>,
    settings: PredictSettings,
}

/// A session as a reply would leave it.
pub(crate) struct ReplyOutlook {
    after: Session,
    /// The properties that are forecast and that the reply itself violates, by number.
    pub(crate) violated: Vec<usize>,
    pub(crate) score: Option<Score>,
}

/// A property at risk, and how likely it is violated.
pub(crate) type PropertyRisk = (Arc<Property>, f64);

impl Foresight {
    /// Returns the forecasts that a policy asks for, by the chain if it names one; none if it asks for none.
    ///
    /// # Errors
    ///
    /// The chain cannot be read, or what the policy names cannot be forecast by it.
    pub fn open(judge: &Judge, policy: &Policy) -> Result<Option<Foresight>, Box<Problem>> {
        let Some(settings) = &policy.predict else { return Ok(None) };
        let refuse = |message: String| {
            let problem = |message: &str| Problem::new(&settings.place, "policy.predict", message);
            Box::new(match message.split_once("\nhint: ") {
                Some((message, hint)) => problem(message).with_hint(hint),
                None => problem(&message),
            })
        };
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
        let refuse = |message: String| Err(ForesightError { message });
        let all = judge.properties();
        let mut properties = Vec::new();
        for name in &settings.properties {
            match all.iter().position(|property| property.id == *name) {
                Some(place) if all[place].history != History::Session => return refuse(describe_many_sessions(name)),
                Some(place) => properties.push(place),
                None => return refuse(format!("there is no property `{name}` to forecast")),
            }
        }
        let mut notes = Vec::new();
        if properties.is_empty() {
            (properties, notes) = match chain {
                Some(chain) => judge.predictable_properties(chain),
                None => (judge.single_session_properties().collect(), Vec::new()),
            };
            // A property in shadow mode only reports.
            properties.retain(|place| all[*place].mode == Mode::Enforce);
        }
        if properties.is_empty() {
            return refuse(match chain {
                Some(_) => "no property of the policy can be forecast by its chain\n\
                            hint: learn it again with this policy: `lictor learn chain`"
                    .to_owned(),
                None => "no property of the policy is judged over single sessions".to_owned(),
            });
        }
        let (mut predictor, mut of_properties) = (None, Vec::new());
        if let Some(chain) = chain {
            let foresee = |places: &[usize]| judge.predictor(chain, places, SOME_VIOLATION, settings.within);
            predictor = Some(foresee(&properties)?);
            of_properties = properties.iter().map(|place| foresee(&[*place])).collect::<Result<_, _>>()?;
            notes.extend(properties.iter().filter_map(|place| judge.find_unseen_tool(*place, chain)));
        }
        Ok(Foresight { predictor, properties, of_properties, notes, settings: settings.clone() })
    }

    /// Returns what the author of the policy should know: why properties are not forecast, unless the policy chose those
    /// that are, and which tools the chain has never seen.
    pub fn notes(&self) -> &[ForesightError] {
        &self.notes
    }

    /// Notes the objection to a call that probably leads to a violation, if the policy has a response to such calls.
    pub(crate) fn note_objection(&mut self, judge: &mut Judge, session: &Session, decision: &mut Decision) {
        let response = self.settings.call_response().filter(|_| decision.event.kind == Kind::ToolCall);
        let Some(response) = response else { return };
        let event = &decision.event;
        let mut outlook = self.look_behind(judge, session, std::slice::from_ref(event));
        decision.is_unforeseen = outlook.score.is_none();
        if decision.is_unforeseen {
            outlook.score = self.estimate(judge, &outlook.after);
        }
        if self.is_risky(outlook.score) {
            let properties = self.find_risks(judge, &outlook).into_iter().map(|(property, _)| property).collect();
            let within = self.settings.within;
            decision.forecast = Some(ForecastObjection { response, score: outlook.score, within, properties });
        }
    }

    /// Returns the properties that a reply puts at risk, the most likely violation first; none if the reply is not risky.
    pub(crate) fn find_risks(&mut self, judge: &Judge, outlook: &ReplyOutlook) -> Vec<PropertyRisk> {
        if !self.is_risky(outlook.score) {
            return Vec::new();
        }
        let mut risks: Vec<(usize, f64)> = outlook.violated.iter().map(|place| (*place, 1.0)).collect();
        if risks.is_empty() {
            for (place, predictor) in self.properties.iter().zip(&mut self.of_properties) {
                risks.push((*place, outlook.after.estimate(judge, predictor).unwrap_or(0.0)));
            }
            risks.retain(|(_, chance)| *chance >= MIN_NAMED_CHANCE);
            risks.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        }
        risks.into_iter().map(|(place, chance)| (Arc::clone(&judge.properties()[place]), chance)).collect()
    }

    /// Returns what to mind, for the model: what the properties at risk ask for, or all that are forecast if that is not
    /// known.
    pub(crate) fn advice(&self, judge: &Judge, risks: &[PropertyRisk]) -> String {
        let all = || self.properties.iter().map(|place| &judge.properties()[*place]);
        let rules: Vec<&Arc<Property>> = match risks {
            [] => all().collect(),
            risks => risks.iter().map(|(property, _)| property).collect(),
        };
        let lines: Vec<String> =
            rules.into_iter().take(MAX_ADVICE).map(|property| format!("- {}", describe_property(property))).collect();
        format!("Before the next step, mind these rules:\n{}", lines.join("\n"))
    }

    /// Returns the score of a session that is out of model, if it is a reason to stop a call: a session must not become
    /// unforeseeable by talk and failed attempts.
    fn estimate(&mut self, judge: &Judge, session: &Session) -> Option<Score> {
        let chance = session.estimate(judge, self.predictor.as_mut()?)?;
        // Its upper end does not hold, so it is never a reason to let the call pass.
        (chance >= self.settings.risk.to_f64()).then_some(Score { most: 1.0, chance })
    }

    fn is_risky(&self, score: Option<Score>) -> bool {
        self.settings.is_risky(score.map(|score| (score.chance, score.most)))
    }

    /// Looks behind the events of a reply: the score is the worst if one of them violates a property, else the forecast. There
    /// is no score without a chain, or if the session is unlike what the chain was learnt from.
    pub(crate) fn look_behind(&mut self, judge: &mut Judge, session: &Session, events: &[Event]) -> ReplyOutlook {
        let mut after = session.fork();
        for event in events {
            let proposal = after.make_proposal(judge, event);
            let is_violated = |place: &usize| {
                let property = &judge.properties()[*place];
                proposal.findings.iter().any(|finding| finding.property.id == property.id)
            };
            let violated: Vec<usize> = self.properties.iter().copied().filter(is_violated).collect();
            if !violated.is_empty() {
                return ReplyOutlook { after, violated, score: Some(Score::WORST) };
            }
            after.accept(judge, proposal);
        }
        let outlook = self.predictor.as_mut().and_then(|predictor| after.forecast(judge, predictor).ok());
        let score = |forecast: &Forecast| Score { most: forecast.most, chance: forecast.chance };
        let score = outlook.as_ref().and_then(Outlook::forecast).map(score);
        ReplyOutlook { after, violated: Vec::new(), score }
    }
}

/// Returns why a property over several sessions cannot be forecast.
fn describe_many_sessions(id: &str) -> String {
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
    fn estimate(&self, judge: &Judge, predictor: &mut Predictor) -> Option<f64> {
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
