//! The ASCII look-alikes of characters.

/// The first of the ten digits of every script that has its own (general category Nd).
const SCRIPT_ZEROS: [u32; 74] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
    0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0, 0x11136, 0x111D0,
    0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0, 0x11C50,
    0x11D50, 0x11DA0, 0x11DE0, 0x11F50, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0, 0x1D7CE, 0x1D7D8, 0x1D7E2,
    0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950,
];

/// Characters that are drawn as nothing (Default_Ignorable_Code_Point), first and last of each range. The tags and
/// the variation selectors of plane 14 are among them.
const INVISIBLE: [(u32, u32); 17] = [
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
];

/// Marks that are drawn over, under or around the character before them.
const MARKS: [(u32, u32); 5] = [(0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F)];

/// Characters that are read as letters or marks of ASCII and that Unicode does not take apart into them, sorted.
const LOOKALIKES: &[(char, &str)] = &[
    ('\u{85}', "\n"),
    ('°', "o"),
    ('·', "."),
    ('Æ', "AE"),
    ('Ð', "D"),
    ('×', "x"),
    ('Ø', "O"),
    ('Þ', "Th"),
    ('ß', "ss"),
    ('æ', "ae"),
    ('ð', "d"),
    ('ø', "o"),
    ('þ', "th"),
    ('Đ', "D"),
    ('đ', "d"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ĸ', "k"),
    ('Ł', "L"),
    ('ł', "l"),
    ('ŋ', "n"),
    ('Œ', "OE"),
    ('œ', "oe"),
    ('ŧ', "t"),
    ('ƒ', "f"),
    ('ǀ', "l"),
    ('ȷ', "j"),
    ('ɑ', "a"),
    ('ɡ', "g"),
    ('ɢ', "g"),
    ('ɩ', "i"),
    ('ɪ', "i"),
    ('ɴ', "n"),
    ('ʀ', "r"),
    ('ʏ', "y"),
    ('ʙ', "b"),
    ('ʜ', "h"),
    ('ʟ', "l"),
    ('ʹ', "'"),
    ('ʼ', "'"),
    ('ˑ', "."),
    ('˗', "-"),
    ('ͺ', "i"),
    ('Ϳ', "J"),
    ('Α', "A"),
    ('Β', "B"),
    ('Ε', "E"),
    ('Ζ', "Z"),
    ('Η', "H"),
    ('Ι', "I"),
    ('Κ', "K"),
    ('Μ', "M"),
    ('Ν', "N"),
    ('Ο', "O"),
    ('Ρ', "P"),
    ('Τ', "T"),
    ('Υ', "Y"),
    ('Χ', "X"),
    ('α', "a"),
    ('γ', "y"),
    ('ε', "e"),
    ('η', "n"),
    ('ι', "i"),
    ('κ', "k"),
    ('ν', "v"),
    ('ο', "o"),
    ('ρ', "p"),
    ('σ', "o"),
    ('τ', "t"),
    ('υ', "u"),
    ('χ', "x"),
    ('ϲ', "c"),
    ('ϳ', "j"),
    ('Ϲ', "C"),
    ('Ѕ', "S"),
    ('І', "I"),
    ('Ј', "J"),
    ('А', "A"),
    ('В', "B"),
    ('Е', "E"),
    ('К', "K"),
    ('М', "M"),
    ('Н', "H"),
    ('О', "O"),
    ('Р', "P"),
    ('С', "C"),
    ('Т', "T"),
    ('У', "Y"),
    ('Х', "X"),
    ('а', "a"),
    ('в', "b"),
    ('г', "r"),
    ('е', "e"),
    ('к', "k"),
    ('м', "m"),
    ('н', "h"),
    ('о', "o"),
    ('п', "n"),
    ('р', "p"),
    ('с', "c"),
    ('т', "t"),
    ('у', "y"),
    ('х', "x"),
    ('ѕ', "s"),
    ('і', "i"),
    ('ј', "j"),
    ('Ү', "Y"),
    ('ү', "y"),
    ('Һ', "H"),
    ('һ', "h"),
    ('Ӏ', "l"),
    ('ӏ', "l"),
    ('ԁ', "d"),
    ('Ԍ', "G"),
    ('ԛ', "q"),
    ('Ԝ', "W"),
    ('ԝ', "w"),
    ('զ', "q"),
    ('հ', "h"),
    ('յ', "j"),
    ('ո', "n"),
    ('ս', "u"),
    ('ց', "g"),
    ('օ', "o"),
    ('׃', ":"),
    ('۔', "."),
    ('܁', "."),
    ('܂', "."),
    ('ᴀ', "a"),
    ('ᴄ', "c"),
    ('ᴅ', "d"),
    ('ᴇ', "e"),
    ('ᴊ', "j"),
    ('ᴋ', "k"),
    ('ᴍ', "m"),
    ('ᴏ', "o"),
    ('ᴘ', "p"),
    ('ᴛ', "t"),
    ('ᴜ', "u"),
    ('ᴠ', "v"),
    ('ᴡ', "w"),
    ('ᴢ', "z"),
    ('ẞ', "SS"),
    ('‐', "-"),
    ('‑', "-"),
    ('‒', "-"),
    ('–', "-"),
    ('—', "-"),
    ('―', "-"),
    ('‘', "'"),
    ('’', "'"),
    ('‚', "'"),
    ('‛', "'"),
    ('“', "\""),
    ('”', "\""),
    ('„', "\""),
    ('‟', "\""),
    ('•', "."),
    ('‧', "."),
    ('\u{2028}', "\n"),
    ('\u{2029}', "\n"),
    ('′', "'"),
    ('⁃', "-"),
    ('⁄', "/"),
    ('−', "-"),
    ('∕', "/"),
    ('∙', "."),
    ('⋅', "."),
    ('⓿', "0"),
    ('⸱', "."),
    ('。', "."),
    ('〇', "0"),
    ('ꓸ', "."),
    ('ꜱ', "s"),
    ('꞉', ":"),
    ('｡', "."),
];

/// The way a character reads in the search for data.
pub(super) enum Glyph {
    /// Nothing is seen.
    Nothing,
    /// Nothing is seen, and a machine reads this letter.
    Hidden(char),
    /// It looks like this in ASCII.
    Ascii(&'static str),
    /// It is this digit.
    Digit(char),
    /// It has no look-alike; Unicode may take it apart.
    Other,
}

/// Returns how a character reads, by the tables.
pub(super) fn read_glyph(character: char) -> Glyph {
    let code = character as u32;
    if is_in(code, &INVISIBLE) {
        return read_hidden(code).map_or(Glyph::Nothing, Glyph::Hidden);
    }
    if is_in(code, &MARKS) {
        return Glyph::Nothing;
    }
    if let Ok(place) = LOOKALIKES.binary_search_by_key(&character, |(alike, _)| *alike) {
        return Glyph::Ascii(LOOKALIKES[place].1);
    }
    let zero = SCRIPT_ZEROS.partition_point(|zero| *zero <= code).checked_sub(1).map(|place| SCRIPT_ZEROS[place]);
    match zero.map(|zero| code - zero) {
        Some(value @ 0..=9) => Glyph::Digit((b'0' + value as u8) as char),
        _ => read_framed(code).map_or(Glyph::Other, Glyph::Digit),
    }
}

/// Whether a character is a mark of the one before it.
pub(super) fn is_mark(character: char) -> bool {
    is_in(character as u32, &MARKS)
}

fn is_in(code: u32, ranges: &[(u32, u32)]) -> bool {
    let next = ranges.partition_point(|(first, _)| *first <= code);
    next.checked_sub(1).is_some_and(|place| code <= ranges[place].1)
}

/// Returns the letter that an invisible character smuggles: tags are ASCII moved up, and variation selectors can count
/// bytes.
fn read_hidden(code: u32) -> Option<char> {
    let byte = match code {
        0xE0020..=0xE007E => code - 0xE0000,
        0xE0100..=0xE01EF => code - 0xE0100 + 16,
        _ => return None,
    };
    char::from_u32(byte).filter(|character| matches!(character, ' '..='~'))
}

/// Returns the letter or digit in a filled frame, which Unicode does not decompose.
fn read_framed(code: u32) -> Option<char> {
    let (base, first) = match code {
        0x1F150..=0x1F169 => (b'A', 0x1F150),
        0x1F170..=0x1F189 => (b'A', 0x1F170),
        0x1F1E6..=0x1F1FF => (b'A', 0x1F1E6),
        0x2776..=0x277E => (b'1', 0x2776),
        0x2780..=0x2788 => (b'1', 0x2780),
        0x278A..=0x2792 => (b'1', 0x278A),
        0x24F5..=0x24FD => (b'1', 0x24F5),
        0x1FBF0..=0x1FBF9 => (b'0', 0x1FBF0),
        _ => return None,
    };
    Some((base + (code - first) as u8) as char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyph_tables_are_sorted() {
        assert!(LOOKALIKES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(SCRIPT_ZEROS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(INVISIBLE.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(MARKS.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(LOOKALIKES.iter().all(|(alike, looks)| !alike.is_ascii() && looks.is_ascii()));
    }
}
