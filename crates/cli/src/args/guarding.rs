//! The arguments of the commands that decide before something happens.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use crate::args::warden::WardenArgs;

/// After how many seconds a hook says no, unless it is told otherwise.
pub(crate) const DEADLINE: u32 = 20;

// No comment of documentation: it would take the place of what the commands say of themselves.
#[derive(Debug, ClapArgs)]
pub(crate) struct ByArgs {
    /// The policy: a file, or names of packs with commas between them; without it lictor.yaml, if there is one here
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Decide by these properties only; `*` stands for any characters
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = GUARD_EXAMPLES)]
pub(crate) struct GuardArgs {
    #[command(flatten)]
    pub(crate) by: ByArgs,

    #[command(flatten)]
    pub(crate) warden: WardenArgs,
}

const GUARD_EXAMPLES: &str = "\
Examples:
  lictor guard --policy shop.yaml < events.jsonl
  my-agent | lictor guard --policy gdpr,agent-safety
  lictor guard --policy shop.yaml --state guard-state --log audit-log < events.jsonl
  lictor guard --policy shop.yaml --state postgres://lictor@db/lictor --log audit-log < events.jsonl

Exit code: 0 all lines were decided on, 1 something was not simply forwarded, 2 a line could not be read";

#[derive(Debug, ClapArgs)]
#[command(after_help = HOOK_EXAMPLES)]
pub(crate) struct HookArgs {
    /// Who calls the hook
    #[arg(value_enum)]
    pub(crate) client: HookClient,

    /// The folder of the project: where lictor.yaml and .lictor are looked for; without it the one that the client
    /// names, or the one it works in
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,

    /// The policy: a file, or names of packs with commas between them; without it the project's lictor.yaml
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Where sessions are kept from one call to the next, and the ledger; without it .lictor in the project
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,

    /// Keep events and decisions sealed in the ledger, until a person in them is erased, instead of commitments to them
    #[arg(long)]
    pub(crate) keep_content: bool,

    /// Let Codex carry out calls with other arguments; only for versions that know how
    #[arg(long)]
    pub(crate) rewrites: bool,

    /// After how many seconds the answer is no, whatever is being waited for
    #[arg(long, value_name = "SECONDS", default_value_t = DEADLINE)]
    pub(crate) deadline: u32,

    /// Do all of the work in this process; otherwise the first call leaves a keeper behind, which answers the next ones
    /// within milliseconds and ends when it is idle
    #[arg(long)]
    pub(crate) no_keeper: bool,

    /// Be the keeper
    #[arg(long, hide = true, conflicts_with = "no_keeper")]
    pub(crate) keep: bool,

    /// Print what the settings of the client need, instead of answering
    #[arg(long)]
    pub(crate) settings: bool,
}

/// Who calls a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookClient {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
}

const HOOK_EXAMPLES: &str = "\
Examples:
  lictor hook claude --settings
  lictor hook codex --settings --project . --policy agent-safety
  lictor hook claude < input.json

Exit code: 0 answered, 2 not allowed, with the reason on standard error";

#[derive(Debug, ClapArgs)]
#[command(after_help = MCP_EXAMPLES)]
pub(crate) struct McpArgs {
    /// The server to run, with its arguments
    #[arg(last = true, value_name = "SERVER", required_unless_present = "http", conflicts_with = "http")]
    pub(crate) server: Vec<String>,

    /// The address of a server to stand in front of, instead of running one
    #[arg(long, value_name = "UPSTREAM")]
    pub(crate) http: Option<String>,

    /// Where clients connect
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8931", requires = "http")]
    pub(crate) listen: String,

    /// A name of this host that clients may use, beside those of this machine
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) host: Vec<String>,

    /// How the server is called in events and in the digests of its tools; without it, its file or its host
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// The session that events belong to; without it a new one with every run
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,

    /// Let a method pass, unjudged, that is not one of the protocol
    #[arg(long, value_name = "METHOD")]
    pub(crate) allow_method: Vec<String>,

    /// Approve the definition of a tool by its digest, before the session begins
    #[arg(long, value_name = "DIGEST")]
    pub(crate) approve: Vec<String>,

    #[command(flatten)]
    pub(crate) by: ByArgs,

    #[command(flatten)]
    pub(crate) warden: WardenArgs,
}

const MCP_EXAMPLES: &str = "\
Examples:
  lictor mcp --policy agent-safety -- npx -y @modelcontextprotocol/server-filesystem .
  lictor mcp --policy owasp-agentic --state mcp-state --log mcp-log --name files -- my-server
  lictor mcp --policy shop.yaml --http https://tools.example.com/mcp --listen 127.0.0.1:8931

Exit code: that of the server; 2 if it could not be run";
