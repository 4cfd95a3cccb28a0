//! The command-line arguments, and their help texts.

mod authoring;
mod environment;
mod guarding;
mod labeling;
mod learn;
mod ledger;
mod log_reading;
mod serve;
mod translating;
mod values;
mod warden;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use lictor::policy::Severity;
use lictor_logic::{After, Spelling};

pub(crate) use crate::args::authoring::{InitArgs, InspectArgs, PacksArgs, SchemaArgs, SchemaName, TestArgs};
pub(crate) use crate::args::environment::{CONTROL_KEY_VARIABLE, find_unknown_variables, parse};
pub(crate) use crate::args::guarding::{ClientArg, GuardArgs, HOOK_TIMEOUT_SECONDS, HookArgs, McpArgs};
pub(crate) use crate::args::labeling::{AnswerArgs, LabelArgs};
pub(crate) use crate::args::learn::{
    LearnArgs, LearnCalibrationArgs, LearnChainArgs, LearnCommand, LearnLabelsArgs, PredictArgs,
};
pub(crate) use crate::args::ledger::{EraseArgs, LogArgs, LogCommand, RecordFilterArgs, ReplayArgs, VerifyArgs};
pub(crate) use crate::args::log_reading::LogReadingArgs;
pub(crate) use crate::args::serve::{ApprovalsArgs, ServeArgs};
pub(crate) use crate::args::translating::{ExportArgs, ImportArgs, ImportLanguage, Language};
pub(crate) use crate::args::values::requested_list;
use crate::args::values::{FormatNameParser, parse_percent};
pub(crate) use crate::args::warden::WardenArgs;

/// Checks what AI agents do against temporal properties
///
/// A trace lists the facts that hold at each step. A formula states what must hold over time. Lictor reports as early
/// as possible whether the trace satisfies or violates the formula, and why.
#[derive(Debug, Parser)]
#[command(name = "lictor", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lictor demo
  lictor audit --policy gdpr,agent-safety logs/
  lictor eval 'always (tool_call implies eventually verified)' trace.jsonl
  lictor eval 'G(refund -> O approval)' - < trace.jsonl
  lictor explain 'G(handoff -> X coherence_check)'
  lictor check --formulas properties.txt

