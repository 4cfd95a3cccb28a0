//! One exchange with a model, for clients in Python: `lictor-exchange` judges, and the guard of the client decides.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lictor::guard::Decision;
use lictor_exchange::{ExchangeFailure, ExchangeOptions, LocalExchange, LocalParts, LocalReply, SessionChoice};
use lictor_wire::{Api, Route};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Error;
use crate::guard::{GuardCore, to_python};

/// How many bytes of text are held back if text is streamed at once and the policy may change it.
const HOLD_BACK_BYTES: usize = 256;

/// One exchange of a session with a model.
#[pyclass(module = "lictor._lictor", frozen)]
#[derive(Debug)]
pub(crate) struct Exchange {
    core: GuardCore,
    api: Option<Api>,
    /// Whether it needs no judging.
    is_harmless: bool,
    exchange: Mutex<LocalExchange>,
}

/// The status and the body of an answer that is not from the model.
type ErrorAnswer<'py> = (u16, Bound<'py, PyBytes>);

/// The body that may be sent, or the answer instead, and the decisions that changed something.
type JudgedBody<'py> = (Option<Bound<'py, PyBytes>>, Option<ErrorAnswer<'py>>, Vec<Bound<'py, PyAny>>);

/// A [`JudgedBody`], and the next requests to the model: one if it is to be asked again, any number if more replies are
/// needed to choose from.
type JudgedReplyBody<'py> =
    (Option<Bound<'py, PyBytes>>, Option<ErrorAnswer<'py>>, Vec<Bound<'py, PyAny>>, Option<NextRequests<'py>>);

/// Whether these are several requests at once, the requests, and how many seconds there are for all of them; none is no limit.
type NextRequests<'py> = (bool, Vec<Bound<'py, PyBytes>>, Option<f64>);

/// The part of a stream that may be sent, and the decisions that changed something.
type JudgedPiece<'py> = (Bound<'py, PyBytes>, Vec<Bound<'py, PyAny>>);

/// The result of driving an exchange, and the decisions that changed something.
type DriveResult<T> = (Result<T, ExchangeFailure>, Vec<Arc<Decision>>);

impl Exchange {
    fn api(&self) -> Api {
        self.api.unwrap_or(Api::Chat)
    }

    /// Drives the exchange with the guard, without the GIL. Also returns the decisions that changed something.
    fn drive<T: Send>(
        &self,
        py: Python<'_>,
        judge: impl FnOnce(&mut LocalExchange, LocalParts<'_>) -> T + Send,
    ) -> DriveResult<T> {
        py.detach(|| {
            let mut exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
            let judged = match self.core.lock() {
                Ok(mut guarding) => Ok(judge(&mut exchange, guarding.parts())),
                Err(message) => Err(ExchangeFailure::failed(503, "audit.unavailable", message)),
            };
            (judged, exchange.take_decisions())
        })
    }

    fn whole<'py>(
        &self,
        py: Python<'py>,
        (judged, decisions): DriveResult<Result<bytes::Bytes, ExchangeFailure>>,
    ) -> PyResult<JudgedBody<'py>> {
        let decisions = list(py, &decisions)?;
        Ok(match judged.and_then(|judged| judged) {
            Ok(bytes) => (Some(PyBytes::new(py, &bytes)), None, decisions),
            Err(ExchangeFailure { status, code, message, .. }) => {
                let body = self.api().error(status, &code, &message);
                (None, Some((status, PyBytes::new(py, &body))), decisions)
            }
        })
    }

    /// Returns what becomes of a reply, as Python reads it.
    fn judged_reply<'py>(
        &self,
        py: Python<'py>,
        (judged, decisions): DriveResult<Result<LocalReply, ExchangeFailure>>,
    ) -> PyResult<JudgedReplyBody<'py>> {
        let next = |is_many: bool, requests: &[bytes::Bytes], wait: Option<Duration>| {
            let requests = requests.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
            let seconds = wait.map(|wait| wait.as_secs_f64());
            Ok((None, None, list(py, &decisions)?, Some((is_many, requests, seconds))))
        };
        let judged = match judged.and_then(|judged| judged) {
            Ok(LocalReply::AskAgain(bytes)) => return next(false, &[bytes], None),
            Ok(LocalReply::AskAll { requests, wait }) => return next(true, &requests, wait),
            Ok(LocalReply::Body(bytes)) => Ok(bytes),
            Err(failure) => Err(failure),
        };
        let (allowed, answer, decisions) = self.whole(py, (Ok(judged), decisions))?;
        Ok((allowed, answer, decisions, None))
    }

    fn piece<'py>(
        &self,
        py: Python<'py>,
        judge: impl FnOnce(&mut LocalExchange, LocalParts<'_>) -> Vec<u8> + Send,
    ) -> PyResult<JudgedPiece<'py>> {
        let (judged, decisions) = self.drive(py, judge);
        let decisions = list(py, &decisions)?;
        let bytes = judged.unwrap_or_else(|ExchangeFailure { status, code, message, .. }| {
            self.api().error_event(status, &code, &message, 0)
        });
        Ok((PyBytes::new(py, &bytes), decisions))
    }
}

/// Returns decisions as Python objects.
fn list<'py>(py: Python<'py>, decisions: &[Arc<Decision>]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    decisions.iter().map(|decision| to_python(py, &decision.line())).collect()
}

