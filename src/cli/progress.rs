//! A progress line for long jobs: on a terminal only, after a second, and gone when the job ends.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::Global;

/// The progress of a long job, on standard error if that is a terminal.
pub struct Progress {
    shown: bool,
    /// Whether a progress line is shown now.
    visible: bool,
    /// The name of the items, in the plural.
    items: &'static str,
    /// The size of the whole job, if it is known: bytes, or items.
    total: Option<u64>,
    done: u64,
    started: Instant,
    last: Option<Instant>,
}

/// Shorter jobs show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// The interval between updates.
const FRAME: Duration = Duration::from_millis(100);

const WIDTH: u64 = 30;

impl Progress {
    pub fn new(global: &Global, items: &'static str, total: Option<u64>) -> Self {
        let shown = !global.is_quiet() && io::stderr().is_terminal();
        let total = total.filter(|total| *total > 0);
        Self { shown, visible: false, items, total, done: 0, started: Instant::now(), last: None }
    }

    /// Records progress, and the number of items so far.
    pub fn advance(&mut self, size: u64, count: u64) {
        self.done += size;
        let now = Instant::now();
        let due = match self.last {
            None => now - self.started >= PATIENCE,
            Some(last) => !self.visible || now - last >= FRAME,
        };
        if self.shown && due {
            self.last = Some(now);
            self.visible = true;
            self.print(&format!("\r{}\x1b[K", line(self.done, self.total, (count, self.items), now - self.started)));
        }
    }

    /// Removes the progress line if standard output is a terminal, too, before something is written there.
    pub fn make_room(&mut self) {
        if self.visible && io::stdout().is_terminal() {
            self.finish();
        }
    }

    pub fn finish(&mut self) {
        if std::mem::take(&mut self.visible) {
            self.print("\r\x1b[K");
        }
    }

    fn print(&self, text: &str) {
        // A progress line that cannot be shown is ignored.
        let _ = io::stderr().write_all(text.as_bytes()).and_then(|()| io::stderr().flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn line(done: u64, total: Option<u64>, (count, items): (u64, &str), elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let speed = count as f64 / seconds;
    let mut line = String::new();
    if let Some(total) = total {
        let done = done.min(total);
        let filled = usize::try_from(done * WIDTH / total).unwrap_or(0);
        let left = seconds * (total - done) as f64 / (done as f64).max(1.0);
        // Writing to a string does not fail.
        let _ = write!(line, "[{:<width$}] {:>3}%  ", "=".repeat(filled), done * 100 / total, width = WIDTH as usize);
        let _ = write!(line, "{count} {items}, {speed:.0} a second, {} left", clock(left));
    } else {
        let _ = write!(line, "{count} {items}, {speed:.0} a second, {}", clock(seconds));
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
    fn a_line_shows_progress_speed_and_time() {
        let at = Duration::from_secs(10);
        assert_eq!(
            line(25, Some(100), (500, "rows"), at),
            "[=======                       ]  25%  500 rows, 50 a second, 0:30 left"
        );
        assert_eq!(
            line(100, Some(100), (100, "cases"), at),
            format!("[{}] 100%  100 cases, 10 a second, 0:00 left", "=".repeat(30))
        );
        assert_eq!(line(25, None, (700, "rows"), Duration::from_secs(70)), "700 rows, 10 a second, 1:10");
    }
}
