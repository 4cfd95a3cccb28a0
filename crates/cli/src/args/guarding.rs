//! The arguments of the commands that decide on events before they take effect.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use crate::args::warden::WardenArgs;

/// Default timeout of a hook in seconds; when it expires, the hook denies.
pub(crate) const HOOK_TIMEOUT_SECONDS: u32 = 20;

// No doc comment: clap would show it in place of the help of the commands.
#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyArgs {
    /// Policy file, or comma-separated pack names; default: ./lictor.yaml, else the pack agent-safety
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Decide only by these properties; `*` matches any characters
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = GUARD_EXAMPLES)]
pub(crate) struct GuardArgs {
    #[command(flatten)]
    pub(crate) by: PolicyArgs,

    #[command(flatten)]
    pub(crate) warden: WardenArgs,
}

const GUARD_EXAMPLES: &str = "\
Examples:
  lictor guard --policy shop.yaml < events.jsonl
  my-agent | lictor guard --policy gdpr,agent-safety
  lictor guard --policy shop.yaml --state guard-state --log audit-log < events.jsonl
  lictor guard --policy shop.yaml --state postgres://lictor@db/lictor --log audit-log < events.jsonl

Exit code: 0 every decision was forward, 1 there was another decision or a deadline passed,
2 a line could not be read or a decision could not be recorded";

#[derive(Debug, ClapArgs)]
#[command(after_help = HOOK_EXAMPLES)]
pub(crate) struct HookArgs {
    /// The client that runs the hook
    #[arg(value_enum)]
    pub(crate) client: ClientArg,

    /// Project folder, which holds lictor.yaml and .lictor; default: the folder that the client names, else its working
    /// folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,

    /// Policy file, or comma-separated pack names; default: the project's lictor.yaml, else the
    /// packs agent-safety,coding-agent
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// Folder for the sessions and the ledger; default: .lictor in the project
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,

    /// Store events and decisions sealed in the ledger until a person in them is erased; default: only commitments
    #[arg(long)]
    pub(crate) keep_content: bool,

    /// Let Codex run calls with rewritten arguments; only for versions that support it
    #[arg(long)]
    pub(crate) rewrites: bool,

    /// Timeout in seconds; when it expires, the call or prompt is denied
    #[arg(long, value_name = "SECONDS", default_value_t = HOOK_TIMEOUT_SECONDS)]
    pub(crate) deadline: u32,

    /// Decide in this process, without a keeper
    ///
    /// By default, with --project, the first call starts a keeper: a daemon that answers the next calls within
    /// milliseconds and exits when it is idle.
    #[arg(long)]
    pub(crate) no_keeper: bool,

    /// Run as the keeper
    #[arg(long, hide = true, conflicts_with = "no_keeper")]
    pub(crate) keep: bool,

    /// Print the settings that the client needs, instead of answering a hook
    #[arg(long)]
    pub(crate) settings: bool,
}

/// The client that runs a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientArg {
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

Exit code: 0 answered, 2 denied, with the reason on standard error";

#[derive(Debug, ClapArgs)]
#[command(after_help = MCP_EXAMPLES)]
pub(crate) struct McpArgs {
    /// Command of the server to run, with its arguments
    #[arg(last = true, value_name = "SERVER", required_unless_present = "http", conflicts_with = "http")]
    pub(crate) server: Vec<String>,

    /// URL of a server to proxy, instead of running one
    #[arg(long, value_name = "UPSTREAM")]
    pub(crate) http: Option<String>,

    /// Address to listen on for clients
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8931", requires = "http")]
    pub(crate) listen: String,

    /// Host name that clients may use, besides the names of this machine
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) host: Vec<String>,

    /// Name of the server in events and in the digests of its tools; default: its file name, or the URL of --http
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Session that events belong to; default: a new one for each run
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,

    /// Forward this method unjudged, although it is not part of the protocol
    #[arg(long, value_name = "METHOD")]
    pub(crate) allow_method: Vec<String>,

    /// Approve the definition of a tool by its digest, before the session starts
    #[arg(long, value_name = "DIGEST")]
    pub(crate) approve: Vec<String>,

    #[command(flatten)]
    pub(crate) by: PolicyArgs,

    #[command(flatten)]
    pub(crate) warden: WardenArgs,
}

const MCP_EXAMPLES: &str = "\
Examples:
  lictor mcp --policy agent-safety -- npx -y @modelcontextprotocol/server-filesystem .
  lictor mcp --policy owasp-agentic --state mcp-state --log mcp-log --name files -- my-server
  lictor mcp --policy shop.yaml --http https://tools.example.com/mcp --listen 127.0.0.1:8931

Exit code: that of the server; 2 if it could not be run or was killed by a signal";
