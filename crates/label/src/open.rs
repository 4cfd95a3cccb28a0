//! Opens the labelers that a policy declares.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lictor_event::labeler::{Labeler, Labelers};
use lictor_json::Text;
use lictor_logic::Span;
use lictor_policy::{LabelAllowance, LabelerDefinition, LabelerSource, Policy, Problem};

use crate::budget::{Budget, BudgetLimits, BudgetedLabeler, MeteredLabeler, SpendingCap};
use crate::cache::{AnswerCache, AnswerStore};
use crate::calibrated::{CalibratedLabeler, DriftStore};
use crate::calibration::Calibration;
use crate::connection::{ConnectionOptions, LabelerError};
use crate::endpoint::{EndpointLabeler, EndpointOptions};
use crate::file_kind::describe_missing;
use crate::learnt::{ANY_FACT, LabelModel, LearntLabeler};
use crate::meter::LabelCounts;
use crate::person::PersonLabeler;
use crate::service::{PresidioLabeler, PresidioOptions, ServiceLabeler, ServiceOptions};

/// The version of a service for which the policy names none.
const FIRST_VERSION: &str = "1";

/// How the labelers of a policy are opened.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    store: Option<Arc<dyn AnswerStore>>,
    has_person: bool,
    is_live: bool,
    is_offline: bool,
    drift: Option<Arc<dyn DriftStore>>,
}

impl OpenOptions {
    /// Sets the store that keeps answers when the process ends; without one they are kept in memory.
    #[must_use]
    pub fn store(self, store: Arc<dyn AnswerStore>) -> OpenOptions {
        OpenOptions { store: Some(store), ..self }
    }

    /// Sets that events are asked about as they happen: drift is watched for, and a server that does not answer is not
    /// asked for a while.
    #[must_use]
    pub fn live(self) -> OpenOptions {
        OpenOptions { is_live: true, ..self }
    }

    /// Sets the store that keeps the counts of drift when the process ends.
    #[must_use]
    pub fn drift_store(self, store: Arc<dyn DriftStore>) -> OpenOptions {
        OpenOptions { drift: Some(store), ..self }
    }

    /// Sets that no labeler is asked: only answers in the store count.
    #[must_use]
    pub fn offline(self) -> OpenOptions {
        OpenOptions { is_offline: true, ..self }
    }

    /// Sets that a person sits at the terminal and can be asked. By default the facts stay unknown.
    #[must_use]
    pub fn person(self) -> OpenOptions {
        OpenOptions { has_person: true, ..self }
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenOptions { store, has_person, is_live, is_offline, drift } = self;
        let mut shown = f.debug_struct("OpenOptions");
        shown.field("store", &store.is_some()).field("has_person", has_person);
        shown.field("is_live", is_live).field("is_offline", is_offline).field("drift", &drift.is_some()).finish()
    }
}

/// The opened labelers of a policy, and what they count.
#[derive(Debug, Default)]
pub struct OpenedLabelers {
    /// The labelers by name.
    pub labelers: Labelers,
    metered: Vec<(Text, MeteredSource)>,
    calibrated: Vec<(Text, Arc<CalibratedLabeler>)>,
}

struct MeteredSource(Arc<dyn MeteredLabeler>);

impl fmt::Debug for MeteredSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.version().fmt(f)
    }
}

impl OpenedLabelers {
    /// Returns what each labeler that is asked over the network counted: requests, tokens, failures.
    pub fn counts(&self) -> Vec<(Text, LabelCounts)> {
        self.metered.iter().map(|(name, source)| (name.clone(), source.0.counters().read())).collect()
    }

    /// Returns each labeler and fact whose live answers are watched, and whether those of a tenant have drifted away from the
    /// calibration, so that its chances are suspended.
    pub fn drift(&self, tenant: &str) -> Vec<(Text, Text, bool)> {
        let of_labeler = |(name, labeler): &(Text, Arc<CalibratedLabeler>)| {
            let name = name.clone();
            labeler.drift(tenant).into_iter().map(move |(fact, is_suspended)| (name.clone(), fact, is_suspended))
        };
        self.calibrated.iter().flat_map(of_labeler).collect()
    }
}

