//! Jobs on all cores, whose results come in the order of the items.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use super::progress::Progress;
use super::{Failure, Global};

/// Runs a job for every item in parallel, and delivers the results in order, each as soon as possible. The first
/// problem ends it.
pub(super) fn on_all_cores<I: Sync, R: Send>(
    items: &[I],
    global: &Global,
    job: impl Fn(&I) -> R + Sync,
    mut take: impl FnMut(&I, R) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (count, next) = (items.len(), AtomicUsize::new(0));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(count.max(1));
    let mut progress = Progress::new(global, "templates", u64::try_from(count).ok());
    let (send, receive) = channel();
    let taken = thread::scope(|scope| {
        for _ in 0..workers {
            let (send, next, job) = (send.clone(), &next, &job);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    // After a problem, results are no longer received.
                    if send.send((at, job(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut waiting: HashMap<usize, R> = HashMap::new();
        let mut done = 0;
        for (at, result) in receive {
            waiting.insert(at, result);
            while let Some((item, result)) = items.get(done).zip(waiting.remove(&done)) {
                progress.make_room();
                take(item, result)?;
                done += 1;
            }
            progress.advance(1, u64::try_from(done + waiting.len()).unwrap_or(0));
        }
        Ok(())
    });
    progress.finish();
    taken
}
