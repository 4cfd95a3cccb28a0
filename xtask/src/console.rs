//! Console examples in Markdown: a command, and the output the page claims for it.
//!
//! An example is a line `$ lictor …` in a block fenced as `console`; the lines below it, up to the next `$` or the end
//! of the block, are its output. `cat` and `echo` are run as well, so that a page can show a file or an exit code
//! (`$ echo $?`). Other commands are not run and therefore may not have output: all output on a page is checked. This
//! file only reads and rewrites text; the caller passes the function that runs a script.

use std::ops::Range;

/// The command in a checkout, in place of an installed `lictor`.
const FROM_SOURCE: &str = "cargo run -- ";

/// A command on a page with the place of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Example {
    command: String,
    /// The line of its `$`, from 0.
    line: usize,
    /// The lines of its output.
    output: Range<usize>,
    /// The indent of every line of the block.
    indent: usize,
}

impl Example {
    /// Returns the shell script of the example; `None` for a command that is not ours.
    fn script(&self) -> Option<String> {
        let command = match self.command.strip_prefix(FROM_SOURCE) {
            Some(arguments) => format!("lictor {arguments}"),
            None => self.command.clone(),
        };
        let program = command.split_whitespace().next()?;
        matches!(program, "lictor" | "cat" | "echo").then_some(command)
    }
}

/// Compares every example with its present output; returns the number of commands run and the complaints.
///
/// `run` takes a shell script and returns its output.
pub(crate) fn check(
    name: &str,
    page: &str,
    run: &mut dyn FnMut(&str) -> Result<String, String>,
) -> (usize, Vec<String>) {
    let lines: Vec<&str> = page.lines().collect();
    let (mut count, mut complaints) = (0, Vec::new());
    for example in examples(&lines) {
        let place = format!("{name}:{}", example.line + 1);
        let claimed = trimmed(lines[example.output.clone()].iter().map(|line| unindented(line, example.indent)));
        match example.script() {
            Some(script) => {
                count += 1;
                match run(&script) {
                    Ok(output) => {
                        let printed = trimmed(output.lines());
                        if claimed != printed {
                            let difference = difference(&claimed, &printed);
                            complaints
                                .push(format!("{place}: `{}` prints something else\n{difference}", example.command));
                        }
                    }
                    Err(message) => complaints.push(format!("{place}: `{}`: {message}", example.command)),
                }
            }
            None if claimed.is_empty() => {}
            None => complaints.push(format!(
                "{place}: the output of `{}` is shown but cannot be checked\n  hint: show only what `lictor`, `cat` or \
                 `echo` prints, or fence the block as `text`",
                example.command
            )),
        }
    }
    (count, complaints)
}

/// Returns the page with the present output of every example.
pub(crate) fn bless(page: &str, run: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<String, String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut blessed: Vec<String> = Vec::new();
    let mut copied = 0;
    for example in examples(&lines) {
        let Some(script) = example.script() else { continue };
        let output = run(&script).map_err(|message| format!("`{}`: {message}", example.command))?;
        blessed.extend(lines[copied..example.output.start].iter().map(|line| line.to_string()));
        for line in trimmed(output.lines()) {
            blessed.push(if line.is_empty() { line } else { format!("{}{line}", " ".repeat(example.indent)) });
        }
        copied = example.output.end;
    }
    blessed.extend(lines[copied..].iter().map(|line| line.to_string()));
    Ok(blessed.join("\n") + "\n")
}

/// Returns the examples of a page, from top to bottom.
fn examples(lines: &[&str]) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((indent, fence, language)) = opening(lines[at]) else {
            at += 1;
            continue;
        };
        let start = at + 1;
        let closes = |line: &&str| line.trim_start().starts_with(fence) && line.trim().chars().all(|c| c == '`');
        let end = lines[start..].iter().position(closes).map_or(lines.len(), |length| start + length);
        if language == "console" {
            examples.extend(block(lines, start..end, indent));
        }
        at = end + 1;
    }
    examples
}

