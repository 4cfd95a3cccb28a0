//! Signed notes (C2SP signed-note): texts with Ed25519 signatures, and the keys in their printed form.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::LedgerError;

/// The algorithm byte of Ed25519.
const ED25519_ALGORITHM: u8 = 1;

/// The start of a signature line: an em dash and a space.
const SIGNATURE_PREFIX: &str = "\u{2014} ";

/// The public half of a key that signs checkpoints, printed as `name+id+key`.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    key: VerifyingKey,
}

impl VerifierKey {
    /// Returns the name of the key, which is the origin of the ledger.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the key id: the first four bytes of the hash of name and key.
    fn id(&self) -> [u8; 4] {
        let hash = Sha256::new()
            .chain_update(&self.name)
            .chain_update([b'\n', ED25519_ALGORITHM])
            .chain_update(self.key.as_bytes());
        let hash: [u8; 32] = hash.finalize().into();
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// Whether a note has exactly one signature by this key, and it is valid.
    pub(crate) fn has_signed(&self, note: &Note<'_>) -> bool {
        let mut ours = note.signatures.iter().filter(|(name, id, _)| *name == self.name && *id == self.id());
        let (Some((_, _, signature)), None) = (ours.next(), ours.next()) else { return false };
        let Ok(signature) = Signature::from_slice(signature) else { return false };
        self.key.verify_strict(note.text.as_bytes(), &signature).is_ok()
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![ED25519_ALGORITHM];
        bytes.extend(self.key.as_bytes());
        write!(f, "{}+{:08x}+{}", self.name, u32::from_be_bytes(self.id()), STANDARD.encode(bytes))
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierKey({self})")
    }
}

impl FromStr for VerifierKey {
    type Err = LedgerError;

    fn from_str(text: &str) -> Result<VerifierKey, LedgerError> {
        let wrong = |what: &str| {
            LedgerError::refused(format!(
                "`{text}` is not a verifier key: {what}\nhint: a key looks like `name+0123abcd+AQ…`"
            ))
        };
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong("expected three parts separated by `+`"));
        };
        check_name(name)?;
        let bytes = STANDARD.decode(key).map_err(|_| wrong("the key is not base64"))?;
        let Some((&ED25519_ALGORITHM, key)) = bytes.split_first() else {
            return Err(wrong("only Ed25519 keys are supported"));
        };
        let key = key.try_into().map_err(|_| wrong("an Ed25519 key has 32 bytes"))?;
        let key = VerifyingKey::from_bytes(key).map_err(|_| wrong("not a valid Ed25519 key"))?;
        let verifier = VerifierKey { name: name.to_owned(), key };
        if id != format!("{:08x}", u32::from_be_bytes(verifier.id())) {
            return Err(wrong("its id does not match its name and key"));
        }
        Ok(verifier)
    }
}

/// A key that signs checkpoints.
#[derive(Clone)]
pub(crate) struct Signer {
    name: String,
    key: SigningKey,
}

impl Signer {
    pub(crate) fn random(name: &str) -> Result<Signer, LedgerError> {
        check_name(name)?;
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed)
            .map_err(|error| LedgerError::refused(format!("cannot read random bytes from the system: {error}")))?;
        Ok(Signer { name: name.to_owned(), key: SigningKey::from_bytes(&seed) })
    }

    pub(crate) fn verifier(&self) -> VerifierKey {
        VerifierKey { name: self.name.clone(), key: self.key.verifying_key() }
    }

    /// Returns the key as the text of its file.
    pub(crate) fn to_text(&self) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new(vec![ED25519_ALGORITHM]);
        bytes.extend(self.key.as_bytes());
        let id = u32::from_be_bytes(self.verifier().id());
        Zeroizing::new(format!("PRIVATE+KEY+{}+{id:08x}+{}\n", self.name, &*Zeroizing::new(STANDARD.encode(&*bytes))))
    }

    /// Reads the text of a key. Returns none, not an error, so that no part of a secret gets into a message.
    pub(crate) fn from_text(text: &str) -> Option<Signer> {
        let mut parts = text.strip_suffix('\n').unwrap_or(text).strip_prefix("PRIVATE+KEY+")?.splitn(3, '+');
        let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
        let bytes = Zeroizing::new(STANDARD.decode(key).ok()?);
        let (&ED25519_ALGORITHM, seed) = bytes.split_first()? else { return None };
        let signer = Signer { name: name.to_owned(), key: SigningKey::from_bytes(seed.try_into().ok()?) };
        (id == format!("{:08x}", u32::from_be_bytes(signer.verifier().id()))).then_some(signer)
    }

    /// Returns a note: the text, which ends in a newline, a blank line, and one signature.
    pub(crate) fn sign(&self, text: &str) -> String {
        let mut bytes = self.verifier().id().to_vec();
        bytes.extend(self.key.sign(text.as_bytes()).to_bytes());
        format!("{text}\n{SIGNATURE_PREFIX}{} {}\n", self.name, STANDARD.encode(bytes))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.verifier())
    }
}

/// The parts of a note. Untrusted until a signature is checked.
#[derive(Debug)]
pub(crate) struct Note<'a> {
    pub(crate) text: &'a str,
    /// Name, id and signature of each line.
    signatures: Vec<(&'a str, [u8; 4], Vec<u8>)>,
}

impl<'a> Note<'a> {
    /// Splits a note into its parts, or returns what is wrong with it.
    pub(crate) fn read(note: &'a str) -> Result<Note<'a>, &'static str> {
        if note.chars().any(|c| c < '\u{20}' && c != '\n') {
            return Err("the note contains a control character");
        }
        let end = note.rfind("\n\n").ok_or("the blank line before the signatures is missing")?;
        let (text, lines) = (&note[..=end], &note[end + 2..]);
        let lines = lines.strip_suffix('\n').ok_or("the last signature has no newline")?;
        let mut signatures = Vec::new();
        for line in lines.split('\n') {
            let line = line.strip_prefix(SIGNATURE_PREFIX).ok_or("a signature line does not start with a dash")?;
            let (name, signature) = line.split_once(' ').ok_or("a signature has no name")?;
            let bytes = STANDARD.decode(signature).map_err(|_| "a signature is not base64")?;
            let (id, signature) = bytes.split_first_chunk::<4>().ok_or("a signature is too short")?;
            signatures.push((name, *id, signature.to_vec()));
        }
        Ok(Note { text, signatures })
    }

    pub(crate) fn signature_count(&self) -> usize {
        self.signatures.len()
    }
}

/// Returns an error if a name contains a separator of the note format.
fn check_name(name: &str) -> Result<(), LedgerError> {
    if name.is_empty() || name.chars().any(|c| c == '+' || c.is_whitespace() || c.is_control()) {
        return Err(LedgerError::refused(format!(
            "`{name}` is not a valid ledger name: spaces and `+` are not allowed\nhint: use a name like \
             `example.com/agents`"
        )));
    }
    Ok(())
}
