//! The keys of subjects, under which records commit to payloads or seal them.
//!
//! The log holds pseudonyms, commitments and sealed payloads, which reveal nothing without these keys. Destroying
//! the key of one subject makes every record that names them unreadable and unlinkable, and changes no byte of the log.

mod group;
mod key_file;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::LedgerError;
pub(crate) use crate::subjects::group::SubjectGroup;
pub(crate) use crate::subjects::key_file::SubjectKeyFile;

type Key = Zeroizing<[u8; 32]>;

/// The id of a subject in the key file: an HMAC of the name.
type SubjectId = [u8; 32];

/// How many groups are cached. A full cache is cleared.
const MAX_CACHED_GROUPS: usize = 16 * 1024;

/// The keys of all subjects.
pub(crate) struct Subjects {
    /// The HMAC key for ids, so that the file does not name subjects.
    master: Key,
    /// The key for records without subjects.
    log: Key,
    keys: BTreeMap<SubjectId, Key>,
    /// Subject ids by pseudonym, computed on first use.
    names_by_pseudonym: OnceLock<HashMap<String, SubjectId>>,
    /// A cache of derived groups: the same subjects recur together.
    groups: Vec<SubjectGroup>,
    places: HashMap<Box<[String]>, usize>,
}

impl Subjects {
    /// Returns fresh keys of the log itself, without subjects.
    fn random() -> Result<Subjects, LedgerError> {
        Ok(Subjects::from_keys(random()?, random()?, BTreeMap::new()))
    }

    fn from_keys(master: Key, log: Key, keys: BTreeMap<SubjectId, Key>) -> Subjects {
        Subjects { master, log, keys, names_by_pseudonym: OnceLock::new(), groups: Vec::new(), places: HashMap::new() }
    }

    /// Reads the lines of the key file, or returns the number of the first invalid one.
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
        Ok(Subjects::from_keys(master, log, keys))
    }

    /// Returns the lines of the key file.
    fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        text.push_str(&format!("master {}\nlog {}\n", STANDARD.encode(*self.master), STANDARD.encode(*self.log)));
        self.keys.iter().for_each(|(name, key)| text.push_str(&format_line(name, key)));
        text
    }

    /// Returns the group of a record's subjects. A new subject gets a key and a line for the key file, which must be
    /// durable before a record uses the key.
    pub(crate) fn group_keys(
        &mut self,
        subjects: &[String],
        lines: &mut Zeroizing<String>,
    ) -> Result<&SubjectGroup, LedgerError> {
        let place = match self.places.get(subjects) {
            Some(place) => *place,
            None => {
                let group = self.create_group(subjects, lines)?;
                if self.groups.len() >= MAX_CACHED_GROUPS {
                    self.clear_groups();
                }
                self.groups.push(group);
                self.places.insert(subjects.into(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        self.groups.get(place).ok_or_else(underivable)
    }

    fn clear_groups(&mut self) {
        self.groups.clear();
        self.places.clear();
    }

    fn create_group(
        &mut self,
        subjects: &[String],
        lines: &mut Zeroizing<String>,
    ) -> Result<SubjectGroup, LedgerError> {
        let names: Vec<SubjectId> = subjects.iter().map(|subject| self.subject_id(subject)).collect();
        for name in &names {
            if !self.keys.contains_key(name) {
                let key = random()?;
                lines.push_str(&format_line(name, &key));
                self.keys.insert(*name, key);
                self.names_by_pseudonym = OnceLock::new();
            }
        }
        let people =
            names.iter().filter_map(|name| self.keys.get(name)).map(|key| (derive_pseudonym(key), key)).collect();
        self.build_group(people).ok_or_else(underivable)
    }

    fn build_group(&self, mut people: Vec<(String, &Key)>) -> Option<SubjectGroup> {
        people.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        people.dedup_by(|(a, _), (b, _)| a == b);
        SubjectGroup::derive(&people, &self.log)
    }

    /// Returns the group of pseudonyms; none if the key of one of them was destroyed.
    pub(crate) fn find_group(&self, pseudonyms: &[String]) -> Option<SubjectGroup> {
        let key =
            |pseudonym: &String| Some((pseudonym.clone(), self.keys.get(self.names_by_pseudonym().get(pseudonym)?)?));
        self.build_group(pseudonyms.iter().map(key).collect::<Option<_>>()?)
    }

    /// Returns the pseudonym of a subject that has a key.
    pub(crate) fn pseudonym(&self, subject: &str) -> Option<String> {
        self.keys.get(&self.subject_id(subject)).map(derive_pseudonym)
    }

    /// Whether the key of a pseudonym exists.
    pub(crate) fn has_key(&self, pseudonym: &str) -> bool {
        self.names_by_pseudonym().contains_key(pseudonym)
    }

    /// Removes the keys of pseudonyms and everything derived from them.
    pub(crate) fn forget(&mut self, pseudonyms: &[String]) {
        let names: Vec<SubjectId> =
            pseudonyms.iter().filter_map(|pseudonym| self.names_by_pseudonym().get(pseudonym)).copied().collect();
        self.keys.retain(|name, _| !names.contains(name));
        self.names_by_pseudonym = OnceLock::new();
        self.clear_groups();
    }

    fn names_by_pseudonym(&self) -> &HashMap<String, SubjectId> {
        self.names_by_pseudonym
            .get_or_init(|| self.keys.iter().map(|(name, key)| (derive_pseudonym(key), *name)).collect())
    }

    fn subject_id(&self, subject: &str) -> SubjectId {
        hmac(&self.master, subject.as_bytes())
    }
}

impl fmt::Debug for Subjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subjects({})", self.keys.len())
    }
}

fn derive_pseudonym(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(&hmac(key, b"lictor ledger pseudonym")[..16])
}

fn format_line(name: &SubjectId, key: &Key) -> String {
    format!("subject {} {}\n", STANDARD.encode(name), STANDARD.encode(**key))
}

fn decode(text: &str) -> Option<Key> {
    Zeroizing::new(STANDARD.decode(text).ok()?).as_slice().try_into().ok().map(Zeroizing::new)
}

fn hmac(key: &Key, text: &[u8]) -> [u8; 32] {
    let mut mac = start_hmac(key);
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// Returns an HMAC initialized with a key.
fn start_hmac(key: &Key) -> Hmac<Sha256> {
    // HMAC pads short keys with zeros. Padding here makes the length a constant, so the constructor cannot fail.
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
    LedgerError::refused(format!("cannot read random bytes from the system: {error}"))
}

fn underivable() -> LedgerError {
    LedgerError::refused("cannot derive the key of the record from the keys of its subjects")
}
