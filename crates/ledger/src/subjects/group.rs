//! The subjects of one record as a group, and the keys derived from all of their keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key as SealKey, XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::canonical::write_string;
use crate::error::LedgerError;
use crate::subjects::{Key, no_randomness, start_hmac};

/// The length of the nonce at the start of a sealed payload.
const NONCE_BYTES: usize = 24;

/// The subjects of a record: their pseudonyms, and the derived keys that commit to payloads and seal them.
#[derive(Clone)]
pub(crate) struct SubjectGroup {
    array: String,
    /// An HMAC initialized with the commitment key.
    commitment: Hmac<Sha256>,
    seal: Key,
}

impl SubjectGroup {
    /// Derives a group from pseudonyms with their keys, sorted, so that their order reveals nothing; without subjects
    /// from the key of the log. Returns none if the derivation fails.
    pub(super) fn derive(people: &[(String, &Key)], log: &Key) -> Option<SubjectGroup> {
        let mut material = Zeroizing::new(Vec::with_capacity(32 * people.len().max(1)));
        people.iter().for_each(|(_, key)| material.extend_from_slice(&***key));
        if people.is_empty() {
            material.extend_from_slice(&**log);
        }
        let derived = Hkdf::<Sha256>::new(None, &material);
        let (mut commitment, mut seal) = (Zeroizing::new([0; 32]), Zeroizing::new([0; 32]));
        derived.expand(b"lictor ledger commitment", &mut *commitment).ok()?;
        derived.expand(b"lictor ledger seal", &mut *seal).ok()?;
        let mut array = String::from("[");
        for (place, (pseudonym, _)) in people.iter().enumerate() {
            if place > 0 {
                array.push(',');
            }
            write_string(pseudonym, &mut array);
        }
        array.push(']');
        Some(SubjectGroup { array, commitment: start_hmac(&commitment), seal })
    }

    /// Returns the pseudonyms as a canonical JSON array.
    pub(crate) fn array(&self) -> &str {
        &self.array
    }

    /// Appends the commitment to the payload of a record.
    pub(crate) fn commit(&self, index: u64, payload: &[u8], out: &mut String) {
        let mut mac = self.commitment.clone();
        mac.update(&index.to_be_bytes());
        mac.update(payload);
        STANDARD.encode_string(mac.finalize().into_bytes(), out);
    }

    /// Appends the sealed payload of a record.
    pub(crate) fn seal(&self, index: u64, body: &str, payload: &[u8], out: &mut String) -> Result<(), LedgerError> {
        let mut sealed = vec![0; NONCE_BYTES];
        getrandom::fill(&mut sealed).map_err(no_randomness)?;
        let nonce =
            XNonce::try_from(&sealed[..]).map_err(|_| LedgerError::refused("the nonce has the wrong length"))?;
        let aad = associated_data(index, body);
        let text = XChaCha20Poly1305::new(&SealKey::from(*self.seal))
            .encrypt(&nonce, Payload { msg: payload, aad: &aad })
            .map_err(|_| LedgerError::refused("the payload is too long to seal"))?;
        sealed.extend(text);
        STANDARD.encode_string(sealed, out);
        Ok(())
    }

    /// Returns the payload; none if it was not sealed with these keys for this record.
    pub(crate) fn unseal(&self, index: u64, body: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE_BYTES)?;
        let nonce = XNonce::try_from(nonce).ok()?;
        let aad = associated_data(index, body);
        XChaCha20Poly1305::new(&SealKey::from(*self.seal)).decrypt(&nonce, Payload { msg: text, aad: &aad }).ok()
    }
}

/// Returns the associated data that binds a sealed payload to its record.
fn associated_data(index: u64, body: &str) -> Vec<u8> {
    let mut aad = index.to_be_bytes().to_vec();
    aad.extend(Sha256::digest(body));
    aad
}
