//! The native module of the Python package: the same engine, with a Pythonic face.
//!
//! What is quick to say in Python is said in Python, in `python/lictor`: enums, findings and decisions as data, guards
//! for tools, adapters for frameworks. Here is what must be fast or holds a state of the engine. Nothing is decided here.
//!
//! INVARIANT: whatever may take longer than a table look-up runs without Python's lock, and no lock of ours is waited for
//! while Python's is held.

mod audit;
mod command;
mod decider;
mod error;
mod exchange;
mod facts;
mod formula;
mod guard;
mod monitor;
mod policy;
mod session;
mod trajectory;
mod value;
mod verdict;

use pyo3::prelude::*;

/// An audit is little else than small texts that one thread makes and another gives back.
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
    module.add_class::<guard::GuardCore>()?;
    module.add_class::<exchange::Exchange>()?;
    module.add_class::<audit::Report>()?;
    module.add_function(wrap_pyfunction!(audit::audit_paths, module)?)?;
    module.add_function(wrap_pyfunction!(audit::audit_events, module)?)?;
    module.add_function(wrap_pyfunction!(monitor::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(command::command_output, module)?)?;
    Ok(())
}
