//! Arguments of `lictor learn`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::values::{FormatNameParser, parse_held_out};

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
    #[arg(long, value_name = "PERCENT", default_value_t = 25.0, value_parser = parse_held_out)]
    pub(crate) held_out: f64,

    /// Format of the logs, instead of detecting it
    #[arg(long, value_name = "NAME", value_parser = FormatNameParser)]
    pub(crate) input_format: Option<String>,
}
