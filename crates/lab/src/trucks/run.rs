//! Runs: the client and the agent, with a real guard and a real exchange between them.
//!
//! The guard only observes. So a difference between two strategies comes from the replies that were replaced, and from
//! nothing else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lictor::event::Event;
use lictor::guard::{Capabilities, Decision, Guard, GuardOptions, Preview, ReplyScores};
use lictor::guidance::{Guidance, GuidanceQuery};
use lictor::judge::{Foresight, Judge};
use lictor::policy::{FileResolver, Policy};
use lictor::predict::Chain;
use lictor_exchange::{ExchangeOptions, LocalDecider, LocalExchange, LocalReply, LocalSessions};
use lictor_wire::Api;
use serde_json::{Map, Value};

use super::agent::{CAREFUL_MODEL, TruckAgent};
use super::client::{RunScore, TruckClient};

/// The properties, without forecasts.
pub const POLICY: &str = include_str!("policy.yaml");

/// How many actions a forecast looks ahead.
const WITHIN: u32 = 3;

/// How many other replies are asked for at most.
const CANDIDATES: u32 = 5;

/// The forecast before a reply from which on its stream is held, so that it can be replaced.
const HOLD: f64 = 0.05;

/// A session never runs out of calls, so that all strategies act until its end.
const SESSION_CALLS: u32 = 1000;

/// What is done about a risk.
// Exhaustive on purpose: every strategy is a row of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Nothing.
    None,
    /// The model is reminded of the properties, and asked once more.
    Inject,
    /// The model is asked five more times.
    Resample,
    /// The model is asked up to five more times, until a reply is not risky.
    OneByOne,
    /// A more careful model is asked once.
    Switch,
}

impl Strategy {
    /// All of them, with their names in tables.
    pub const ALL: [(Strategy, &'static str); 5] = [
        (Strategy::None, "none"),
        (Strategy::Inject, "inject"),
        (Strategy::Resample, "resample"),
        (Strategy::OneByOne, "one-by-one"),
        (Strategy::Switch, "switch"),
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Strategy::ALL.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// Returns the policy for it. `chain` is the name of the chain's file.
    pub fn policy(self, threshold: f64, chain: &str) -> String {
        let way = match self {
            Strategy::None => return POLICY.to_owned(),
            Strategy::Inject => "intervene: [inject]".to_owned(),
            Strategy::Resample => "intervene: [resample]".to_owned(),
            Strategy::OneByOne => "intervene: [resample]\n  one_by_one: true".to_owned(),
            Strategy::Switch => format!("intervene: [switch]\n  model: {CAREFUL_MODEL}"),
        };
        format!(
            "{POLICY}predict:\n  chain: {chain}\n  within: {WITHIN}\n  risk: {threshold}\n  hold: {HOLD}\n  {way}\n  \
             candidates: {CANDIDATES}\n  session_calls: {SESSION_CALLS}\n"
        )
    }
}

/// One run, as it was and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// What truly happened.
    pub score: RunScore,
    /// The replies that the client got.
    pub replies: u64,
    /// The replies that were asked for besides.
    pub extra_calls: u64,
    /// How often the client waited for the model; replies that are asked for at once are waited for once.
    pub waits: u64,
    /// The replies that were replaced.
    pub replaced: u64,
    /// The tokens of all calls.
    pub tokens: u64,
    /// The tokens, each at the price of its model.
    pub cost: f64,
}

/// Runs with one strategy at one threshold.
#[derive(Debug)]
pub struct TruckRuns {
    decider: RecordingGuard,
    sessions: LocalSessions,
    options: ExchangeOptions,
    agent: TruckAgent,
    exchanges: u64,
    /// How often the agent was waited for.
    waits: u64,
}

impl TruckRuns {
    /// Prepares runs. Strategies other than none need a chain.
    ///
    /// # Errors
    ///
    /// The policy and the chain do not fit each other. The message says so.
    pub fn new(strategy: Strategy, threshold: f64, chain: Option<&Arc<Chain>>) -> Result<TruckRuns, String> {
        let policy = parse_policy(&strategy.policy(threshold, "chain.json"))?;
        let judge = compile(&policy)?;
        let mut options = ExchangeOptions::default();
        options.interventions = policy.predict.clone().map(Arc::new);
        let foresight = match (&policy.predict, chain) {
            (Some(settings), Some(chain)) => {
                Some(Foresight::new(&judge, settings, Some(chain)).map_err(|error| error.to_string())?)
            }
            (Some(_), None) => return Err(format!("`{}` needs a chain", strategy.name())),
            (None, _) => None,
        };
        let guard = Guard::new(judge, GuardOptions::default()).foreseeing(foresight);
        let decider = RecordingGuard { guard, events: Vec::new(), replaced: 0 };
        Ok(TruckRuns {
            decider,
            sessions: LocalSessions::default(),
            options,
            agent: TruckAgent::default(),
            exchanges: 0,
            waits: 0,
        })
    }

