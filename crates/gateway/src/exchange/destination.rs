//! Where a request goes, by its method and path.

use hyper::http::request::Parts;
use lictor_wire::{Api, Route};

use crate::telemetry::RouteLabel;

/// Returns the kind of route of a request.
pub(super) fn route(head: &Parts) -> Destination {
    find_destination(head.method.as_str(), head.uri.path())
}

/// Returns the kind of route of a method and a path.
pub(super) fn find_destination(method: &str, path: &str) -> Destination {
    match Api::route(method, path) {
        Route::Judged(api) => Destination::Judged(api),
        Route::Counted(api) => Destination::Counted(api),
        Route::Harmless(api) => Destination::Unjudged(Some(api)),
        Route::Unknown => Destination::Unknown,
    }
}

/// Whether the path of a request is normalized. The upstream may read another path differently, which would bypass judging.
/// The name of a model is read strictly by its route. Its slash may be encoded, as the vendors' libraries do it.
pub(super) fn is_plain(method: &str, path: &str) -> bool {
    // Most paths have none of the characters that could be read differently.
    if path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_')) {
        return !path.contains("//");
    }
    let is_harmless = matches!(Api::route(method, path), Route::Harmless(_));
    let before_model = path.rsplit_once('/').map(|(before, _)| before).filter(|before| before.ends_with("/models"));
    is_normalized(before_model.filter(|_| is_harmless).unwrap_or(path))
}

/// Whether a path with any characters is normalized.
fn is_normalized(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_odd = |part: &str| matches!(part, "." | ".." | "%2e" | "%2e%2e" | ".%2e" | "%2e.");
    let has_odd = ["//", "\\", "%2f", "%5c", "%00", ";"].iter().any(|odd| lower.contains(odd));
    // Letters and digits need no encoding: encoding one is an attempt to be read differently.
    let encoded = lower.split('%').skip(1).filter_map(|rest| u8::from_str_radix(rest.get(..2)?, 16).ok());
    let hides = encoded.into_iter().any(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    !has_odd && !hides && !lower.split('/').any(is_odd)
}

/// Whether a path differs from a judged route only by case or a trailing slash: a lenient upstream may treat it as one.
pub(super) fn resembles_judged(method: &str, path: &str) -> bool {
    let strict = path.trim_end_matches('/').to_ascii_lowercase();
    matches!(Api::route(method, &strict), Route::Judged(_) | Route::Counted(_))
}

/// The kind of route of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Judged(Api),
    /// The body is judged, the reply is a number.
    Counted(Api),
    Unjudged(Option<Api>),
    Unknown,
}

impl Destination {
    /// Returns the API that a request uses.
    pub(super) fn api(self) -> Option<Api> {
        match self {
            Destination::Judged(api) | Destination::Counted(api) => Some(api),
            Destination::Unjudged(api) => api,
            Destination::Unknown => None,
        }
    }

    /// Returns the name of the route in metrics and records.
    pub(super) fn label(self) -> RouteLabel {
        match self {
            Destination::Judged(api) | Destination::Counted(api) => RouteLabel::Api(api),
            Destination::Unjudged(Some(_)) => RouteLabel::Models,
            Destination::Unjudged(None) | Destination::Unknown => RouteLabel::Unjudged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_name_may_have_encoded_slash() {
        assert!(is_plain("GET", "/v1/models/meta-llama%2FLlama-3"));
        assert!(is_plain("GET", "/v1/models/meta-llama%2fLlama-3"));
        for odd in [
            "/v1/models/..%2Fresponses%2Fresp_1",
            "/v1/models/a%2F%2E%2E%2Fresponses",
            "/v1/models/%2Fresponses",
            "/v1/models/a%2F%2Fb",
            "/v1/models/a%2F",
            "/v1/models/a%5Cb",
            "/v1/x%2Fmodels/a",
            "/v1/chat%2Fcompletions",
        ] {
            assert!(!is_plain("GET", odd), "{odd}");
        }
        assert!(!is_plain("POST", "/v1/models/meta-llama%2FLlama-3"), "no such request is known");
    }

    #[test]
    fn plain_paths_are_normalized_ones() {
        let parts =
            ["/", "v1", "chat", ".", "..", "%2e", "%2F", "%41", "%20", "\\", ";", "a-b_c", "~", "é", "%", "%00", ""];
        let count = parts.len();
        for number in 0..count * count * count * count {
            let places = [number, number / count, number / count / count, number / count / count / count];
            let path: String = places.map(|place| parts[place % count]).concat();
            for path in [&path, &format!("/{path}")] {
                assert_eq!(is_plain("POST", path), is_normalized(path), "{path}");
            }
        }
        assert!(is_plain("POST", "/v1/chat/completions"));
        assert!(!is_plain("POST", "/v1//chat/completions"));
    }
}
