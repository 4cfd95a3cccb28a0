//! Random expressions on random arguments give the value that the interpreter of the `cel` crate gives.
//!
//! If it gives a value, we give the same value; if it gives an error, we give absent or unknown. The generator notes
//! where it wrote something on which the two differ by intention (see the module `expression`): floats that become
//! infinite, and loops that pass over elements which lack what is asked for. Where values of two types are compared, only
//! values are compared with the interpreter's: whether a tool may read one as the other, it does not ask.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use cel::{Context, Env, Value as Theirs};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Number, Object};
use lictor_policy::expression::{CelValue, Evaluation, EvaluationScope, Expression, Tables};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Writes expressions, choosing by bytes; when they run out, the simplest choice is made.
struct Writer<'b> {
    bytes: &'b [u8],
    /// The variables of the enclosing loops, with their values.
    locals: Vec<(String, Sort)>,
    /// Something on which we give a value and the interpreter an error.
    lenient: bool,
    /// Something on which the interpreter gives a value and we do not: a float that is infinite, a list plus a map.
    lax: bool,
    /// A value of any type, which may be compared with one of another type.
    of_any_type: bool,
    /// A comparison of a whole number with a float, which is inexact in the interpreter.
    mixed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Whole,
    Float,
    Text,
    Bool,
    Wholes,
    Texts,
    Map,
}

