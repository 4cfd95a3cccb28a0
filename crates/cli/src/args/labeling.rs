//! Arguments about the answers of labelers.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::log_reading::LogReadingArgs;

/// Where answers come from.
#[derive(Debug, ClapArgs)]
pub(crate) struct AnswerArgs {
    /// File that keeps the answers of labelers: what is in it is not asked again
    ///
    /// An answer counts for the same text, question and version of the labeler only.
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,

    /// Ask no labeler: only answers in the logs and in `--answers` count
    #[arg(long)]
    pub(crate) no_ask: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabelArgs {
    /// Logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<String>,

    /// Policy file that declares the labelers; default: ./lictor.yaml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) policy: Option<String>,

    /// File that keeps the answers: what is in it is not asked again
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,

    /// Write the events with their answers to this file, which must not exist
    ///
    /// With the truth added by hand it is a sample for `lictor learn calibration`.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Ask every question about every event, not only what can still change a verdict
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) reading: LogReadingArgs,
}
