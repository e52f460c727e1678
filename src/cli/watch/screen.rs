//! What is shown of the runs: on a terminal the last one fills the screen, elsewhere they follow one another.

use std::io::{self, IsTerminal, Write};

use terminal_size::{Height, Width, terminal_size};
use unicode_width::UnicodeWidthStr;

use super::changes;
use super::run::Ended;
use crate::cli::Global;
use backchat_core::diagnostic::escape;

const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";
const RESET: &str = "\x1b[0m";

pub struct Screen {
    is_terminal: bool,
    is_colored: bool,
    before: Option<String>,
}

impl Screen {
    pub fn new(global: &Global) -> Self {
        let out = io::stdout();
        Self { is_terminal: out.is_terminal(), is_colored: global.colors(&out), before: None }
    }

    pub fn is_colored(&self) -> bool {
        self.is_colored
    }

    /// Shows the result of a run under what changed since the one before.
    pub fn show(&mut self, ended: &Ended, files: usize) -> io::Result<()> {
        let text = if self.is_terminal { safe(&ended.text) } else { ended.text.clone() };
        let lines = page(&text, self.before.as_deref(), ended, files);
        self.before = Some(text);
        let mut out = io::stdout().lock();
        if self.is_terminal {
            out.write_all(CLEAR.as_bytes())?;
            let (columns, rows) = size();
            for line in fitted(&lines, columns, rows) {
                writeln!(out, "{line}{}", if self.is_colored { RESET } else { "" })?;
            }
        } else {
            for line in lines {
                writeln!(out, "{line}")?;
            }
            writeln!(out)?;
        }
        out.flush()
    }

    /// Says that a file changed, until the result is there.
    pub fn is_running(&self) -> io::Result<()> {
        if self.is_terminal {
            let mut out = io::stdout().lock();
            write!(out, "a file changed: running again …")?;
            out.flush()?;
        }
        Ok(())
    }
}

/// The lines of a result: how it ended, what changed, and what the command says.
fn page(text: &str, before: Option<&str>, ended: &Ended, files: usize) -> Vec<String> {
    let code = ended.code.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit code {code}"));
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let mut lines = vec![format!("{code} after {:.1} s; watching {files}, Ctrl-C ends", ended.took.as_secs_f64())];
    if let Some(before) = before {
        let changed = changes::between(before, text);
        match changed.as_slice() {
            [] => lines.push("Since the last save: the same result".to_owned()),
            changed => {
                lines.push("Since the last save:".to_owned());
                lines.extend(changed.iter().map(|line| format!("  {line}")));
            }
        }
    }
    lines.push(String::new());
    lines.extend(text.trim_end().lines().map(str::to_owned));
    lines
}

/// As many lines as the screen has, the last one free. A line that is wider takes several.
fn fitted(lines: &[String], columns: usize, rows: usize) -> Vec<String> {
    let mut left = rows.saturating_sub(1);
    let mut shown = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let height = plain(line).width().div_ceil(columns.max(1)).max(1);
        let is_last = at + 1 == lines.len();
        // A line that says so takes the place of what does not fit.
        if height > left || height == left && !is_last {
            let more = lines.len() - at;
            shown.push(format!("… {more} more {}", if more == 1 { "line" } else { "lines" }));
            break;
        }
        left -= height;
        shown.push(line.clone());
    }
    shown
}

fn size() -> (usize, usize) {
    terminal_size().map_or((80, 24), |(Width(columns), Height(rows))| (columns.into(), rows.into()))
}

/// The text with nothing that affects a terminal but colors.
fn safe(text: &str) -> String {
    let line = |line: &str| {
        let mut parts = line.split('\x1b');
        let mut out = escape(parts.next().unwrap_or_default()).into_owned();
        for part in parts {
            match color_end(part).and_then(|end| part.split_at_checked(end)) {
                Some((color, rest)) => out.extend(["\x1b", color, &escape(rest)]),
                None => out.push_str(&escape(&format!("\x1b{part}"))),
            }
        }
        out
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The end of the color that follows an escape character, if one does.
fn color_end(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('[')?;
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    digits.get(end..)?.starts_with('m').then_some(end + 2)
}

/// The text without colors.
fn plain(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.get(color_end(part).unwrap_or(0)..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ended(text: &str) -> Ended {
        Ended { code: Some(1), text: text.to_owned(), took: Duration::from_millis(440) }
    }

    #[test]
    fn a_result_stands_under_what_changed() {
        let lines = page("one\ntwo\n", None, &ended(""), 1);
        assert_eq!(lines, ["exit code 1 after 0.4 s; watching 1 file, Ctrl-C ends", "", "one", "two"]);
        let lines = page("one\ntwo\n", Some("one\nthree\n"), &ended(""), 3);
        assert_eq!(lines[1..], ["Since the last save:", "  - three", "  + two", "", "one", "two"]);
        let lines = page("one\n", Some("one\n"), &ended(""), 3);
        assert_eq!(lines[1], "Since the last save: the same result");
    }

    #[test]
    fn what_does_not_fit_the_screen_is_counted() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(fitted(&lines("a b c"), 80, 4), ["a", "b", "c"]);
        assert_eq!(fitted(&lines("a b c d"), 80, 4), ["a", "b", "… 2 more lines"]);
        // Lines that are wider than the screen take several rows; colors take none.
        assert_eq!(fitted(&lines("aaaaaa b c"), 4, 4), ["aaaaaa", "… 2 more lines"]);
        assert_eq!(fitted(&lines("\x1b[1;31maaaa b c"), 4, 4), ["\x1b[1;31maaaa", "b", "c"]);
    }

    #[test]
    fn only_colors_reach_a_terminal() {
        assert_eq!(safe("\x1b[1;31mred\x1b[0m"), "\x1b[1;31mred\x1b[0m");
        for hostile in ["\x1b[2J", "\x1b]0;title\x07", "\x1b", "\x1b[31", "\u{202e}"] {
            assert!(!safe(hostile).contains(['\x1b', '\x07', '\u{202e}']), "{hostile:?}");
        }
    }
}
