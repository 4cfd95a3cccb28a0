//! Named patterns: their formulas, and their meaning on every short trace.

use lictor_logic::{Arena, Ending, Facts, Formula, Spelling, Word, evaluate, patterns};

fn parse(text: &str) -> (Arena, Formula) {
    let mut arena = Arena::new();
    let f = arena.parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    (arena, f)
}

fn expand(text: &str) -> String {
    let (arena, f) = parse(text);
    arena.show(f, Spelling::Ascii).to_string()
}

#[test]
fn dwyer_patterns_expand_to_published_formulas() {
    for (pattern, expect) in [
        ("absence(p)", "G !p"),
        ("absence_before(p,r)", "F r -> !p U r"),
        ("absence_after(p,q)", "G(q -> G !p)"),
        ("absence_between(p,q,r)", "G(q & !r & F r -> !p U r)"),
        ("absence_after_until(p,q,r)", "G(q & !r -> !p W r)"),
        ("existence(p)", "F p"),
        ("existence_before(p,r)", "!r W (p & !r)"),
        ("existence_after(p,q)", "G !q | F(q & F p)"),
        ("existence_between(p,q,r)", "G(q & !r -> !r W (p & !r))"),
        ("existence_after_until(p,q,r)", "G(q & !r -> !r U (p & !r))"),
        ("universality(p)", "G p"),
        ("universality_before(p,r)", "F r -> p U r"),
        ("universality_after(p,q)", "G(q -> G p)"),
        ("universality_between(p,q,r)", "G(q & !r & F r -> p U r)"),
        ("universality_after_until(p,q,r)", "G(q & !r -> p W r)"),
        ("precedence(s,p)", "!p W s"),
        ("precedence_before(s,p,r)", "F r -> !p U (s | r)"),
        ("precedence_after(s,p,q)", "G !q | F(q & !p W s)"),
        ("precedence_between(s,p,q,r)", "G(q & !r & F r -> !p U (s | r))"),
        ("precedence_after_until(s,p,q,r)", "G(q & !r -> !p W (s | r))"),
        ("response(p,s)", "G(p -> F s)"),
        ("response_before(p,s,r)", "F r -> (p -> !r U (s & !r)) U r"),
        ("response_after(p,s,q)", "G(q -> G(p -> F s))"),
        ("response_between(p,s,q,r)", "G(q & !r & F r -> (p -> !r U (s & !r)) U r)"),
        ("response_after_until(p,s,q,r)", "G(q & !r -> (p -> !r U (s & !r)) W r)"),
        ("response_without(p,q,r)", "G(p -> !q U r)"),
        ("response_chain(p,s,t)", "G(p -> F(s & X F t))"),
        ("precedence_chain(s,t,p)", "F p -> !p U (s & !p & X(!p U t))"),
        ("respond_within(p,s,30s)", "G(p -> F[0,30s] s)"),
        ("respond_within(p,s,5)", "G(p -> F[0,5] s)"),
        ("respond_within(p,s,[1,5])", "G(p -> F[1,5] s)"),
        ("respond_within(p,s,<=2m)", "G(p -> F[0,2m] s)"),
    ] {
        assert_eq!(expand(pattern), expect, "{pattern}");
    }
}

#[test]
fn declare_templates_expand_to_formulas() {
    for (pattern, expect) in [
        ("init(a)", "a"),
        ("end(a)", "G F a"),
        ("last(a)", "G F a"),
        ("existence(1,a)", "F a"),
        ("existence(2,a)", "F(a & X F a)"),
        ("absence(1,a)", "G !a"),
        ("absence(3,a)", "G(a -> N G(a -> N G !a))"),
        ("at_least(3,a)", "F(a & X F(a & X F a))"),
        ("at_most(0,a)", "G !a"),
        ("at_most(1,a)", "G(a -> N G !a)"),
        ("exactly(0,a)", "G !a"),
        ("exactly(1,a)", "F a & G(a -> N G !a)"),
        ("respond_in_turns(a,b,c,1)", "G(a -> X(!c U b))"),
        ("choice(a,b)", "F a | F b"),
        ("exclusive_choice(a,b)", "(F a | F b) & !(F a & F b)"),
        ("responded_existence(a,b)", "F a -> F b"),
        ("co_existence(a,b)", "F a <-> F b"),
        ("succession(a,b)", "G(a -> F b) & !b W a"),
        ("alternate_response(a,b)", "G(a -> X(!a U b))"),
        ("alternate_precedence(a,b)", "!b W a & G(b -> N(!b W a))"),
        ("alternate_succession(a,b)", "G(a -> X(!a U b)) & !b W a & G(b -> N(!b W a))"),
        ("chain_response(a,b)", "G(a -> X b)"),
        ("chain_precedence(a,b)", "G(b -> Y a)"),
        ("chain_succession(a,b)", "G(a -> X b) & G(b -> Y a)"),
        ("not_co_existence(a,b)", "!(F a & F b)"),
        ("not_succession(a,b)", "G(a -> !F b)"),
        ("not_chain_succession(a,b)", "G(a -> N !b)"),
    ] {
        assert_eq!(expand(pattern), expect, "{pattern}");
    }
}

