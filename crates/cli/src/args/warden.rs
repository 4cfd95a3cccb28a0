//! The arguments of every command that decides on live events: where to store sessions, and where to record decisions.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

#[derive(Args, Clone, Debug)]
pub(crate) struct WardenArgs {
    /// Store sessions in this folder, or in this PostgreSQL database, so that they survive a restart
    #[arg(long, value_name = "FOLDER|URL", env = "LICTOR_STATE", hide_env_values = true)]
    pub(crate) state: Option<String>,

    /// Record every decision in the ledger in this folder before it takes effect; created if missing
    #[arg(long, value_name = "FOLDER", env = "LICTOR_LOG", hide_env_values = true)]
    pub(crate) log: Option<PathBuf>,

    /// Name of the ledger, if it is created
    #[arg(
        long,
        value_name = "NAME",
        default_value = "lictor.local/guard",
        env = "LICTOR_ORIGIN",
        hide_env_values = true
    )]
    pub(crate) origin: String,

    /// Store events and decisions sealed in the ledger until a person in them is erased; default: only commitments
    #[arg(long, requires = "log", env = "LICTOR_KEEP_CONTENT", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) keep_content: bool,

    /// Sessions to hold in memory; beyond that, the least recently used are evicted to the store
    #[arg(long, value_name = "N", default_value_t = 10_000, env = "LICTOR_SESSIONS", hide_env_values = true)]
    pub(crate) sessions: usize,

    /// Timeout of an approval in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, env = "LICTOR_PATIENCE", hide_env_values = true)]
    pub(crate) patience: u32,

    /// End a session after this many seconds without an event; duties that are still open are then late
    #[arg(long, value_name = "SECONDS", env = "LICTOR_IDLE", hide_env_values = true)]
    pub(crate) idle: Option<u32>,

    /// Largest difference in seconds between the time of an event and our clock; beyond that, our clock counts. Default:
    /// 300 ahead, any time back
    #[arg(long, value_name = "SECONDS", env = "LICTOR_SKEW", hide_env_values = true)]
    pub(crate) skew: Option<u32>,

    /// Keep each session on the policy it started with: once the policy has changed, refuse the session's events
    #[arg(long, env = "LICTOR_KEEPS_POLICY", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) keeps_policy: bool,

    /// Show texts and arguments in witnesses, shortened
    #[arg(long, env = "LICTOR_SHOW_CONTENT", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) show_content: bool,
}
