//! A labeler that asks a language model behind any OpenAI-compatible chat endpoint.
//!
//! The questions about an event are one request, up to eight; more are split. The reply must be a JSON object with one
//! of three values for each question. Where the endpoint gives log probabilities, they make a score. The judged text is
//! enclosed as data, and two control questions with known answers go with each request. If one of them is answered
//! wrongly, or the reply does not parse, all answers of the request are unclear. Connections that fail, time out or are
//! refused make them failed. Neither is ever a *no*.
//!
//! ```no_run
//! use lictor_event::labeler::{Inquiry, Labeler, Question};
//! use lictor_event::{Event, Kind};
//! use lictor_label::connection::ConnectionOptions;
//! use lictor_label::endpoint::{EndpointLabeler, EndpointOptions};
//! use lictor_logic::Fact;
//!
//! let connection = ConnectionOptions::new("http://127.0.0.1:8080/v1");
//! let labeler = EndpointLabeler::new(EndpointOptions::new("small", "m", connection))?;
//! println!("the endpoint has {}", labeler.probe()?);
//!
//! let event = Event { text: Some("Pay, or I will find you".into()), ..Event::new(Kind::UserMessage) };
//! let questions = [Question::new(Fact::new("threatens", []), "the user threatens somebody")];
//! let answers = labeler.answer(&Inquiry::new(&event, &questions));
//! println!("{:?} with score {:?}", answers[0].says, answers[0].score);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod control;
mod draw;
mod features;
mod fence;
mod options;
mod parts;
mod probe;
mod prompt;
mod reply;
mod score;

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lictor_event::labeler::{Inquiry, Labeler, Question};
use lictor_event::{Answer, AnswerValue, Kind};

use self::draw::Draw;
pub use self::features::{EndpointProbe, OutputFormat};
pub use self::options::EndpointOptions;
use self::parts::{cut_text, join_parts};
use self::probe::probe_endpoint;
use self::prompt::{MAX_QUESTIONS, PROMPT_VERSION, Prompt, PromptContent};
use self::reply::{Reply, read_reply, read_tokens};
use crate::answer_key::hash_question;
use crate::budget::{Allowance, MeteredLabeler, fail_all};
use crate::clock::Deadline;
use crate::connection::{Connection, LabelerError, Slots};
use crate::event_text::{write_event_text, write_window};
use crate::meter::{LabelCounters, LabelCounts, LabelFailure, UNREAD_REPLY, WRONG_CONTROL};

/// Asks a model behind an endpoint.
#[derive(Debug)]
pub struct EndpointLabeler {
    options: EndpointOptions,
    version: String,
    connection: Connection,
    probe: Mutex<ProbeState>,
    probing: Slots,
}

/// What is known of the endpoint's features.
#[derive(Debug)]
enum ProbeState {
    Unknown,
    Found(EndpointProbe),
    /// The endpoint refused every form of request; it is not probed again before this time.
    Refused(Deadline),
}

/// How long an endpoint that refused a probe is left alone: a probe may take several requests.
const REFUSAL_TIME: Duration = Duration::from_secs(60);

/// An answer to one question before it has a name and a key.
type Value = (AnswerValue, Option<f64>);

impl EndpointLabeler {
    /// Returns a labeler. The endpoint is probed with the first inquiry, unless [`probe`](EndpointLabeler::probe) does
    /// it before.
    pub fn new(options: EndpointOptions) -> Result<EndpointLabeler, LabelerError> {
        if options.model.is_empty() {
            return Err(LabelerError::new("`model` is empty; name a model of the endpoint"));
        }
        let connection = Connection::open(&options.connection, "/chat/completions")?;
        let version = options.version(PROMPT_VERSION);
        Ok(EndpointLabeler {
            options,
            version,
            connection,
            probe: Mutex::new(ProbeState::Unknown),
            probing: Slots::new(1),
        })
    }

    /// Returns the labeler with the features that an earlier probe found.
    #[must_use]
    pub fn with_probe(self, probe: EndpointProbe) -> EndpointLabeler {
        EndpointLabeler { probe: Mutex::new(ProbeState::Found(probe)), ..self }
    }

    /// Returns what the endpoint supports, and finds it out if that is not known. Inquiries do so too; an endpoint that
    /// refused the probe is left alone for a minute.
    pub fn probe(&self) -> Result<EndpointProbe, LabelerError> {
        let found = self.find_features(self.connection.deadline(), &Allowance::unlimited());
        found.map_err(|reason| {
            LabelerError::new(format!("{} does not answer ({reason}); check its address", self.options.connection.url))
        })
    }

    /// Returns what was counted.
    pub fn counts(&self) -> LabelCounts {
        self.connection.counters().read()
    }

    fn find_features(&self, deadline: Deadline, allowance: &Allowance<'_>) -> Result<EndpointProbe, LabelFailure> {
        if let Some(known) = self.known_features() {
            return known;
        }
        // One inquiry probes; the others wait for it, each until its own deadline.
        let _alone = self.probing.take(deadline).ok_or(LabelFailure::Timeout)?;
        if let Some(known) = self.known_features() {
            return known;
        }
        let found = probe_endpoint(&self.connection, &self.options.model, deadline, allowance);
        *self.probe.lock().unwrap_or_else(PoisonError::into_inner) = match found {
            Ok(found) => ProbeState::Found(found),
            Err(LabelFailure::Refused) => ProbeState::Refused(Deadline::begin(REFUSAL_TIME)),
            Err(_) => ProbeState::Unknown,
        };
        found
    }