#[test]
fn pattern_arguments_may_be_any_formula() {
    assert_eq!(expand("response(a & b, c | d)"), "G(a & b -> F(c | d))");
    assert_eq!(expand("!response(a -> b, absence(c))"), "!G((a -> b) -> F G !c)");
    assert_eq!(expand("forall x. response(p(x), x > 3)"), "forall x. G(p(x) -> F(x > 3))");
    assert_eq!(expand("forall x. response(3 < x, q(x)) & r"), "forall x. G(3 < x -> F q(x)) & r");
    assert_eq!(expand("G(a -> at_most(1, b) U c)"), "G(a -> G(b -> N G !b) U c)");
}

#[test]
fn pattern_parameter_names_do_not_capture_facts() {
    assert_eq!(expand("response(s, p)"), "G(s -> F p)");
    assert_eq!(expand("absence_between(r, p, q)"), "G(p & !q & F q -> !r U q)");
    assert_eq!(expand("at_most(1, rest)"), "G(rest -> N G !rest)");
}

#[test]
fn pattern_table_shows_the_expansion() {
    for pattern in patterns() {
        let arguments: Vec<&str> =
            pattern.parameters.iter().map(|name| if *name == "n" { "2" } else { *name }).collect();
        if !pattern.parameters.contains(&"bound") {
            let call = format!("{}({})", pattern.name, arguments.join(", "));
            assert_eq!(expand(&call), pattern.formula(), "{call}");
        }
        assert!(!pattern.meaning.is_empty() && pattern.to_string().starts_with(pattern.name));
    }
}

// What each pattern promises, without temporal logic.

/// Where a fact is true: one bit a position.
type Track = Vec<bool>;

/// Compares a pattern with a promise on every trace of up to `longest` positions over the facts.
fn promises(pattern: &str, facts: &[&str], longest: u32, promise: impl Fn(&[Track]) -> bool) {
    let (arena, f) = parse(pattern);
    for length in 1..=longest {
        for bits in 0..1u32 << (facts.len() as u32 * length) {
            let at = |position: u32, fact: usize| bits >> (position as usize * facts.len() + fact) & 1 == 1;
            let holding =
                |position| facts.iter().enumerate().filter(move |(i, _)| at(position, *i)).map(|(_, fact)| *fact);
            let positions: Vec<Facts> =
                (0..length).map(|position| Facts::from_names(holding(position)).unwrap()).collect();
            let tracks: Vec<Track> = (0..facts.len()).map(|i| (0..length).map(|n| at(n, i)).collect()).collect();
            let said = evaluate(&arena, f, &Word { positions: &positions, ending: Ending::Stops });
            assert_eq!(said, Some(promise(&tracks)), "{pattern} on {tracks:?}");
        }
    }
}

#[test]
fn pattern_scopes_limit_where_patterns_apply() {
    type Promise = fn(&[bool], &[bool]) -> bool;
    let kinds: [(&str, &str, Promise); 5] = [
        ("absence", "p", |p, _| !p.contains(&true)),
        ("existence", "p", |p, _| p.contains(&true)),
        ("universality", "p", |p, _| !p.contains(&false)),
        ("precedence", "s, p", |p, s| (0..p.len()).all(|i| !p[i] || s[..=i].contains(&true))),
        ("response", "p, s", |p, s| (0..p.len()).all(|i| !p[i] || s[i..].contains(&true))),
    ];
    let facts = ["p", "s", "q", "r"];
    let next = |track: &[bool], from: usize| (from..track.len()).find(|i| track[*i]);
    for (kind, of, promise) in kinds {
        promises(&format!("{kind}({of})"), &facts, 3, |t| promise(&t[0], &t[1]));
        promises(&format!("{kind}_before({of}, r)"), &facts, 3, |t| {
            next(&t[3], 0).is_none_or(|end| promise(&t[0][..end], &t[1][..end]))
        });
        promises(&format!("{kind}_after({of}, q)"), &facts, 3, |t| {
            let mut starts = (0..t[2].len()).filter(|i| t[2][*i]);
            match kind {
                // As published, any q may open the scope of precedence.
                "precedence" => !t[2].contains(&true) || starts.any(|i| promise(&t[0][i..], &t[1][i..])),
                _ => starts.next().is_none_or(|i| promise(&t[0][i..], &t[1][i..])),
            }
        });
        for (scope, is_open) in [("between", false), ("after_until", true)] {
            promises(&format!("{kind}_{scope}({of}, q, r)"), &facts, 3, |t| {
                (0..t[2].len()).filter(|i| t[2][*i] && !t[3][*i]).all(|i| match next(&t[3], i) {
                    Some(end) => promise(&t[0][i..end], &t[1][i..end]),
                    None => !is_open || promise(&t[0][i..], &t[1][i..]),
                })
            });
        }
    }
}

