//! Ratios that benchmarks print, and those on record in `bench/record.toml`.
//!
//! A benchmark prints `ratio: NAME VALUE lower` or `… higher`; the last word says which is better. Absolute figures
//! depend on the machine and are not recorded; a ratio compares two measurements of one run.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The factor by which a ratio may be worse than on record: 15 %.
const TOLERANCE: f64 = 1.15;

/// The first lines of the record.
const HEADER: &str = "\
# Ratios of the benchmarks: two measurements of one run, so that the machine cancels out.
# `cargo xtask bench --check` compares with them; `cargo xtask bench --record` writes this file.
";

/// Which ratios are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

impl Better {
    fn from_word(word: &str) -> Option<Better> {
        match word {
            "lower" => Some(Better::Lower),
            "higher" => Some(Better::Higher),
            _ => None,
        }
    }
}

impl fmt::Display for Better {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
        })
    }
}

/// One ratio, measured or on record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ratio {
    /// The benchmark, a slash, and the comparison: `audit/lictor-to-sonic`.
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) better: Better,
    /// The day of the measurement: `2026-11-16`.
    pub(crate) date: String,
}

impl Ratio {
    /// Parses a line that a benchmark prints; `None` if it is no ratio.
    pub(crate) fn from_line(bench: &str, date: &str, line: &str) -> Option<Result<Ratio, String>> {
        let rest = line.strip_prefix("ratio: ")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ratio = || {
            let &[name, value, better] = words.as_slice() else { return None };
            let value = value.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)?;
            Some(Ratio {
                name: format!("{bench}/{name}"),
                value,
                better: Better::from_word(better)?,
                date: date.to_owned(),
            })
        };
        Some(ratio().ok_or_else(|| format!("`{line}` of benchmark `{bench}` is not `ratio: NAME VALUE lower|higher`")))
    }

    /// Returns the factor by which this is worse than the ratio on record; below 1 if it is better.
    fn times_worse(&self, on_record: &Ratio) -> f64 {
        match self.better {
            Better::Lower => self.value / on_record.value,
            Better::Higher => on_record.value / self.value,
        }
    }

    /// Returns the name of its benchmark.
    pub(crate) fn bench(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// Compares the measurements of `benches` with the record; returns complaints about worse and missing ratios.
pub(crate) fn compare(record: &[Ratio], measured: &[Ratio], benches: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    for old in record.iter().filter(|ratio| benches.contains(&ratio.bench())) {
        let Some(new) = measured.iter().find(|ratio| ratio.name == old.name) else {
            complaints.push(format!("{} is on record ({:.3}) but was not measured", old.name, old.value));
            continue;
        };
        let worse = new.times_worse(old);
        if worse > TOLERANCE {
            complaints.push(format!(
                "{} is {:.0} % worse: {:.3}, on record {:.3} of {} ({} is better)",
                new.name,
                (worse - 1.0) * 100.0,
                new.value,
                old.value,
                old.date,
                old.better
            ));
        }
    }
    complaints
}

/// Returns the record with the new ratios of `benches` in place of their old ones, sorted by name.
pub(crate) fn merge(record: Vec<Ratio>, measured: Vec<Ratio>, benches: &[&str]) -> Vec<Ratio> {
    let mut all: Vec<Ratio> = record.into_iter().filter(|ratio| !benches.contains(&ratio.bench())).collect();
    all.extend(measured);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Returns the record as TOML.
pub(crate) fn to_toml(ratios: &[Ratio]) -> String {
    let tables = ratios.iter().map(|ratio| {
        format!(
            "\n[[ratio]]\nname = \"{}\"\nvalue = {:.3}\nbetter = \"{}\"\ndate = \"{}\"\n",
            ratio.name, ratio.value, ratio.better, ratio.date
        )
    });
    HEADER.chars().chain(tables.collect::<String>().chars()).collect()
}

/// Parses the record: only the TOML that [`to_toml`] writes, since this program has no dependencies.
pub(crate) fn from_toml(text: &str) -> Result<Vec<Ratio>, String> {
    let mut ratios = Vec::new();
    for (index, table) in text.split("[[ratio]]").skip(1).enumerate() {
        let field = |key: &str| {
            table.lines().find_map(|line| {
                let (name, value) = line.split_once('=')?;
                (name.trim() == key).then(|| value.trim().trim_matches('"').to_owned())
            })
        };
        let ratio = || {
            let value = field("value")?.parse().ok()?;
            Some(Ratio {
                name: field("name")?,
                value,
                better: Better::from_word(&field("better")?)?,
                date: field("date")?,
            })
        };
        ratios.push(ratio().ok_or_else(|| format!("ratio {} lacks name, value, better or date", index + 1))?);
    }
    Ok(ratios)
}

/// Returns the present day in UTC.
#[expect(clippy::disallowed_methods, reason = "a command for people knows what day it is")]
pub(crate) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    day(since.as_secs() / 86_400)
}

/// Returns the date of a day number since 1970-01-01, by the algorithm `civil_from_days` of Howard Hinnant.
fn day(number: u64) -> String {
    let days = number + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(name: &str, value: f64, better: Better) -> Ratio {
        Ratio { name: name.into(), value, better, date: "2026-11-16".into() }
    }

    #[test]
    fn ratio_line_is_parsed_or_refused() {
        let read = |line: &str| Ratio::from_line("audit", "2026-11-16", line);
        assert_eq!(read("ratio: to-sonic 1.82 lower"), Some(Ok(ratio("audit/to-sonic", 1.82, Better::Lower))));
        assert_eq!(read("  lictor audit  1.82 x"), None);
        for line in ["ratio: a", "ratio: a b lower", "ratio: a NaN lower", "ratio: a 0 lower", "ratio: a 1 best"] {
            assert!(read(line).is_some_and(|result| result.is_err()), "{line}");
        }
    }

    #[test]
    fn ratio_beyond_tolerance_is_reported_in_both_directions() {
        let record = [ratio("a/low", 2.0, Better::Lower), ratio("a/high", 20.0, Better::Higher)];
        let measured =
            |low: f64, high: f64| [ratio("a/low", low, Better::Lower), ratio("a/high", high, Better::Higher)];
        assert_eq!(compare(&record, &measured(2.29, 17.5), &["a"]), [""; 0]);
        assert_eq!(compare(&record, &measured(0.1, 900.0), &["a"]), [""; 0]);
        let complaints = compare(&record, &measured(2.4, 16.0), &["a"]);
        assert_eq!(complaints.len(), 2);
        assert!(complaints[0].starts_with("a/low is 20 % worse: 2.400, on record 2.000"), "{complaints:?}");
        assert!(complaints[1].starts_with("a/high is 25 % worse"), "{complaints:?}");
    }

    #[test]
    fn missing_ratio_is_reported_if_benchmark_ran() {
        let record = [ratio("a/x", 2.0, Better::Lower), ratio("b/y", 2.0, Better::Lower)];
        let complaints = compare(&record, &[], &["a"]);
        assert_eq!(complaints, ["a/x is on record (2.000) but was not measured"]);
    }

    #[test]
    fn record_survives_being_written_and_read() {
        let ratios = vec![ratio("a/x", 2.125, Better::Lower), ratio("b/y", 31.5, Better::Higher)];
        assert_eq!(from_toml(&to_toml(&ratios)), Ok(ratios));
        assert_eq!(from_toml(HEADER), Ok(Vec::new()));
        assert!(from_toml("[[ratio]]\nname = \"a/x\"\n").is_err());
    }

    #[test]
    fn recording_one_benchmark_keeps_the_others() {
        let record = vec![ratio("a/x", 1.0, Better::Lower), ratio("b/y", 2.0, Better::Lower)];
        let merged = merge(record, vec![ratio("a/z", 3.0, Better::Lower)], &["a"]);
        assert_eq!(merged.iter().map(|ratio| ratio.name.as_str()).collect::<Vec<_>>(), ["a/z", "b/y"]);
    }

    #[test]
    fn days_have_their_dates() {
        assert_eq!([0, 59, 11_016, 20_773].map(day), ["1970-01-01", "1970-03-01", "2000-02-29", "2026-11-16"]);
    }
}
