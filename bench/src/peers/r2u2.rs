//! R2U2, the monitor of mission-time temporal logic (crate `r2u2_core`).
//!
//! Its operators are bounded, so waiting has an end (`peers/*.c2po`, compiled by its own compiler into the `.bin` next
//! to them). It returns a verdict for each property and position, some positions late.

use std::hint::black_box;

use r2u2_core::{Monitor, get_monitor, get_output_buffer, load_bool_signal, monitor_step};

use crate::letters::Letters;
use crate::measure::per_event;
use crate::table::Section;

/// The name of its row in a table.
pub(crate) const NAME: &str = "r2u2_core 4.2.4, bounded by 100 steps";

/// `response` in its format.
pub(crate) const RESPONSE: &[u8] = include_bytes!("../../peers/response.bin");
/// The twenty properties of `agent`.
pub(crate) const AGENT: &[u8] = include_bytes!("../../peers/agent.bin");

pub(crate) fn measure(properties: &[u8], letters: &Letters, count: usize, section: &mut Section) {
    let mut monitor = get_monitor(properties);
    let events = &letters.events[..count];
    let (violations, overflow) = read(&mut monitor, letters, events);
    let figure = per_event(count, || {
        black_box(read(&mut monitor, letters, events));
    });
    let overflow = if overflow { ", with an overflow" } else { "" };
    section.time(NAME, figure, format!("{violations} false verdicts{overflow}"));
}

/// Returns how many verdicts were false, and whether a queue overflowed.
fn read(monitor: &mut Monitor, letters: &Letters, events: &[u32]) -> (usize, bool) {
    let (mut violations, mut overflow) = (0, false);
    for event in events {
        let letter = letters.distinct[*event as usize];
        for bit in 0..letters.names.len() {
            load_bool_signal(monitor, bit, letter >> bit & 1 == 1);
        }
        overflow |= !monitor_step(monitor);
        violations += get_output_buffer(monitor).iter().filter(|output| !output.verdict.truth).count();
    }
    (violations, overflow)
}