/// Returns a random id for an exchange: 32 hexadecimal digits.
fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let random = RandomState::new().build_hasher().finish();
    format!("{random:016x}{:016x}", COUNT.fetch_add(1, Ordering::Relaxed))
}

#[pymethods]
impl Exchange {
    /// Creates an exchange of the session `named`, or else of its conversation, among those of the session `own`.
    #[new]
    fn new(
        core: &Bound<'_, GuardCore>,
        named: Option<String>,
        own: String,
        method: &str,
        path: &str,
        hold_text: bool,
    ) -> Exchange {
        let route = Api::route(method, path);
        let (api, is_harmless) = match route {
            Route::Judged(api) | Route::Counted(api) => (Some(api), false),
            Route::Harmless(api) => (Some(api), true),
            Route::Unknown => (None, false),
        };
        let judges_reply = matches!(route, Route::Judged(_));
        let core = core.get().clone();
        // Text that is held until it is whole is changed by the decision on it; otherwise it is previewed.
        let (previews_text, hold_back) = match (hold_text, core.changes_texts()) {
            (true, _) => (false, usize::MAX),
            (false, true) => (true, HOLD_BACK_BYTES),
            (false, false) => (false, 0),
        };
        let mut options = ExchangeOptions::default();
        options.previews_text = previews_text;
        options.hold_back = hold_back;
        options.judges_reply = judges_reply;
        options.reads_texts = core.reads_texts();
        options.interventions = core.predict();
        options.steering = core.steering();
        let session = named.map_or(SessionChoice::ByConversation(own), SessionChoice::Named);
        let exchange = LocalExchange::new(api.unwrap_or(Api::Chat), new_id(), session, options);
        Exchange { core, api, is_harmless, exchange: Mutex::new(exchange) }
    }

    /// The name of the session; none before a request that could be read.
    #[getter]
    fn session(&self) -> Option<String> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner).session().map(str::to_owned)
    }

    /// Whether the request needs no judging: lists of models.
    #[getter]
    fn is_harmless(&self) -> bool {
        self.is_harmless
    }

    /// Whether the request is of no known kind.
    #[getter]
    fn is_unknown(&self) -> bool {
        self.api.is_none()
    }

    /// Returns an error in the vendor's own format.
    fn error<'py>(&self, py: Python<'py>, status: u16, code: &str, message: &str) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.api().error(status, code, message))
    }

    /// Judges the body of a request.
    fn ask<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<JudgedBody<'py>> {
        let body = bytes::Bytes::copy_from_slice(body);
        let judged = self.drive(py, |exchange, parts| exchange.request(parts, body));
        self.whole(py, judged)
    }

    /// Judges the body of a reply; none if the model gave none when it was asked again.
    fn reply<'py>(&self, py: Python<'py>, body: Option<&[u8]>) -> PyResult<JudgedReplyBody<'py>> {
        let body = body.map(bytes::Bytes::copy_from_slice);
        let judged = self.drive(py, |exchange, parts| match body {
            Some(body) => exchange.reply(parts, body),
            None => exchange.no_reply(parts),
        });
        self.judged_reply(py, judged)
    }

    /// Takes the replies to several requests, none where the model gave none, and how many seconds they took.
    fn replies<'py>(
        &self,
        py: Python<'py>,
        bodies: Vec<Option<Vec<u8>>>,
        seconds: f64,
    ) -> PyResult<JudgedReplyBody<'py>> {
        let bodies = bodies.into_iter().map(|body| body.map(bytes::Bytes::from)).collect();
        let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let judged = self.drive(py, |exchange, parts| exchange.replies(parts, bodies, elapsed));
        self.judged_reply(py, judged)
    }

    /// Judges bytes of a streamed reply; none at its end.
    fn push<'py>(&self, py: Python<'py>, bytes: Option<&[u8]>) -> PyResult<JudgedPiece<'py>> {
        let bytes = bytes.map(bytes::Bytes::copy_from_slice);
        self.piece(py, |exchange, parts| match bytes {
            Some(bytes) => exchange.push(parts, bytes),
            None => exchange.end(parts, false),
        })
    }

    /// Whether the client was sent all of a streamed reply.
    #[getter]
    fn is_complete(&self) -> bool {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner).is_complete()
    }

    /// Returns the next request to the model, if all calls of the stream that has ended are denied, or another stream is
    /// looked for.
    fn take_next_request<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let next = self.exchange.lock().unwrap_or_else(PoisonError::into_inner).take_next_request();
        next.map(|bytes| PyBytes::new(py, &bytes))
    }

    /// Ends a streamed reply if the model gave no other stream when it was asked again.
    fn no_stream<'py>(&self, py: Python<'py>) -> PyResult<JudgedPiece<'py>> {
        self.piece(py, |exchange, parts| exchange.no_stream(parts))
    }

    /// Ends a streamed reply after a disconnect.
    fn cut<'py>(&self, py: Python<'py>) -> PyResult<JudgedPiece<'py>> {
        self.piece(py, |exchange, parts| exchange.end(parts, true))
    }

    /// Records that the client stopped reading.
    fn leave<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (_, decisions) = self.drive(py, |exchange, parts| exchange.close(parts));
        list(py, &decisions)
    }

    fn __repr__(&self) -> PyResult<String> {
        let api = self.api.map(Api::name).ok_or_else(|| Error::State.with("a request of no known kind"))?;
        Ok(format!("<Exchange of {} by {api}>", self.session().as_deref().unwrap_or("a conversation")))
    }
}
