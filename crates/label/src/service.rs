//! Labelers that ask an HTTP service: any that follows Lictor's JSON contract, and Presidio's analyzer.
//!
//! The contract is one request about one event:
//!
//! ```json
//! {"text":"Pay, or I will find you","kind":"user_message","tool":null,"before":[],
//!  "questions":[{"fact":"threatens","statement":"the user threatens somebody","yes":[],"no":[]}]}
//! ```
//!
//! and one reply with an answer to each question, `score` being optional:
//!
//! ```json
//! {"answers":[{"fact":"threatens","says":"yes","score":0.93}]}
//! ```
//!
//! A reply that does not parse, lacks a question, repeats one or answers another makes all answers unclear. Statuses
//! other than 2xx, timeouts and broken connections make them failed. Neither is ever a *no*.

mod presidio;

use lictor_event::labeler::{Inquiry, Labeler, Question};
use lictor_event::{Answer, AnswerValue};
use lictor_json::{Json, Object, Text};

pub use self::presidio::{PresidioLabeler, PresidioOptions};
use crate::answer_key::hash_question;
use crate::budget::{Allowance, MeteredLabeler, fail_all};
use crate::connection::{Connection, ConnectionOptions, LabelerError};
use crate::event_text::write_event_text;
use crate::meter::{LabelCounters, LabelCounts, UNREAD_REPLY};

/// Which service is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceOptions {
    /// The name of the labeler in the policy.
    pub name: String,
    /// The version of the service, as its operator calls it. A new version must have a new name, or a cache serves the
    /// answers of the old one.
    pub service_version: String,
    /// How the service is reached. Requests go to the address itself.
    pub connection: ConnectionOptions,
}

impl ServiceOptions {
    /// Returns the options for a service.
    pub fn new(
        name: impl Into<String>,
        service_version: impl Into<String>,
        connection: ConnectionOptions,
    ) -> ServiceOptions {
        ServiceOptions { name: name.into(), service_version: service_version.into(), connection }
    }
}

/// Asks a service that follows Lictor's contract.
#[derive(Debug)]
pub struct ServiceLabeler {
    version: String,
    connection: Connection,
}

impl ServiceLabeler {
    /// Returns a labeler.
    pub fn new(options: ServiceOptions) -> Result<ServiceLabeler, LabelerError> {
        let connection = Connection::open(&options.connection, "")?;
        let parts = [options.connection.url.as_str(), &options.service_version];
        Ok(ServiceLabeler { version: write_version(&options.name, &parts), connection })
    }

    /// Returns what was counted.
    pub fn counts(&self) -> LabelCounts {
        self.connection.counters().read()
    }
}

/// Returns a name with a hash of everything that answers depend on.
fn write_version(name: &str, parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("lictor 2026 version of a service labeler");
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    format!("{name}@{}", &hasher.finalize().to_hex()[..8])
}

impl Labeler for ServiceLabeler {
    fn version(&self) -> &str {
        &self.version
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.answer_within(inquiry, &Allowance::unlimited())
    }
}

impl MeteredLabeler for ServiceLabeler {
    fn answer_within(&self, inquiry: &Inquiry<'_>, allowance: &Allowance<'_>) -> Vec<Answer> {
        let counters = self.connection.counters();
        counters.count_asked(inquiry.questions.len());
        let request = write_request(inquiry);
        let reply = self.connection.post(&request, 0, self.connection.deadline(), allowance, |_| None);
        let body = match reply {
            Ok(body) => body,
            Err(failure) => return fail_all(inquiry, &self.version, failure.reason, counters),
        };
        let answers = match read_answers(&body, inquiry.questions) {
            Some(values) => write_answers(&self.version, inquiry, values),
            None => mark_unread(&self.version, inquiry, counters),
        };
        counters.count_unclear(&answers);
        answers
    }

    fn counters(&self) -> &LabelCounters {
        self.connection.counters()
    }
}

/// Gives the values their questions' facts, the labeler's version and their keys.
fn write_answers(version: &str, inquiry: &Inquiry<'_>, values: Vec<(AnswerValue, Option<f64>)>) -> Vec<Answer> {
    let answer = |(question, (says, score)): (&Question, (AnswerValue, Option<f64>))| Answer {
        score,
        key: Some(hash_question(version, inquiry, question)),
        ..Answer::new(question.fact.clone(), says).by(version)
    };
    inquiry.questions.iter().zip(values).map(answer).collect()
}