impl Writer<'_> {
    fn pick(&mut self, count: usize) -> usize {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        usize::from(*first) % count
    }

    fn one_of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.pick(choices.len())]
    }

    /// An expression of a sort; one time in sixteen of any sort.
    fn write(&mut self, sort: Sort, depth: usize) -> String {
        let sorts = [Sort::Whole, Sort::Float, Sort::Text, Sort::Bool, Sort::Wholes, Sort::Texts, Sort::Map];
        let wanted = sort;
        let sort = if self.pick(16) == 15 { sorts[self.pick(7)] } else { sort };
        // Only we add up whole numbers and floats.
        if wanted != sort && matches!(sort, Sort::Whole | Sort::Float) {
            (self.lenient, self.mixed) = (true, true);
        }
        self.lax |= wanted != sort && sort == Sort::Map;
        self.of_any_type |= wanted != sort;
        let locals: Vec<&(String, Sort)> = self.locals.iter().filter(|(_, local)| *local == sort).collect();
        if let Some((name, _)) = locals.last() {
            let name = name.clone();
            if self.pick(3) == 1 {
                return name;
            }
        }
        match sort {
            Sort::Whole => self.whole(depth),
            Sort::Float => self.float(depth),
            Sort::Text => self.text(depth),
            Sort::Bool => self.truth(depth),
            Sort::Wholes => self.wholes(depth),
            Sort::Texts => self.texts(depth),
            Sort::Map => self.one_of(&["args.m", "{'a': 1}", "{'k': 7}", "args.mm", "args.x"]).to_owned(),
        }
    }

    fn two(&mut self, sort: Sort, depth: usize, operators: &[&str]) -> String {
        let (left, right) = (self.write(sort, depth - 1), self.write(sort, depth - 1));
        format!("({left} {} {right})", self.one_of(operators))
    }

    fn choice(&mut self, sort: Sort, depth: usize) -> String {
        let (condition, then) = (self.write(Sort::Bool, depth - 1), self.write(sort, depth - 1));
        format!("({condition} ? {then} : {})", self.write(sort, depth - 1))
    }

    fn whole(&mut self, depth: usize) -> String {
        match if depth == 0 { 0 } else { self.pick(8) } {
            0 | 1 => {
                let choices = [
                    "1",
                    "0",
                    "2",
                    "7",
                    "(-3)",
                    "args.i",
                    "args.j",
                    "args.m.a",
                    "args.m.none",
                    "args.w[0]",
                    "args.w[9]",
                    "9223372036854775807",
                    "args.m['a']",
                    "args.none.x",
                    "args.x",
                ];
                self.one_of(&choices).to_owned()
            }
            2 => self.two(Sort::Whole, depth, &["+", "-", "*"]),
            3 => self.two(Sort::Whole, depth, &["/", "%"]),
            4 => format!("size({})", self.write(Sort::Text, depth - 1)),
            5 => format!("{}.size()", self.write(Sort::Wholes, depth - 1)),
            6 => format!("(-({}))", self.write(Sort::Whole, depth - 1)),
            _ => self.choice(Sort::Whole, depth),
        }
    }

    fn float(&mut self, depth: usize) -> String {
        match if depth == 0 { 0 } else { self.pick(5) } {
            0 | 1 => self.one_of(&["0.5", "1.0", "(-2.25)", "1e10", "0.0", "args.f", "args.m.none"]).to_owned(),
            2 => {
                self.lax = true;
                self.two(Sort::Float, depth, &["+", "-", "*", "/"])
            }
            3 => format!("double({})", self.write(Sort::Whole, depth - 1)),
            _ => self.choice(Sort::Float, depth),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        match if depth == 0 { 0 } else { self.pick(12) } {
            0 | 1 => {
                let choices = ["'a'", "''", "'Ab '", "'äb'", "args.s", "args.t", "args.n[0]", "args.n[7]", "args.none"];
                self.one_of(&choices).to_owned()
            }
            2 => self.two(Sort::Text, depth, &["+"]),
            3 => format!("{}.lowerAscii()", self.write(Sort::Text, depth - 1)),
            4 => format!("{}.upperAscii()", self.write(Sort::Text, depth - 1)),
            5 => format!("{}.trim()", self.write(Sort::Text, depth - 1)),
            6 => {
                let (text, old) = (self.write(Sort::Text, depth - 1), self.write(Sort::Text, depth - 1));
                format!("{text}.replace({old}, {})", self.write(Sort::Text, depth - 1))
            }
            7 => {
                let (text, start) = (self.write(Sort::Text, depth - 1), self.write(Sort::Whole, depth - 1));
                format!("{text}.substring({start})")
            }
            8 => {
                let (text, start) = (self.write(Sort::Text, depth - 1), self.write(Sort::Whole, depth - 1));
                format!("{text}.substring({start}, {})", self.write(Sort::Whole, depth - 1))
            }
            9 => {
                let list = self.write(Sort::Texts, depth - 1);
                format!("{list}.join({})", self.write(Sort::Text, depth - 1))
            }
            10 => {
                let sort = [Sort::Whole, Sort::Bool, Sort::Text, Sort::Float][self.pick(4)];
                format!("string({})", self.write(sort, depth - 1))
            }
            _ => self.choice(Sort::Text, depth),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        match if depth == 0 { 0 } else { self.pick(16) } {
            0 | 1 => self.one_of(&["true", "false", "args.b", "args.c", "args.m.none", "args.x"]).to_owned(),
            2 | 3 => self.two(Sort::Bool, depth, &["&&", "||"]),
            4 => format!("(!{})", self.write(Sort::Bool, depth - 1)),
            5 => self.two(Sort::Whole, depth, &["<", "<=", ">", ">=", "==", "!="]),
            6 => self.two(Sort::Float, depth, &["<", "<=", ">", ">=", "==", "!="]),
            7 => self.two(Sort::Text, depth, &["<", "<=", ">", ">=", "==", "!="]),
            8 => {
                let sort = [Sort::Wholes, Sort::Texts, Sort::Map, Sort::Bool][self.pick(4)];
                self.two(sort, depth, &["==", "!="])
            }
            9 => {
                self.mixed = true;
                let (left, right) = (self.write(Sort::Whole, depth - 1), self.write(Sort::Float, depth - 1));
                format!("({left} {} {right})", self.one_of(&["<", "<=", "==", "!=", ">", ">="]))
            }
            10 => {
                let (text, test) =
                    (self.write(Sort::Text, depth - 1), self.one_of(&["contains", "startsWith", "endsWith"]));
                format!("{text}.{test}({})", self.write(Sort::Text, depth - 1))
            }
            11 => self.one_of(&["has(args.m.a)", "has(args.none)", "has(args.m.zz)", "has(args.x)"]).to_owned(),
            12 => {
                let (value, list) =
                    [(Sort::Whole, Sort::Wholes), (Sort::Text, Sort::Texts), (Sort::Text, Sort::Map)][self.pick(3)];
                format!("({} in {})", self.write(value, depth - 1), self.write(list, depth - 1))
            }
            13 => self.choice(Sort::Bool, depth),
            _ => {
                let question = self.one_of(&["all", "exists", "all", "exists", "exists_one"]);
                self.lenient |= question == "exists_one";
                self.round(question, Sort::Bool, depth)
            }
        }
    }

    /// A loop over a list, with a body of a sort.
    fn round(&mut self, question: &str, body: Sort, depth: usize) -> String {
        let of = [(Sort::Wholes, Sort::Whole), (Sort::Texts, Sort::Text)][self.pick(2)];
        self.round_of(of, question, body, depth)
    }

    /// A loop over a list of a sort, whose elements are of another.
    fn round_of(&mut self, (list, element): (Sort, Sort), question: &str, body: Sort, depth: usize) -> String {
        let list = self.write(list, depth - 1);
        let name = format!("v{}", self.locals.len());
        self.locals.push((name.clone(), element));
        let body = self.write(body, depth - 1);
        self.locals.pop();
        format!("{list}.{question}({name}, {body})")
    }

    fn list(&mut self, sort: Sort, element: Sort, depth: usize, name: &str) -> String {
        match if depth == 0 { 0 } else { self.pick(7) } {
            0 | 1 => name.to_owned(),
            2 => format!("[{}, {}]", self.write(element, depth - 1), self.write(element, depth - 1)),
            3 => self.two(sort, depth, &["+"]),
            4 => self.round("map", element, depth),
            5 => {
                self.lenient = true;
                // What is left of a list is of its sort.
                self.round_of((sort, element), "filter", Sort::Bool, depth)
            }
            _ => self.choice(sort, depth),
        }
    }

    fn wholes(&mut self, depth: usize) -> String {
        let name = self.one_of(&["args.w", "[]", "[1, 2, 2]", "args.x"]);
        self.list(Sort::Wholes, Sort::Whole, depth, name)
    }

    fn texts(&mut self, depth: usize) -> String {
        if depth > 0 && self.pick(5) == 4 {
            let text = self.write(Sort::Text, depth - 1);
            return format!("{text}.split({})", self.write(Sort::Text, depth - 1));
        }
        let name = self.one_of(&["args.n", "[]", "['a', 'b']", "args.none"]);
        self.list(Sort::Texts, Sort::Text, depth, name)
    }
}

fn json() -> impl Strategy<Value = Json> {
    let whole = prop_oneof![Just(0), Just(1), -5_i64..5, Just(i64::MIN), Just(i64::MAX)];
    let text = proptest::sample::select(&["", "a", "b", "Ab", "äb", " a ", "a,b"][..]).prop_map(Json::from);
    let anything = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        text.clone(),
        proptest::collection::vec(whole.clone().prop_map(Json::from), 0..3).prop_map(Json::Array),
    ];
    let float = prop_oneof![Just(0.0), Just(0.5), Just(1.0), -3.0..3.0_f64, Just(9_007_199_254_740_992.0)];
    let list = |element: BoxedStrategy<Json>| proptest::collection::vec(element, 0..4).prop_map(Json::Array);
    let members = (
        [whole.clone(), whole.clone()],
        float.prop_map(|float| Json::Number(Number::Float(float))),
        [text.clone(), text.clone()],
        [any::<bool>(), any::<bool>()],
        list(whole.clone().prop_map(Json::from).boxed()),
        list(text.boxed()),
        proptest::option::of(whole),
        anything,
    );
    members.prop_map(|([i, j], f, [s, t], [b, c], w, n, a, x)| {
        let mut inner = Object::new();
        if let Some(a) = a {
            inner.insert("a", a);
        }
        let mut object = Object::new();
        for (key, value) in [("i", Json::from(i)), ("j", Json::from(j)), ("f", f), ("s", s), ("t", t)] {
            object.insert(key, value);
        }
        for (key, value) in [("b", Json::from(b)), ("c", Json::from(c)), ("w", w), ("n", n), ("x", x)] {
            object.insert(key, value);
        }
        object.insert("m", inner);
        // Of one member each: the interpreter goes through maps in random order.
        object.insert("mm", Object::from_iter([("k".into(), Json::from(7))]));
        Json::Object(object)
    })
}

