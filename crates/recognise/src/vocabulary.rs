//! Small words, each with what it may be: asked for single words around a number or a cue.
//!
//! One table that the compiler fills, so that a question costs one look-up however long the lists are.

use super::scan;

/// What a word may be; a word may be several things.
#[derive(Clone, Copy)]
pub(super) struct Classes(u16);

/// Says that an id follows.
pub(super) const MARKING: u16 = 1;
/// Says nothing.
pub(super) const SMALL: u16 = 1 << 1;
/// May stand between a word for birth and the date.
pub(super) const BIRTH: u16 = 1 << 2;
/// May stand between a word for a telephone and the number.
pub(super) const PHONE: u16 = 1 << 3;
/// May stand between a word for an order and the id.
pub(super) const ORDER: u16 = 1 << 4;
/// Makes a street whatever its case.
pub(super) const STREET: u16 = 1 << 5;
/// Makes a street if it is a name.
pub(super) const NAMED: u16 = 1 << 6;
/// Starts a French street.
pub(super) const RUE: u16 = 1 << 7;
/// Is no part of the name of a street that starts with a number.
pub(super) const NO_NAME: u16 = 1 << 8;
/// Stands inside the names of streets.
pub(super) const INSIDE: u16 = 1 << 9;
/// The last label of what is no domain: `icon@2x.png`, `this@Main.kt`.
pub(super) const FILE: u16 = 1 << 10;
/// The last label of many domains.
pub(super) const TOP_LEVEL: u16 = 1 << 11;
/// Is counted or measured: `10000 units`.
pub(super) const UNIT: u16 = 1 << 12;
/// May stand between a word for a document and its number.
pub(super) const DOCUMENT: u16 = 1 << 13;
/// May stand between a word for a card and its number.
pub(super) const CARD: u16 = 1 << 14;
/// May stand between a word for a disease and its code.
pub(super) const DISEASE: u16 = 1 << 15;

/// The words of each class, in lower case and without accents.
const WORDS: &[(u16, &str)] = &[
    (MARKING, "id ids no nr num number numbers code ref reference locator nummer numero identifier kennung"),
    (SMALL, "is was are the my your our his her their of s ist lautet est es value"),
    (
        BIRTH,
        "on date dd mm yyyy yy jj jjjj aaaa tt as le la el il de del den am op em day registered listed recorded confirmed \
         given falls for user customer patient passenger at dia tarihi",
    ),
    (PHONE, "at on me us mobile cell home work phone office line or"),
    (ORDER, "order booking reservation confirmation ticket invoice with under"),
    (DOCUMENT, "card document issued identity identification insurance security"),
    (CARD, "card ending in with on digits account"),
    (DISEASE, "codes with primary secondary for icd diagnosis"),
    (
        STREET,
        "street avenue ave road rd boulevard blvd lane ln parkway pkwy highway hwy terrace crescent mews turnpike",
    ),
    (
        NAMED,
        "st drive dr court ct place pl square sq way close row walk circle cir gardens grove hill trail loop plaza quay wharf \
         green rise bend alley path pike heights broadway",
    ),
    (RUE, "rue avenue av boulevard bd place chemin allee impasse quai cours route passage square faubourg ruelle"),
    (
        NO_NAME,
        "the a an in on at to for and or per is are was were from with by as minute minutes min mins hour hours day days week \
         weeks mile miles km meter meters block blocks people person car cars lane am pm more other different new busy items \
         item times percent if it this that you we i of my your our will can has have star way x k eur usd dollars",
    ),
    (INSIDE, "de du des la le les l d del los las el di della dei da das do dos van der den am an of the y e"),
    (
        FILE,
        "png jpg jpeg gif svg webp ico js mjs ts tsx jsx css scss json html htm xml yaml yml toml md txt csv pdf rs py rb go kt \
         java class log lock exe dll jar tar gz",
    ),
    (
        TOP_LEVEL,
        "com org net edu gov mil int info biz io ai co app dev me tv us uk de fr es it nl be ch at pl pt se no dk fi ie eu cz \
         gr ru ua tr il in cn jp kr au nz ca mx br ar za example test",
    ),
    (
        UNIT,
        "units pcs pieces items dollars usd eur euros points miles shares copies rows people tickets orders bookings times kg \
         lbs digit digits characters letters hours minutes days",
    ),
];

impl Classes {
    /// Whether the word is of one of these classes.
    pub(super) fn has(self, classes: u16) -> bool {
        self.0 & classes != 0
    }
}

/// What a word may be, whatever its case.
#[inline]
pub(super) fn classes(word: &[u8]) -> Classes {
    let length = word.len().min(8);
    let mut letters = [0; 8];
    for (letter, byte) in letters.iter_mut().zip(word) {
        *letter = *byte;
    }
    let key = scan::key(u64::from_le_bytes(letters), length as u32);
    let mut place = slot_of(key);
    // INVARIANT: most slots are empty, so this ends.
    loop {
        let slot = &TABLE[place];
        if slot.length == 0 || slot.key == key && slot.length as usize == word.len() {
            return Classes(slot.classes);
        }
        place = (place + 1) % SLOTS;
    }
}

#[derive(Clone, Copy)]
struct Slot {
    /// The first eight letters.
    key: u64,
    /// How many letters the word has; none for an empty slot.
    length: u8,
    classes: u16,
}

const SLOTS: usize = 1024;

static TABLE: [Slot; SLOTS] = table();

const fn slot_of(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize
}

const fn table() -> [Slot; SLOTS] {
    let mut table = [Slot { key: 0, length: 0, classes: 0 }; SLOTS];
    let mut list = 0;
    while list < WORDS.len() {
        let (classes, words) = (WORDS[list].0, WORDS[list].1.as_bytes());
        let mut start = 0;
        while start < words.len() {
            let mut end = start;
            let mut letters = 0;
            while end < words.len() && words[end] != b' ' {
                if end - start < 8 {
                    letters |= (words[end] as u64) << (8 * (end - start));
                }
                end += 1;
            }
            let length = end - start;
            let key = scan::key(letters, if length < 8 { length } else { 8 } as u32);
            let mut place = slot_of(key);
            while table[place].length != 0 && !(table[place].key == key && table[place].length as usize == length) {
                place = (place + 1) % SLOTS;
            }
            table[place] = Slot { key, length: length as u8, classes: table[place].classes | classes };
            start = end + 1;
        }
        list += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_the_classes_of_its_lists() {
        for (class, words) in WORDS {
            for word in words.split(' ') {
                assert!(!word.is_empty() && classes(word.as_bytes()).has(*class), "{word}");
                assert!(classes(word.to_uppercase().as_bytes()).has(*class), "{word}");
            }
        }
        assert!(classes(b"place").has(NAMED) && classes(b"place").has(RUE));
        for other in ["", "alice", "avenu", "avenues", "boulevardx", "42nd"] {
            assert!(!classes(other.as_bytes()).has(u16::MAX), "{other}");
        }
    }
}
