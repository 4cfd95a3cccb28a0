//! Finds categories of personal data, and the persons they are about, in free text and in JSON.
//!
//! Findings by category:
//!
//! | category | found |
//! |---|---|
//! | `address` | number and street in English, French, German, Dutch, Spanish, Italian and Portuguese shapes; boxes at the post office; postal codes next to a word for one |
//! | `dob` | a date, in many spellings, next to a word for birth in a dozen languages |
//! | `email` | addresses of mailboxes, also with `[at]`, `dot`, or blanks in between, or backwards |
//! | `gov_id` | US SSN and ITIN, UK NINO, Spanish DNI and NIE, Italian codice fiscale, French NIR, Brazilian CPF by shape and check digits; these and passports, BSN, PESEL, Steuer-ID, Aadhaar and those of some forty countries next to their names |
//! | `health` | some five hundred conditions, treatments and medicines; ICD-10 codes and numbers of patients next to a word for one |
//! | `iban` | accounts by country, length and check digits; next to the word by shape |
//! | `ip_address` | public addresses of machines, also of IPv4 within IPv6 |
//! | `order_id` | ids of orders, bookings, tickets, invoices next to a word for one; `#A-7421` |
//! | `payment` | numbers of cards by network, length and check digit, next to a word by length or check digit; their codes and last digits next to a word |
//! | `phone` | `+` or `00` and a country; North American shapes; national shapes with a zero in front; others next to a word; with extensions |
//!
//! A value next to its name counts even if its check digits are wrong: a mistyped number still belongs to a person. A
//! policy adds its own categories, by regular expression or by words. In JSON a key names the category of its value, also
//! where the JSON is a text or a part of one.
//!
//! Texts are read as a person reads them: escapes of URLs and HTML are decoded once, those of JSON also within JSON;
//! characters that are drawn as nothing are dropped, and text that is hidden in them is read; look-alikes, accents and
//! digits of other scripts become ASCII; long words of base64 or hexadecimal are decoded once. Places are given in the
//! original text.
//!
//! Every finding has a [`Confidence`], and the person that it identifies. Mailboxes and phone numbers identify persons;
//! values of other categories do so if the policy says so. [`normalize_identifier`] gives each identifier one spelling.
//!
//! Secrets, such as keys and passwords, are no personal data: [`find_secrets`] finds them.
//!
//! Names of persons are found next to a word that announces one, and only by [`find_names`].
//!
//! Not found: names elsewhere (only a model tells them from other words); religion, politics,
//! ethnicity, union, orientation, biometrics; text that is enciphered, encoded twice, split over several
//! texts, or in pictures; reversed numbers; digits and letters written out as words; leetspeak; streets without a number or with a name
//! alone; numbers of telephones without a country, a word, a zero or a known shape; years of birth and ages. The tests of this
//! module hold a list of such misses and fail when one starts to be found.
//!
//! Time is in proportion to the length of the text: there is one pass over its bytes, and every candidate is verified
//! in a window of bounded size.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use lictor_json::{Json, Number, Text};

mod bytes;
mod card;
mod check;
mod collector;
mod confidence;
mod country;
mod cue;
mod cue_finder;
mod custom;
mod date;
mod email;
mod encoded;
mod finder;
mod fold;
mod gap;
mod glyph;
mod government_id;
mod groups;
mod health;
mod identifier;
mod key;
mod lexicon;
mod long_texts;
mod loose_words;
mod mailbox_name;
mod member;
mod name;
mod network;
mod number_finder;
mod open;
mod open_patterns;
mod order;
mod phone;
mod reading;
mod scan;
mod secret;
mod street;
mod vocabulary;

pub use collector::TextCollector;
pub use confidence::Confidence;
use cue::Cue;
use custom::CustomCategories;
use finder::{Finder, Hit};
pub use identifier::normalize_identifier;
use identifier::normalize_value;
use key::{KeyMeaning, Keys};
use lexicon::Lexicon;
pub use long_texts::LONG_TEXT_BYTES;
use long_texts::LongTexts;
pub use name::find_names;
pub use open_patterns::OpenPatterns;
pub use reading::TextReadings;
use scan::Glance;
pub use secret::{SecretKind, SecretSpan, find_secrets};

