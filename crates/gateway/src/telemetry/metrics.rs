//! Metrics, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lictor_judge::guard::{Action, Decision};
use lictor_wire::Api;

use super::bound::Bound;
use super::histogram::Histogram;
use super::tenant_counts::AllTenantCounts;

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

/// The name of an exchange's route in metrics and records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RouteLabel {
    /// A conversation with a model, or a count of its tokens.
    Api(Api),
    /// A list of models.
    Models,
    /// A path that is forwarded unjudged, or refused.
    #[default]
    Unjudged,
}

impl RouteLabel {
    const COUNT: usize = Api::ALL.len() + 2;

    fn all() -> impl Iterator<Item = RouteLabel> {
        Api::ALL.into_iter().map(RouteLabel::Api).chain([RouteLabel::Models, RouteLabel::Unjudged])
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            RouteLabel::Api(api) => api.name(),
            RouteLabel::Models => "models",
            RouteLabel::Unjudged => "unjudged",
        }
    }
}

/// The counters since the start of the gateway.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By route and by outcome.
    exchanges: [[AtomicU64; Outcome::ALL.len()]; RouteLabel::COUNT],
    tenants: Mutex<AllTenantCounts>,
    /// How long exchanges waited for decisions.
    pub(crate) decision_time: Histogram,
    /// From the request until the client gets the first byte of a body.
    pub(crate) first_byte_time: Histogram,
    /// From a request to the upstream until the head of its answer, and until the end of its answer.
    pub(crate) upstream_head_time: Histogram,
    pub(crate) upstream_time: Histogram,
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
    /// How many other replies were asked for because of a bad forecast, and how often one was taken.
    pub(crate) candidates: AtomicU64,
    pub(crate) samples: AtomicU64,
    pub(crate) extra_calls: AtomicU64,
    pub(crate) extra_tokens: AtomicU64,
    pub(crate) replaced: AtomicU64,
    /// Requests with a reminder because of a bad forecast, streams that were held, and calls that a forecast objected to.
    pub(crate) reminded: AtomicU64,
    pub(crate) streams_held: AtomicU64,
    pub(crate) forecast_asked: AtomicU64,
    pub(crate) forecast_stopped: AtomicU64,
    pub(crate) forecasts_missing: AtomicU64,
    /// Open obligations that models were told of, and tools that requests lost or that were named as unavailable.
    pub(crate) obligations_told: AtomicU64,
    pub(crate) tools_removed: AtomicU64,
    pub(crate) tools_named: AtomicU64,
    /// Approvals that are pending, in all gateways over the store.
    pub(crate) approvals_waiting: AtomicU64,
    /// Approvals by what became of them.
    pub(crate) approvals_asked: AtomicU64,
    pub(crate) approvals_allowed: AtomicU64,
    pub(crate) approvals_denied: AtomicU64,
    pub(crate) approvals_expired: AtomicU64,
    /// Fields of replies that the client did not get, because Lictor does not know them.
    pub(crate) stripped: AtomicU64,
    /// Policies that were reloaded, and that were refused.
    pub(crate) reloads: AtomicU64,
    pub(crate) reloads_refused: AtomicU64,
    /// Lines and spans that were dropped.
    pub(crate) telemetry_dropped: AtomicU64,
}

