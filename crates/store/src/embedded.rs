//! A store in a folder of the local disk: one SQLite database with a write-ahead log.
//!
//! Saves that wait at the same time share one transaction and one sync of the disk (see [`GroupCommit`]). A commit is
//! durable when it returns: every commit syncs the log. Several processes may open the same folder; SQLite lets one of
//! them write at a time and all of them read.
//!
//! If the file is deleted or replaced while it is open, every operation fails: SQLite would go on writing to a file that
//! no process can open again.
//!
//! INVARIANT: memory does not grow with the stored data; each connection has a page cache of fixed size.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, Error as SqlError, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::error::StoreError;
use crate::group_commit::GroupCommit;
use crate::key::{check_changes, check_key, end_of_prefix};
use crate::store::{Change, ExpectedVersion, Store, StoredValue};

/// The name of the database in the folder.
const DATABASE_FILE: &str = "state.sqlite";

/// The SQLite application id of our files: "Lict" in ASCII.
const APPLICATION_ID: i32 = 0x4c69_6374;

/// The version of the table layout.
const LAYOUT_VERSION: i32 = 1;

/// How long a process waits for another one that writes to the same folder: 10 seconds.
const SET_BUSY_TIMEOUT: &str = "PRAGMA busy_timeout = 10000";

/// How often, and how far apart, processes that open a new folder at the same time retry to set the journal mode.
const JOURNAL_MODE_ATTEMPTS: usize = 500;
const JOURNAL_MODE_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The settings of each connection: every commit syncs; the page cache has 4 MiB; and the log is copied into the
/// database only every 16 MiB, because a copy syncs as well and random saves rarely share a page.
const SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA cache_size = -4096;
    PRAGMA wal_autocheckpoint = 4096;
    PRAGMA journal_size_limit = 67108864;
";

/// The tables. Versions keep increasing when keys are deleted, so the last one has a table of its own.
const TABLES: &str = "
    CREATE TABLE entry (key TEXT PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE counter (last_version INTEGER NOT NULL) STRICT;
    INSERT INTO counter VALUES (0);
";

/// How many idle read connections are kept open; concurrent readers open more when needed.
const MAX_IDLE_READERS: usize = 4;

/// A store in a folder, for one machine.
pub struct EmbeddedStore {
    file: PathBuf,
    /// The identity of the file that was opened.
    identity: Option<FileIdentity>,
    group: GroupCommit,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
}

impl EmbeddedStore {
    /// Opens the store in a folder, and creates both if they are missing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the folder cannot be created or written to, [`StoreError::Damaged`] if it holds
    /// another program's data, [`StoreError::Layout`] if it was written by a version of this program with another layout.
    pub fn open(folder: &Path) -> Result<EmbeddedStore, StoreError> {
        let unusable = |error: io::Error| StoreError::Unavailable {
            place: folder.display().to_string(),
            reason: format!("cannot create or open the folder: {error}"),
        };
        create_folder(folder).map_err(unusable)?;
        let file = folder.join(DATABASE_FILE);
        let is_new = !file.exists();
        let mut writer = connect(&file).map_err(|error| to_store_error(&file, &error))?;
        prepare(&mut writer, &file)?;
        if is_new {
            // A file is durable only when its folder is.
            sync_folder(folder).map_err(unusable)?;
        }
        let identity = read_identity(&file).map_err(unusable)?;
        Ok(EmbeddedStore {
            file,
            identity,
            group: GroupCommit::new(),
            writer: Mutex::new(writer),
            readers: Mutex::new(Vec::new()),
        })
    }

    /// Returns an error if the file was deleted or replaced since it was opened.
    fn check_file(&self) -> Result<(), StoreError> {
        let unavailable = |reason: String| StoreError::Unavailable { place: self.file.display().to_string(), reason };
        match read_identity(&self.file) {
            Ok(identity) if identity == self.identity => Ok(()),
            Ok(_) => Err(unavailable("the file was replaced while it was open; restart to use the new one".into())),
            Err(error) => Err(unavailable(format!("the file is gone: {error}; put it back, or restart"))),
        }
    }

    /// Runs a query on a connection that no other thread is using.
    fn read<T>(&self, query: impl FnOnce(&Connection) -> Result<T, SqlError>) -> Result<T, StoreError> {
        self.check_file()?;
        let idle = lock(&self.readers).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.file).map_err(|error| to_store_error(&self.file, &error))?,
        };
        let result = query(&connection).map_err(|error| to_store_error(&self.file, &error));
        let mut readers = lock(&self.readers);
        if result.is_ok() && readers.len() < MAX_IDLE_READERS {
            readers.push(connection);
        }
        result
    }

    /// Makes saves in one transaction. Conflicting saves are skipped; the others are durable when this returns.
    fn commit(&self, saves: &[Vec<Change>]) -> Vec<Result<u64, StoreError>> {
        let mut writer = lock(&self.writer);
        let failed = |error: StoreError| saves.iter().map(|_| Err(error.clone())).collect();
        if let Err(error) = self.check_file() {
            return failed(error);
        }
        match begin(&mut writer, saves) {
            Err(error) => failed(to_store_error(&self.file, &error)),
            Ok((transaction, outcomes)) => match transaction.commit() {
                Ok(()) => outcomes,
                // The log may hold the commit although the disk did not confirm it.
                Err(error) => {
                    failed(StoreError::Uncertain { place: self.file.display().to_string(), reason: error.to_string() })
                }
            },
        }
    }
}

