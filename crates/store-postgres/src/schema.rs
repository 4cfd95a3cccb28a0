//! The tables: created on first use, checked afterwards.

use lictor_store::StoreError;
use postgres::{Client, Error as PostgresError};

use crate::connection::Server;

/// The version of the table layout.
const LAYOUT_VERSION: i32 = 1;

/// The advisory lock for creating the tables: `IF NOT EXISTS` alone fails when two processes run it at the same time.
const CREATE_LOCK_ID: i64 = 0x4c69_6374_6f72;

/// Keys sort by their bytes. A writer is one connection that makes saves; `turn` counts its commits, which reveals the
/// outcome of a commit whose answer was lost. Versions come from a sequence and never repeat.
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

/// Deletes the rows of writers that were idle for a week. A live writer inserts a new row.
const DELETE_OLD_WRITERS: &str = "DELETE FROM lictor_writer WHERE used_at < now() - interval '7 days'";

/// Creates the tables if they are missing, and checks that they are ours.
pub(crate) fn prepare_tables(client: &mut Client, server: &Server) -> Result<(), StoreError> {
    let damaged = |reason: String| Err(StoreError::Damaged { place: server.place().into(), reason });
    let (encoding, layout) = create_tables(client).map_err(|error| server.unavailable(&error))?;
    if encoding != "UTF8" {
        return damaged(format!("the encoding of the database is {encoding}, but keys need UTF8"));
    }
    if layout != LAYOUT_VERSION {
        let place = server.place().into();
        return Err(StoreError::Layout { place, found: layout, supported: LAYOUT_VERSION });
    }
    Ok(())
}

fn create_tables(client: &mut Client) -> Result<(String, i32), PostgresError> {
    let mut transaction = client.transaction()?;
    let encoding = transaction.query_one("SELECT current_setting('server_encoding')", &[])?.try_get(0)?;
    transaction.query("SELECT pg_advisory_xact_lock($1)", &[&CREATE_LOCK_ID])?;
    // Existing tables are not touched, so that a role without the right to create tables can use them.
    let is_there: bool = transaction.query_one("SELECT to_regclass('lictor_layout') IS NOT NULL", &[])?.try_get(0)?;
    if !is_there {
        transaction.batch_execute(TABLES)?;
        transaction.execute("INSERT INTO lictor_layout (number) VALUES ($1)", &[&LAYOUT_VERSION])?;
    }
    let layout = transaction.query_one("SELECT max(number) FROM lictor_layout", &[])?.try_get(0)?;
    // Tables of another layout stay as they are.
    if layout == LAYOUT_VERSION {
        transaction.execute(DELETE_OLD_WRITERS, &[])?;
    }
    transaction.commit()?;
    Ok((encoding, layout))
}
