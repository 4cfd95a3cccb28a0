//! The relay, message by message: forwarding, denials, approvals, and attempts to bypass it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod approval;
mod bypass;
mod definitions;
mod forwarding;
mod guidance;
mod http;
mod shapes;

use std::sync::Arc;

use lictor_json::{self as json, Json};
use lictor_judge::Judge;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_logic::Time;
use lictor_mcp::{OutgoingMessage, Relay, RelayOptions};
use lictor_policy::{FileResolver, Policy};
use lictor_store::{MemoryStore, Store};
use lictor_warden::Warden;

const POLICY: &str = r#"
lictor: 1
name: tools
uses: [owasp-agentic/asi04-tool-definition-pinned]
properties:
  - {id: no-deploy, says: Nothing is deployed., formula: 'always !tool_call("deploy")', respond: block}
  - {id: ask-delete, says: A person allows what deletes., formula: 'always !tool_call("delete")', respond: ask}
  - {id: no-address-out, says: No address leaves., formula: 'always (tool_call("send") -> !carries("email"))', respond: redact}
  - {id: masked, says: Addresses are masked., formula: 'always !(tool_result("fetch") & carries("email"))', respond: redact}
  - {id: unread, says: Addresses are not read., formula: 'always !(tool_result("read") & carries("email"))', respond: block}
  - {id: faster, says: There is a faster way., formula: 'always !tool_call("slow")', respond: steer}
  - {id: resources, says: No addresses from resources., formula: 'always !(retrieval & carries("email"))', respond: redact}
  - {id: few, says: Twice is enough., formula: 'at_most(2, tool_call("few"))', respond: block}
  - {id: samples, says: No addresses in samples., formula: 'always !(sampling & carries("email"))', respond: block}
"#;

/// A client and a server with a relay between them.
struct Connection {
    relay: Relay,
    warden: Warden,
    now: i64,
}

fn open_warden(policy: &str, store: Arc<dyn Store>) -> Warden {
    let policy = Policy::parse(policy, "tools", &FileResolver).unwrap().policy;
    let guard = Guard::new(Judge::new(&policy).unwrap(), GuardOptions::default());
    let mut options = lictor_warden::WardenOptions::new(policy.fingerprint());
    options.max_sessions = 10;
    Warden::open(guard, store, None, options).unwrap()
}

impl Connection {
    fn new() -> Connection {
        Connection::with_store("server", Arc::new(MemoryStore::new()))
    }

    fn with_store(server: &str, store: Arc<dyn Store>) -> Connection {
        Connection::with_policy(POLICY, server, store)
    }

    fn with_policy(policy: &str, server: &str, store: Arc<dyn Store>) -> Connection {
        let mut options = RelayOptions::new(server, "s");
        options.methods = vec!["vendor/hello".into()];
        Connection { relay: Relay::new(options), warden: open_warden(policy, store), now: 0 }
    }

    fn client(&mut self, text: &str) -> Vec<OutgoingMessage> {
        self.now += 1;
        self.relay.client_sent(&mut self.warden, text.as_bytes(), Time(self.now))
    }

    fn server(&mut self, text: &str) -> Vec<OutgoingMessage> {
        self.now += 1;
        self.relay.server_sent(&mut self.warden, text.as_bytes(), Time(self.now))
    }

    /// Sends a tool call and returns the outgoing messages.
    fn call(&mut self, id: &str, tool: &str, arguments: &str) -> Vec<OutgoingMessage> {
        self.client(&call(id, tool, arguments))
    }

    fn declare_elicitation(&mut self) {
        let hello = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
        assert!(is_forwarded(&self.client(hello), hello));
        self.server(r#"{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}"#);
    }
}

fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

fn result(id: &str, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

/// Whether exactly these bytes were sent, to the server only.
fn is_forwarded(outs: &[OutgoingMessage], text: &str) -> bool {
    outs == [OutgoingMessage::Server(text.as_bytes().to_vec())]
}

fn is_returned(outs: &[OutgoingMessage], text: &str) -> bool {
    outs == [OutgoingMessage::Client(text.as_bytes().to_vec())]
}

/// Returns the one message to the client, and checks that the server got none.
fn to_client(outs: &[OutgoingMessage]) -> Json {
    assert!(!outs.iter().any(|out| matches!(out, OutgoingMessage::Server(_))), "{outs:?}");
    let sent: Vec<&Vec<u8>> =
        outs.iter().filter_map(|out| if let OutgoingMessage::Client(it) = out { Some(it) } else { None }).collect();
    assert_eq!(sent.len(), 1, "{outs:?}");
    json::parse(sent[0]).unwrap()
}

/// Returns the one message to the server, and checks that the client got none.
fn to_server(outs: &[OutgoingMessage]) -> Json {
    match outs {
        [OutgoingMessage::Server(text)] => json::parse(text).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Whether neither side got a message.
fn is_dropped(outs: &[OutgoingMessage]) -> bool {
    outs.iter().all(|out| matches!(out, OutgoingMessage::Note(_)))
}

/// Whether a call was answered with an error result under its id.
fn is_denied(message: &Json, id: &str) -> bool {
    message.get("id").unwrap().to_string() == id && message.at("result.isError").and_then(Json::as_bool) == Some(true)
}
