use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::Global;

/// How far a long job has got, on standard error where that is a terminal and standard output is none.
pub struct Progress {
    shown: bool,
    /// Bytes of the whole input, where they are known.
    total: Option<u64>,
    done: u64,
    started: Instant,
    last: Option<Instant>,
}

/// Nothing is shown of a job that takes less.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a picture stands.
const FRAME: Duration = Duration::from_millis(100);

const WIDTH: u64 = 30;

impl Progress {
    pub fn new(global: &Global, total: Option<u64>) -> Self {
        let shown = !global.is_quiet() && io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { shown, total: total.filter(|total| *total > 0), done: 0, started: Instant::now(), last: None }
    }

    /// So many more bytes are done, and so many rows in all.
    pub fn advance(&mut self, bytes: u64, rows: u64) {
        self.done += bytes;
        let now = Instant::now();
        let due = match self.last {
            None => now - self.started >= PATIENCE,
            Some(last) => now - last >= FRAME,
        };
        if self.shown && due {
            self.last = Some(now);
            self.print(&format!("\r{}\x1b[K", line(self.done, self.total, rows, now - self.started)));
        }
    }

    /// Takes the picture away.
    pub fn finish(&mut self) {
        if self.last.take().is_some() {
            self.print("\r\x1b[K");
        }
    }

    fn print(&self, text: &str) {
        // A picture that cannot be shown is no reason to stop.
        let _ = io::stderr().write_all(text.as_bytes()).and_then(|()| io::stderr().flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn line(done: u64, total: Option<u64>, rows: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let mut line = String::new();
    if let Some(total) = total {
        let done = done.min(total);
        let filled = usize::try_from(done * WIDTH / total).unwrap_or(0);
        let left = seconds * (total - done) as f64 / (done as f64).max(1.0);
        // Writing to a string does not fail.
        let _ = write!(line, "[{:<width$}] {:>3}%  ", "=".repeat(filled), done * 100 / total, width = WIDTH as usize);
        let _ = write!(line, "{rows} rows, {:.0} a second, {} left", rows as f64 / seconds, clock(left));
    } else {
        let _ = write!(line, "{rows} rows, {:.0} a second, {}", rows as f64 / seconds, clock(seconds));
    }
    line
}

fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long() {
        let at = Duration::from_secs(10);
        assert_eq!(
            line(25, Some(100), 500, at),
            "[=======                       ]  25%  500 rows, 50 a second, 0:30 left"
        );
        assert_eq!(line(100, Some(100), 1, at), format!("[{}] 100%  1 rows, 0 a second, 0:00 left", "=".repeat(30)));
        assert_eq!(line(25, None, 700, Duration::from_secs(70)), "700 rows, 10 a second, 1:10");
    }
}