fn theirs(json: &Json) -> Theirs {
    match json {
        Json::Null => Theirs::Null,
        Json::Bool(value) => Theirs::Bool(*value),
        Json::Number(Number::Integer(value)) => Theirs::Int(*value),
        Json::Number(number) => Theirs::Float(number.as_f64()),
        Json::String(text) => Theirs::from(text.as_str()),
        Json::Array(items) => Theirs::from(items.iter().map(theirs).collect::<Vec<_>>()),
        Json::Object(object) => {
            let members = object.iter().map(|(key, value)| (key.to_string(), theirs(value)));
            Theirs::from(members.collect::<HashMap<String, Theirs>>())
        }
    }
}

fn is_same(ours: &CelValue<'_>, theirs: &Theirs) -> bool {
    match (ours, theirs) {
        (CelValue::Null, Theirs::Null) => true,
        (CelValue::Bool(ours), Theirs::Bool(theirs)) => ours == theirs,
        (CelValue::Number(Number::Integer(ours)), Theirs::Int(theirs)) => ours == theirs,
        (CelValue::Number(Number::Float(ours)), Theirs::Float(theirs)) => ours == theirs,
        (CelValue::Text(ours), Theirs::String(theirs)) => **ours == ***theirs,
        (CelValue::List(ours), Theirs::List(theirs)) => {
            ours.len() == theirs.len()
                && theirs.iter().enumerate().all(|(place, theirs)| is_same(&ours.get(place).unwrap(), theirs))
        }
        (CelValue::Map(ours), Theirs::Map(theirs)) => {
            ours.len() == theirs.map.len()
                && theirs.map.iter().all(|(key, theirs)| match key {
                    cel::objects::Key::String(key) => ours.get(key).is_some_and(|ours| is_same(&ours, theirs)),
                    _ => false,
                })
        }
        _ => false,
    }
}

