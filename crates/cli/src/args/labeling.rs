//! Arguments about the answers of labelers.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::values::FormatNameParser;

/// Where answers come from.
#[derive(Debug, ClapArgs)]
pub(crate) struct AnswerArgs {
    /// File with the answers of labelers: read if it exists; answers that are missing are asked for and added to it
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

    /// File for the answers: those in it are not asked again
    #[arg(long, value_name = "FILE", default_value = "answers.jsonl")]
    pub(crate) answers: PathBuf,

    /// Format of the logs, instead of detecting it
    #[arg(long, value_name = "NAME", value_parser = FormatNameParser)]
    pub(crate) input_format: Option<String>,

    /// Member by which records name their session, instead of the usual ones
    #[arg(long, value_name = "PATH")]
    pub(crate) session_key: Option<String>,

    /// Number of threads, each of which asks one question at a time; default: one per core
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}
