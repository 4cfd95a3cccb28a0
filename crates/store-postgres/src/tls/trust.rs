//! Which certificates of a server are accepted.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Returns a configuration that accepts certificates for the host, of an authority in a file or of the system.
pub(super) fn check_name(root: Option<&Path>) -> Result<ClientConfig, String> {
    Ok(builder()?.with_root_certificates(authorities(root)?).with_no_client_auth())
}

/// Unlike [`check_name`], accepts certificates for other hosts.
pub(super) fn check_authority(root: Option<&Path>) -> Result<ClientConfig, String> {
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(authorities(root)?), provider());
    let verifier = verifier.build().map_err(|error| error.to_string())?;
    with_verifier(Some(verifier))
}

/// Unlike [`check_name`], accepts any certificate.
pub(super) fn check_nothing() -> Result<ClientConfig, String> {
    with_verifier(None)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    builder.map_err(|error| format!("TLS is not available: {error}"))
}

fn with_verifier(authority: Option<Arc<WebPkiServerVerifier>>) -> Result<ClientConfig, String> {
    let verifier = Arc::new(LenientVerifier { authority, provider: provider() });
    Ok(builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Returns the certificates of authorities, from a file or from the system.
fn authorities(root: Option<&Path>) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let Some(path) = root else {
        let found = rustls_native_certs::load_native_certs();
        store.add_parsable_certificates(found.certs);
        return match store.is_empty() {
            true => Err("the system has no certificates of authorities; name a file with `sslrootcert`".to_owned()),
            false => Ok(store),
        };
    };
    let wrong = |error: String| format!("sslrootcert {}: {error}", path.display());
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for certificate in read.map_err(|error| wrong(error.to_string()))? {
        store.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if store.is_empty() { Err(wrong("the file has no certificate".to_owned())) } else { Ok(store) }
}

/// Accepts certificates of an authority for any host, or without an authority any certificate. The server must still
/// prove that it has the private key.
#[derive(Debug)]
struct LenientVerifier {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is compared after the chain of certificates was verified.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
