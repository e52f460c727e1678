//! The clock a template sees, and the clock that limits are measured with: the processor time of a thread, so that a
//! loaded machine changes no verdict.

use std::fmt;
use std::time::Duration;

use chrono::{Local, NaiveDate, NaiveDateTime};

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
// The standard library's panics in a browser.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use web_time::Instant;

pub(crate) fn local_now() -> NaiveDateTime {
    Local::now().naive_local()
}

/// Checks that a text is a time that [`RenderOptions::now`](crate::RenderOptions::now) accepts.
pub fn check_time(text: &str) -> Result<(), NotATime> {
    parse(text).map(drop)
}

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotATime {
    text: String,
}

impl fmt::Display for NotATime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "'{}' is not a time such as 2026-11-20T08:00:00", self.text)
    }
}

impl std::error::Error for NotATime {}

/// Reads a fixed time, such as `2026-11-20T08:00:00`. The time of day, its seconds and their fraction may be absent; an
/// offset is accepted and ignored, as the time is the local one.
pub(crate) fn parse(text: &str) -> Result<NaiveDateTime, NotATime> {
    read(text).ok_or_else(|| NotATime { text: text.to_owned() })
}

fn read(text: &str) -> Option<NaiveDateTime> {
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    let (time, offset) = time.split_once(['+', '-']).unwrap_or((time, "00:00"));
    let time = if time.len() == "08:00".len() { format!("{time}:00") } else { time.to_owned() };
    let (time, fraction) = time.split_once('.').unwrap_or((&time, "0"));
    let [year, month, day] = numbers("0000-00-00", date)?;
    let [hour, minute, second] = numbers("00:00:00", time)?;
    let [nanosecond] = numbers("000000000", &format!("{fraction:0<9}")).filter(|_| !fraction.is_empty())?;
    let [_, _] = numbers("00:00", offset)?;
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?.and_hms_nano_opt(hour, minute, second, nanosecond)
}

/// The numbers of a text with digits where the shape has zeros.
fn numbers<const N: usize>(shape: &str, text: &str) -> Option<[u32; N]> {
    let fits = |(like, byte): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    let has_shape = text.len() == shape.len() && shape.bytes().zip(text.bytes()).all(fits);
    let numbers = text.split(['-', ':']).map(|number| number.parse().ok());
    has_shape.then(|| numbers.collect::<Option<Vec<u32>>>())??.try_into().ok()
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

    #[test]
    fn times_have_one_form_with_optional_parts() {
        for (text, read) in [
            ("2026-11-20T08:00:00", "2026-11-20T08:00:00"),
            ("2026-11-20 08:00:00", "2026-11-20T08:00:00"),
            ("2024-02-29t23:59", "2024-02-29T23:59:00"),
            ("2026-11-20", "2026-11-20T00:00:00"),
            ("2026-11-20T08:00:00.5", "2026-11-20T08:00:00.500"),
            ("2026-11-20T08:00:00.123456789", "2026-11-20T08:00:00.123456789"),
            ("2026-11-20T08:00:00.25+01:00", "2026-11-20T08:00:00.250"),
            ("2026-11-20T08:00-05:30", "2026-11-20T08:00:00"),
        ] {
            assert_eq!(format!("{:?}", parse(text).unwrap()), read, "{text}");
        }
        for text in [
            "",
            "now",
            "08:00",
            "2026-1-4",
            "2026-02-29",
            "2026-13-01",
            "+026-11-20",
            "2026-11-20T",
            " 2026-11-20",
            "2026-11-20 ",
            "2026-11-20T8:00",
            "2026-11-20T08:+1",
            "2026-11-20T24:00:00",
            "2026-11-20T08:00:60",
            "2026-11-20T08:00.5",
            "2026-11-20T08:00:00.",
            "2026-11-20T08:00:00.+5",
            "2026-11-20T08:00:00.1234567890",
            "2026-11-20T08:00:00Z",
            "2026-11-20T08:00:00+1:00",
            "2026-11-20é08:00:00",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
