//! Encrypted connections to a real server.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use lictor_store::Store;
use lictor_store_postgres::PostgresStore;
use postgres::{Client, NoTls};

use crate::server::TestServer;
use crate::suite;

/// A self-made certificate for a host, its private key, and its file.
struct TestCertificate {
    pem: String,
    key: String,
    file: PathBuf,
}

impl TestCertificate {
    fn new(folder: &Path, host: &str) -> TestCertificate {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        let file = folder.join(format!("{host}.pem"));
        std::fs::write(&file, made.cert.pem()).unwrap();
        TestCertificate { pem: made.cert.pem(), key: made.signing_key.serialize_pem(), file }
    }
}

/// Opens a store on loopback with these settings. Returns whether its connection is encrypted.
fn open(server: &TestServer, settings: &str) -> Result<bool, String> {
    let port = server.port();
    let address = format!("postgresql://postgres@localhost:{port}/postgres?{settings}");
    let store = PostgresStore::open(&address).map_err(|error| error.to_string())?;
    suite::append(&store, "tls", settings);
    assert!(store.load("tls/0").is_ok());
    let mut admin =
        Client::connect(&format!("{} port={port} application_name=admin", server.address()), NoTls).unwrap();
    let query =
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'lictor'";
    Ok(admin.query_one(query, &[]).unwrap().get(0))
}

#[test]
fn tls_modes_encrypt_and_verify_as_libpq() {
    let folder = tempfile::TempDir::new().unwrap();
    let ours = TestCertificate::new(folder.path(), "localhost");
    let others = TestCertificate::new(folder.path(), "other.example");
    let Some(server) = TestServer::start_with_tls(&ours.pem, &ours.key) else { return };
    let root = |certificate: &TestCertificate| format!("sslrootcert={}", certificate.file.display());
    for (settings, is_encrypted) in [
        ("sslmode=disable".to_owned(), false),
        (String::new(), true),
        ("sslmode=prefer".to_owned(), true),
        ("sslmode=require".to_owned(), true),
        (format!("sslmode=require&{}", root(&ours)), true),
        (format!("sslmode=verify-ca&{}", root(&ours)), true),
        (format!("{}&sslmode=verify-full", root(&ours)), true),
    ] {
        assert_eq!(open(&server, &settings), Ok(is_encrypted), "{settings}");
    }
    for settings in [
        format!("sslmode=verify-full&{}", root(&others)),
        format!("sslmode=verify-ca&{}", root(&others)),
        format!("sslmode=require&{}", root(&others)),
        // The certificate of no authority that the system knows.
        "sslmode=verify-full".to_owned(),
        "sslmode=verify-full&sslrootcert=system".to_owned(),
    ] {
        let error = open(&server, &settings).unwrap_err();
        assert!(error.contains("certificate"), "{settings}: {error}");
    }
    let error = open(&server, "sslmode=verify-full&sslrootcert=/no/such/file.pem").unwrap_err();
    assert!(error.contains("sslrootcert /no/such/file.pem"), "{error}");
    let error = open(&server, "sslmode=maybe").unwrap_err();
    assert!(error.contains("sslmode `maybe`"), "{error}");
}

#[test]
fn tls_certificate_of_another_host_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    let others = TestCertificate::new(folder.path(), "other.example");
    let Some(server) = TestServer::start_with_tls(&others.pem, &others.key) else { return };
    let root = format!("sslrootcert={}", others.file.display());
    let error = open(&server, &format!("sslmode=verify-full&{root}")).unwrap_err();
    assert!(error.contains("certificate not valid for name"), "{error}");
    assert_eq!(open(&server, &format!("sslmode=verify-ca&{root}")), Ok(true), "any host of the authority");
}

#[test]
fn server_without_tls_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.read_exact(&mut [0; 8]).unwrap();
        // No, as the protocol says it.
        client.write_all(b"N").unwrap();
        client.read_to_end(&mut Vec::new()).unwrap()
    });
    let error = PostgresStore::open(&format!("host=127.0.0.1 port={port} user=u sslmode=require")).unwrap_err();
    assert!(error.to_string().contains("server does not support TLS"), "{error}");
    assert_eq!(server.join().unwrap(), 0, "nothing was sent unencrypted");
}
