//! Durations on the command line, in seconds.

use std::time::Duration;

/// The longest limit: longer than any run, and short enough to be added to a time.
const LONGEST: f64 = 1e10;

/// A number of seconds; `inf` and whatever is too long mean no limit.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds >= 0.0);
    let seconds = seconds.map(|seconds: f64| Duration::from_secs_f64(seconds.min(LONGEST)));
    seconds.ok_or_else(|| "expected a number of seconds, 0 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn every_duration_can_be_added_to_a_time() {
        for text in ["1e10", "1e19", "1e300", "inf", "18446744073709551615"] {
            assert_eq!(seconds(text), Ok(Duration::from_secs(10_000_000_000)), "{text}");
            assert!(Instant::now().checked_add(seconds(text).unwrap()).is_some(), "{text}");
        }
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for text in ["-1", "nan", "", "5s", "-inf"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
