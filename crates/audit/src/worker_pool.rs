//! Threads that read, decode and judge in parallel.
//!
//! Each thread judges the sessions of one shard, in the order of the log. A thread with nothing to judge divides the
//! next batch among all shards. There are no rounds to wait for, and batches are small, so that decoded events are
//! still in the cache when they are judged. The number of batches in flight is bounded, and so is memory.

use std::collections::VecDeque;
use std::hash::RandomState;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::batch::{Batches, ShardedBatch};
use super::shard::Shard;
use super::time_order::UnorderedSessions;
use super::{AuditOptions, Progress};
use lictor_decode::{Fault, LogNotes};

/// How many batches may be in flight for each thread.
const MAX_BATCHES_AHEAD_PER_THREAD: u64 = 4;

/// The state that the threads share.
struct WorkerPool<'a, 'b> {
    reader: Mutex<BatchReader<'a, 'b>>,
    queue: Mutex<BatchQueue>,
    changed: Condvar,
    progress: &'a dyn Progress,
    hasher: &'a RandomState,
    options: &'b AuditOptions,
    threads: usize,
}

/// The log, batch by batch.
struct BatchReader<'a, 'b> {
    batches: &'a mut Batches<'b>,
    /// How many batches were read.
    read: u64,
}

/// Divided batches that some shard has still to judge.
#[derive(Default)]
struct BatchQueue {
    /// The divided batches, in the order of the log; none for one that is still being read.
    divided: VecDeque<Option<Arc<ShardedBatch>>>,
    /// The number of the first of them.
    first: u64,
    /// How many batches a thread has begun to read.
    begun: u64,
    /// How many batches each shard has judged.
    judged: Vec<u64>,
    /// How many batches there are, once that is known.
    total: Option<u64>,
    /// The faults, each with the number of its file.
    faults: Vec<(usize, Fault)>,
    /// What the decoders of the batches noted.
    notes: LogNotes,
    /// Whether a thread has panicked, so that the others must not wait for it.
    failed: bool,
}

/// The next task of a thread.
enum WorkerTask {
    Judge(Arc<ShardedBatch>),
    Divide,
    Nothing,
}

/// Judges all sessions; returns the faults in the order of the log.
pub(super) fn judge_all(
    batches: &mut Batches<'_>,
    shards: &mut [Shard],
    hasher: &RandomState,
    progress: &dyn Progress,
) -> Vec<Fault> {
    let threads = shards.len();
    let options = batches.options();
    let pool = WorkerPool {
        reader: Mutex::new(BatchReader { batches, read: 0 }),
        queue: Mutex::new(BatchQueue { judged: vec![0; threads], ..BatchQueue::default() }),
        changed: Condvar::new(),
        progress,
        hasher,
        options,
        threads,
    };
    match &mut *shards {
        [shard] => pool.run(0, shard),
        shards => std::thread::scope(|scope| {
            for (place, shard) in shards.iter_mut().enumerate() {
                let pool = &pool;
                scope.spawn(move || {
                    let guard = FailureGuard(pool);
                    pool.run(place, shard);
                    std::mem::forget(guard);
                });
            }
        }),
    }
    let BatchQueue { mut faults, mut notes, .. } = pool.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut unordered = UnorderedSessions::default();
    for shard in shards {
        let mut found = shard.take_notes();
        faults.append(&mut found.faults);
        unordered.merge(found.unordered);
        notes.merge(found.log);
        found.counts.iter().enumerate().for_each(|(file, events)| batches.add_events(file, *events));
    }
    faults.extend(unordered.into_fault());
    faults.extend(notes.into_faults().into_iter().map(|fault| (batches.number(&fault.file), fault)));
    faults.sort_by_key(|(file, fault)| (*file, fault.line, fault.column));
    faults.into_iter().map(|(_, fault)| fault).collect()
}

/// Wakes the other threads if a thread panics.
struct FailureGuard<'c, 'a, 'b>(&'c WorkerPool<'a, 'b>);

impl Drop for FailureGuard<'_, '_, '_> {
    fn drop(&mut self) {
        lock(&self.0.queue).failed = true;
        self.0.changed.notify_all();
    }
}

impl WorkerPool<'_, '_> {
    fn run(&self, place: usize, shard: &mut Shard) {
        loop {
            match self.next_task(place) {
                WorkerTask::Judge(batch) => {
                    let events = shard.judge_batch(&batch, place);
                    let is_last = place + 1 == self.threads;
                    self.progress.advanced(if is_last { batch.bytes } else { 0 }, events);
                    drop(batch);
                    self.release_judged(place);
                }
                WorkerTask::Divide => self.divide_next(),
                WorkerTask::Nothing => return,
            }
        }
    }

    fn next_task(&self, place: usize) -> WorkerTask {
        let mut queue = lock(&self.queue);
        loop {
            let judged = queue.judged[place];
            if queue.failed || queue.total == Some(judged) {
                return WorkerTask::Nothing;
            }
            let next = queue.divided.get((judged - queue.first) as usize);
            if let Some(Some(batch)) = next {
                return WorkerTask::Judge(Arc::clone(batch));
            }
            if queue.total.is_none() && queue.begun - queue.first < MAX_BATCHES_AHEAD_PER_THREAD * self.threads as u64 {
                queue.begun += 1;
                return WorkerTask::Divide;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Divides the next batch among all shards.
    fn divide_next(&self) {
        let (number, batch) = {
            let mut reader = lock(&self.reader);
            if self.progress.is_stopped() {
                reader.batches.stop();
            }
            let batch = reader.batches.next();
            let number = reader.read;
            reader.read += u64::from(batch.is_some());
            (number, batch)
        };
        let Some(batch) = batch else {
            lock(&self.queue).total = Some(number);
            self.changed.notify_all();
            return;
        };
        let mut batch = batch.divide(self.hasher, self.threads, self.options);
        let (file, faults, notes) = (batch.file, std::mem::take(&mut batch.faults), std::mem::take(&mut batch.notes));
        let mut queue = lock(&self.queue);
        queue.notes.merge(notes);
        queue.faults.extend(faults.into_iter().map(|fault| (file, fault)));
        let place = (number - queue.first) as usize;
        if queue.divided.len() <= place {
            queue.divided.resize(place + 1, None);
        }
        queue.divided[place] = Some(Arc::new(batch));
        drop(queue);
        self.changed.notify_all();
    }

    /// Counts a batch as judged by a shard, and drops the batches that all shards have judged.
    fn release_judged(&self, place: usize) {
        let mut queue = lock(&self.queue);
        queue.judged[place] += 1;
        let all = queue.judged.iter().copied().min().unwrap_or(0);
        let mut done = Vec::new();
        while queue.first < all {
            done.push(queue.divided.pop_front());
            queue.first += 1;
        }
        drop(queue);
        if !done.is_empty() {
            self.changed.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
