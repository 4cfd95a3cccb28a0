//! tmp
use lictor_logic::*;
fn run(text: &str, trace: &[&str]) -> (String, Verdict) {
    let mut arena = Arena::new();
    let f = arena.parse(text).unwrap();
    let mut w = Watch::new();
    let id = w.add(Monitor::new(&arena, f).unwrap(), After::Latch);
    let mut s = w.start();
    let mut out = String::new();
    for t in trace {
        let known = t.split_whitespace().map(|x| Fact::parse(x).unwrap()).collect();
        w.step(&mut s, &Facts { known, ..Facts::default() });
        out.push(match w.verdict(&mut s, id) { Verdict::Satisfied => 't', Verdict::Violated => 'f', _ => '?' });
    }
    (out, w.end(&mut s, id))
}
#[test]
fn smoke() {
    for (f, t) in [
        ("F a & G !a", vec![""]),
        ("X(F a & G !a)", vec![""]),
        ("F a | G !a", vec!["", ""]),
        ("G(a -> F b)", vec!["a", "", "b", "a"]),
        ("X !a", vec![""]), ("X G a", vec![""]), ("G(a -> X !b)", vec!["a", "", "a", "b"]),
        ("G(a -> O b)", vec!["b", "a", "", "a"]),
        ("G(a -> O[0,1] b)", vec!["b", "a", "a"]),
        ("a & G !O a", vec!["a"]),
        ("(F a) U (F G a)", vec!["a", "", "a"]),
        ("forall s. G(e(s) -> G !d(s))", vec!["e(x)", "d(y)", "d(x)"]),
        ("forall s. G(e(s) -> G !d(s)) & (F q | G !q)", vec!["e(x)", "d(y)", "d(x)"]),
        ("forall x. F(p(x) | q)", vec!["p(1)", "", "q"]),
        ("exists x. F p(x)", vec!["", "p(1)"]),
        ("exists x. G p(x)", vec!["p(1)", "p(1) p(2)", "p(2)"]),
        ("forall x, a. G(pay(x,a) & a > 10 -> O ok(x))", vec!["pay(bob,5)", "ok(al)", "pay(al,50)", "pay(bob,50)"]),
        ("forall k, c. G(act(k,c) -> !((!resume(k)) S stop(k)))", vec!["act(1,1)", "stop(1)", "act(2,7)", "resume(1)", "act(1,2)", "stop(1)", "act(1,3)"]),
    ] {
        println!("{f}: {:?} -> {:?}", t, run(f, &t));
    }
}
