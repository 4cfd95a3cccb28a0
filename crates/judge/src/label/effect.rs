//! The effects of a tool, guessed from its name if the policy does not state them.

/// Verbs, and the effects of tools named after them.
const VERBS: &[(&[&str], &[&str])] = &[
    (
        &[
            "get",
            "list",
            "search",
            "read",
            "find",
            "lookup",
            "look",
            "fetch",
            "query",
            "view",
            "show",
            "check",
            "describe",
            "count",
            "browse",
            "retrieve",
            "inspect",
            "calculate",
            "think",
            "glob",
            "grep",
            "ls",
        ],
        &["read"],
    ),
    (
        &[
            "create",
            "update",
            "set",
            "add",
            "book",
            "edit",
            "write",
            "modify",
            "change",
            "save",
            "insert",
            "append",
            "rename",
            "move",
            "reschedule",
            "schedule",
            "reserve",
            "order",
            "register",
            "enable",
            "disable",
            "grant",
            "assign",
            "reset",
            "put",
            "patch",
        ],
        &["write"],
    ),
    (
        &[
            "send",
            "post",
            "email",
            "notify",
            "share",
            "publish",
            "export",
            "upload",
            "forward",
            "reply",
            "tweet",
            "invite",
            "message",
            "submit",
            "disclose",
            "broadcast",
        ],
        &["external", "write"],
    ),
    (
        &["transfer", "pay", "refund", "charge", "purchase", "buy", "withdraw", "donate", "sell", "trade"],
        &["payment", "write", "irreversible"],
    ),
    (
        &["delete", "remove", "drop", "cancel", "erase", "purge", "wipe", "terminate", "revoke"],
        &["destructive", "write"],
    ),
    (&["run", "exec", "execute", "shell", "bash", "eval", "terminal"], &["execute"]),
    (&["download", "curl", "http", "request", "navigate", "webfetch", "websearch"], &["network"]),
];

/// Returns the probable effects of a tool: by the first word of its name that is a known verb.
pub(super) fn effects_of(tool: &str) -> &'static [&'static str] {
    for word in words(tool) {
        if let Some((_, effects)) = VERBS.iter().find(|(verbs, _)| verbs.contains(&word.as_str())) {
            return effects;
        }
    }
    &[]
}

/// Returns the words of a name in snake, kebab, dotted or camel case, in lower case; and the whole name, for
/// `WebFetch`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before_is_lower = false;
    for character in name.chars() {
        let ends = !character.is_alphanumeric() || (character.is_uppercase() && before_is_lower);
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        before_is_lower = character.is_lowercase() || character.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words.push(name.to_lowercase());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effect_follows_verb_of_tool_name() {
        for (tool, effects) in [
            ("get_user_details", &["read"][..]),
            ("GmailSendEmail", &["external", "write"]),
            ("mcp__files__delete-file", &["destructive", "write"]),
            ("send_money", &["external", "write"]),
            ("transfer.funds", &["payment", "write", "irreversible"]),
            ("Bash", &["execute"]),
            ("WebFetch", &["read"]),
            ("frobnicate", &[]),
            ("", &[]),
        ] {
            assert_eq!(effects_of(tool), effects, "{tool}");
        }
    }
}
