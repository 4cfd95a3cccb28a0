//! Forecasts for the replies of a guard, as its policy asks for them: what a reply leads to, and which properties it puts at
//! risk.

use std::sync::Arc;

use lictor_event::{Event, Kind};
use lictor_policy::{ForecastSource, History, Mode, Policy, PredictSettings, Problem, Property};
use lictor_predict::{Chain, Forecast, Outlook, Predictor, SOME_VIOLATION, Score};

use crate::Judge;
use crate::decision::{Decision, ForecastObjection};
use crate::forecast::{ForesightError, describe_many_sessions};
use crate::property_text::describe_property;
use crate::session::Session;

/// The most rules that a model is reminded of.
const MAX_ADVICE: usize = 8;

/// Properties that are less likely violated than this are not named as being at risk.
const MIN_NAMED_CHANCE: f64 = 0.01;

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
        let refuse = |message: String| Err(ForesightError::new(message));
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
