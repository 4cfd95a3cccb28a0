//! Learnt labelers: classifiers of text that run in the process, without a network, in microseconds.
//!
//! A [`LabelModel`] is one logistic regression for each fact, over hashed n-grams of words and letters and over cues:
//! shapes of instructions, tags of roles, hidden text. It is learnt from labelled texts by fixed arithmetic, so equal
//! examples give equal files. A [`LearntLabeler`] answers questions by it. The built-in model `injection` finds
//! instructions to an agent in places where data belong.

mod arithmetic;
mod cue;
mod evaluation;
mod features;
mod file;
mod labeler;
mod model;
mod normal;
mod regression;
#[cfg(test)]
mod tests;
mod token;
mod word_class;

pub use evaluation::{FactEvaluation, Share, evaluate_held_out};
pub use file::MAX_MODEL_BYTES;
pub use labeler::LearntLabeler;
pub use model::{ANY_FACT, LabelExample, LabelModel, LabelModelError, LabelScore, LearnOptions, MIN_EXAMPLES};

pub use crate::event_text::{MAX_TEXT_BYTES, collect_text};
