//! The arguments of the commands about ledgers: `verify`, `replay`, `erase`, `log`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::{Document, Listing};

#[derive(Debug, ClapArgs)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Folder of the ledger
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// Verifier key that the ledger was created with (`name+id+key`), or a file that holds it
    #[arg(short, long, value_name = "KEY|FILE")]
    pub(crate) key: String,

    /// Checkpoint kept elsewhere that the ledger must continue; only this detects a restored older copy
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) against: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Document::Text)]
    pub(crate) format: Document,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  lictor verify audit-log --key example.com/agents+3c5a1b2d+AQ...
  lictor verify audit-log --key auditor/agents.key --against auditor/checkpoint

Exit code: 0 the ledger verifies, 1 it does not verify, 2 could not check it";

#[derive(Debug, ClapArgs)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// Folder of the ledger
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// Policy to decide by: a file, or comma-separated pack names
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: String,

    /// Output format
    #[arg(long, value_enum, default_value_t = Listing::Text)]
    pub(crate) format: Listing,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  lictor replay audit-log --policy stricter.yaml
  lictor replay audit-log --policy gdpr,agent-safety --format jsonl

Exit code: 0 no decision changes, 1 some decisions change, 2 records are missing or no event can be read,
3 every change is uncertain";

#[derive(Debug, ClapArgs)]
pub(crate) struct EraseArgs {
    /// The person, as events name them; email addresses and phone numbers in any spelling
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: String,

    /// Folder of the ledger
    #[arg(long, value_name = "LOG")]
    pub(crate) log: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(subcommand_value_name = "COMMAND", subcommand_help_heading = "Commands")]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) what: LogCommand,
}

/// Which records a command looks at. Several options must all fit.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Which records")]
pub(crate) struct RecordFilterArgs {
    /// Only records of this session: its name if the ledger keeps content, or its `run` or `session` in records
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,

    /// Only records about this person, by the keys in the folder
    #[arg(long, value_name = "PERSON")]
    pub(crate) subject: Option<String>,

    /// Only records in which this property objects or is late; `*` stands for any characters
    #[arg(long, value_name = "ID")]
    pub(crate) property: Option<String>,

    /// Only decisions with this action
    #[arg(long, value_name = "ACTION", value_parser = ["forward", "steer", "redact", "ask", "block"])]
    pub(crate) action: Option<String>,

    /// Only decisions on events of this kind, such as tool_call, or records of this type, such as late
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    /// Only records from this time on: 2026-05-01, or 2026-05-01T10:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Only records before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Create a ledger and print its verifier key
    Create {
        /// Folder for the ledger; it must not hold one yet
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// Name of the ledger in its checkpoints, such as example.com/agents
        #[arg(long, value_name = "NAME")]
        origin: String,

        /// File with the last checkpoint of a ledger whose signing key was lost; the new ledger replaces that one
        #[arg(long, value_name = "CHECKPOINT")]
        after: Option<PathBuf>,
    },
    /// Print records
    Show {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// Index of the first record to print
        #[arg(long, value_name = "INDEX", default_value_t = 0)]
        from: u64,

        /// Maximum number of records
        #[arg(short = 'n', long, value_name = "N")]
        count: Option<usize>,

        /// Also decrypt sealed payloads, with the keys in the folder
        #[arg(long)]
        reveal: bool,

        /// Output format
        #[arg(long, value_enum, default_value_t = Listing::Text)]
        format: Listing,

        #[command(flatten)]
        filter: RecordFilterArgs,
    },
    /// Sum up what was decided: by action, by property, by reviewer
    Decisions {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// Output format
        #[arg(long, value_enum, default_value_t = Listing::Text)]
        format: Listing,

        #[command(flatten)]
        filter: RecordFilterArgs,
    },
    /// Sum up what forecasts led to: reminders, replaced replies, stopped calls, and what they cost
    Interventions {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// Output format
        #[arg(long, value_enum, default_value_t = Listing::Text)]
        format: Listing,
    },
    /// Prove that a record is in the tree, or with --since that the tree continues an older one
    Proof {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// Index of the record
        #[arg(value_name = "INDEX", required_unless_present = "since", conflicts_with = "since")]
        index: Option<u64>,

        /// Size of the older tree
        #[arg(long, value_name = "SIZE")]
        since: Option<u64>,

        /// Size of the tree; default: that of the newest checkpoint
        #[arg(long, value_name = "SIZE")]
        size: Option<u64>,
    },
    /// Print all checkpoints, to store where the owner of the ledger cannot change them
    Export {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Print the newest checkpoint
    Checkpoint {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Print the verifier key that the first record of the ledger names
    Key {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Replace the signing key, and print the new verifier key
    Rotate {
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },
    /// Delete whole files of records older than a time; their hashes remain
    Drop {
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// Time in RFC 3339, such as 2026-05-01T00:00:00Z
        #[arg(long, value_name = "TIME")]
        before: String,
    },
}
