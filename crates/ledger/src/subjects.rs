//! Forgetting: a key for each subject, under which whatever a record holds about them is committed to or sealed.
//!
//! The log holds pseudonyms, commitments and sealed payloads; none of them says anything without the keys in this file.
//! Destroying the key of one subject makes every record that names them unreadable and unlinkable, and changes no byte
//! of the log.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key as SealKey, XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::disk::{self, Disk, write_all_at};
use crate::error::{Error, Fault};
use crate::keyfile;

type Key = Zeroizing<[u8; 32]>;

/// How many bytes of a sealed payload are its nonce.
const NONCE: usize = 24;

/// The keys of all subjects, in memory and in their file.
#[derive(Debug)]
pub(crate) struct Subjects {
    path: PathBuf,
    /// Finds subjects in the file without naming them there.
    master: Key,
    /// For records that name nobody.
    log: Key,
    /// The pseudonym of each subject, by what stands for the subject in the file.
    pseudonyms: BTreeMap<[u8; 32], String>,
    /// The key behind each pseudonym.
    keys: HashMap<String, Key>,
    /// How long the file is, as far as it is whole.
    length: u64,
}

impl Subjects {
    /// Makes the file with fresh keys of the log itself and of no subject.
    pub(crate) fn create(disk: &dyn Disk, path: &Path) -> Result<Subjects, Error> {
        let mut subjects = Subjects {
            path: path.to_owned(),
            master: random()?,
            log: random()?,
            pseudonyms: BTreeMap::new(),
            keys: HashMap::new(),
            length: 0,
        };
        subjects.rewrite(disk)?;
        Ok(subjects)
    }

    /// Reads the file. A line without its end, or with zeros where a sector never reached the disk, was not synced and so
    /// never relied on: it does not count. Any other line that cannot be read stops everything, for a key that is passed
    /// over is a person that is forgotten.
    pub(crate) fn load(path: &Path) -> Result<Subjects, Error> {
        keyfile::check_private(path)?;
        let bytes =
            Zeroizing::new(fs::read(path).map_err(|error| Error::file("read the keys of subjects", path, error))?);
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let wrong = |line: usize| {
            let message = "this is no line of a file with the keys of subjects".to_owned();
            Error::from(Fault { file: path.display().to_string(), line: line as u64 + 1, index: None, message })
        };
        let text = std::str::from_utf8(&bytes[..whole]).map_err(|_| wrong(0))?;
        let (mut master, mut log) = (None, None);
        let (mut pseudonyms, mut keys) = (BTreeMap::new(), HashMap::new());
        for (place, line) in text.lines().enumerate() {
            if place > 1 && line.contains('\0') {
                continue;
            }
            let words: Vec<&str> = line.split(' ').collect();
            match (place, words.as_slice()) {
                (0, ["master", key]) => master = decode(key),
                (1, ["log", key]) => log = decode(key),
                (2.., ["subject", name, key]) => {
                    let (name, key) = decode(name).zip(decode(key)).ok_or_else(|| wrong(place))?;
                    let pseudonym = pseudonym_of(&key);
                    pseudonyms.insert(*name, pseudonym.clone());
                    keys.insert(pseudonym, key);
                }
                _ => return Err(wrong(place)),
            }
        }
        let (master, log) = master.zip(log).ok_or_else(|| wrong(0))?;
        Ok(Subjects { path: path.to_owned(), master, log, pseudonyms, keys, length: whole as u64 })
    }

