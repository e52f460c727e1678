//! The state of one render apart from its variables.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use chrono::NaiveDateTime;

use super::clock;
use super::detail_recorder::DetailRecorder;
use super::limits::MAX_NAMESPACES;
use super::outcome_recorder::{Assumed, OutcomeRecorder};
use super::read_recorder::Recorder;
use crate::values::namespace::Namespace;
use crate::values::{Result, error};

#[derive(Debug)]
pub(crate) struct Run {
    now: Option<NaiveDateTime>,
    /// Whether what is printed is escaped, as inside an `autoescape` block.
    pub(crate) escapes: Cell<bool>,
    /// The message of `raise_exception`.
    pub(crate) raised: RefCell<Option<String>>,
    namespaces: RefCell<Vec<Arc<Namespace>>>,
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) outcomes: Option<Box<OutcomeRecorder>>,
    pub(crate) details: Option<Box<DetailRecorder>>,
    /// Whether origins are recorded.
    pub(crate) traces: bool,
}

impl Run {
    pub(crate) fn new(now: Option<NaiveDateTime>, watch: bool, traces: bool) -> Self {
        let (escapes, raised, namespaces) = Default::default();
        let recorder = watch.then(Arc::default);
        Self { now, escapes, raised, namespaces, recorder, outcomes: None, details: None, traces }
    }

    /// The same, recording also which way conditions go, some of them as assumed.
    pub(crate) fn recording_outcomes(self, assumed: &[Assumed]) -> Self {
        let mut run = self;
        run.outcomes = Some(Box::new(OutcomeRecorder::assuming(assumed)));
        run
    }

    /// The same, recording also branches and values.
    pub(crate) fn recording_details(self) -> Self {
        let mut run = self;
        run.details = Some(Box::default());
        run
    }

    pub(crate) fn now(&self) -> NaiveDateTime {
        self.now.unwrap_or_else(clock::local_now)
    }

    /// Keeps a namespace until the render ends. It may contain itself, or a chain of others too long to be dropped
    /// recursively.
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