impl Metrics {
    pub(crate) fn exchange(&self, route: RouteLabel, outcome: Outcome) {
        let row = RouteLabel::all().position(|known| known == route).unwrap_or(0);
        let column = Outcome::ALL.iter().position(|known| *known == outcome).unwrap_or(0);
        if let Some(count) = self.exchanges.get(row).and_then(|row| row.get(column)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn tenants(&self) -> MutexGuard<'_, AllTenantCounts> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the counters of a tenant from now on, as zeros.
    pub(crate) fn add_tenant(&self, tenant: &str) {
        self.tenants().add_tenant(tenant);
    }

    /// Counts a decision, and the properties that objected.
    pub(crate) fn decision(&self, tenant: &str, decision: &Decision) {
        self.tenants().add_decision(tenant, decision);
    }

    /// Counts a text of which parts were withheld while it was streamed, and the properties that asked for it.
    pub(crate) fn shown(&self, tenant: &str, action: Action, properties: &[&str]) {
        self.tenants().add_shown(tenant, action, properties);
    }

    /// Counts a refusal of input that is no event.
    pub(crate) fn refusal(&self, tenant: &str) {
        self.tenants().add_action(tenant, Action::Block);
    }

    /// Notes a value that a bound was compared with, and how often the bound refused one.
    pub(crate) fn bound(&self, tenant: &str, bound: Bound, refused: u64, value: u64) {
        self.tenants().add_bound(tenant, bound, refused, value);
    }

    /// Counts an error that the gateway itself answered with.
    pub(crate) fn error_response(&self, tenant: &str, code: &str) {
        self.tenants().add_error(tenant, code);
    }

    /// Returns all metrics as text; without names of tenants unless `shows_tenants`.
    pub(crate) fn text(&self, shows_tenants: bool) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP lictor_{name} {help}\n# TYPE lictor_{name} {kind}");
        };
        head(&mut text, "exchanges_total", "counter", "Exchanges by route and by how they ended.");
        for (route, row) in RouteLabel::all().zip(&self.exchanges) {
            for (outcome, count) in Outcome::ALL.iter().zip(row) {
                let (name, count) = (route.name(), count.load(Ordering::Relaxed));
                let _ =
                    writeln!(text, "lictor_exchanges_total{{api=\"{name}\",outcome=\"{}\"}} {count}", outcome.name());
            }
        }
        let tenants = self.tenants().clone();
        if shows_tenants { tenants } else { tenants.sum() }.write(&mut text);
        for (histogram, name, help) in [
            (
                &self.decision_time,
                "decision_seconds",
                "How long exchanges waited for decisions to be made and recorded.",
            ),
            (&self.first_byte_time, "first_byte_seconds", "From the request to the first byte of the reply's body."),
            (
                &self.upstream_head_time,
                "upstream_head_seconds",
                "From a request to the upstream to the head of its reply.",
            ),
            (&self.upstream_time, "upstream_seconds", "From a request to the upstream to the end of its reply."),
        ] {
            histogram.write(&mut text, name, help);
        }
        for (name, kind, help, count) in [
            ("requests_in_flight", "gauge", "Requests in flight.", &self.in_flight),
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
            ("candidates_total", "counter", "Replies asked for because of a bad forecast.", &self.candidates),
            ("samples_total", "counter", "Plans received to score replies.", &self.samples),
            ("extra_calls_total", "counter", "Calls to the upstream because of bad forecasts.", &self.extra_calls),
            (
                "extra_tokens_total",
                "counter",
                "Tokens of these calls, as the upstream reports them.",
                &self.extra_tokens,
            ),
            ("replaced_total", "counter", "Replies replaced by one with a better forecast.", &self.replaced),
            ("reminded_total", "counter", "Requests with a reminder because of a bad forecast.", &self.reminded),
            ("streams_held_total", "counter", "Streams held whole because of a bad forecast.", &self.streams_held),
            (
                "forecast_asked_total",
                "counter",
                "Calls that wait for a reviewer because of a bad forecast.",
                &self.forecast_asked,
            ),
            (
                "forecasts_missing_total",
                "counter",
                "Forecasts that could not be made, because the session is unlike what the chain was learnt from.",
                &self.forecasts_missing,
            ),
            ("forecast_stopped_total", "counter", "Calls blocked because of a bad forecast.", &self.forecast_stopped),
            ("obligations_told_total", "counter", "Open obligations that models were told of.", &self.obligations_told),
            (
                "tools_removed_total",
                "counter",
                "Tools taken out of requests because their calls would be stopped.",
                &self.tools_removed,
            ),
            (
                "tools_named_total",
                "counter",
                "Tools named as unavailable because their calls would be stopped.",
                &self.tools_named,
            ),
            ("approvals_waiting", "gauge", "Calls that wait for a reviewer.", &self.approvals_waiting),
            ("approvals_asked_total", "counter", "Calls that a reviewer was asked about.", &self.approvals_asked),
            ("approvals_allowed_total", "counter", "Calls that a reviewer allowed.", &self.approvals_allowed),
            ("approvals_denied_total", "counter", "Calls that a reviewer denied.", &self.approvals_denied),
            (
                "approvals_expired_total",
                "counter",
                "Calls that waited until their time or their session was over.",
                &self.approvals_expired,
            ),
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
