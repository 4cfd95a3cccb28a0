//! A gate that lets a few pieces of long work in at once, in the order of a fair queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::fair_queue::{FairQueue, Flow};

/// A gate with a number of places.
#[derive(Clone, Debug)]
pub(crate) struct FairGate(Arc<Mutex<GateState>>);

#[derive(Debug)]
struct GateState {
    free: usize,
    waiting: FairQueue<oneshot::Sender<GatePlace>>,
}

/// A place behind the gate. Dropping it lets the next one in.
#[derive(Debug)]
pub(crate) struct GatePlace {
    /// None once it is free again.
    gate: Option<FairGate>,
}

impl FairGate {
    /// Returns a gate with this many places, at least one.
    pub(crate) fn new(places: usize) -> FairGate {
        FairGate(Arc::new(Mutex::new(GateState { free: places.max(1), waiting: FairQueue::default() })))
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place. `cost` is what the client is charged for its work, in any unit.
    pub(crate) async fn enter(&self, flow: Flow, cost: usize) -> GatePlace {
        let receiver = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return GatePlace { gate: Some(self.clone()) };
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.push(flow, cost as u64, sender);
            receiver
        };
        // A sender is never dropped without a place while the gate exists.
        receiver.await.unwrap_or(GatePlace { gate: None })
    }

    /// Gives a place to the next one that still waits.
    fn leave(&self) {
        loop {
            let next = {
                let mut state = self.state();
                match state.waiting.pop(|next| !next.is_closed()) {
                    Some(next) => next,
                    None => {
                        state.free += 1;
                        return;
                    }
                }
            };
            match next.send(GatePlace { gate: Some(self.clone()) }) {
                Ok(()) => return,
                // It waits no longer.
                Err(mut place) => place.gate = None,
            }
        }
    }
}

impl Drop for GatePlace {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            gate.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn gate_admits_by_turns_and_survives_cancellation() {
        let gate = FairGate::new(1);
        let (busy, other) = (Flow { client: 1, conversation: 0 }, Flow { client: 2, conversation: 0 });
        let place = poll(pin!(gate.enter(busy, 10))).unwrap();
        let mut first = pin!(gate.enter(busy, 10));
        let mut second = pin!(gate.enter(busy, 10));
        assert!(poll(first.as_mut()).is_none() && poll(second.as_mut()).is_none());
        {
            let mut left = pin!(gate.enter(other, 10));
            assert!(poll(left.as_mut()).is_none());
        }
        let mut late = pin!(gate.enter(other, 10));
        assert!(poll(late.as_mut()).is_none());
        drop(place);
        let place = poll(first.as_mut()).unwrap();
        assert!(poll(second.as_mut()).is_none() && poll(late.as_mut()).is_none());
        drop(place);
        let place = poll(late.as_mut()).expect("the other client is next");
        assert!(poll(second.as_mut()).is_none());
        drop(place);
        drop(poll(second.as_mut()).unwrap());
        assert!(poll(pin!(gate.enter(busy, 1))).is_some(), "all places are free again");
    }
}
