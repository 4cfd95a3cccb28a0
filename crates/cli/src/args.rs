//! The arguments: what can be asked, and the help that explains it.

mod guarding;
mod ledger;
mod serve;
mod warden;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use lictor::policy::Severity;
use lictor_logic::{After, Spelling};

pub(crate) use crate::args::guarding::{DEADLINE, GuardArgs, HookArgs, HookClient, McpArgs};
pub(crate) use crate::args::ledger::{EraseArgs, LogArgs, LogCommand, ReplayArgs, VerifyArgs};
pub(crate) use crate::args::serve::{ApprovalsArgs, ServeArgs};
pub(crate) use crate::args::warden::WardenArgs;

/// Judges what an AI agent did by temporal properties
///
/// A trace says which facts held at each step. A formula says what must hold over time. Lictor tells as early as
/// possible whether the trace satisfies or violates it, and why.
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
    /// Judge traces by formulas
    ///
    /// A trace is a JSONL file, or `-` for standard input. Each line is a step, {"facts":["tool_call"]} or ["tool_call"],
    /// or a tick, {"tick":12.5}. With several traces each is judged on its own.
    Eval(EvalArgs),
    /// Say what a formula means, with examples and its automaton
    Explain(ExplainArgs),
    /// Look for mistakes in a policy, or for formulas that cannot hold, cannot fail, or contradict each other
    ///
    /// Given a policy file (and logs, to see which properties they never bring into play), or formulas. Exits with 1 if
    /// something is wrong.
    Check(CheckArgs),
    /// List the named patterns and the operators
    Patterns(PatternsArgs),
    /// Judge logs of agents by a policy, and report what they broke, with witnesses
    ///
    /// Reads files, folders, globs and `-` for standard input, plain or compressed with gzip or zstd, in any of the
    /// formats that `--input-format help` lists; the format is found out by content.
    Audit(Box<AuditArgs>),
    /// Decide on events as they come: one JSON line in, one decision out
    ///
    /// Events are Lictor's own lines (`lictor schema event`) on standard input. Each is answered, in order, by one line:
    /// `forward`, `steer`, `redact` with the event as it may go on, `ask`, or `block`, with the reasons and a message for
    /// the model. A line that cannot be read is blocked.
    Guard(GuardArgs),
    /// Put an agent's model under a policy: a proxy that the agent is pointed at by its base URL
    ///
    /// Speaks OpenAI Chat Completions and Responses and Anthropic Messages, streamed or not. What crosses is judged before
    /// it does: it goes on, goes on rewritten, waits for a person, or is replaced by a denial that the model can act on.
    Serve(Box<ServeArgs>),
    /// List what waits for a person at a running gateway, or answer it
    Approvals(ApprovalsArgs),
    /// Answer a hook of a coding agent: what it passes on standard input, in its own dialect
    ///
    /// The client calls this before and behind every call of a tool, when the user writes, and when the model comes to
    /// rest. `lictor hook claude --settings` prints what its settings need. Whatever fails is answered with the client's
    /// own no.
    Hook(HookArgs),
    /// Stand between a client and a server of the Model Context Protocol
    ///
    /// Every call, every result, and what the server says its tools are, is decided before it passes. A call that is not
    /// allowed is answered with an error result that says why; a person is asked where the client can ask one.
    Mcp(Box<McpArgs>),
    /// Tell which findings a change of the policy brings and takes away on given logs
    Diff(Box<DiffArgs>),
    /// Run the examples of policy pages: traces with the findings they must give
    Test(TestArgs),
    /// List the packs of properties that come with Lictor, or show one
    Packs(PacksArgs),
    /// Write a policy, and traces, in the language of another engine
    Export(ExportArgs),
    /// Carry a policy of another engine over, and its logs
    ///
    /// Writes policy.yaml, and for each log a file of events that `lictor audit` reads. What cannot be carried over is
    /// refused with its place and the reason; nothing is written then.
    Import(ImportArgs),
    /// Print the JSON Schema of policies, events, reports or decisions
    Schema(SchemaArgs),
    /// Write a policy to begin with
    Init(InitArgs),
    /// Audit a built-in log of a shop's agent: no key, no server, no file
    Demo(DemoArgs),
    /// Verify a ledger with its public key, and name the first record that was changed
    Verify(VerifyArgs),
    /// Create, show, prove and tend a ledger
    Log(LogArgs),
    /// Forget a person: destroy their key, so that a ledger holds nothing about them and still verifies
    Erase(EraseArgs),
    /// Decide once more on the events of a ledger, by another policy
    Replay(ReplayArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "lictor eval [OPTIONS] <FORMULA> <TRACE>...\n       lictor eval [OPTIONS] --formulas <FILE> <TRACE>...",
    after_help = EVAL_EXAMPLES
)]
pub(crate) struct EvalArgs {
    /// The formula, unless --formulas is given, and the traces
    #[arg(value_name = "FORMULA> <TRACE", required = true)]
    pub(crate) inputs: Vec<String>,

