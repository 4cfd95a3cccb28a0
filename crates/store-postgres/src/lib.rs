//! A store in PostgreSQL, for several processes that guard the same sessions.
//!
//! It is a crate of its own because a client of PostgreSQL brings some sixty crates along, which nobody needs who keeps
//! sessions on the local disk. To the caller it is a [`Store`] like any other: what a connection that breaks does to a
//! save is found out here.
//!
//! - The tables are created on first use; every statement is a constant, and every value a parameter.
//! - Saves of several threads share a transaction, as in the embedded store.
//! - A connection that was lost is opened again. A save that had not come to its `COMMIT` is made again; one that had is
//!   looked up first, so it is neither lost nor made twice (see `commit`).
//! - Every statement has a time after which the server gives it up, and a silent server is noticed.
//!
//! Connections are not encrypted: use a Unix socket, a private network or a tunnel.

mod commit;
mod connection;
mod plan;
mod schema;

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lictor_store::{Change, GroupCommit, Store, StoreError, StoredValue, check_changes, check_key, end_of_prefix};
use postgres::{Config, Error as PostgresError, Row};

use crate::commit::Writer;
use crate::connection::{Connection, Server, is_lost, version_of};

/// How many connections are kept open for reading; more are opened when as many threads read at once.
const IDLE_READERS: usize = 4;

const LOAD: &str = "SELECT version, value FROM lictor_entry WHERE key = $1";
const SCAN: &str = "SELECT key, version, value FROM lictor_entry WHERE key >= $1 AND key < $2 ORDER BY key";

/// Without a key to begin behind, the empty text will do: every key comes behind it.
const KEYS: &str = "SELECT key FROM lictor_entry WHERE key >= $1 AND key > $2 AND key < $3 ORDER BY key LIMIT $4";

/// A store in a database of PostgreSQL 12 or later.
pub struct PostgresStore {
    server: Server,
    group: GroupCommit,
    writer: Mutex<Writer>,
    readers: Mutex<Vec<Connection>>,
}

impl PostgresStore {
    /// Connects, and creates the tables if they are not there.
    ///
    /// The address is a connection string such as `host=/run/postgresql user=lictor dbname=lictor` or
    /// `postgresql://lictor@db.internal/lictor`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the address cannot be read or the server does not let us in,
    /// [`StoreError::Damaged`] if the tables are those of another version of this program.
    pub fn open(address: &str) -> Result<PostgresStore, StoreError> {
        let config = Config::from_str(address).map_err(|error| StoreError::Unavailable {
            place: "PostgreSQL".into(),
            reason: format!("the address cannot be read: {error}"),
        })?;
        let server = Server::new(config);
        let mut connection = server.connect_once()?;
        schema::prepare(&mut connection.client, &server)?;
        let writer = Mutex::new(Writer::new(connection));
        Ok(PostgresStore { server, group: GroupCommit::new(), writer, readers: Mutex::new(Vec::new()) })
    }

    /// Reads with a connection that no other thread uses meanwhile, and with a new one if that was lost.
    fn read<T>(&self, query: impl Fn(&mut Connection) -> Result<T, PostgresError>) -> Result<T, StoreError> {
        let idle = lock(&self.readers).pop();
        if let Some(mut connection) = idle {
            match query(&mut connection) {
                // The others that lie idle were opened to the same server, which has gone away since.
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
        if result.is_ok() && readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        result.map_err(|error| self.server.unavailable(&error))
    }
}

impl Store for PostgresStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        check_key(key)?;
        self.read(|connection| {
            let statement = connection.statement(LOAD)?;
            let row = connection.client.query_opt(&statement, &[&key])?;
            row.map(|row| Ok(StoredValue { version: version_of(&row, 0)?, value: row.try_get(1)? })).transpose()
        })
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        let end = end_of_prefix(prefix);
        self.read(|connection| {
            let statement = connection.statement(SCAN)?;
            let rows = connection.client.query(&statement, &[&prefix, &end])?;
            let entry =
                |row: &Row| Ok((row.try_get(0)?, StoredValue { version: version_of(row, 1)?, value: row.try_get(2)? }));
            rows.iter().map(entry).collect()
        })
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        let (end, after) = (end_of_prefix(prefix), after.unwrap_or(""));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let statement = connection.statement(KEYS)?;
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
    // A connection that a panic cut short in a transaction has rolled it back when that was dropped.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
