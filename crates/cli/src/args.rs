//! The arguments: what can be asked, and the help that explains it.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use lictor_logic::{After, Spelling};

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
    /// Look for formulas that cannot hold, cannot fail, or contradict each other
    ///
    /// Exits with 1 if a formula is unsatisfiable or two contradict each other.
    Check(CheckArgs),
    /// List the named patterns and the operators
    Patterns(PatternsArgs),
    /// Judge a built-in agent session: no key, no server, no file
    Demo,
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
    /// The formulas
    #[arg(value_name = "FORMULA", required_unless_present = "formulas", conflicts_with = "formulas")]
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
