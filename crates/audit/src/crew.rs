//! Threads that read, decode and judge side by side.
//!
//! Each thread judges the sessions of one shard, in the order of the log. Whoever has nothing to judge divides the next
//! piece among all. Nobody waits for the others to finish a round, and pieces are small, so that what one makes of a
//! piece is still in the cache when it is judged; how many are under way is bounded, and so is memory.

use std::collections::VecDeque;
use std::hash::RandomState;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Progress;
use super::batch::{Batches, Piece};
use super::shard::Shard;
use lictor_decode::Fault;

/// How many pieces may be under way for each thread.
const AHEAD: u64 = 4;

/// What the threads share.
struct Crew<'a, 'b> {
    reader: Mutex<Reader<'a, 'b>>,
    table: Mutex<Table>,
    changed: Condvar,
    progress: &'a dyn Progress,
    hasher: &'a RandomState,
    threads: usize,
}

/// The log, piece by piece.
struct Reader<'a, 'b> {
    batches: &'a mut Batches<'b>,
    /// How many pieces were read.
    read: u64,
}

/// Pieces between those who decode and those who judge.
#[derive(Default)]
struct Table {
    /// Pieces that were divided, in the order of the log; none for one that is still being read.
    pieces: VecDeque<Option<Arc<Piece>>>,
    /// The number of the first of them.
    first: u64,
    /// How many pieces somebody has begun to read.
    begun: u64,
    /// How many pieces each shard has judged.
    judged: Vec<u64>,
    /// How many pieces there are, once that is known.
    total: Option<u64>,
    /// What was wrong, with the number of its file.
    faults: Vec<(usize, Fault)>,
    /// A thread has died, and nobody should wait for it.
    failed: bool,
}

/// What a thread does next.
enum Task {
    Judge(Arc<Piece>),
    Divide,
    Nothing,
}

/// Judges everything; gives what was wrong with the log, in its order.
pub(super) fn work(
    batches: &mut Batches<'_>,
    shards: &mut [Shard],
    hasher: &RandomState,
    progress: &dyn Progress,
) -> Vec<Fault> {
    let threads = shards.len();
    let crew = Crew {
        reader: Mutex::new(Reader { batches, read: 0 }),
        table: Mutex::new(Table { judged: vec![0; threads], ..Table::default() }),
        changed: Condvar::new(),
        progress,
        hasher,
        threads,
    };
    match &mut *shards {
        [shard] => crew.run(0, shard),
        shards => std::thread::scope(|scope| {
            for (place, shard) in shards.iter_mut().enumerate() {
                let crew = &crew;
                scope.spawn(move || {
                    let alarm = Alarm(crew);
                    crew.run(place, shard);
                    std::mem::forget(alarm);
                });
            }
        }),
    }
    let Table { mut faults, .. } = crew.table.into_inner().unwrap_or_else(PoisonError::into_inner);
    for shard in shards {
        faults.append(&mut shard.faults);
        shard.counts.iter().enumerate().for_each(|(file, events)| batches.note(file, *events));
    }
    faults.sort_by_key(|(file, fault)| (*file, fault.line, fault.column));
    faults.into_iter().map(|(_, fault)| fault).collect()
}

/// Tells the others when a thread dies.
struct Alarm<'c, 'a, 'b>(&'c Crew<'a, 'b>);

impl Drop for Alarm<'_, '_, '_> {
    fn drop(&mut self) {
        lock(&self.0.table).failed = true;
        self.0.changed.notify_all();
    }
}

impl Crew<'_, '_> {
    fn run(&self, place: usize, shard: &mut Shard) {
        loop {
            match self.task(place) {
                Task::Judge(piece) => {
                    let events = shard.judge(&piece, place);
                    let is_last = place + 1 == self.threads;
                    self.progress.advanced(if is_last { piece.bytes } else { 0 }, events);
                    drop(piece);
                    self.clear(place);
                }
                Task::Divide => self.divide(),
                Task::Nothing => return,
            }
        }
    }

    fn task(&self, place: usize) -> Task {
        let mut table = lock(&self.table);
        loop {
            let judged = table.judged[place];
            if table.failed || table.total == Some(judged) {
                return Task::Nothing;
            }
            let next = table.pieces.get((judged - table.first) as usize);
            if let Some(Some(piece)) = next {
                return Task::Judge(Arc::clone(piece));
            }
            if table.total.is_none() && table.begun - table.first < AHEAD * self.threads as u64 {
                table.begun += 1;
                return Task::Divide;
            }
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Divides the next piece among all.
    fn divide(&self) {
        let (number, batch) = {
            let mut reader = lock(&self.reader);
            let batch = reader.batches.next();
            let number = reader.read;
            reader.read += u64::from(batch.is_some());
            (number, batch)
        };
        let Some(batch) = batch else {
            lock(&self.table).total = Some(number);
            self.changed.notify_all();
            return;
        };
        let mut piece = batch.divide(self.hasher, self.threads);
        let (file, faults) = (piece.file, std::mem::take(&mut piece.faults));
        let mut table = lock(&self.table);
        table.faults.extend(faults.into_iter().map(|fault| (file, fault)));
        let place = (number - table.first) as usize;
        if table.pieces.len() <= place {
            table.pieces.resize(place + 1, None);
        }
        table.pieces[place] = Some(Arc::new(piece));
        drop(table);
        self.changed.notify_all();
    }

    /// Notes that a shard has judged a piece, and takes those off the table that all have judged.
    fn clear(&self, place: usize) {
        let mut table = lock(&self.table);
        table.judged[place] += 1;
        let all = table.judged.iter().copied().min().unwrap_or(0);
        let mut done = Vec::new();
        while table.first < all {
            done.push(table.pieces.pop_front());
            table.first += 1;
        }
        drop(table);
        if !done.is_empty() {
            self.changed.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
