//! The tables: created on first use, recognised afterwards.

use lictor_store::StoreError;
use postgres::{Client, Error as PostgresError};

use crate::connection::Server;

/// The layout of the tables. Another number was written by another version of this program.
const LAYOUT: i32 = 1;

/// Whoever creates the tables holds this lock: `IF NOT EXISTS` alone fails when two processes come at once.
const LOCK: i64 = 0x4c69_6374_6f72;

/// Keys are in the order of their bytes. A writer is one connection that saves; `turn` counts its commits, by which it
/// finds out what became of one whose answer it never got. Versions come from a sequence and never come again.
const TABLES: &str = r#"
    CREATE TABLE IF NOT EXISTS lictor_layout (number integer NOT NULL);
    CREATE TABLE IF NOT EXISTS lictor_entry (
        key text COLLATE "C" PRIMARY KEY,
        version bigint NOT NULL,
        value bytea NOT NULL
    );
    CREATE TABLE IF NOT EXISTS lictor_writer (
        writer bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        turn bigint NOT NULL,
        used_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE SEQUENCE IF NOT EXISTS lictor_version;
"#;

/// Writers of processes that ended long ago. One that is alive after all gets itself a new line.
const FORGET_OLD_WRITERS: &str = "DELETE FROM lictor_writer WHERE used_at < now() - interval '7 days'";

/// Creates the tables if they are not there, and makes sure that they are ours.
pub(crate) fn prepare(client: &mut Client, server: &Server) -> Result<(), StoreError> {
    let damaged = |reason: String| Err(StoreError::Damaged { place: server.place().into(), reason });
    let (encoding, layout) = create(client).map_err(|error| server.unavailable(&error))?;
    if encoding != "UTF8" {
        return damaged(format!("the encoding of the database is {encoding}, and keys are UTF-8"));
    }
    if layout != LAYOUT {
        return damaged(format!(
            "the layout of its tables is number {layout}, and this version of Lictor knows {LAYOUT}"
        ));
    }
    Ok(())
}

fn create(client: &mut Client) -> Result<(String, i32), PostgresError> {
    let mut transaction = client.transaction()?;
    let encoding = transaction.query_one("SELECT current_setting('server_encoding')", &[])?.try_get(0)?;
    transaction.query("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    // Tables that are there are left alone, so that a role without the right to create any can use them.
    let is_there: bool = transaction.query_one("SELECT to_regclass('lictor_layout') IS NOT NULL", &[])?.try_get(0)?;
    if !is_there {
        transaction.batch_execute(TABLES)?;
        transaction.execute("INSERT INTO lictor_layout (number) VALUES ($1)", &[&LAYOUT])?;
    }
    let layout = transaction.query_one("SELECT max(number) FROM lictor_layout", &[])?.try_get(0)?;
    transaction.execute(FORGET_OLD_WRITERS, &[])?;
    transaction.commit()?;
    Ok((encoding, layout))
}
