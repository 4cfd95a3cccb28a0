//! Conversion of Python values to JSON, and of JSON texts to Python objects.

use lictor::json::{Json, MAX_DEPTH, Number, Object};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::error::Error;

/// Returns a Python value as JSON; an error names the path of a value that JSON cannot express.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    convert(value, &mut Vec::new())
}

fn convert(value: &Bound<'_, PyAny>, path: &mut Vec<String>) -> PyResult<Json> {
    if path.len() > MAX_DEPTH {
        return Err(refused("a value is nested too deeply", path));
    }
    if value.is_none() {
        Ok(Json::Null)
    } else if let Ok(text) = value.cast::<PyString>() {
        // A text that is not valid Unicode, such as a lone surrogate, is not valid JSON either.
        Ok(Json::String(text.to_cow().map_err(|_| refused("a text is not valid Unicode", path))?.as_ref().into()))
    } else if let Ok(truth) = value.cast::<PyBool>() {
        Ok(Json::Bool(truth.is_true()))
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i128>() {
            Ok(whole) => Ok(Json::Number(Number::whole(whole))),
            // The point makes it a decimal, of which all digits count.
            Err(_) => parse_decimal(&format!("{}.0", value.str()?.to_cow()?))
                .ok_or_else(|| refused("a whole number is out of range", path)),
        }
    } else if let Ok(number) = value.cast::<PyFloat>() {
        match number.value() {
            value if value.is_finite() => Ok(Json::Number(Number::Float(value))),
            value => Err(refused(&format!("`{value}` is no number of JSON"), path)),
        }
    } else if let Ok(dict) = value.cast::<PyDict>() {
        let mut members = Vec::with_capacity(dict.len());
        for (key, value) in dict.iter() {
            members.push(member(&key, &value, path)?);
        }
        Ok(Json::Object(members.into_iter().collect::<Object>()))
    } else if let Ok(list) = value.cast::<PyList>() {
        elements(list.iter(), path)
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        elements(tuple.iter(), path)
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        let items = mapping.items()?;
        let pairs = items.iter().map(|pair| {
            let (key, value) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            member(&key, &value, path)
        });
        Ok(Json::Object(pairs.collect::<PyResult<Object>>()?))
    } else if value.get_type().fully_qualified_name()? == "decimal.Decimal" {
        parse_decimal(&value.str()?.to_cow()?).ok_or_else(|| refused("a decimal is no number of JSON", path))
    } else {
        let kind = value.get_type().name()?.to_string();
        Err(refused(&format!("a `{kind}` has no place in JSON"), path))
    }
}

/// Returns a decimal with all its digits; none if it is no finite number of JSON.
fn parse_decimal(text: &str) -> Option<Json> {
    lictor::json::parse_str(text).ok().filter(|value| matches!(value, Json::Number(_)))
}

fn member(
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    path: &mut Vec<String>,
) -> PyResult<(lictor::json::Text, Json)> {
    let Ok(name) = key.cast::<PyString>() else { return Err(refused("a key is not a text", path)) };
    let name = name.to_cow()?.into_owned();
    path.push(name);
    let value = convert(value, path)?;
    let name = path.pop().unwrap_or_default();
    Ok((name.into(), value))
}

fn elements<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>, path: &mut Vec<String>) -> PyResult<Json> {
    let mut list = Vec::new();
    for (place, item) in items.enumerate() {
        path.push(place.to_string());
        list.push(convert(&item, path)?);
        path.pop();
    }
    Ok(Json::Array(list))
}

fn refused(message: &str, path: &[String]) -> PyErr {
    match path.is_empty() {
        true => Error::Event.with(message),
        false => Error::Event.with(format!("`{}`: {message}", path.join("."))),
    }
}

/// Returns a JSON text as Python objects.
pub(crate) fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.getattr("loads")?.call1((text,))
}

/// Parses a time: seconds since 1970 as a number, an RFC 3339 text, or a `datetime`.
pub(crate) fn time(value: &Bound<'_, PyAny>) -> PyResult<lictor_logic::Time> {
    let nonsense =
        || PyValueError::new_err("a time is seconds since 1970, an RFC 3339 text, or a datetime with a zone");
    if let Ok(text) = value.cast::<PyString>() {
        return lictor::event::parse_time(&text.to_cow()?).ok_or_else(nonsense);
    }
    let seconds = match value.extract::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            if value.getattr("tzinfo").map_err(|_| nonsense())?.is_none() {
                return Err(nonsense());
            }
            value.call_method0("timestamp")?.extract::<f64>()?
        }
    };
    let nanoseconds = seconds * 1e9;
    // Beyond this, the nanoseconds of a time overflow.
    if !nanoseconds.is_finite() || nanoseconds.abs() >= 9.2e18 {
        return Err(nonsense());
    }
    Ok(lictor_logic::Time(nanoseconds.round() as i64))
}