#[test]
fn random_expressions_agree_with_cel_interpreter() {
    let mut env = Env::stdlib();
    env.add_extension(cel::extensions::strings).unwrap();
    let env = Arc::new(env);
    let [values, errors, refused] = [Cell::new(0), Cell::new(0), Cell::new(0)];
    let count = |counter: &Cell<u32>| counter.set(counter.get() + 1);
    let mut runner = TestRunner::new(Config { cases: 8_000, failure_persistence: None, ..Config::default() });
    let cases = (proptest::collection::vec(any::<u8>(), 1..60), json());
    let outcome = runner.run(&cases, |(bytes, args)| {
        let mut writer =
            Writer { bytes: &bytes, locals: Vec::new(), lenient: false, lax: false, of_any_type: false, mixed: false };
        let sort =
            [Sort::Bool, Sort::Bool, Sort::Whole, Sort::Float, Sort::Text, Sort::Wholes, Sort::Texts][writer.pick(7)];
        let source = writer.write(sort, 4);

        let mut context = Context::with_env(Arc::clone(&env));
        context.add_variable_from_value("args", theirs(&args));
        let theirs = env.compile(&source).unwrap().execute(&context);

        let mut event = Event::new(Kind::ToolCall);
        event.args = Some(Arguments::Value(args.clone()));
        let expression = match Expression::compile(&source, &Tables::default()) {
            Ok(expression) => expression,
            Err(refusal) => {
                let known = ["never compared", "neither less nor", "`in` looks into", "only lists and maps", "has no"];
                let message = &refusal.errors[0].message;
                prop_assert!(known.iter().any(|known| message.contains(known)), "{source}: {refusal}");
                count(&refused);
                return Ok(());
            }
        };
        let scope = EvaluationScope::new(&event);
        let is_inexact = writer.mixed && format!("{source}{args}").contains("9223372036854775807");
        let has_equality = ["==", "!=", " in "].iter().any(|operator| source.contains(operator));
        let compares_types = has_equality && (writer.of_any_type || source.contains("args.x"));
        match (expression.evaluate(&scope), theirs) {
            _ if is_inexact => {}
            (Evaluation::Value(ours), Ok(theirs)) => {
                count(&values);
                prop_assert!(is_same(&ours, &theirs), "{source}\non {args}\nours   {ours:?}\ntheirs {theirs:?}");
            }
            (Evaluation::Absent | Evaluation::Unknown(_), Err(_)) => count(&errors),
            (Evaluation::Unknown(_), Ok(_)) if writer.lax => {}
            (Evaluation::Absent | Evaluation::Unknown(_), Ok(_)) if compares_types => {}
            (Evaluation::Value(_), Err(_)) if writer.lenient => {}
            (ours, theirs) => {
                prop_assert!(false, "{source}\non {args}\nours   {ours:?}\ntheirs {theirs:?}");
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let [values, errors, refused] = [values.get(), errors.get(), refused.get()];
    assert!(values > 2000 && errors > 1000 && refused < 2000, "{values} values, {errors} errors, {refused} refused");
}
