//! `lictor explain`: the meaning of a formula, with examples and its automaton.

use std::io::Write;

use anyhow::{anyhow, bail};
use lictor_logic::{After, Analysis, Automaton, Facts, Spelling, Verdict};
use serde::Serialize;

use crate::args::{Document, ExplainArgs};
use crate::exit::Outcome;
use crate::formulas::{self, ListedFormula};
use crate::render::automaton::{self, AutomatonShape};
use crate::render::{dot, svg, word};

/// The most states in a picture, and in a text.
const MAX_DRAWN_STATES: usize = 120;
const MAX_LISTED_STATES: usize = 40;

/// Explains a formula.
pub(crate) fn run(args: &ExplainArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let listed = formulas::from_arguments(std::slice::from_ref(&args.formula), After::Latch)?;
    let [listed] = &listed[..] else { bail!("no formula given") };
    let mut analysis = Analysis::new(&listed.arena, listed.formula).map_err(|error| anyhow!("{error}"))?;
    let spelling = args.spelling.get();
    let automaton = analysis.automaton();
    let is_about_data = listed.monitor.is_about_data();
    let too_large = || match is_about_data {
        true => anyhow!("the formula is about data: it is judged from tables of the past and has no automaton"),
        false => anyhow!("the automaton has too many states or facts to show\n  hint: split the formula"),
    };
    if args.dot {
        let automaton = automaton.ok_or_else(too_large)?;
        out.write_all(dot::draw(&automaton, spelling).as_bytes())?;
    } else if args.svg {
        let automaton = automaton.ok_or_else(too_large)?;
        let states = automaton.states.len();
        if states > MAX_DRAWN_STATES {
            bail!(
                "the automaton has {states} states, over the limit of {MAX_DRAWN_STATES} for a picture\n  hint: use `--dot`"
            );
        }
        out.write_all(svg::draw(&automaton, &listed.show(spelling), spelling).as_bytes())?;
    } else {
        let explained = Explanation::new(listed, analysis, automaton);
        match args.format {
            Document::Text => explained.write_text(out, spelling)?,
            Document::Json => explained.write_json(out, spelling)?,
        }
    }
    Ok(Outcome::Compliant)
}

/// The explanation of a formula.
struct Explanation<'a> {
    listed: &'a ListedFormula,
    class: String,
    /// The shortest traces with each verdict at the end, and with each definite verdict.
    examples: Vec<(&'static str, Option<Vec<Facts>>)>,
    automaton: Option<Automaton>,
}

impl<'a> Explanation<'a> {
    fn new(listed: &'a ListedFormula, mut analysis: Analysis, automaton: Option<Automaton>) -> Explanation<'a> {
        let examples = vec![
            ("satisfied", analysis.shortest(Verdict::Satisfied)),
            ("violated", analysis.shortest(Verdict::Violated)),
            ("satisfied for good", analysis.shortest_definite(Verdict::Satisfied)),
            ("violated for good", analysis.shortest_definite(Verdict::Violated)),
        ];
        Explanation { listed, class: analysis.class().to_string(), examples, automaton }
    }

    fn write_text(&self, out: &mut dyn Write, spelling: Spelling) -> anyhow::Result<()> {
        let ListedFormula { arena, formula, .. } = self.listed;
        writeln!(out, "ascii    {}", self.listed.show(Spelling::Ascii))?;
        writeln!(out, "unicode  {}", self.listed.show(Spelling::Unicode))?;
        writeln!(out, "words    {}", self.listed.show(Spelling::Words))?;
        writeln!(out, "\nmeaning  {}", arena.english(*formula))?;
        writeln!(out, "class    {}", self.class)?;
        if self.listed.monitor.is_about_data() {
            writeln!(out, "judged   step by step, from tables of the past; there is no automaton")?;
            return Ok(());
        }
        let variables = self.listed.monitor.variables().join(", ");
        let binding = if variables.is_empty() { String::new() } else { format!(", for one value of {variables}") };
        writeln!(out, "\nshortest traces{binding}")?;
        for (verdict, trace) in &self.examples {
            let trace = trace.as_ref().map_or_else(|| "none".to_owned(), |trace| word::trace(trace));
            writeln!(out, "  {verdict:18}  {trace}")?;
        }
        match &self.automaton {
            Some(automaton) if automaton.states.len() <= MAX_LISTED_STATES => {
                let states = automaton.states.len();
                writeln!(out, "\nautomaton{binding}, {states} state{}", if states == 1 { "" } else { "s" })?;
                automaton::write(out, automaton, spelling)?;
            }
            Some(automaton) => {
                let states = automaton.states.len();
                writeln!(out, "\nautomaton, {states} states: `--dot` prints them all")?;
            }
            None => writeln!(out, "\nautomaton: too many states or facts to be shown")?,
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn Write, spelling: Spelling) -> anyhow::Result<()> {
        let example = |place: usize| self.examples.get(place).and_then(|(_, trace)| Some(word::shape(trace.as_ref()?)));
        let shape = ExplanationShape {
            v: 1,
            ascii: self.listed.show(Spelling::Ascii),
            unicode: self.listed.show(Spelling::Unicode),
            words: self.listed.show(Spelling::Words),
            meaning: self.listed.arena.english(self.listed.formula),
            class: &self.class,
            variables: self.listed.monitor.variables().iter().map(ToString::to_string).collect(),
            shortest: ShortestShape {
                satisfied: example(0),
                violated: example(1),
                satisfied_for_good: example(2),
                violated_for_good: example(3),
            },
            automaton: self.automaton.as_ref().map(|automaton| AutomatonShape::new(automaton, spelling)),
        };
        serde_json::to_writer_pretty(&mut *out, &shape)?;
        Ok(out.write_all(b"\n")?)
    }
}

#[derive(Serialize)]
struct ExplanationShape<'a> {
    v: u32,
    ascii: String,
    unicode: String,
    words: String,
    meaning: String,
    class: &'a str,
    /// The variables; the members below are about one binding of them.
    variables: Vec<String>,
    shortest: ShortestShape,
    automaton: Option<AutomatonShape>,
}

#[derive(Serialize)]
struct ShortestShape {
    satisfied: Option<Vec<word::PositionShape>>,
    violated: Option<Vec<word::PositionShape>>,
    satisfied_for_good: Option<Vec<word::PositionShape>>,
    violated_for_good: Option<Vec<word::PositionShape>>,
}
