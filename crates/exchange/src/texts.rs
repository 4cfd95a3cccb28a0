//! Whether a policy looks at the assistant's text, and whether it may change it: then streamed text is previewed before it is
//! sent.

use lictor_policy::{Mode, Policy, Property, Response};

/// Built-in facts that the words of an assistant's text may make true.
const OF_TEXTS: [&str; 10] = [
    "assistant_message",
    "processes",
    "carries",
    "carries_secret",
    "necessary",
    "special",
    "discloses",
    "purpose",
    "declared",
    "legitimate",
];

/// Whether a property of the policy looks at the assistant's text. Without one, it does not matter how clients join the parts
/// of a text.
pub fn reads_texts(policy: &Policy) -> bool {
    policy.properties.iter().any(|property| looks_at_texts(property, policy))
}

/// Whether a property of the policy may change the assistant's text.
pub fn changes_texts(policy: &Policy) -> bool {
    policy.properties.iter().any(|property| changes(property) && looks_at_texts(property, policy))
}

fn changes(property: &Property) -> bool {
    property.mode == Mode::Enforce && [property.respond, property.unknown].iter().any(|it| *it >= Response::Redact)
}

/// Whether the assistant's text may make one of a property's facts true.
fn looks_at_texts(property: &Property, policy: &Policy) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut words = property.formula.split(|character| !is_part(character));
    words.any(|word| {
        let defined = policy.facts.iter().find(|definition| definition.name == word);
        OF_TEXTS.contains(&word)
            || defined.is_some_and(|definition| {
                let triggers = definition.cases.iter();
                triggers
                    .clone()
                    .any(|case| case.on.is_empty() || case.on.iter().any(|it| it.kind == "assistant_message"))
            })
    })
}

#[cfg(test)]
mod tests {
    use lictor_policy::FileResolver;

    use super::*;

    fn holds(rest: &str) -> bool {
        let text = format!("lictor: 1\nname: p\n{rest}");
        let loaded = Policy::parse(&text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
        changes_texts(&loaded.policy)
    }

    #[test]
    fn text_is_read_where_property_looks_at_it() {
        let reads = |rest: &str| {
            let text = format!("lictor: 1\nname: p\n{rest}");
            let loaded = Policy::parse(&text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
            reads_texts(&loaded.policy)
        };
        assert!(!reads(""));
        assert!(!reads("properties: [{id: a, formula: 'always !tool_call(\"x\")', respond: block}]"));
        assert!(reads("properties: [{id: a, formula: 'always !discloses(_)', respond: warn, unknown: observe}]"));
    }

    #[test]
    fn text_is_previewed_where_property_may_change_it() {
        assert!(!holds(""));
        assert!(!holds("properties: [{id: a, formula: 'always !tool_call(\"x\")', respond: block}]"));
        assert!(holds("properties: [{id: a, formula: 'always !discloses(_)', respond: redact}]"));
        assert!(holds("properties: [{id: a, formula: 'always !carries_secret(_)', respond: redact}]"));
        assert!(!holds("properties: [{id: a, formula: 'always !discloses(_)', respond: warn, unknown: observe}]"));
        assert!(!holds("properties: [{id: a, formula: 'always !discloses(_)', respond: redact, mode: shadow}]"));
        let fact = |on: &str| {
            format!(
                "facts: {{rude: {{on: {on}, where: {{text: /damn/}}}}}}\nproperties: [{{id: a, formula: 'always !rude', respond: block}}]"
            )
        };
        assert!(holds(&fact("assistant_message")));
        assert!(!holds(&fact("user_message")));
        assert!(holds("uses: [gdpr]"));
    }
}
