//! The state of one render apart from its variables.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::civil::DateTime;

use super::limits::MAX_NAMESPACES;
use super::now;
use super::read_recorder::Recorder;
use crate::chat::values::namespace::Namespace;
use crate::chat::values::{Result, error};

/// The output so far, the spans of generation blocks, the message of `raise_exception`, the namespaces, the reads.
#[derive(Debug)]
pub(crate) struct Run {
    now: Option<DateTime>,
    /// Code points that have reached the output; text that a block or macro captures has not yet.
    written: AtomicUsize,
    spans: Mutex<Vec<(usize, usize)>>,
    raised: Mutex<Option<String>>,
    namespaces: Mutex<Vec<Arc<Namespace>>>,
    pub(crate) recorder: Option<Arc<Recorder>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub(crate) fn new(now: Option<DateTime>, watch: bool) -> Self {
        Self {
            now,
            written: AtomicUsize::new(0),
            spans: Mutex::default(),
            raised: Mutex::default(),
            namespaces: Mutex::default(),
            recorder: watch.then(Arc::default),
        }
    }

    pub(crate) fn now(&self) -> DateTime {
        self.now.unwrap_or_else(now::local_now)
    }

    pub(crate) fn advance(&self, code_points: usize) {
        self.written.fetch_add(code_points, Ordering::Relaxed);
    }

    pub(crate) fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn span(&self, start: usize, end: usize) {
        locked(&self.spans).push((start, end));
    }

    pub(crate) fn take_spans(&self) -> Vec<(usize, usize)> {
        std::mem::take(&mut locked(&self.spans))
    }

    pub(crate) fn raise(&self, message: &str) {
        *locked(&self.raised) = Some(message.to_owned());
    }

    pub(crate) fn take_raised(&self) -> Option<String> {
        locked(&self.raised).take()
    }

    /// Keeps a namespace until the render is over. It may come to hold itself, or a chain of others too long to
    /// be dropped one inside the other.
    pub(crate) fn keep(&self, namespace: &Arc<Namespace>) -> Result<()> {
        let mut namespaces = locked(&self.namespaces);
        if namespaces.len() == MAX_NAMESPACES {
            return Err(error(format!("more than {MAX_NAMESPACES} namespaces")));
        }
        namespaces.push(namespace.clone());
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for namespace in locked(&self.namespaces).iter() {
            namespace.clear();
        }
    }
}