/// Returns the examples of one block.
fn block(lines: &[&str], body: Range<usize>, indent: usize) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut at = body.start;
    while at < body.end {
        let line = at;
        at += 1;
        let Some(first) = unindented(lines[line], indent).strip_prefix("$ ") else {
            if let Some(example) = examples.last_mut() {
                example.output.end = at;
            }
            continue;
        };
        let mut command = first.trim().to_string();
        while command.ends_with('\\') && at < body.end {
            command.pop();
            command = format!("{} {}", command.trim_end(), lines[at].trim());
            at += 1;
        }
        examples.push(Example { command, line, output: at..at, indent });
    }
    examples
}

/// Returns the indent, the fence and the language of a line that opens a block.
fn opening(line: &str) -> Option<(usize, &str, &str)> {
    let rest = line.trim_start();
    let fence = &rest[..rest.len() - rest.trim_start_matches('`').len()];
    let language = rest[fence.len()..].split_whitespace().next().unwrap_or("");
    (fence.len() >= 3 && !language.contains('`')).then_some((line.len() - rest.len(), fence, language))
}

fn unindented(line: &str, indent: usize) -> &str {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    &line[indent.min(spaces)..]
}

/// Returns the lines without trailing spaces and without trailing empty lines.
fn trimmed<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(|line| line.trim_end().to_string()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Returns the lines that differ, claimed ones with `-`, printed ones with `+`.
fn difference(claimed: &[String], printed: &[String]) -> String {
    let same = |(left, right): &(&String, &String)| left == right;
    let head = claimed.iter().zip(printed).take_while(same).count();
    let (claimed, printed) = (&claimed[head..], &printed[head..]);
    let tail = claimed.iter().rev().zip(printed.iter().rev()).take_while(same).count();
    let removed = claimed[..claimed.len() - tail].iter().map(|line| format!("  - {line}"));
    let added = printed[..printed.len() - tail].iter().map(|line| format!("  + {line}"));
    removed.chain(added).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Title
```console
$ lictor eval 'a' \\
    trace.jsonl
satisfied

$ cargo run -- demo
$ cargo xtask test
```
```text
$ lictor not-an-example
```
1. In a list:
   ```console
   $ lictor explain 'F a'
   wrong
   ```
";

    fn answer(script: &str) -> Result<String, String> {
        match script {
            "lictor eval 'a' trace.jsonl" => Ok("satisfied\n".into()),
            "lictor demo" => Ok("one\n\ntwo  \n".into()),
            "lictor explain 'F a'" => Ok("a, sooner or later\n".into()),
            other => Err(format!("unexpected script {other}")),
        }
    }

    #[test]
    fn every_example_is_run_and_compared() {
        let (count, complaints) = check("page.md", PAGE, &mut answer);
        assert_eq!(count, 3);
        assert_eq!(
            complaints,
            [
                "page.md:7: `cargo run -- demo` prints something else\n  + one\n  + \n  + two",
                "page.md:15: `lictor explain 'F a'` prints something else\n  - wrong\n  + a, sooner or later",
            ]
        );
    }

    #[test]
    fn blessed_page_passes_check_and_keeps_rest() {
        let blessed = bless(PAGE, &mut answer).unwrap();
        assert!(check("page.md", &blessed, &mut answer).1.is_empty(), "{blessed}");
        assert!(blessed.contains("\n   a, sooner or later\n   ```\n"), "{blessed}");
        assert!(blessed.contains("demo\none\n\ntwo\n$ cargo xtask test\n```\n"), "{blessed}");
        assert!(blessed.contains("$ lictor not-an-example"), "{blessed}");
        assert_eq!(bless(&blessed, &mut answer).unwrap(), blessed);
    }

    #[test]
    fn output_of_unknown_command_is_refused() {
        let (count, complaints) = check("page.md", "```console\n$ make\nall is well\n```\n", &mut answer);
        assert_eq!(count, 0);
        assert!(complaints[0].starts_with("page.md:2: the output of `make` is shown but cannot be checked"));
    }

    #[test]
    fn failing_command_is_a_complaint() {
        let (_, complaints) = check("page.md", "```console\n$ lictor nonsense\n```\n", &mut answer);
        assert_eq!(complaints, ["page.md:2: `lictor nonsense`: unexpected script lictor nonsense"]);
    }
}
