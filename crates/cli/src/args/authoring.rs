//! Arguments of the commands for those who write policies: `test`, `packs`, `schema`, `init` and `inspect`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::Document;
use super::values::FormatNameParser;

#[derive(Debug, ClapArgs)]
pub(crate) struct TestArgs {
    /// Policy pages, or a policy NAME.yaml for the tests beside it (`NAME.tests.md`, else `tests.md` and `tests/*.md`);
    /// default: all pages of the packs
    #[arg(value_name = "PAGE")]
    pub(crate) pages: Vec<PathBuf>,

    /// Policy to judge the traces by, in addition to the definitions on the pages; without pages, its own tests are run
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PacksArgs {
    /// `show` and the name of a pack or property; without arguments, all are listed
    #[arg(value_name = "show ID")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// What the schema describes
    #[arg(value_enum, default_value_t = SchemaName::Policy)]
    pub(crate) name: SchemaName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    /// Policy files
    Policy,
    /// Lictor's own event lines
    Event,
    /// Reports of `lictor audit --format json`
    Report,
    /// The decisions that `lictor guard` prints
    Decision,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// File to write; it must not exist yet
    #[arg(default_value = "lictor.yaml")]
    pub(crate) path: PathBuf,

    /// Write the policy from this log: its tools with their effects, and the packs it exercises
    #[arg(long, value_name = "LOG")]
    pub(crate) from: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// Logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "LOG", required = true)]
    pub(crate) traces: Vec<String>,

    /// Format of the logs, instead of detecting it
    #[arg(long, value_name = "NAME", value_parser = FormatNameParser)]
    pub(crate) input_format: Option<String>,

    /// Member by which records name their session, instead of the usual ones
    #[arg(long, value_name = "PATH")]
    pub(crate) session_key: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Document::Text)]
    pub(crate) format: Document,
}
