//! RTLola, the interpreter of stream equations (crate `rtlola-interpreter`).
//!
//! Streams only look back, so each property is a state machine written by hand (`peers/*.lola`).

use std::convert::Infallible;
use std::error::Error;
use std::hint::black_box;

use rtlola_interpreter::input::ArrayFactory;
use rtlola_interpreter::monitor::{Monitor, TriggerMessages};
use rtlola_interpreter::time::RelativeNanos;
use rtlola_interpreter::{ConfigBuilder, Value, config::OfflineMode};

use crate::letters::Letters;
use crate::measure::{once, per_event};
use crate::table::Section;

/// The name of its row in a table.
pub(crate) const NAME: &str = "rtlola-interpreter 0.11.0, states by hand";

pub(crate) const RESPONSE: &str = include_str!("../../peers/response.lola");
pub(crate) const AGENT: &str = include_str!("../../peers/agent.lola");
pub(crate) const SUBJECTS: &str = include_str!("../../peers/subjects.lola");

type Interpreter<const N: usize> =
    Monitor<ArrayFactory<N, Infallible, [Value; N]>, OfflineMode<RelativeNanos>, TriggerMessages, RelativeNanos>;

fn interpreter<const N: usize>(properties: &str) -> Result<Interpreter<N>, Box<dyn Error>> {
    let configuration = ConfigBuilder::new()
        .spec_str(properties)
        .output_time::<RelativeNanos>()
        .offline::<RelativeNanos>()
        .with_array_events::<N, Infallible, [Value; N]>()
        .with_verdict::<TriggerMessages>();
    configuration.monitor().map_err(|error| format!("rtlola: {error:?}").into())
}

pub(crate) fn measure<const N: usize>(
    properties: &str,
    letters: &Letters,
    count: usize,
    section: &mut Section,
) -> Result<(), Box<dyn Error>> {
    let mut monitor = interpreter::<N>(properties)?;
    let rows: Vec<[Value; N]> =
        letters.distinct.iter().map(|letter| std::array::from_fn(|bit| Value::Bool(letter >> bit & 1 == 1))).collect();
    let mut time = 0;
    let mut read = |events: &[u32]| {
        let mut triggers = 0;
        for event in events {
            time += 1;
            if let Ok(verdicts) = monitor.accept_event(rows[*event as usize].clone(), time) {
                triggers += black_box(verdicts.event.len());
            }
        }
        triggers
    };
    let events = &letters.events[..count];
    let triggers = read(events);
    let figure = per_event(count, || {
        black_box(read(events));
    });
    section.time(NAME, figure, format!("{triggers} triggers in {count} events"));
    Ok(())
}

/// Measures erasures and disclosures of subjects, as `(is erasure, subject)`.
pub(crate) fn measure_subjects(
    erased: i64,
    events: &[(bool, i64)],
    section: &mut Section,
) -> Result<(), Box<dyn Error>> {
    let mut monitor = interpreter::<2>(SUBJECTS)?;
    let mut time = 0;
    let mut read = |is_erasure: bool, subject: i64| {
        time += 1;
        let value = Value::Signed(subject);
        let row = if is_erasure { [value, Value::None] } else { [Value::None, value] };
        black_box(monitor.accept_event(row, time).map_or(0, |verdicts| verdicts.event.len()));
    };
    (0..erased).for_each(|subject| read(true, subject));
    let figure = once(events.len(), || events.iter().for_each(|(is_erasure, subject)| read(*is_erasure, *subject)));
    section.time("rtlola-interpreter 0.11.0, 9 of 10 touch none", figure, format!("only {erased} subjects are erased"));
    Ok(())
}
