//! Presidio's analyzer as a labeler: a question is answered by the types of entities that it finds.
//!
//! A fact is mapped to types such as `EMAIL_ADDRESS` or `PERSON`. It is a yes if the analyzer finds one of them with at
//! least the threshold's score, and a no if it finds none; so a *no* is worth what the analyzer's recall is. A fact
//! without a type is unclear.

use std::collections::BTreeMap;

use lictor_event::labeler::{Inquiry, Labeler, Question};
use lictor_event::{Answer, AnswerValue};
use lictor_json::{Json, Number};

use super::{mark_unread, write_answers, write_version};
use crate::budget::{Allowance, MeteredLabeler, fail_all};
use crate::connection::{Connection, ConnectionOptions, LabelerError};
use crate::event_text::write_event_text;
use crate::meter::{LabelCounters, LabelCounts};

/// Which analyzer is asked, and for what.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PresidioOptions {
    /// The name of the labeler in the policy.
    pub name: String,
    /// How the analyzer is reached: the address before `/analyze`.
    pub connection: ConnectionOptions,
    /// The language of texts, as Presidio names it.
    pub language: String,
    /// The least score of an entity that makes a yes.
    pub threshold: f64,
    /// The types of entities that make a fact true, by the fact's name.
    pub entities: BTreeMap<String, Vec<String>>,
    /// The version of the analyzer and its models, as its operator calls it: see
    /// [`ServiceOptions::service_version`](super::ServiceOptions::service_version).
    pub service_version: String,
}

impl PresidioOptions {
    /// Returns the options for English texts and any score.
    pub fn new(name: impl Into<String>, connection: ConnectionOptions) -> PresidioOptions {
        PresidioOptions {
            name: name.into(),
            connection,
            language: "en".to_owned(),
            threshold: 0.0,
            entities: BTreeMap::new(),
            service_version: String::new(),
        }
    }

    /// Maps a fact to types of entities.
    #[must_use]
    pub fn entities(mut self, fact: impl Into<String>, types: &[&str]) -> PresidioOptions {
        self.entities.insert(fact.into(), types.iter().map(|it| (*it).to_owned()).collect());
        self
    }

    /// Sets the language of texts.
    #[must_use]
    pub fn language(mut self, language: impl Into<String>) -> PresidioOptions {
        self.language = language.into();
        self
    }

    /// Sets the least score of an entity that makes a yes.
    #[must_use]
    pub fn threshold(mut self, score: f64) -> PresidioOptions {
        self.threshold = score;
        self
    }

    /// Sets the version of the analyzer and its models.
    #[must_use]
    pub fn service_version(mut self, version: impl Into<String>) -> PresidioOptions {
        self.service_version = version.into();
        self
    }
}

/// Asks Presidio's analyzer.
#[derive(Debug)]
pub struct PresidioLabeler {
    options: PresidioOptions,
    version: String,
    connection: Connection,
}

impl PresidioLabeler {
    /// Returns a labeler.
    pub fn new(options: PresidioOptions) -> Result<PresidioLabeler, LabelerError> {
        if !(0.0..=1.0).contains(&options.threshold) {
            return Err(LabelerError::new(format!("threshold {} is not from 0 to 1", options.threshold)));
        }
        if let Some((fact, _)) = options.entities.iter().find(|(_, types)| types.is_empty()) {
            return Err(LabelerError::new(format!("fact `{fact}` has no type of entities, such as `EMAIL_ADDRESS`")));
        }
        let connection = Connection::open(&options.connection, "/analyze")?;
        let settings = format!("{:?} {:?}", options.threshold, options.entities);
        let parts = [options.connection.url.as_str(), &options.language, &settings, &options.service_version];
        let version = write_version(&options.name, &parts);
        Ok(PresidioLabeler { options, version, connection })
    }

    /// Returns what was counted.
    pub fn counts(&self) -> LabelCounts {
        self.connection.counters().read()
    }

    fn types(&self, question: &Question) -> &[String] {
        self.options.entities.get(&*question.fact.name).map_or(&[], Vec::as_slice)
    }

    fn write_request(&self, text: &str, inquiry: &Inquiry<'_>) -> Option<Json> {
        let mut types: Vec<&String> = inquiry.questions.iter().flat_map(|question| self.types(question)).collect();
        types.sort();
        types.dedup();
        let types: Vec<Json> = types.into_iter().map(|it| Json::from(it.as_str())).collect();
        let request = || {
            Json::from([
                ("text", text.into()),
                ("language", self.options.language.as_str().into()),
                ("entities", types.clone().into()),
                ("score_threshold", Json::Number(Number::Float(self.options.threshold))),
            ])
        };
        (!types.is_empty()).then(request)
    }

