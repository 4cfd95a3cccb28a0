//! The results, as a table for people and a list of targets at the end.

use std::fmt;
use std::io::Write;

/// The target of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    fn is_met(self, figure: f64) -> bool {
        match self {
            Target::AtMost(limit) => figure <= limit,
            Target::AtLeast(limit) => figure >= limit,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::AtMost(limit) => write!(f, "<= {limit}"),
            Target::AtLeast(limit) => write!(f, ">= {limit}"),
        }
    }
}

/// One measured figure.
#[derive(Clone, Debug)]
struct Row {
    who: String,
    figure: f64,
    unit: &'static str,
    note: String,
    target: Option<Target>,
}

/// Which ratios are better.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Better {
    Lower,
    Higher,
}

impl fmt::Display for Better {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
        })
    }
}

/// The figures of one workload. The others are compared with the first row in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    title: String,
    rows: Vec<Row>,
    ratios: Vec<(String, f64, Better)>,
}

/// All sections, each printed when it is added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    targets: usize,
    met: usize,
}

impl Table {
    pub(crate) fn print(&mut self, section: &Section) {
        println!("{section}");
        // For `cargo xtask bench --check`.
        for (name, value, better) in &section.ratios {
            println!("ratio: {name} {value:.4} {better}");
        }
        // The reader of a pipe sees each section at once.
        std::io::stdout().flush().unwrap_or_default();
        self.targets += section.outcomes().count();
        self.met += section.outcomes().filter(|met| *met).count();
    }

    pub(crate) fn finish(&self) {
        println!("{} of {} targets met", self.met, self.targets);
    }
}

/// The unit whose figures are compared within a section.
const NANOSECONDS: &str = "ns/event";

impl Section {
    pub(crate) fn new(title: impl Into<String>) -> Section {
        let title = title.into();
        eprintln!("measuring: {title}");
        Section { title, rows: Vec::new(), ratios: Vec::new() }
    }

    /// Adds a time per event.
    pub(crate) fn time(&mut self, who: impl Into<String>, figure: f64, note: impl Into<String>) -> &mut Section {
        self.figure(who, figure, NANOSECONDS, note)
    }

    /// Adds a figure in another unit.
    pub(crate) fn figure(
        &mut self,
        who: impl Into<String>,
        figure: f64,
        unit: &'static str,
        note: impl Into<String>,
    ) -> &mut Section {
        self.rows.push(Row { who: who.into(), figure, unit, note: note.into(), target: None });
        self
    }

    /// Gives the last figure a target.
    pub(crate) fn target(&mut self, target: Target) -> &mut Section {
        if let Some(row) = self.rows.last_mut() {
            row.target = Some(target);
        }
        self
    }

    /// Adds a ratio of two figures of this run, which is recorded under this name.
    pub(crate) fn ratio(&mut self, name: impl Into<String>, value: f64, better: Better) -> &mut Section {
        self.ratios.push((name.into(), value, better));
        self
    }

    /// Adds the ratio of two rows by their names. If a row is missing there is none, which the check reports.
    pub(crate) fn ratio_of(&mut self, name: impl Into<String>, one: &str, other: &str, better: Better) -> &mut Section {
        let figure = |who: &str| self.rows.iter().find(|row| row.who == who).map(|row| row.figure);
        match (figure(one), figure(other)) {
            (Some(one), Some(other)) => self.ratio(name, one / other, better),
            _ => self,
        }
    }

    /// Whether each target is met.
    fn outcomes(&self) -> impl Iterator<Item = bool> {
        self.rows.iter().filter_map(|row| row.target.map(|target| target.is_met(row.figure)))
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let first = self.rows.iter().find(|row| row.unit == NANOSECONDS).map(|row| row.figure);
        for row in &self.rows {
            let ratio = match first {
                Some(first) if row.unit == NANOSECONDS => format!("{:.2} x", row.figure / first),
                _ => String::new(),
            };
            let outcome = match row.target {
                Some(target) if target.is_met(row.figure) => format!("{target} met"),
                Some(target) => format!("{target} MISSED"),
                None => String::new(),
            };
            let figure = format!("{:.*} {}", if row.figure < 100.0 { 2 } else { 0 }, row.figure, row.unit);
            writeln!(f, "  {:<46} {figure:>18} {ratio:>10}  {outcome:<16} {}", row.who, row.note)?;
        }
        Ok(())
    }
}
