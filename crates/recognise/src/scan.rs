//! The first scan of a text: which bytes it has, where its words and numbers start. Nearly all texts hold no personal
//! data and spend nearly all of their time here; so it is written for the compiler to vectorize.

/// The classes of bytes that a text has.
#[derive(Clone, Copy)]
pub(super) struct Glance {
    /// Signs that chatter rarely has: `@`, those by which escapes start, brackets that open.
    pub(super) has_sign: bool,
    /// Digits.
    pub(super) has_digit: bool,
    /// Anything beyond ASCII.
    pub(super) has_wide: bool,
}

/// What was seen at each place of all chunks.
struct GlanceLanes<const N: usize> {
    signs: [u8; N],
    digits: [u8; N],
    all: [u8; N],
}

impl Glance {
    /// Scans every byte.
    #[inline]
    pub(super) fn scan(bytes: &[u8]) -> Glance {
        match bytes.len() {
            32.. => Glance::scan_chunks::<32>(bytes),
            8.. => Glance::scan_chunks::<8>(bytes),
            _ => {
                let mut lanes = GlanceLanes::<1>::new();
                bytes.iter().for_each(|byte| lanes.add_chunk(&[*byte]));
                lanes.glance()
            }
        }
    }

    #[inline]
    fn scan_chunks<const N: usize>(bytes: &[u8]) -> Glance {
        let mut lanes = GlanceLanes::<N>::new();
        for chunk in bytes.as_chunks().0 {
            lanes.add_chunk(chunk);
        }
        // The bytes that are left, and those before them a second time, which does no harm.
        if let Some(chunk) = bytes.last_chunk() {
            lanes.add_chunk(chunk);
        }
        lanes.glance()
    }
}

impl<const N: usize> GlanceLanes<N> {
    #[inline]
    fn new() -> GlanceLanes<N> {
        GlanceLanes { signs: [0; N], digits: [0; N], all: [0; N] }
    }

    #[inline]
    fn add_chunk(&mut self, chunk: &[u8; N]) {
        for (lane, &byte) in chunk.iter().enumerate() {
            let is_escape = (byte == b'%') | (byte == b'&') | (byte == b'\\');
            let opens = (byte | 0x20 == b'{') | (byte == b'(');
            self.signs[lane] |= u8::from((byte == b'@') | is_escape | opens);
            self.digits[lane] |= u8::from(byte.wrapping_sub(b'0') < 10);
            self.all[lane] |= byte;
        }
    }

    #[inline]
    fn glance(&self) -> Glance {
        let any = |lanes: &[u8; N]| lanes.iter().fold(0, |all, lane| all | lane);
        Glance {
            has_sign: any(&self.signs) != 0,
            has_digit: any(&self.digits) != 0,
            has_wide: any(&self.all) & 0x80 != 0,
        }
    }
}

/// How many bytes a window has.
const WINDOW_BYTES: usize = 64;

/// How many places of a window are examined, unless it is the last: from each of them the next bytes are in the window.
const WINDOW_STEP: usize = WINDOW_BYTES - 8;

/// Where letters and digits are in a window of a text; the bit of a byte is the one of its place in the window.
#[derive(Clone, Copy)]
struct ByteMasks {
    letters: u64,
    digits: u64,
}

