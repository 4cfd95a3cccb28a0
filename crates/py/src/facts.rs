//! One position of a trace, as given in Python: a set of facts, or a mapping with facts, unknown facts and a time.

use std::sync::Arc;

use lictor_logic::{Atom, Fact, Facts, Moment};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};

use crate::error::Error;
use crate::value;

/// Parses a fact: a name, or a name with values, `paid("alice",3)`.
pub(crate) fn fact(text: &str) -> PyResult<Fact> {
    match is_plain(text) {
        true => Ok(Fact::new(Arc::<str>::from(text), [])),
        false => Fact::parse(text).map_err(|errors| Error::Formula.with(errors)),
    }
}

/// Whether a text is a name that needs no parsing.
pub(crate) fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the facts of a position.
pub(crate) fn facts(given: &Bound<'_, PyAny>) -> PyResult<Facts> {
    let mut known = Vec::new();
    each_text(given, |text| {
        known.push(fact(text)?);
        Ok(())
    })?;
    Ok(Facts { known, ..Facts::default() })
}

/// Calls `take` with each text of an iterable that is no text itself.
pub(crate) fn each_text(given: &Bound<'_, PyAny>, mut take: impl FnMut(&str) -> PyResult<()>) -> PyResult<()> {
    if given.is_instance_of::<PyString>() {
        let hint = "a position is a set of facts\n  hint: write {\"tool_call\"}, not \"tool_call\"";
        return Err(Error::Event.with(hint));
    }
    for item in given.try_iter()? {
        let item = item?;
        let Ok(text) = item.cast::<PyString>() else {
            let kind = item.get_type().name()?.to_string();
            return Err(Error::Event.with(format!("a fact is a text, not a `{kind}`")));
        };
        take(&text.to_cow()?)?;
    }
    Ok(())
}

/// Returns an entry of a trace: a position, or a tick.
pub(crate) fn moment(given: &Bound<'_, PyAny>) -> PyResult<Moment> {
    let Ok(mapping) = given.cast::<PyMapping>() else { return Ok(Moment::Position(facts(given)?)) };
    let field = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let found = mapping.contains(name)?.then(|| mapping.get_item(name)).transpose()?;
        Ok(found.filter(|value| !value.is_none()))
    };
    let (known, unknown, time, tick) = (field("facts")?, field("unknown")?, field("time")?, field("tick")?);
    if let Some(tick) = tick {
        if known.is_some() || unknown.is_some() || time.is_some() {
            return Err(
                Error::Event.with("an entry is a step or a tick, not both\n  hint: give the tick before the step")
            );
        }
        return Ok(Moment::Tick(value::time(&tick)?));
    }
    if known.is_none() && unknown.is_none() {
        let hint = "a step is {\"facts\": [\"a\", \"b\"]} or {\"a\", \"b\"}; {\"tick\": 12.5} lets time pass";
        return Err(Error::Event.with(format!("the mapping has no `facts`\n  hint: {hint}")));
    }
    let mut position = match known {
        Some(known) => facts(&known)?,
        None => Facts::default(),
    };
    if let Some(unknown) = unknown {
        each_text(&unknown, |text| {
            position.unknown.push(Atom::parse(text).map_err(|errors| Error::Formula.with(errors))?);
            Ok(())
        })?;
    }
    position.time = time.map(|time| value::time(&time)).transpose()?;
    Ok(Moment::Position(position))
}