/// Returns an unclear answer to each question, because the reply breaks the contract.
fn mark_unread(version: &str, inquiry: &Inquiry<'_>, counters: &LabelCounters) -> Vec<Answer> {
    counters.count_unread_reply();
    let unclear = write_answers(version, inquiry, vec![(AnswerValue::Unclear, None); inquiry.questions.len()]);
    unclear.into_iter().map(|answer| answer.because(UNREAD_REPLY)).collect()
}

fn write_request(inquiry: &Inquiry<'_>) -> Json {
    let texts = |texts: &[Text]| Json::from(texts.iter().cloned().map(Json::from).collect::<Vec<_>>());
    let question = |question: &Question| {
        Json::from([
            ("fact", question.fact.to_string().into()),
            ("statement", question.statement.clone().into()),
            ("yes", texts(&question.yes)),
            ("no", texts(&question.no)),
        ])
    };
    let before = |event: &lictor_event::Event| {
        Json::from([("kind", event.kind.name().into()), ("text", write_event_text(event).into())])
    };
    let mut request = Object::new();
    request.insert("text", write_event_text(inquiry.event));
    request.insert("kind", inquiry.event.kind.name());
    request.insert("tool", inquiry.event.tool.clone().map_or(Json::Null, Json::from));
    request.insert("before", inquiry.before.iter().map(before).collect::<Vec<_>>());
    request.insert("questions", inquiry.questions.iter().map(question).collect::<Vec<_>>());
    request.into()
}

/// Reads an answer to each question, in their order; none if the reply breaks the contract.
fn read_answers(body: &[u8], questions: &[Question]) -> Option<Vec<(AnswerValue, Option<f64>)>> {
    let reply = lictor_json::parse(body).ok()?;
    let answers = reply.get("answers")?.as_array()?;
    if answers.len() != questions.len() {
        return None;
    }
    let find = |question: &Question| {
        let fact = question.fact.to_string();
        let mut found = answers.iter().filter(|answer| answer.text("fact") == Some(&fact));
        let answer = found.next().filter(|_| found.next().is_none())?;
        let says = match answer.text("says")? {
            "yes" => AnswerValue::Yes,
            "no" => AnswerValue::No,
            "unclear" => AnswerValue::Unclear,
            _ => return None,
        };
        let score = match answer.get("score") {
            None | Some(Json::Null) => None,
            Some(Json::Number(number)) => Some(number.as_f64()).filter(|score| score.is_finite()),
            Some(_) => return None,
        };
        Some((says, score))
    };
    questions.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use lictor_logic::Fact;

    use super::*;

    fn questions() -> Vec<Question> {
        ["rude", "sad"].iter().map(|name| Question::new(Fact::new(*name, []), *name)).collect()
    }

    #[test]
    fn service_answers_are_matched_by_fact() {
        let body = br#"{"answers":[{"fact":"sad","says":"no","score":0.2},{"fact":"rude","says":"yes"}],"more":1}"#;
        let answers = read_answers(body, &questions()).unwrap();
        assert_eq!(answers, [(AnswerValue::Yes, None), (AnswerValue::No, Some(0.2))]);
    }

    #[test]
    fn service_reply_that_breaks_contract_is_unread() {
        for body in [
            "",
            "[]",
            r#"{"answers":[]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"}]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"sad","says":"no"}]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"sad","says":"yes"},{"fact":"rude","says":"no"}]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"mad","says":"no"}]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"rude","says":"failed"}]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"rude","says":"no","says":"yes"}]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"rude","says":"no","score":"high"}]}"#,
            r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"rude","says":"no"}]"#,
        ] {
            assert_eq!(read_answers(body.as_bytes(), &questions()), None, "{body}");
        }
        // Two questions about one fact cannot be told apart in a reply.
        let twice = [questions(), questions()].concat();
        let body = r#"{"answers":[{"fact":"sad","says":"no"},{"fact":"sad","says":"yes"},
                                  {"fact":"rude","says":"no"},{"fact":"rude","says":"no"}]}"#;
        assert_eq!(read_answers(body.as_bytes(), &twice), None);
    }
}
