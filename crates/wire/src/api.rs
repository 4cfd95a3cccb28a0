//! The interfaces of model vendors, their paths, and their errors.

use lictor_json::{Json, Object};

/// An interface by which a client talks to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI Chat Completions, and those who speak it.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

/// What a request is about, by its method and its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// It talks to a model: body and reply are judged.
    Judged(Api),
    /// It carries nothing that an agent says or does: lists of models, counts of tokens.
    Harmless(Api),
    /// Nobody here knows what it does.
    Unknown,
}

/// What the paths that are known end with, after a prefix such as `/v1` or `/openai/deployments/NAME`.
const JUDGED: [(&str, Api); 3] =
    [("chat/completions", Api::Chat), ("responses", Api::Responses), ("messages", Api::Messages)];

impl Api {
    /// All interfaces.
    pub const ALL: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

    /// What a request is about. The query is no part of the path. What comes before the first `/v1` may be anything, and so may
    /// all that comes before the names that OpenAI's paths end with: others who speak as it does have them elsewhere.
    pub fn route(method: &str, path: &str) -> Route {
        let path = path.split(['?', '#']).next().unwrap_or(path).trim_matches('/');
        let names: Vec<&str> = path.split('/').collect();
        let tail = match (names.iter().position(|name| *name == "v1"), names.as_slice()) {
            (Some(place), names) => names[place + 1..].join("/"),
            (None, ["openai", "deployments", _, rest @ ..]) => rest.join("/"),
            (None, names) => names.join("/"),
        };
        let tail = tail.as_str();
        let elsewhere = match names.as_slice() {
            [.., "chat", "completions"] => Some(Api::Chat),
            [.., "responses"] => Some(Api::Responses),
            _ => None,
        };
        match method {
            "POST" => match JUDGED.iter().find(|(known, _)| *known == tail).map(|(_, api)| *api).or(elsewhere) {
                Some(api) => Route::Judged(api),
                // The same request with nothing but a number as its reply.
                None if tail == "messages/count_tokens" => Route::Harmless(Api::Messages),
                None => Route::Unknown,
            },
            "GET" | "HEAD" if tail == "models" || tail.strip_prefix("models/").is_some_and(is_name) => {
                Route::Harmless(Api::Chat)
            }
            _ => Route::Unknown,
        }
    }

    /// Its name, as decoders call the format.
    pub fn name(self) -> &'static str {
        match self {
            Api::Chat => "openai-chat",
            Api::Responses => "openai-responses",
            Api::Messages => "anthropic",
        }
    }

    /// An error in the vendor's own shape: the body of a reply with this status, as JSON.
    pub fn error(self, status: u16, code: &str, message: &str) -> Vec<u8> {
        let mut error = object(&[("message", message.into()), ("type", self.kind(status).into())]);
        if self != Api::Messages {
            error.insert("param", Json::Null);
            error.insert("code", code);
            return Json::from(object(&[("error", error.into())])).to_string().into_bytes();
        }
        error.insert("message", format!("{message} ({code})"));
        Json::from(object(&[("type", "error".into()), ("error", error.into())])).to_string().into_bytes()
    }

    /// The same within a stream that has begun: one server-sent event, after which the stream ends. `sequence` is what
    /// [`Stream::sequence`](crate::Stream::sequence) says.
    pub fn error_event(self, status: u16, code: &str, message: &str, sequence: i64) -> Vec<u8> {
        let (name, data) = match self {
            Api::Messages | Api::Chat => {
                let body = self.error(status, code, message);
                (if self == Api::Messages { "event: error\n" } else { "" }, String::from_utf8(body).unwrap_or_default())
            }
            Api::Responses => {
                let error = object(&[
                    ("type", "error".into()),
                    ("code", code.into()),
                    ("message", message.into()),
                    ("param", Json::Null),
                    ("sequence_number", sequence.into()),
                ]);
                ("event: error\n", Json::from(error).to_string())
            }
        };
        format!("{name}data: {data}\n\n").into_bytes()
    }

    /// The vendor's own name for errors of a status.
    fn kind(self, status: u16) -> &'static str {
        match (self, status) {
            (_, 401) => "authentication_error",
            (Api::Messages, 403) => "permission_error",
            (Api::Messages, 404) => "not_found_error",
            (Api::Messages, 413) => "request_too_large",
            (Api::Messages, 429) => "rate_limit_error",
            (Api::Messages, 529) => "overloaded_error",
            (Api::Messages, 500..) => "api_error",
            (_, 429) => "rate_limit_exceeded",
            (_, 500..) => "server_error",
            _ => "invalid_request_error",
        }
    }
}

/// Whether a piece of a path is one name.
fn is_name(tail: &str) -> bool {
    !tail.is_empty() && tail != ".." && tail.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// An object of members whose keys differ.
pub(crate) fn object(members: &[(&str, Json)]) -> Object {
    members.iter().map(|(key, value)| ((*key).into(), value.clone())).collect()
}
