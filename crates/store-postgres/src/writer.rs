//! The writer: one transaction for all waiting saves, with retries when the connection is lost.
//!
//! `COMMIT` is sent only after every statement before it was answered. If the connection is lost earlier, nothing was
//! saved, and the transaction is retried. If it is lost between `COMMIT` and its answer, the outcome is unknown; but
//! the transaction also increments the `turn` of this writer, in a row that stays locked until the transaction ends. A
//! new connection that selects this row `FOR UPDATE` waits for the old transaction and reads the outcome.

use std::collections::BTreeMap;

use lictor_store::{Change, StoreError};
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Error as PostgresError, Statement, Transaction};

use crate::connection::{Connection, Server, format_error, is_lost, read_version};
use crate::plan::Plan;

/// How often a transaction is tried when other processes create the same keys or connections are lost.
const MAX_ATTEMPTS: usize = 20;

/// Locks the rows in the order of their keys, which avoids most deadlocks.
const LOCK_KEYS: &str = "SELECT key, version FROM lictor_entry WHERE key = ANY($1) ORDER BY key FOR UPDATE";

/// Increments the turn of this writer, takes a version and makes all changes; returns the version and the number of
/// changes.
const WRITE_CHANGES: &str = "
    WITH turn AS (
        UPDATE lictor_writer SET turn = turn + 1, used_at = now() WHERE writer = $1 AND turn = $2
        RETURNING nextval('lictor_version') AS version
    ), inserted AS (
        INSERT INTO lictor_entry (key, version, value)
        SELECT new.key, turn.version, new.value
        FROM turn, unnest($3::text[], $4::bytea[]) AS new (key, value) ORDER BY new.key
        ON CONFLICT (key) DO NOTHING RETURNING 1
    ), updated AS (
        UPDATE lictor_entry AS entry SET version = turn.version, value = new.value
        FROM turn, unnest($5::text[], $6::bytea[]) AS new (key, value) WHERE entry.key = new.key RETURNING 1
    ), deleted AS (
        DELETE FROM lictor_entry USING turn WHERE key = ANY($7) RETURNING 1
    )
    SELECT turn.version,
        (SELECT count(*) FROM inserted) + (SELECT count(*) FROM updated) + (SELECT count(*) FROM deleted)
    FROM turn";

const INSERT_WRITER: &str = "INSERT INTO lictor_writer (turn) VALUES (0) RETURNING writer";
const SELECT_TURN: &str = "SELECT turn FROM lictor_writer WHERE writer = $1 FOR UPDATE";
const DELETE_KEYS: &str = "DELETE FROM lictor_entry WHERE key = ANY($1)";

/// The one connection of a store that makes saves.
pub(crate) struct Writer {
    connection: Option<Connection>,
    /// Its row in the table of writers: its id and its turn.
    row: Option<(i64, i64)>,
}

/// The outcome of one attempt at a transaction.
enum Attempt {
    /// It is finished, with these outcomes.
    Finished(Vec<Result<u64, StoreError>>),
    /// Nothing was saved: another process created a key after the lock. The next attempt sees it.
    KeyCreated,
    /// Nothing was saved: the row of this writer was deleted, so it needs a new one.
    RowDeleted,
    /// Nothing was saved because of an error.
    Failed(PostgresError),
    /// `COMMIT` was sent but not answered; the outcomes if it was executed.
    Unanswered(Vec<Result<u64, StoreError>>, PostgresError),
}

impl Writer {
    pub(crate) fn new(connection: Connection) -> Writer {
        Writer { connection: Some(connection), row: None }
    }

    /// Makes saves in one transaction. Conflicting saves are skipped; the others are durable when this returns.
    pub(crate) fn commit(&mut self, server: &Server, saves: &[Vec<Change>]) -> Vec<Result<u64, StoreError>> {
        let failed = |error: StoreError| saves.iter().map(|_| Err(error.clone())).collect();
        let mut last_reason = "other processes keep creating the same keys".to_string();
        for _ in 0..MAX_ATTEMPTS {
            let (mut connection, row) = match self.take_connection(server) {
                Ok(ready) => ready,
                Err(error) => return failed(error),
            };
            match try_transaction(&mut connection, row, saves) {
                Attempt::Finished(outcomes) => {
                    if outcomes.iter().any(Result::is_ok) {
                        self.row = Some((row.0, row.1 + 1));
                    }
                    self.connection = Some(connection);
                    return outcomes;
                }
                Attempt::KeyCreated => self.connection = Some(connection),
                Attempt::RowDeleted => {
                    self.connection = Some(connection);
                    self.row = None;
                }
                // A lost connection is reopened, a deadlocked transaction is retried.
                Attempt::Failed(error) if is_lost(&error) => last_reason = format_error(&error),
                Attempt::Failed(error) if is_deadlock(&error) => self.connection = Some(connection),
                Attempt::Failed(error) => {
                    self.connection = Some(connection);
                    return failed(server.unavailable(&error));
                }
                Attempt::Unanswered(outcomes, error) => match self.was_committed(server, row) {
                    Ok(true) => return outcomes,
                    Ok(false) => last_reason = format_error(&error),
                    Err(reason) => {
                        // The outcome of this turn is unknown, so the row cannot be used again.
                        self.row = None;
                        return failed(StoreError::Uncertain { place: server.place().into(), reason });
                    }
                },
            }
        }
        failed(StoreError::Unavailable { place: server.place().into(), reason: last_reason })
    }

