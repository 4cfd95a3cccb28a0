//! Calls that violate nothing yet and probably lead to a violation: hooks ask the user, or deny them.

use serde_json::json;

use crate::hook::Project;

/// Returns a project whose policy forecasts by a chain: after `open_shell`, `drop` mostly follows.
fn project(client: &'static str, way: &str) -> Project {
    let project = Project::new(client);
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    let policy = format!(
        "lictor: 1\nname: shop\nproperties:\n  - {{id: no-drop, formula: 'always !tool_call(\"drop\")', respond: block, \
         remedy: Archive it.}}\npredict: {{chain: '{chain}', within: 2, risk: 0.6, intervene: [{way}]}}\n"
    );
    std::fs::write(project.path().join("lictor.yaml"), policy).unwrap();
    assert!(project.ask(&project.input("UserPromptSubmit", json!({"prompt": "Tidy up."}))).is_silent());
    project
}

#[test]
fn stopping_forecast_denies_call_of_hook() {
    for client in ["claude", "codex"] {
        let project = project(client, "stop");
        let answer = project.ask(&project.before_call("c1", "open_shell", json!({})));
        assert!(answer.is_denied() && answer.output.contains("Archive it."), "{answer:?}");
        assert!(project.ask(&project.before_call("c2", "open_console", json!({}))).is_silent());
        assert!(project.records().iter().any(|record| record.to_string().contains(r#""forecast":{"#)));
    }
}

#[test]
fn asking_forecast_asks_user_of_hook() {
    let claude = project("claude", "ask");
    let answer = claude.ask(&claude.before_call("c1", "open_shell", json!({})));
    assert_eq!(answer.specific()["permissionDecision"], "ask", "{answer:?}");
    // The user has allowed it, or it would have no result.
    assert!(claude.ask(&claude.after_call("c1", "open_shell", json!("open"))).is_silent());
    let codex = project("codex", "ask");
    assert!(codex.ask(&codex.before_call("c1", "open_shell", json!({}))).is_denied());
}
