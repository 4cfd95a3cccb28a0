//! Hostile policies: bounded answers, no panic.

use lictor_policy::{FileResolver, Policy};
use proptest::prelude::*;

fn code(text: &str) -> String {
    let problems = Policy::parse(text, "hostile.yaml", &FileResolver).unwrap_err();
    let shown = problems.to_string();
    assert!(shown.len() < 200_000, "{} bytes of complaints", shown.len());
    problems.iter().next().unwrap().code.to_owned()
}

#[test]
fn yaml_bombs_are_refused() {
    let mut bomb = String::from("lictor: 1\ntables:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("  a{level}: &a{level} [{below}]\n"));
    }
    assert_eq!(code(&bomb), "yaml.tag");
    assert_eq!(code(&format!("lictor: 1\ntables: {{a: {}", "[".repeat(100_000))), "yaml.too-deep");
    assert_eq!(code(&format!("lictor: 1\ntables: {{a: {}1{}}}", "[".repeat(60), "]".repeat(60))), "yaml.too-deep");
    assert_eq!(code(&format!("lictor: 1\ntables:\n  a:\n    {}1", "- ".repeat(50))), "yaml.too-deep");
    assert_eq!(code(&format!("lictor: 1\nname: {}", "x".repeat(2 << 20))), "yaml.too-large");
    assert_eq!(code(&format!("lictor: 1\ntables: {{a: [{}]}}", "1, ".repeat(60_000))), "yaml.too-large");
}

#[test]
fn problems_over_limit_are_only_counted() {
    let keys: String = (0..20_000).map(|number| format!("k{number}: 1, ")).collect();
    let problems = Policy::parse(&format!("{{lictor: 1, {keys}}}"), "hostile.yaml", &FileResolver).unwrap_err();
    assert_eq!(problems.iter().count(), 100);
    assert!(problems.to_string().ends_with("and 19900 more"), "{problems}");
    let twice = "a: 1, ".repeat(20_000);
    let problems =
        Policy::parse(&format!("{{lictor: 1, tables: {{{twice}}}}}"), "hostile.yaml", &FileResolver).unwrap_err();
    assert_eq!(problems.iter().count(), 100);
}

#[test]
fn problem_text_hides_control_characters() {
    let text = "lictor: 1\n\"a\\e[31m\": 1\n\"b\u{202e}c\": 1\n";
    let problems = Policy::parse(text, "hostile.yaml", &FileResolver).unwrap_err();
    let shown = problems.to_string();
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n') && !shown.contains('\u{202e}'), "{shown:?}");
}

#[test]
fn uses_chain_ends_at_file_limit() {
    struct Endless;
    impl lictor_policy::Resolver for Endless {
        fn file(&self, path: &str, from: &str) -> Result<lictor_policy::ResolvedFile, String> {
            let name = format!("{from}{path}");
            Ok(lictor_policy::ResolvedFile { name, text: "lictor: 1\nuses: [./a.yaml, ./b.yaml]\n".into() })
        }
    }
    let problems = Policy::parse("lictor: 1\nuses: [./a.yaml]", "x", &Endless).unwrap_err();
    assert!(problems.to_string().contains("is over the limit of"), "{problems}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Pieces of policies in any order: loading them returns, with a policy or with problems.
    #[test]
    fn parse_survives_any_text(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let text: String = pieces.concat();
        if let Err(problems) = Policy::parse(&text, "x", &FileResolver) {
            prop_assert!(problems.has_errors());
            let lines = text.lines().count() as u32;
            for problem in &problems {
                prop_assert!(problem.line <= lines + 1 && problem.column > 0, "{}", problem);
            }
        }
    }

    #[test]
    fn parse_survives_any_edit(place in 0..2000usize, piece in prop::sample::select(PIECES), cut in 0..30usize) {
        let text = include_str!("../../golden/policy/good.yaml");
        let place = (0..=place.min(text.len())).rev().find(|place| text.is_char_boundary(*place)).unwrap();
        let after = (place + cut..=text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or(text.len());
        let changed = format!("{}{piece}{}", &text[..place], &text[after..]);
        let _ = Policy::parse(&changed, "x", &FileResolver);
    }
}

const PIECES: &[&str] = &[
    "lictor: 1\n",
    "name: ",
    "uses: [gdpr]\n",
    "properties:\n",
    "  - id: a\n",
    "    formula: always !error\n",
    "facts:\n",
    "  f(x): ",
    "{on: tool_call, x: args.x}\n",
    "tools:\n",
    "  a: {effects: [read]}\n",
    "change:\n",
    "suppress:\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    ": ",
    "- ",
    "\n",
    "  ",
    "\t",
    "&a ",
    "*a",
    "!t ",
    "|\n",
    ">-\n",
    "'",
    "\"",
    "\\",
    "#",
    "? ",
    "%",
    "---\n",
    "...\n",
    "é",
    "\u{feff}",
    "\r\n",
    "\u{0}",
    "~",
    "null",
    "5",
    "x",
    "formula: |\n  alwyas a\n",
    "when: ",
    "where: ",
    "/(/",
];
