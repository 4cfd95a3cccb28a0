//! Arguments of `lictor learn`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::log_reading::LogReadingArgs;
use super::values::parse_held_out;

#[derive(Debug, ClapArgs)]
pub(crate) struct LearnArgs {
    #[command(subcommand)]
    pub(crate) command: LearnCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LearnCommand {
    /// Learn a labeler from labelled logs
    ///
    /// A fact holds at an event whose `labels`, `facts` or yes-`answers` name it. It does not hold at an event with the
    /// answer no, and at the other events of the kinds and tools at which it holds somewhere. The rest of the log says
    /// nothing about it. Prints how well each fact is told on sessions that were held out, then learns from all.
    Labels(LearnLabelsArgs),
    /// Learn from logs how the events of an agent follow each other, to forecast violations
    ///
    /// Counts what came after which events. What an event does to a property is not learnt but computed, so one chain
    /// serves every property of the policy. It holds no texts and no persons.
    Chain(LearnChainArgs),
    /// Fit the calibration of a labeler: what its answers say about the chance of a fact
    ///
    /// Reads events in Lictor's own format that carry the labeler's `answers`, and the truth as
    /// "truth":{"FACT":true}. Fits on the sessions of one half, checks on those of the other, and writes a file.
    Calibration(LearnCalibrationArgs),
}

const CALIBRATION_EXAMPLES: &str = "\
Examples:
  lictor learn calibration labelled.jsonl
  lictor learn calibration 'labelled/*.jsonl' -o small.json
  lictor learn calibration labelled.jsonl --labeler small@7f3a -o small.json --plots plots

Exit code: 0 every fact passed its check, 1 some facts did not pass or have too few examples, 2 could not fit";

#[derive(Debug, ClapArgs)]
#[command(after_help = CALIBRATION_EXAMPLES)]
pub(crate) struct LearnCalibrationArgs {
    /// Labelled logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "SAMPLE", required = true)]
    pub(crate) samples: Vec<String>,

    /// File of the calibration; without it, only the result of the check is printed
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Labeler and version to calibrate; needed if the sample has answers of several
    #[arg(long, value_name = "VERSION")]
    pub(crate) labeler: Option<String>,

    /// Time of the fit to write into the file (RFC 3339); default: now
    #[arg(long, value_name = "TIME")]
    pub(crate) fitted: Option<String>,

    /// Write the reliability plot of each fact as SVG into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plots: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LearnLabelsArgs {
    /// Logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "LOG", required = true)]
    pub(crate) traces: Vec<String>,

    /// File for the model
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Learn the facts that the properties of this policy mention, from the answers that it counts; default: all labels of
    /// the logs
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Learn this fact only; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) fact: Vec<String>,

    /// Name of the model in its answers; default: the name of its file
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Share of sessions that are held out for the table
    #[arg(long, value_name = "PERCENT", default_value_t = 25.0, value_parser = parse_held_out)]
    pub(crate) held_out: f64,

    #[command(flatten)]
    pub(crate) reading: LogReadingArgs,
}

const CHAIN_EXAMPLES: &str = "\
Examples:
  lictor learn chain logs/ --policy agent-safety -o chain.json
  lictor predict new-logs/ --policy agent-safety --chain chain.json

Exit code: 0 the chain was written, 2 it could not be learnt, or too much of the logs could not be read";

#[derive(Debug, ClapArgs)]
#[command(after_help = CHAIN_EXAMPLES)]
pub(crate) struct LearnChainArgs {
    /// Logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "LOG", required = true)]
    pub(crate) traces: Vec<String>,

    /// Policy whose facts the chain tells apart
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: String,

    /// File for the chain
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) reading: LogReadingArgs,
}

const PREDICT_EXAMPLES: &str = "\
Examples:
  lictor predict logs/ --policy agent-safety --chain chain.json
  lictor predict logs/ --policy shop.yaml --chain chain.json --within 5 --property refund-is-approved
  lictor predict open.jsonl --policy shop.yaml --chain chain.json --now
  lictor predict logs/ --policy shop.yaml --chain chain.json --pattern 'eventually (violated(\"a\") and next eventually violated(\"a\"))'

Exit code: 0 forecasts were made, 2 they could not be made, or too much of the logs could not be read";

#[derive(Debug, ClapArgs)]
#[command(after_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
    /// Logs that the chain was not learnt from: files, folders, globs, or `-` for standard input
    #[arg(value_name = "LOG", required = true)]
    pub(crate) traces: Vec<String>,

    /// Policy whose violations are forecast
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: String,

    /// File of the chain
    #[arg(long, value_name = "FILE")]
    pub(crate) chain: PathBuf,

    /// How many actions of the agent to look ahead
    #[arg(long, value_name = "ACTIONS", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) within: u32,

    /// Forecast this property only; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) property: Vec<String>,

    /// Forecast this instead of a violation: a formula about violated("ID") and satisfied("ID")
    #[arg(long, value_name = "FORMULA")]
    pub(crate) pattern: Option<String>,

    /// Print the forecast after the last event of each session, for sessions that go on
    #[arg(long)]
    pub(crate) now: bool,

    /// Write the reliability plot of each property as SVG into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "now")]
    pub(crate) plots: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: LogReadingArgs,
}
