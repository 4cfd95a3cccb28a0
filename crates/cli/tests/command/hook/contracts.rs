//! The schemas that the clients publish: our input and our answers match them.

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::hook::{Project, shared};

fn schema(name: &str) -> Option<Validator> {
    let text = std::fs::read_to_string(shared(&format!("codex/hook.{name}.schema.json"))?).unwrap();
    Some(jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap())
}

fn holds(schema: &Validator, value: &Value) {
    let errors: Vec<String> = schema.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{value}: {errors:?}");
}

#[test]
fn codex_answers_match_its_schemas() {
    let (Some(input), Some(output)) = (schema("pre-tool-use.command.input"), schema("pre-tool-use.command.output"))
    else {
        return;
    };
    let project = Project::new("codex");
    let mut answered = 0;
    for (number, tool) in ["Bash", "Deploy", "Delete", "Send", "Slow"].into_iter().enumerate() {
        let question = project.before_call(&format!("c{number}"), tool, json!({"to": "ann@example.com"}));
        holds(&input, &question);
        for arguments in [&[][..], &["--rewrites"]] {
            let answer = project.ask_with(arguments, &question.to_string());
            if !answer.is_silent() {
                holds(&output, &answer.json());
                answered += 1;
            }
        }
    }
    assert_eq!(answered, 8);
}

#[test]
fn codex_denials_match_its_schemas() {
    let cases = [
        ("pre-tool-use", "PreToolUse", json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": "c1"})),
        ("permission-request", "PermissionRequest", json!({"tool_name": "Bash", "tool_input": {}})),
    ];
    for (name, hook, more) in cases {
        let (Some(input), Some(output)) =
            (schema(&format!("{name}.command.input")), schema(&format!("{name}.command.output")))
        else {
            return;
        };
        let project = Project::new("codex");
        let question = project.input(hook, more);
        holds(&input, &question);
        let answer = project.ask_with(&["--policy", "no-such-policy"], &question.to_string());
        holds(&output, &answer.json());
        assert!(answer.output.contains("deny") && answer.output.contains("no such pack"), "{answer:?}");
        assert!(project.ask(&question).is_silent());
    }
}

#[test]
fn codex_inputs_of_its_schemas_are_read() {
    let cases = [
        (
            "post-tool-use",
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": "c", "tool_response": "ok"}),
        ),
        ("user-prompt-submit", "UserPromptSubmit", json!({"prompt": "hello"})),
    ];
    for (name, hook, more) in cases {
        let Some(input) = schema(&format!("{name}.command.input")) else { return };
        let project = Project::new("codex");
        let question = project.input(hook, more);
        holds(&input, &question);
        assert!(project.ask(&question).is_silent(), "{hook}");
        assert_eq!(project.decisions(), 1);
    }
}

#[test]
fn claude_example_is_read_and_answered() {
    let (Some(input), Some(output)) =
        (shared("claude-code/hook_pretooluse_input.json"), shared("claude-code/hook_pretooluse_output.json"))
    else {
        return;
    };
    let project = Project::new("claude");
    let folder = project.path().to_str().unwrap().to_owned();
    let input = std::fs::read_to_string(input).unwrap();
    assert!(project.ask_with(&["--project", &folder], &input).is_silent());
    let mut question: Value = serde_json::from_str(&input).unwrap();
    question["tool_name"] = json!("Deploy");
    question["tool_use_id"] = json!("toolu_2");
    let said = project.ask_with(&["--project", &folder], &question.to_string()).json();
    let example: Value = serde_json::from_str(&std::fs::read_to_string(output).unwrap()).unwrap();
    let (said, example) = (&said["hookSpecificOutput"], &example["hookSpecificOutput"]);
    for (key, value) in said.as_object().unwrap() {
        assert!(example.get(key).is_some_and(|it| it.is_string() == value.is_string()), "{key}: {value}");
    }
    assert_eq!(said["permissionDecision"], example["permissionDecision"]);
}

#[test]
fn settings_match_the_client_format() {
    let Some(example) = shared("claude-code/settings_hooks.json") else { return };
    let example: Value = serde_json::from_str(&std::fs::read_to_string(example).unwrap()).unwrap();
    for client in ["claude", "codex"] {
        let project = Project::new(client);
        let printed = project.ask_with(&["--settings"], "").json();
        for hook in ["PreToolUse", "PostToolUse"] {
            let (ours, theirs) = (&printed["hooks"][hook][0], &example["hooks"][hook][0]);
            assert_eq!(ours["matcher"], theirs["matcher"], "every tool");
            assert_eq!(ours["hooks"][0]["type"], theirs["hooks"][0]["type"]);
            assert!(ours["hooks"][0]["command"].as_str().unwrap().contains(&format!("lictor hook {client} --project")));
        }
        assert!(printed["hooks"]["Stop"].is_array() && printed["hooks"]["UserPromptSubmit"].is_array());
    }
}
