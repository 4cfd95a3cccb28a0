//! Forgetting: a key for each subject, under which whatever a record holds about them is committed to or sealed.
//!
//! The log holds pseudonyms, commitments and sealed payloads; none of them says anything without these keys. Destroying
//! the key of one subject makes every record that names them unreadable and unlinkable, and changes no byte of the log.

mod cast;
mod file;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::LedgerError;
pub(crate) use crate::subjects::cast::Cast;
pub(crate) use crate::subjects::file::KeyFile;

type Key = Zeroizing<[u8; 32]>;

/// What stands for a subject in the file with the keys.
type Name = [u8; 32];

/// How many casts are remembered. Then all are forgotten and learnt anew.
const MOST_CASTS: usize = 16 * 1024;

/// The keys of all subjects.
pub(crate) struct Subjects {
    /// Finds subjects in the file without naming them there.
    master: Key,
    /// For records that name nobody.
    log: Key,
    keys: BTreeMap<Name, Key>,
    /// Who is behind a pseudonym, once somebody asked.
    behind: OnceLock<HashMap<String, Name>>,
    /// What was derived for those who were named together: the same people come again and again.
    casts: Vec<Cast>,
    places: HashMap<Box<[String]>, usize>,
}

impl Subjects {
    /// Fresh keys of the log itself and of no subject.
    fn random() -> Result<Subjects, LedgerError> {
        Ok(Subjects::of(random()?, random()?, BTreeMap::new()))
    }

    fn of(master: Key, log: Key, keys: BTreeMap<Name, Key>) -> Subjects {
        Subjects { master, log, keys, behind: OnceLock::new(), casts: Vec::new(), places: HashMap::new() }
    }

    /// Reads the lines of the file, or says which of them cannot be read.
    fn read(text: &str) -> Result<Subjects, usize> {
        let (mut master, mut log, mut keys) = (None, None, BTreeMap::new());
        for (place, line) in text.lines().enumerate() {
            if place > 1 && line.contains('\0') {
                continue;
            }
            let mut words = line.split(' ');
            match (place, [words.next(), words.next(), words.next(), words.next()]) {
                (0, [Some("master"), Some(key), None, _]) => master = decode(key),
                (1, [Some("log"), Some(key), None, _]) => log = decode(key),
                (2.., [Some("subject"), Some(name), Some(key), None]) => {
                    let (name, key) = decode(name).zip(decode(key)).ok_or(place)?;
                    keys.insert(*name, key);
                }
                _ => return Err(place),
            }
        }
        let (master, log) = master.zip(log).ok_or(0usize)?;
        Ok(Subjects::of(master, log, keys))
    }

    /// The lines of the file.
    fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        text.push_str(&format!("master {}\nlog {}\n", STANDARD.encode(*self.master), STANDARD.encode(*self.log)));
        self.keys.iter().for_each(|(name, key)| text.push_str(&line_of(name, key)));
        text
    }

    /// The cast of a record. Who has no key gets one, and a line for the file, which has to be durable before anything
    /// relies on the key.
    pub(crate) fn cast(&mut self, subjects: &[String], lines: &mut Zeroizing<String>) -> Result<&Cast, LedgerError> {
        let place = match self.places.get(subjects) {
            Some(place) => *place,
            None => {
                let cast = self.learn(subjects, lines)?;
                if self.casts.len() >= MOST_CASTS {
                    self.forget_casts();
                }
                self.casts.push(cast);
                self.places.insert(subjects.into(), self.casts.len() - 1);
                self.casts.len() - 1
            }
        };
        self.casts.get(place).ok_or_else(underivable)
    }

    fn forget_casts(&mut self) {
        self.casts.clear();
        self.places.clear();
    }

    fn learn(&mut self, subjects: &[String], lines: &mut Zeroizing<String>) -> Result<Cast, LedgerError> {
        let names: Vec<Name> = subjects.iter().map(|subject| self.name_of(subject)).collect();
        for name in &names {
            if !self.keys.contains_key(name) {
                let key = random()?;
                lines.push_str(&line_of(name, &key));
                self.keys.insert(*name, key);
                self.behind = OnceLock::new();
            }
        }
        let people = names.iter().filter_map(|name| self.keys.get(name)).map(|key| (pseudonym_of(key), key)).collect();
        self.cast_of(people).ok_or_else(underivable)
    }

    fn cast_of(&self, mut people: Vec<(String, &Key)>) -> Option<Cast> {
        people.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        people.dedup_by(|(a, _), (b, _)| a == b);
        Cast::of(&people, &self.log)
    }

    /// The cast behind pseudonyms; none if the key of one of them was destroyed.
    pub(crate) fn cast_behind(&self, pseudonyms: &[String]) -> Option<Cast> {
        let key = |pseudonym: &String| Some((pseudonym.clone(), self.keys.get(self.behind().get(pseudonym)?)?));
        self.cast_of(pseudonyms.iter().map(key).collect::<Option<_>>()?)
    }

    /// The pseudonym of a subject that has a key.
    pub(crate) fn pseudonym(&self, subject: &str) -> Option<String> {
        self.keys.get(&self.name_of(subject)).map(pseudonym_of)
    }

    /// Whether the key behind a pseudonym is there.
    pub(crate) fn knows(&self, pseudonym: &str) -> bool {
        self.behind().contains_key(pseudonym)
    }

    /// Forgets the keys behind pseudonyms, and all that was derived from them.
    pub(crate) fn forget(&mut self, pseudonyms: &[String]) {
        let names: Vec<Name> =
            pseudonyms.iter().filter_map(|pseudonym| self.behind().get(pseudonym)).copied().collect();
        self.keys.retain(|name, _| !names.contains(name));
        self.behind = OnceLock::new();
        self.forget_casts();
    }

    fn behind(&self) -> &HashMap<String, Name> {
        self.behind.get_or_init(|| self.keys.iter().map(|(name, key)| (pseudonym_of(key), *name)).collect())
    }

    fn name_of(&self, subject: &str) -> Name {
        hmac(&self.master, subject.as_bytes())
    }
}

impl fmt::Debug for Subjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subjects({})", self.keys.len())
    }
}

fn pseudonym_of(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(&hmac(key, b"lictor ledger pseudonym")[..16])
}

fn line_of(name: &Name, key: &Key) -> String {
    format!("subject {} {}\n", STANDARD.encode(name), STANDARD.encode(**key))
}

fn decode(text: &str) -> Option<Key> {
    Zeroizing::new(STANDARD.decode(text).ok()?).as_slice().try_into().ok().map(Zeroizing::new)
}

fn hmac(key: &Key, text: &[u8]) -> [u8; 32] {
    let mut mac = keyed(key);
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// HMAC that has taken in a key.
fn keyed(key: &Key) -> Hmac<Sha256> {
    // A key shorter than a block is filled up with zeros by definition; done here, there is no length to go wrong.
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(&**key);
    <Hmac<Sha256> as KeyInit>::new(&(*block).into())
}

fn random() -> Result<Key, LedgerError> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).map_err(no_randomness)?;
    Ok(key)
}

fn no_randomness(error: getrandom::Error) -> LedgerError {
    LedgerError::refused(format!("the system gives no randomness: {error}"))
}

fn underivable() -> LedgerError {
    LedgerError::refused("no key can be derived from those of the subjects of the record")
}