    /// Takes the connection, opened if needed, and the row of this writer. The caller puts the connection back if it is
    /// good.
    fn take_connection(&mut self, server: &Server) -> Result<(Connection, (i64, i64)), StoreError> {
        let mut last_error = None;
        for _ in 0..MAX_ATTEMPTS {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => server.connect()?,
            };
            let row = match self.row {
                Some(row) => row,
                None => match connection.client.query_one(INSERT_WRITER, &[]).and_then(|row| row.try_get(0)) {
                    Ok(writer) => (writer, 0),
                    // A row without an owner is harmless and is deleted later.
                    Err(error) if is_lost(&error) => {
                        last_error = Some(error);
                        continue;
                    }
                    Err(error) => return Err(server.unavailable(&error)),
                },
            };
            self.row = Some(row);
            return Ok((connection, row));
        }
        let reason = last_error.as_ref().map(format_error).unwrap_or_default();
        let reason = format!("{MAX_ATTEMPTS} connections in a row were lost: {reason}");
        Err(StoreError::Unavailable { place: server.place().into(), reason })
    }

    /// Whether the turn was incremented, and with it the whole transaction committed.
    fn was_committed(&mut self, server: &Server, (writer, turn): (i64, i64)) -> Result<bool, String> {
        let mut reason = String::new();
        for _ in 0..MAX_ATTEMPTS {
            let mut connection = server.connect().map_err(|error| error.to_string())?;
            // The lock waits for the old transaction, in case the server has not noticed the lost connection yet.
            match connection.client.query_opt(SELECT_TURN, &[&writer]) {
                Ok(row) => {
                    let counted: i64 = match row.map(|row| row.try_get(0)) {
                        Some(Ok(counted)) => counted,
                        _ => return Err("the row of this writer was deleted".into()),
                    };
                    self.connection = Some(connection);
                    self.row = Some((writer, counted));
                    return Ok(counted > turn);
                }
                Err(error) => reason = format_error(&error),
            }
        }
        Err(reason)
    }
}

/// Makes one attempt at the transaction.
fn try_transaction(connection: &mut Connection, row: (i64, i64), saves: &[Vec<Change>]) -> Attempt {
    match prepare_statements(connection).and_then(|statements| Ok((connection.client.transaction()?, statements))) {
        Err(error) => Attempt::Failed(error),
        Ok((mut transaction, statements)) => match write_changes(&mut transaction, &statements, row, saves) {
            Err(error) => Attempt::Failed(error),
            Ok(Attempt::Finished(outcomes)) if outcomes.iter().any(Result::is_ok) => match transaction.commit() {
                Ok(()) => Attempt::Finished(outcomes),
                Err(error) => Attempt::Unanswered(outcomes, error),
            },
            // Dropping the transaction rolls it back.
            Ok(attempt) => attempt,
        },
    }
}

/// The statements of every transaction.
struct Statements {
    lock_keys: Statement,
    write: Statement,
}

fn prepare_statements(connection: &mut Connection) -> Result<Statements, PostgresError> {
    Ok(Statements { lock_keys: connection.statement(LOCK_KEYS)?, write: connection.statement(WRITE_CHANGES)? })
}

/// Executes all statements before `COMMIT`.
fn write_changes(
    transaction: &mut Transaction<'_>,
    statements: &Statements,
    (writer, turn): (i64, i64),
    saves: &[Vec<Change>],
) -> Result<Attempt, PostgresError> {
    let keys: Vec<&str> = saves.iter().flatten().map(|change| change.key.as_str()).collect();
    let mut found = BTreeMap::new();
    for row in transaction.query(&statements.lock_keys, &[&keys])? {
        found.insert(row.try_get(0)?, read_version(&row, 1)?);
    }
    let plan = Plan::new(saves, &found);
    if plan.is_all_in_conflict() {
        return Ok(Attempt::Finished(plan.outcomes(0)));
    }
    let ((new, new_values), (old, old_values)) = (&plan.inserted, &plan.updated);
    let parameters: [&(dyn ToSql + Sync); 7] = [&writer, &turn, new, new_values, old, old_values, &plan.deleted];
    let Some(row) = transaction.query_opt(&statements.write, &parameters)? else { return Ok(Attempt::RowDeleted) };
    if usize::try_from(row.try_get::<_, i64>(1)?) != Ok(plan.rows()) {
        return Ok(Attempt::KeyCreated);
    }
    let version = read_version(&row, 0)?;
    if !plan.kept_absent.is_empty() {
        transaction.execute(DELETE_KEYS, &[&plan.kept_absent])?;
    }
    Ok(Attempt::Finished(plan.outcomes(version)))
}

/// Whether the server ended one of two transactions that waited for each other.
fn is_deadlock(error: &PostgresError) -> bool {
    error
        .code()
        .is_some_and(|code| [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code))
}
