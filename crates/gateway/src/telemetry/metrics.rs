//! Metrics, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lictor_judge::guard::Action;
use lictor_wire::Api;

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The client has the whole answer.
    Done,
    /// The policy refused it, or it could not be read.
    Refused,
    /// The upstream answered with an error.
    UpstreamError,
    /// The upstream gave no answer.
    UpstreamGone,
    /// The upstream disconnected within its answer.
    Truncated,
    /// The client disconnected.
    ClientGone,
    /// Nothing could be recorded, so nothing was forwarded.
    AuditUnavailable,
    /// The gateway itself failed.
    Failed,
    /// Too many exchanges were in flight.
    Busy,
}

impl Outcome {
    pub(crate) const ALL: [Outcome; 9] = [
        Outcome::Done,
        Outcome::Refused,
        Outcome::UpstreamError,
        Outcome::UpstreamGone,
        Outcome::Truncated,
        Outcome::ClientGone,
        Outcome::AuditUnavailable,
        Outcome::Failed,
        Outcome::Busy,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Refused => "refused",
            Outcome::UpstreamError => "upstream_error",
            Outcome::UpstreamGone => "upstream_gone",
            Outcome::Truncated => "truncated",
            Outcome::ClientGone => "client_gone",
            Outcome::AuditUnavailable => "audit_unavailable",
            Outcome::Failed => "failed",
            Outcome::Busy => "busy",
        }
    }
}

const ACTIONS: [Action; 5] = [Action::Forward, Action::Steer, Action::Redact, Action::Ask, Action::Block];

/// The upper bounds of the histogram's buckets, in microseconds.
const CLASSES: [u64; 12] = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 1_000_000, 10_000_000];

/// The counters since the start of the gateway.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By API, the unjudged ones last, and by outcome.
    exchanges: [[AtomicU64; Outcome::ALL.len()]; Api::ALL.len() + 1],
    decisions: [AtomicU64; ACTIONS.len()],
    waits: [AtomicU64; CLASSES.len() + 1],
    waited: AtomicU64,
    /// Exchanges in flight.
    pub(crate) in_flight: AtomicU64,
    /// Finished exchanges whose record cannot be written yet.
    pub(crate) unwritten: AtomicU64,
    /// Open connections.
    pub(crate) connections: AtomicU64,
    /// Requests that were refused for their head.
    pub(crate) malformed: AtomicU64,
    /// Bytes from clients, and to them.
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    /// Sessions that began: many from one client may be an attempt to escape a history.
    pub(crate) sessions_begun: AtomicU64,
    pub(crate) sessions_evicted: AtomicU64,
    /// Histories that clients sent back changed.
    pub(crate) histories_changed: AtomicU64,
    /// Exchanges that ended with a panic.
    pub(crate) panics: AtomicU64,
    /// Events that were forwarded against the policy, in shadow mode.
    pub(crate) unchecked: AtomicU64,
    /// How often a model was asked again after its calls were denied.
    pub(crate) corrections: AtomicU64,
    /// Fields of replies that the client did not get, because Lictor does not know them.
    pub(crate) stripped: AtomicU64,
    /// Policies that were reloaded, and that were refused.
    pub(crate) reloads: AtomicU64,
    pub(crate) reloads_refused: AtomicU64,
    /// Lines and spans that were dropped.
    pub(crate) telemetry_dropped: AtomicU64,
}

impl Metrics {
    pub(crate) fn exchange(&self, api: Option<Api>, outcome: Outcome) {
        let row = api.map_or(Api::ALL.len(), |api| Api::ALL.iter().position(|known| *known == api).unwrap_or(0));
        let column = Outcome::ALL.iter().position(|known| *known == outcome).unwrap_or(0);
        if let Some(count) = self.exchanges.get(row).and_then(|row| row.get(column)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn decision(&self, action: Action) {
        if let Some(count) = ACTIONS.iter().position(|known| *known == action).and_then(|at| self.decisions.get(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts how long an exchange waited for decisions.
    pub(crate) fn waited(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let class = CLASSES.iter().position(|bound| micros <= *bound).unwrap_or(CLASSES.len());
        if let Some(count) = self.waits.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.waited.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP lictor_{name} {help}\n# TYPE lictor_{name} {kind}");
        };
        head(&mut text, "exchanges_total", "counter", "Exchanges by interface and by how they ended.");
        let names = Api::ALL.iter().map(|api| api.name()).chain(["unjudged"]);
        for (name, row) in names.zip(&self.exchanges) {
            for (outcome, count) in Outcome::ALL.iter().zip(row) {
                let count = count.load(Ordering::Relaxed);
                let _ =
                    writeln!(text, "lictor_exchanges_total{{api=\"{name}\",outcome=\"{}\"}} {count}", outcome.name());
            }
        }
        head(&mut text, "decisions_total", "counter", "Decisions by action.");
        for (action, count) in ACTIONS.iter().zip(&self.decisions) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(text, "lictor_decisions_total{{action=\"{}\"}} {count}", action.name());
        }
        head(
            &mut text,
            "decision_seconds",
            "histogram",
            "How long exchanges waited for decisions to be made and written down.",
        );
        let mut sum = 0;
        for (bound, count) in CLASSES.iter().zip(&self.waits) {
            sum += count.load(Ordering::Relaxed);
            let seconds = Duration::from_micros(*bound).as_secs_f64();
            let _ = writeln!(text, "lictor_decision_seconds_bucket{{le=\"{seconds}\"}} {sum}");
        }
        sum += self.waits.last().map_or(0, |count| count.load(Ordering::Relaxed));
        let waited = Duration::from_micros(self.waited.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(text, "lictor_decision_seconds_bucket{{le=\"+Inf\"}} {sum}");
        let _ = writeln!(text, "lictor_decision_seconds_sum {waited}\nlictor_decision_seconds_count {sum}");
        for (name, kind, help, count) in [
            ("exchanges_under_way", "gauge", "Exchanges under way.", &self.in_flight),
            ("connections", "gauge", "Connections that are open.", &self.connections),
            ("malformed_requests_total", "counter", "Requests refused for how they were framed.", &self.malformed),
            ("client_bytes_in_total", "counter", "Bytes of bodies from clients.", &self.bytes_in),
            ("client_bytes_out_total", "counter", "Bytes of bodies to clients.", &self.bytes_out),
            ("sessions_begun_total", "counter", "Sessions that began.", &self.sessions_begun),
            (
                "sessions_evicted_total",
                "counter",
                "Sessions that ended because there were too many in memory.",
                &self.sessions_evicted,
            ),
            (
                "histories_changed_total",
                "counter",
                "Histories sent again other than they were.",
                &self.histories_changed,
            ),
            ("panics_total", "counter", "Exchanges that ended by a failure of the gateway.", &self.panics),
            ("forwarded_unchecked_total", "counter", "Events that went on against the policy.", &self.unchecked),
            ("corrections_total", "counter", "Requests sent again because all calls were denied.", &self.corrections),
            (
                "fields_stripped_total",
                "counter",
                "Unknown fields of replies that the client did not get.",
                &self.stripped,
            ),
            ("reloads_total", "counter", "Policies loaded while running.", &self.reloads),
            ("reloads_refused_total", "counter", "Policies refused while running.", &self.reloads_refused),
            ("telemetry_dropped_total", "counter", "Log lines and spans dropped.", &self.telemetry_dropped),
        ] {
            head(&mut text, name, kind, help);
            let _ = writeln!(text, "lictor_{name} {}", count.load(Ordering::Relaxed));
        }
        text
    }
}