Exit code: 0 compliant, 1 findings, 2 could not judge, 3 inconclusive under --strict";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Evaluate formulas on traces
    ///
    /// A trace is a JSONL file, or `-` for standard input. Each line is a step, {"facts":["tool_call"]} or
    /// ["tool_call"], or a tick, {"tick":12.5}. Each trace is judged separately.
    Eval(EvalArgs),
    /// Explain a formula: its meaning, example traces and its automaton
    Explain(ExplainArgs),
    /// Find mistakes in a policy, or formulas that cannot hold, cannot fail or contradict each other
    ///
    /// Takes a policy or formulas; without arguments, ./lictor.yaml. Given logs after the policy, it also names the
    /// properties that they never exercise. Exits with 1 if the policy has errors, a formula is unsatisfiable, or two
    /// formulas are contradictory.
    Check(CheckArgs),
    /// List the operators and the named patterns
    Patterns(PatternsArgs),
    /// Audit logs of agents against a policy, and report violations with witnesses
    ///
    /// Reads files, folders, globs and `-` for standard input, plain or compressed with gzip or zstd. The format is
    /// detected from the content; `--input-format help` lists the formats.
    Audit(Box<AuditArgs>),
    /// Ask the labelers of a policy about the events of logs, and keep their answers
    ///
    /// Asks only what can still change a verdict. `lictor audit --answers` then judges by the answers and asks nobody.
    Label(LabelArgs),
    /// Forecast violations in logs by a chain, and compare the forecasts with what happened
    ///
    /// After each event of each session it forecasts whether a property will be violated within a few actions of the
    /// agent. The log says what happened, so it prints how good the forecasts were. No model is asked.
    Predict(PredictArgs),
    /// Show what is in a log: sessions, kinds of events, tools with their effects, and what each pack could judge
    Inspect(InspectArgs),
    /// Decide on live events: one JSON line in, one decision out
    ///
    /// Reads events in Lictor's own format (`lictor schema event`) from standard input, and answers each with one line,
    /// in order: `forward`, `steer`, `redact` with the rewritten event, `ask` or `block`, with the reasons and a
    /// message for the model. A line that cannot be read is blocked.
    Guard(GuardArgs),
    /// Run the gateway: a proxy between an agent and its model that enforces a policy
    ///
    /// Set the agent's base URL to it. Speaks OpenAI Chat Completions and Responses and Anthropic Messages, streamed or
    /// not. It judges requests and replies before they pass: it forwards them, rewrites them, holds them for a person,
    /// or replaces them by a denial that the model can act on.
    Serve(Box<ServeArgs>),
    /// List the approvals that are pending at a running gateway, or answer one
    Approvals(ApprovalsArgs),
    /// Answer a hook of a coding agent (Claude Code or Codex)
    ///
    /// Reads the client's JSON from standard input, and answers in its format. The client runs this before and after
    /// each tool call, on each prompt, and when the agent stops. `lictor hook claude --settings` prints the settings to
    /// add to the client. If anything fails, the call or prompt is denied.
    Hook(HookArgs),
    /// Run a proxy between a client and a server of the Model Context Protocol
    ///
    /// Decides on each call, each result and each list of tools before it passes. A call that is not allowed gets an
    /// error result with the reason. A person is asked through the client, if the client supports that.
    Mcp(Box<McpArgs>),
    /// Compare two policies on the same logs: which findings appear, and which disappear
    Diff(Box<DiffArgs>),
    /// Run the examples on policy pages: traces with their expected findings
    Test(TestArgs),
    /// List the policy packs that come with Lictor, or show a pack or a property
    Packs(PacksArgs),
    /// Export a policy, and traces, to the language of another engine
    Export(ExportArgs),
    /// Import a policy of another engine, and its logs
    ///
    /// Writes policy.yaml, and a file of events for `lictor audit` for each log. If something cannot be imported, the
    /// command names its place and the reason, and writes nothing.
    Import(ImportArgs),
    /// Learn from labelled logs: a labeler, or how far the answers of one can be trusted
    Learn(LearnArgs),
    /// Print the JSON Schema of policies, events, reports or decisions
    Schema(SchemaArgs),
    /// Write a starter policy, or a first policy from a log
    Init(InitArgs),
    /// Audit a built-in log of a shop's agent; needs no key, no server and no input file
    Demo(DemoArgs),
    /// Verify a ledger with its public key, and name the first bad record
    Verify(VerifyArgs),
    /// Create, inspect and maintain a ledger
    Log(LogArgs),
    /// Erase a person from a ledger: destroy their key; the ledger still verifies
    Erase(EraseArgs),
    /// Replay the events of a ledger under another policy, and show which decisions change
    Replay(ReplayArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "lictor eval [OPTIONS] <FORMULA> <TRACE>...\n       lictor eval [OPTIONS] --formulas <FILE> <TRACE>...",
    after_help = EVAL_EXAMPLES
)]
pub(crate) struct EvalArgs {
    /// The formula (unless --formulas is given) and the traces
    #[arg(value_name = "FORMULA> <TRACE", required = true)]
    pub(crate) inputs: Vec<String>,

    /// Read formulas from a file, one per line; a line that starts with `#` is a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) formulas: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Whether the end of the input is the end of the trace
    #[arg(long, value_enum, default_value_t = End::Finite)]
    pub(crate) end: End,

    /// After a definite verdict: keep it, or count it and restart the formula
    #[arg(long, value_enum, default_value_t = AfterArg::Latch)]
    pub(crate) after: AfterArg,

    #[command(flatten)]
    pub(crate) spelling: SpellingArg,

    /// Which verdicts get a witness; default: violated, or none with jsonl; a bare --witness means all
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) witness: Option<WitnessArg>,

    /// Exit with 3 if a verdict is inconclusive and none is violated
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print only the verdicts, without steps and witnesses
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  lictor eval 'G(tool_call -> F verified)' trace.jsonl
  lictor eval 'forall u. G(erase(u) -> F[0,30d] erased(u))' trace.jsonl --format json
  lictor eval --formulas properties.txt monday.jsonl tuesday.jsonl --quiet
  tail -f agent.jsonl | lictor eval 'G(refund -> O approval)' - --format jsonl --end none

Exit code: 0 compliant, 1 violated, 2 could not judge all of it, 3 inconclusive under --strict";

