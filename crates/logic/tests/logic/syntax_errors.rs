//! Parse errors, and a parser that survives every text.

use lictor_logic::{Arena, Fact, ParseErrors, Spelling};
use proptest::prelude::*;

use crate::support::size::cases;

fn errors(text: &str) -> ParseErrors {
    let mut arena = Arena::new();
    match arena.parse(text) {
        Ok(f) => panic!("{text} is read as {}", arena.show(f, Spelling::Ascii)),
        Err(errors) => errors,
    }
}

/// The cases are blocks of `syntax_errors/errors.txt`: a formula after `formula: `, then its errors.
#[test]
fn parse_errors_of_typical_mistakes() {
    let cases = include_str!("syntax_errors/errors.txt").split("\n\n").filter(|case| case.starts_with("formula: "));
    let mut count = 0;
    for case in cases {
        let (formula, expect) = case.split_once('\n').unwrap();
        let formula = formula.trim_start_matches("formula: ").replace("\\n", "\n").replace("\\t", "\t");
        let shown = errors(&formula).to_string();
        let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(shown.join("\n"), expect.trim_end(), "{formula}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}

#[test]
fn empty_text_error_shows_an_example() {
    let hint = "hint: write a formula, such as `always (a implies eventually b)`";
    assert_eq!(errors("").to_string(), format!("1:1: expected a formula, found the end\n  \n  ^\n  {hint}"));
}

#[test]
fn parse_error_hides_control_characters() {
    let shown = errors("a & \u{1b}[2J\u{202e} & `\u{7f}").to_string();
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7f}']), "{shown}");
}

#[test]
fn parse_error_shortens_long_lines() {
    let text = format!("{} & ) & {}", vec!["a"; 60].join(" & "), vec!["b"; 60].join(" & "));
    let shown = errors(&text).to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].starts_with("  …") && lines[1].ends_with('…'), "{shown}");
    assert!(lines.iter().all(|line| line.chars().count() < 110), "{shown}");
    let caret = lines[2].chars().count() - 1;
    assert_eq!(lines[1].chars().nth(caret), Some(')'), "{shown}");
    assert_eq!(errors(&text).iter().next().unwrap().column(), 60 * 4 + 1);
}

#[test]
fn parse_errors_are_limited_to_twenty() {
    let errors = errors(&vec!["@"; 100].join(" & a & "));
    assert_eq!(errors.iter().count(), 20);
    assert!(errors.to_string().ends_with("\nand 80 more"));
}

#[test]
fn parse_error_accessors_give_place_and_hint() {
    let errors = errors("a &\nb U (c");
    let error = errors.iter().next().unwrap();
    assert_eq!((error.line(), error.column(), error.span()), (2, 5, 8..9));
    assert_eq!((error.message(), error.hint()), ("`(` is never closed", "add a `)`"));
    let fact = Fact::parse("consent(alice, bob@example.com)").unwrap_err();
    assert_eq!(fact.iter().count(), 1, "{fact}");
}

/// Parses on a stack far smaller than any thread has by default.
fn parse_on_a_small_stack(text: String) -> Result<(), String> {
    let run = move || {
        let mut arena = Arena::new();
        let read = arena.parse(&text);
        read.map(|f| drop((arena.show(f, Spelling::Words).to_string(), arena.english(f)))).map_err(|e| e.to_string())
    };
    std::thread::Builder::new().stack_size(128 << 10).spawn(run).unwrap().join().unwrap()
}

#[test]
fn deep_nesting_is_refused_without_stack_overflow() {
    let depth = |wanted: &str, text: String| {
        let shown = parse_on_a_small_stack(text).unwrap_err();
        assert!(shown.contains(wanted), "{shown}");
    };
    depth("nested deeper than 300 levels", format!("{}a", "!".repeat(100_000)));
    depth("nested deeper than 300 levels", format!("{}a{}", "G(b & ".repeat(50_000), ")".repeat(50_000)));
    depth("nested deeper than 300 levels", "a -> ".repeat(100_000) + "b");
    depth("nested deeper than 300 levels", "a U ".repeat(100_000) + "b");
    depth("nested deeper than 300 levels", format!("{}a", "forall x. ".repeat(50_000)));
    depth("cannot be expanded", format!("{}a{}", "absence(".repeat(50_000), ")".repeat(50_000)));
    depth("cannot be expanded", format!("{}a{}", "succession(b, ".repeat(250), ")".repeat(250)));
    depth("never closed", "(".repeat(100_000));
    depth("unknown operator or pattern", "p(".repeat(100_000));
    assert_eq!(parse_on_a_small_stack(format!("{}a", "!".repeat(299))), Ok(()));
    assert_eq!(parse_on_a_small_stack(format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000))), Ok(()));
}

