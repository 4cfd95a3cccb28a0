//! Encrypted connections: the modes of libpq (`sslmode`, `sslrootcert`), over rustls.
//!
//! | mode | encrypted | server's certificate |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer`, the default | if the server can | not checked |
//! | `require` | yes | not checked; with `sslrootcert` as `verify-ca` |
//! | `verify-ca` | yes | from a known authority |
//! | `verify-full` | yes | from a known authority, and for the host |
//!
//! The authorities are those in the file `sslrootcert`, or those of the system. libpq looks into the home folder instead
//! of the system.

mod address;
mod trust;

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lictor_store::StoreError;
use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) use address::{TlsMode, TlsSettings};

/// The protocol by which servers recognise a client of PostgreSQL (ALPN).
const PROTOCOL: &[u8] = b"postgresql";

/// Opens encrypted connections.
#[derive(Clone, Debug)]
pub(crate) struct TlsOpener {
    config: Arc<ClientConfig>,
}

impl TlsOpener {
    /// Returns an opener; an error if the certificates of the authorities cannot be read.
    pub(crate) fn new(settings: &TlsSettings) -> Result<TlsOpener, StoreError> {
        let root = settings.root.as_deref().filter(|root| *root != Path::new("system"));
        let config = match (settings.mode, &settings.root) {
            (TlsMode::VerifyFull, _) => trust::check_name(root),
            (TlsMode::VerifyCa, _) | (TlsMode::Require, Some(_)) => trust::check_authority(root),
            (TlsMode::Disable | TlsMode::Prefer | TlsMode::Require, _) => trust::check_nothing(),
        };
        let mut config = config.map_err(|reason| StoreError::Unavailable { place: "PostgreSQL".to_owned(), reason })?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(TlsOpener { config: Arc::new(config) })
    }
}

impl MakeTlsConnect<Socket> for TlsOpener {
    type Stream = EncryptedStream;
    type TlsConnect = TlsHandshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<TlsHandshake> {
        Ok(TlsHandshake { config: Arc::clone(&self.config), host: domain.to_owned() })
    }
}

/// A handshake with one server, still to be made.
#[derive(Debug)]
pub(crate) struct TlsHandshake {
    config: Arc<ClientConfig>,
    host: String,
}

impl TlsConnect<Socket> for TlsHandshake {
    type Stream = EncryptedStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            let stream = tokio_rustls::TlsConnector::from(self.config).connect(name, socket).await?;
            Ok(EncryptedStream(Box::new(stream)))
        })
    }
}

/// An encrypted connection.
#[derive(Debug)]
pub(crate) struct EncryptedStream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl AsyncRead for EncryptedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for EncryptedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl TlsStream for EncryptedStream {
    fn channel_binding(&self) -> ChannelBinding {
        // `verify-full` makes sure of the server.
        ChannelBinding::none()
    }
}
