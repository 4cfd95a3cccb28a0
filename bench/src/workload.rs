//! The workloads, one file each; every one returns a section of the table.

pub(crate) mod agent;
pub(crate) mod deadlines;
pub(crate) mod index;
pub(crate) mod memory;
pub(crate) mod response;
pub(crate) mod subjects;
pub(crate) mod tree;

use std::error::Error;

use crate::table::Table;

/// A workload by its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Table) -> Result<(), Box<dyn Error>>,
}

/// All workloads in the order they are run.
pub(crate) const ALL: [Workload; 7] = [
    Workload { name: "response", run: response::run },
    Workload { name: "agent", run: agent::run },
    Workload { name: "index", run: index::run },
    Workload { name: "tree", run: tree::run },
    Workload { name: "subjects", run: subjects::run },
    Workload { name: "deadlines", run: deadlines::run },
    Workload { name: "memory", run: memory::run },
];
