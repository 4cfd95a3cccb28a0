//! The built-in facts, which need no definition in a policy.
//!
//! One table for the labeler, which makes them, for the loader, which recognizes misspelt ones, and for the pages,
//! which explain them.

/// A fact that needs no definition.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// The names of its values, in their order.
    pub parameters: &'static [&'static str],
    /// When it holds, in a line.
    pub meaning: &'static str,
}

/// The effects that a tool may have, each with its meaning.
pub const EFFECTS: [(&str, &str); 8] = [
    ("read", "looks something up"),
    ("write", "changes something"),
    ("external", "sends data or messages outside"),
    ("payment", "moves money"),
    ("destructive", "deletes or cancels something"),
    ("irreversible", "cannot be undone"),
    ("execute", "runs a program"),
    ("network", "reaches for other computers"),
];

/// The categories of personal data that are recognised without a definition in a policy.
pub const CATEGORIES: [&str; 10] =
    ["address", "dob", "email", "gov_id", "health", "iban", "ip_address", "order_id", "payment", "phone"];

/// Returns every built-in fact, in the order in which they are best explained.
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

/// Returns the built-in fact of that name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

const fn fact(name: &'static str, parameters: &'static [&'static str], meaning: &'static str) -> Builtin {
    Builtin { name, parameters, meaning }
}

const BUILTINS: &[Builtin] = &[
    fact("user_message", &[], "the user said something"),
    fact("assistant_message", &[], "the agent said something"),
    fact("system_message", &[], "the operator instructed the agent"),
    fact("retrieval", &[], "documents were fetched for the agent"),
    fact("error", &[], "something failed"),
    fact("session_start", &[], "the session began"),
    fact("session_end", &[], "the session ended"),
    fact("tool_definitions", &[], "a server described its tools"),
    fact("tool_call", &["tool"], "the agent called a tool"),
    fact("tool_result", &["tool"], "a tool answered"),
    fact("tool_failed", &["tool"], "a tool answered with an error"),
    fact("effect", &["effect"], "a tool call that does this to the world: by `tools:`, else by the tool's name"),
    fact("effect_unknown", &["tool"], "a call of this tool, about whose effects nothing is known: `tools:` settles it"),
    fact("argument", &["name", "value"], "a tool call with this argument, nested ones by their path: `items.0.sku`"),
    fact(
        "argument_from",
        &["name", "who"],
        "a tool call whose argument was first said by `user`, `tool` or `system`, or first by the model itself: `model`",
    ),
    fact("call_digest", &["number"], "a number that equal calls share: the same tool with the same arguments"),
    fact("unparsed", &[], "a tool call whose arguments could not be read"),
    fact("purpose", &["purpose"], "the event serves this purpose: given with it, or by `tools:`"),
    fact(
        "purpose_from",
        &["purpose", "who"],
        "a call serves this purpose by its `tool`, by an `argument`, or because the `user` named it; or a user names it",
    ),
    fact("declared", &["purpose"], "the event serves this purpose, and the policy declares it"),
    fact("legitimate", &["purpose"], "the event serves this purpose, and its lawful basis is not consent"),
    fact("processes", &["purpose"], "the event carries personal data and serves this purpose"),
    fact("carries", &["category"], "the event carries this category of personal data: given with it, or recognised"),
    fact("necessary", &["category"], "the event carries this category, and one of its purposes needs it"),
    fact("special", &["category"], "the event carries this category, and it is a special one (GDPR Art. 9)"),
    fact("carries_secret", &["kind"], "the event holds an `api_key`, a `token`, a `private_key` or a `password`"),
    fact("discloses", &["person"], "what the agent or its tools say contains an identifier of this person"),
    fact("subject", &["person"], "the event states that it is about this person, who is not only recognised in it"),
    fact("retained", &[], "the event serves only purposes that survive an erasure"),
    fact(
        "consent",
        &["person", "purpose"],
        "this person consented to this purpose; `\"*\"` where the record names no person",
    ),
    fact("explicit_consent", &["person", "purpose"], "this person consented explicitly to this purpose"),
    fact("withdraws", &["person", "purpose"], "this person refused or withdrew consent to this purpose"),
    fact("erasure", &["person"], "this person's data was to be forgotten: by the log, or by a tool that `erases`"),
    fact("erasure_done", &["person"], "this person's data was erased: by the log, or by a tool that `erases`"),
    fact("erasure_requested", &["person"], "this person asked for erasure: a kind or a label, which is no erasure"),
    fact("approval", &["what", "who"], "a person allowed this: a call by its id, a tool, or an effect"),
    fact("denial", &["what", "who"], "a person forbade this: a call by its id, a tool, or an effect"),
    fact("handoff", &["from", "to"], "one agent passed the work to another"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_event::Kind;

    #[test]
    fn builtin_facts_cover_every_event_kind() {
        let missing: Vec<&str> = Kind::names().filter(|name| builtin(name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn builtin_fact_names_are_unique() {
        for (place, fact) in BUILTINS.iter().enumerate() {
            assert!(BUILTINS.iter().skip(place + 1).all(|other| other.name != fact.name), "{}", fact.name);
        }
    }
}