    /// Read formulas from a file, one a line; `#` begins a comment line
    #[arg(long, value_name = "FILE")]
    pub(crate) formulas: Option<PathBuf>,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// What the end of the input means: the end of the trace, or nothing
    #[arg(long, value_enum, default_value_t = End::Finite)]
    pub(crate) end: End,

    /// What happens after a definite verdict: it stands, or it is counted and the formula starts anew
    #[arg(long, value_enum, default_value_t = AfterArg::Latch)]
    pub(crate) after: AfterArg,

    #[command(flatten)]
    pub(crate) spelling: SpellingArg,

    /// Which verdicts to give a witness for; `violated` unless the format is jsonl
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) witness: Option<WitnessArg>,

    /// Exit with 3 if nothing is violated but something is inconclusive
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print the verdicts only, without steps and witnesses
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  lictor export rego -p gdpr sessions.jsonl
  opa eval -d export/policy.rego -i export/ben.json data.lictor.violations
  lictor export mfotl -p banking-kyc sessions.jsonl";

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

    /// Print the automaton for Graphviz
    #[arg(long, conflicts_with = "svg")]
    pub(crate) dot: bool,

    /// Print the automaton as a picture
    #[arg(long)]
    pub(crate) svg: bool,

    #[command(flatten)]
    pub(crate) spelling: SpellingArg,

    /// How to print
    #[arg(long, value_enum, default_value_t = Document::Text, conflicts_with_all = ["dot", "svg"])]
    pub(crate) format: Document,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// A policy file and logs, or formulas
    #[arg(value_name = "POLICY|FORMULA", required_unless_present = "formulas", conflicts_with = "formulas")]
    pub(crate) given: Vec<String>,

    /// Read formulas from a file, one a line; `#` begins a comment line
    #[arg(long, value_name = "FILE")]
    pub(crate) formulas: Option<PathBuf>,

    /// Also say which facts made no difference on a trace
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<String>,

    #[command(flatten)]
    pub(crate) spelling: SpellingArg,

    /// How to print
    #[arg(long, value_enum, default_value_t = Document::Text)]
    pub(crate) format: Document,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = AUDIT_EXAMPLES)]
pub(crate) struct AuditArgs {
    /// The logs: files, folders, globs, `-` for standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<String>,

    /// The policy: a file, or names of packs with commas between them; without it lictor.yaml, if there is one here
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Judge by these properties only; `*` stands for any characters
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,

    /// The format of the logs, instead of finding it out
    #[arg(long, value_name = "NAME")]
    pub(crate) input_format: Option<String>,

    /// How to report
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,

    /// Write the report to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// From which severity on findings make the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Info, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,

    /// Leave out the findings of an earlier report (JSON or JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Up to when time has passed behind the last events, so that what was due by then is late: a time, or `now`
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,

    /// By how much the clock of each source may be wrong: a bound in time is broken or kept only if it is so however wrong
    /// the clocks were, and else inconclusive
    #[arg(long, value_name = "SECONDS")]
    pub(crate) skew: Option<f64>,

    /// How many events wait at most for one with a smaller `seq` that comes behind them: what comes within that is put in
    /// order, and what comes later or never makes inconclusive what depends on it. `off`: events are judged as they come,
    /// whatever their numbers
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) reorder: String,

    /// For how long they wait at most, by the times of the events
    #[arg(long, value_name = "SECONDS")]
    pub(crate) reorder_time: Option<u32>,

    /// Where properties that look beyond the session keep their histories: read first, if it is there, and written
    /// behind the audit, so that the next one goes on from it
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Show in witnesses what was said and called, shortened; reports hold no content otherwise
    #[arg(long)]
    pub(crate) show_content: bool,

    /// Exit with 2 if any record could not be read, with 3 if something is inconclusive
    #[arg(long)]
    pub(crate) strict: bool,

    /// How many threads work; one for each core unless given
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,

    /// How many rows a property about data may keep for one history; beyond that nothing is told of it, which counts as
    /// unknown
    #[arg(long, value_name = "N", default_value_t = lictor_logic::Limits::DEFAULT.rows)]
    pub(crate) max_rows: usize,

    /// Neither progress nor remarks on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const AUDIT_EXAMPLES: &str = "\
