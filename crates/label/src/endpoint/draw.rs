//! Random draws for requests: an author of texts must not be able to foresee delimiters, keys and control questions.

use crate::meter::LabelFailure;

/// A source of random draws, expanded from one seed.
pub(super) struct Draw {
    stream: blake3::OutputReader,
}

impl Draw {
    /// Returns a source with a seed of the system.
    pub(super) fn fresh() -> Result<Draw, LabelFailure> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|_| LabelFailure::NoRandomness)?;
        Ok(Draw::from_seed(seed))
    }

    /// Returns a source with a seed.
    pub(super) fn from_seed(seed: [u8; 32]) -> Draw {
        Draw { stream: blake3::Hasher::new_keyed(&seed).finalize_xof() }
    }

    /// Returns a number below a bound; zero for the bound zero.
    pub(super) fn draw_below(&mut self, bound: usize) -> usize {
        let mut bytes = [0; 8];
        self.stream.fill(&mut bytes);
        // The bias is below the bound divided by 2⁶⁴.
        u64::from_le_bytes(bytes).checked_rem(bound as u64).unwrap_or(0) as usize
    }

    /// Returns so many bytes as hexadecimal digits.
    pub(super) fn draw_hex(&mut self, bytes: usize) -> String {
        let mut drawn = vec![0; bytes];
        self.stream.fill(&mut drawn);
        drawn.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
