//! The native module of the Python package: the same engine, with a Pythonic interface.
//!
//! `python/lictor` holds the code that is short in Python: enums, findings and decisions as data, guards for tools,
//! adapters for frameworks. This crate holds the code that must be fast or keeps engine state. It decides nothing.
//!
//! INVARIANT: code that may take longer than a table look-up runs without the GIL, and no lock of ours is waited for
//! while the GIL is held.

mod audit;
mod command;
mod decider;
mod error;
mod event;
mod exchange;
mod facts;
mod forecast;
mod formula;
mod guard;
mod monitor;
mod policy;
mod session;
mod trajectory;
mod value;
mod verdict;

use pyo3::prelude::*;

/// An audit allocates small strings on one thread and frees them on another, which this allocator does well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native module of `lictor`.
#[pymodule]
fn _lictor(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<formula::Formula>()?;
    formula::build::register(module)?;
    module.add_class::<monitor::Monitor>()?;
    module.add_class::<trajectory::StepObservation>()?;
    module.add_class::<trajectory::TrajectorySafetyMonitor>()?;
    module.add_class::<policy::Policy>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Proposal>()?;
    module.add_class::<forecast::Chain>()?;
    module.add_class::<guard::GuardCore>()?;
    module.add_class::<exchange::Exchange>()?;
    module.add_class::<audit::Report>()?;
    module.add_function(wrap_pyfunction!(audit::audit_logs, module)?)?;
    module.add_function(wrap_pyfunction!(monitor::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(command::command_output, module)?)?;
    Ok(())
}
