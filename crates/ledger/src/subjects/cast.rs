//! Those whom one record is about, taken together: the keys that are derived from all of theirs.

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
use crate::subjects::{Key, keyed, no_randomness};

/// How many bytes of a sealed payload are its nonce.
const NONCE: usize = 24;

/// All subjects of a record: their pseudonyms, and what commits to payloads and seals them.
#[derive(Clone)]
pub(crate) struct Cast {
    array: String,
    /// Has taken the key in; what it commits to is still to come.
    commitment: Hmac<Sha256>,
    seal: Key,
}

impl Cast {
    /// Of pseudonyms with their keys, which are sorted, so that their order says nothing; of nobody: with the key of
    /// the log. None if the keys cannot be derived.
    pub(super) fn of(people: &[(String, &Key)], log: &Key) -> Option<Cast> {
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
        Some(Cast { array, commitment: keyed(&commitment), seal })
    }

    /// The pseudonyms, as a canonical array.
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

    /// Appends the payload of a record, sealed.
    pub(crate) fn seal(&self, index: u64, body: &str, payload: &[u8], out: &mut String) -> Result<(), LedgerError> {
        let mut sealed = vec![0; NONCE];
        getrandom::fill(&mut sealed).map_err(no_randomness)?;
        let nonce = XNonce::try_from(&sealed[..]).map_err(|_| LedgerError::refused("a nonce of an odd length"))?;
        let aad = bound_to(index, body);
        let text = XChaCha20Poly1305::new(&SealKey::from(*self.seal))
            .encrypt(&nonce, Payload { msg: payload, aad: &aad })
            .map_err(|_| LedgerError::refused("the payload is too long to be sealed"))?;
        sealed.extend(text);
        STANDARD.encode_string(sealed, out);
        Ok(())
    }

    /// The payload that was sealed; none if the seal is broken.
    pub(crate) fn unseal(&self, index: u64, body: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE)?;
        let nonce = XNonce::try_from(nonce).ok()?;
        let aad = bound_to(index, body);
        XChaCha20Poly1305::new(&SealKey::from(*self.seal)).decrypt(&nonce, Payload { msg: text, aad: &aad }).ok()
    }
}

/// What a sealed payload is bound to, so that it cannot be moved to another record.
fn bound_to(index: u64, body: &str) -> Vec<u8> {
    let mut aad = index.to_be_bytes().to_vec();
    aad.extend(Sha256::digest(body));
    aad
}
