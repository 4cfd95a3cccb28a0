//! `lictor patterns`: the operators and the named patterns, as the logic has them.

use std::io::Write;

use anyhow::bail;
use lictor_logic::{Operator, Pattern, operators, patterns};

use crate::args::PatternsArgs;
use crate::exit::Outcome;

/// Lists all, or those whose name contains a text.
pub(crate) fn run(args: &PatternsArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let wanted = args.name.as_deref().unwrap_or("");
    let operators: Vec<&Operator> = operators()
        .iter()
        .filter(|it| it.word.contains(wanted) || it.ascii == wanted || it.unicode == wanted)
        .collect();
    let patterns: Vec<&Pattern> = patterns().iter().filter(|it| it.name.contains(wanted)).collect();
    if operators.is_empty() && patterns.is_empty() {
        bail!("no operator or pattern has `{wanted}` in its name\n  hint: `lictor patterns` lists all");
    }
    for operator in &operators {
        let Operator { word, ascii, unicode, meaning, .. } = operator;
        writeln!(out, "{word:14}  {ascii:7} {unicode:2} {meaning}")?;
    }
    if !operators.is_empty() && !patterns.is_empty() {
        writeln!(out)?;
    }
    let width = patterns.iter().map(|pattern| pattern.to_string().len()).max().unwrap_or(0);
    for pattern in patterns {
        let counted = if pattern.parameters.contains(&"n") { "   (n = 2)" } else { "" };
        writeln!(out, "{:width$}  {}", pattern.to_string(), pattern.meaning)?;
        writeln!(out, "{:width$}    {}{counted}", "", pattern.formula())?;
    }
    Ok(Outcome::Compliant)
}
