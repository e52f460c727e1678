//! Handles signals so that none of them leaves the terminal in raw mode.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signals that end the process or stop it for a while.
pub struct Signals {
    /// Whether another program has the terminal and should get the signals.
    lent: Arc<AtomicBool>,
    end: Arc<AtomicUsize>,
    suspend: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
}

impl Signals {
    /// Handles the signals from here on.
    pub fn install() -> io::Result<Self> {
        let signals =
            Self { lent: Arc::default(), end: Arc::default(), suspend: Arc::default(), resumed: Arc::default() };
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
            for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
                signal_hook::flag::register_usize(signal, signals.end.clone(), usize::try_from(signal).unwrap_or(0))?;
            }
            // The request is recorded before the process stops. If the signal's thread recorded it after continuing,
            // the main thread might already have dropped the input meant for the program that had the terminal.
            signal_hook::flag::register(SIGTSTP, signals.suspend.clone())?;
            // A signal that stops the program with the terminal stops the one that waits for it, or the shell waits
            // forever.
            signal_hook::flag::register_conditional_default(SIGTSTP, signals.lent.clone())?;
            signal_hook::flag::register(SIGCONT, signals.resumed.clone())?;
        }
        Ok(signals)
    }

    /// Runs another program in the terminal, which gets the user's interrupts.
    pub fn give_way<T>(&self, run: impl FnOnce() -> T) -> T {
        self.lent.store(true, Ordering::Relaxed);
        let result = run();
        self.lent.store(false, Ordering::Relaxed);
        self.suspend();
        #[cfg(unix)]
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT] {
            let signal = usize::try_from(signal).unwrap_or(0);
            let _ = self.end.compare_exchange(signal, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        result
    }

    /// The signal that ends the process, if one arrived.
    pub fn end(&self) -> Option<i32> {
        i32::try_from(self.end.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
    }

    /// Whether the process should stop; true once per request.
    pub fn suspend(&self) -> bool {
        self.suspend.swap(false, Ordering::Relaxed)
    }

    /// Whether the process was continued; true once.
    pub fn resumed(&self) -> bool {
        self.resumed.swap(false, Ordering::Relaxed)
    }
}

/// Suspends the process as the terminal would, until the shell continues it.
pub fn suspend() -> io::Result<()> {
    #[cfg(unix)]
    signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
    Ok(())
}
