//! A server that is a process: messages are lines on its standard input and output.
//!
//! One thread reads the client, one the server, and this one decides, so that messages have one order.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use lictor_logic::Time;
use lictor_warden::Warden;

use crate::message::LONGEST;
use crate::relay::{OutgoingMessage, Relay};

/// How long a server may be silent when its client is gone, before it is ended.
const GRACE: Duration = Duration::from_secs(2);

enum Heard {
    Client(Vec<u8>),
    Server(Vec<u8>),
    ClientGone,
    ServerGone,
}

/// Runs a server and stands between it and the client at standard input and output, until one of them is gone. The
/// server's standard error is ours, and so is its exit code.
pub fn run(
    mut command: Command,
    mut relay: Relay,
    warden: &mut Warden,
    clock: impl Fn() -> Time,
    mut note: impl FnMut(&str),
) -> std::io::Result<ExitStatus> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("the server has no standard input and output"));
    };
    let mut to_server = Some(input);
    let mut to_client = std::io::stdout();
    let (sender, heard) = mpsc::channel();
    let from_client = sender.clone();
    // Neither thread is waited for: whoever reads the client may do so until the process ends.
    let _ = std::thread::Builder::new()
        .name("client".into())
        .spawn(move || listen(std::io::stdin(), &from_client, Heard::Client, Heard::ClientGone))?;
    let _ = std::thread::Builder::new()
        .name("server".into())
        .spawn(move || listen(output, &sender, Heard::Server, Heard::ServerGone))?;
    loop {
        let next = match &to_server {
            Some(_) => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            None => heard.recv_timeout(GRACE),
        };
        let Ok(next) = next else { return end(&mut child) };
        let outs = match next {
            Heard::Client(line) => relay.client_sent(warden, &line, clock()),
            Heard::Server(line) => relay.server_sent(warden, &line, clock()),
            // The server reads the end of its input, and may finish what it does.
            Heard::ClientGone => {
                drop(to_server.take());
                continue;
            }
            Heard::ServerGone => {
                drop(to_server.take());
                return child.wait();
            }
        };
        for out in outs {
            let written = match out {
                OutgoingMessage::Note(text) => {
                    note(&text);
                    Ok(())
                }
                OutgoingMessage::Client(text) => line(&mut to_client, &text),
                OutgoingMessage::Server(text) => match &mut to_server {
                    Some(server) => line(server, &text),
                    None => Ok(()),
                },
            };
            if written.is_err() {
                drop(to_server.take());
                return end(&mut child);
            }
        }
    }
}

/// Ends a server that nobody listens to.
fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    if let Some(status) = child.try_wait()? {
        return Ok(status);
    }
    child.kill()?;
    child.wait()
}

/// Passes lines on until there are none.
fn listen(input: impl Read, to: &Sender<Heard>, wrap: fn(Vec<u8>) -> Heard, gone: Heard) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => {
                // The rest of a line that is too long is no message of its own.
                let is_cut = line.len() == LONGEST && !line.ends_with(b"\n");
                if is_cut && input.skip_until(b'\n').is_err() {
                    break;
                }
                if to.send(wrap(line)).is_err() {
                    return;
                }
            }
        }
    }
    let _ = to.send(gone);
}

fn line(to: &mut impl Write, text: &[u8]) -> std::io::Result<()> {
    to.write_all(text)?;
    to.write_all(b"\n")?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_line_that_is_too_long_is_no_message() {
        let hidden = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n".as_slice();
        let input = std::io::repeat(b' ').take(LONGEST as u64 - 1).chain(b"x".as_slice()).chain(hidden).chain(hidden);
        let (sender, receiver) = mpsc::channel();
        listen(input, &sender, Heard::Client, Heard::ClientGone);
        let mut heard = receiver.try_iter();
        assert!(matches!(heard.next(), Some(Heard::Client(line)) if line.len() == LONGEST));
        assert!(matches!(heard.next(), Some(Heard::Client(line)) if line == hidden), "the next line is one");
        assert!(matches!(heard.next(), Some(Heard::ClientGone)));
    }
}
