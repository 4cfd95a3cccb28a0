//! Arguments of `lictor learn`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::values::{FormatNameParser, parse_percent};

#[derive(Debug, ClapArgs)]
pub(crate) struct LearnArgs {
    #[command(subcommand)]
    pub(crate) what: LearnCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LearnCommand {
    /// Learn a labeler from labelled logs
    ///
    /// A fact holds at an event whose `labels`, `facts` or yes-`answers` name it. It does not hold at an event with the
    /// answer no, and at the other events of the kinds and tools at which it holds somewhere. The rest of the log says
    /// nothing about it. Prints how well each fact is told on sessions that were held out, then learns from all.
    Labels(LearnLabelsArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LearnLabelsArgs {
    /// Logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "LOG", required = true)]
    pub(crate) traces: Vec<String>,

    /// File for the model
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Learn the facts that the properties of this policy mention; default: all labels of the logs
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Learn this fact only; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) fact: Vec<String>,

    /// Name of the model in its answers; default: the name of its file
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Share of sessions that are held out for the table
    #[arg(long, value_name = "PERCENT", default_value_t = 25.0, value_parser = parse_percent)]
    pub(crate) held_out: f64,

    /// Format of the logs, instead of detecting it
    #[arg(long, value_name = "NAME", value_parser = FormatNameParser)]
    pub(crate) input_format: Option<String>,
}
