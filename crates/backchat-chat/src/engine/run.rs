//! The state of one render apart from its variables.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use jiff::civil::DateTime;

use super::limits::MAX_NAMESPACES;
use super::now;
use super::read_recorder::Recorder;
use crate::values::namespace::Namespace;
use crate::values::{Result, error};

/// The clock, whether text is escaped, the message of `raise_exception`, the namespaces, the reads.
#[derive(Debug)]
pub(crate) struct Run {
    now: Option<DateTime>,
    escapes: Cell<bool>,
    raised: RefCell<Option<String>>,
    namespaces: RefCell<Vec<Arc<Namespace>>>,
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Whether origins are recorded.
    pub(crate) traces: bool,
}

impl Run {
    pub(crate) fn new(now: Option<DateTime>, watch: bool, traces: bool) -> Self {
        Self {
            now,
            escapes: Cell::new(false),
            raised: RefCell::default(),
            namespaces: RefCell::default(),
            recorder: watch.then(Arc::default),
            traces,
        }
    }

    pub(crate) fn now(&self) -> DateTime {
        self.now.unwrap_or_else(now::local_now)
    }

    /// Whether what is printed is escaped, as inside an `autoescape` block.
    pub(crate) fn escapes(&self) -> bool {
        self.escapes.get()
    }

    /// Turns escaping on or off, and returns the previous setting.
    pub(crate) fn set_escapes(&self, escapes: bool) -> bool {
        self.escapes.replace(escapes)
    }

    pub(crate) fn raise(&self, message: &str) {
        *self.raised.borrow_mut() = Some(message.to_owned());
    }

    pub(crate) fn take_raised(&self) -> Option<String> {
        self.raised.borrow_mut().take()
    }

    /// Keeps a namespace until the render ends. It may contain itself, or a chain of others too long to
    /// be dropped one inside the other.
    pub(crate) fn keep(&self, namespace: &Arc<Namespace>) -> Result<()> {
        let mut namespaces = self.namespaces.borrow_mut();
        if namespaces.len() == MAX_NAMESPACES {
            return Err(error(format!("more than {MAX_NAMESPACES} namespaces")));
        }
        namespaces.push(namespace.clone());
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for namespace in self.namespaces.get_mut().iter() {
            namespace.clear();
        }
    }
}
