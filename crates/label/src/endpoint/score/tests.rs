//! Tests of masses, with tokens cut in several ways.

use super::*;

/// Tokens of a reply; the alternatives of each are a text with its probability.
fn logprobs(tokens: &[(&str, &[(&str, f64)])]) -> Json {
    let number = |p: f64| Json::Number(Number::Float(p.ln()));
    let alternative = |(text, p): &(&str, f64)| Json::from([("token", (*text).into()), ("logprob", number(*p))]);
    let token = |(text, top): &(&str, &[(&str, f64)])| {
        let top: Vec<Json> = top.iter().map(alternative).collect();
        Json::from([("token", (*text).into()), ("logprob", number(0.5)), ("top_logprobs", top.into())])
    };
    Json::from([("content", tokens.iter().map(token).collect::<Vec<_>>().into())])
}

fn mass(tokens: &[(&str, &[(&str, f64)])], key: &str, value: AnswerValue) -> Option<TokenMass> {
    read_masses(&logprobs(tokens), &[(key, value)]).unwrap()[0]
}

fn is_near(mass: Option<TokenMass>, yes: f64, no: f64, unclear: f64) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
    mass.is_some_and(|mass| near(mass.yes, yes) && near(mass.no, no) && near(mass.unclear, unclear))
}

#[test]
fn mass_sums_the_spellings_of_a_value() {
    let top: &[(&str, f64)] =
        &[("yes", 0.5), ("Yes", 0.1), (" YES", 0.05), ("no", 0.2), ("n", 0.05), ("un", 0.04), ("maybe", 0.06)];
    let found = mass(&[("{\"k1\": \"", &[]), ("yes", top), ("\"}", &[])], "k1", AnswerValue::Yes);
    assert!(is_near(found, 0.65, 0.25, 0.04), "{found:?}");
    assert!((found.unwrap().other() - 0.06).abs() < 1e-9);
    assert!((found.unwrap().yes_share().unwrap() - 0.65 / 0.9).abs() < 1e-9);
}

#[test]
fn mass_is_found_however_tokens_are_cut() {
    let top: &[(&str, f64)] = &[("\"no", 0.7), (" \"yes", 0.2), ("\"", 0.1)];
    let found = mass(&[("{\"k1\":", &[]), (" \"no", top), ("\"}", &[])], "k1", AnswerValue::No);
    assert!(is_near(found, 0.2, 0.7, 0.0), "{found:?}");
    let top: &[(&str, f64)] = &[("\":\"no\"", 0.9), ("\":\"yes\"", 0.1)];
    let found = mass(&[("{\"k", &[]), ("1", &[]), ("\":\"no\"", top), ("}", &[])], "k1", AnswerValue::No);
    assert!(is_near(found, 0.1, 0.9, 0.0), "{found:?}");
    let top: &[(&str, f64)] = &[("y", 0.8), ("n", 0.1), ("u", 0.1)];
    let found = mass(&[("{\"k1\":\"", &[]), ("y", top), ("es", &[]), ("\"}", &[])], "k1", AnswerValue::Yes);
    assert!(is_near(found, 0.8, 0.1, 0.1), "{found:?}");
}

#[test]
fn mass_leaves_out_words_around_a_value() {
    for (word, value) in [
        ("yes", Some("yes")),
        ("yes\"", Some("yes")),
        ("no\",", Some("no")),
        ("u", Some("unclear")),
        ("not", None),
        ("know", None),
        ("yesterday", None),
        ("nothing", None),
        ("un-", None),
        ("no.", None),
        ("", None),
        ("\"", None),
        ("non", None),
    ] {
        assert_eq!(read_spelling(word), value, "{word}");
    }
}

#[test]
fn mass_is_none_for_impossible_probabilities() {
    let cut = |top: &[(&str, f64)]| mass(&[("{\"k1\":\"", &[]), ("no", top), ("\"}", &[])], "k1", AnswerValue::No);
    assert_eq!(cut(&[("no", 0.9), ("yes", 0.9)]), None);
    assert_eq!(cut(&[("no", 3.0)]), None);
    assert_eq!(cut(&[("no", f64::NAN)]), None);
    assert_eq!(cut(&[]), None);
    assert_eq!(mass(&[("{\"k1\":\"no\",\"k1\":\"no\"}", &[])], "k1", AnswerValue::No), None);
    assert_eq!(mass(&[("{\"k1\":\"yes\"}", &[("x", 1.0)])], "k1", AnswerValue::No), None, "another value");
}

#[test]
fn masses_are_none_without_log_probabilities() {
    for text in ["null", "{}", "{\"content\":null}", "{\"content\":[{\"logprob\":-1}]}"] {
        let logprobs = lictor_json::parse_str(text).unwrap();
        assert_eq!(read_masses(&logprobs, &[("k1", AnswerValue::No)]), None, "{text}");
    }
    let empty = lictor_json::parse_str("{\"content\":[]}").unwrap();
    assert_eq!(read_masses(&empty, &[("k1", AnswerValue::No)]), Some(vec![None]));
}
