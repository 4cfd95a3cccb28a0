//! Answers of the gateway itself: errors in the shape of the vendor whose API the client uses.

use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use lictor_wire::Api;
use serde_json::Value;

use crate::body::{self, AnswerBody};

/// The header by which an exchange is found in the ledger.
pub(crate) const EXCHANGE_HEADER: HeaderName = HeaderName::from_static("x-lictor-exchange");

/// The header with the gateway's name of the session, for the application.
pub(crate) const SESSION_NAME_HEADER: HeaderName = HeaderName::from_static("x-lictor-session-name");

/// The headers with the calls that were made because of bad forecasts, and the tokens that they cost.
pub(crate) const EXTRA_CALLS_HEADER: HeaderName = HeaderName::from_static("x-lictor-extra-calls");
pub(crate) const EXTRA_TOKENS_HEADER: HeaderName = HeaderName::from_static("x-lictor-extra-tokens");

/// The header with the code of an answer of the gateway itself.
const CODE_HEADER: HeaderName = HeaderName::from_static("x-lictor-code");

/// An error that the gateway itself answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorResponse {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    /// The reason for operators, which the client does not get.
    pub(crate) reason: Option<String>,
}

impl ErrorResponse {
    pub(crate) fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> ErrorResponse {
        ErrorResponse { status, code: code.into(), message: message.into(), reason: None }
    }

    /// Returns the error that nothing can be recorded, so nothing is forwarded.
    pub(crate) fn unavailable() -> ErrorResponse {
        ErrorResponse::new(
            503,
            "audit.unavailable",
            "decisions cannot be recorded at the moment, so nothing is forwarded; retry later",
        )
    }

    /// Returns the error that the gateway is to stop, so it accepts no new requests.
    pub(crate) fn draining() -> ErrorResponse {
        ErrorResponse::new(503, "gateway.draining", "the gateway is shutting down; retry with another instance")
    }

    /// Returns the error that the gateway itself failed.
    pub(crate) fn failed() -> ErrorResponse {
        ErrorResponse::new(500, "gateway.failed", "internal error; nothing was forwarded")
    }

    /// Returns the answer in the vendor's shape; in OpenAI's if the vendor is unknown.
    pub(crate) fn response(&self, api: Option<Api>) -> Response<AnswerBody> {
        let bytes = api.unwrap_or(Api::Chat).error(self.status, &self.code, &self.message);
        let mut response = json_response(self.status, bytes);
        if let Ok(code) = HeaderValue::from_str(&self.code) {
            response.headers_mut().insert(CODE_HEADER, code);
        }
        response
    }
}

impl From<(u16, &'static str, &'static str)> for ErrorResponse {
    fn from((status, code, message): (u16, &'static str, &'static str)) -> ErrorResponse {
        ErrorResponse::new(status, code, message)
    }
}

/// Returns an answer with a JSON value.
pub(crate) fn value(status: u16, value: &Value) -> Response<AnswerBody> {
    json_response(status, format!("{value}\n").into_bytes())
}

fn json_response(status: u16, bytes: Vec<u8>) -> Response<AnswerBody> {
    let mut response = Response::new(body::whole(bytes));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    response
}