#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// The formula
    pub(crate) formula: String,

    /// Print the automaton in the format of Graphviz
    #[arg(long, conflicts_with = "svg")]
    pub(crate) dot: bool,

    /// Print the automaton as an SVG image
    #[arg(long)]
    pub(crate) svg: bool,

    #[command(flatten)]
    pub(crate) spelling: SpellingArg,

    /// Output format
    #[arg(long, value_enum, default_value_t = Document::Text, conflicts_with_all = ["dot", "svg"])]
    pub(crate) format: Document,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// A policy (a file, or comma-separated pack names) and logs, or formulas; default: ./lictor.yaml
    #[arg(value_name = "POLICY|FORMULA", conflicts_with = "formulas")]
    pub(crate) given: Vec<String>,

    /// Read formulas from a file, one per line; a line that starts with `#` is a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) formulas: Option<PathBuf>,

    /// Also report which facts made no difference on this trace
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<String>,

    #[command(flatten)]
    pub(crate) spelling: SpellingArg,

    /// Exit with 1 if a policy has warnings
    #[arg(long)]
    pub(crate) strict: bool,

    /// Exit with 2 if more than this share of the logs of a policy could not be read, in percent; one call that could not
    /// be read counts as all
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_percent)]
    pub(crate) max_faults: f64,

    /// Output format
    #[arg(long, value_enum, default_value_t = Document::Text)]
    pub(crate) format: Document,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = AUDIT_EXAMPLES)]
pub(crate) struct AuditArgs {
    /// Logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<String>,

    /// Policy file, or comma-separated pack names; default: ./lictor.yaml, else the pack agent-safety
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Judge only by these properties; `*` matches any characters
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,

    /// Format of the logs, instead of detecting it
    #[arg(long, value_name = "NAME", value_parser = FormatNameParser)]
    pub(crate) input_format: Option<String>,

    /// Member by which records name their session, instead of the usual ones (`session_id`, `conversation_id`, …)
    ///
    /// A path such as `metadata.chat` is followed. Records without it are reported. Spans, runs and sessions of coding
    /// agents name their sessions themselves: a note says that the key is not used.
    #[arg(long, value_name = "PATH")]
    pub(crate) session_key: Option<String>,

    /// Join events of other systems, such as approvals and consents, to the sessions they belong to
    ///
    /// Each belongs to the session, the call or the person that it names by `session`, `id` or `subjects`. May be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) join: Vec<String>,

    #[command(flatten)]
    pub(crate) answers: AnswerArgs,

    /// Name for each finding the answers and labels each of which, if it alone were wrong, would turn it
    ///
    /// In reports as text and as JSON.
    #[arg(long)]
    pub(crate) noise: bool,

    /// Format of the report; default: by the ending of --output, else text
    #[arg(short, long, value_enum)]
    pub(crate) format: Option<ReportFormat>,

    /// Write the report to this file, and its summary to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Exit with 1 only for findings of this severity or higher
    #[arg(long, value_enum, default_value_t = FailOn::Info, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,

    /// Leave out findings that are in this earlier report (JSON or JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Let time run to this moment after the last event, so that missed deadlines count: RFC 3339, or `now`
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,

    /// How far off the clock of each source may be; a verdict that depends on it is inconclusive
    #[arg(long, value_name = "SECONDS")]
    pub(crate) skew: Option<f64>,

    /// How many events to buffer while one with a smaller `seq` is missing; `off` ignores the numbers
    ///
    /// Events within this window are put in order. An event that comes later, or never, leaves a gap: verdicts that
    /// depend on it are inconclusive.
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) reorder: String,

    /// How long to buffer events for reordering, by their own timestamps
    #[arg(long, value_name = "SECONDS")]
    pub(crate) reorder_time: Option<u32>,

    /// File for histories across sessions: read before the audit if it exists, and replaced after it
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Show every finding in a text report; by default repeated ones are folded, and five sessions of a property shown
    #[arg(long)]
    pub(crate) all_findings: bool,

    /// Show texts and arguments in witnesses, shortened; by default reports hold no content
    #[arg(long)]
    pub(crate) show_content: bool,

    /// Exit with 2 if more than this share of the log could not be read, in percent; one call that could not be read
    /// counts as all
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_percent, conflicts_with = "strict")]
    pub(crate) max_faults: f64,

    /// Exit with 2 if any record could not be read, and with 3 if a verdict is inconclusive or nothing was exercised
    #[arg(long)]
    pub(crate) strict: bool,

    /// Number of threads; default: one per core
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,

    /// Most rows that a property about data may keep for one history; beyond that, the property is unknown
    #[arg(long, value_name = "N", default_value_t = lictor_logic::CacheLimits::DEFAULT.rows)]
    pub(crate) max_rows: usize,

    /// Print no progress and no notes on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const AUDIT_EXAMPLES: &str = "\
