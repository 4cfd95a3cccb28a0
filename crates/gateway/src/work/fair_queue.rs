//! A queue that serves clients by turns, and the conversations of a client by turns.
//!
//! This is start-time fair queueing (Goyal, Vin, Cheng 1996) on two levels. Each client has a virtual time, which moves on
//! by the cost of what it is served; the client that is furthest behind is next. A client that was idle begins at the
//! time of the one that is served, so that it neither waits for the others nor makes up for its idle time.

use std::collections::{HashMap, VecDeque};

/// Who waits: a client, and one of its conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) client: u64,
    pub(crate) conversation: u64,
}

/// A queue of items, each of a flow.
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    clients: Turns<Turns<VecDeque<Waiting<T>>>>,
}

#[derive(Debug)]
struct Waiting<T> {
    cost: u64,
    item: T,
}

/// Those who wait, each with the virtual time at which they are served next.
#[derive(Debug)]
struct Turns<T> {
    /// The virtual time of the one that was served last.
    now: u64,
    /// Counts arrivals, so that equal times are served in the order of arrival.
    arrived: u64,
    waiting: HashMap<u64, Turn<T>>,
    /// The virtual times of those who were served and wait no longer.
    served: HashMap<u64, u64>,
}

#[derive(Debug)]
struct Turn<T> {
    start: u64,
    arrived: u64,
    inside: T,
}

impl<T> Default for Turns<T> {
    fn default() -> Turns<T> {
        Turns { now: 0, arrived: 0, waiting: HashMap::new(), served: HashMap::new() }
    }
}

impl<T: Default> Turns<T> {
    /// Returns what waits under a key, which begins to wait if it does not yet.
    fn enter(&mut self, key: u64) -> &mut T {
        let (now, arrived) = (self.now, self.arrived);
        self.arrived += 1;
        let served = &mut self.served;
        let turn = self.waiting.entry(key).or_insert_with(|| {
            let start = served.remove(&key).unwrap_or(0).max(now);
            Turn { start, arrived, inside: T::default() }
        });
        &mut turn.inside
    }

    /// Returns the key that is served next.
    fn next(&self) -> Option<u64> {
        self.waiting.iter().min_by_key(|(_, turn)| (turn.start, turn.arrived)).map(|(key, _)| *key)
    }

    /// Charges a key for what it was served. `is_done` says whether nothing more waits under it.
    fn charge(&mut self, key: u64, cost: u64, is_done: bool) {
        let Some(turn) = self.waiting.get_mut(&key) else { return };
        self.now = self.now.max(turn.start);
        turn.start = turn.start.saturating_add(cost);
        if is_done {
            let start = turn.start;
            self.waiting.remove(&key);
            self.served.insert(key, start);
        }
        if self.waiting.is_empty() {
            // All are even again.
            self.now = self.served.drain().map(|(_, start)| start).fold(self.now, u64::max);
        } else if self.served.len() > 2 * self.waiting.len() + 64 {
            // Times that have passed make no difference.
            let now = self.now;
            self.served.retain(|_, start| *start > now);
        }
    }
}

impl<T> Default for FairQueue<T> {
    fn default() -> FairQueue<T> {
        FairQueue { clients: Turns::default() }
    }
}

impl<T> FairQueue<T> {
    /// Adds an item of a flow, which costs this much to serve.
    pub(super) fn push(&mut self, flow: Flow, cost: u64, item: T) {
        self.clients.enter(flow.client).enter(flow.conversation).push_back(Waiting { cost: cost.max(1), item });
    }

    /// Removes and returns the item that is served next. Items that are not wanted any more are dropped and cost nothing.
    pub(super) fn pop(&mut self, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        loop {
            let client = self.clients.next()?;
            let conversations = &mut self.clients.waiting.get_mut(&client)?.inside;
            let conversation = conversations.next()?;
            let items = &mut conversations.waiting.get_mut(&conversation)?.inside;
            let Waiting { cost, item } = items.pop_front()?;
            let cost = if is_wanted(&item) { cost } else { 0 };
            let is_last = items.is_empty();
            conversations.charge(conversation, cost, is_last);
            let is_done = conversations.waiting.is_empty();
            self.clients.charge(client, cost, is_done);
            if cost > 0 {
                return Some(item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(client: u64, conversation: u64) -> Flow {
        Flow { client, conversation }
    }

    /// Serves everything, where a client queues its next piece as soon as one was served. Returns the cost of what was
    /// served before the first item of flow `wanted`.
    fn cost_before(wanted: Flow, busy: &[(Flow, u64)], arrives_after: usize) -> u64 {
        let mut queue = FairQueue::default();
        busy.iter().for_each(|(flow, cost)| queue.push(*flow, *cost, (*flow, *cost)));
        for _ in 0..arrives_after {
            let (flow, cost) = queue.pop(|_| true).unwrap();
            queue.push(flow, cost, (flow, cost));
        }
        queue.push(wanted, 1, (wanted, 1));
        let mut before = 0;
        loop {
            let (flow, cost) = queue.pop(|_| true).unwrap();
            if flow == wanted {
                return before;
            }
            before += cost;
            queue.push(flow, cost, (flow, cost));
        }
    }

    #[test]
    fn fair_queue_serves_newcomer_after_one_piece() {
        for conversations in [1, 32, 1000] {
            let busy: Vec<(Flow, u64)> = (0..conversations).map(|number| (flow(7, number), 100)).collect();
            for arrives_after in [1, 10, 5000] {
                let before = cost_before(flow(8, 0), &busy, arrives_after);
                assert!(before <= 100, "{conversations} conversations, {arrives_after} pieces: {before}");
            }
        }
    }

    #[test]
    fn fair_queue_serves_new_conversation_of_busy_client() {
        let busy: Vec<(Flow, u64)> = (0..32).map(|number| (flow(7, number), 100)).collect();
        assert!(cost_before(flow(7, 99), &busy, 320) <= 32 * 100);
        let one = [(flow(7, 0), 100)];
        assert!(cost_before(flow(7, 99), &one, 50) <= 100);
    }

    #[test]
    fn fair_queue_shares_by_cost_not_by_count() {
        let (large, small) = (flow(1, 0), flow(2, 0));
        let mut queue = FairQueue::default();
        let mut served = [0u64; 2];
        queue.push(large, 1000, 1000);
        queue.push(small, 10, 10);
        for _ in 0..10_000 {
            let cost: u64 = queue.pop(|_| true).unwrap();
            let place = usize::from(cost == 10);
            served[place] += cost;
            queue.push(if place == 0 { large } else { small }, cost, cost);
        }
        assert!(served[0].abs_diff(served[1]) <= 2000, "{served:?}");
    }

    #[test]
    fn fair_queue_forgets_those_who_left() {
        let mut queue = FairQueue::default();
        for number in 0..10_000 {
            queue.push(flow(number, number), 5, number);
            assert_eq!(queue.pop(|_| true), Some(number));
        }
        assert!(queue.clients.served.len() < 200, "{}", queue.clients.served.len());
        assert_eq!(queue.pop(|_| true), None);
    }
}
