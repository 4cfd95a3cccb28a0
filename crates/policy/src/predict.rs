//! What a policy says about forecasts: how far to look ahead, and what to do about a risk.

use std::path::{Path, PathBuf};

use lictor_json::Text;
use lictor_logic::{Chance, Span};

use crate::fingerprint::hash_text;
use crate::place::Place;
use crate::property::Response;
use crate::resolver::read_text;

/// How violations are forecast, and what is done about them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PredictSettings {
    /// The file of the chain, as written; relative to the policy.
    pub chain: Option<Text>,
    /// A hash of that file as it was when the policy was loaded, so that another chain makes another policy; none if it could
    /// not be read.
    pub chain_hash: Option<Text>,
    /// Where forecasts come from: the chain first, since it makes no calls.
    pub by: Vec<ForecastSource>,
    /// How many actions of the agent to look ahead.
    pub within: u32,
    /// The probability of a violation from which on a reply is replaced, if a better one is found.
    pub risk: Chance,
    /// The probability of a violation, before the reply, from which on a streamed reply is held until it is complete, so
    /// that it can be replaced. None are held without it.
    pub hold: Option<Chance>,
    /// What happens if it is not known on which side of `risk` a forecast is.
    pub undecided: Undecided,
    /// What is tried, in this order.
    pub intervene: Vec<Intervention>,
    /// How many other replies are asked for at most.
    pub candidates: u32,
    /// Whether other replies are asked for one by one, until one is not risky; else all at once, and the best is taken.
    pub one_by_one: bool,
    /// How many plans the model is asked for at most, to score one reply.
    pub samples: u32,
    /// How many replies and plans are asked for in one session at most.
    pub session_calls: u32,
    /// How many replies and plans are asked for in one hour at most.
    pub hour_calls: Option<u32>,
    /// After how many tokens no more is asked for in a session.
    pub session_tokens: Option<u32>,
    /// After how much waiting no more is asked for, for one reply.
    pub time: Option<Span>,
    /// The model that is asked instead, for `switch`.
    pub model: Option<Text>,
    /// The properties that are forecast; all that are judged over sessions if there are none.
    pub properties: Vec<Text>,
    /// Its place in the policy.
    pub place: Place,
}

impl PredictSettings {
    /// Whether forecasts come from this source.
    pub fn is_by(&self, source: ForecastSource) -> bool {
        self.by.contains(&source)
    }

    /// Whether a forecast, its number and its upper end, is a reason to intervene. There may be none.
    pub fn is_risky(&self, forecast: Option<(f64, f64)>) -> bool {
        let threshold = self.risk.to_f64();
        match forecast {
            Some((_, most)) if most < threshold => false,
            Some((chance, _)) if chance >= threshold => true,
            Some(_) | None => self.undecided == Undecided::Intervene,
        }
    }

    /// Whether other replies are asked for.
    pub fn replaces_replies(&self) -> bool {
        self.intervene.iter().any(|by| by.asks_model())
    }

    /// Returns the response to a call that is risky, when nothing better was found; none if it is only left to the guard.
    pub fn call_response(&self) -> Option<Response> {
        self.intervene.iter().find_map(|by| match by {
            Intervention::Ask => Some(Response::Ask),
            Intervention::Stop => Some(Response::Block),
            Intervention::Inject | Intervention::Resample | Intervention::Switch => None,
        })
    }

    /// Returns the path of the chain; none if it names none.
    pub fn chain_path(&self) -> Option<PathBuf> {
        let folder = Path::new(&*self.place.file).parent().unwrap_or(Path::new(""));
        self.chain.as_ref().map(|chain| folder.join(chain.as_str()))
    }

    /// Reads the file of the chain. An error says what to do.
    pub fn read_chain(&self) -> Result<String, String> {
        let path = self.chain_path().unwrap_or_default();
        read_text(&path).map_err(|why| {
            format!("cannot read the chain {}: {why}\nhint: `lictor learn chain` writes one", path.display())
        })
    }

    /// Returns a hash of the file of the chain; none if it cannot be read.
    pub(crate) fn hash_chain(&self) -> Option<Text> {
        read_text(&self.chain_path()?).ok().map(|text| hash_text(&text).into())
    }
}

/// Where forecasts come from.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForecastSource {
    /// The chain that was learnt from logs.
    Chain,
    /// Plans that the model is asked for.
    Sample,
    /// How likely the model says it is. It only orders candidates.
    Stated,
}

impl ForecastSource {
    /// All of them, with their names in policies.
    pub const NAMES: [(ForecastSource, &'static str); 3] =
        [(ForecastSource::Chain, "chain"), (ForecastSource::Sample, "sample"), (ForecastSource::Stated, "stated")];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        ForecastSource::NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }
}

/// What happens if a forecast decides nothing.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undecided {
    /// The reply is forwarded to the guard.
    #[default]
    Forward,
    /// Other replies are tried.
    Intervene,
}

/// What is done about a reply that is risky. Reviewers are asked, and calls are stopped, after all else was tried.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intervention {
    /// The model is told what to mind, and asked again.
    Inject,
    /// The model is asked again.
    Resample,
    /// Another model is asked.
    Switch,
    /// The calls of the reply wait for a reviewer.
    Ask,
    /// The calls of the reply are blocked.
    Stop,
}

impl Intervention {
    /// All of them, with their names in policies.
    pub const NAMES: [(Intervention, &'static str); 5] = [
        (Intervention::Inject, "inject"),
        (Intervention::Resample, "resample"),
        (Intervention::Switch, "switch"),
        (Intervention::Ask, "ask"),
        (Intervention::Stop, "stop"),
    ];

    /// Whether it asks a model for another reply.
    pub fn asks_model(self) -> bool {
        !matches!(self, Intervention::Ask | Intervention::Stop)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Intervention::NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }
}