/// A window of a text.
enum Window<'t> {
    /// One with enough text after it.
    Full(&'t [u8; WINDOW_BYTES]),
    /// The last one, with the whole text and where it starts.
    Last(&'t [u8], usize),
}

impl<'t> Window<'t> {
    /// Returns the window that starts here.
    #[inline]
    fn starting_at(bytes: &'t [u8], from: usize) -> Window<'t> {
        match bytes.get(from..).and_then(|rest| rest.split_first_chunk()) {
            Some((window, rest)) if !rest.is_empty() => Window::Full(window),
            _ => Window::Last(bytes, from),
        }
    }

    /// Returns where its letters are, and its digits if the text has any.
    #[inline(always)]
    fn masks(&self, has_digit: bool) -> ByteMasks {
        match self {
            Window::Full(window) => ByteMasks {
                letters: class_bits(window, is_letter),
                digits: if has_digit { class_bits(window, is_digit) } else { 0 },
            },
            Window::Last(bytes, from) => read_last_masks(bytes, *from, has_digit),
        }
    }

    /// Returns the places that are examined.
    #[inline]
    fn examined(&self) -> u64 {
        match self {
            Window::Full(_) => (1 << WINDOW_STEP) - 1,
            Window::Last(..) => u64::MAX,
        }
    }

    /// Returns where words of at least three letters start. A word of the window before may continue.
    #[inline]
    fn word_starts(&self, masks: ByteMasks, continues: bool) -> u64 {
        let letters = masks.letters;
        letters & !(letters << 1 | u64::from(continues)) & (letters >> 1) & (letters >> 2) & self.examined()
    }

    /// Returns where numbers start.
    #[inline]
    fn number_starts(&self, masks: ByteMasks, continues: bool) -> u64 {
        masks.digits & !(masks.digits << 1 | u64::from(continues)) & self.examined()
    }

    /// Returns the key of the word that starts at a place of the window: its first eight letters, in lower case.
    #[inline]
    fn key(&self, masks: ByteMasks, place: usize) -> u64 {
        let letters = match self {
            Window::Full(window) => match window.get(place..).and_then(|rest| rest.first_chunk()) {
                Some(eight) => u64::from_le_bytes(*eight),
                None => 0,
            },
            Window::Last(bytes, from) => read_last_eight(bytes, from + place),
        };
        (letters | (0x20 * LOW_BITS)) & LETTER_MASKS[(masks.letters >> (place & 63)) as usize & 0xFF]
    }

    /// Visits the places of the window, which starts at `from`.
    #[inline(always)]
    fn visit_starts(
        &self,
        masks: ByteMasks,
        from: usize,
        continues: (bool, bool),
        is_wanted: &impl Fn(u64) -> bool,
        visit: &mut impl FnMut(TextStart),
    ) {
        let mut words = self.word_starts(masks, continues.0);
        while words != 0 {
            let place = words.trailing_zeros() as usize;
            words &= words - 1;
            let key = self.key(masks, place);
            if is_wanted(key) {
                visit(TextStart::Word(key, from + place));
            }
        }
        let mut numbers = self.number_starts(masks, continues.1);
        while numbers != 0 {
            let place = numbers.trailing_zeros() as usize;
            numbers &= numbers - 1;
            visit(TextStart::Number(from + place));
        }
        let rows = masks.long_rows();
        if rows != 0 {
            visit(TextStart::LongRows(
                from + rows.trailing_zeros() as usize,
                from + (63 - rows.leading_zeros()) as usize,
            ));
        }
    }
}

/// A place of a text where something may start.
#[derive(Clone, Copy)]
pub(super) enum TextStart {
    /// A word of at least three letters, by its key.
    Word(u64, usize),
    /// A number.
    Number(usize),
    /// Long rows of letters and digits: the places of the first and of the last.
    LongRows(usize, usize),
}

/// Visits the places of a text where something may start, window by window; words only with a wanted key, numbers only if
/// the text has digits.
#[inline(always)]
pub(super) fn visit_starts(
    bytes: &[u8],
    has_digit: bool,
    is_wanted: impl Fn(u64) -> bool,
    mut visit: impl FnMut(TextStart),
) {
    let mut continues = (false, false);
    let mut from = 0;
    while let window @ Window::Full(_) = Window::starting_at(bytes, from) {
        let masks = window.masks(has_digit);
        window.visit_starts(masks, from, continues, &is_wanted, &mut visit);
        continues = masks.continues();
        from += WINDOW_STEP;
    }
    let window = Window::Last(bytes, from);
    window.visit_starts(window.masks(has_digit), from, continues, &is_wanted, &mut visit);
}

impl ByteMasks {
    /// Whether the last examined place holds a letter, and whether it holds a digit.
    #[inline]
    fn continues(self) -> (bool, bool) {
        (self.letters >> (WINDOW_STEP - 1) & 1 != 0, self.digits >> (WINDOW_STEP - 1) & 1 != 0)
    }

    /// Returns where sixteen letters and digits in a row start. Windows overlap, so a row of 23 is always found.
    #[inline]
    fn long_rows(self) -> u64 {
        let row = self.letters | self.digits;
        let row = row & (row >> 1);
        let row = row & (row >> 2);
        let row = row & (row >> 4);
        row & (row >> 8)
    }
}

/// Returns eight bytes from a position on; zeros beyond the end.
#[inline]
fn read_last_eight(bytes: &[u8], place: usize) -> u64 {
    let rest = bytes.get(place..).unwrap_or_default();
    if let Some(eight) = rest.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    match bytes.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last) >> (8 * (8 - rest.len()).min(7)),
        None => rest.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    }
}

/// Returns the masks of the last window, from a position to the end. The last bytes are read together with bytes before
/// them: to copy them and read the copy at once would be slow.
#[inline]
fn read_last_masks(bytes: &[u8], from: usize, has_digit: bool) -> ByteMasks {
    let rest = bytes.get(from..).unwrap_or_default();
    if let Some(window) = bytes.last_chunk::<WINDOW_BYTES>() {
        let beyond = (WINDOW_BYTES - rest.len()) & 63;
        let digits = if has_digit { class_bits(window, is_digit) >> beyond } else { 0 };
        return ByteMasks { letters: class_bits(window, is_letter) >> beyond, digits };
    }
    let mut masks = ByteMasks { letters: 0, digits: 0 };
    let mut add = |eight: u64, place: usize| {
        masks.letters |= gather_top_bits(eight_in_range(eight | (0x20 * LOW_BITS), b'a', b'z') & !(eight & TOP_BITS))
            << (place & 63);
        masks.digits |= gather_top_bits(eight_in_range(eight, b'0', b'9') & !(eight & TOP_BITS)) << (place & 63);
    };
    for (number, eight) in rest.as_chunks().0.iter().enumerate() {
        add(u64::from_le_bytes(*eight), 8 * number);
    }
    match rest.last_chunk() {
        Some(eight) => add(u64::from_le_bytes(*eight), rest.len() - 8),
        None => add(read_last_eight(rest, 0), 0),
    }
    masks
}

