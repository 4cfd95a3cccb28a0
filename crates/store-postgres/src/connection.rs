//! Connections to the server: opening, retries, timeouts.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use lictor_store::StoreError;
use postgres::config::{Host, SslMode};
use postgres::error::Severity;
use postgres::error::SqlState;
use postgres::{Client, Config, Error as PostgresError, NoTls, Row, Statement};

use crate::tls::{TlsMode, TlsOpener, TlsSettings};

/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a dead server goes unnoticed.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The backoff between attempts to connect: three seconds in total, about as long as a restart takes.
const CONNECT_BACKOFF_MILLISECONDS: [u64; 8] = [10, 20, 50, 100, 200, 500, 1000, 1500];

/// Sets the timeouts of a connection in milliseconds: for a statement, for a lock, and for an abandoned transaction.
const SET_TIMEOUTS: &str = "SELECT set_config('statement_timeout', '10000', false),
    set_config('lock_timeout', '10000', false),
    set_config('idle_in_transaction_session_timeout', '10000', false)";

/// Turns synchronous commits on where the database has turned them off: an acknowledged save must be durable.
const SET_SYNCHRONOUS_COMMIT: &str =
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// The address of the server, with credentials.
pub(crate) struct Server {
    config: Config,
    place: String,
    /// Opens encrypted connections; none if connections are not encrypted.
    tls: Option<TlsOpener>,
}

impl Server {
    pub(crate) fn new(mut config: Config, tls: &TlsSettings) -> Result<Server, StoreError> {
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("lictor");
        }
        config
            .keepalives(true)
            .keepalives_idle(KEEP_ALIVE_TIMEOUT)
            .keepalives_interval(KEEP_ALIVE_TIMEOUT / 5)
            .keepalives_retries(3);
        config.tcp_user_timeout(KEEP_ALIVE_TIMEOUT);
        let hosts = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        });
        let place = format!("PostgreSQL at {}", hosts.collect::<Vec<_>>().join(", "));
        // As in libpq, connections through a Unix socket are never encrypted.
        let is_remote =
            config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_))) || !config.get_hostaddrs().is_empty();
        let is_encrypted = is_remote && tls.mode != TlsMode::Disable;
        config.ssl_mode(match tls.mode {
            _ if !is_encrypted => SslMode::Disable,
            TlsMode::Disable | TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        let tls = is_encrypted.then(|| TlsOpener::new(tls)).transpose()?;
        Ok(Server { config, place, tls })
    }

    /// Returns the name for messages, without the password.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Opens a connection, without retries.
    pub(crate) fn connect_once(&self) -> Result<Connection, StoreError> {
        self.try_connect().map_err(|error| self.unavailable(&error))
    }

    /// Opens a connection, with retries: the server worked before, so it may be restarting.
    pub(crate) fn connect(&self) -> Result<Connection, StoreError> {
        let mut waits = CONNECT_BACKOFF_MILLISECONDS.into_iter();
        loop {
            let error = match self.try_connect() {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            match waits.next().filter(|_| is_transient(&error)) {
                Some(wait) => thread::sleep(Duration::from_millis(wait)),
                None => return Err(self.unavailable(&error)),
            }
        }
    }

    fn try_connect(&self) -> Result<Connection, PostgresError> {
        let mut client = match &self.tls {
            Some(tls) => self.config.connect(tls.clone())?,
            None => self.config.connect(NoTls)?,
        };
        client.query(SET_TIMEOUTS, &[])?;
        client.query(SET_SYNCHRONOUS_COMMIT, &[])?;
        Ok(Connection { client, prepared: HashMap::new() })
    }

    /// Returns the error for a failure after which nothing was saved.
    pub(crate) fn unavailable(&self, error: &PostgresError) -> StoreError {
        StoreError::Unavailable { place: self.place.clone(), reason: format_error(error) }
    }
}

/// A connection with its prepared statements: parsing them each time would double the latency.
pub(crate) struct Connection {
    pub(crate) client: Client,
    prepared: HashMap<&'static str, Statement>,
}

impl Connection {
    /// Returns a statement, prepared on first use.
    pub(crate) fn statement(&mut self, text: &'static str) -> Result<Statement, PostgresError> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text)?;
        self.prepared.insert(text, statement.clone());
        Ok(statement)
    }
}

/// Whether the connection is lost: the server did not answer, or it reported a fatal error.
pub(crate) fn is_lost(error: &PostgresError) -> bool {
    error.as_db_error().is_none_or(|said| matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic)))
}

/// Returns the error of the server, with the source that the client library leaves out.
pub(crate) fn format_error(error: &PostgresError) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => said.message().to_string(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// Whether a retry may succeed. An authentication failure, for one, is final.
fn is_transient(error: &PostgresError) -> bool {
    error.code().is_none_or(|code| {
        [
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::TOO_MANY_CONNECTIONS,
        ]
        .contains(code)
    })
}

/// Reads the version in a column.
pub(crate) fn read_version(row: &Row, column: usize) -> Result<u64, PostgresError> {
    // The sequence counts from 1 upwards, so the sign is never lost.
    row.try_get::<_, i64>(column).map(i64::cast_unsigned)
}
