//! Choices that an input makes before its text begins.

/// The rest of an input, from whose front choices are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl<'a> Choices<'a> {
    /// Takes a byte; zero when there are none left.
    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// Takes a number below a bound, which must not be zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (usize::from(self.byte()) << 8 | usize::from(self.byte())) % bound
    }

    /// Takes up to three places at which the rest is to be cut. Call [`pieces`] with the rest.
    pub(crate) fn cuts(&mut self) -> Vec<usize> {
        (0..self.byte() % 4).map(|_| self.below(1 << 16)).collect()
    }

    /// Returns the rest as text, up to the first byte that is none.
    pub(crate) fn text(self) -> &'a str {
        match std::str::from_utf8(self.0) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&self.0[..error.valid_up_to()]).unwrap_or_default(),
        }
    }
}

/// Returns bytes in pieces, cut at places that are taken modulo their length.
pub(crate) fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    places.sort_unstable();
    places.push(bytes.len());
    let mut start = 0;
    let mut pieces = Vec::new();
    for place in places {
        pieces.push(&bytes[start..place]);
        start = place;
    }
    pieces
}
