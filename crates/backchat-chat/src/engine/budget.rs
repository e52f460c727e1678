//! Bounds an examination of a chat template: all its renders together, and the work on their texts.
//!
//! A budget is counted and not timed, so an examination ends at the same place on every machine. It belongs to the
//! thread, as the limits of a render do. The first limit that a render exceeds ends the examination as well: another
//! render of such a template would exceed it again.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The work that an examination may do, in steps of the evaluator, about 50 ns each; every byte of a render costs one
/// more, because it is read again and again. Real templates need less than half of it.
const DEFAULT: u64 = 20_000_000;

/// Why an examination ended that spent its budget.
pub(super) const SPENT: &str =
    "the budget for examining this template is used up (a budget of 10 allows ten times the work)";

/// How much an examination of a chat template may do, counted and not timed: it ends at the same place on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl Budget {
    /// A multiple of the default budget.
    #[must_use]
    pub fn times(factor: f64) -> Self {
        // The cast saturates.
        Self((DEFAULT as f64 * factor) as u64)
    }

    /// A multiple of this budget.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
}

/// An examination in progress.
#[derive(Clone, Copy)]
struct Examination {
    left: u64,
    ended: Option<&'static str>,
}

/// Why an examination ended that nobody wants any longer.
const INTERRUPTED: &str = "it was interrupted";

thread_local! {
    static CURRENT: Cell<Option<Examination>> = const { Cell::new(None) };
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Ends the examination when it is dropped, as a panic does.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Runs an examination within a budget. One inside another shares the budget of the outer one.
pub fn examine<T>(Budget(left): Budget, work: impl FnOnce() -> T) -> T {
    if CURRENT.get().is_some() {
        return work();
    }
    CURRENT.set(Some(Examination { left, ended: None }));
    let _end = End;
    work()
}

/// Puts back the flag that was there before, also after a panic.
struct Restore(Option<Arc<AtomicBool>>);

impl Drop for Restore {
    fn drop(&mut self) {
        STOP.replace(self.0.take());
    }
}

/// Runs examinations that end early once another thread sets this flag.
pub fn interruptible<T>(stop: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(STOP.replace(Some(stop)));
    work()
}

/// Whether nobody wants the results of this thread any longer.
pub(super) fn is_interrupted() -> bool {
    STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)))
}

/// Charges the examination for work on texts, in steps of the evaluator. Returns false once it has ended: the caller
/// then returns what it has. Outside of an examination it is always true.
pub fn charge(steps: usize) -> bool {
    settle(steps as u64, None);
    ended().is_none()
}

/// Why the current examination ended early, if it did.
pub fn ended() -> Option<&'static str> {
    CURRENT.get()?.ended.or_else(|| is_interrupted().then_some(INTERRUPTED))
}

/// What a render may still spend, in steps of the evaluator, if it belongs to an examination.
pub fn left() -> Option<u64> {
    CURRENT.get().map(|examination| examination.left)
}

/// Subtracts work from the budget. A limit that a render exceeded ends the examination, as does the end of the budget.
pub(super) fn settle(steps: u64, exceeded: Option<&'static str>) {
    let Some(Examination { left, ended }) = CURRENT.get() else { return };
    let overdrawn = (steps > left).then_some(SPENT);
    CURRENT.set(Some(Examination { left: left.saturating_sub(steps), ended: ended.or(exceeded).or(overdrawn) }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChatTemplate, RenderErrorKind, RenderOptions};
    use backchat_core::json::Object;

    fn render(source: &str) -> Result<String, RenderErrorKind> {
        let template = ChatTemplate::compile(source).unwrap();
        let rendered = template.render(&Object::new(), &RenderOptions::default());
        rendered.map(|rendered| rendered.text).map_err(|error| error.kind())
    }

    #[test]
    fn all_renders_and_charges_of_an_examination_share_its_budget() {
        let turns = "{% for i in range(90000) %}{% endfor %}x";
        let until_the_end =
            |budget: Budget| examine(budget, || (0..1000).take_while(|_| render(turns).is_ok()).count());
        let (few, more) = (until_the_end(Budget::times(0.1)), until_the_end(Budget::times(0.2)));
        assert!((1..1000).contains(&few) && (2 * few..=2 * few + 1).contains(&more), "{few}, {more}");
        // One inside another gets no budget of its own, and one after another does.
        let inner = examine(Budget::times(0.1), || until_the_end(Budget::default()) + until_the_end(Budget::default()));
        assert_eq!((inner, until_the_end(Budget::times(0.1))), (few, few));
        let charged = examine(Budget::times(0.1), || {
            while charge(1_000) {}
            (ended(), render("x"))
        });
        assert_eq!(charged, (Some(SPENT), Err(RenderErrorKind::Exhausted)));
    }

    #[test]
    fn bytes_of_renders_count() {
        let long = examine(Budget::default(), || (0..).take_while(|_| render("{{ 'x' * 1000000 }}").is_ok()).count());
        assert!((5..20).contains(&long), "{long}");
    }

    #[test]
    fn the_first_limit_that_a_render_exceeds_ends_the_examination() {
        let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
        let found = examine(Budget::times(100.0), || (ended(), render(endless), ended(), render("x")));
        let why = "the template runs for too long";
        assert_eq!(found, (None, Err(RenderErrorKind::Exhausted), Some(why), Err(RenderErrorKind::Exhausted)));
        assert_eq!((ended(), charge(usize::MAX), render("x")), (None, true, Ok("x".to_owned())), "outside");
    }

    #[test]
    fn a_flag_of_another_thread_ends_an_examination() {
        let stop = Arc::new(AtomicBool::new(false));
        let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
        let setter = stop.clone();
        let found = interruptible(stop, || {
            examine(Budget::times(1e6), || {
                let before = render("x");
                setter.store(true, Ordering::Relaxed);
                (before, render(endless), ended(), charge(1))
            })
        });
        let interrupted = Err(RenderErrorKind::Exhausted);
        assert_eq!(found, (Ok("x".to_owned()), interrupted, Some(INTERRUPTED), false));
        assert_eq!(render("x"), Ok("x".to_owned()), "outside");
    }

    #[test]
    fn a_panic_ends_an_examination() {
        let panicked = std::panic::catch_unwind(|| examine(Budget::default(), || panic!("a bug")));
        assert!(panicked.is_err() && CURRENT.get().is_none());
    }
}
