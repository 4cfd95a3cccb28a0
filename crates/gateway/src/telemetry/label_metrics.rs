//! The metrics of labelers: drift, requests, and questions without an answer.

use std::fmt::Write;

use lictor_json::Text;
use lictor_label::meter::LabelCounts;

use super::tenant_counts::escape;

/// The labelers and facts of a tenant, and whether the answers drifted.
type TenantDrift<'a> = (&'a str, Vec<(Text, Text, bool)>);

/// Returns the metrics of labelers as text: whether the answers about each fact drifted, by tenant, and what each labeler
/// counted.
pub(crate) fn write_label_metrics(drift: &[TenantDrift<'_>], counts: &[(Text, LabelCounts)]) -> String {
    let mut text = String::new();
    let mut write_rows = |name: &str, kind: &str, help: &str, rows: Vec<(String, u64)>| {
        if !rows.is_empty() {
            let _ = writeln!(text, "# HELP lictor_{name} {help}\n# TYPE lictor_{name} {kind}");
        }
        for (labels, value) in rows {
            let _ = writeln!(text, "lictor_{name}{{{labels}}} {value}");
        }
    };
    let rows = drift.iter().flat_map(|(tenant, facts)| {
        facts.iter().map(move |(labeler, fact, is_suspended)| {
            let [tenant, labeler, fact] = [*tenant, labeler, fact].map(escape);
            (format!("tenant=\"{tenant}\",labeler=\"{labeler}\",fact=\"{fact}\""), u64::from(*is_suspended))
        })
    });
    let help = "Whether answers drifted away from the calibration, so that they are unknown to risks.";
    write_rows("label_drift", "gauge", help, rows.collect());
    let requests = counts.iter().map(|(name, it)| (format!("labeler=\"{}\"", escape(name)), it.requests));
    write_rows("label_requests_total", "counter", "Requests to labelers, retries included.", requests.collect());
    let circuits =
        counts.iter().map(|(name, it)| (format!("labeler=\"{}\"", escape(name)), u64::from(it.is_circuit_open)));
    let help = "Whether a labeler is not asked at the moment, because it did not answer before.";
    write_rows("label_circuit_open", "gauge", help, circuits.collect());
    let unanswered = counts.iter().flat_map(|(name, it)| {
        let failures = it.failures().map(|(why, count)| (why.name(), count));
        let unclear = [("unclear", it.unclear)].into_iter().filter(|(_, count)| *count > 0);
        let labels = move |(why, count)| (format!("labeler=\"{}\",why=\"{why}\"", escape(name)), count);
        failures.chain(unclear).map(labels).collect::<Vec<_>>()
    });
    let help = "Questions to labelers that stayed without a clear answer, by reason.";
    write_rows("label_unanswered_total", "counter", help, unanswered.collect());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_metric_names_tenant_labeler_and_fact() {
        let drift = vec![("small".into(), "threatens".into(), true), ("small".into(), "angry".into(), false)];
        let text = write_label_metrics(&[("acme", drift)], &[("small".into(), LabelCounts::default())]);
        for line in [
            "# TYPE lictor_label_drift gauge",
            "lictor_label_drift{tenant=\"acme\",labeler=\"small\",fact=\"threatens\"} 1",
            "lictor_label_drift{tenant=\"acme\",labeler=\"small\",fact=\"angry\"} 0",
            "lictor_label_requests_total{labeler=\"small\"} 0",
            "lictor_label_circuit_open{labeler=\"small\"} 0",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        assert_eq!(write_label_metrics(&[], &[]), "");
    }
}
