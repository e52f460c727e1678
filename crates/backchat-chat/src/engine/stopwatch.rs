//! Measures what limits bound: the processor time of a thread, so that a loaded machine changes no verdict.

use std::time::Duration;

/// A clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Duration);

impl Stopwatch {
    /// Starts measuring this thread.
    pub fn start() -> Self {
        Self(now())
    }

    /// The processor time since then; the wall time on systems that do not report it.
    pub fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn now() -> Duration {
    use super::now::Instant;
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn a_thread_that_waits_takes_no_time() {
        let (watch, asleep) = (Stopwatch::start(), Duration::from_millis(200));
        std::thread::sleep(asleep);
        assert!(watch.elapsed() < asleep / 2, "{:?}", watch.elapsed());
        let began = std::time::Instant::now();
        while began.elapsed() < asleep {}
        assert!(watch.elapsed() > Duration::ZERO);
    }
}