impl Store for EmbeddedStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        check_key(key)?;
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT version, value FROM entry WHERE key = ?1")?;
            statement.query_row([key], |row| Ok(StoredValue { version: row.get(0)?, value: row.get(1)? })).optional()
        })
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        let end = end_of_prefix(prefix);
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT key, version, value FROM entry WHERE key >= ?1 AND key < ?2 ORDER BY key")?;
            let rows = statement.query_map(params![prefix, end], |row| {
                Ok((row.get(0)?, StoredValue { version: row.get(1)?, value: row.get(2)? }))
            })?;
            rows.collect()
        })
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        let end = end_of_prefix(prefix);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key FROM entry WHERE key >= ?1 AND key > ?2 AND key < ?3 ORDER BY key LIMIT ?4",
            )?;
            // The empty string sorts before every key.
            let rows = statement.query_map(params![prefix, after.unwrap_or(""), end, limit], |row| row.get(0))?;
            rows.collect()
        })
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        check_changes(changes)?;
        self.group.save(changes, |saves| self.commit(saves))
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Opens a transaction and makes all saves that do not conflict.
fn begin<'a>(
    writer: &'a mut Connection,
    saves: &[Vec<Change>],
) -> Result<(Transaction<'a>, Vec<Result<u64, StoreError>>), SqlError> {
    let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let outcomes = apply(&transaction, saves)?;
    Ok((transaction, outcomes))
}

/// Applies saves in order, each on top of the ones before.
fn apply(transaction: &Transaction<'_>, saves: &[Vec<Change>]) -> Result<Vec<Result<u64, StoreError>>, SqlError> {
    let mut select_version = transaction.prepare_cached("SELECT version FROM entry WHERE key = ?1")?;
    let mut put =
        transaction.prepare_cached("INSERT OR REPLACE INTO entry (key, version, value) VALUES (?1, ?2, ?3)")?;
    let mut delete = transaction.prepare_cached("DELETE FROM entry WHERE key = ?1")?;
    let mut last_version: u64 =
        transaction.prepare_cached("SELECT last_version FROM counter")?.query_row([], |row| row.get(0))?;
    let mut outcomes = Vec::with_capacity(saves.len());
    for changes in saves {
        let mut conflict = None;
        for change in changes {
            let version = select_version.query_row([&change.key], |row| row.get(0)).optional()?;
            if ExpectedVersion::of_version(version) != change.expected {
                conflict = Some(StoreError::Conflict { key: change.key.clone() });
                break;
            }
        }
        if let Some(conflict) = conflict {
            outcomes.push(Err(conflict));
            continue;
        }
        last_version += 1;
        for change in changes {
            match &change.value {
                Some(value) => put.execute(params![change.key, last_version, value])?,
                None => delete.execute([&change.key])?,
            };
        }
        outcomes.push(Ok(last_version));
    }
    if outcomes.iter().any(Result::is_ok) {
        transaction.prepare_cached("UPDATE counter SET last_version = ?1")?.execute([last_version])?;
    }
    Ok(outcomes)
}

