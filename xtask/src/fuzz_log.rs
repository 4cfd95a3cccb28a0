//! What libFuzzer prints, read for its figures and for the reason of a failure.

/// How many lines of the output are shown where a run failed.
const SHOWN_LINES: usize = 12;

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FuzzLog {
    /// How many inputs were tried.
    pub(crate) executions: u64,
    /// How many places of the code were reached.
    pub(crate) coverage: u64,
    /// How many inputs reach something that no other does.
    pub(crate) corpus: u64,
}

impl FuzzLog {
    /// Reads the output of a run: lines such as `#4096 NEW cov: 1042 ft: 3300 corp: 410/29Kb lim: 80 exec/s: 2048`.
    pub(crate) fn read(output: &str) -> FuzzLog {
        let mut log = FuzzLog::default();
        for line in output.lines() {
            if let Some(coverage) = number_after(line, " cov: ") {
                log.coverage = coverage;
                log.corpus = number_after(line, " corp: ").unwrap_or(log.corpus);
                log.executions = number_after(line, "#").unwrap_or(log.executions);
            }
            log.executions = number_after(line, "stat::number_of_executed_units: ").unwrap_or(log.executions);
        }
        log
    }

    /// Returns the part of the output that says what went wrong: from the panic on, or the last lines.
    pub(crate) fn describe_failure(output: &str) -> String {
        let lines: Vec<&str> = output.lines().collect();
        let is_reason = |line: &&str| line.contains("panicked at") || line.contains("ERROR: libFuzzer");
        let start = lines.iter().position(is_reason).unwrap_or(lines.len().saturating_sub(SHOWN_LINES));
        lines[start..].iter().take(SHOWN_LINES).copied().collect::<Vec<_>>().join("\n  ")
    }
}

/// Returns the number that follows a mark.
fn number_after(line: &str, mark: &str) -> Option<u64> {
    let (_, rest) = line.split_once(mark)?;
    let rest = rest.trim_start();
    rest.get(..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
INFO: Loaded 1 modules   (84203 inline 8-bit counters)
#2\tINITED cov: 87 ft: 88 corp: 1/1b exec/s: 0 rss: 42Mb
#4096\tpulse  cov: 1042 ft: 3300 corp: 410/29Kb lim: 80 exec/s: 2048 rss: 60Mb";

    #[test]
    fn figures_are_those_of_the_last_line() {
        assert_eq!(FuzzLog::read(OUTPUT), FuzzLog { executions: 4096, coverage: 1042, corpus: 410 });
        let ended = format!("{OUTPUT}\nstat::number_of_executed_units: 5000\n");
        assert_eq!(FuzzLog::read(&ended).executions, 5000);
        assert_eq!(FuzzLog::read("nothing"), FuzzLog::default());
    }

    #[test]
    fn failure_is_shown_from_the_panic_on() {
        let output =
            format!("{OUTPUT}\nthread 'main' panicked at src/json.rs:7:1:\nwritten and read again\n==1== ERROR");
        let shown = FuzzLog::describe_failure(&output);
        assert!(shown.starts_with("thread 'main' panicked") && shown.ends_with("ERROR"), "{shown}");
        assert!(FuzzLog::describe_failure(OUTPUT).contains("pulse"));
    }
}
