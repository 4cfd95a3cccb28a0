//! Fuzz targets: each reads bytes of others as Lictor does, and asserts a property of what it read.
//!
//! libFuzzer calls a target with inputs that it makes out of a corpus, guided by the code that each of them reaches. A
//! property that does not hold is a panic, and a panic is a finding. See `CONTRIBUTING.md` for how to run and add targets.

#![forbid(unsafe_code)]

mod cel;
mod choices;
mod decode;
mod dogwood;
mod formula;
mod http_head;
mod json;
mod ledger;
mod models;
mod native;
mod policy;
mod recognise;
mod sse;
mod wire;
mod yaml;

use std::sync::OnceLock;

/// The variable that names the target to run.
const TARGET_VARIABLE: &str = "LICTOR_FUZZ_TARGET";

/// A fuzz target.
#[derive(Debug)]
pub struct Target {
    /// Its name, which is also that of its folder in the corpus.
    pub name: &'static str,
    /// Reads one input and panics if its property does not hold.
    pub run: fn(&[u8]),
}

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "cel", run: cel::run },
    Target { name: "decode", run: decode::run },
    Target { name: "dogwood", run: dogwood::run },
    Target { name: "formula", run: formula::run },
    Target { name: "http_head", run: http_head::run },
    Target { name: "json", run: json::run },
    Target { name: "ledger", run: ledger::run },
    Target { name: "models", run: models::run },
    Target { name: "native", run: native::run },
    Target { name: "policy", run: policy::run },
    Target { name: "recognise", run: recognise::run },
    Target { name: "sse", run: sse::run },
    Target { name: "wire", run: wire::run },
    Target { name: "yaml", run: yaml::run },
];

/// Returns the target that the environment names.
pub fn chosen_target() -> Option<&'static Target> {
    static CHOSEN: OnceLock<Option<&'static Target>> = OnceLock::new();
    CHOSEN
        .get_or_init(|| {
            let name = std::env::var(TARGET_VARIABLE).unwrap_or_default();
            TARGETS.iter().find(|target| target.name == name)
        })
        .to_owned()
}

/// Prepares the process before the first input; ends it if no target is named.
pub fn start() {
    let name = std::env::var(TARGET_VARIABLE).unwrap_or_default();
    if name == "list" {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        std::process::exit(0);
    }
    if chosen_target().is_none() {
        eprintln!("error: {TARGET_VARIABLE} is `{name}`, which names no target\n  hint: `list` names them all");
        std::process::exit(2);
    }
    abort_on_panic();
}

/// Aborts on every panic but one in the code of others on a thread of its own: who starts such a thread expects that.
fn abort_on_panic() {
    // libFuzzer's own hook, which prints and aborts.
    let aborting = std::panic::take_hook();
    let main = std::thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        let is_foreign = panic.location().is_some_and(|place| place.file().contains("/registry/"));
        let is_main = std::thread::current().id() == main;
        if is_main || !is_foreign {
            aborting(panic);
        }
    }));
}
