//! The arguments of the commands about ledgers: `verify`, `log`, `erase`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::{Document, Listing};

#[derive(Debug, ClapArgs)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// The folder of the ledger
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// The verifier key the ledger was created with, as `name+id+key`, or a file that holds it
    #[arg(short, long, value_name = "KEY|FILE")]
    pub(crate) key: String,

    /// A checkpoint that was kept elsewhere: the ledger must continue it. Only this finds an older copy put back
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) against: Option<PathBuf>,

    /// How to print
    #[arg(long, value_enum, default_value_t = Document::Text)]
    pub(crate) format: Document,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  lictor verify audit-log --key example.com/agents+3c5a1b2d+AQ...
  lictor verify audit-log --key auditor/agents.key --against auditor/checkpoint

Exit code: 0 everything is as it was signed, 1 something was changed, 2 could not verify";

#[derive(Debug, ClapArgs)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// The folder of the ledger
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// The policy to decide by: a file, or names of packs with commas between them
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: String,

    /// How to print
    #[arg(long, value_enum, default_value_t = Listing::Text)]
    pub(crate) format: Listing,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  lictor replay audit-log --policy stricter.yaml
  lictor replay audit-log --policy gdpr,agent-safety --format jsonl

Exit code: 0 nothing changes, 1 some decisions change, 2 records are missing or there is nothing to decide on,
3 all that changes is in doubt";

#[derive(Debug, ClapArgs)]
pub(crate) struct EraseArgs {
    /// The subject, as records named it; addresses of mailboxes and numbers of telephones in any spelling
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: String,

    /// The folder of the ledger
    #[arg(long, value_name = "LOG")]
    pub(crate) log: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(subcommand_value_name = "WHAT", subcommand_help_heading = "What")]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) what: LogCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Create a ledger and print its verifier key
    Create {
        /// The folder, which holds no ledger yet
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// The name of the ledger in its checkpoints, such as example.com/agents
        #[arg(long, value_name = "NAME")]
        origin: String,

        /// A file with the last checkpoint of a ledger whose signing key was lost, and whose place this one takes
        #[arg(long, value_name = "CHECKPOINT")]
        after: Option<PathBuf>,
    },
    /// Print records
    Show {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// The index of the first record
        #[arg(long, value_name = "INDEX", default_value_t = 0)]
        from: u64,

        /// How many records at most
        #[arg(short = 'n', long, value_name = "N")]
        count: Option<usize>,

        /// Also open payloads that were kept, with the keys in the folder
        #[arg(long)]
        reveal: bool,

        /// How to print
        #[arg(long, value_enum, default_value_t = Listing::Text)]
        format: Listing,
    },
    /// Prove that a record is in the tree, or with --since that the tree continues an older one
    Proof {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// The index of the record
        #[arg(value_name = "INDEX", required_unless_present = "since", conflicts_with = "since")]
        index: Option<u64>,

        /// The size of the older tree
        #[arg(long, value_name = "SIZE")]
        since: Option<u64>,

        /// The size of the tree; that of the newest checkpoint unless given
        #[arg(long, value_name = "SIZE")]
        size: Option<u64>,
    },
    /// Print all checkpoints, to be kept where the owner of the ledger cannot change them
    Export {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Print the newest checkpoint
    Checkpoint {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Print the verifier key that the ledger says it was created with
    Key {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Replace the signing key by a new one and print its verifier key
    Rotate {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Drop whole files of records that are older than a time; their hashes stay
    Drop {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// The time, such as 2026-05-01T00:00:00Z
        #[arg(long, value_name = "TIME")]
        before: String,
    },
}
