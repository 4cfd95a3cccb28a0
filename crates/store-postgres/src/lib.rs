//! A store in PostgreSQL, for several processes that guard the same sessions.
//!
//! It is a crate of its own because a PostgreSQL client brings some sixty crates along, which the embedded store does
//! not need. To the caller it is a [`Store`] like any other: lost connections are handled here.
//!
//! - The tables are created on first use; every statement is a constant, and every value a parameter.
//! - Saves of several threads share a transaction, as in the embedded store.
//! - A lost connection is reopened. A save that was interrupted before its `COMMIT` is retried; after its `COMMIT` the
//!   store first looks up the outcome, so no save is lost or made twice (see `writer`).
//! - Every statement has a timeout, and keep-alives detect a dead server.
//! - Connections are encrypted as the connection string asks (see `tls`).

mod connection;
mod plan;
mod schema;
mod tls;
mod writer;

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lictor_store::{Change, GroupCommit, Store, StoreError, StoredValue, check_changes, check_key, end_of_prefix};
use postgres::{Config, Error as PostgresError, Row};

use crate::connection::{Connection, Server, is_lost, read_version};
use crate::tls::TlsSettings;
use crate::writer::Writer;

/// How many idle read connections are kept open; concurrent readers open more when needed.
const MAX_IDLE_READERS: usize = 4;

const SELECT_VALUE: &str = "SELECT version, value FROM lictor_entry WHERE key = $1";
const SELECT_RANGE: &str = "SELECT key, version, value FROM lictor_entry WHERE key >= $1 AND key < $2 ORDER BY key";

/// The empty string for `$2` starts at the first key: every key sorts after it.
const SELECT_KEYS: &str =
    "SELECT key FROM lictor_entry WHERE key >= $1 AND key > $2 AND key < $3 ORDER BY key LIMIT $4";

/// A store in a database of PostgreSQL 12 or later.
pub struct PostgresStore {
    server: Server,
    group: GroupCommit,
    writer: Mutex<Writer>,
    readers: Mutex<Vec<Connection>>,
}

impl PostgresStore {
    /// Connects, and creates the tables if they are missing.
    ///
    /// The address is a connection string such as `host=/run/postgresql user=lictor dbname=lictor` or
    /// `postgresql://lictor@db.internal/lictor?sslmode=verify-full`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the address is invalid or the server refuses the connection,
    /// [`StoreError::Damaged`] if the tables are those of another version of this program.
    pub fn open(address: &str) -> Result<PostgresStore, StoreError> {
        let invalid = |error: String| StoreError::Unavailable {
            place: "PostgreSQL".into(),
            reason: format!("invalid connection string: {error}"),
        };
        let (tls, address) = TlsSettings::read(address).map_err(invalid)?;
        let config = Config::from_str(&address).map_err(|error| invalid(error.to_string()))?;
        let server = Server::new(config, &tls)?;
        let mut connection = server.connect_once()?;
        schema::prepare_tables(&mut connection.client, &server)?;
        let writer = Mutex::new(Writer::new(connection));
        Ok(PostgresStore { server, group: GroupCommit::new(), writer, readers: Mutex::new(Vec::new()) })
    }

    /// Runs a query on a connection that no other thread is using, and on a new one if that was lost.
    fn read<T>(&self, query: impl Fn(&mut Connection) -> Result<T, PostgresError>) -> Result<T, StoreError> {
        let idle = lock(&self.readers).pop();
        if let Some(mut connection) = idle {
            match query(&mut connection) {
                // The other idle connections belong to the same server, which has stopped since.
                Err(error) if is_lost(&error) => lock(&self.readers).clear(),
                result => return self.put_back(connection, result),
            }
        }
        let mut connection = self.server.connect()?;
        let result = query(&mut connection);
        self.put_back(connection, result)
    }

    fn put_back<T>(&self, connection: Connection, result: Result<T, PostgresError>) -> Result<T, StoreError> {
        let mut readers = lock(&self.readers);
        if result.is_ok() && readers.len() < MAX_IDLE_READERS {
            readers.push(connection);
        }
        result.map_err(|error| self.server.unavailable(&error))
    }
}

impl Store for PostgresStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        check_key(key)?;
        self.read(|connection| {
            let statement = connection.statement(SELECT_VALUE)?;
            let row = connection.client.query_opt(&statement, &[&key])?;
            row.map(|row| Ok(StoredValue { version: read_version(&row, 0)?, value: row.try_get(1)? })).transpose()
        })
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        let end = end_of_prefix(prefix);
        self.read(|connection| {
            let statement = connection.statement(SELECT_RANGE)?;
            let rows = connection.client.query(&statement, &[&prefix, &end])?;
            let entry = |row: &Row| {
                Ok((row.try_get(0)?, StoredValue { version: read_version(row, 1)?, value: row.try_get(2)? }))
            };
            rows.iter().map(entry).collect()
        })
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        let (end, after) = (end_of_prefix(prefix), after.unwrap_or(""));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let statement = connection.statement(SELECT_KEYS)?;
            let rows = connection.client.query(&statement, &[&prefix, &after, &end, &limit])?;
            rows.iter().map(|row| row.try_get(0)).collect()
        })
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        check_changes(changes)?;
        self.group.save(changes, |saves| lock(&self.writer).commit(&self.server, saves))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("server", &self.server.place()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in a transaction drops it, which rolls it back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
