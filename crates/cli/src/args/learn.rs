//! The arguments of `learn`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct LearnArgs {
    #[command(subcommand)]
    pub(crate) command: LearnCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LearnCommand {
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
