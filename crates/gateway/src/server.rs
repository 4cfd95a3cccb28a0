//! A listening gateway: starts, serves, and stops without dropping requests in flight.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lictor_warden::TimeOutcome;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::config::Config;
use crate::gateway::Gateway;
use crate::listen;
use crate::reload::PolicySource;
use crate::start::{GatewayParts, StartError};
use crate::telemetry::{Journal, late_line};
use crate::waiting::WaitingCall;

/// How often the memories of sessions that have ended are deleted.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// How often pending approvals are counted, since other gateways change their number.
const APPROVAL_COUNT_INTERVAL: Duration = Duration::from_secs(15);

/// A listening gateway.
pub struct Server {
    gateway: Arc<Gateway>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    address: SocketAddr,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A handle that reloads the policy of a running gateway.
#[derive(Clone, Debug)]
pub struct Reloader(Arc<Gateway>);

impl Reloader {
    /// Loads the policy again and activates it. Returns whether it has changed. An invalid policy changes nothing.
    pub async fn reload(&self) -> Result<bool, StartError> {
        Ok(self.0.reload().await?.is_some())
    }
}

impl Server {
    /// Starts to listen. `source` loads the policy for a reload.
    pub async fn bind(
        config: Config,
        parts: GatewayParts,
        source: Option<PolicySource>,
        journal: Journal,
    ) -> Result<Server, StartError> {
        let tls = config.tls.as_ref().map(|(certificate, key)| acceptor(certificate, key)).transpose()?;
        let listen = config.listen;
        let cannot = |error: std::io::Error| StartError::new(format!("cannot listen at {listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let opened = tokio::task::spawn_blocking(move || Gateway::new(config, parts, source, journal)).await;
        let gateway = Arc::new(opened.map_err(|_| StartError::new("the gateway failed while it opened its store"))??);
        let cut_off = gateway.in_flight.cut_off(&gateway.sessions, &gateway.judges).await;
        let cut_off = cut_off.map_err(|unavailable| StartError::new(unavailable.reason))?;
        if cut_off > 0 {
            gateway.journal.say(&gateway.metrics, "cut_off", json!({"exchanges": cut_off}));
        }
        Ok(Server { gateway, listener, tls, address })
    }

    /// Returns the address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a handle that reloads the policy.
    pub fn reloader(&self) -> Reloader {
        Reloader(Arc::clone(&self.gateway))
    }

    /// Serves until `stop` is ready. Then it is not ready, but still serves for the time of `grace`, in which load
    /// balancers notice. After that it finishes the exchanges in flight, and closes and signs the ledger. Meanwhile it
    /// still accepts connections, so that probes learn that it is alive and not ready.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        let Server { gateway, listener, tls, address } = self;
        let fingerprint = gateway.judges.active().fingerprint;
        gateway.journal.say(
            &gateway.metrics,
            "listening",
            json!({"address": address.to_string(), "policy": &*fingerprint}),
        );
        let (stopping, stopped) = watch::channel(false);
        let accepting = tokio::spawn(listen::accept(Arc::clone(&gateway), listener, tls, stopped));
        let sweeping = tokio::spawn(sweep(Arc::clone(&gateway)));
        let expiring = tokio::spawn(expire_approvals(Arc::clone(&gateway)));
        let ending = tokio::spawn(end_surplus(Arc::clone(&gateway)));
        let shared = Arc::clone(&gateway);
        let tidying = tokio::spawn(async move { shared.in_flight.clean_up(&shared.sessions).await });
        stop.await;
        gateway.stop();
        gateway.journal.say(&gateway.metrics, "stopping", json!({}));
        tokio::time::sleep(gateway.config.limits.grace).await;
        sweeping.abort();
        expiring.abort();
        ending.abort();
        tidying.abort();
        gateway.drain();
        // Without open connections there is no receiver.
        let _ = stopping.send(true);
        let drained = tokio::time::timeout(gateway.config.limits.drain, async {
            while gateway.metrics.in_flight.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let left = drained.await.err().map(|_| gateway.metrics.in_flight.load(Ordering::Relaxed));
        gateway.in_flight.forget(&gateway.sessions).await;
        accepting.abort();
        // The listener is closed when the task has ended.
        let _ = accepting.await;
        gateway.journal.say(&gateway.metrics, "stopped", json!({"cut_off": left.unwrap_or(0)}));
        let shared = Arc::clone(&gateway);
        let closed = tokio::task::spawn_blocking(move || shared.judges.close()).await;
        closed.map_err(|_| StartError::new("the gateway failed while it closed its ledger"))??;
        Ok(())
    }
}

/// Ends the sessions that are too many for the memory.
async fn end_surplus(gateway: Arc<Gateway>) {
    loop {
        let (mut left, sessions) = gateway.sessions.wait_for_surplus().await;
        for session in sessions {
            if left == 0 {
                break;
            }
            // An exchange in flight uses it.
            let Some(_turn) = gateway.sessions.turn_if_idle(&session.name) else { continue };
            if !gateway.sessions.is_last_use(&session) {
                continue;
            }
            // Both end while the turn is held: what the warden has judged and what the gateway has seen stay equal.
            match gateway.judges.finish(&session.tenant, session.name.clone()).await {
                Ok(notices) => {
                    left -= 1;
                    for notice in &notices {
                        if let TimeOutcome::Late(finding) = &notice.news {
                            gateway.journal.say(&gateway.metrics, "late", late_line(&session.tenant, finding));
                        }
                    }
                    gateway.sessions.forget(&session.name);
                    // Its approvals cannot be answered any more. Those that cannot be deleted now expire.
                    let _ = WaitingCall::forget_session(&gateway, &session.tenant, &session.name).await;
                    gateway.metrics.sessions_evicted.fetch_add(1, Ordering::Relaxed);
                }
                Err(unavailable) => {
                    gateway.journal.say(&gateway.metrics, "evict", json!({"error": unavailable.reason}));
                }
            }
        }
    }
}

/// Deletes approvals as soon as they expire, and counts those that wait.
async fn expire_approvals(gateway: Arc<Gateway>) {
    loop {
        let done = tokio::select! {
            () = gateway.judges.expired.notified() => WaitingCall::expire_all(&gateway).await,
            () = tokio::time::sleep(APPROVAL_COUNT_INTERVAL) => WaitingCall::count(&gateway).await,
        };
        if let Err(unavailable) = done {
            gateway.journal.say(&gateway.metrics, "sweep", json!({"error": unavailable.reason}));
        }
    }
}

/// Deletes the memories of sessions that have ended, from time to time.
async fn sweep(gateway: Arc<Gateway>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        // The memory of a session says that it has ended, so its approvals are deleted first.
        if let Err(unavailable) = WaitingCall::expire_all(&gateway).await {
            gateway.journal.say(&gateway.metrics, "sweep", json!({"error": unavailable.reason}));
        }
        for tenant in gateway.judges.tenants() {
            if let Err(unavailable) = gateway.sessions.sweep(tenant).await {
                gateway.journal.say(&gateway.metrics, "sweep", json!({"error": unavailable.reason}));
            }
        }
    }
}

/// Returns a TLS acceptor with a certificate.
fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, StartError> {
    let wrong = |path: &Path, error: String| StartError::new(format!("{}: {error}", path.display()));
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|error| wrong(certificate, error.to_string()))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StartError::new(format!("TLS is not available: {error}")))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| wrong(certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
