//! `lictor schema`: prints the JSON Schemas of input and output formats.

use std::io::Write;

use crate::args::{SchemaArgs, SchemaName};
use crate::exit::Outcome;

/// Prints a schema.
pub(crate) fn run(args: &SchemaArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let text = match args.name {
        SchemaName::Policy => lictor::policy::SCHEMA,
        SchemaName::Event => lictor::event::SCHEMA,
        SchemaName::Report => lictor::report::SCHEMA,
        SchemaName::Decision => lictor::guard::SCHEMA,
    };
    out.write_all(text.as_bytes())?;
    Ok(Outcome::Compliant)
}
