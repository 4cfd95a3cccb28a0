//! `lictor-bench store`: the cost of keeping sessions on disk, with three engines below the same group commit.
//!
//! Wall time is measured, since a durable save mostly waits for the disk. The engines get the same changes with the
//! same comparison of versions. Each step runs in a separate process, so that memory is that of the step.

mod fjall;
mod redb;

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use lictor_store::{Change, EmbeddedStore, ExpectedVersion, Store, StoreError};

use crate::measure::resident;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

const SESSIONS: u64 = 1_000_000;
const SESSION_BYTES: usize = 500;

/// How many sessions a save creates while the store is filled, how many saves and loads are timed.
const FILL: u64 = 5_000;
const SAVES: usize = 3_000;
const LOADS: usize = 50_000;
const THREADS: usize = 8;

const ROUNDS: usize = 3;

/// The figures that steps print, their units, and our targets.
const ROWS: [(&str, &str, Option<Target>); 9] = [
    ("durable saves, one thread", "saves/s", None),
    ("durable saves, eight threads", "saves/s", None),
    ("loads, one thread", "loads/s", None),
    ("filled", "sessions/s", None),
    ("size on disk", "MB", None),
    ("opened", "ms", None),
    ("opened after a crash", "ms", None),
    ("resident when idle", "MB", Some(Target::AtMost(100.0))),
    ("resident after the loads and saves", "MB", Some(Target::AtMost(100.0))),
];

/// An engine: the part of [`Store`] that is measured.
trait Engine: Send + Sync {
    /// Returns the version of a key; its bytes are read as well.
    fn load(&self, key: &str) -> Result<Option<u64>, StoreError>;
    fn save(&self, changes: &[Change]) -> Result<u64, StoreError>;
}

impl Engine for EmbeddedStore {
    fn load(&self, key: &str) -> Result<Option<u64>, StoreError> {
        Ok(Store::load(self, key)?.map(|stored| stored.version))
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        Store::save(self, changes)
    }
}

const ENGINES: [&str; 3] = ["SQLite (lictor-store)", "redb", "fjall"];

fn open(engine: &str, folder: &Path) -> Result<Box<dyn Engine>, Box<dyn Error>> {
    Ok(match engine {
        "redb" => Box::new(redb::Redb::open(folder)?),
        "fjall" => Box::new(fjall::Fjall::open(folder)?),
        _ => Box::new(EmbeddedStore::open(folder)?),
    })
}

