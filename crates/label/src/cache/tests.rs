//! Tests of the cache around a labeler that counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use lictor_event::{Event, Kind};
use lictor_logic::Fact;

use super::*;

/// Says yes to statements with a `y`, and counts the questions.
#[derive(Default)]
struct CountingLabeler {
    version: &'static str,
    asked: AtomicUsize,
    fails: bool,
    gives_none: bool,
}

impl Labeler for CountingLabeler {
    fn version(&self) -> &str {
        self.version
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.asked.fetch_add(inquiry.questions.len(), Ordering::Relaxed);
        let says = |question: &Question| match question.statement.contains('y') {
            _ if self.fails => AnswerValue::Failed,
            true => AnswerValue::Yes,
            false => AnswerValue::Unclear,
        };
        let answer = |question: &Question| Answer {
            score: Some(0.1 + 0.2),
            ..Answer::new(question.fact.clone(), says(question)).by(self.version)
        };
        inquiry.questions.iter().map(answer).take(if self.gives_none { 0 } else { usize::MAX }).collect()
    }
}

fn labeler(version: &'static str) -> Arc<CountingLabeler> {
    Arc::new(CountingLabeler { version, ..CountingLabeler::default() })
}

fn say(text: &str) -> Event {
    Event { text: Some(text.into()), ..Event::new(Kind::UserMessage) }
}

fn questions(statements: &[&str]) -> Vec<Question> {
    statements.iter().map(|it| Question::new(Fact::new(*it, []), *it)).collect()
}

/// A store in memory; it may be broken.
#[derive(Default)]
struct MemoryStore {
    values: Mutex<HashMap<String, Vec<u8>>>,
    is_broken: bool,
}

impl AnswerStore for MemoryStore {
    fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        if self.is_broken {
            return Err(io::Error::other("broken"));
        }
        Ok(self.values.lock().unwrap().get(key).cloned())
    }

    fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("broken"));
        }
        self.values.lock().unwrap().insert(key.to_owned(), bytes.to_vec());
        Ok(())
    }
}

#[test]
fn cache_asks_only_what_is_missing() {
    let inner = labeler("a@1");
    let cache = AnswerCache::new(inner.clone());
    let event = say("hello");
    let first = questions(&["my", "no"]);
    let given = cache.answer(&Inquiry::new(&event, &first));
    let more = questions(&["no", "why", "my"]);
    let again = cache.answer(&Inquiry::new(&event, &more));
    assert_eq!(inner.asked.load(Ordering::Relaxed), 3);
    assert_eq!((&again[2], &again[0]), (&given[0], &given[1]), "in the order of the questions");
    assert!(given[0].key.is_some() && given[0].key != given[1].key);
    let counts = cache.counts();
    assert_eq!((counts.asked, counts.cached), (5, 2));
}

#[test]
fn cache_serves_no_other_tenant_or_version() {
    let store = Arc::new(MemoryStore::default());
    let event = say("hello");
    let asked = questions(&["my"]);
    let mut answers = Vec::new();
    for (version, tenant) in [("a@1", "acme"), ("a@1", "beta"), ("a@2", "acme")] {
        let inner = labeler(version);
        let cache = AnswerCache::new(inner.clone()).store(store.clone());
        answers.extend(cache.answer(&Inquiry::new(&event, &asked).of_tenant(tenant)));
        assert_eq!(inner.asked.load(Ordering::Relaxed), 1, "{version} of {tenant}");
    }
    assert_eq!(answers[0].key, answers[1].key, "one random variable");
    assert_ne!(answers[0].key, answers[2].key);
}

