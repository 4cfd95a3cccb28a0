//! What every verb that decides on live events takes: where sessions are kept, and where decisions are written down.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug)]
pub(crate) struct WardenArgs {
    /// Keep the state of sessions in this folder, or in this PostgreSQL database: they go on when the guard comes back
    #[arg(long, value_name = "FOLDER|URL")]
    pub(crate) state: Option<String>,

    /// Write every decision to the ledger in this folder before it takes effect; it is created if it is not there
    #[arg(long, value_name = "FOLDER")]
    pub(crate) log: Option<PathBuf>,

    /// The name of a ledger that is created
    #[arg(long, value_name = "NAME", default_value = "lictor.local/guard")]
    pub(crate) origin: String,

    /// Keep events and decisions sealed in the ledger, until a person in them is erased, instead of commitments to them
    #[arg(long, requires = "log")]
    pub(crate) keep_content: bool,

    /// How many sessions are held in memory; those that were idle longest are left to the state
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) sessions: usize,

    /// How many seconds a person has to answer what is asked
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub(crate) patience: u32,

    /// End a session that has had no event for so many seconds: what it owes then is late
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle: Option<u32>,

    /// Do not believe events whose time is further from ours than so many seconds: ours counts for them
    #[arg(long, value_name = "SECONDS")]
    pub(crate) skew: Option<u32>,

    /// Let sessions go on only by the policy they began with: refuse all that comes in one once the policy has changed
    #[arg(long)]
    pub(crate) keeps_policy: bool,

    /// Show in witnesses what was said and called, shortened
    #[arg(long)]
    pub(crate) show_content: bool,
}
