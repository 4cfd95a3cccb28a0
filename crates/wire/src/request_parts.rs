//! Parts of requests that several interfaces have: instructions beside the messages, and lists.

use lictor_json::{Json, JsonStep, json_path};

use crate::refusal::WireRefusal;
use crate::segment::Segment;

/// The body of a request, of whose messages the first ones may be left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestBody<'a> {
    pub(crate) value: &'a Json,
    /// The key of its messages.
    pub(crate) key: &'static str,
    /// How many messages are left out: the first entry of the list stands for all of them. Zero if none is.
    pub(crate) skipped: usize,
}

impl<'a> RequestBody<'a> {
    /// Returns the entries of the list under a key that are read, with their places in the whole request.
    pub(crate) fn entries(self, key: &str, list: &'a [Json]) -> impl Iterator<Item = (usize, &'a Json)> {
        let skipped = if key == self.key { self.skipped } else { 0 };
        list.iter()
            .enumerate()
            .skip(skipped.min(1))
            .map(move |(place, entry)| (place + skipped.saturating_sub(1), entry))
    }
}

/// Returns the refusal of a request with a wrong shape.
pub(crate) fn shape(message: &str) -> WireRefusal {
    WireRefusal::new("request.shape", message)
}

/// Returns the instructions under a key, if there are any.
pub(crate) fn read_instructions(body: &Json, key: &str) -> Vec<Segment> {
    let content = body.get(key).filter(|content| !content.is_null() && content.as_str() != Some(""));
    content.map(|content| Segment::instructions(content, json_path![key])).into_iter().collect()
}

/// Reads every message, which must be an object; errors name the position.
pub(crate) fn read_list(
    body: RequestBody<'_>,
    read: impl Fn(&Json, &[JsonStep]) -> Result<Vec<Segment>, WireRefusal>,
) -> Result<Vec<Segment>, WireRefusal> {
    let key = body.key;
    let Some(entries) = body.value.get(key).and_then(Json::as_array) else {
        return Err(shape(&format!("`{key}` is not a list")));
    };
    let mut segments = Vec::with_capacity(entries.len());
    for (place, entry) in body.entries(key, entries) {
        if entry.as_object().is_none() {
            return Err(shape(&format!("`{key}.{place}` is not an object")));
        }
        let read = read(entry, &json_path![key, place]);
        let located = |error: WireRefusal| WireRefusal::new(error.code, format!("`{key}.{place}`: {}", error.message));
        segments.extend(read.map_err(located)?);
    }
    Ok(segments)
}
