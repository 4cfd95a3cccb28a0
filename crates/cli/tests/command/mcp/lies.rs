//! A server that lies about its files, and a client that lies about its arguments, over both transports. The client is the
//! official SDK's: what it must not read it does not get, and the server does not get what it must not take.

use serde_json::Value;

use crate::mcp::Place;
use crate::mcp::http::start_server;
use crate::mcp::sdk::script;

/// How many lies the server tells.
const LIES: usize = 26;

fn check_lies(outcomes: &Value, place: &Place) {
    let lies = outcomes["lies"].as_array().unwrap();
    assert_eq!(lies.len(), LIES, "{outcomes}");
    for (number, lie) in lies.iter().enumerate() {
        assert_eq!(lie["failed"], true, "lie {number}: {lie}");
        assert!(!lie["read"].as_str().unwrap().contains("example.com"), "lie {number}: {lie}");
    }
    let failed: Vec<bool> = outcomes["calls"].as_array().unwrap().iter().map(|call| call["failed"] == true).collect();
    assert_eq!(failed, [true, true, true, false], "{outcomes}");
    assert_eq!(place.entered(), [r#"{"headers": {"A": "1", "a": "2"}}"#]);
}

#[test]
fn lies_over_stdio_reach_no_client() {
    let (Some(mut words), Some(server)) = (script("lies_client.py"), script("lying_server.py")) else { return };
    let place = Place::new();
    words.extend(place.proxy_command());
    let entered = format!("ENTERED={}", place.path().join("entered").display());
    words.extend(["--".to_owned(), "env".to_owned(), entered]);
    words.extend(server);
    check_lies(&place.run_client(&words), &place);
}

#[test]
fn lies_over_http_reach_no_client() {
    let (Some(mut words), Some(server)) = (script("lies_client.py"), script("lying_server.py")) else { return };
    let place = Place::new();
    let (_server, upstream) = start_server(&place, server);
    let (running, url) = place.start_proxy(&upstream);
    words.push(url);
    let outcomes = place.run_client(&words);
    drop(running);
    check_lies(&outcomes, &place);
}
