//! A tamper-evident append-only log that can still forget a person.
//!
//! Records are lines of canonical JSON. Their hashes are the leaves of a Merkle tree (RFC 6962), which is kept in tiles
//! and signed in checkpoints, all in the formats of C2SP, so other tools can verify the log. Data about a person is in
//! the log only as a commitment or sealed, under a key of that person: destroying the key forgets them, and every hash
//! and signature stays valid.
//!
//! ```text
//!  Draft ──append──▶ queue ──compose──▶ batch ──write──▶ records/*.jsonl ──sync──▶ acknowledged
//!                                         │ hashes
//!                                         ▼
//!                                    tile/…  ──root, signed──▶ checkpoint
//! ```
//!
//! - [`Ledger`] writes: [`Ledger::append`], [`Ledger::erase`], [`Ledger::rotate`].
//! - [`Reader`] reads records, reveals payloads and makes proofs.
//! - [`verify`] needs the folder and the public key, nothing else; [`check_inclusion`] and [`check_consistency`] not
//!   even the folder.

mod canonical;
mod checkpoint;
mod command;
mod compose;
mod disk;
mod draft;
mod error;
mod files;
mod ledger;
mod lock;
mod note;
mod options;
mod proof;
mod queue;
mod reader;
mod record;
mod segment;
mod settled_position;
mod signing_key;
mod subjects;
mod tile;
mod tree;
mod verify;
mod walk;
mod writer;

pub use crate::checkpoint::Checkpoint;
pub use crate::disk::{Disk, DiskFile, RealDisk};
pub use crate::draft::{Draft, Payload};
pub use crate::error::{LedgerError, LedgerFault};
pub use crate::ledger::{Ledger, Receipt, Ticket};
pub use crate::note::VerifierKey;
pub use crate::options::LedgerOptions;
pub use crate::proof::{check_consistency, check_inclusion};
pub use crate::reader::{Reader, Record, Records, RevealedPayload};
pub use crate::record::LedgerNotice;
pub use crate::tree::Hash;
pub use crate::verify::{Verification, verify, verify_against};
