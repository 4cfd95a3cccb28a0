//! A server as a child process: messages are lines on its standard input and output.
//!
//! One thread reads the client, one the server, and the calling thread decides, so that messages have one order.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use lictor_logic::Time;
use lictor_warden::Warden;

use crate::message::MAX_MESSAGE_BYTES;
use crate::relay::{OutgoingMessage, Relay};

/// How long a silent server may run after the client has closed its input.
const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(2);

enum StdioEvent {
    Client(Vec<u8>),
    Server(Vec<u8>),
    ClientGone,
    ServerGone,
}

/// Runs a server and relays between it and the client on standard input and output, until one of them ends. The server
/// inherits our standard error; its exit status is returned.
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
    // The threads are not joined: the one that reads the client may block until the process ends.
    let _ = std::thread::Builder::new()
        .name("client".into())
        .spawn(move || read_lines(std::io::stdin(), &from_client, StdioEvent::Client, StdioEvent::ClientGone))?;
    let _ = std::thread::Builder::new()
        .name("server".into())
        .spawn(move || read_lines(output, &sender, StdioEvent::Server, StdioEvent::ServerGone))?;
    loop {
        let next = match &to_server {
            Some(_) => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            None => heard.recv_timeout(SERVER_EXIT_TIMEOUT),
        };
        let Ok(next) = next else { return stop_server(&mut child) };
        let outs = match next {
            StdioEvent::Client(line) => relay.client_sent(warden, &line, clock()),
            StdioEvent::Server(line) => relay.server_sent(warden, &line, clock()),
            // The server reads the end of its input and may finish its work.
            StdioEvent::ClientGone => {
                drop(to_server.take());
                continue;
            }
            StdioEvent::ServerGone => {
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
                OutgoingMessage::Client(text) => write_line(&mut to_client, &text),
                OutgoingMessage::Server(text) => match &mut to_server {
                    Some(server) => write_line(server, &text),
                    None => Ok(()),
                },
            };
            if written.is_err() {
                drop(to_server.take());
                return stop_server(&mut child);
            }
        }
    }
}

/// Kills a server that has not exited yet.
fn stop_server(child: &mut Child) -> std::io::Result<ExitStatus> {
    if let Some(status) = child.try_wait()? {
        return Ok(status);
    }
    child.kill()?;
    child.wait()
}

/// Sends lines to the relay until the input ends.
fn read_lines(input: impl Read, to: &Sender<StdioEvent>, wrap: fn(Vec<u8>) -> StdioEvent, gone: StdioEvent) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(MAX_MESSAGE_BYTES as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => {
                // The rest of a line over the limit is skipped: it is not a message of its own.
                let is_cut = line.len() == MAX_MESSAGE_BYTES && !line.ends_with(b"\n");
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

fn write_line(to: &mut impl Write, text: &[u8]) -> std::io::Result<()> {
    to.write_all(text)?;
    to.write_all(b"\n")?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_overlong_line_is_skipped() {
        let hidden = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n".as_slice();
        let input =
            std::io::repeat(b' ').take(MAX_MESSAGE_BYTES as u64 - 1).chain(b"x".as_slice()).chain(hidden).chain(hidden);
        let (sender, receiver) = mpsc::channel();
        read_lines(input, &sender, StdioEvent::Client, StdioEvent::ClientGone);
        let mut heard = receiver.try_iter();
        assert!(matches!(heard.next(), Some(StdioEvent::Client(line)) if line.len() == MAX_MESSAGE_BYTES));
        assert!(matches!(heard.next(), Some(StdioEvent::Client(line)) if line == hidden), "the next line is a message");
        assert!(matches!(heard.next(), Some(StdioEvent::ClientGone)));
    }
}
