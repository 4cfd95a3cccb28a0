//! Properties about data: sums over a window by payee, and two different approvers for a payment.
//!
//! The workloads of our own are as large as a bank's day. Other engines are measured on traces that they can finish, and
//! we on the very same.

mod four_eyes;
mod others;
mod structuring;

use std::error::Error;

use lictor_logic::{After, Arena, Monitor, Name, Standing, Watch};

use crate::table::Table;

/// Measures all.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let mut table = Table::default();
    structuring::run(&mut table)?;
    four_eyes::run(&mut table)?;
    others::run(&mut table)?;
    table.finish();
    Ok(())
}

/// A watch with one property of which every position that breaks it is told, and one trace.
struct Watched {
    watch: Watch,
    standing: Standing,
}

impl Watched {
    fn new(formula: &str) -> Result<Watched, Box<dyn Error>> {
        let mut arena = Arena::new();
        let parsed = arena.parse(formula).map_err(|errors| errors.to_string())?;
        let mut watch = Watch::new();
        watch.add(Monitor::each(&arena, parsed)?, After::Each);
        let standing = watch.start();
        Ok(Watched { watch, standing })
    }

    fn name(&mut self, name: &str) -> Name {
        self.watch.name(name)
    }
}
