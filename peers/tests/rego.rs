//! Lictor and a Rego engine reach the same verdicts, event by event.

use std::num::NonZero;
use std::thread;

use lictor_peers::cases::{JudgedTrace, PeerCase, read};
use lictor_peers::rego::RegoEngine;

/// How many traces were compared.
#[derive(Debug, Default)]
struct Compared {
    traces: usize,
    violating: usize,
    verdicts: usize,
}

impl Compared {
    fn add(&mut self, other: &Compared) {
        self.traces += other.traces;
        self.violating += other.violating;
        self.verdicts += other.verdicts;
    }
}

/// Runs the engine on all traces of a file, on all cores, and compares.
fn compare(file: &str) -> Compared {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut compared = Compared::default();
    for case in read::<Vec<PeerCase>>(file).unwrap() {
        let shares = case.traces.chunks(case.traces.len().div_ceil(cores).max(1));
        thread::scope(|scope| {
            let threads: Vec<_> = shares.map(|traces| scope.spawn(|| compare_traces(&case, traces))).collect();
            threads.into_iter().for_each(|thread| compared.add(&thread.join().unwrap()));
        });
    }
    compared
}

fn compare_traces(case: &PeerCase, traces: &[JudgedTrace]) -> Compared {
    let mut engine = RegoEngine::new(&case.files).unwrap();
    let mut compared = Compared::default();
    for trace in traces {
        let (ours, theirs) = (&trace.verdicts, engine.judge(&trace.input).unwrap());
        assert_eq!(*ours, theirs, "{} {}\n{}", case.policy, trace.title, trace.lines);
        if trace.is_lawful {
            assert!(ours.is_empty(), "{} {ours:?}\n{}", case.policy, trace.lines);
        }
        let violating = usize::from(!ours.is_empty());
        compared.add(&Compared { traces: 1, violating, verdicts: ours.len() });
    }
    compared
}

#[test]
fn dialogues_get_same_verdicts_in_rego() {
    let Compared { traces, violating, verdicts } = compare("dialogues.json");
    assert_eq!(traces, 720);
    // Engines without any violation would agree as well.
    assert!(violating > 450 && verdicts > 700, "{violating} traces with {verdicts} verdicts");
}

#[test]
fn pack_examples_get_same_verdicts_in_rego() {
    let Compared { traces, verdicts, .. } = compare("packs.json");
    assert!(traces > 250 && verdicts > 100, "{traces} traces with {verdicts} verdicts");
}