    /// Returns the result of an earlier probe, if it still counts.
    fn known_features(&self) -> Option<Result<EndpointProbe, LabelFailure>> {
        match &*self.probe.lock().unwrap_or_else(PoisonError::into_inner) {
            ProbeState::Found(found) => Some(Ok(*found)),
            ProbeState::Refused(until) => until.time_left().map(|_| Err(LabelFailure::Refused)),
            ProbeState::Unknown => None,
        }
    }

    /// Asks about up to eight questions of one part of a text.
    fn ask(&self, content: &PromptContent<'_>, request: &RequestContext<'_>) -> Vec<Value> {
        let counters = self.connection.counters();
        let body = Draw::fresh().and_then(|mut draw| {
            let prompt = Prompt::write(content, &mut draw);
            let json = prompt.request(&self.options.model, &request.probe);
            let reply =
                self.connection.post(&json, prompt.answer_tokens(), request.deadline, request.allowance, read_tokens);
            let reply = reply.map_err(|failure| failure.reason)?;
            Ok(read_reply(&reply, &prompt.items, request.probe.output))
        });
        match body {
            Ok(Reply::Answers(answers)) => return answers,
            Ok(Reply::WrongControl) => {
                counters.count_wrong_control();
                request.trouble.set(Some(WRONG_CONTROL));
            }
            Ok(Reply::Unread) => {
                counters.count_unread_reply();
                request.trouble.set(Some(UNREAD_REPLY));
            }
            Err(reason) => {
                counters.count_failed(reason, content.questions.len());
                request.trouble.set(Some(reason.name()));
                return vec![(AnswerValue::Failed, None); content.questions.len()];
            }
        }
        vec![(AnswerValue::Unclear, None); content.questions.len()]
    }

    /// Asks about all parts of the text.
    fn ask_parts(&self, questions: &[Question], request: &RequestContext<'_>) -> Vec<Value> {
        let cut = cut_text(&request.text, self.options.max_text, self.options.max_parts);
        let unread = if cut.is_whole { AnswerValue::No } else { AnswerValue::Unclear };
        let mut joined: Option<Vec<Value>> = None;
        for text in cut.parts {
            let max_examples = self.options.max_examples;
            let content =
                PromptContent { questions, kind: request.kind, text, earlier: &request.earlier, max_examples };
            let values = self.ask(&content, request);
            joined = Some(match joined {
                None => values,
                Some(before) => before.into_iter().zip(values).map(|(one, other)| join_parts(one, other)).collect(),
            });
        }
        let joined = joined.unwrap_or_default();
        match unread {
            AnswerValue::No => joined,
            unread => joined.into_iter().map(|value| join_parts(value, (unread, None))).collect(),
        }
    }
}

/// What the requests about one event have in common.
struct RequestContext<'a> {
    kind: &'a str,
    text: String,
    earlier: String,
    probe: EndpointProbe,
    deadline: Deadline,
    allowance: &'a Allowance<'a>,
    /// Why the last request had no answers of use.
    trouble: Cell<Option<&'static str>>,
}

impl Labeler for EndpointLabeler {
    fn version(&self) -> &str {
        &self.version
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.answer_within(inquiry, &Allowance::unlimited())
    }
}

impl MeteredLabeler for EndpointLabeler {
    fn answer_within(&self, inquiry: &Inquiry<'_>, allowance: &Allowance<'_>) -> Vec<Answer> {
        let counters = self.connection.counters();
        counters.count_asked(inquiry.questions.len());
        let deadline = self.connection.deadline();
        let probe = match self.find_features(deadline, allowance) {
            Ok(probe) => probe,
            Err(reason) => return fail_all(inquiry, &self.version, reason, counters),
        };
        // A log may name its kinds as it likes, so the name of an unknown one is data like the text.
        let (kind, text) = match (&inquiry.event.kind, write_event_text(inquiry.event)) {
            (Kind::Other(name), text) => ("other", format!("kind: {name}\n{text}")),
            (kind, text) => (kind.name(), text),
        };
        let request = RequestContext {
            kind,
            text,
            earlier: write_window(inquiry.before, self.options.max_text),
            probe,
            deadline,
            allowance,
            trouble: Cell::new(None),
        };
        let mut answers = Vec::with_capacity(inquiry.questions.len());
        for some in inquiry.questions.chunks(MAX_QUESTIONS) {
            request.trouble.set(None);
            let values = self.ask_parts(some, &request);
            for (question, (says, score)) in some.iter().zip(values) {
                let is_open = matches!(says, AnswerValue::Unclear | AnswerValue::Failed);
                answers.push(Answer {
                    score,
                    key: Some(hash_question(&self.version, inquiry, question)),
                    why: request.trouble.get().filter(|_| is_open).map(Into::into),
                    ..Answer::new(question.fact.clone(), says).by(&self.version)
                });
            }
        }
        counters.count_unclear(&answers);
        answers
    }

    fn counters(&self) -> &LabelCounters {
        self.connection.counters()
    }
}
