//! Arguments of the commands that translate policies: `export` and `import`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::log_reading::LogReadingArgs;

const EXPORT_EXAMPLES: &str = "\
Examples:
  lictor export rego -p gdpr sessions.jsonl
  opa eval -d export/policy.rego -i export/ben.json data.lictor.violations
  lictor export mfotl -p banking-kyc sessions.jsonl";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// Target language
    #[arg(value_enum)]
    pub(crate) language: Language,

    /// Policy file, or comma-separated pack names; default: ./lictor.yaml, else the pack agent-safety
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Export only these properties; `*` matches any characters
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,

    #[command(flatten)]
    pub(crate) reading: LogReadingArgs,

    /// Output folder; created if missing
    #[arg(short, long, value_name = "FOLDER", default_value = "export")]
    pub(crate) output: PathBuf,

    /// Traces to export as facts, one file per session
    pub(crate) traces: Vec<String>,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  lictor import dogwood policy.dw --trace day.log -o imported
  lictor audit --policy imported/policy.yaml imported/day.jsonl";

#[derive(Debug, ClapArgs)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// Source language
    #[arg(value_enum)]
    pub(crate) language: ImportLanguage,

    /// The policy; several files form one policy
    #[arg(value_name = "POLICY", required = true)]
    pub(crate) policies: Vec<PathBuf>,

    /// Logs to convert; pinned fields split a log into several sessions
    #[arg(long, value_name = "LOG")]
    pub(crate) trace: Vec<PathBuf>,

    /// Event schema; without it, requests are decided and each principal has a separate history
    #[arg(long, value_name = "FILE")]
    pub(crate) event_schema: Option<PathBuf>,

    /// Action schema, which assigns actions to groups
    #[arg(long, value_name = "FILE")]
    pub(crate) action_schema: Option<PathBuf>,

    /// Library of macros, instead of the standard one
    #[arg(long, value_name = "FILE")]
    pub(crate) macros: Option<PathBuf>,

    /// Output folder; created if missing
    #[arg(short, long, visible_alias = "out", value_name = "FOLDER", default_value = "import")]
    pub(crate) output: PathBuf,
}

/// A language to import from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportLanguage {
    /// Dogwood: permit and forbid, with conditions on the history
    Dogwood,
}

/// A language of another engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Open Policy Agent: policy.rego and a JSON input for each session
    Rego,
    /// MonPoly: policy.sig, a formula for each property, a log for each session
    Mfotl,
    /// Dogwood: policy.dw, its schemas, a log for each session
    Dogwood,
}
