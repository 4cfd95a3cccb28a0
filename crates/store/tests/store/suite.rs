//! The suite of every store: random steps compared with the store in memory, and racing threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use lictor_store::{Change, ExpectedVersion, MemoryStore, Store, StoreError, StoredValue};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Opens the store under test, in the same place each time.
pub(crate) type Open<'a> = &'a dyn Fn() -> Box<dyn Store>;

/// Keys that sort close together, and some at the edges of Unicode.
const KEYS: [&str; 9] = ["a", "a/1", "a/10", "a/2", "a0", "b/\u{e9}", "b/\u{d7ff}", "b/\u{e000}", "\u{10ffff}"];
const PREFIXES: [&str; 8] = ["", "a", "a/", "a/1", "b/", "b/\u{d7ff}", "\u{10ffff}", "c"];

#[derive(Clone, Debug)]
enum Step {
    Load(usize),
    Scan(usize),
    Keys { prefix: usize, after: Option<usize>, limit: usize },
    Save(Vec<(usize, Belief, Option<Vec<u8>>)>),
    Reopen,
}

/// The version that a change expects.
#[derive(Clone, Copy, Debug)]
enum Belief {
    /// The present version.
    Right,
    /// No version: the key is missing.
    Absent,
    /// The version of some earlier save.
    Earlier(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let belief = prop_oneof![
        8 => Just(Belief::Right),
        1 => Just(Belief::Absent),
        1 => (0..50_usize).prop_map(Belief::Earlier)
    ];
    let value = proptest::option::weighted(0.7, proptest::collection::vec(any::<u8>(), 0..40));
    let changes = proptest::collection::btree_map(0..KEYS.len(), (belief, value), 0..4);
    let save = changes.prop_map(|changes| changes.into_iter().map(|(key, (belief, value))| (key, belief, value)));
    prop_oneof![
        8 => save.prop_map(|changes| Step::Save(changes.collect())),
        2 => (0..KEYS.len()).prop_map(Step::Load),
        2 => (0..PREFIXES.len()).prop_map(Step::Scan),
        2 => (0..PREFIXES.len(), proptest::option::of(0..KEYS.len()), 0..4_usize)
            .prop_map(|(prefix, after, limit)| Step::Keys { prefix, after, limit }),
        1 => Just(Step::Reopen),
    ]
}

/// Takes random steps on the store and on the reference, and compares. A failure prints the steps.
pub(crate) fn check_against_reference(open: Open<'_>, cases: u32) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let cases_so_far = AtomicUsize::new(0);
    let steps = proptest::collection::vec(step(), 1..60);
    let result = runner.run(&steps, |steps| {
        let number = cases_so_far.fetch_add(1, Ordering::Relaxed);
        // Cases share a store; each has keys of its own.
        Comparison::new(open, format!("case {number}/")).run(&steps);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

struct Comparison<'a> {
    open: Open<'a>,
    store: Box<dyn Store>,
    model: MemoryStore,
    /// The version in the store for each version of the model. Stores may skip numbers.
    versions: BTreeMap<u64, u64>,
    own: String,
}

impl Comparison<'_> {
    fn new(open: Open<'_>, own: String) -> Comparison<'_> {
        Comparison { open, store: open(), model: MemoryStore::new(), versions: BTreeMap::new(), own }
    }

    fn run(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Load(key) => self.load(KEYS[*key]),
                Step::Scan(prefix) => self.scan(PREFIXES[*prefix]),
                Step::Keys { prefix, after, limit } => {
                    let (prefix, after) = (PREFIXES[*prefix], after.map(|after| KEYS[after]));
                    let own_after = after.map(|after| self.own(after));
                    let found = self.store.keys(&self.own(prefix), own_after.as_deref(), *limit).unwrap();
                    let wanted = self.model.keys(prefix, after, *limit).unwrap();
                    assert_eq!(found, wanted.iter().map(|key| self.own(key)).collect::<Vec<_>>());
                }
                Step::Save(changes) => self.save(changes),
                Step::Reopen => self.store = (self.open)(),
            }
        }
        self.store = (self.open)();
        self.scan("");
    }

    fn own(&self, key: &str) -> String {
        format!("{}{key}", self.own)
    }

    fn translate(&self, stored: StoredValue) -> StoredValue {
        StoredValue { version: self.versions[&stored.version], value: stored.value }
    }

    fn load(&self, key: &str) {
        let wanted = self.model.load(key).unwrap().map(|stored| self.translate(stored));
        assert_eq!(self.store.load(&self.own(key)).unwrap(), wanted);
    }

    fn scan(&self, prefix: &str) {
        let wanted = self.model.scan(prefix).unwrap().into_iter();
        let wanted: Vec<_> = wanted.map(|(key, stored)| (self.own(&key), self.translate(stored))).collect();
        assert_eq!(self.store.scan(&self.own(prefix)).unwrap(), wanted);
    }

    fn save(&mut self, changes: &[(usize, Belief, Option<Vec<u8>>)]) {
        let (mut of_model, mut of_store) = (Vec::new(), Vec::new());
        for (key, belief, value) in changes {
            let key = KEYS[*key];
            let version = match belief {
                Belief::Right => self.model.load(key).unwrap().map(|stored| stored.version),
                Belief::Absent => None,
                Belief::Earlier(place) => self.versions.keys().nth(place % self.versions.len().max(1)).copied(),
            };
            let change = |key: String, version| Change {
                key,
                expected: ExpectedVersion::of_version(version),
                value: value.clone(),
            };
            of_model.push(change(key.into(), version));
            of_store.push(change(self.own(key), version.map(|version| self.versions[&version])));
        }
        match (self.model.save(&of_model), self.store.save(&of_store)) {
            (Ok(wanted), Ok(found)) => {
                assert!(self.versions.values().all(|earlier| *earlier < found), "version {found} is not new");
                self.versions.insert(wanted, found);
            }
            (Err(StoreError::Conflict { key: wanted }), Err(StoreError::Conflict { key: found })) => {
                assert_eq!(found, self.own(&wanted));
            }
            (wanted, found) => panic!("expected {wanted:?}, found {found:?}"),
        }
    }
}

/// Threads append to one session with optimistic locks: no append is lost or duplicated.
pub(crate) fn check_sessions_never_fork(open: Open<'_>, threads: usize, each: usize) {
    let store = open();
    thread::scope(|scope| {
        for thread in 0..threads {
            let store = store.as_ref();
            scope.spawn(move || {
                for number in 0..each {
                    append(store, "fork", &format!("{thread}-{number}"));
                }
            });
        }
    });
    let mut found: Vec<String> = read_entries(open().as_ref(), "fork");
    assert_eq!(found.len(), threads * each);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), threads * each, "duplicate append");
}