/// The device and the number of a file, which no other file has at the same time.
type FileIdentity = (u64, u64);

/// Returns the identity of a file; none where the system has no such numbers.
fn read_identity(file: &Path) -> io::Result<Option<FileIdentity>> {
    let metadata = fs::metadata(file)?;
    #[cfg(unix)]
    let identity =
        Some((std::os::unix::fs::MetadataExt::dev(&metadata), std::os::unix::fs::MetadataExt::ino(&metadata)));
    #[cfg(not(unix))]
    let identity = metadata.is_file().then_some((0, 0));
    Ok(identity)
}

fn connect(file: &Path) -> Result<Connection, SqlError> {
    let connection = Connection::open(file)?;
    connection.execute_batch(SET_BUSY_TIMEOUT)?;
    connection.execute_batch(SETTINGS)?;
    Ok(connection)
}

/// Creates the tables in a new file, and checks that an existing file is ours.
fn prepare(connection: &mut Connection, file: &Path) -> Result<(), StoreError> {
    let sql = |error: SqlError| to_store_error(file, &error);
    // Before anything is written: a file of another program or version stays as it is. In a transaction, because another
    // process may be creating the tables.
    let reading = connection.transaction().map_err(sql)?;
    check_layout(&reading, file)?;
    drop(reading);
    set_journal_mode(connection).map_err(sql)?;
    // Two processes may open a new folder at the same time: the second one waits here and then finds the tables.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    if !check_layout(&transaction, file)? {
        transaction.execute_batch(TABLES).map_err(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
        transaction.pragma_update(None, "user_version", LAYOUT_VERSION).map_err(sql)?;
    }
    transaction.commit().map_err(sql)
}

/// Checks that a file is empty or ours, and has the layout of this version. Returns `false` if it is empty.
fn check_layout(connection: &Connection, file: &Path) -> Result<bool, StoreError> {
    let sql = |error: SqlError| to_store_error(file, &error);
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(sql);
    let (application, layout) = (number("application_id")?, number("user_version")?);
    let objects: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sql)?;
    if objects == 0 {
        return Ok(false);
    }
    let damaged = |reason: String| StoreError::Damaged { place: file.display().to_string(), reason };
    if application != APPLICATION_ID {
        return Err(damaged("this is a database of another program".into()));
    }
    if layout != LAYOUT_VERSION {
        let place = file.display().to_string();
        return Err(StoreError::Layout { place, found: layout, supported: LAYOUT_VERSION });
    }
    Ok(true)
}

/// Switches the database to a write-ahead log, permanently.
///
/// The busy timeout of SQLite does not cover this statement, so it is retried here.
fn set_journal_mode(connection: &Connection) -> Result<(), SqlError> {
    for _ in 0..JOURNAL_MODE_ATTEMPTS {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                thread::sleep(JOURNAL_MODE_RETRY_INTERVAL)
            }
            result => return result,
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Creates a folder that only its owner can read: sessions may hold personal data.
fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    match folder.parent() {
        Some(parent) if parent != Path::new("") => sync_folder(parent),
        _ => sync_folder(Path::new(".")),
    }
}

/// Syncs the names in a folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Returns the error of a damaged file, or of one that may be usable later.
fn to_store_error(file: &Path, error: &SqlError) -> StoreError {
    let (place, reason) = (file.display().to_string(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { place, reason },
        _ => StoreError::Unavailable { place, reason },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in a transaction drops it, which rolls it back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
