//! The floor: only writing and syncing the bytes of a ledger.

use std::collections::VecDeque;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use super::Load;

/// Returns the seconds for writing batches to a file and syncing each, without appends and acknowledgements.
pub(super) fn batches(path: &Path, batches: &[Vec<u8>]) -> Result<f64, Box<dyn Error>> {
    let mut file = File::create(path)?;
    let start = Instant::now();
    for batch in batches {
        file.write_all(batch)?;
        file.sync_data()?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Returns the seconds until all lines of a load are acknowledged, with as many in flight per thread: a group commit
/// by hand, where one thread writes and syncs the lines buffered meanwhile.
pub(super) fn appends(path: &Path, lines: &[Vec<u8>], load: &Load) -> Result<f64, Box<dyn Error>> {
    let mut file = File::create(path)?;
    let desk = Desk::default();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| desk.write(&mut file));
        let append = |thread: usize| {
            let (desk, lines) = (&desk, lines.iter().skip(thread).step_by(load.threads));
            scope.spawn(move || append_some(desk, lines, load.on_the_way))
        };
        let threads: Vec<_> = (0..load.threads).map(append).collect();
        let is_done = threads.into_iter().all(|thread| thread.join().is_ok());
        desk.close();
        match writer.join() {
            Ok(Ok(())) if is_done => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            _ => Err("a thread failed".to_owned()),
        }
    })?;
    Ok(start.elapsed().as_secs_f64())
}

fn append_some<'a>(desk: &Desk, lines: impl Iterator<Item = &'a Vec<u8>>, on_the_way: usize) {
    let mut waiting = VecDeque::new();
    for line in lines {
        waiting.push_back(desk.append(line));
        if waiting.len() >= on_the_way {
            waiting.drain(..on_the_way.div_ceil(2)).for_each(|told| *told.wait());
        }
    }
    waiting.into_iter().for_each(|told| *told.wait());
}

/// The buffer of lines while the disk is busy.
#[derive(Default)]
struct Desk {
    gathered: Mutex<GatheredBatch>,
    arrived: Condvar,
}

#[derive(Default)]
struct GatheredBatch {
    bytes: Vec<u8>,
    told: Arc<OnceLock<()>>,
    is_closed: bool,
}

impl Desk {
    fn append(&self, line: &[u8]) -> Arc<OnceLock<()>> {
        let mut gathered = self.lock();
        if gathered.bytes.is_empty() {
            self.arrived.notify_one();
        }
        gathered.bytes.extend_from_slice(line);
        Arc::clone(&gathered.told)
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_one();
    }

    fn write(&self, file: &mut File) -> std::io::Result<()> {
        let mut spare = Vec::new();
        loop {
            let is_idle = |gathered: &mut GatheredBatch| gathered.bytes.is_empty() && !gathered.is_closed;
            let mut gathered = self.arrived.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
            if gathered.bytes.is_empty() {
                return Ok(());
            }
            let bytes = std::mem::replace(&mut gathered.bytes, spare);
            let told = std::mem::take(&mut gathered.told);
            drop(gathered);
            // Waiting threads are woken in any case, or the run would hang instead of failing.
            let written = file.write_all(&bytes).and_then(|()| file.sync_data());
            let _ = told.set(());
            written?;
            spare = bytes;
            spare.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, GatheredBatch> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
