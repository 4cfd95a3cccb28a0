//! Certificates of servers are verified.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use lictor_event::AnswerValue;
use lictor_label::connection::ConnectionOptions;
use lictor_label::meter::LabelFailure;
use lictor_label::service::{ServiceLabeler, ServiceOptions};
use rcgen::CertifiedKey;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::scripted::serve_once;
use crate::{THREAT, ask};

/// Starts a server with a certificate of its own for `localhost`, and returns its port and the certificate.
fn start_server() -> (u16, String) {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            serve_once(&mut stream, "{\"answers\":[{\"fact\":\"threatens\",\"says\":\"yes\"}]}");
        }
    });
    (port, cert.pem())
}

#[test]
fn tls_server_needs_a_known_authority() {
    let (port, certificate) = start_server();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, certificate).unwrap();
    let ask_at = |host: &str| {
        let connection = ConnectionOptions::new(format!("https://{host}:{port}/label")).retries(0);
        let connection = connection.timeout(Duration::from_secs(60)).root_certificates(&file);
        let labeler = ServiceLabeler::new(ServiceOptions::new("words", "1", connection)).unwrap();
        (ask(&labeler, THREAT).says, labeler.counts().failed(LabelFailure::Unreachable))
    };
    assert_eq!(ask_at("localhost"), (AnswerValue::Yes, 0));
    assert_eq!(ask_at("127.0.0.1"), (AnswerValue::Failed, 1), "the certificate is of another host");
    // The certificate is its own authority, so another one is unknown.
    std::fs::write(&file, start_server().1).unwrap();
    assert_eq!(ask_at("localhost"), (AnswerValue::Failed, 1));
}
