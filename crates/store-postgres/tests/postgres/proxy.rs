//! A proxy between a store and its server that cuts connections before and after `COMMIT`.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The port in the name of the proxy's socket.
pub(crate) const PROXY_PORT: u16 = 6543;

/// The message `COMMIT` as the client sends it: kind, length, text.
const COMMIT_MESSAGE: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// How often each kind of cut was made.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    commits: AtomicUsize,
    pub(crate) before: AtomicUsize,
    pub(crate) after: AtomicUsize,
}

/// Listens in the folder of the server's own socket. Every third `COMMIT` is cut off, in turn before it reaches the
/// server and after it did, when the answer is on its way.
pub(crate) fn listen(folder: &Path) -> Arc<Cuts> {
    let listener = UnixListener::bind(folder.join(format!(".s.PGSQL.{PROXY_PORT}"))).unwrap();
    let server: PathBuf = folder.join(".s.PGSQL.5432");
    let cuts = Arc::new(Cuts::default());
    let counted = Arc::clone(&cuts);
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, cuts) = (client.unwrap(), Arc::clone(&counted));
            let server = UnixStream::connect(&server).unwrap();
            thread::spawn(move || forward(client, server, &cuts));
        }
    });
    cuts
}

/// Listens like [`listen`], and cuts off every connection that sends a text.
pub(crate) fn listen_and_cut(folder: &Path, text: &'static [u8]) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(folder.join(format!(".s.PGSQL.{PROXY_PORT}"))).unwrap();
    let (server, cuts): (PathBuf, Arc<AtomicUsize>) = (folder.join(".s.PGSQL.5432"), Arc::default());
    let counted = Arc::clone(&cuts);
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), UnixStream::connect(&server).unwrap());
            let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let cuts = Arc::clone(&counted);
            // Ends when either side is gone.
            thread::spawn(move || std::io::copy(&mut answers, &mut back));
            thread::spawn(move || {
                let mut buffer = [0; 65536];
                while let Ok(length @ 1..) = client.read(&mut buffer) {
                    if buffer[..length].windows(text.len()).any(|window| window == text) {
                        cuts.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    server.write_all(&buffer[..length]).unwrap();
                }
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    cuts
}

fn forward(mut client: UnixStream, mut server: UnixStream, cuts: &Cuts) {
    let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || {
        // Ends when either side is gone.
        let _ = std::io::copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let mut buffer = [0; 65536];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let message = &buffer[..length];
        let turn = if message == COMMIT_MESSAGE { cuts.commits.fetch_add(1, Ordering::Relaxed) % 6 } else { 0 };
        match turn {
            2 => {
                cuts.before.fetch_add(1, Ordering::Relaxed);
                break;
            }
            5 => {
                cuts.after.fetch_add(1, Ordering::Relaxed);
                // The client gets no answer, but the server gets the message.
                client.shutdown(Shutdown::Both).unwrap();
                let _ = server.write_all(message);
                break;
            }
            _ if server.write_all(message).is_err() => break,
            _ => {}
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Write);
}