/// The lowest bit of each of eight bytes.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const TOP_BITS: u64 = 0x80 * LOW_BITS;

/// Returns the top bit of each of eight bytes whose lower bits are in a range of ASCII.
#[inline]
fn eight_in_range(eight: u64, first: u8, last: u8) -> u64 {
    let low = eight & !TOP_BITS;
    (low + LOW_BITS * (0x80 - first as u64)) & !(low + LOW_BITS * (0x7F - last as u64)) & TOP_BITS
}

/// Returns the top bits of eight bytes, next to each other.
#[inline]
fn gather_top_bits(eight: u64) -> u64 {
    (eight >> 7).wrapping_mul(GATHER_TOP_BITS) >> 56
}

/// INVARIANT: multiplying with it moves the lowest bit of byte number n to bit 56 + n, and nothing else gets there.
const GATHER_TOP_BITS: u64 = 0x0102_0408_1020_4080;

#[inline]
fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

#[inline]
fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

/// Returns one bit for each byte: whether it is of a class.
#[inline(always)]
fn class_bits(bytes: &[u8; WINDOW_BYTES], class: impl Fn(u8) -> bool) -> u64 {
    let mut lanes = [0u8; WINDOW_BYTES];
    for (lane, &byte) in lanes.iter_mut().zip(bytes) {
        *lane = u8::from(class(byte));
    }
    let mut bits = 0;
    for (number, eight) in lanes.as_chunks::<8>().0.iter().enumerate() {
        bits |= (u64::from_le_bytes(*eight).wrapping_mul(GATHER_TOP_BITS) >> 56) << (8 * number);
    }
    bits
}

/// Returns the key of a word: its first `length` letters, from one to eight, in lower case.
pub(super) const fn word_key(letters: u64, length: u32) -> u64 {
    (letters | (0x20 * LOW_BITS)) & first_bytes_mask(length)
}

/// Returns the bits of the first bytes of eight.
const fn first_bytes_mask(bytes: u32) -> u64 {
    if bytes < 8 { (1 << (8 * bytes)) - 1 } else { u64::MAX }
}

/// The bits of a word among eight bytes, by which of the bytes are letters.
static LETTER_MASKS: [u64; 256] = {
    let mut table = [0; 256];
    let mut letters = 0;
    while letters < 256 {
        table[letters] = first_bytes_mask((letters as u8).trailing_ones());
        letters += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word of at least three letters and every number of a text, as the windows give them.
    fn find_starts(text: &str) -> (Vec<(usize, u64)>, Vec<usize>) {
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        visit_starts(
            text.as_bytes(),
            true,
            |_| true,
            |start| match start {
                TextStart::Word(key, place) => words.push((place, key)),
                TextStart::Number(place) => numbers.push(place),
                TextStart::LongRows(..) => {}
            },
        );
        (words, numbers)
    }

    #[test]
    fn scan_windows_find_words_and_numbers_once() {
        let text =
            "Of 12 words that start, some a3b are4short 5, somearelongerthaneightletters 123456789, and THE end. ";
        let text = text.repeat(5);
        for end in 0..text.len() {
            let text = &text[..end];
            let bytes = text.as_bytes();
            let is_letter = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_alphabetic);
            let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
            let starts_word =
                |place: &usize| (0..3).all(|next| is_letter(place + next)) && !is_letter(place.wrapping_sub(1));
            let starts_number = |place: &usize| is_digit(*place) && !is_digit(place.wrapping_sub(1));
            let keys: Vec<(usize, u64)> = (0..end)
                .filter(starts_word)
                .map(|place| {
                    let letters = bytes[place..].iter().take(8).take_while(|byte| byte.is_ascii_alphabetic());
                    let letters: Vec<u8> = letters.copied().collect();
                    let number = letters.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
                    (place, word_key(number, letters.len() as u32))
                })
                .collect();
            assert_eq!(find_starts(text), (keys, (0..end).filter(starts_number).collect()), "{text:?}");
        }
    }

    #[test]
    fn scan_glance_sees_byte_at_any_place() {
        for length in 1..140 {
            for place in 0..length {
                let glance = |byte: u8| {
                    let mut bytes = vec![b'x'; length];
                    bytes[place] = byte;
                    Glance::scan(&bytes)
                };
                assert!("@%&\\([{".bytes().all(|byte| glance(byte).has_sign));
                assert!(glance(b'0').has_digit && glance(b'9').has_digit && glance(0x80).has_wide);
                let none = glance(b' ');
                assert!(!none.has_sign && !none.has_digit && !none.has_wide);
            }
        }
    }
}
