//! The classes of small words around a number or a cue.
//!
//! One table, filled at compile time, so that a word costs one look-up however long the lists are.

use super::scan;

/// The classes of a word.
#[derive(Clone, Copy)]
pub(super) struct WordClasses(u16);

/// Announces an id.
pub(super) const ID_MARK: u16 = 1;
/// Has no meaning of its own.
pub(super) const FILLER: u16 = 1 << 1;
/// May be between a word for birth and the date.
pub(super) const BIRTH: u16 = 1 << 2;
/// May be between a word for a telephone and the number.
pub(super) const PHONE: u16 = 1 << 3;
/// May be between a word for an order and the id.
pub(super) const ORDER: u16 = 1 << 4;
/// Makes a street in any case.
pub(super) const STREET: u16 = 1 << 5;
/// Makes a street if it is a name.
pub(super) const STREET_NAME: u16 = 1 << 6;
/// Starts a French street.
pub(super) const FRENCH_STREET: u16 = 1 << 7;
/// Is no part of the name of a street that starts with a number.
pub(super) const NOT_STREET_NAME: u16 = 1 << 8;
/// Occurs inside street names.
pub(super) const IN_STREET_NAME: u16 = 1 << 9;
/// The last label of what is no domain: `icon@2x.png`, `this@Main.kt`.
pub(super) const FILE_EXTENSION: u16 = 1 << 10;
/// The last label of many domains.
pub(super) const TOP_LEVEL_DOMAIN: u16 = 1 << 11;
/// Is counted or measured: `10000 units`.
pub(super) const UNIT: u16 = 1 << 12;
/// May be between a word for a document and its number.
pub(super) const DOCUMENT: u16 = 1 << 13;
/// May be between a word for a card and its number.
pub(super) const CARD: u16 = 1 << 14;
/// May be between a word for a disease and its code.
pub(super) const DISEASE: u16 = 1 << 15;

/// The words of each class, in lower case and without accents.
const WORDS: &[(u16, &str)] = &[
    (ID_MARK, "id ids no nr num number numbers code ref reference locator nummer numero identifier kennung"),
    (FILLER, "is was are the my your our his her their of s ist lautet est es value"),
    (
        BIRTH,
        "on date dd mm yyyy yy jj jjjj aaaa tt as le la el il de del den am op em day registered listed recorded confirmed \
         given falls for user customer patient passenger at dia tarihi it der das ce c het e o",
    ),
    (
        PHONE,
        "at on me us mobile cell home work phone office line or him her them back under sie mich uns bitte unter au le moi nous al en el me il op la pa na para no mig meg em",
    ),
    (ORDER, "order booking reservation confirmation ticket invoice with under"),
    (DOCUMENT, "card document issued identity identification insurance security"),
    (CARD, "card ending in with on digits account"),
    (DISEASE, "codes with primary secondary for icd diagnosis"),
    (
        STREET,
        "street avenue ave road rd boulevard blvd lane ln parkway pkwy highway hwy terrace crescent mews turnpike",
    ),
    (
        STREET_NAME,
        "st drive dr court ct place pl square sq way close row walk circle cir gardens grove hill trail loop plaza quay wharf \
         green rise bend alley path pike heights broadway",
    ),
    (
        FRENCH_STREET,
        "rue avenue av boulevard bd place chemin allee impasse quai cours route passage square faubourg ruelle",
    ),
    (
        NOT_STREET_NAME,
        "the a an in on at to for and or per is are was were from with by as minute minutes min mins hour hours day days week \
         weeks mile miles km meter meters block blocks people person car cars lane am pm more other different new busy items \
         item times percent if it this that you we i of my your our will can has have star way x k eur usd dollars",
    ),
    (IN_STREET_NAME, "de du des la le les l d del los las el di della dei da das do dos van der den am an of the y e"),
    (
        FILE_EXTENSION,
        "png jpg jpeg gif svg webp ico js mjs ts tsx jsx css scss json html htm xml yaml yml toml md txt csv pdf rs py rb go kt \
         java class log lock exe dll jar tar gz",
    ),
    (
        TOP_LEVEL_DOMAIN,
        "com org net edu gov mil int info biz io ai co app dev me tv us uk de fr es it nl be ch at pl pt se no dk fi ie eu cz \
         gr ru ua tr il in cn jp kr au nz ca mx br ar za example test",
    ),
    (
        UNIT,
        "units pcs pieces items dollars usd eur euros points miles shares copies rows people tickets orders bookings times kg \
         lbs digit digits characters letters hours minutes days",
    ),
];

impl WordClasses {
    /// Whether the word is of one of these classes.
    pub(super) fn has(self, classes: u16) -> bool {
        self.0 & classes != 0
    }
}

/// Returns the classes of a word, in any case.
#[inline]
pub(super) fn classify(word: &[u8]) -> WordClasses {
    let length = word.len().min(8);
    let mut letters = [0; 8];
    for (letter, byte) in letters.iter_mut().zip(word) {
        *letter = *byte;
    }
    let key = scan::word_key(u64::from_le_bytes(letters), length as u32);
    let mut place = find_slot(key);
    // INVARIANT: most slots are empty, so this ends.
    loop {
        let slot = &TABLE[place];
        if slot.length == 0 || slot.key == key && slot.length as usize == word.len() {
            return WordClasses(slot.classes);
        }
        place = (place + 1) % TABLE_SLOTS;
    }
}

#[derive(Clone, Copy)]
struct VocabularySlot {
    /// The first eight letters.
    key: u64,
    /// How many letters the word has; none for an empty slot.
    length: u8,
    classes: u16,
}

const TABLE_SLOTS: usize = 1024;

static TABLE: [VocabularySlot; TABLE_SLOTS] = build_table();

const fn find_slot(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize
}

const fn build_table() -> [VocabularySlot; TABLE_SLOTS] {
    let mut table = [VocabularySlot { key: 0, length: 0, classes: 0 }; TABLE_SLOTS];
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
            let key = scan::word_key(letters, if length < 8 { length } else { 8 } as u32);
            let mut place = find_slot(key);
            while table[place].length != 0 && !(table[place].key == key && table[place].length as usize == length) {
                place = (place + 1) % TABLE_SLOTS;
            }
            table[place] = VocabularySlot { key, length: length as u8, classes: table[place].classes | classes };
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
    fn vocabulary_words_have_their_classes() {
        for (class, words) in WORDS {
            for word in words.split(' ') {
                assert!(!word.is_empty() && classify(word.as_bytes()).has(*class), "{word}");
                assert!(classify(word.to_uppercase().as_bytes()).has(*class), "{word}");
            }
        }
        assert!(classify(b"place").has(STREET_NAME) && classify(b"place").has(FRENCH_STREET));
        for other in ["", "alice", "avenu", "avenues", "boulevardx", "42nd"] {
            assert!(!classify(other.as_bytes()).has(u16::MAX), "{other}");
        }
    }
}