    /// Makes sure that each of these subjects has a key, in the file before anything relies on it.
    pub(crate) fn admit<'a>(
        &mut self,
        disk: &dyn Disk,
        subjects: impl Iterator<Item = &'a String>,
    ) -> Result<(), Error> {
        let mut lines = Zeroizing::new(String::new());
        let mut fresh = BTreeMap::new();
        for subject in subjects {
            let name = self.name_of(subject);
            if !self.pseudonyms.contains_key(&name) && !fresh.contains_key(&name) {
                let key = random()?;
                lines.push_str(&line_of(&name, &key));
                fresh.insert(name, key);
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let mut file = disk.open(&self.path, true).map_err(|error| Error::file("open", &self.path, error))?;
        write_all_at(&mut *file, self.length, lines.as_bytes())
            .and_then(|()| file.set_len(self.length + lines.len() as u64))
            .and_then(|()| file.sync())
            .map_err(|error| Error::file("add a subject's key to", &self.path, error))?;
        self.length += lines.len() as u64;
        for (name, key) in fresh {
            let pseudonym = pseudonym_of(&key);
            self.pseudonyms.insert(name, pseudonym.clone());
            self.keys.insert(pseudonym, key);
        }
        Ok(())
    }

    /// The pseudonym of a subject that has a key.
    pub(crate) fn pseudonym(&self, subject: &str) -> Option<&String> {
        self.pseudonyms.get(&self.name_of(subject))
    }

    /// The pseudonyms of subjects that all have keys, sorted, so that their order says nothing.
    pub(crate) fn pseudonyms(&self, subjects: &[String]) -> Vec<String> {
        let mut pseudonyms: Vec<String> =
            subjects.iter().filter_map(|subject| self.pseudonym(subject).cloned()).collect();
        pseudonyms.sort_unstable();
        pseudonyms.dedup();
        pseudonyms
    }

    /// Whether the key behind a pseudonym is there.
    pub(crate) fn knows(&self, pseudonym: &str) -> bool {
        self.keys.contains_key(pseudonym)
    }

    /// Destroys the keys behind pseudonyms: the file is replaced, and the old one overwritten as well as one can.
    pub(crate) fn destroy(&mut self, disk: &dyn Disk, pseudonyms: &[String]) -> Result<(), Error> {
        let mut old = disk.open(&self.path, true).map_err(|error| Error::file("open", &self.path, error))?;
        let length = usize::try_from(self.length).unwrap_or(0);
        self.keys.retain(|pseudonym, _| !pseudonyms.contains(pseudonym));
        self.pseudonyms.retain(|_, pseudonym| !pseudonyms.contains(pseudonym));
        self.rewrite(disk)?;
        // The file has its new content already. What the disk keeps of the old one is beyond us, but this much is not.
        let _ = write_all_at(&mut *old, 0, &vec![0; length]).and_then(|()| old.sync());
        Ok(())
    }

    fn rewrite(&mut self, disk: &dyn Disk) -> Result<(), Error> {
        let mut text = Zeroizing::new(String::new());
        text.push_str(&format!("master {}\nlog {}\n", STANDARD.encode(*self.master), STANDARD.encode(*self.log)));
        for (name, pseudonym) in &self.pseudonyms {
            if let Some(key) = self.keys.get(pseudonym) {
                text.push_str(&line_of(name, key));
            }
        }
        disk::replace(disk, &self.path, text.as_bytes(), true)?;
        self.length = text.len() as u64;
        Ok(())
    }

    /// What stands for a subject in the file.
    fn name_of(&self, subject: &str) -> [u8; 32] {
        hmac(&self.master, &[subject.as_bytes()])
    }

    /// A key for one purpose from the keys of all subjects of a record; none if one of them was destroyed.
    fn derive(&self, pseudonyms: &[String], purpose: &[u8]) -> Option<Key> {
        let mut material = Zeroizing::new(Vec::new());
        for pseudonym in pseudonyms {
            material.extend_from_slice(&**self.keys.get(pseudonym)?);
        }
        if pseudonyms.is_empty() {
            material.extend_from_slice(&*self.log);
        }
        let mut key = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(None, &material).expand(purpose, &mut *key).ok()?;
        Some(key)
    }

    /// The commitment to the payload of a record; none if a subject's key was destroyed.
    pub(crate) fn commit(&self, pseudonyms: &[String], index: u64, payload: &[u8]) -> Option<String> {
        let key = self.derive(pseudonyms, b"lictor ledger commitment")?;
        Some(STANDARD.encode(hmac(&key, &[&index.to_be_bytes(), payload])))
    }

    /// The payload of a record, sealed; none if a subject's key was destroyed.
    pub(crate) fn seal(
        &self,
        pseudonyms: &[String],
        index: u64,
        body: &str,
        payload: &[u8],
    ) -> Result<Option<String>, Error> {
        let Some(key) = self.derive(pseudonyms, b"lictor ledger seal") else { return Ok(None) };
        let mut sealed = vec![0; NONCE];
        getrandom::fill(&mut sealed).map_err(no_randomness)?;
        let nonce = XNonce::try_from(&sealed[..]).map_err(|_| Error::refused("a nonce of an odd length"))?;
        let aad = bound_to(index, body);
        let cipher = XChaCha20Poly1305::new(&SealKey::from(*key));
        let text = cipher
            .encrypt(&nonce, Payload { msg: payload, aad: &aad })
            .map_err(|_| Error::refused("the payload is too long to be sealed"))?;
        sealed.extend(text);
        Ok(Some(STANDARD.encode(sealed)))
    }

    /// The payload that was sealed; none if a key was destroyed or the seal is broken.
    pub(crate) fn unseal(&self, pseudonyms: &[String], index: u64, body: &str, sealed: &str) -> Option<Vec<u8>> {
        let key = self.derive(pseudonyms, b"lictor ledger seal")?;
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE)?;
        let nonce = XNonce::try_from(nonce).ok()?;
        let aad = bound_to(index, body);
        XChaCha20Poly1305::new(&SealKey::from(*key)).decrypt(&nonce, Payload { msg: text, aad: &aad }).ok()
    }
}