    /// Runs the world of a seed to its end. Returns the record, and the events that the guard saw.
    ///
    /// # Errors
    ///
    /// A request or a reply was refused: a mistake in the lab. The message says which.
    pub fn run(&mut self, seed: u64, temperature: f64) -> Result<(RunRecord, Vec<Event>), String> {
        let mut client = TruckClient::new(seed, temperature);
        let session = format!("run-{seed}");
        // Each run asks an agent that has no memory of others, as the same seed may be run again.
        self.agent = TruckAgent::default();
        self.decider.replaced = 0;
        self.waits = 0;
        let mut replies = 0;
        while !client.is_over() {
            let reply = self.exchange(&session, Bytes::from(client.request().to_string()))?;
            replies += 1;
            client.read_reply(&reply);
        }
        self.decider.guard.finish(&session);
        self.sessions.forget(&session);
        let usage = self.agent.usage();
        let record = RunRecord {
            score: client.score(),
            replies,
            extra_calls: usage.calls - replies,
            waits: self.waits,
            replaced: self.decider.replaced,
            tokens: usage.tokens,
            cost: usage.cost,
        };
        Ok((record, std::mem::take(&mut self.decider.events)))
    }

    /// Sends a request to the agent through an exchange. Returns the reply that the client gets.
    fn exchange(&mut self, session: &str, request: Bytes) -> Result<Value, String> {
        self.exchanges += 1;
        let id = format!("{:032x}", self.exchanges);
        let mut exchange = LocalExchange::new(Api::Chat, id, session.to_owned(), self.options.clone());
        let refused = |failure: lictor_exchange::ExchangeFailure| format!("{}: {}", failure.code, failure.message);
        let next = exchange.request((&mut self.sessions, &mut self.decider), request).map_err(refused)?;
        let first = self.complete(&[next])?.remove(0);
        let mut step = exchange.reply((&mut self.sessions, &mut self.decider), first).map_err(refused)?;
        loop {
            let asked = match step {
                LocalReply::Body(body) => {
                    return serde_json::from_slice(&body).map_err(|error| format!("the reply is no JSON: {error}"));
                }
                LocalReply::AskAgain(request) => {
                    let reply = self.complete(&[request])?.remove(0);
                    exchange.reply((&mut self.sessions, &mut self.decider), reply)
                }
                LocalReply::AskAll { requests, .. } => {
                    let replies = self.complete(&requests)?.into_iter().map(Some).collect();
                    exchange.replies((&mut self.sessions, &mut self.decider), replies, Duration::ZERO)
                }
            };
            step = asked.map_err(refused)?;
        }
    }

    /// Asks the agent for replies to several requests at once.
    fn complete(&mut self, requests: &[Bytes]) -> Result<Vec<Bytes>, String> {
        self.waits += 1;
        requests.iter().map(|request| Ok(Bytes::from(self.agent.complete_chat(request)?.to_string()))).collect()
    }
}

/// Learns a chain from runs in which nothing intervenes, as `lictor learn chain` does from logs.
///
/// # Errors
///
/// There are too few runs, or a run failed.
pub fn learn_chain(seeds: impl IntoIterator<Item = u64>, temperature: f64) -> Result<Chain, String> {
    let mut runs = TruckRuns::new(Strategy::None, 1.0, None)?;
    let mut judge = compile(&parse_policy(POLICY)?)?;
    let mut sessions: Vec<Vec<Event>> = Vec::new();
    for seed in seeds {
        sessions.push(runs.run(seed, temperature)?.1);
    }
    judge.learn_chain(sessions.iter().map(Vec::as_slice)).map_err(|error| error.to_string())
}

/// Reads a policy of this world.
///
/// # Errors
///
/// The policy has a mistake; the message names its place.
pub fn parse_policy(text: &str) -> Result<Policy, String> {
    let loaded = Policy::parse(text, "trucks.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    Ok(loaded.policy)
}

/// Compiles a policy of this world.
///
/// # Errors
///
/// The policy cannot be compiled; the message says why.
pub fn compile(policy: &Policy) -> Result<Judge, String> {
    let say = |problems: Vec<lictor::policy::Problem>| {
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    Judge::new(policy).map_err(say)
}

/// A guard that keeps the events it decides on, and counts replaced replies.
#[derive(Debug)]
struct RecordingGuard {
    guard: Guard,
    events: Vec<Event>,
    replaced: u64,
}

impl LocalDecider for RecordingGuard {
    fn decide(&mut self, event: Event, capabilities: Capabilities) -> Result<Arc<Decision>, String> {
        self.events.push(event.clone());
        LocalDecider::decide(&mut self.guard, event, capabilities)
    }

    fn preview(&mut self, event: &Event) -> Result<Preview, String> {
        LocalDecider::preview(&mut self.guard, event)
    }

    fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, String> {
        LocalDecider::score(&mut self.guard, session, replies)
    }

    fn guide(&mut self, session: &str, query: &GuidanceQuery) -> Result<Guidance, String> {
        LocalDecider::guide(&mut self.guard, session, query)
    }

    fn is_pending(&mut self, session: &str, id: &str) -> Result<bool, String> {
        LocalDecider::is_pending(&mut self.guard, session, id)
    }

    fn note(&mut self, record: Map<String, Value>) -> Result<(), String> {
        let is_taken = record.get("taken").is_some_and(|taken| !taken.is_null());
        self.replaced += u64::from(record.get("type").is_some_and(|kind| kind == "intervention") && is_taken);
        Ok(())
    }
}
