//! Background work on its own thread; its result is polled.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

/// A long-running task; it returns `None` if it cannot be done.
pub type Task<T> = Box<dyn FnOnce() -> Option<T> + Send>;

/// Background work for a key, and its result.
pub(super) struct Background<K, T> {
    of: Option<K>,
    running: Option<Receiver<Option<T>>>,
    done: Option<T>,
}

impl<K, T> Default for Background<K, T> {
    fn default() -> Self {
        Self { of: None, running: None, done: None }
    }
}

impl<K: PartialEq, T: Send + 'static> Background<K, T> {
    pub fn done(&self) -> Option<&T> {
        self.done.as_ref()
    }

    /// Takes the result.
    pub fn take(&mut self) -> Option<T> {
        self.done.take()
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub fn is_about(&self, of: &K) -> bool {
        self.of.as_ref() == Some(of)
    }

    /// Starts a task and drops the previous one. Without a task there will be no result.
    pub fn start(&mut self, of: K, task: Option<Task<T>>) {
        let running = task.map(|task| {
            let (sender, receiver) = channel();
            // If the receiver was dropped, another task was started.
            thread::spawn(move || drop(sender.send(task())));
            receiver
        });
        *self = Self { of: Some(of), running, done: None };
    }

    /// Checks for the result; true if it just arrived.
    pub fn poll(&mut self) -> bool {
        let Some(running) = &self.running else { return false };
        let done = match running.try_recv() {
            Err(TryRecvError::Empty) => return false,
            Ok(done) => done,
            Err(TryRecvError::Disconnected) => None,
        };
        (self.running, self.done) = (None, done);
        true
    }
}
