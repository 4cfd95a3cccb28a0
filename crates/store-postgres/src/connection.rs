//! Connections: how they are opened, opened again, and given up.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use lictor_store::StoreError;
use postgres::config::Host;
use postgres::error::Severity;
use postgres::error::SqlState;
use postgres::{Client, Config, Error as PostgresError, NoTls, Row, Statement};

/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How soon a server that has gone silent is noticed.
const SILENCE: Duration = Duration::from_secs(10);

/// The waits between attempts to reach a server that does not answer: some three seconds, as long as one restarts.
const WAITS_IN_MILLISECONDS: [u64; 8] = [10, 20, 50, 100, 200, 500, 1000, 1500];

/// What is set for every connection: after how many milliseconds the server gives up a statement, the wait for
/// somebody else's transaction, and a transaction of ours that we have abandoned.
const SETTINGS: &str = "SELECT set_config('statement_timeout', '10000', false),
    set_config('lock_timeout', '10000', false),
    set_config('idle_in_transaction_session_timeout', '10000', false)";

/// An acknowledged save must last, also where a database is set up for speed.
const DURABLE: &str =
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// Where the server is and how to get in.
pub(crate) struct Server {
    config: Config,
    place: String,
}

impl Server {
    pub(crate) fn new(mut config: Config) -> Server {
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("lictor");
        }
        config.keepalives(true).keepalives_idle(SILENCE).keepalives_interval(SILENCE / 5).keepalives_retries(3);
        config.tcp_user_timeout(SILENCE);
        let hosts = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        });
        let place = format!("PostgreSQL at {}", hosts.collect::<Vec<_>>().join(", "));
        Server { config, place }
    }

    /// Its name in messages, which holds no password.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Opens a connection, or says at once why not.
    pub(crate) fn connect_once(&self) -> Result<Connection, StoreError> {
        self.try_connect().map_err(|error| self.unavailable(&error))
    }

    /// Opens a connection to a server that was there before, so that it may only be restarting.
    pub(crate) fn connect(&self) -> Result<Connection, StoreError> {
        let mut waits = WAITS_IN_MILLISECONDS.into_iter();
        loop {
            let error = match self.try_connect() {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            match waits.next().filter(|_| may_pass(&error)) {
                Some(wait) => thread::sleep(Duration::from_millis(wait)),
                None => return Err(self.unavailable(&error)),
            }
        }
    }

    fn try_connect(&self) -> Result<Connection, PostgresError> {
        let mut client = self.config.connect(NoTls)?;
        client.query(SETTINGS, &[])?;
        client.query(DURABLE, &[])?;
        Ok(Connection { client, prepared: HashMap::new() })
    }

    /// Nothing was saved, and this is why.
    pub(crate) fn unavailable(&self, error: &PostgresError) -> StoreError {
        StoreError::Unavailable { place: self.place.clone(), reason: reason_of(error) }
    }
}

/// A connection, with the statements that the server has prepared for it: parsing them each time would double the wait.
pub(crate) struct Connection {
    pub(crate) client: Client,
    prepared: HashMap<&'static str, Statement>,
}

impl Connection {
    /// A statement, prepared when it is first asked for.
    pub(crate) fn statement(&mut self, text: &'static str) -> Result<Statement, PostgresError> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text)?;
        self.prepared.insert(text, statement.clone());
        Ok(statement)
    }
}

/// Is the connection gone? Either nothing was answered, or the server said that these were its last words.
pub(crate) fn is_lost(error: &PostgresError) -> bool {
    error.as_db_error().is_none_or(|said| matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic)))
}

/// What a server said, with the part that its client leaves out.
pub(crate) fn reason_of(error: &PostgresError) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => said.message().to_string(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// Can the same attempt succeed a little later? A server that refuses us by name will not change its mind.
fn may_pass(error: &PostgresError) -> bool {
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

/// The version in a column.
pub(crate) fn version_of(row: &Row, column: usize) -> Result<u64, PostgresError> {
    // The sequence counts from 1 upwards, so the sign is never lost.
    row.try_get::<_, i64>(column).map(i64::cast_unsigned)
}
