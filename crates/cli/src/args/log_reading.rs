//! Arguments about how logs are read.

use clap::Args as ClapArgs;

use super::values::{FormatNameParser, parse_percent};

/// How logs are read, and how much of them may stay unread.
#[derive(Debug, ClapArgs)]
pub(crate) struct LogReadingArgs {
    /// Format of the logs, instead of detecting it
    #[arg(long, value_name = "NAME", value_parser = FormatNameParser)]
    pub(crate) input_format: Option<String>,

    /// Member by which records name their session, instead of the usual ones
    #[arg(long, value_name = "PATH")]
    pub(crate) session_key: Option<String>,

    /// Exit with 2 if more than this share of the logs could not be read, in percent; one call that could not be read
    /// counts as all
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_percent)]
    pub(crate) max_faults: f64,
}
