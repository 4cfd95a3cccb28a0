//! Verdicts as members of the Python enum.

use lictor_logic::Verdict;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The members, from the best to the worst.
static MEMBERS: PyOnceLock<[Py<PyAny>; 3]> = PyOnceLock::new();

/// Returns a verdict as a member of the Python enum.
pub(crate) fn to_python(py: Python<'_>, verdict: Verdict) -> PyResult<Py<PyAny>> {
    let members = MEMBERS.get_or_try_init(py, || {
        let class = py.import("lictor.verdicts")?.getattr("Verdict")?;
        let member = |name: &str| PyResult::Ok(class.getattr(name)?.unbind());
        PyResult::Ok([member("SATISFIED")?, member("INCONCLUSIVE")?, member("VIOLATED")?])
    })?;
    let place = match verdict {
        Verdict::Satisfied => 0,
        Verdict::Inconclusive => 1,
        Verdict::Violated => 2,
    };
    Ok(members[place].clone_ref(py))
}
