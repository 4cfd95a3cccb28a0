//! Open obligations, told with the results of calls.

use std::sync::Arc;

use lictor_store::MemoryStore;

use crate::{Connection, is_returned, result, to_client};

const POLICY: &str = r#"
lictor: 1
name: tools
steer: owed
properties:
  - {id: logged, says: Sales are logged., formula: 'always (tool_call("sell") -> eventually tool_call("log"))'}
"#;

#[test]
fn obligation_is_told_once_with_the_result() {
    let mut connection = Connection::with_policy(POLICY, "server", Arc::new(MemoryStore::new()));
    connection.call("1", "sell", "{}");
    let answer = to_client(&connection.server(&result("1", "sold"))).to_string();
    assert!(answer.contains("sold") && answer.contains("logged: Sales are logged."), "{answer}");
    connection.call("2", "look", "{}");
    assert!(is_returned(&connection.server(&result("2", "seen")), &result("2", "seen")));
    connection.call("3", "log", "{}");
    assert!(is_returned(&connection.server(&result("3", "ok")), &result("3", "ok")));
    connection.call("4", "sell", "{}");
    assert!(to_client(&connection.server(&result("4", "sold"))).to_string().contains("Still to be done"));
}