/// Opens the labelers of a policy. Models and calibrations are looked for beside the file that names them.
///
/// # Errors
///
/// A model or calibration cannot be read, a calibration is of another labeler, or a property has a risk that rests on a
/// calibration that failed its check.
pub fn open_labelers(policy: &Policy, options: &OpenOptions) -> Result<OpenedLabelers, Vec<Problem>> {
    let (mut opened, mut list, mut problems) = (OpenedLabelers::default(), Vec::new(), Vec::new());
    let shared = Arc::new(Budget::new(limits(policy, None)));
    for definition in &policy.labelers {
        match open_labeler(policy, definition, options, &shared, &mut opened) {
            Ok(Some(labeler)) => list.push((definition.name.clone(), labeler)),
            Ok(None) => {}
            Err(message) => {
                let (message, hint) = match message.split_once("\nhint: ") {
                    Some((message, hint)) => (message, Some(hint.to_owned())),
                    None => (message.as_str(), None),
                };
                let message = format!("the labeler `{}` cannot be used: {message}", definition.name);
                let mut problem = Problem::new(&definition.place, "policy.labeler", message);
                problem.hint = hint;
                problems.push(problem);
            }
        }
    }
    opened.labelers = Labelers::new(list);
    if problems.is_empty() { Ok(opened) } else { Err(problems) }
}

fn open_labeler(
    policy: &Policy,
    definition: &LabelerDefinition,
    options: &OpenOptions,
    shared: &Arc<Budget>,
    opened: &mut OpenedLabelers,
) -> Result<Option<Arc<dyn Labeler>>, String> {
    let name = definition.name.as_str();
    let folder = Path::new(&*definition.place.file).parent().unwrap_or(Path::new(""));
    let connection = |url: &str, key: Option<&str>| {
        let mut connection = ConnectionOptions::new(url).breaks_circuit(options.is_live);
        if let Some(timeout) = definition.timeout {
            connection = connection.timeout(duration(timeout));
        }
        key.map_or(connection.clone(), |key| connection.key_variable(key))
    };
    let refuse = |error: LabelerError| error.to_string();
    let asked: Option<Arc<dyn MeteredLabeler>> = match &definition.source {
        LabelerSource::Endpoint { url, model, key } => {
            let options = EndpointOptions::new(name, model.as_str(), connection(url, key.as_deref()));
            Some(Arc::new(EndpointLabeler::new(options).map_err(refuse)?))
        }
        LabelerSource::Service { url, version, key } => {
            let version = version.as_deref().unwrap_or(FIRST_VERSION);
            let options = ServiceOptions::new(name, version, connection(url, key.as_deref()));
            Some(Arc::new(ServiceLabeler::new(options).map_err(refuse)?))
        }
        LabelerSource::Presidio { url, entities, version } => {
            let entities: Vec<&str> = entities.iter().map(Text::as_str).collect();
            let version = version.as_deref().unwrap_or(FIRST_VERSION);
            let mut options = PresidioOptions::new(name, connection(url, None)).service_version(version);
            for fact in facts_by(policy, name) {
                options = options.entities(fact, &entities);
            }
            Some(Arc::new(PresidioLabeler::new(options).map_err(refuse)?))
        }
        _ => None,
    };
    let labeler: Option<Arc<dyn Labeler>> = match (asked, &definition.source) {
        (Some(asked), _) => {
            let own = |calls| Arc::new(Budget::new(limits(policy, Some(calls))));
            let budget = definition.calls_per_hour.map_or_else(|| Arc::clone(shared), own);
            opened.metered.push((definition.name.clone(), MeteredSource(Arc::clone(&asked))));
            Some(options.remember(Arc::new(BudgetedLabeler::new(asked, budget))))
        }
        (None, LabelerSource::Learnt(model)) => {
            let reference = match model.starts_with("builtin:") {
                true => model.to_string(),
                false => folder.join(model.as_str()).display().to_string(),
            };
            let model = LabelModel::load(&reference).map_err(|error| error.to_string())?;
            check_model(policy, name, &model)?;
            let labeler: Arc<dyn Labeler> = Arc::new(LearntLabeler::new(model).named(name));
            Some(if options.store.is_some() { options.remember(labeler) } else { labeler })
        }
        // Without a person at the terminal, what the person answered before still counts, if a file has kept it.
        (None, LabelerSource::Person) if !options.is_live => {
            let is_offline = options.is_offline || !options.has_person;
            let options = OpenOptions { is_offline, ..options.clone() };
            Some(options.remember(Arc::new(PersonLabeler::at_terminal(name))))
        }
        (None, _) => None,
    };
    let Some(file) = &definition.calibration else { return Ok(labeler) };
    let calibration = read_calibration(&folder.join(file.as_str()))?;
    let calibration = match &labeler {
        Some(labeler) => calibration.for_labeler(labeler.version()).map_err(|error| error.to_string())?,
        None => calibration,
    };
    check_risks(policy, name, &calibration)?;
    let calibrated = match labeler {
        Some(labeler) => CalibratedLabeler::new(labeler, calibration),
        None => CalibratedLabeler::of_logs(calibration),
    };
    let store = options.drift.as_ref().map(|store| (definition.name.clone(), Arc::clone(store)));
    let calibrated = Arc::new(if options.is_live { calibrated.watching(store) } else { calibrated });
    opened.calibrated.push((definition.name.clone(), Arc::clone(&calibrated)));
    Ok(Some(calibrated))
}

