//! Other engines on the same policies and the same traces, decision by decision.

use std::error::Error;

use crate::table::Table;

pub(super) fn run(_table: &mut Table) -> Result<(), Box<dyn Error>> {
    Ok(())
}