/// What a sealed payload is bound to, so that it cannot be moved to another record.
fn bound_to(index: u64, body: &str) -> Vec<u8> {
    let mut aad = index.to_be_bytes().to_vec();
    aad.extend(Sha256::digest(body));
    aad
}

fn pseudonym_of(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(&hmac(key, &[b"lictor ledger pseudonym"])[..16])
}

fn line_of(name: &[u8; 32], key: &Key) -> String {
    format!("subject {} {}\n", STANDARD.encode(name), STANDARD.encode(**key))
}

fn decode(text: &str) -> Option<Key> {
    Zeroizing::new(STANDARD.decode(text).ok()?).as_slice().try_into().ok().map(Zeroizing::new)
}

fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // A key shorter than a block is filled up with zeros by definition; done here, there is no length to go wrong.
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(key);
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&(*block).into());
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn random() -> Result<Key, Error> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).map_err(no_randomness)?;
    Ok(key)
}

fn no_randomness(error: getrandom::Error) -> Error {
    Error::refused(format!("the system gives no randomness: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn a_torn_line_is_passed_over_and_no_key_behind_it_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("subjects");
        let mut subjects = Subjects::create(&RealDisk, &path).unwrap();
        let names = ["ada", "ben", "eve"].map(str::to_owned);
        names.iter().for_each(|name| subjects.admit(&RealDisk, std::iter::once(name)).unwrap());
        let text = fs::read_to_string(&path).unwrap();
        let torn: String = text
            .lines()
            .enumerate()
            .map(|(place, line)| match place {
                3 => format!("{}{}\n", "\0".repeat(40), &line[40..]),
                _ => format!("{line}\n"),
            })
            .collect();
        fs::write(&path, format!("{torn}subject AAAA")).unwrap();
        let again = Subjects::load(&path).unwrap();
        assert_eq!(again.pseudonym("ada"), subjects.pseudonym("ada"));
        assert_eq!(again.pseudonym("ben"), None);
        assert_eq!(again.pseudonym("eve"), subjects.pseudonym("eve"));
        fs::write(&path, text.replace("subject ", "subjekt ")).unwrap();
        assert!(Subjects::load(&path).unwrap_err().to_string().contains("subjects:3: this is no line"));
    }
}