/// The names of the built-in categories.
pub const BUILTIN_CATEGORIES: [&str; 10] =
    ["address", "dob", "email", "gov_id", "health", "iban", "ip_address", "order_id", "payment", "phone"];

/// The built-in categories, as places in [`BUILTIN_CATEGORIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Builtin {
    Address,
    Dob,
    Email,
    GovId,
    Health,
    Iban,
    IpAddress,
    OrderId,
    Payment,
    Phone,
}

/// Finds personal data. Compiled once, then shared.
///
/// ```
/// use lictor_recognise::{PersonalData, Recogniser};
///
/// let recogniser = Recogniser::builtin();
/// let mut found = PersonalData::default();
/// recogniser.text("My order #A-7421, please. I am Alice@Example.com", &mut found);
/// assert_eq!(found.categories, ["email", "order_id"]);
/// assert_eq!(found.subjects, ["alice@example.com"]);
/// ```
pub struct Recogniser {
    /// The names of all categories; the built-in ones first.
    names: Vec<Text>,
    lexicon: Lexicon,
    custom: CustomCategories,
    keys: Keys,
    long_texts: LongTexts,
}

/// The categories and persons found in a text or a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonalData {
    /// The categories of personal data, sorted, each once.
    pub categories: Vec<Text>,
    /// The persons, sorted, each once: addresses of mailboxes in lower case, numbers of telephones as `+` and digits
    /// (digits alone where the country is unknown), and values of a policy's categories that identify.
    pub subjects: Vec<Text>,
}

/// A category of personal data that the caller defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomCategory {
    /// Its name.
    pub name: Text,
    /// A regular expression that its values match.
    pub pattern: Option<Text>,
    /// Words that show it.
    pub words: Vec<Text>,
    /// Whether a value identifies the person.
    pub identifies: bool,
}

/// A part of a text that holds a category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategorySpan {
    /// The bytes of the text; whole characters.
    pub range: Range<usize>,
    /// The category.
    pub category: Text,
    /// How sure the finding is.
    pub confidence: Confidence,
    /// The person that it identifies, in the form of [`PersonalData::subjects`].
    pub subject: Option<Text>,
}

impl Recogniser {
    /// Returns a recogniser of the built-in categories and those of a policy.
    ///
    /// # Errors
    ///
    /// The index of a category that cannot be used, and the reason.
    pub fn new(custom: &[CustomCategory]) -> Result<Recogniser, (usize, String)> {
        let mut names: Vec<Text> = BUILTIN_CATEGORIES.into_iter().map(Text::from).collect();
        for (place, category) in custom.iter().enumerate() {
            if !names.contains(&category.name) {
                names.push(category.name.clone());
            }
            if names.len() > usize::from(u16::MAX) {
                return Err((place, "more than 65535 categories".into()));
            }
        }
        let number =
            |category: &CustomCategory| names.iter().position(|name| *name == category.name).unwrap_or(0) as u16;
        let compiled = CustomCategories::new(custom, number)?;
        Ok(Recogniser {
            lexicon: build_lexicon(&compiled),
            keys: Keys::new(custom.iter().map(|category| (category.name.as_str(), number(category)))),
            custom: compiled,
            names,
            long_texts: LongTexts::default(),
        })
    }

    /// Returns a recogniser of the built-in categories.
    pub fn builtin() -> Recogniser {
        let names = BUILTIN_CATEGORIES.into_iter().map(Text::from).collect();
        let custom = CustomCategories::default();
        let (lexicon, keys) = (build_lexicon(&custom), Keys::new(std::iter::empty()));
        Recogniser { lexicon, keys, custom, names, long_texts: LongTexts::default() }
    }

