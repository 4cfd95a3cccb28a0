//! A response with data and a deadline, a hundred thousand of which are open at any time.

use std::error::Error;
use std::hint::black_box;

use lictor_logic::{After, Name, Observation, Time, Value};

use crate::floor::Deadlines;
use crate::measure::per_event;
use crate::ours::Ours;
use crate::table::{Better, Section, Table, Target};

const FORMULA: &str = "G forall c. (call(c) -> F[0,30s] verified(c))";
const OPEN: i64 = 100_000;
const PAIRS: i64 = 500_000;
const SECOND: i64 = 1_000_000_000;

/// The course of calls.
#[derive(Clone, Copy, Debug)]
struct Course {
    title: &'static str,
    /// Time from one call to the next; the one that was opened `OPEN` calls ago is verified in between.
    spacing: i64,
    /// One of this many calls is never verified; 0 for none.
    forgotten: i64,
}

const COURSES: [Course; 2] = [
    Course { title: "all verified in time", spacing: 20 * SECOND / OPEN, forgotten: 0 },
    Course { title: "one of ten never verified", spacing: 20 * SECOND / OPEN, forgotten: 10 },
];

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    for course in COURSES {
        table.print(&measure(course)?);
    }
    Ok(())
}

fn measure(course: Course) -> Result<Section, Box<dyn Error>> {
    // Calls that are never verified have one event, not two.
    let forgotten = if course.forgotten == 0 { 0 } else { PAIRS / course.forgotten };
    let events = (2 * PAIRS - forgotten) as usize;
    let mut section = Section::new(format!("{FORMULA}, {OPEN} open, {}, {events} events", course.title));
    let mut ours = Ours::new(&[FORMULA], After::Reset)?;
    let (call, verified) = (ours.watch.name("call"), ours.watch.name("verified"));
    let mut observation = Observation::new();
    let mut next = 0;
    let mut missed = 0;
    let mut event = |ours: &mut Ours, name: Name, value: i64, time: i64| {
        observation.clear();
        observation.time = Some(Time(time));
        observation.push(name, &[Value::Integer(value)]);
        missed += black_box(ours.watch.observe(&mut ours.standing, &observation).len());
    };
    let mut read = |ours: &mut Ours, pairs: i64| {
        for number in next..next + pairs {
            let time = number * course.spacing;
            event(ours, call, number, time);
            if is_verified(course, number - OPEN) {
                event(ours, verified, number - OPEN, time + course.spacing / 2);
            }
        }
        next += pairs;
    };
    // Twice the length of a deadline, to reach the steady state.
    read(&mut ours, 4 * OPEN);
    let figure = per_event(events, || read(&mut ours, PAIRS));
    let bindings = ours.watch.bindings(&ours.standing, ours.monitors[0]);
    section.time("lictor", figure, format!("{bindings} bindings, {} states, {missed} missed", ours.states()));
    section.target(Target::AtMost(120.0));

    let mut floor = Deadlines::default();
    let mut next = 0;
    let mut read = |pairs: i64| {
        for number in next..next + pairs {
            let time = number * course.spacing;
            floor.advance(time);
            floor.call(number, time + 30 * SECOND);
            if is_verified(course, number - OPEN) {
                floor.advance(time + course.spacing / 2);
                floor.verify(number - OPEN);
            }
        }
        next += pairs;
    };
    read(4 * OPEN);
    let figure = per_event(events, || read(PAIRS));
    section.time("floor: hash table and queue by hand", figure, format!("{} missed", floor.missed));
    let name = format!("deadlines/{}/lictor-to-floor", course.title.replace(' ', "-"));
    section.ratio_of(name, "lictor", "floor: hash table and queue by hand", Better::Lower);
    Ok(section)
}

fn is_verified(course: Course, number: i64) -> bool {
    number >= 0 && (course.forgotten == 0 || number % course.forgotten != 0)
}