#[test]
fn formula_text_is_limited_in_length() {
    assert_eq!(parse_on_a_small_stack(vec!["a"; 100_000].join(" & ")), Ok(()));
    assert_eq!(parse_on_a_small_stack(vec!["F[0,3] p(\"x\",1)"; 20_000].join(" | ")), Ok(()));
    let names: Vec<String> = (0..50_000).map(|i| format!("x{i}")).collect();
    assert_eq!(parse_on_a_small_stack(format!("forall {}. p(x7)", names.join(","))), Ok(()));
    let long = parse_on_a_small_stack("a & ".repeat(300_000) + "a").unwrap_err();
    assert!(long.starts_with("1:1: formula too long: 1200001 bytes, at most 1048576 are allowed\n"), "{long}");
    for piece in ["@", "\"", "`", "[", "forall ", "F[", "p(1,", "p(x) ", "x < ", "response(", "], ", "forall X. p("] {
        assert!(parse_on_a_small_stack(piece.repeat((1 << 18) / piece.len())).is_err(), "{piece}");
    }
}

/// Errors are well formed, and a formula that parses is printed and parses back.
fn check_parse(text: &str) {
    let mut arena = Arena::new();
    match arena.parse(text) {
        Ok(f) => {
            let shown = arena.show(f, Spelling::Unicode).to_string();
            assert_eq!(arena.parse(&shown).as_ref(), Ok(&f), "{text} is shown as {shown}");
        }
        Err(errors) => {
            assert!(errors.iter().count() > 0 && !errors.to_string().is_empty());
            for error in &errors {
                assert!(text.get(error.span()).is_some(), "{text}: {:?}", error.span());
                assert!(error.line() > 0 && error.column() > 0 && !error.hint().is_empty());
                assert!(!error.message().ends_with('.') && !error.hint().ends_with('.'));
            }
        }
    }
    let _ = Fact::parse(text);
}

const PIECES: &[&str] = &[
    "a",
    "b",
    "x",
    "p(",
    "(",
    ")",
    ")",
    "[",
    "]",
    ",",
    ".",
    ":",
    "forall x.",
    "exists x, y.",
    "∀",
    "!",
    "&",
    "|",
    "->",
    "<->",
    "U",
    "𝒰",
    "F",
    "G[",
    "0",
    "5",
    "5s",
    "inf",
    "∞",
    "<=",
    ">=",
    "=",
    "<",
    "\"s\"",
    "'",
    "\"",
    "`",
    "`n`",
    "_",
    "true",
    "response(",
    "at_most(2,",
    "respond_within(",
    "absence(",
    "\n",
    "\t",
    "@",
    "-",
    "-5",
    "é",
    "日",
    "\u{301}",
    "\\",
    "alwyas",
    "unitl",
    "X",
    "1.5",
    "[]",
    "<>",
    "F[0,3]",
    "args.x",
    "{",
    "“",
    "\u{feff}",
    "\r\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1500) as u32))]

    #[test]
    fn parser_survives_any_string(text in any::<String>()) {
        check_parse(&text);
    }

    #[test]
    fn parser_survives_any_token_sequence(picks in prop::collection::vec(0..PIECES.len(), 0..40), space in any::<bool>()) {
        let pieces: Vec<&str> = picks.iter().map(|pick| PIECES[*pick]).collect();
        check_parse(&pieces.join(if space { " " } else { "" }));
    }

    #[test]
    fn parser_survives_damaged_formulas(from in 0usize..160, length in 0usize..12, insert in 0..PIECES.len()) {
        let text = "G forall x, y. p(x,\"a b\",-3.5) & x >= 10 -> F[0,30s](respond_within(q(y), `r s`, 5) U<=3 absence(2, b))";
        let characters: Vec<char> = text.chars().collect();
        let (from, to) = (from.min(characters.len()), (from + length).min(characters.len()));
        let before: String = characters[..from].iter().collect();
        let after: String = characters[to.max(from)..].iter().collect();
        check_parse(&format!("{before}{after}"));
        check_parse(&format!("{before}{}{after}", PIECES[insert]));
    }
}