    /// Whether a category has this name.
    pub fn knows_category(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Adds the categories and persons in a text. The findings in [long](LONG_TEXT_BYTES) texts are kept for a while, so
    /// that the same text is not searched again.
    pub fn text(&self, text: &str, found: &mut PersonalData) {
        if text.len() < LONG_TEXT_BYTES {
            return self.search_text(text, found, None, true);
        }
        let known = self.long_texts.find(text, || {
            let mut found = PersonalData::default();
            self.search_text(text, &mut found, None, true);
            found
        });
        known.categories.iter().for_each(|category| found.add_category(category));
        known.subjects.iter().for_each(|subject| found.add_subject(subject.clone()));
    }

    /// Adds the categories and persons in a JSON value: by its strings, its large numbers, and its keys.
    pub fn value(&self, json: &Json, found: &mut PersonalData) {
        self.search_value(json, "", "", found);
    }

    /// Returns every part of a text that holds a category, in the order of the text; parts may overlap.
    pub fn spans(&self, text: &str) -> Vec<CategorySpan> {
        let mut places = Vec::new();
        self.search_text(text, &mut PersonalData::default(), Some(&mut places), true);
        // Of several findings at one place the surest stays, and of those as sure one that names a person.
        let order =
            |hit: &Hit| (hit.range.start, hit.range.end, hit.category, Reverse(hit.confidence), hit.subject.is_none());
        places.sort_by_key(order);
        places.dedup_by(|next, first| next.range == first.range && next.category == first.category);
        let name = |category: u16| self.names.get(usize::from(category)).cloned();
        let spans = places.into_iter().filter_map(|Hit { range, category, confidence, subject }| {
            Some(CategorySpan { range, category: name(category)?, confidence, subject })
        });
        spans.collect()
    }

    fn search_text(&self, text: &str, found: &mut PersonalData, places: Option<&mut Vec<Hit>>, decode: bool) {
        let mut places = places;
        if decode && member::may_have_members(text) {
            self.search_members(text, found, places.as_deref_mut());
        }
        let glance = Glance::scan(text.as_bytes());
        if !(glance.has_wide || glance.has_sign && fold::has_escape(text)) {
            return Finder::new(self, text, found, places).find_all(glance, false, decode);
        }
        let mut folded = fold::fold(text, places.is_some());
        if places.is_none() && memchr::memchr(b'@', folded.text.as_bytes()).is_some() {
            // The name of a mailbox is spelled as in the original.
            folded = fold::fold(text, true);
        }
        let glance = Glance::scan(folded.text.as_bytes());
        let Some(places) = places else {
            if !self.custom.has_only_words() {
                Finder::new(self, text, found, None).find_custom();
            }
            let mut finder = Finder::new(self, &folded.text, found, None).with_origin(text, &folded);
            return finder.find_all(glance, folded.has_scripts, decode);
        };
        let mut inside = Vec::new();
        let mut finder = Finder::new(self, &folded.text, found, Some(&mut inside)).with_origin(text, &folded);
        finder.find_all(glance, folded.has_scripts, decode);
        places.extend(inside.into_iter().map(|hit| Hit { range: folded.origin(hit.range), ..hit }));
        if !self.custom.has_only_words() {
            // A policy's pattern may be about the very characters that folding takes away.
            Finder::new(self, text, found, Some(places)).find_custom();
        }
    }

    /// Adds the categories that the keys of JSON in a text name.
    fn search_members(&self, text: &str, found: &mut PersonalData, mut places: Option<&mut Vec<Hit>>) {
        for member in member::read_members(text) {
            let Some(meaning) = self.keys.meaning(&member.key, &member.parent) else { continue };
            let Some(subject) = self.add_labeled(&member.value, meaning, found) else { continue };
            if let Some(places) = &mut places {
                let (range, category) = (member.range, meaning.category);
                places.push(Hit { range, category, confidence: Confidence::Medium, subject });
            }
        }
    }

    fn search_value(&self, json: &Json, key: &str, parent: &str, found: &mut PersonalData) {
        let meaning = || if key.is_empty() { None } else { self.keys.meaning(key, parent) };
        match json {
            Json::Null | Json::Bool(_) => {}
            Json::String(text) => {
                let _ = meaning().map(|meaning| self.add_labeled(text, meaning, found));
                self.text(text, found);
            }
            Json::Number(number) => {
                let _ = meaning().map(|meaning| self.add_labeled(&number.to_string(), meaning, found));
                let may_be_card = match number {
                    Number::Integer(value) => *value >= 1_000_000_000_000,
                    Number::Wide(..) => true,
                    Number::Float(_) | Number::Long(_) => false,
                };
                if may_be_card {
                    self.text(&number.to_string(), found);
                }
            }
            Json::Array(items) => items.iter().for_each(|item| self.search_value(item, key, parent, found)),
            Json::Object(object) => {
                for (name, value) in object.iter() {
                    if member::may_hold_data(name) {
                        self.text(name, found);
                    }
                    self.search_value(value, name, key, found);
                }
            }
        }
    }

    /// Adds the category of a scalar by its key. Returns the person that it identifies, if it has the category.
    fn add_labeled(&self, text: &str, meaning: KeyMeaning, found: &mut PersonalData) -> Option<Option<Text>> {
        let text = text.trim();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        if is_placeholder(text) || digits < usize::from(meaning.digits) {
            return None;
        }
        if meaning.category == Builtin::Address as u16 && is_machine_address(text) {
            return None;
        }
        if let Some(name) = self.names.get(usize::from(meaning.category)) {
            found.add_category(name);
        }
        let is_phone = meaning.category == Builtin::Phone as u16;
        let phone = if is_phone { phone::normalize(&fold::fold(text, false).text) } else { None };
        let value = self.custom.identifies(meaning.category).then(|| normalize_value(meaning.category, text));
        value.iter().chain(&phone).for_each(|subject| found.add_subject(subject.clone()));
        Some(phone.or(value))
    }

    /// Returns the category that a key names, below another key.
    pub fn category_of_key(&self, key: &str, parent: &str) -> Option<&Text> {
        let meaning = self.keys.meaning(key, parent)?;
        self.names.get(usize::from(meaning.category))
    }
}

impl PersonalData {
    fn add_category(&mut self, name: &Text) {
        if let Err(place) = self.categories.binary_search(name) {
            self.categories.insert(place, name.clone());
        }
    }