/// Appends one entry to a session: reads the head, adds the entry, moves the head. Retries after a conflict.
pub(crate) fn append(store: &dyn Store, session: &str, value: &str) -> u64 {
    let head_key = format!("{session}/head");
    loop {
        let head = store.load(&head_key).unwrap();
        let length: u64 = head.as_ref().map_or(0, |head| String::from_utf8_lossy(&head.value).parse().unwrap());
        let changes = [
            Change::put(format!("{session}/entry/{length:012}"), ExpectedVersion::Absent, value),
            Change::put(&head_key, ExpectedVersion::of(head.as_ref()), (length + 1).to_string()),
        ];
        match store.save(&changes) {
            Ok(_) => return length,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns the entries of a session in order, and checks that none is missing and the head is right.
pub(crate) fn read_entries(store: &dyn Store, session: &str) -> Vec<String> {
    let entries = store.scan(&format!("{session}/entry/")).unwrap();
    for (place, (key, _)) in entries.iter().enumerate() {
        assert_eq!(*key, format!("{session}/entry/{place:012}"), "an entry is missing");
    }
    let head = store.load(&format!("{session}/head")).unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&head.value), entries.len().to_string());
    entries.into_iter().map(|(_, stored)| String::from_utf8(stored.value).unwrap()).collect()
}

/// While one thread changes two keys together, another one never sees different versions.
pub(crate) fn check_saves_are_atomic(open: Open<'_>, saves: u64) {
    let store = open();
    let is_over = AtomicBool::new(false);
    let pair =
        |expected, number: u64| ["pair/left", "pair/right"].map(|key| Change::put(key, expected, number.to_string()));
    let mut version = store.save(&pair(ExpectedVersion::Absent, 0)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let seen = store.scan("pair/").unwrap();
                assert_eq!(seen[0].1, seen[1].1);
            }
        });
        for number in 1..=saves {
            version = store.save(&pair(ExpectedVersion::Version(version), number)).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Any number of keys can be listed in pages.
pub(crate) fn check_keys_in_pages(open: Open<'_>) {
    let store = open();
    let wanted: Vec<String> = (0..1000).map(|number| format!("page/{number:04}")).collect();
    store.save(&wanted.iter().map(|key| Change::put(key, ExpectedVersion::Absent, "x")).collect::<Vec<_>>()).unwrap();
    let mut found: Vec<String> = Vec::new();
    loop {
        let page = store.keys("page/", found.last().map(String::as_str), 64).unwrap();
        assert!(page.len() <= 64);
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    assert_eq!(found, wanted);
}

/// Invalid keys are refused before anything is changed; the largest valid ones are stored unchanged.
pub(crate) fn check_limits(open: Open<'_>) {
    let store = open();
    for key in ["", "a\0b", &"k".repeat(lictor_store::MAX_KEY_BYTES + 1)] {
        assert!(matches!(store.load(key), Err(StoreError::Refused { .. })));
        let changes =
            [Change::put("limits/kept", ExpectedVersion::Absent, "x"), Change::put(key, ExpectedVersion::Absent, "x")];
        assert!(matches!(store.save(&changes), Err(StoreError::Refused { .. })));
    }
    assert_eq!(store.load("limits/kept").unwrap(), None);
    let longest = format!("limits/{}", "\u{10ffff}".repeat((lictor_store::MAX_KEY_BYTES - 7) / 4));
    let value: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let version = store.save(&[Change::put(&longest, ExpectedVersion::Absent, value.clone())]).unwrap();
    assert_eq!(store.load(&longest).unwrap(), Some(StoredValue { version, value }));
    store.save(&[Change::delete("limits/none", ExpectedVersion::Absent)]).unwrap();
    store.save(&[]).unwrap();
}
