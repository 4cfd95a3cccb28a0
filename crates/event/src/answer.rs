//! Answers of labelers about an event.
//!
//! An answer is evidence, not truth. *Yes* makes its fact known to hold and *no* known not to; a labeler that is
//! unclear or failed leaves it unknown. A yes and a no about the same fact make it unknown too.
//!
//! ```json
//! {"fact":"threatens","says":"no","score":0.91,"chance":0.04,"by":"small@7f3a","key":"c0ffee"}
//! ```

use lictor_json::{Json, Number, Object, Text};
use lictor_logic::Fact;

/// What a labeler says to one question about one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The fact that was asked about.
    pub fact: Fact,
    /// What it says.
    pub says: AnswerValue,
    /// How sure the labeler claims to be, on a scale of its own.
    pub score: Option<f64>,
    /// The calibrated probability that the fact holds, from 0 to 1.
    pub chance: Option<f64>,
    /// The labeler and its version.
    pub by: Option<Text>,
    /// The hash of everything that the answer depends on: equal keys are one random variable.
    pub key: Option<Text>,
    /// Why the labeler did not answer, such as `timeout`, or why the answer has no chance, such as [`DRIFT`].
    pub why: Option<Text>,
}

/// Why an answer has no chance although its labeler is calibrated: live answers are no longer like those of the sample.
/// To properties with a risk it is unknown.
pub const DRIFT: &str = "drift";

/// The content of an answer.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerValue {
    /// The fact holds.
    Yes,
    /// It does not.
    No,
    /// The labeler cannot tell.
    Unclear,
    /// The labeler did not answer: it failed, was too late, or ran out of budget.
    Failed,
}

impl AnswerValue {
    const ALL: [AnswerValue; 4] = [AnswerValue::Yes, AnswerValue::No, AnswerValue::Unclear, AnswerValue::Failed];

    /// Returns its name in the line format.
    pub fn name(self) -> &'static str {
        match self {
            AnswerValue::Yes => "yes",
            AnswerValue::No => "no",
            AnswerValue::Unclear => "unclear",
            AnswerValue::Failed => "failed",
        }
    }

    /// Returns the value of a name in the line format.
    pub(crate) fn from_name(name: &str) -> Option<AnswerValue> {
        AnswerValue::ALL.into_iter().find(|value| value.name() == name)
    }
}

impl Answer {
    /// Returns an answer without a score and without a labeler's name.
    pub fn new(fact: Fact, says: AnswerValue) -> Answer {
        Answer { fact, says, score: None, chance: None, by: None, key: None, why: None }
    }

    /// Returns the answer with the labeler's name and version.
    #[must_use]
    pub fn by(mut self, labeler: &str) -> Answer {
        self.by = Some(labeler.into());
        self
    }

    /// Returns the answer with the reason why it is none, or has no chance.
    #[must_use]
    pub fn because(mut self, why: &str) -> Answer {
        self.why = Some(why.into());
        self
    }

    /// Whether its chance is suspended, because live answers drifted away from those of the sample.
    pub fn is_suspended(&self) -> bool {
        self.chance.is_none() && self.why.as_deref() == Some(DRIFT)
    }

    /// Reads an answer in the line format; the error says what is wrong with it.
    pub fn from_json(value: &Json) -> Result<Answer, String> {
        let object = value.as_object().ok_or("expected an object")?;
        let text = |key: &str| match object.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{key}` must be a string")),
        };
        let number = |key: &str| match object.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Number(number)) => Ok(Some(number.as_f64())),
            Some(_) => Err(format!("`{key}` must be a number")),
        };
        let fact = text("fact")?.ok_or("`fact` is missing, such as \"threatens\"")?;
        let fact = Fact::parse(&fact).map_err(|_| format!("{fact:?} is no fact, such as `paid(\"alice\",3)`"))?;
        let says = text("says")?.ok_or("`says` is missing: yes, no, unclear or failed")?;
        let says = AnswerValue::from_name(&says).ok_or("`says` must be yes, no, unclear or failed")?;
        let chance = number("chance")?;
        if chance.is_some_and(|chance| !(0.0..=1.0).contains(&chance)) {
            return Err("`chance` must be from 0 to 1".to_owned());
        }
        Ok(Answer {
            fact,
            says,
            score: number("score")?,
            chance,
            by: text("by")?,
            key: text("key")?,
            why: text("why")?,
        })
    }

    /// Returns it in the line format.
    pub fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("fact", self.fact.to_string());
        object.insert("says", self.says.name());
        for (key, value) in [("score", self.score), ("chance", self.chance)] {
            if let Some(value) = value {
                object.insert(key, Json::Number(Number::Float(value)));
            }
        }
        for (key, value) in [("by", &self.by), ("key", &self.key), ("why", &self.why)] {
            if let Some(value) = value {
                object.insert(key, value.clone());
            }
        }
        object.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Answer, String> {
        Answer::from_json(&lictor_json::parse_str(text).unwrap())
    }

    #[test]
    fn answer_survives_writing_and_reading() {
        let text = r#"{"fact":"paid(\"alice\",3)","says":"unclear","score":0.5,"chance":0.25,"by":"small@1","key":"c0ffee","why":"unread_reply"}"#;
        let answer = read(text).unwrap();
        assert_eq!(
            (answer.says, answer.chance, answer.by.as_deref()),
            (AnswerValue::Unclear, Some(0.25), Some("small@1"))
        );
        assert_eq!(Answer::from_json(&answer.to_json()), Ok(answer));
    }

    #[test]
    fn wrong_answer_names_the_field() {
        for (text, field) in [
            (r#"{"says":"yes"}"#, "fact"),
            (r#"{"fact":"a("}"#, "no fact"),
            (r#"{"fact":"a"}"#, "says"),
            (r#"{"fact":"a","says":"maybe"}"#, "says"),
            (r#"{"fact":"a","says":"yes","chance":1.5}"#, "chance"),
            (r#"{"fact":"a","says":"yes","score":"high"}"#, "score"),
            ("[]", "object"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(field), "{text}: {message}");
        }
    }
}
