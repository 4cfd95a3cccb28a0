//! Counters by tenant: decisions, the properties that objected, and errors of the gateway.
//!
//! INVARIANT: the number of labels is bounded. Tenants come from the configuration, properties from policies and codes
//! from Lictor itself; labels beyond the limit are counted together. Names of tools are no labels: models make them up.

use std::collections::BTreeMap;
use std::fmt::Write;

use lictor_judge::guard::{Action, Decision};
use lictor_policy::Response;

use super::bound::Bound;

pub(super) const ACTIONS: [Action; 5] = [Action::Forward, Action::Steer, Action::Redact, Action::Ask, Action::Block];

const RESPONSES: [Response; 6] =
    [Response::Observe, Response::Warn, Response::Steer, Response::Redact, Response::Ask, Response::Block];

/// The most properties of a tenant, and the most codes, that have a label of their own.
const MAX_LABELS: usize = 1000;

/// The label of everything beyond [`MAX_LABELS`].
const OTHER: &str = "other";

/// The tenant of sums over all tenants.
const ALL_TENANTS: &str = "all";

/// The counters of one tenant.
#[derive(Clone, Debug, Default)]
struct TenantCounts {
    /// By action.
    decisions: [u64; ACTIONS.len()],
    /// By property, and by the response that it demanded.
    objections: BTreeMap<String, [u64; RESPONSES.len()]>,
    /// By code.
    errors: BTreeMap<String, u64>,
    /// By bound: how often it refused something, and the highest value.
    bounds: [(u64, u64); Bound::ALL.len()],
}

/// The counters of all tenants.
#[derive(Clone, Debug, Default)]
pub(super) struct AllTenantCounts(BTreeMap<String, TenantCounts>);

impl AllTenantCounts {
    /// Adds a tenant, so that its decisions are shown as zero before there is one.
    pub(super) fn add_tenant(&mut self, tenant: &str) {
        if !self.0.contains_key(tenant) {
            self.0.insert(tenant.to_owned(), TenantCounts::default());
        }
    }

    fn tenant(&mut self, tenant: &str) -> Option<&mut TenantCounts> {
        self.add_tenant(tenant);
        self.0.get_mut(tenant)
    }

    /// Counts a decision that no property had a part in.
    pub(super) fn add_action(&mut self, tenant: &str, action: Action) {
        let Some(counts) = self.tenant(tenant) else { return };
        let place = ACTIONS.iter().position(|known| *known == action);
        place.and_then(|place| counts.decisions.get_mut(place)).into_iter().for_each(|count| *count += 1);
    }

    /// Counts a decision, and the properties that objected.
    pub(super) fn add_decision(&mut self, tenant: &str, decision: &Decision) {
        self.add_action(tenant, decision.action);
        let Some(counts) = self.tenant(tenant).filter(|_| !decision.objections.is_empty()) else { return };
        for objection in &decision.objections {
            let row = row(&mut counts.objections, objection.property.id.as_str());
            let place = RESPONSES.iter().position(|known| *known == objection.response);
            place.and_then(|place| row.get_mut(place)).into_iter().for_each(|count| *count += 1);
        }
    }

    /// Counts a text of which parts were withheld while it was streamed.
    pub(super) fn add_shown(&mut self, tenant: &str, action: Action, properties: &[&str]) {
        self.add_action(tenant, action);
        let response = if action == Action::Block { Response::Block } else { Response::Redact };
        let (Some(counts), place) = (self.tenant(tenant), RESPONSES.iter().position(|known| *known == response)) else {
            return;
        };
        for property in properties {
            let row = row(&mut counts.objections, property);
            place.and_then(|place| row.get_mut(place)).into_iter().for_each(|count| *count += 1);
        }
    }

    /// Counts an error that the gateway answered with.
    pub(super) fn add_error(&mut self, tenant: &str, code: &str) {
        if let Some(counts) = self.tenant(tenant) {
            *row(&mut counts.errors, code) += 1;
        }
    }

    /// Counts what a bound refused, and notes a value that it was compared with.
    pub(super) fn add_bound(&mut self, tenant: &str, bound: Bound, refused: u64, value: u64) {
        if let Some((count, highest)) = self.tenant(tenant).and_then(|counts| counts.bounds.get_mut(bound as usize)) {
            (*count, *highest) = (*count + refused, value.max(*highest));
        }
    }

    /// Returns the sums over all tenants; of the highest values the highest.
    pub(super) fn sum(&self) -> AllTenantCounts {
        let mut sum = TenantCounts::default();
        for counts in self.0.values() {
            add_all(&mut sum.decisions, &counts.decisions);
            for (property, responses) in &counts.objections {
                add_all(row(&mut sum.objections, property), responses);
            }
            for (code, count) in &counts.errors {
                *row(&mut sum.errors, code) += count;
            }
            for ((sum, highest), (count, value)) in sum.bounds.iter_mut().zip(&counts.bounds) {
                (*sum, *highest) = (*sum + count, (*highest).max(*value));
            }
        }
        AllTenantCounts(BTreeMap::from([(ALL_TENANTS.to_owned(), sum)]))
    }

