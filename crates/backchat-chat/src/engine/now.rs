//! The clock a template sees, and the clock that limits are measured with.

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

/// Whether a text is a time that [`RenderOptions::now`](crate::RenderOptions::now) takes.
pub fn check_time(text: &str) -> std::result::Result<(), String> {
    parse(text).map(drop)
}

/// Reads a fixed time, such as `2026-11-20T08:00:00`.
pub(crate) fn parse(text: &str) -> std::result::Result<DateTime, String> {
    text.parse().map_err(|_| format!("'{text}' is not a time such as 2026-11-20T08:00:00"))
}

/// `datetime.strftime`, of a time without a zone.
pub(crate) fn strftime(now: DateTime, format: &str) -> Result<String> {
    // A time without a zone writes nothing for its offset and name.
    let mut plain = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('z' | 'Z') => {}
                Some('%') => plain.push_str("%%"),
                Some(directive) => plain.extend(['%', directive]),
                None => plain.push_str("%%"),
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
