//! Where a request goes, by its method and path.

use hyper::http::request::Parts;
use lictor_policy::glob::Glob;
use lictor_wire::{Api, Route};

use crate::telemetry::RouteLabel;

/// How many names the vendors' own paths of judged routes have, after the prefix.
const MAX_ROUTE_NAMES: usize = 2;

/// Parts of the words in the paths of routes that a model answers, of any vendor: a star of `forward` covers none of them.
const MODEL_STEMS: [&str; 18] = [
    "answer",
    "batch",
    "chat",
    "complet",
    "convers",
    "generat",
    "infer",
    "infill",
    "interaction",
    "invo",
    "messag",
    "predict",
    "prompt",
    "question",
    "realtime",
    "respon",
    "rewrit",
    "summar",
];

/// Whole words of these routes. Others have them as parts.
const MODEL_WORDS: [&str; 13] =
    ["ask", "call", "edit", "edits", "execute", "llm", "ocr", "query", "run", "runs", "stream", "wait", "workflows"];

/// How often an encoded path is decoded: services behind each other may each decode it once.
const MAX_DECODINGS: usize = 4;

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

/// Whether an entry of `forward` covers a request. A star covers no route that a model answers, whatever stands around its
/// name, and never the end of a judged route, such as `/messages`: an upstream may take all before it for a prefix. An
/// entry that writes the names out covers them.
pub(super) fn is_forwarded(entry: &str, method: &str, path: &str) -> bool {
    if !Glob::new(entry).matches(path) {
        return false;
    }
    let writes_end = |end: &str| {
        let written = entry.rsplit('*').next().unwrap_or(entry);
        written.trim_end_matches('/').to_ascii_lowercase().ends_with(end)
    };
    let has_body = !matches!(method, "GET" | "HEAD");
    let (own, written) = (path_words(path), path_words(entry));
    let count = |words: &[String], word: &str| words.iter().filter(|other| *other == word).count();
    let is_written = |word: &String| count(&own, word) <= count(&written, word);
    let has_model_word = has_body && !own.iter().filter(|word| is_model_word(word)).all(is_written);
    find_judged_end(method, path).is_none_or(|end| writes_end(&end)) && !has_model_word
}