    /// Writes the metrics.
    pub(super) fn write(&self, text: &mut String) {
        let tenants = || self.0.iter().map(|(tenant, counts)| (escape(tenant), counts));
        write_head(text, "decisions_total", "Decisions by tenant and action.");
        // Errors of the control endpoints belong to no tenant.
        for (tenant, counts) in tenants().filter(|(tenant, _)| !tenant.is_empty()) {
            for (action, count) in ACTIONS.iter().zip(&counts.decisions) {
                let action = action.name();
                let _ = writeln!(text, "lictor_decisions_total{{tenant=\"{tenant}\",action=\"{action}\"}} {count}");
            }
        }
        let help = "Decisions that a property objected to, by tenant, property and the response it demands.";
        write_head(text, "objections_total", help);
        for (tenant, counts) in tenants() {
            for (property, responses) in &counts.objections {
                let property = escape(property);
                for (response, count) in RESPONSES.iter().zip(responses).filter(|(_, count)| **count > 0) {
                    let labels =
                        format!("tenant=\"{tenant}\",property=\"{property}\",response=\"{}\"", response.name());
                    let _ = writeln!(text, "lictor_objections_total{{{labels}}} {count}");
                }
            }
        }
        write_head(
            text,
            "bound_refusals_total",
            "What a bound refused, or passed unjudged in shadow mode, by tenant and bound.",
        );
        for (tenant, counts) in tenants().filter(|(tenant, _)| !tenant.is_empty()) {
            for (bound, (count, _)) in Bound::ALL.iter().zip(&counts.bounds) {
                let bound = bound.name();
                let _ = writeln!(text, "lictor_bound_refusals_total{{tenant=\"{tenant}\",bound=\"{bound}\"}} {count}");
            }
        }
        let help = "The highest value that a bound was compared with, by tenant and bound.";
        let _ = writeln!(text, "# HELP lictor_bound_highest {help}\n# TYPE lictor_bound_highest gauge");
        for (tenant, counts) in tenants().filter(|(tenant, _)| !tenant.is_empty()) {
            for (bound, (_, highest)) in Bound::ALL.iter().zip(&counts.bounds) {
                let bound = bound.name();
                let _ = writeln!(text, "lictor_bound_highest{{tenant=\"{tenant}\",bound=\"{bound}\"}} {highest}");
            }
        }
        write_head(text, "error_responses_total", "Errors that the gateway itself answered with, by tenant and code.");
        for (tenant, counts) in tenants() {
            for (code, count) in &counts.errors {
                let code = escape(code);
                let _ = writeln!(text, "lictor_error_responses_total{{tenant=\"{tenant}\",code=\"{code}\"}} {count}");
            }
        }
    }
}

fn write_head(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP lictor_{name} {help}\n# TYPE lictor_{name} counter");
}

/// Returns the row of a label, or the row of all others if there are too many.
fn row<'a, T: Default>(rows: &'a mut BTreeMap<String, T>, label: &str) -> &'a mut T {
    let label = if rows.len() < MAX_LABELS || rows.contains_key(label) { label } else { OTHER };
    rows.entry(label.to_owned()).or_default()
}

fn add_all<const N: usize>(sum: &mut [u64; N], counts: &[u64; N]) {
    sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

/// Returns the value of a label as Prometheus reads it.
pub(super) fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded_and_escaped() {
        let mut counts = AllTenantCounts::default();
        for number in 0..MAX_LABELS + 5 {
            counts.add_error("a\"b", &format!("code.{number:05}"));
        }
        let mut text = String::new();
        counts.write(&mut text);
        assert!(text.contains("lictor_error_responses_total{tenant=\"a\\\"b\",code=\"other\"} 5\n"), "{text}");
        assert_eq!(text.matches("lictor_error_responses_total{").count(), MAX_LABELS + 1);
    }

    #[test]
    fn bound_metrics_have_refusals_and_highest_value() {
        let mut counts = AllTenantCounts::default();
        counts.add_bound("acme", Bound::Text, 1, 70);
        counts.add_bound("acme", Bound::Text, 0, 30);
        counts.add_bound("shop", Bound::Text, 2, 90);
        let mut text = String::new();
        counts.write(&mut text);
        assert!(text.contains("lictor_bound_refusals_total{tenant=\"acme\",bound=\"text\"} 1\n"), "{text}");
        assert!(text.contains("lictor_bound_highest{tenant=\"acme\",bound=\"text\"} 70\n"), "{text}");
        let mut sum = String::new();
        counts.sum().write(&mut sum);
        assert!(sum.contains("lictor_bound_refusals_total{tenant=\"all\",bound=\"text\"} 3\n"), "{sum}");
        assert!(sum.contains("lictor_bound_highest{tenant=\"all\",bound=\"text\"} 90\n"), "{sum}");
    }

    #[test]
    fn sum_over_tenants_names_none() {
        let mut counts = AllTenantCounts::default();
        for (tenant, code) in [("acme", "route.path"), ("shop", "route.path"), ("shop", "body.type")] {
            counts.add_error(tenant, code);
            counts.add_action(tenant, Action::Block);
        }
        let mut text = String::new();
        counts.sum().write(&mut text);
        assert!(text.contains("{tenant=\"all\",action=\"block\"} 3\n"), "{text}");
        assert!(text.contains("{tenant=\"all\",code=\"route.path\"} 2\n"), "{text}");
        assert!(!text.contains("acme") && !text.contains("shop"), "{text}");
    }
}