#[test]
fn cache_in_file_makes_second_run_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.jsonl");
    let run = || {
        let inner = labeler("a@1");
        let cache = AnswerCache::new(inner.clone()).store(Arc::new(AnswerFile::open(&path).unwrap()));
        let answers: Vec<Answer> = (0..50)
            .flat_map(|number| cache.answer(&Inquiry::new(&say(&format!("text {number}")), &questions(&["my", "no"]))))
            .collect();
        (answers, inner.asked.load(Ordering::Relaxed))
    };
    let ((first, asked), (second, again)) = (run(), run());
    assert_eq!((asked, again), (100, 0));
    assert_eq!(first, second, "scores among them");
}

#[test]
fn cache_keeps_no_failed_answer() {
    for inner in [
        CountingLabeler { version: "a@1", fails: true, ..CountingLabeler::default() },
        CountingLabeler { version: "a@1", gives_none: true, ..CountingLabeler::default() },
    ] {
        let inner = Arc::new(inner);
        let cache = AnswerCache::new(inner.clone());
        for _ in 0..3 {
            assert_eq!(cache.answer(&Inquiry::new(&say("x"), &questions(&["my"])))[0].says, AnswerValue::Failed);
        }
        assert_eq!(inner.asked.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn cache_store_errors_are_counted_not_fatal() {
    let store = Arc::new(MemoryStore { is_broken: true, ..MemoryStore::default() });
    let cache = AnswerCache::new(labeler("a@1")).store(store);
    let event = say("x");
    assert_eq!(cache.answer(&Inquiry::new(&event, &questions(&["my"])))[0].says, AnswerValue::Yes);
    assert_eq!(cache.counts().store_errors, 2);
    assert_eq!(cache.answer(&Inquiry::new(&event, &questions(&["my"])))[0].says, AnswerValue::Yes);
    assert_eq!(cache.counts().cached, 1, "memory still works");
}

#[test]
fn cache_ignores_damaged_entries_of_store() {
    for damage in [
        "",
        "{",
        "{\"says\":\"yes\"}",
        "{\"fact\":\"other\",\"says\":\"yes\"}",
        "{\"fact\":\"my\",\"says\":\"failed\"}",
    ] {
        let store = Arc::new(MemoryStore::default());
        let fill = AnswerCache::new(labeler("a@1")).store(store.clone());
        fill.answer(&Inquiry::new(&say("x"), &questions(&["my"])));
        store.values.lock().unwrap().values_mut().for_each(|bytes| *bytes = damage.into());
        let inner = labeler("a@1");
        let cache = AnswerCache::new(inner.clone()).store(store);
        assert_eq!(cache.answer(&Inquiry::new(&say("x"), &questions(&["my"])))[0].says, AnswerValue::Yes);
        assert_eq!((inner.asked.load(Ordering::Relaxed), cache.counts().store_errors), (1, 1), "{damage}");
    }
}

#[test]
fn cache_memory_is_bounded() {
    let inner = labeler("a@1");
    let cache = AnswerCache::new(inner.clone()).bound(10);
    for number in 0..1000 {
        cache.answer(&Inquiry::new(&say(&format!("text {number}")), &questions(&["my"])));
    }
    cache.answer(&Inquiry::new(&say("text 0"), &questions(&["my"])));
    assert_eq!(inner.asked.load(Ordering::Relaxed), 1001);
}

#[test]
fn offline_cache_asks_nobody() {
    let (inner, store) = (labeler("small@1"), Arc::new(MemoryStore::default()));
    let (event, asked) = (say("hello"), questions(&["yes", "no"]));
    let cache = AnswerCache::new(Arc::clone(&inner) as _).store(Arc::clone(&store) as _);
    cache.answer(&Inquiry::new(&event, &asked[..1]));
    let offline = AnswerCache::new(Arc::clone(&inner) as _).store(store as _).offline();
    let says: Vec<AnswerValue> =
        offline.answer(&Inquiry::new(&event, &asked)).iter().map(|answer| answer.says).collect();
    assert_eq!(says, [AnswerValue::Yes, AnswerValue::Failed]);
    assert_eq!(inner.asked.load(Ordering::Relaxed), 1);
}