    fn judge(&self, question: &Question, found: &[Entity]) -> (AnswerValue, Option<f64>) {
        let types = self.types(question);
        if types.is_empty() {
            return (AnswerValue::Unclear, None);
        }
        let fits = |entity: &&Entity| types.contains(&entity.kind) && entity.score >= self.options.threshold;
        match found.iter().filter(fits).map(|entity| entity.score).reduce(f64::max) {
            Some(score) => (AnswerValue::Yes, Some(score)),
            None => (AnswerValue::No, Some(0.0)),
        }
    }
}

/// An entity that the analyzer found.
#[derive(Debug, PartialEq)]
struct Entity {
    kind: String,
    score: f64,
}

/// Reads the entities of a reply; none if anything of it is not as documented.
fn read_entities(body: &[u8], text: &str) -> Option<Vec<Entity>> {
    let reply = lictor_json::parse(body).ok()?;
    let length = i64::try_from(text.chars().count()).ok()?;
    let entity = |item: &Json| {
        let (start, end) = (item.get("start")?.as_i64()?, item.get("end")?.as_i64()?);
        let Some(Json::Number(score)) = item.get("score") else { return None };
        let score = score.as_f64();
        let is_valid = 0 <= start && start <= end && end <= length && (0.0..=1.0).contains(&score);
        is_valid.then_some(Entity { kind: item.text("entity_type")?.to_owned(), score })
    };
    reply.as_array()?.iter().map(entity).collect()
}

impl Labeler for PresidioLabeler {
    fn version(&self) -> &str {
        &self.version
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.answer_within(inquiry, &Allowance::unlimited())
    }
}

impl MeteredLabeler for PresidioLabeler {
    fn answer_within(&self, inquiry: &Inquiry<'_>, allowance: &Allowance<'_>) -> Vec<Answer> {
        let counters = self.connection.counters();
        counters.count_asked(inquiry.questions.len());
        let text = write_event_text(inquiry.event);
        let Some(request) = self.write_request(&text, inquiry) else {
            let unclear = vec![(AnswerValue::Unclear, None); inquiry.questions.len()];
            return write_answers(&self.version, inquiry, unclear);
        };
        if text.is_empty() {
            // The analyzer refuses an empty text, in which there is nothing to find.
            let values = inquiry.questions.iter().map(|question| self.judge(question, &[])).collect();
            return write_answers(&self.version, inquiry, values);
        }
        let reply = self.connection.post(&request, 0, self.connection.deadline(), allowance, |_| None);
        let body = match reply {
            Ok(body) => body,
            Err(failure) => return fail_all(inquiry, &self.version, failure.reason, counters),
        };
        let answers = match read_entities(&body, &text) {
            Some(found) => {
                let values = inquiry.questions.iter().map(|question| self.judge(question, &found)).collect();
                write_answers(&self.version, inquiry, values)
            }
            None => mark_unread(&self.version, inquiry, counters),
        };
        counters.count_unclear(&answers);
        answers
    }

    fn counters(&self) -> &LabelCounters {
        self.connection.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presidio_entities_are_read_strictly() {
        let good = br#"[{"entity_type":"PERSON","start":0,"end":3,"score":0.85,"analysis_explanation":null}]"#;
        let found = vec![Entity { kind: "PERSON".into(), score: 0.85 }];
        assert_eq!(read_entities(good, "Bob"), Some(found));
        assert_eq!(read_entities(b"[]", "Bob"), Some(Vec::new()));
        for bad in [
            "",
            "{\"error\":\"no\"}",
            r#"[{"start":0,"end":3,"score":0.85}]"#,
            r#"[{"entity_type":"PERSON","start":0,"end":4,"score":0.85}]"#,
            r#"[{"entity_type":"PERSON","start":-1,"end":3,"score":0.85}]"#,
            r#"[{"entity_type":"PERSON","start":0,"end":3,"score":1.5}]"#,
            r#"[{"entity_type":"PERSON","start":0,"end":3}]"#,
        ] {
            assert_eq!(read_entities(bad.as_bytes(), "Bob"), None, "{bad}");
        }
    }

    #[test]
    fn presidio_options_are_checked() {
        let options = || PresidioOptions::new("pii", ConnectionOptions::new("http://127.0.0.1:1"));
        assert!(PresidioLabeler::new(options().threshold(1.5)).is_err());
        assert!(PresidioLabeler::new(options().entities("mail", &[])).is_err());
        let one = PresidioLabeler::new(options().entities("mail", &["EMAIL_ADDRESS"])).unwrap();
        let other = PresidioLabeler::new(options().entities("mail", &["EMAIL_ADDRESS"]).language("de")).unwrap();
        assert_ne!(one.version(), other.version());
    }
}
