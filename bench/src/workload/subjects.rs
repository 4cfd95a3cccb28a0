//! A property about each of a million data subjects: after erasure(s), never discloses(s).
//!
//! Only erased subjects have a binding. With a million of them every look-up misses the processor's cache, so a
//! thousand are measured as well: the difference is the cost of memory access.

use std::error::Error;
use std::hash::Hash;
use std::hint::black_box;
use std::slice;
use std::sync::Arc;

use lictor_logic::{After, Observation, Value};

use crate::floor::ErasedSubjects;
use crate::measure::{once, per_event};
use crate::ours::Ours;
use crate::peers::rtlola;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

pub(crate) const FORMULA: &str = "forall s. G(erasure(s) -> G !discloses(s))";
pub(crate) const SUBJECTS: u64 = 1_000_000;
const FEW: u64 = 1_000;
const EVENTS: usize = 1_000_000;
/// How many events a batch has.
const BATCH: usize = 64;

/// A kind of value that names a subject, for us and for the floor.
pub(crate) trait Subject: Clone + Eq + Hash {
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

/// A mix of events: the percentage of disclosures of subjects that are not erased; the rest erase erased ones again.
#[derive(Clone, Copy, Debug)]
struct Mix {
    title: &'static str,
    disclosures: u64,
}

const MIXES: [Mix; 2] =
    [Mix { title: "9 of 10 touch none", disclosures: 90 }, Mix { title: "all touch a binding", disclosures: 0 }];

/// Whether it is an erasure, and the subject.
type Event<V> = (bool, V);

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = measure::<i64>("integers", 60.0)?;
    for erased in [100, 1_000] {
        rtlola::measure_subjects(erased, &events::<i64>(MIXES[0], erased as u64)[..EVENTS / 100], &mut section)?;
    }
    table.print(&section);
    table.print(&measure::<Arc<str>>("strings of 19 bytes", 250.0)?);
    Ok(())
}

fn measure<V: Subject>(kind: &str, limit: f64) -> Result<Section, Box<dyn Error>> {
    let mut section = Section::new(format!("{FORMULA}, {SUBJECTS} erased, values are {kind}, {EVENTS} events"));
    ours::<V>(SUBJECTS, Some(limit), &mut section)?;
    ours::<V>(FEW, None, &mut section)?;
    let mut floor = ErasedSubjects::<V>::new();
    (0..SUBJECTS).for_each(|number| floor.erase(&V::numbered(number)));
    for mix in MIXES {
        let events = events::<V>(mix, SUBJECTS);
        let figure = per_event(EVENTS, || {
            for (is_erasure, subject) in &events {
                if *is_erasure {
                    floor.erase(subject);
                } else {
                    black_box(floor.disclose(subject));
                }
            }
        });
        let (ours, floor) =
            (format!("lictor, batches of {BATCH}, {}", mix.title), format!("floor by hand, {}", mix.title));
        section.time(&floor, figure, "");
        let name = format!("subjects/{kind}/{}/lictor-to-floor", mix.title).replace(' ', "-");
        section.ratio_of(name, &ours, &floor, Better::Lower);
    }
    Ok(section)
}

fn ours<V: Subject>(erased: u64, limit: Option<f64>, section: &mut Section) -> Result<(), Box<dyn Error>> {
    let mut ours = Ours::new(&[FORMULA], After::Reset)?;
    let (erasure, discloses) = (ours.watch.name("erasure"), ours.watch.name("discloses"));
    let mut observation = Observation::new();
    let growth = once(erased as usize, || {
        // Each event has a new value, as from outside.
        for number in 0..erased {
            observation.clear();
            observation.push(erasure, &[V::numbered(number).value()]);
            black_box(ours.watch.observe(&mut ours.standing, &observation).len());
        }
    });
    for mix in MIXES {
        let events: Vec<(bool, Value)> =
            events::<V>(mix, erased).iter().map(|(is_erasure, subject)| (*is_erasure, subject.value())).collect();
        // Events come in batches, as from a log; each observation is filled anew.
        let mut batch: Vec<Observation> = vec![Observation::new(); BATCH];
        let figure = per_event(EVENTS, || {
            for some in events.chunks(batch.len()) {
                for ((is_erasure, value), observation) in some.iter().zip(&mut batch) {
                    observation.clear();
                    observation.push(if *is_erasure { erasure } else { discloses }, slice::from_ref(value));
                }
                ours.watch.observe_all(&mut ours.standing, &batch[..some.len()], |_, decided| {
                    black_box(decided);
                });
            }
        });
        let single = per_event(EVENTS, || {
            for (is_erasure, value) in &events {
                observation.clear();
                observation.push(if *is_erasure { erasure } else { discloses }, slice::from_ref(value));
                black_box(ours.watch.observe(&mut ours.standing, &observation).len());
            }
        });
        let bindings = ours.watch.bindings(&ours.standing, ours.monitors[0]);
        section.time(format!("lictor, batches of {BATCH}, {}", mix.title), figure, format!("{bindings} bindings"));
        if let Some(limit) = limit {
            section.target(Target::AtMost(limit));
        }
        section.time(format!("lictor, one by one, {}", mix.title), single, format!("{bindings} bindings"));
    }
    section.time("lictor, while the bindings are made", growth, format!("{erased} times, with making the value"));
    Ok(())
}

fn events<V: Subject>(mix: Mix, erased: u64) -> Vec<Event<V>> {
    let mut random = Random::new(6);
    let mut event = || {
        let number = random.below(erased);
        let is_disclosure = random.percent(mix.disclosures);
        (!is_disclosure, V::numbered(if is_disclosure { SUBJECTS + number } else { number }))
    };
    (0..EVENTS).map(|_| event()).collect()
}
