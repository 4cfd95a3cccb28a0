//! Measures what interventions do, in worlds that this crate simulates itself.
//!
//! ```text
//!             ┌──────────── one run ───────────────┐
//!  seed ──▶ world ──observation──▶ request ──▶ exchange ──▶ agent
//!             ▲                                   │  ▲        │
//!             └──────────── action ◀──── reply ◀──┘  └────────┘
//!             └──▶ oracle: what the actions truly broke
//! ```
//!
//! Each world has a folder of its own: the world, an oracle, a simulated agent and its runs. [`paired`] has the
//! statistics and [`curve`] the pictures that all worlds share.
//!
//! INVARIANT: an oracle knows its world alone. It uses neither the judge nor the logic, so that it can disagree with
//! them.

pub mod curve;
pub mod paired;
pub mod trucks;
