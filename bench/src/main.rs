//! `lictor-bench logic [WORKLOAD …]`: the logic engine and other monitors on the same events in the same run.
//! `lictor-bench data`: properties about sums and several people, against engines of policies.
//! `lictor-bench audit`: an audit of whole logs against only parsing them.
//! `lictor-bench guard`: the cost of a decision on one event.
//! `lictor-bench belief`: the cost of a belief in a property of a pack.
//! `lictor-bench forecast`: the cost of a forecast by a chain.
//! `lictor-bench gateway`: the cost of the gateway, compared with other proxies.
//! `lictor-bench ledger`: durable appends against plain writing, and verification.
//! `lictor-bench store`: engines that keep sessions on disk.
//!
//! `logic` measures one thread: events made in advance from a fixed seed, processor time, the best round after a
//! warm-up. README.md explains the comparisons.

mod audit;
mod belief;
mod data;
mod floor;
mod forecast;
mod gateway;
mod guard;
mod ledger;
mod letters;
mod log;
mod measure;
mod ours;
mod peers;
mod progression;
mod random;
mod store;
mod table;
mod workload;

use std::error::Error;
use std::process::ExitCode;

use crate::table::Table;

/// The allocator of the product, for all measured engines.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str =
    "usage: lictor-bench logic [WORKLOAD …] | data | audit | guard | belief | forecast | gateway | ledger | store";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((name, wanted)) if name == "logic" => finish(logic(wanted)),
        Some((name, [])) if name == "data" => finish(data::run()),
        Some((name, [])) if name == "guard" => finish(guard::run()),
        Some((name, [])) if name == "belief" => finish(belief::run()),
        Some((name, [])) if name == "forecast" => finish(forecast::run()),
        Some((name, [])) if name == "gateway" => finish(gateway::run()),
        Some((name, [port])) if name == "gateway-upstream" => finish(number(port).and_then(gateway::upstream::run)),
        Some((name, [port, upstream])) if name == "gateway-plain" => {
            finish(number(port).and_then(|port| gateway::plain::run(port, number(upstream)?)))
        }
        Some((name, [])) if name == "ledger" => finish(ledger::run()),
        Some((name, [])) if name == "audit" => finish(audit::run()),
        Some((name, [path])) if name == "audit-messages" => finish(audit::findings::file(path)),
        Some((name, [path, properties])) if name == "audit-file" => finish(audit::file(path, properties)),
        Some((name, [])) if name == "store" => finish(store::run()),
        Some((name, [engine, step, folder])) if name == "store-step" => finish(store::step(engine, step, folder)),
        Some((name, [what])) if name == "weigh" => {
            finish(workload::memory::weigh(what).map(|bytes| println!("{bytes}")))
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn number(port: &str) -> Result<u16, Box<dyn Error>> {
    port.parse().map_err(|_| format!("`{port}` is not a port").into())
}

fn finish(result: Result<(), Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn logic(wanted: &[String]) -> Result<(), Box<dyn Error>> {
    if let Some(unknown) = wanted.iter().find(|name| workload::ALL.iter().all(|workload| workload.name != **name)) {
        let names = workload::ALL.map(|workload| workload.name).join(", ");
        return Err(format!("there is no workload `{unknown}`\nhint: there are {names}").into());
    }
    let mut table = Table::default();
    for workload in workload::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == workload.name) {
            continue;
        }
        (workload.run)(&mut table)?;
    }
    table.finish();
    Ok(())
}
