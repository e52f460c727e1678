//! The thread that renders and proves, and gives up when the texts change.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use backchat_core::files::{Documents, with_documents};
use backchat_editor::analysis::{Analysis, Memory, proved};
use backchat_editor::{Document, Settings};

use super::Event;
use super::settings::Workspace;

/// Nested templates need more stack than a thread has.
pub const STACK: usize = 32 << 20;

/// The open documents at one moment.
pub type Snapshot = Arc<HashMap<String, Document>>;

#[derive(Default)]
struct Queue {
    /// The addresses of the documents to prove, the first one first.
    jobs: Vec<String>,
    documents: Snapshot,
    settings: Arc<Workspace>,
    due: Option<Instant>,
    /// The document that is being proved, and the flag that ends that.
    running: Option<(String, Arc<AtomicBool>)>,
}

/// What the two threads share.
#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    news: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The other end of the thread.
pub struct Prover {
    shared: Arc<Shared>,
}

impl Prover {
    /// Starts the thread.
    pub fn start(events: Sender<Event>) -> Self {
        let shared = Arc::new(Shared::default());
        let inside = shared.clone();
        let started = thread::Builder::new().name("prover".to_owned()).stack_size(STACK);
        // Without the thread the server still answers what the text alone says.
        let _ = started.spawn(move || run(&inside, &events));
        Self { shared }
    }

    /// Asks for proofs of documents after a delay, and gives up those that are being made of them.
    pub fn ask(&self, jobs: &[String], documents: Snapshot, settings: Arc<Workspace>, delay: Duration) {
        let mut queue = self.shared.lock();
        queue.jobs.retain(|job| !jobs.contains(job));
        queue.jobs.splice(0..0, jobs.iter().cloned());
        queue.documents = documents;
        queue.settings = settings;
        queue.due = Some(Instant::now() + delay);
        if let Some((running, stop)) = &queue.running
            && jobs.contains(running)
        {
            stop.store(true, Ordering::Relaxed);
        }
        self.shared.news.notify_all();
    }
}

/// The texts of documents by their paths.
pub fn texts(documents: &HashMap<String, Document>) -> Arc<Documents> {
    let files = documents.values().filter(|document| document.is_file);
    Arc::new(files.map(|document| (document.path.clone(), document.text.clone())).collect())
}

fn run(shared: &Shared, events: &Sender<Event>) {
    let mut memory = Memory::default();
    loop {
        let (uri, document, documents, settings, stop) = next(shared);
        let version = document.version;
        if events.send(Event::Working(uri.clone(), version)).is_err() {
            return;
        }
        let work = || {
            with_documents(texts(&documents), || {
                backchat_chat::interruptible(stop.clone(), || proved(&document, &settings, &mut memory))
            })
        };
        let analysis = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Analysis::default());
        let is_wanted = !stop.load(Ordering::Relaxed);
        shared.lock().running = None;
        if is_wanted && events.send(Event::Proved(uri, version, Box::new(analysis))).is_err() {
            return;
        }
    }
}

type Job = (String, Document, Snapshot, Arc<Settings>, Arc<AtomicBool>);

/// The next document, once there was no edit for the delay.
fn next(shared: &Shared) -> Job {
    let mut queue = shared.lock();
    loop {
        let now = Instant::now();
        match queue.due {
            Some(due) if due > now => {
                queue = shared.news.wait_timeout(queue, due - now).unwrap_or_else(PoisonError::into_inner).0;
            }
            _ if queue.jobs.is_empty() => queue = shared.news.wait(queue).unwrap_or_else(PoisonError::into_inner),
            _ => {
                let uri = queue.jobs.remove(0);
                // A document may have been closed in the meantime.
                if let Some(document) = queue.documents.get(&uri).cloned() {
                    let stop = Arc::new(AtomicBool::new(false));
                    queue.running = Some((uri.clone(), stop.clone()));
                    let settings = queue.settings.of(&document.path).clone();
                    return (uri, document, queue.documents.clone(), settings, stop);
                }
            }
        }
    }
}
