//! A property about each of a million data subjects: after erasure(s), never discloses(s).

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

use lictor_logic::{After, Observation, Value};

use crate::floor::Erased;
use crate::measure::{per_event, rounds};
use crate::ours::Ours;
use crate::random::Random;
use crate::table::{Section, Table, Target};

pub(crate) const FORMULA: &str = "forall s. G(erasure(s) -> G !discloses(s))";
pub(crate) const SUBJECTS: u64 = 1_000_000;
const EVENTS: usize = 1_000_000;

/// A kind of value that names a subject, for us and for the floor.
pub(crate) trait Subject: Clone + Eq + std::hash::Hash {
    fn numbered(number: u64) -> Self;
    fn value(&self) -> Value;
}

impl Subject for i64 {
    fn numbered(number: u64) -> i64 {
        number as i64
    }

    fn value(&self) -> Value {
        Value::Integer(*self)
    }
}

impl Subject for Arc<str> {
    fn numbered(number: u64) -> Arc<str> {
        format!("user{number:07}@mail.eu").into()
    }

    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
}

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    table.print(&measure::<i64>("integers", 60.0)?);
    table.print(&measure::<Arc<str>>("strings of 19 bytes", 250.0)?);
    Ok(())
}

/// An event: is it an erasure, and of whom?
type Event<V> = (bool, V);

fn measure<V: Subject>(kind: &str, limit: f64) -> Result<Section, Box<dyn Error>> {
    let mut section = Section::new(format!("{FORMULA}, {SUBJECTS} erased, values are {kind}, {EVENTS} events"));
    let mut ours = Ours::new(&[FORMULA], After::Reset)?;
    let (erasure, discloses) = (ours.watch.name("erasure"), ours.watch.name("discloses"));
    let mut observation = Observation::new();

    let growth = rounds(SUBJECTS as usize, 0, 1, || {
        // Each event brings a string of its own, as it would from outside.
        for number in 0..SUBJECTS {
            observation.clear();
            observation.push(erasure, &[V::numbered(number).value()]);
            black_box(ours.watch.observe(&mut ours.standing, &observation).len());
        }
    });
    let bindings = ours.watch.bindings(&ours.standing, ours.monitors[0]);

    let mixed = events::<V>(90);
    let values: Vec<(bool, Value)> = mixed.iter().map(|(erased, subject)| (*erased, subject.value())).collect();
    let mut read = |events: &[(bool, Value)]| {
        for (erased, value) in events {
            observation.clear();
            observation.push(if *erased { erasure } else { discloses }, std::slice::from_ref(value));
            black_box(ours.watch.observe(&mut ours.standing, &observation).len());
        }
    };
    let figure = per_event(EVENTS, || read(&values));
    section.time("lictor, 9 of 10 disclose of those not erased", figure, format!("{bindings} bindings"));
    section.target(Target::AtMost(limit));
    drop(values);
    let touching = events::<V>(0);
    let values: Vec<(bool, Value)> = touching.iter().map(|(erased, subject)| (*erased, subject.value())).collect();
    let figure = per_event(EVENTS, || read(&values));
    section.time("lictor, every event touches a live binding", figure, "").target(Target::AtMost(limit));
    section.time("lictor, while the bindings are made", growth[0], "with making the value");
    drop(values);

    let mut floor = Erased::<V>::new();
    (0..SUBJECTS).for_each(|number| floor.erase(&V::numbered(number)));
    let mut read = |events: &[Event<V>]| {
        for (erased, subject) in events {
            if *erased {
                floor.erase(subject);
            } else {
                black_box(floor.disclose(subject));
            }
        }
    };
    section.time("floor: hash table by hand, 9 of 10 disclose", per_event(EVENTS, || read(&mixed)), "");
    section.time("floor: hash table by hand, every event touches", per_event(EVENTS, || read(&touching)), "");
    Ok(section)
}

/// Disclosures of subjects that are not erased, so many of a hundred; else erasures of subjects that are.
fn events<V: Subject>(disclosures: u64) -> Vec<Event<V>> {
    let mut random = Random::new(6);
    let mut event = || {
        let number = random.below(SUBJECTS);
        let is_disclosure = random.percent(disclosures);
        (!is_disclosure, V::numbered(if is_disclosure { SUBJECTS + number } else { number }))
    };
    (0..EVENTS).map(|_| event()).collect()
}