#[test]
fn counting_patterns_count_steps() {
    let count = |track: &[bool]| track.iter().filter(|bit| **bit).count();
    for n in 0..4 {
        promises(&format!("at_most({n}, a)"), &["a"], 5, |t| count(&t[0]) <= n);
        promises(&format!("exactly({n}, a)"), &["a"], 5, |t| count(&t[0]) == n);
        promises(&format!("at_least({}, a)", n + 1), &["a"], 5, |t| count(&t[0]) > n);
        promises(&format!("existence({}, a)", n + 1), &["a"], 5, |t| count(&t[0]) > n);
        promises(&format!("absence({}, a)", n + 1), &["a"], 5, |t| count(&t[0]) <= n);
    }
}

#[test]
fn response_in_turns_counts_turns() {
    for n in 1..4 {
        promises(&format!("respond_in_turns(a, b, c, {n})"), &["a", "b", "c"], 4, |t| {
            let is_met = |from: usize| {
                let place = (from + 1..t[1].len()).find(|place| t[1][*place]);
                place.is_some_and(|place| t[2][from + 1..place].iter().filter(|turn| **turn).count() < n)
            };
            (0..t[0].len()).filter(|place| t[0][*place]).all(is_met)
        });
    }
}

#[test]
fn declare_templates_match_their_promises() {
    let any = |track: &[bool]| track.contains(&true);
    let each = |track: &[bool], promise: &dyn Fn(usize) -> bool| (0..track.len()).filter(|i| track[*i]).all(promise);
    let check = |pattern: &str, promise: &dyn Fn(&[bool], &[bool]) -> bool| {
        promises(pattern, &["a", "b"], 5, |t| promise(&t[0], &t[1]));
    };
    check("init(a)", &|a, _| a[0]);
    check("end(a)", &|a, _| a[a.len() - 1]);
    check("choice(a,b)", &|a, b| any(a) || any(b));
    check("exclusive_choice(a,b)", &|a, b| any(a) != any(b));
    check("responded_existence(a,b)", &|a, b| !any(a) || any(b));
    check("co_existence(a,b)", &|a, b| any(a) == any(b));
    check("succession(a,b)", &|a, b| each(a, &|i| any(&b[i..])) && each(b, &|i| any(&a[..=i])));
    check("chain_response(a,b)", &|a, b| each(a, &|i| b.get(i + 1) == Some(&true)));
    check("chain_precedence(a,b)", &|a, b| each(b, &|i| i > 0 && a[i - 1]));
    check("chain_succession(a,b)", &|a, b| {
        each(a, &|i| b.get(i + 1) == Some(&true)) && each(b, &|i| i > 0 && a[i - 1])
    });
    check("not_co_existence(a,b)", &|a, b| !any(a) || !any(b));
    check("not_succession(a,b)", &|a, b| each(a, &|i| !any(&b[i..])));
    check("not_chain_succession(a,b)", &|a, b| each(a, &|i| b.get(i + 1) != Some(&true)));
    let alternates =
        |a: &[bool], b: &[bool]| each(a, &|i| (i + 1..b.len()).find(|j| b[*j]).is_some_and(|j| !any(&a[i + 1..j])));
    let preceded = |a: &[bool], b: &[bool]| {
        each(b, &|i| {
            let last = (0..i).rev().find(|j| b[*j]).map_or(0, |j| j + 1);
            any(&a[last..=i])
        })
    };
    check("alternate_response(a,b)", &alternates);
    check("alternate_precedence(a,b)", &preceded);
    check("alternate_succession(a,b)", &|a, b| alternates(a, b) && preceded(a, b));
}

#[test]
fn chain_patterns_require_order() {
    promises("response_chain(p,s,t)", &["p", "s", "t"], 4, |k| {
        (0..k[0].len()).filter(|i| k[0][*i]).all(|i| (i..k[1].len()).any(|j| k[1][j] && k[2][j + 1..].contains(&true)))
    });
    promises("precedence_chain(s,t,p)", &["p", "s", "t"], 4, |k| {
        // Before the first p there is an s, and a t after it, with p allowed at that t.
        (0..k[0].len())
            .find(|i| k[0][*i])
            .is_none_or(|first| (0..first).any(|j| k[1][j] && k[2][j + 1..=first].contains(&true)))
    });
}
