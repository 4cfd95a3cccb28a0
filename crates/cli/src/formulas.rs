//! Reads and compiles formulas from the command line or a file, before any trace is opened.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use lictor_logic::{After, Arena, Formula, Monitor, Node, ParseErrors, Spelling};

use crate::complaint::{self, Complaint, TextFault};

/// A compiled formula and its source.
#[derive(Clone, Debug)]
pub(crate) struct ListedFormula {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// The file and the line, if it came from a file.
    pub(crate) place: Option<String>,
    pub(crate) arena: Arena,
    pub(crate) formula: Formula,
    pub(crate) monitor: Monitor,
}

impl ListedFormula {
    /// Returns the formula in a notation.
    pub(crate) fn show(&self, spelling: Spelling) -> String {
        self.arena.show(self.formula, spelling).to_string()
    }

    /// Returns the names of its facts.
    pub(crate) fn names(&self) -> BTreeSet<Arc<str>> {
        let mut names = BTreeSet::new();
        collect_names(&self.arena, self.formula, &mut names);
        names
    }
}

fn collect_names(arena: &Arena, f: Formula, names: &mut BTreeSet<Arc<str>>) {
    if let Node::Fact(atom) = &arena[f] {
        names.insert(atom.name.clone());
    }
    arena[f].operands().iter().for_each(|operand| collect_names(arena, *operand, names));
}

/// Reads formulas given as arguments.
pub(crate) fn from_arguments(texts: &[String], after: After) -> anyhow::Result<Vec<ListedFormula>> {
    let mut collector = FormulaCollector::new(after);
    for (index, text) in texts.iter().enumerate() {
        let name = if texts.len() == 1 { "formula".to_owned() } else { format!("formula {}", index + 1) };
        collector.add(text, &name, 1, None);
    }
    collector.finish()
}

/// Reads a file with one formula per line; blank lines and lines that start with `#` are skipped.
pub(crate) fn from_file(path: &Path, after: After) -> anyhow::Result<Vec<ListedFormula>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the formulas in `{name}`"))?;
    let mut collector = FormulaCollector::new(after);
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            collector.add(line, &name, index + 1, Some(format!("{name}:{}", index + 1)));
        }
    }
    if collector.listed.is_empty() && collector.errors.is_empty() {
        bail!("no formula in `{name}`\n  hint: write one formula per line; `#` starts a comment line");
    }
    collector.finish()
}

/// Collects compiled formulas and errors.
struct FormulaCollector {
    after: After,
    listed: Vec<ListedFormula>,
    errors: Vec<String>,
}

impl FormulaCollector {
    fn new(after: After) -> FormulaCollector {
        FormulaCollector { after, listed: Vec::new(), errors: Vec::new() }
    }

    /// Adds a formula; `first_line` is its first line in the file.
    fn add(&mut self, text: &str, name: &str, first_line: usize, place: Option<String>) {
        let mut arena = Arena::new();
        let formula = match arena.parse(text) {
            Ok(formula) => formula,
            Err(errors) => return self.errors.extend(complaints(&errors, text, name, first_line)),
        };
        match Monitor::with_after(&arena, formula, self.after) {
            Ok(monitor) => {
                let number = self.listed.len() + 1;
                self.listed.push(ListedFormula { number, place, arena, formula, monitor });
            }
            Err(error) => {
                let shown = arena.show(formula, Spelling::Ascii);
                let (message, hint) = (error.message(), error.hint());
                self.errors.push(format!("{name}:{first_line}: error: {message}\n  {shown}\n  hint: {hint}"));
            }
        }
    }

    fn finish(self) -> anyhow::Result<Vec<ListedFormula>> {
        self.errors.iter().for_each(|error| complaint::say(error));
        match self.errors.len() {
            0 => Ok(self.listed),
            _ => bail!("invalid formulas; nothing was judged"),
        }
    }
}

fn complaints(errors: &ParseErrors, text: &str, name: &str, first_line: usize) -> Vec<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let show = |error: &lictor_logic::ParseError| {
        // A formula on the command line may have several lines; an error is shown in its own line.
        let start: usize = lines.iter().take(error.line() - 1).map(|line| line.len() + 1).sum();
        let line = lines.get(error.line() - 1).copied().unwrap_or("");
        let span = error.span().start.saturating_sub(start)..error.span().end.saturating_sub(start).min(line.len());
        let fault = TextFault::new(span, error.message(), error.hint());
        Complaint::new(name, (first_line + error.line() - 1) as u64, line, fault).to_string()
    };
    errors.iter().map(show).collect()
}