/// Returns the end of a path that is a judged route by itself, if the path is read as the most lenient service reads it. A
/// service may read the body of any method that has one.
pub(super) fn find_judged_end(method: &str, path: &str) -> Option<String> {
    if matches!(method, "GET" | "HEAD") {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let decoded = decode_path(path);
    // What follows a name after another character is an extension, a verb or a space.
    let names = decoded.split('/').filter_map(|name| name.split(|c| !is_name(c)).find(|part| !part.is_empty()));
    let path: String = names.map(|name| format!("/{name}")).collect();
    let mut ends = path.rmatch_indices('/').take(MAX_ROUTE_NAMES).map(|(place, _)| &path[place..]);
    ends.find(|end| matches!(Api::route("POST", end), Route::Judged(_) | Route::Counted(_))).map(str::to_owned)
}

/// Whether a word of a path is one of a route that a model answers.
fn is_model_word(word: &str) -> bool {
    MODEL_WORDS.contains(&word) || MODEL_STEMS.iter().any(|stem| word.contains(stem))
}

/// Returns the words of a path, without case and encoding.
fn path_words(path: &str) -> Vec<String> {
    let decoded = decode_path(path);
    decoded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns a path in small letters and without encoding.
fn decode_path(path: &str) -> String {
    let mut bytes = path.as_bytes().to_vec();
    for _ in 0..MAX_DECODINGS {
        let mut decoded = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some((first, after)) = rest.split_first() {
            let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
            match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte) => {
                    decoded.push(byte);
                    rest = &after[2..];
                }
                None => {
                    decoded.push(*first);
                    rest = after;
                }
            }
        }
        bytes = decoded;
    }
    // The long s and the Kelvin sign are small letters of ASCII for readers that ignore case.
    String::from_utf8_lossy(&bytes).chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
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
    fn star_of_forward_covers_no_judged_route() {
        let entries = ["/v1/files*", "/v1/threads/*", "/*", "*", "/v1/files/*/x"];
        let judged =
            ["/v1/messages", "/v1/messages/count_tokens", "/messages", "/v1/chat/completions", "/chat/completions"];
        let judged = judged.into_iter().chain(["/v1/responses", "/responses", "/v1/responses/input_tokens"]);
        let judged: Vec<&str> = judged.collect();
        for prefix in ["", "/v1/files", "/v1/files/v1/x", "/v1/files-2", "/v1/threads/t1"] {
            for route in &judged {
                let disguises = [
                    format!("{prefix}{route}"),
                    format!("{prefix}{route}/"),
                    format!("{prefix}{}", route.to_ascii_uppercase()),
                    format!("{prefix}/{route}"),
                    format!("{prefix}/x/..{route}"),
                    format!("{prefix}/x/%2e%2E{route}"),
                    format!("{prefix}/.{route}"),
                    format!("{prefix}{}", route.replacen('/', "%2F", 1)),
                    format!("{prefix}{}", route.replacen('s', "%73", 1)),
                    format!("{prefix}{route};x=1"),
                    format!("{prefix}{route}\\"),
                ];
                for path in disguises {
                    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                        let is_odd = !is_plain(method, &path) || resembles_judged(method, &path);
                        let is_judged = !matches!(find_destination(method, &path), Destination::Unknown);
                        let is_covered = entries.iter().any(|entry| is_forwarded(entry, method, &path));
                        assert!(is_odd || is_judged || !is_covered, "{method} {path}");
                    }
                }
            }
        }
    }

    #[test]
    fn star_of_forward_covers_no_disguised_route() {
        let entries = ["/x/*", "/v1/files*", "/v1/*", "/*", "*", "/x/*/y", "/v1/comp*", "/v1/messages-old/*"];
        let routes = [
            "/chat/completions",
            "/messages",
            "/messages/count_tokens",
            "/messages/batches",
            "/responses",
            "/responses/input_tokens",
            "/completions",
            "/batches",
            "/fim/completions",
            "/models/gemini:generateContent",
            "/models/gemini:streamGenerateContent",
            "/models/m/converse",
            "/model/m/converse-stream",
            "/model/m/invoke",
            "/publishers/p/models/m:rawPredict",
            "/api/chat",
            "/api/generate",
            "/generate_stream",
            "/invocations",
            "/complete",
            "/text/generation",
            "/workflows/run",
            "/threads/t/runs",
            "/threads/runs",
            "/runs/wait",
            "/runs/stream",
            "/message:send",
            "/ai/run",
            "/models/m:directPredict",
            "/chatCompletions",
            "/generations2",
            "/answers",
            "/query",
            "/prompt",
        ];
        let ends = [
            "",
            "/",
            "%20",
            ".",
            "..",
            ":a",
            ":",
            "%09",
            "%0A",
            "%2520",
            "%252520",
            "%20%20",
            "+",
            ",",
            "!",
            "~",
            "'",
            "$",
            "@v",
            "=",
            "&a",
            ".json",
            ".",
            "*",
            "%3F",
            "%3f",
            "%23",
            "%3Ba",
            "%253Ba",
            "%2525",
            "%E2%80%8B",
            "%C2%A0",
            "/%20",
            "/.json",
            "/x",
            "%",
            "%a",
            "(a)",
            "%0D%0A",
        ];
        for prefix in ["/x", "/x/v1", "/v1", "/v1/files", "/v1/messages-old", "", "/x/y"] {
            for route in routes {
                for end in ends {
                    let plain = format!("{prefix}{route}{end}");
                    for path in [
                        plain.clone(),
                        plain.to_ascii_uppercase(),
                        plain.replacen("ess", "%65ss", 1),
                        format!("{plain}/y"),
                    ] {
                        for method in ["POST", "PUT", "PATCH", "DELETE"] {
                            let covering = entries.iter().find(|entry| is_forwarded(entry, method, &path));
                            assert_eq!(covering, None, "{method} {path}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn entry_of_forward_covers_what_it_writes_out() {
        let cases = [
            ("/v1/files*", "POST", "/v1/files", true),
            ("/v1/files*", "POST", "/v1/files/f1/content", true),
            ("/v1/files*", "GET", "/v1/files/f1/messages", true),
            ("/v1/files*", "POST", "/v1/files/f1/messages", false),
            ("/v1/files*", "POST", "/v1/file", false),
            ("/v1/threads/*/messages", "POST", "/v1/threads/t1/messages", true),
            ("/v1/threads/*", "POST", "/v1/threads/t1/messages", false),
            ("/v1/threads/*", "POST", "/v1/threads/t1/runs", false),
            ("/v1/threads/*/runs", "POST", "/v1/threads/t1/runs", true),
            ("/v1beta/messages", "POST", "/v1beta/messages", true),
            ("/v1beta/*", "POST", "/v1beta/messages", false),
            ("/v1/messages/batches*", "POST", "/v1/messages/batches", true),
            ("/v1/messages/batches*", "POST", "/v1/messages/batches/b1/cancel", true),
            ("/v1/messages/batches*", "POST", "/v1/messages/batches/b1/messages", false),
            ("/v1/messages/batches*", "POST", "/v1/messages/batches/messages%20", false),
            ("/v1/*", "POST", "/v1/embeddings", true),
            ("/v1/*", "POST", "/v1/files", true),
            ("/v1/*", "DELETE", "/v1/files/file-1", true),
            ("/v1/*", "GET", "/v1/batches/b1", true),
            ("/v1/*", "POST", "/v1/batches", false),
            ("/v1/batches*", "POST", "/v1/batches", true),
            ("/v1beta/models/*:generateContent", "POST", "/v1beta/models/g:generateContent", true),
            ("/v1/completions", "POST", "/v1/completions", true),
        ];
        for (entry, method, path, is_covered) in cases {
            assert_eq!(is_forwarded(entry, method, path), is_covered, "{entry} {method} {path}");
        }
        let judged = Destination::Judged(Api::Messages);
        assert_eq!(find_destination("POST", "/v1/threads/v1/messages"), judged, "whichever `/v1` is the prefix");
        assert_eq!(find_destination("GET", "/v1/files/v1/models"), Destination::Unknown);
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
