//! `lictor-bench gateway`: the cost of the gateway between an agent and its model, compared with other proxies.
//!
//! The load, the model's server and the measured proxy share one machine, and therefore its cores. So there are two
//! rates: requests per second, and requests per second of the proxy's own processor time, which do not depend on the
//! other processes. All take turns, round by round; figures are medians of the rounds.

mod contender;
mod conversation;
mod load;
pub(crate) mod plain;
mod process;
pub(crate) mod upstream;

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use crate::table::{Better, Section, Table, Target};
use contender::{Contender, Keeps, LITELLM_PROXY, PLAIN};
use load::{Client, Times, drive, quantile};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(1500);

/// How many connections measure throughput, and how many measure streams.
const MANY: usize = 32;
const STREAMS: usize = 4;

/// How many sessions are open, how many are opened at once, and how many other files are open.
const SESSIONS: usize = 10_000;
const OPENING: usize = 64;
const SPARE: u64 = 500;

/// One round of one contender.
#[derive(Clone, Debug)]
struct Round {
    times: Times,
    /// Requests per second.
    rate: f64,
    /// Requests per second of the contender's processor time.
    rate_per_core: f64,
}

/// Measures all of it.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let folder = std::env::current_dir()?.join(format!("lictor-bench-gateway-{}", std::process::id()));
    let result = measure(&folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure(folder: &std::path::Path) -> Result<(), Box<dyn Error>> {
    println!("load average of the machine before: {}", process::load_average());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let contenders = contenders(folder)?;
    for contender in &contenders {
        let port = contender.process.port;
        runtime.block_on(async { Client::connect(port).await?.check().await }).map_err(plainly)?;
    }
    let mut table = Table::default();
    let whole = Arc::new(conversation::requests(false));
    let bytes: usize = whole.iter().map(Bytes::len).sum();
    let size = format!("requests of {} bytes, replies of {}", bytes / whole.len(), conversation::reply().len());
    let rounds = take_turns(&runtime, &contenders, 1, &whole)?;
    table.print(&latency(&contenders, &rounds, &size));
    let rounds = take_turns(&runtime, &contenders, MANY, &whole)?;
    table.print(&throughput(&contenders, &rounds, &size));
    let rounds = take_turns(&runtime, &contenders, STREAMS, &Arc::new(conversation::requests(true)))?;
    table.print(&streams(&contenders, &rounds));
    drop(contenders);
    table.print(&sessions(&runtime, folder)?);
    table.finish();
    println!("load average of the machine after, by all of this: {}", process::load_average());
    Ok(())
}

/// Starts all contenders, the model's server first. Another proxy that cannot be started is left out with a message.
fn contenders(folder: &std::path::Path) -> Result<Vec<Contender>, Box<dyn Error>> {
    let upstream = contender::upstream()?;
    let port = upstream.process.port;
    let mut contenders = vec![upstream, contender::plain(port)?];
    for keeps in Keeps::ALL {
        let own = folder.join(format!("{keeps:?}").to_lowercase());
        std::fs::create_dir_all(&own)?;
        contenders.push(contender::lictor(port, &own, keeps)?);
    }
    type Start = fn(u16, &std::path::Path) -> Result<Contender, Box<dyn Error>>;
    let others: [(&str, Start); 2] = [(contender::NGINX, contender::nginx), (LITELLM_PROXY, contender::litellm)];
    for (name, start) in others {
        match start(port, folder) {
            Ok(contender) => contenders.push(contender),
            Err(error) => println!("LEFT OUT: {name}: {error}"),
        }
    }
    Ok(contenders)
}

/// Runs all rounds of all contenders, one after the other; the first does not count.
fn take_turns(
    runtime: &Runtime,
    contenders: &[Contender],
    connections: usize,
    bodies: &Arc<Vec<Bytes>>,
) -> Result<Vec<Vec<Round>>, Box<dyn Error>> {
    let mut rounds = vec![Vec::new(); contenders.len()];
    for number in 0..=ROUNDS {
        for (contender, rounds) in contenders.iter().zip(&mut rounds) {
            let process = &contender.process;
            let (cpu, begun) = (process.cpu(), Instant::now());
            let times = runtime.block_on(drive(process.port, connections, bodies, ROUND)).map_err(plainly)?;
            let (time, cpu) = (begun.elapsed().as_secs_f64(), process.cpu() - cpu);
            let count = times.whole.len() as f64;
            if number > 0 {
                rounds.push(Round { rate: count / time, rate_per_core: count / cpu, times });
            }
        }
    }
    Ok(rounds)
}

fn latency(contenders: &[Contender], rounds: &[Vec<Round>], size: &str) -> Section {
    let mut section = Section::new(format!("latency, one connection, {size}"));
    let at = |place: usize, share: f64| median(rounds[place].iter().map(|round| quantile(&round.times.whole, share)));
    for (place, contender) in contenders.iter().enumerate() {
        let (p50, p99) = (at(place, 0.5), at(place, 0.99));
        let added = format!("p99 {p99:.0} us; adds {:.0} us at p50, {:.0} at p99", p50 - at(0, 0.5), p99 - at(0, 0.99));
        section.figure(contender.name, p50, "us, p50", added);
    }
    section
}

fn throughput(contenders: &[Contender], rounds: &[Vec<Round>], size: &str) -> Section {
    let mut section = Section::new(format!("throughput, {MANY} connections, {size}"));
    for (contender, rounds) in contenders.iter().zip(rounds) {
        let rate = median(rounds.iter().map(|round| round.rate));
        let per_core = median(rounds.iter().map(|round| round.rate_per_core));
        let p99 = median(rounds.iter().map(|round| quantile(&round.times.whole, 0.99)));
        let note =
            format!("{per_core:.0} a second of its own processor time, {:.0} us each; p99 {p99:.0} us", 1e6 / per_core);
        section.figure(contender.name, rate, "requests/s", note);
    }
    let compared = [(PLAIN, Some(Target::AtLeast(0.75))), (LITELLM_PROXY, Some(Target::AtLeast(20.0)))];
    for keeps in Keeps::ALL {
        for (other, target) in compared {
            let Some(ratios) = ratios(contenders, rounds, keeps.name(), other) else { continue };
            let what = format!("{} / {other}", keeps.name());
            section.figure(what, ratios.0, "x", format!("{:.2} x by processor time", ratios.1));
            let name = format!("throughput/{}-to-{}", slug(keeps.name()), slug(other));
            section.ratio(format!("{name}/time"), ratios.0, Better::Higher);
            section.ratio(format!("{name}/processor"), ratios.1, Better::Higher);
            if let (Some(target), Keeps::Nothing | Keeps::Everything) = (target, keeps) {
                section.target(target);
            }
        }
    }
    section
}

/// Returns a name in lower case, with a dash for all that is neither letter nor digit.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// Returns the ratios of two contenders' rates: per second, and per second of processor time. Medians of the rounds.
fn ratios(contenders: &[Contender], rounds: &[Vec<Round>], one: &str, other: &str) -> Option<(f64, f64)> {
    let of = |name: &str| rounds.get(contenders.iter().position(|contender| contender.name == name)?);
    let (ones, others) = (of(one)?, of(other)?);
    let ratio = |figure: fn(&Round) -> f64| median(ones.iter().zip(others).map(|(a, b)| figure(a) / figure(b)));
    Some((ratio(|round| round.rate), ratio(|round| round.rate_per_core)))
}

fn streams(contenders: &[Contender], rounds: &[Vec<Round>]) -> Section {
    let mut section =
        Section::new(format!("streams, {STREAMS} connections, a piece every millisecond: the first byte"));
    let first = |place: usize| median(rounds[place].iter().map(|round| quantile(&round.times.first, 0.5)));
    let plain = contenders.iter().position(|contender| contender.name == PLAIN).map_or(f64::NAN, first);
    for (place, contender) in contenders.iter().enumerate() {
        let whole = median(rounds[place].iter().map(|round| quantile(&round.times.whole, 0.5)));
        let p99 = median(rounds[place].iter().map(|round| quantile(&round.times.first, 0.99)));
        let note = format!("p99 {p99:.0} us; the last byte after {:.1} ms", whole / 1e3);
        section.figure(contender.name, first(place), "us, p50", note);
    }
    for keeps in Keeps::ALL {
        if let Some(place) = contenders.iter().position(|contender| contender.name == keeps.name()) {
            let what = format!("{} - {PLAIN}", keeps.name());
            section.figure(what, first(place) - plain, "us", "").target(Target::AtMost(1000.0));
        }
    }
    section
}

/// Measures the memory of gateways with many open sessions, each with a connection and one finished exchange.
fn sessions(runtime: &Runtime, folder: &std::path::Path) -> Result<Section, Box<dyn Error>> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let mut section = Section::new(format!("{SESSIONS} sessions open at once"));
    if limit.maximum.is_some_and(|most| most < SESSIONS as u64 + SPARE) {
        println!("LEFT OUT: sessions: a process may open {:?} files only\nhint: raise `ulimit -Hn`", limit.maximum);
        return Ok(section);
    }
    let upstream = contender::upstream()?;
    for keeps in [Keeps::Nothing, Keeps::Everything] {
        let own = folder.join(format!("{keeps:?}-open").to_lowercase());
        std::fs::create_dir_all(&own)?;
        let gateway = contender::lictor(upstream.process.port, &own, keeps)?;
        let idle = gateway.process.resident();
        let begun = Instant::now();
        let opened = runtime.block_on(load::open(gateway.process.port, SESSIONS, OPENING)).map_err(plainly)?;
        let note =
            format!("{} MB before; {} opened in {:.1} s", idle >> 20, opened.len(), begun.elapsed().as_secs_f64());
        let most = Target::AtMost(500.0);
        section.figure(gateway.name, gateway.process.resident() as f64 / 1e6, "MB", note).target(most);
    }
    Ok(section)
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    quantile(&figures, 0.5)
}

fn plainly(failure: load::Failure) -> Box<dyn Error> {
    failure.to_string().into()
}
