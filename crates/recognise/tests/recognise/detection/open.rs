//! The open part of a text that still arrives.

use std::sync::LazyLock;

use lictor_json::Text;
use lictor_recognise::{CategorySpan, CustomCategory, Recogniser};
use proptest::prelude::*;
use proptest::sample::select;

use super::benign::BENIGN;
use super::properties::texts;
use super::{BUILTIN, expect_none};
use crate::samples::{CARRIED, PROSE};

/// Words that make a finding only together, often backwards.
const WORDS: &[&str] = &[
    "alice",
    "at",
    "arroba",
    "dot",
    "punto",
    "example",
    "com",
    "@",
    "[at]",
    "(dot)",
    "a",
    "l",
    "i",
    "p.",
    "P.",
    "O.",
    "post",
    "office",
    "Box",
    "Postfach",
    "123",
    "7",
    "19",
    "1990",
    "April",
    "5th",
    "of",
    "May",
    "5.",
    "1990-04-05",
    "is",
    "as",
    "my",
    "the",
    "date",
    "birth",
    "(DOB)",
    "dogum",
    "tarihi",
    "born",
    "geb",
    "Berliner",
    "Allee",
    "Str.",
    "Weg",
    "Hauptstraße",
    "Baker",
    "Street",
    "rue",
    "de",
    "bis",
    "la",
    "Paix",
    "Calle",
    "Mayor",
    "via",
    "12a",
    "12-14",
    "10115",
    "Berlin",
    "order",
    "no.",
    "#",
    "#A-7421",
    "units",
    "id",
    "number",
    "card",
    "ending",
    "in",
    "7447",
    "visa",
    "phone",
    "+49",
    "151",
    "2345678",
    "(555)",
    "234-5678",
    "1-800-234-5678",
    "DE89",
    "3704",
    "0044",
    "0532",
    "0130",
    "00",
    "AB",
    "12",
    "34",
    "56",
    "C",
    "X-1234567-L",
    "ICD-10",
    "E11.9",
    "high",
    "blood",
    "pressure",
    "zip",
    "code",
    "SW1A",
    "1AA",
    "address:",
    "ip",
    "203.0.113.7",
    "2001:db8::1:2:3",
    "version",
    "D.O.B.",
    "né",
    "le",
    "4111",
    "1111",
    "电话",
    "出生",
    "日期",
    "телефон",
    "дата",
    "рождения",
    "&#64;",
    "&#0000000000000000000000000064;",
    "%40",
    r"\u0040",
    "\u{e0061}",
    "\u{200b}",
    "YWxpY2VAZXhhbXBsZS5jb20",
];

/// Fails if a finding before the open part depends on the rest of the text.
fn check(recogniser: &Recogniser, text: &str, cut: usize) -> Result<(), String> {
    let begun = &text[..cut];
    let open = recogniser.open_from(begun);
    let before = |text: &str| -> Vec<CategorySpan> {
        recogniser.spans(text).into_iter().filter(|span| span.range.start < open).collect()
    };
    let is_place = open <= cut && text.is_char_boundary(open);
    match is_place && before(begun) == before(text) {
        true => Ok(()),
        false => Err(format!(
            "{begun:?} + {:?}: open from {open}, found {:?}, later {:?}",
            &text[cut..],
            before(begun),
            before(text)
        )),
    }
}

/// Checks a text at every cut.
fn check_cuts(recogniser: &Recogniser, text: &str) -> Vec<String> {
    let cuts = (0..=text.len()).filter(|cut| text.is_char_boundary(*cut));
    cuts.filter_map(|cut| check(recogniser, text, cut).err()).take(1).collect()
}

fn samples() -> impl Iterator<Item = &'static str> {
    CARRIED.iter().flat_map(|(_, texts)| texts.iter().copied())
}

#[test]
fn open_part_covers_every_sample() {
    expect_none(samples().chain(BENIGN.iter().copied()).enumerate().flat_map(|(number, sample)| {
        let (before, after) = (PROSE[number % PROSE.len()], PROSE[(number + 5) % PROSE.len()]);
        let texts = [
            sample.to_owned(),
            format!("{before} {sample} {after}"),
            format!("{before}\n{sample}\n{after}"),
            format!("({sample}), {sample}. {after}"),
        ];
        texts.into_iter().flat_map(|text| check_cuts(&BUILTIN, &text)).collect::<Vec<_>>()
    }));
}

#[test]
fn open_part_of_prose_is_last_words() {
    let (mut held, mut cuts) = (0, 0);
    for text in PROSE {
        for (cut, _) in text.char_indices() {
            let open = &text[BUILTIN.open_from(&text[..cut])..cut];
            // A script without blanks between words may write the name of a mailbox so.
            let most = if text.contains(' ') { 32 } else { 66 };
            assert!(open.split_whitespace().count() <= 3 && open.len() <= most, "{open:?} of {:?}", &text[..cut]);
            held += open.len();
            cuts += 1;
        }
    }
    assert!(held < 8 * cuts, "{held} bytes at {cuts} cuts");
}

