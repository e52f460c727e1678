//! The clock a template sees, and the clock that limits are measured with: the processor time of a thread, so that a
//! loaded machine changes no verdict.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::fmt::strtime::{BrokenDownTime, Config};

use crate::values::{Result, error};

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
// The standard library's panics in a browser.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use web_time::Instant;

pub(crate) fn local_now() -> DateTime {
    jiff::Zoned::now().datetime()
}

/// Checks that a text is a time that [`RenderOptions::now`](crate::RenderOptions::now) accepts.
pub fn check_time(text: &str) -> std::result::Result<(), String> {
    parse(text).map(drop)
}

/// Reads a fixed time, such as `2026-11-20T08:00:00`.
pub(crate) fn parse(text: &str) -> std::result::Result<DateTime, String> {
    text.parse().map_err(|_| format!("'{text}' is not a time such as 2026-11-20T08:00:00"))
}

/// `datetime.strftime` of a time without a zone.
pub(crate) fn strftime(now: DateTime, format: &str) -> Result<String> {
    // The offset and name of the zone are empty.
    let mut plain = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('z' | 'Z') => {}
                Some('%') | None => plain.push_str("%%"),
                Some(directive) => plain.extend(['%', directive]),
            },
            c => plain.push(c),
        }
    }
    let mut out = String::new();
    BrokenDownTime::from(now)
        .format_with_config(&Config::new().lenient(true), plain.as_str(), &mut jiff::fmt::StdFmtWrite(&mut out))
        .map_err(|problem| error(format!("strftime_now: {problem}")))?;
    Ok(out)
}

/// A clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Duration);

impl Stopwatch {
    /// Starts measuring this thread.
    pub fn start() -> Self {
        Self(thread_time())
    }

    /// The processor time since the start; the wall time on systems that do not report it.
    pub fn elapsed(&self) -> Duration {
        thread_time().saturating_sub(self.0)
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn thread_time() -> Duration {
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
        let began = Instant::now();
        while began.elapsed() < asleep {}
        assert!(watch.elapsed() > Duration::ZERO);
    }
}
