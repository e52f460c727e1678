//! Finishes writing a file before a signal ends the process, so that no partial file is left, and ends examinations early
//! that Ctrl-C interrupts.

use std::path::Path;

use super::input;
use backchat_core::diagnostic::Diagnostic;
use backchat_parser::template::source::replace_file;

/// Replaces a file as a whole.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Diagnostic> {
    uninterrupted(|| replace_file(path, text.as_ref()))
        .map_err(|error| input::cannot_write(&path.display().to_string(), &error))
}

/// Replaces a file as a whole, and creates the folders above it.
pub fn write_inside(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Diagnostic> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.map_err(|error| input::cannot_write(&path.display().to_string(), &error))?;
    write(path, text)
}

/// Writes, deferring signals that end the process until it is done.
#[cfg(unix)]
pub fn uninterrupted<T>(write: impl FnOnce() -> T) -> T {
    unix::uninterrupted(write)
}

/// Writes.
#[cfg(not(unix))]
pub fn uninterrupted<T>(write: impl FnOnce() -> T) -> T {
    write()
}

/// Runs examinations that the first Ctrl-C ends early. The second one ends the process.
#[cfg(unix)]
pub fn ended_by_interrupt<T>(work: impl FnOnce() -> T) -> T {
    unix::ended_by_interrupt(work)
}

/// Runs examinations.
#[cfg(not(unix))]
pub fn ended_by_interrupt<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// Leaves the signals to other handlers from here on.
#[cfg(feature = "tui")]
pub fn hand_over() {
    #[cfg(unix)]
    unix::hand_over();
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::{flag, low_level};

    /// The state of this process's handlers, which stay once they are installed.
    struct Handlers {
        /// Whether a signal ends the process at once.
        ends: Arc<AtomicBool>,
        /// The last signal received.
        came: Arc<AtomicUsize>,
    }

    static HANDLERS: OnceLock<Option<Handlers>> = OnceLock::new();

    fn install() -> io::Result<Handlers> {
        let handlers = Handlers { ends: Arc::default(), came: Arc::default() };
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            flag::register_conditional_default(signal, handlers.ends.clone())?;
            flag::register_usize(signal, handlers.came.clone(), usize::try_from(signal).unwrap_or(0))?;
        }
        Ok(handlers)
    }

    pub fn uninterrupted<T>(write: impl FnOnce() -> T) -> T {
        let Some(handlers) = HANDLERS.get_or_init(|| install().ok()) else { return write() };
        handlers.ends.store(false, Ordering::SeqCst);
        let result = write();
        handlers.ends.store(true, Ordering::SeqCst);
        if let Some(signal) = i32::try_from(handlers.came.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0) {
            // This ends the process; if it fails, nothing can be done.
            let _ = low_level::emulate_default_handler(signal);
        }
        result
    }

    pub fn ended_by_interrupt<T>(work: impl FnOnce() -> T) -> T {
        let Some(handlers) = HANDLERS.get_or_init(|| install().ok()) else { return work() };
        let stop: Arc<AtomicBool> = Arc::default();
        // In this order: the first signal finds the flag unset, the second one set.
        let second = flag::register_conditional_default(SIGINT, stop.clone());
        let first = flag::register(SIGINT, stop.clone());
        handlers.ends.store(first.is_err(), Ordering::SeqCst);
        let result = backchat_chat::interruptible(stop, work);
        for id in [first, second].into_iter().flatten() {
            low_level::unregister(id);
        }
        handlers.came.store(0, Ordering::SeqCst);
        handlers.ends.store(true, Ordering::SeqCst);
        result
    }

    #[cfg(feature = "tui")]
    pub fn hand_over() {
        if let Some(Some(handlers)) = HANDLERS.get() {
            handlers.ends.store(false, Ordering::SeqCst);
        }
    }
}
