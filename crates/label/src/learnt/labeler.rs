//! The labeler that answers by a learnt model, in the process, without a network.

use std::path::Path;

use lictor_event::labeler::{Inquiry, Labeler};
use lictor_event::{Answer, AnswerValue};
use lictor_json::Text;

use super::features::TextFeatures;
use super::file::MAX_MODEL_BYTES;
use super::model::{LabelModel, LabelModelError, LabelScore};
use super::normal::NormalText;
use crate::event_text::collect_text;
use crate::file_kind::describe_missing;

/// What a reference to a model starts with if the model is built in.
const BUILTIN_PREFIX: &str = "builtin:";

/// The built-in models by name, with the content of their files.
const BUILTIN: [(&str, &[u8]); 1] = [("injection", include_bytes!("../../models/injection.json"))];

/// Answers questions by a learnt model.
///
/// A question about a fact that the model was not learnt for is failed. The score is the model's probability; it is raw,
/// and only a calibration turns it into a chance.
#[derive(Clone, Debug)]
pub struct LearntLabeler {
    model: LabelModel,
    version: String,
    /// Below the first an answer is no, from the second on it is yes, in between it is unclear.
    band: (f64, f64),
}

impl LabelModel {
    /// Returns the built-in model that finds instructions to an agent in data. It answers every question: see
    /// [`ANY_FACT`](super::ANY_FACT).
    pub fn injection() -> Result<LabelModel, LabelModelError> {
        LabelModel::load("builtin:injection")
    }

    /// Reads a model: a built-in one as `builtin:NAME`, any other by the path of its file.
    pub fn load(reference: &str) -> Result<LabelModel, LabelModelError> {
        if let Some(name) = reference.strip_prefix(BUILTIN_PREFIX) {
            let known = BUILTIN.iter().find(|(known, _)| *known == name);
            let names = BUILTIN.map(|(name, _)| name).join(", ");
            let (_, bytes) = known
                .ok_or_else(|| LabelModelError(format!("no model `{name}` is built in; built in are: {names}")))?;
            return LabelModel::from_bytes(bytes);
        }
        let fail = |mistake: String| LabelModelError(format!("{reference}: {mistake}"));
        let missing = |error: std::io::Error| fail(describe_missing(&error, "lictor learn labels LOGS -o FILE"));
        let size = Path::new(reference).metadata().map_err(missing)?.len();
        if size > MAX_MODEL_BYTES as u64 {
            return Err(fail(format!("the file of {size} bytes is over the limit of {MAX_MODEL_BYTES}")));
        }
        let bytes = std::fs::read(reference).map_err(|error| fail(error.to_string()))?;
        LabelModel::from_bytes(&bytes).map_err(|error| fail(error.to_string()))
    }
}

impl LearntLabeler {
    /// Returns a labeler that says yes from a probability of one half on.
    pub fn new(model: LabelModel) -> LearntLabeler {
        let version = format!("{}@{}", model.name(), short_hash(&model));
        LearntLabeler { model, version, band: (0.5, 0.5) }
    }

    /// Returns the labeler under another name than its model's: the one that a policy gives it.
    #[must_use]
    pub fn named(self, name: &str) -> LearntLabeler {
        LearntLabeler { version: format!("{name}@{}", short_hash(&self.model)), ..self }
    }

    /// Returns the labeler with a band of probabilities in which its answers are unclear: from the first up to, but not
    /// including, the second.
    #[must_use]
    pub fn with_band(self, low: f64, high: f64) -> LearntLabeler {
        LearntLabeler { band: (low, high.max(low)), ..self }
    }

    /// Returns its model.
    pub fn model(&self) -> &LabelModel {
        &self.model
    }

    fn decide(&self, score: &LabelScore) -> AnswerValue {
        let (low, high) = self.band;
        if score.probability >= high {
            AnswerValue::Yes
        } else if score.probability >= low || score.is_cut {
            // What was not read may hold anything.
            AnswerValue::Unclear
        } else {
            AnswerValue::No
        }
    }
}

impl Labeler for LearntLabeler {
    fn version(&self) -> &str {
        &self.version
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        let text = collect_text(inquiry.event);
        let features = TextFeatures::read_all(&text);
        let text_hash = hash_text(&text);
        let answers = inquiry.questions.iter().map(|question| {
            let fact = question.fact.to_string();
            let mut answer = Answer::new(question.fact.clone(), AnswerValue::Failed).by(&self.version);
            let Some(row) = self.model.find_row(&fact) else { return answer.because("not_learnt") };
            let score = self.model.score_row(row, &features);
            answer.says = self.decide(&score);
            answer.score = Some(score.probability);
            // The model reads nothing of the question but its row, so other words for it are the same variable.
            let mut key = blake3::Hasher::new();
            key.update(self.model.hash().as_bytes()).update(row.fact.as_bytes()).update(&[0]).update(&text_hash);
            answer.key = Some(Text::from(&key.finalize().to_hex()[..32]));
            answer
        });
        answers.collect()
    }
}

/// Returns the part of a model's hash that names its version.
fn short_hash(model: &LabelModel) -> &str {
    model.hash().get(..12).unwrap_or_default()
}

/// Returns the hash of a text in the form in which it is judged.
fn hash_text(text: &str) -> [u8; 32] {
    let normal = NormalText::new(text);
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(normal.text.as_bytes())
        .update(&[0])
        .update(normal.tags.as_bytes())
        .update(&[u8::from(normal.is_cut)]);
    for place in &normal.hidden {
        hasher.update(&(*place as u64).to_le_bytes());
    }
    hasher.finalize().into()
}
