//! The measurement as tables in Markdown, and as curves.

use std::fmt::Write;

use super::measure::{Cell, MeasurePlan, TemperatureResult};
use super::run::{RunRecord, Strategy};
use crate::curve::{Curve, draw_curves};
use crate::paired::PairedDifference;

/// Returns the tables of a measurement.
pub fn write_tables(plan: &MeasurePlan, results: &[TemperatureResult]) -> String {
    let mut page = String::new();
    for result in results {
        let TemperatureResult { temperature, chain, cells, .. } = result;
        _ = writeln!(
            page,
            "### Temperature {temperature}\n\n{} runs for each strategy, seeds {} to {}, threshold {}. The chain was learnt \
             from {} other runs without intervention: {} events, {} classes, looks at {} before the next.\n",
            plan.runs,
            plan.first_seed,
            plan.first_seed + plan.runs.saturating_sub(1),
            plan.threshold,
            chain.sessions(),
            chain.events(),
            chain.classes(),
            chain.order(),
        );
        write_comparison(&mut page, cells);
        write_costs(&mut page, cells);
        write_sweep(&mut page, plan, result);
    }
    page
}

/// Returns one picture for each temperature: violations against extra calls, as the threshold changes.
pub fn draw_sweeps(results: &[TemperatureResult]) -> Vec<(f64, String)> {
    let draw = |result: &TemperatureResult| {
        let names = Strategy::ALL.iter().skip(1);
        let mut curves: Vec<Curve> = names
            .map(|(strategy, name)| {
                let cells = result.sweep.iter().filter(|cell| cell.strategy == *strategy);
                let point = |cell: &Cell| {
                    let label = format!("{name}, threshold {}", cell.threshold);
                    (cell.mean(extra_calls), cell.mean(violating_actions), label)
                };
                Curve { name: (*name).to_owned(), points: cells.map(point).collect() }
            })
            .collect();
        if let Some(none) = result.cells.first() {
            let point = (none.mean(extra_calls), none.mean(violating_actions), "none".to_owned());
            curves.push(Curve { name: "none".into(), points: vec![point] });
        }
        let title = format!("Trucks, temperature {}: thresholds from 0.1 to 0.9", result.temperature);
        (result.temperature, draw_curves(&title, ("extra calls in a run", "violating actions in a run"), &curves))
    };
    results.iter().map(draw).collect()
}

fn extra_calls(run: &RunRecord) -> f64 {
    run.extra_calls as f64
}

fn violating_actions(run: &RunRecord) -> f64 {
    f64::from(run.score.violating_actions)
}

fn reward(run: &RunRecord) -> f64 {
    run.score.reward as f64
}

/// Writes what truly happened, with the differences to no intervention.
fn write_comparison(page: &mut String, cells: &[Cell]) {
    let Some(none) = cells.first() else { return };
    page.push_str(
        "| strategy | violating actions in a run | for each 100 actions | broken properties in a run | reward |\n\
         |---|---|---|---|---|\n",
    );
    for cell in cells {
        let show = |value: f64, difference: PairedDifference| match cell.strategy {
            Strategy::None => format!("{value:.2}"),
            _ => format!("{value:.2} ({})", show_difference(difference)),
        };
        let violations = |run: &RunRecord| f64::from(run.score.violations);
        _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            cell.strategy.name(),
            show(cell.mean(violating_actions), cell.compare_mean(none, violating_actions)),
            show(cell.violating_share(), cell.compare_share(none)),
            show(cell.mean(violations), cell.compare_mean(none, violations)),
            show(cell.mean(reward), cell.compare_mean(none, reward)),
        );
    }
    page.push('\n');
}

fn show_difference(difference: PairedDifference) -> String {
    // A zero has no sign.
    let show = |value: f64| if value.abs() < 0.005 { "0.00".to_owned() } else { format!("{value:+.2}") };
    format!("{}: {} to {}", show(difference.mean), show(difference.least), show(difference.most))
}

/// Writes what the strategies cost.
fn write_costs(page: &mut String, cells: &[Cell]) {
    page.push_str(
        "| strategy | actions in a run | extra calls | replaced replies | tokens | tokens at their price | replies waited for, \
         for each action |\n|---|---|---|---|---|---|---|\n",
    );
    for cell in cells {
        let replies = cell.mean(|run| run.replies as f64);
        _ = writeln!(
            page,
            "| {} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} | {:.2} |",
            cell.strategy.name(),
            cell.mean(|run| f64::from(run.score.actions)),
            cell.mean(extra_calls),
            cell.mean(|run| run.replaced as f64),
            cell.mean(|run| run.tokens as f64),
            cell.mean(|run| run.cost),
            cell.mean(|run| run.waits as f64) / replies.max(1.0),
        );
    }
    page.push('\n');
}

/// Writes violations, extra calls and reward for each threshold.
fn write_sweep(page: &mut String, plan: &MeasurePlan, result: &TemperatureResult) {
    if plan.sweep.is_empty() {
        return;
    }
    page.push_str("Violating actions, extra calls and reward in a run, by threshold:\n\n| threshold |");
    let names: Vec<&str> = Strategy::ALL.iter().skip(1).map(|(_, name)| *name).collect();
    names.iter().for_each(|name| page.push_str(&format!(" {name} |")));
    page.push_str("\n|---|");
    names.iter().for_each(|_| page.push_str("---|"));
    for threshold in &plan.sweep {
        _ = write!(page, "\n| {threshold} |");
        for cell in result.sweep.iter().filter(|cell| cell.threshold == *threshold) {
            let (violating, calls) = (cell.mean(violating_actions), cell.mean(extra_calls));
            _ = write!(page, " {violating:.2}, {calls:.1} calls, {:.2} |", cell.mean(reward));
        }
    }
    page.push_str("\n\n");
}