/// Measures all engines. They take turns, so that a slow phase of the disk affects all of them.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("lictor-bench-store-{}", std::process::id()));
    let result = measure(&folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut figures: HashMap<(&str, String), Vec<f64>> = HashMap::new();
    for steps in std::iter::once(&["fill"][..]).chain([&["idle", "work", "crash", "recover"][..]; ROUNDS]) {
        for engine in ENGINES {
            let own = folder.join(engine);
            std::fs::create_dir_all(&own)?;
            for step in steps {
                eprintln!("measuring: {engine}, {step}");
                for (name, figure) in apart(engine, &own, step)? {
                    figures.entry((engine, name)).or_default().push(figure);
                }
            }
        }
    }
    let mut table = Table::default();
    for engine in ENGINES {
        let mut section = Section::new(format!("{engine}: {SESSIONS} sessions of {SESSION_BYTES} bytes"));
        for (name, unit, target) in ROWS {
            let figure = figures.get_mut(&(engine, name.to_string())).map_or(f64::NAN, |figures| median(figures));
            section.figure(name, figure, unit, "");
            if let Some(target) = target.filter(|_| engine == ENGINES[0]) {
                section.target(target);
            }
        }
        if engine != ENGINES[0] {
            for (name, slug) in [("durable saves, one thread", "saves"), ("loads, one thread", "loads")] {
                let mut figure = |engine| figures.get_mut(&(engine, name.to_string())).map(|figures| median(figures));
                if let (Some(ours), Some(theirs)) = (figure(ENGINES[0]), figure(engine)) {
                    section.ratio(format!("{slug}/lictor-to-{engine}"), ours / theirs, Better::Higher);
                }
            }
        }
        table.print(&section);
    }
    table.finish();
    Ok(())
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Runs a step in a separate process and returns the figures that it prints.
fn apart(engine: &str, folder: &Path, step: &str) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["store-step", engine, step]).arg(folder).output()?;
    if !output.status.success() && step != "crash" {
        return Err(format!("{engine}, {step}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let figure =
        |line: &str| line.split_once('\t').and_then(|(name, figure)| Some((name.into(), figure.parse().ok()?)));
    Ok(String::from_utf8(output.stdout)?.lines().filter_map(figure).collect())
}

/// Runs one step in this process.
pub(crate) fn step(engine: &str, step: &str, folder: &str) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(folder);
    let start = Instant::now();
    let store = open(engine, folder)?;
    let opened = start.elapsed().as_secs_f64() * 1e3;
    match step {
        "fill" => {
            fill(store.as_ref())?;
            println!("filled\t{}", SESSIONS as f64 / start.elapsed().as_secs_f64());
            drop(store);
            let files: Result<Vec<_>, _> = std::fs::read_dir(folder)?.collect();
            println!("size on disk\t{}", files?.iter().map(|entry| size(&entry.path())).sum::<u64>() as f64 / 1e6);
        }
        "idle" => {
            println!("opened\t{opened}");
            println!("resident when idle\t{}", resident() as f64 / 1e6);
        }
        "work" => work(store.as_ref())?,
        "crash" => {
            saves(store.as_ref(), 1, SAVES / 3, 3)?;
            std::process::abort();
        }
        "recover" => println!("opened after a crash\t{opened}"),
        _ => return Err(format!("there is no step `{step}`").into()),
    }
    Ok(())
}

fn size(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| size(&entry.path())).sum(),
        Err(_) => path.metadata().map_or(0, |metadata| metadata.len()),
    }
}

fn key(number: u64) -> String {
    format!("session/{number:016x}")
}

/// Returns bytes that do not compress well.
fn value(random: &mut Random) -> Vec<u8> {
    std::iter::repeat_with(|| random.next().to_le_bytes()).flatten().take(SESSION_BYTES).collect()
}

fn fill(store: &dyn Engine) -> Result<(), StoreError> {
    let mut random = Random::new(1);
    for first in (0..SESSIONS).step_by(FILL as usize) {
        let new = |number| Change::put(key(number), ExpectedVersion::Absent, value(&mut random));
        store.save(&(first..first + FILL).map(new).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn work(store: &dyn Engine) -> Result<(), StoreError> {
    let mut random = Random::new(2);
    let start = Instant::now();
    for _ in 0..LOADS {
        store.load(&key(random.below(SESSIONS)))?;
    }
    println!("loads, one thread\t{}", LOADS as f64 / start.elapsed().as_secs_f64());
    println!("durable saves, one thread\t{}", saves(store, 1, SAVES, 1)?);
    println!("durable saves, eight threads\t{}", saves(store, THREADS, SAVES, 2)?);
    println!("resident after the loads and saves\t{}", resident() as f64 / 1e6);
    Ok(())
}

/// Returns the saves per second: each thread loads a session of its own share and saves it with other bytes.
fn saves(store: &dyn Engine, threads: usize, each: usize, seed: u64) -> Result<f64, StoreError> {
    let done = AtomicUsize::new(0);
    let start = Instant::now();
    let work = |thread: usize| {
        let mut random = Random::new(seed * 100 + thread as u64);
        for _ in 0..each {
            let number = random.below(SESSIONS / threads as u64) * threads as u64 + thread as u64;
            let expected = ExpectedVersion::of_version(store.load(&key(number))?);
            store.save(&[Change::put(key(number), expected, value(&mut random))])?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let work = &work;
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let lost = StoreError::Unavailable { place: "this process".into(), reason: "a thread panicked".into() };
        running.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(lost.clone())))
    })?;
    Ok(done.into_inner() as f64 / start.elapsed().as_secs_f64())
}