    fn add_subject(&mut self, name: Text) {
        if let Err(place) = self.subjects.binary_search(&name) {
            self.subjects.insert(place, name);
        }
    }
}

impl fmt::Debug for Recogniser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recogniser").field("categories", &self.names).finish_non_exhaustive()
    }
}

fn build_lexicon(custom: &CustomCategories) -> Lexicon {
    let cues = cue::PHRASES.iter().flat_map(|(cue, phrases)| phrases.split(", ").map(|phrase| (phrase, *cue)));
    let terms = health::terms().map(|term| (term, Cue::Term(Builtin::Health as u16)));
    let acronyms = health::acronyms().map(|word| (word, Cue::Acronym(Builtin::Health as u16)));
    let words = custom.words.iter().map(|(word, category)| (word.as_str(), Cue::Term(*category)));
    Lexicon::new(cues.chain(terms).chain(acronyms).chain(words))
}

/// Whether a value is a placeholder for none.
fn is_placeholder(text: &str) -> bool {
    const NONE: &[&str] = &[
        "",
        "-",
        "--",
        "n/a",
        "na",
        "none",
        "null",
        "nil",
        "unknown",
        "undefined",
        "?",
        "tbd",
        "[redacted]",
        "redacted",
        "masked",
        "hidden",
        "removed",
        "<redacted>",
    ];
    bytes::is_one_of(text.as_bytes(), NONE)
}

/// Whether an address is one of a machine, not of a building.
fn is_machine_address(text: &str) -> bool {
    let has_blank = text.contains(' ');
    !has_blank && (text.contains('@') || text.contains("://") || text.starts_with("0x") || text.starts_with('/'))
        || text.parse::<std::net::IpAddr>().is_ok()
        || text.parse::<std::net::SocketAddr>().is_ok()
}

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