impl OpenOptions {
    /// Returns a labeler that remembers its answers.
    fn remember(&self, labeler: Arc<dyn Labeler>) -> Arc<dyn Labeler> {
        let cache = AnswerCache::new(labeler);
        let cache = match &self.store {
            Some(store) => cache.store(Arc::clone(store)),
            None => cache,
        };
        Arc::new(if self.is_offline { cache.offline() } else { cache })
    }
}

/// Checks that a model was learnt for the facts that it is asked for.
fn check_model(policy: &Policy, labeler: &str, model: &LabelModel) -> Result<(), String> {
    let known: Vec<&str> = model.facts().map(|(fact, _, _)| fact).collect();
    match facts_by(policy, labeler).find(|fact| !known.contains(fact) && !known.contains(&ANY_FACT)) {
        Some(fact) => Err(format!("it was not learnt for `{fact}`\nhint: it knows {}", known.join(", "))),
        None => Ok(()),
    }
}

fn read_calibration(path: &Path) -> Result<Calibration, String> {
    let missing = |error| describe_missing(&error, "lictor learn calibration SAMPLE -o FILE");
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {}", path.display(), missing(error)))?;
    Calibration::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Checks that every fact of this labeler that a risk rests on passed the check of its calibration.
fn check_risks(policy: &Policy, labeler: &str, calibration: &Calibration) -> Result<(), String> {
    for property in policy.properties.iter().filter(|property| property.risk.is_some()) {
        let names = property.fact_names();
        for fact in facts_by(policy, labeler).filter(|fact| names.contains(*fact)) {
            if !calibration.facts().any(|(known, _)| known == fact) {
                return Err(format!(
                    "`{}` has a risk, and the calibration has no `{fact}`\nhint: fit it on answers to `{fact}`",
                    property.id
                ));
            }
            if !calibration.has_passed(fact) {
                return Err(format!(
                    "`{}` has a risk, and the calibration did not pass its check for `{fact}`\nhint: \
                     label more examples and fit it again, or leave out `risk`",
                    property.id
                ));
            }
        }
    }
    Ok(())
}

/// Returns the facts that are asked of a labeler.
fn facts_by<'p>(policy: &'p Policy, labeler: &'p str) -> impl Iterator<Item = &'p str> {
    let is_asked = move |fact: &&lictor_policy::FactDefinition| {
        let mut questions = fact.cases.iter().filter_map(|case| case.ask.as_ref());
        questions.any(|question| question.by.as_deref() == Some(labeler))
    };
    policy.facts.iter().filter(is_asked).map(|fact| fact.name.as_str())
}

/// Returns the limits of a policy; a labeler with a limit of its own has an hour of its own.
fn limits(policy: &Policy, calls_per_hour: Option<u64>) -> BudgetLimits {
    let cap = |allowance: LabelAllowance| {
        let cap = SpendingCap::default();
        let cap = allowance.calls.map_or(cap, |calls| cap.calls(calls));
        let cap = allowance.tokens.map_or(cap, |tokens| cap.tokens(tokens));
        allowance.time.map_or(cap, |time| cap.time(duration(time)))
    };
    let hour = cap(policy.budget.hour);
    let hour = calls_per_hour.map_or(hour, |calls| hour.calls(calls));
    BudgetLimits::default().event(cap(policy.budget.event)).session(cap(policy.budget.session)).hour(hour)
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.0)
}

#[cfg(test)]
mod tests;
