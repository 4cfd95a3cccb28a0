//! One transaction for all saves that wait, and what to do when the connection breaks in it.
//!
//! `COMMIT` is sent only after every statement before it was answered. So if the connection breaks earlier, nothing was
//! saved, and the transaction is simply done again. If it breaks between `COMMIT` and its answer, nobody can know; but
//! the transaction has also counted up the `turn` of this writer, in a row that it holds locked until it is over. A new
//! connection that asks for this row with a lock waits until the old transaction is over and reads the truth.

use std::collections::BTreeMap;

use lictor_store::{Change, StoreError};
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Error as PostgresError, Statement, Transaction};

use crate::connection::{Connection, Server, is_lost, reason_of, version_of};
use crate::plan::Plan;

/// How often a transaction is tried when others create the same keys, or when connections break.
const ATTEMPTS: usize = 20;

/// Locks the rows in the order of their keys, so that two transactions rarely wait for each other in a circle.
const LOCK_KEYS: &str = "SELECT key, version FROM lictor_entry WHERE key = ANY($1) ORDER BY key FOR UPDATE";

/// Counts the turn of this writer, takes a version and makes all changes; gives the version and the number of changes.
const WRITE: &str = "
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

const NEW_LINE: &str = "INSERT INTO lictor_writer (turn) VALUES (0) RETURNING writer";
const TURN: &str = "SELECT turn FROM lictor_writer WHERE writer = $1 FOR UPDATE";
const DELETE: &str = "DELETE FROM lictor_entry WHERE key = ANY($1)";

/// The one connection of a store that saves.
pub(crate) struct Writer {
    connection: Option<Connection>,
    /// Its line in the table of writers, and how many turns are in it.
    line: Option<(i64, i64)>,
}

/// How far a transaction came.
enum Progress {
    /// It is over, and these are the outcomes.
    Over(Vec<Result<u64, StoreError>>),
    /// Nothing was saved: somebody created a key after we had looked. The next attempt will see it.
    KeyCreated,
    /// Nothing was saved: the line of this writer was forgotten, so it needs a new one.
    LineGone,
    /// Nothing was saved, and this is why.
    Failed(PostgresError),
    /// `COMMIT` was sent and not answered; these are the outcomes if it was done.
    Unanswered(Vec<Result<u64, StoreError>>, PostgresError),
}

impl Writer {
    pub(crate) fn new(connection: Connection) -> Writer {
        Writer { connection: Some(connection), line: None }
    }

    /// Makes saves in one transaction. Those in conflict are left out, the others are durable when it returns.
    pub(crate) fn commit(&mut self, server: &Server, saves: &[Vec<Change>]) -> Vec<Result<u64, StoreError>> {
        let failed = |error: StoreError| saves.iter().map(|_| Err(error.clone())).collect();
        let mut last_reason = "other processes created the same keys again and again".to_string();
        for _ in 0..ATTEMPTS {
            let (mut connection, line) = match self.ready(server) {
                Ok(ready) => ready,
                Err(error) => return failed(error),
            };
            match transact(&mut connection, line, saves) {
                Progress::Over(outcomes) => {
                    if outcomes.iter().any(Result::is_ok) {
                        self.line = Some((line.0, line.1 + 1));
                    }
                    self.connection = Some(connection);
                    return outcomes;
                }
                Progress::KeyCreated => self.connection = Some(connection),
                Progress::LineGone => {
                    self.connection = Some(connection);
                    self.line = None;
                }
                // A connection that is lost is opened again, a transaction that waited in a circle is done again.
                Progress::Failed(error) if is_lost(&error) => last_reason = reason_of(&error),
                Progress::Failed(error) if is_circle(&error) => self.connection = Some(connection),
                Progress::Failed(error) => {
                    self.connection = Some(connection);
                    return failed(server.unavailable(&error));
                }
                Progress::Unanswered(outcomes, error) => match self.was_committed(server, line) {
                    Ok(true) => return outcomes,
                    Ok(false) => last_reason = reason_of(&error),
                    Err(reason) => {
                        // Whatever became of the turn, it is the last one of this line.
                        self.line = None;
                        return failed(StoreError::Uncertain { place: server.place().into(), reason });
                    }
                },
            }
        }
        failed(StoreError::Unavailable { place: server.place().into(), reason: last_reason })
    }