Examples:
  lictor audit --policy gdpr,agent-safety session.jsonl
  lictor audit --policy shop.yaml logs/ --format html -o report.html
  lictor audit --policy shop.yaml 'runs/*.json.zst' --format sarif -o lictor.sarif
  lictor audit --policy shop.yaml new.jsonl --baseline last-week.json --fail-on high
  lictor audit --policy bank.yaml today.jsonl --history bank.history.json

Exit code: 0 compliant, 1 findings, 2 could not judge, 3 inconclusive under --strict";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people, at a terminal
    Text,
    /// One document
    Json,
    /// One object a line
    Jsonl,
    /// For code scanning (SARIF 2.1.0)
    Sarif,
    /// For test reports
    Junit,
    /// For comments and wikis
    Markdown,
    /// For people, in a browser: one file
    Html,
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
    /// The policy as it is: a file or packs
    pub(crate) old: String,

    /// The policy as it is to be
    pub(crate) new: String,

    /// The logs: files, folders, globs, `-` for standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<String>,

    /// The format of the logs, instead of finding it out
    #[arg(long, value_name = "NAME")]
    pub(crate) input_format: Option<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t = Document::Text)]
    pub(crate) format: Document,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TestArgs {
    /// The pages; without any, those of the packs that come with Lictor
    #[arg(value_name = "PAGE")]
    pub(crate) pages: Vec<PathBuf>,

    /// The policy that the traces of the pages are judged by, in addition to what the pages define
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PacksArgs {
    /// `show` and the name of a pack or property; without anything, all are listed
    #[arg(value_name = "show ID")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The language
    #[arg(value_enum)]
    pub(crate) language: Language,

    /// The policy: a file, or packs by their names with commas between them
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Export these properties only; `*` stands for anything
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,

    /// The format of the traces, if it is not to be found out
    #[arg(long, value_name = "FORMAT")]
    pub(crate) input_format: Option<String>,

    /// The folder to write to; it is made if need be
    #[arg(short, long, value_name = "FOLDER", default_value = "export")]
    pub(crate) output: PathBuf,

    /// Traces whose facts are written along, one file a session
    pub(crate) traces: Vec<String>,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  lictor import dogwood policy.dw --trace day.log -o imported
  lictor audit --policy imported/policy.yaml imported/day.jsonl";

#[derive(Debug, ClapArgs)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// The language
    #[arg(value_enum)]
    pub(crate) language: ImportLanguage,

    /// The policy; several files are one policy
    #[arg(value_name = "POLICY", required = true)]
    pub(crate) policies: Vec<PathBuf>,

    /// Logs to convert, each a session, or several if the event schema pins fields
    #[arg(long, value_name = "LOG")]
    pub(crate) trace: Vec<PathBuf>,

    /// The event schema; without it requests are decided, and every principal has a history of its own
    #[arg(long, value_name = "FILE")]
    pub(crate) event_schema: Option<PathBuf>,

    /// The action schema, for the groups that actions belong to
    #[arg(long, value_name = "FILE")]
    pub(crate) action_schema: Option<PathBuf>,

    /// A library of macros instead of the standard one
    #[arg(long, value_name = "FILE")]
    pub(crate) macros: Option<PathBuf>,

    /// The folder to write to; it is made if need be
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

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// Of what
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
    /// The lines that `lictor guard` answers with
    Decision,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// The file to write
    #[arg(default_value = "lictor.yaml")]
    pub(crate) path: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Where to write the HTML report
    #[arg(short, long, value_name = "FILE", default_value = "lictor-demo.html")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PatternsArgs {
    /// Only those with this in their name
    pub(crate) name: Option<String>,
}

#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct SpellingArg {
    /// How to write formulas
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
    /// One document at the end
    Json,
    /// One object a step, as it is read
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// For people
    Text,
    /// One document
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// For people
    Text,
    /// One object a line
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum End {
    /// The trace goes on: what is open stays open
    None,
    /// The trace is over: what is open is decided
    Finite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AfterArg {
    /// It stands for the rest of the trace
    Latch,
    /// It is counted, and the formula starts anew behind the deciding step
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
    /// For none
    None,
    /// For violations
    Violated,
    /// For satisfactions as well
    All,
}