Examples:
  lictor audit --policy gdpr,agent-safety session.jsonl
  lictor audit --policy shop.yaml logs/ -o report.html
  lictor audit --policy shop.yaml 'runs/*.json.zst' -o lictor.sarif
  lictor audit --policy shop.yaml new.jsonl --baseline last-week.json --fail-on high
  lictor audit --policy bank.yaml today.jsonl --history bank.history.json

Exit code: 0 compliant, 1 findings, 2 could not judge, 3 inconclusive under --strict";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people, at a terminal
    Text,
    /// One JSON document
    Json,
    /// One JSON object per line
    Jsonl,
    /// For code scanning (SARIF 2.1.0)
    Sarif,
    /// For test reports
    Junit,
    /// For comments and wikis
    Markdown,
    /// For people, in a browser; a single file
    Html,
}

impl AuditArgs {
    /// Returns the format of the report: the one asked for, or the one that the ending of the output file names.
    pub(crate) fn report_format(&self) -> ReportFormat {
        let named = self.output.as_deref().and_then(ReportFormat::of_file);
        self.format.or(named).unwrap_or(ReportFormat::Text)
    }
}

impl ReportFormat {
    /// Returns the format that the ending of a file's name stands for.
    fn of_file(path: &Path) -> Option<ReportFormat> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(ReportFormat::Html),
            // Some tools expect SARIF in `report.sarif.json`.
            "json" if path.file_stem().is_some_and(|stem| Path::new(stem).extension() == Some("sarif".as_ref())) => {
                Some(ReportFormat::Sarif)
            }
            "json" => Some(ReportFormat::Json),
            "jsonl" | "ndjson" => Some(ReportFormat::Jsonl),
            "sarif" => Some(ReportFormat::Sarif),
            "xml" => Some(ReportFormat::Junit),
            "md" | "markdown" => Some(ReportFormat::Markdown),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding
    Info,
    Low,
    Medium,
    High,
    Critical,
    /// None
    Never,
}

impl FailOn {
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            FailOn::Info => Some(Severity::Info),
            FailOn::Low => Some(Severity::Low),
            FailOn::Medium => Some(Severity::Medium),
            FailOn::High => Some(Severity::High),
            FailOn::Critical => Some(Severity::Critical),
            FailOn::Never => None,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// The current policy: a file, or comma-separated pack names
    pub(crate) old: String,

    /// The new policy: a file, or comma-separated pack names
    pub(crate) new: String,

    /// Logs: files, folders, globs, or `-` for standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<String>,

    #[command(flatten)]
    pub(crate) reading: LogReadingArgs,

    /// Join events of other systems, such as approvals and consents, to the sessions they belong to
    #[arg(long, value_name = "FILE")]
    pub(crate) join: Vec<String>,

    /// File with answers of labelers, written by `lictor audit --answers`; no labeler is asked
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Document::Text)]
    pub(crate) format: Document,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Where to write the HTML report
    #[arg(short, long, value_name = "FILE", default_value = "lictor-demo.html")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PatternsArgs {
    /// List only entries whose name contains this text
    pub(crate) name: Option<String>,
}

#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct SpellingArg {
    /// Notation of printed formulas
    #[arg(long = "spelling", value_enum, default_value_t = SpellingName::Ascii)]
    name: SpellingName,
}

impl SpellingArg {
    pub(crate) fn get(self) -> Spelling {
        match self.name {
            SpellingName::Ascii => Spelling::Ascii,
            SpellingName::Unicode => Spelling::Unicode,
            SpellingName::Words => Spelling::Words,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SpellingName {
    /// G(a -> F b)
    Ascii,
    /// □(a → ◇b)
    Unicode,
    /// always (a implies eventually b)
    Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON document at the end
    Json,
    /// One JSON object per step, as it is read
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// For people
    Text,
    /// One JSON document
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// For people
    Text,
    /// One JSON object per line
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum End {
    /// The trace continues: open formulas stay open
    None,
    /// The trace ends: open formulas are decided
    Finite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AfterArg {
    /// Keep the verdict for the rest of the trace
    Latch,
    /// Count the verdict, and restart the formula after the deciding step
    Reset,
}

impl From<AfterArg> for After {
    fn from(after: AfterArg) -> After {
        match after {
            AfterArg::Latch => After::Latch,
            AfterArg::Reset => After::Reset,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WitnessArg {
    /// No witnesses
    None,
    /// Violations
    Violated,
    /// Violations and satisfactions
    All,
}
