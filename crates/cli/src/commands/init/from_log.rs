//! A first policy from what is in a log: its tools with their effects, and the packs that the log exercises.

use std::fmt::Write;

use lictor::audit::ToolUse;
use lictor::policy::effect::Effects;
use lictor::report::escape_hidden;

use crate::commands::inspect::InspectedLog;

/// Effects that a person should allow first.
const GRAVE: [&str; 3] = ["destructive", "payment", "irreversible"];

/// The share of a pack's properties that a log must exercise for the pack to be used.
const MIN_EXERCISED: f64 = 0.3;

/// Returns the text of a policy. Names from outside are escaped, so that none ends its comment and adds keys.
pub(super) fn write_policy(inspected: &InspectedLog, logs: &str) -> String {
    let logs = escape_hidden(logs);
    let mut text = format!(
        "# A first policy, written from {logs}. Correct it: it says what the log shows, not what is right.\n\
         # `lictor check` looks for mistakes, `lictor audit --policy FILE LOG` judges logs by it.\n\
         lictor: 1\nname: my-agent\n\n"
    );
    write_packs(inspected, &mut text);
    write_tools(inspected, &mut text);
    write_properties(inspected, &mut text);
    text
}

fn write_packs(inspected: &InspectedLog, text: &mut String) {
    let fits = |exercised: usize, count: usize| count > 0 && exercised as f64 >= MIN_EXERCISED * count as f64;
    let (used, others): (Vec<_>, Vec<_>) =
        inspected.exercised().partition(|(_, exercised, count)| fits(*exercised, *count));
    let names = |packs: &[(&str, usize, usize)]| packs.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "# Packs of which the log exercises at least a third; `lictor packs` explains them.");
    if !others.is_empty() {
        let _ = writeln!(text, "# Not used, because the log has too few of their facts: {}.", names(&others));
    }
    let _ = writeln!(text, "uses: [{}]\n", names(&used));
}

fn write_tools(inspected: &InspectedLog, text: &mut String) {
    let tools = &inspected.inventory.tools;
    if tools.is_empty() {
        return;
    }
    text.push_str("# What the tools do, guessed from their names and definitions.\n");
    text.push_str("# effects: read, write, external, payment, destructive, irreversible, execute, network\n");
    let is_known = |tool: &&ToolUse| tool.effects.is_some();
    if tools.values().any(|tool| is_known(&tool)) {
        text.push_str("tools:\n");
    }
    for (name, tool) in tools.iter().filter(|(_, tool)| is_known(tool)) {
        let effects: Vec<&str> = tool.effects.iter().flat_map(|effects| effects.names()).collect();
        let arguments: Vec<_> = tool.arguments.keys().map(|argument| escape_hidden(argument)).collect();
        let note = if arguments.is_empty() { String::new() } else { format!("  # {}", arguments.join(", ")) };
        let _ = writeln!(text, "  {}: {{effects: [{}]}}{note}", quote(name), effects.join(", "));
    }
    let unknown: Vec<&str> = tools.iter().filter(|(_, tool)| !is_known(tool)).map(|(name, _)| name.as_str()).collect();
    if !unknown.is_empty() {
        text.push_str("# Unknown: say what these do, or properties about effects stay inconclusive for them.\n");
        for name in unknown {
            let _ = writeln!(text, "#  {}: {{effects: []}}", quote(name));
        }
    }
    text.push('\n');
}

fn write_properties(inspected: &InspectedLog, text: &mut String) {
    let has = |effect: &str| {
        let wanted = Effects::from_names([effect]);
        inspected.inventory.tools.values().any(|tool| tool.effects.is_some_and(|effects| effects.contains(wanted)))
    };
    let grave: Vec<&str> = GRAVE.into_iter().filter(|effect| has(effect)).collect();
    if !grave.is_empty() {
        text.push_str(
            "# An approval names a call by its id, and then serves one call; or a tool; or an effect, which then covers all calls\n\
             # that have it.\nfacts:\n  call_id(call): {on: tool_call, call: id}\n\n",
        );
    }
    text.push_str("properties:\n");
    for effect in &grave {
        let _ = writeln!(
            text,
            "  - id: {effect}-needs-approval\n    says: A person approves each {effect} step first.\n    \
             formula: >-\n      always (effect(\"{effect}\") implies (once approval(\"{effect}\")\n      \
             or exists t. (tool_call(t) and once approval(t))\n      \
             or exists c. (call_id(c) and previous ((not call_id(c) and not denial(c)) since approval(c)))))\n    \
             severity: high\n    respond: ask"
        );
    }
    if grave.is_empty() {
        text.push_str(
            "  - id: no-failed-tool-is-ignored\n    says: After a failed tool the agent says something.\n    \
             formula: always (tool_failed implies eventually assistant_message)\n    severity: low\n",
        );
    }
}

/// Returns a name as a key of YAML.
fn quote(name: &str) -> String {
    let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    match is_plain {
        true => name.to_owned(),
        // JSON's quoting is YAML's, for a double-quoted text, but leaves line breaks that only YAML has.
        false => escape_beyond_json(&serde_json::Value::from(name).to_string()),
    }
}

/// Escapes what is neither plain ASCII nor a letter or digit, as YAML does within double quotes.
fn escape_beyond_json(quoted: &str) -> String {
    let mut text = String::with_capacity(quoted.len());
    for letter in quoted.chars() {
        match letter {
            letter if letter.is_alphanumeric() || matches!(letter, ' '..='~') => text.push(letter),
            letter => {
                let _ = write!(text, "\\U{:08X}", u32::from(letter));
            }
        }
    }
    text
}
