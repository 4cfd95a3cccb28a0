//! Runs one fuzz target, chosen by the variable `LICTOR_FUZZ_TARGET`; `cargo xtask fuzz` sets it. `list` names them all.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lictor_fuzz::{chosen_target, start};

fuzz_target!(init: start(), |input: &[u8]| {
    if let Some(target) = chosen_target() {
        (target.run)(input);
    }
});