#[test]
fn open_part_of_benign_texts_is_short() {
    let long = BENIGN.iter().filter(|text| text.len() > 60);
    let (mut held, mut cuts) = (0, 0);
    for text in long {
        for (cut, _) in text.char_indices() {
            held += cut - BUILTIN.open_from(&text[..cut]);
            cuts += 1;
        }
    }
    assert!(held < 15 * cuts, "{held} bytes at {cuts} cuts");
}

#[test]
fn open_part_starts_before_words_and_signs() {
    let cases = [
        ("Please write to alice", "alice"),
        ("Please write to alice dot smith at exam", "alice dot smith at exam"),
        ("Please write to alice at example d", "alice at example d"),
        ("Please write to a l i c", "a l i c"),
        ("The date 5 April 1990 is my", "5 April 1990 is my"),
        ("We met on April 5, 19", "April 5, 19"),
        ("Send it to the post off", "post off"),
        ("Send it to Berliner All", "Berliner All"),
        ("Send it to Hauptstraße ", "Hauptstraße "),
        ("You have high bl", "high bl"),
        ("You have 糖尿", "糖尿"),
        ("It is alice%4", "alice%4"),
        ("It says YWxpY2VAZXhhbXBsZS5jb2", "YWxpY2VAZXhhbXBsZS5jb2"),
        ("Your order number is ", "order number is "),
        ("Your order has left. We", "We"),
        ("It takes 5 days. We", "We"),
    ];
    expect_none(cases.into_iter().filter_map(|(text, wanted)| {
        let open = &text[BUILTIN.open_from(text)..];
        (!open.ends_with(wanted) || open.len() > wanted.len() + 8).then(|| format!("{text:?}: {wanted:?}, is {open:?}"))
    }));
}

static CUSTOM: LazyLock<Recogniser> = LazyLock::new(|| {
    let category = |name: &str, pattern: Option<&str>, words: &[&str]| CustomCategory {
        name: name.into(),
        pattern: pattern.map(Text::from),
        words: words.iter().map(|word| Text::from(*word)).collect(),
        identifies: false,
    };
    let own = [
        category("loyalty", Some(r"\bLC-\d{3,6}\b"), &[]),
        category("locker", Some(r"locker (\d+)|alic\w*"), &[]),
        category("religion", None, &["catholic", "new example", "P45", "Ислам", "仏教"]),
    ];
    Recogniser::new(&own).unwrap()
});

#[test]
fn open_part_covers_custom_categories() {
    let recogniser = &*CUSTOM;
    let text = "She is Catholic, a new example of LC-12345 with locker 1234, P45; ислам and 仏教. für LC-123 x";
    expect_none(check_cuts(recogniser, text));
    let open = |text: &'static str| &text[recogniser.open_from(text)..];
    assert_eq!(open("Here is the lock"), "lock");
    assert_eq!(open("It is LC-12"), "LC-12");
    assert_eq!(open("This is a new "), "new ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(800), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn open_part_covers_any_text(text in texts(), cut in any::<prop::sample::Index>()) {
        let cuts: Vec<usize> = (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)).collect();
        let cut = cuts[cut.index(cuts.len())];
        prop_assert_eq!(check(&BUILTIN, &text, cut), Ok(()));
        prop_assert_eq!(check(&CUSTOM, &text, cut), Ok(()));
    }

    #[test]
    fn open_part_covers_words_in_any_order(
        words in prop::collection::vec((select(WORDS), select(&[" ", " ", " ", "", "  ", ", ", "\n", "-", "."][..])), 1..14),
        cut in any::<prop::sample::Index>(),
    ) {
        let text: String = words.into_iter().flat_map(|(word, joint)| [word, joint]).collect();
        let cuts: Vec<usize> = (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)).collect();
        let cut = cuts[cut.index(cuts.len())];
        prop_assert_eq!(check(&BUILTIN, &text, cut), Ok(()));
    }

    #[test]
    fn open_part_covers_joined_samples(
        samples in prop::collection::vec(select(samples().collect::<Vec<_>>()), 1..4),
        prose in prop::collection::vec(select(PROSE), 4),
        joints in prop::collection::vec(select(&[" ", "", "\n", ", ", ". ", " (", "  "][..]), 8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut text = String::new();
        for (number, sample) in samples.iter().enumerate() {
            text.extend([prose[number], joints[2 * number], sample, joints[2 * number + 1]]);
        }
        text.push_str(prose[3]);
        let cuts: Vec<usize> = (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)).collect();
        let cut = cuts[cut.index(cuts.len())];
        prop_assert_eq!(check(&BUILTIN, &text, cut), Ok(()));
    }
}
