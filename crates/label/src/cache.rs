//! Answers that were given before: in memory, and in a store that outlives the process.
//!
//! The place of an answer is a hash of the tenant and of [everything the answer depends on](hash_question). So an answer
//! serves neither another tenant, nor another configuration of the labeler, nor another question or text. Failed answers
//! are not kept: asking again may help. Unclear ones are.
//!
//! ```
//! use std::sync::Arc;
//! use lictor_event::labeler::{Inquiry, Labeler, Question};
//! use lictor_event::{Answer, AnswerValue, Event, Kind};
//! use lictor_label::cache::AnswerCache;
//! use lictor_logic::Fact;
//!
//! struct Slow;
//! impl Labeler for Slow {
//!     fn version(&self) -> &str {
//!         "slow@1"
//!     }
//!     fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
//!         inquiry.questions.iter().map(|it| Answer::new(it.fact.clone(), AnswerValue::Yes)).collect()
//!     }
//! }
//!
//! let cache = AnswerCache::new(Arc::new(Slow));
//! let event = Event { text: Some("hello".into()), ..Event::new(Kind::UserMessage) };
//! let questions = [Question::new(Fact::new("greets", []), "the user greets")];
//! let inquiry = Inquiry::new(&event, &questions).of_tenant("acme");
//! assert_eq!(cache.answer(&inquiry), cache.answer(&inquiry));
//! assert_eq!((cache.counts().asked, cache.counts().cached), (2, 1));
//! ```

mod file_store;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use lictor_event::labeler::{Inquiry, Labeler, Question};
use lictor_event::{Answer, AnswerValue};
use lictor_json::Text;

pub use self::file_store::AnswerFile;
pub use crate::answer_key::hash_question;
use crate::generations::Generations;
use crate::meter::{LabelCounters, LabelCounts};

/// Keeps bytes under keys, for a cache that outlives the process.
pub trait AnswerStore: Send + Sync {
    /// Returns the bytes of a key, if there are any.
    fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>>;

    /// Sets the bytes of a key.
    fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()>;
}

/// The answers in memory unless another bound is set.
const MAX_ANSWERS: usize = 100_000;

/// A labeler that remembers its answers.
pub struct AnswerCache {
    inner: Arc<dyn Labeler>,
    memory: Mutex<Generations<[u8; 32], Answer>>,
    store: Option<Arc<dyn AnswerStore>>,
    is_offline: bool,
    counters: LabelCounters,
}

impl AnswerCache {
    /// Returns a cache of 100,000 answers in memory.
    pub fn new(inner: Arc<dyn Labeler>) -> AnswerCache {
        let memory = Mutex::new(Generations::new(MAX_ANSWERS));
        AnswerCache { inner, memory, store: None, is_offline: false, counters: LabelCounters::default() }
    }

    /// Sets the most answers in memory. Those that were not used for longest are forgotten first.
    #[must_use]
    pub fn bound(self, answers: usize) -> AnswerCache {
        AnswerCache { memory: Mutex::new(Generations::new(answers)), ..self }
    }

    /// Sets the store that keeps all answers.
    #[must_use]
    pub fn store(self, store: Arc<dyn AnswerStore>) -> AnswerCache {
        AnswerCache { store: Some(store), ..self }
    }

    /// Asks nobody: a question that was not answered before is failed.
    #[must_use]
    pub fn offline(self) -> AnswerCache {
        AnswerCache { is_offline: true, ..self }
    }

    /// Returns what was counted: questions, those answered from the cache, errors of the store.
    pub fn counts(&self) -> LabelCounts {
        self.counters.read()
    }

    /// Returns the answer in memory or in the store.
    fn find(&self, place: &[u8; 32], question: &Question) -> Option<Answer> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = memory.touch(place) {
            return Some(answer.clone());
        }
        drop(memory);
        let bytes = match self.store.as_ref()?.get(&write_place(place)) {
            Ok(bytes) => bytes?,
            Err(_) => {
                self.counters.count_store_error();
                return None;
            }
        };
        let Some(answer) = read_answer(&bytes, question) else {
            self.counters.count_store_error();
            return None;
        };
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(*place, answer.clone());
        Some(answer)
    }

    fn keep(&self, place: [u8; 32], answer: &Answer) {
        if let Some(store) = &self.store
            && store.put(&write_place(&place), answer.to_json().to_string().as_bytes()).is_err()
        {
            self.counters.count_store_error();
        }
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(place, answer.clone());
    }
}

impl std::fmt::Debug for AnswerCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerCache").field("labeler", &self.version()).finish_non_exhaustive()
    }
}

impl Labeler for AnswerCache {
    fn version(&self) -> &str {
        self.inner.version()
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.counters.count_asked(inquiry.questions.len());
        let keys: Vec<Text> =
            inquiry.questions.iter().map(|question| hash_question(self.version(), inquiry, question)).collect();
        let places: Vec<[u8; 32]> = keys.iter().map(|key| place_of(inquiry.tenant, key)).collect();
        let mut answers: Vec<Option<Answer>> =
            inquiry.questions.iter().zip(&places).map(|(question, place)| self.find(place, question)).collect();
        let missing: Vec<usize> = (0..answers.len()).filter(|index| answers[*index].is_none()).collect();
        self.counters.count_cached(answers.len() - missing.len());
        if !missing.is_empty() {
            let questions: Vec<Question> = missing.iter().map(|index| inquiry.questions[*index].clone()).collect();
            let rest = Inquiry::new(inquiry.event, &questions).of_tenant(inquiry.tenant).after(inquiry.before);
            let given = if self.is_offline { Vec::new() } else { self.inner.answer(&rest) };
            let mut given = given.into_iter();
            for index in missing {
                // A labeler answers in the order of the questions; an answer to another one is none.
                let fact = &inquiry.questions[index].fact;
                let answer = given.next().filter(|answer| answer.fact == *fact);
                let why = if self.is_offline { "not_asked" } else { "no_answer" };
                let failed = || Answer::new(fact.clone(), AnswerValue::Failed).by(self.version()).because(why);
                let answer = answer.unwrap_or_else(failed);
                let answer = Answer { key: Some(keys[index].clone()), ..answer };
                if answer.says != AnswerValue::Failed {
                    self.keep(places[index], &answer);
                }
                answers[index] = Some(answer);
            }
        }
        answers.into_iter().flatten().collect()
    }
}

/// Returns the place of a tenant's answer.
fn place_of(tenant: &str, key: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("lictor 2026 place of a tenant's answer in a cache");
    hasher.update(&(tenant.len() as u64).to_le_bytes());
    hasher.update(tenant.as_bytes());
    hasher.update(key.as_bytes());
    hasher.finalize().into()
}

fn write_place(place: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*place).to_hex().as_str().to_owned()
}

/// Reads an answer to a question; none if it is damaged, failed, or about another fact.
fn read_answer(bytes: &[u8], question: &Question) -> Option<Answer> {
    let answer = Answer::from_json(&lictor_json::parse(bytes).ok()?).ok()?;
    (answer.fact == question.fact && answer.says != AnswerValue::Failed).then_some(answer)
}

#[cfg(test)]
mod tests;