    /// The connection, taken out of its place until it has proven good, and the line of this writer.
    fn ready(&mut self, server: &Server) -> Result<(Connection, (i64, i64)), StoreError> {
        loop {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => server.connect()?,
            };
            let line = match self.line {
                Some(line) => line,
                None => match connection.client.query_one(NEW_LINE, &[]).and_then(|row| row.try_get(0)) {
                    Ok(writer) => (writer, 0),
                    // A line without an owner does no harm and is forgotten one day.
                    Err(error) if is_lost(&error) => continue,
                    Err(error) => return Err(server.unavailable(&error)),
                },
            };
            self.line = Some(line);
            return Ok((connection, line));
        }
    }

    /// Was the turn counted, and with it everything else of its transaction?
    fn was_committed(&mut self, server: &Server, (writer, turn): (i64, i64)) -> Result<bool, String> {
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            let mut connection = server.connect().map_err(|error| error.to_string())?;
            // The lock waits for the old transaction, should the server not yet have noticed that we are gone.
            match connection.client.query_opt(TURN, &[&writer]) {
                Ok(row) => {
                    let counted: i64 = match row.map(|row| row.try_get(0)) {
                        Some(Ok(counted)) => counted,
                        _ => return Err("the line of this writer is gone".into()),
                    };
                    self.connection = Some(connection);
                    self.line = Some((writer, counted));
                    return Ok(counted > turn);
                }
                Err(error) => reason = reason_of(&error),
            }
        }
        Err(reason)
    }
}

/// One attempt at the transaction.
fn transact(connection: &mut Connection, line: (i64, i64), saves: &[Vec<Change>]) -> Progress {
    match prepare(connection).and_then(|statements| Ok((connection.client.transaction()?, statements))) {
        Err(error) => Progress::Failed(error),
        Ok((mut transaction, statements)) => match write(&mut transaction, &statements, line, saves) {
            Err(error) => Progress::Failed(error),
            Ok(Progress::Over(outcomes)) if outcomes.iter().any(Result::is_ok) => match transaction.commit() {
                Ok(()) => Progress::Over(outcomes),
                Err(error) => Progress::Unanswered(outcomes, error),
            },
            // Nothing was written that should stay; dropping the transaction rolls it back.
            Ok(progress) => progress,
        },
    }
}

/// The statements of every transaction.
struct Statements {
    lock_keys: Statement,
    write: Statement,
}

fn prepare(connection: &mut Connection) -> Result<Statements, PostgresError> {
    Ok(Statements { lock_keys: connection.statement(LOCK_KEYS)?, write: connection.statement(WRITE)? })
}

/// All statements before `COMMIT`.
fn write(
    transaction: &mut Transaction<'_>,
    statements: &Statements,
    (writer, turn): (i64, i64),
    saves: &[Vec<Change>],
) -> Result<Progress, PostgresError> {
    let keys: Vec<&str> = saves.iter().flatten().map(|change| change.key.as_str()).collect();
    let mut found = BTreeMap::new();
    for row in transaction.query(&statements.lock_keys, &[&keys])? {
        found.insert(row.try_get(0)?, version_of(&row, 1)?);
    }
    let plan = Plan::new(saves, &found);
    if plan.is_all_in_conflict() {
        return Ok(Progress::Over(plan.outcomes(0)));
    }
    let ((new, new_values), (old, old_values)) = (&plan.inserted, &plan.updated);
    let parameters: [&(dyn ToSql + Sync); 7] = [&writer, &turn, new, new_values, old, old_values, &plan.deleted];
    let Some(row) = transaction.query_opt(&statements.write, &parameters)? else { return Ok(Progress::LineGone) };
    if usize::try_from(row.try_get::<_, i64>(1)?) != Ok(plan.rows()) {
        return Ok(Progress::KeyCreated);
    }
    let version = version_of(&row, 0)?;
    if !plan.kept_absent.is_empty() {
        transaction.execute(DELETE, &[&plan.kept_absent])?;
    }
    Ok(Progress::Over(plan.outcomes(version)))
}

/// Did two transactions wait for each other, so that the server ended one?
fn is_circle(error: &PostgresError) -> bool {
    error
        .code()
        .is_some_and(|code| [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code))
}
