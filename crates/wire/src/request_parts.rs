//! Parts of requests that several interfaces have: instructions beside the messages, and lists.

use lictor_json::{Json, JsonStep, json_path};

use crate::refusal::WireRefusal;
use crate::segment::Segment;

/// Returns the refusal of a request with a wrong shape.
pub(crate) fn shape(message: &str) -> WireRefusal {
    WireRefusal::new("request.shape", message)
}

/// Returns the instructions under a key, if there are any.
pub(crate) fn read_instructions(body: &Json, key: &str) -> Vec<Segment> {
    let content = body.get(key).filter(|content| !content.is_null() && content.as_str() != Some(""));
    content.map(|content| Segment::instructions(content, json_path![key])).into_iter().collect()
}

/// Reads every object of the list under a key; errors name the position.
pub(crate) fn read_list(
    body: &Json,
    key: &str,
    read: impl Fn(&Json, &[JsonStep]) -> Result<Vec<Segment>, WireRefusal>,
) -> Result<Vec<Segment>, WireRefusal> {
    let Some(entries) = body.get(key).and_then(Json::as_array) else {
        return Err(shape(&format!("`{key}` is not a list")));
    };
    let mut segments = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if entry.as_object().is_none() {
            return Err(shape(&format!("`{key}.{place}` is not an object")));
        }
        let read = read(entry, &json_path![key, place]);
        let located = |error: WireRefusal| WireRefusal::new(error.code, format!("`{key}.{place}`: {}", error.message));
        segments.extend(read.map_err(located)?);
    }
    Ok(segments)
}
