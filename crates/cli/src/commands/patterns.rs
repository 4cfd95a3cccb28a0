//! stub
use crate::args::PatternsArgs;
use crate::exit::Outcome;
use std::io::Write;
pub(crate) fn run(_args: &PatternsArgs, _out: &mut dyn Write) -> anyhow::Result<Outcome> {
    Ok(Outcome::Compliant)
}
