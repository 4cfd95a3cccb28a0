//! The stage that keeps the sayings of idle sessions in a file, so that memory does not grow with what was said.
//!
//! A property about `argument_from` needs everything that was said in a session. Together that is as much as the log, so
//! only the sessions that were used last keep it in memory.

use lictor_decode::spool_file::{SpoolFile, SpoolPlace};
use lictor_judge::SessionState;

/// How many bytes of sayings a thread keeps in memory.
const MAX_RESIDENT_BYTES: usize = 32 << 20;

/// The sayings of the sessions of a thread, in memory and in a file.
#[derive(Debug, Default)]
pub(crate) struct SpoolStage {
    spool: SpoolFile,
    /// How many bytes of sayings are in memory.
    resident: usize,
    /// Counts events, to find the sessions that were idle longest.
    turn: u64,
}

/// Where the sayings of one session are.
#[derive(Debug, Default)]
pub(crate) struct SessionSayings {
    /// How many bytes they take in memory.
    size: usize,
    /// Where they are if they are not in memory.
    spooled: Option<SpoolPlace>,
    /// The turn of the session's last event.
    used: u64,
}

impl SpoolStage {
    /// Reads the sayings of a session that are in the file.
    #[inline]
    pub(crate) fn load(&mut self, sayings: &mut SessionSayings, state: &mut SessionState) {
        if let Some(spooled) = sayings.spooled.take() {
            // What cannot be read is unknown, and so is every source of an argument then.
            let mut bytes = Vec::new();
            let read = self.spool.read(spooled, &mut bytes);
            state.restore_sayings(if read.is_ok() { &bytes } else { &[] });
        }
    }

    /// Counts the sayings of a session in memory, after an event.
    #[inline]
    pub(crate) fn count(&mut self, sayings: &mut SessionSayings, state: &SessionState) {
        self.turn += 1;
        sayings.used = self.turn;
        let size = state.sayings_size();
        self.resident = self.resident + size - sayings.size;
        sayings.size = size;
    }

    /// Whether the sayings in memory are too many.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.resident > MAX_RESIDENT_BYTES
    }

    /// Writes the sayings of the sessions that were idle longest to the file, until half of the memory is free.
    #[inline(never)]
    pub(crate) fn write_idle<'s>(
        &mut self,
        sessions: impl Iterator<Item = (&'s mut SessionSayings, &'s mut SessionState)>,
    ) {
        let mut idle: Vec<_> = sessions.filter(|(sayings, _)| sayings.size > 0).collect();
        idle.sort_unstable_by_key(|(sayings, _)| sayings.used);
        for (sayings, state) in idle {
            if self.resident <= MAX_RESIDENT_BYTES / 2 || sayings.used == self.turn {
                return;
            }
            let bytes = state.take_sayings();
            match self.spool.write(&bytes) {
                Ok(spooled) => {
                    sayings.spooled = Some(spooled);
                    self.resident -= std::mem::take(&mut sayings.size);
                }
                // Without room on disk they stay in memory.
                Err(_) => return state.restore_sayings(&bytes),
            }
        }
    }
}
