//! Takes over the terminal, and restores it however the program ends.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, BufWriter, Write, stderr, stdout};
use std::mem::ManuallyDrop;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
    is_raw_mode_enabled,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::signals::{Signals, suspend};

pub type Screen = Terminal<CrosstermBackend<io::BufWriter<io::Stdout>>>;

/// The reports of panics while the workbench had the terminal; none while it does not.
///
/// Not every panic ends the program: some are caught. So the panic hook prints nothing and leaves the terminal alone;
/// if the panic reaches [`Term`], that restores the terminal first and then reports it.
static PANICS: Mutex<Option<String>> = Mutex::new(None);

/// How often files and signals are checked.
pub const BEAT: Duration = Duration::from_millis(150);

/// Takes over the terminal for a screen; `ended_by` gives the result if a signal closes the terminal.
pub fn with_terminal<T>(
    title: &'static str,
    ended_by: impl FnOnce(i32) -> T,
    run: impl FnOnce(&mut Term, &Signals) -> io::Result<T>,
) -> io::Result<T> {
    let signals = Signals::install()?;
    let mut term = Term::take(title)?;
    // A closed terminal fails before its signal is checked.
    run(&mut term, &signals).or_else(|error| signals.end().map(ended_by).ok_or(error))
}

/// The terminal while the workbench has it. Dropping it restores the terminal.
pub struct Term {
    /// Not dropped: it would panic if it cannot show the cursor because the terminal is gone. Restoring shows the
    /// cursor.
    screen: ManuallyDrop<Screen>,
    /// The title of the terminal's window.
    title: &'static str,
}

impl Term {
    /// Takes over the terminal. A panic restores it before it is reported.
    fn take(title: &'static str) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| match &mut *panics() {
                Some(held) => {
                    *held = format!("{panic}\n");
                    let backtrace = Backtrace::capture();
                    if backtrace.status() == BacktraceStatus::Captured {
                        *held += &format!("{backtrace}\n");
                    }
                }
                None => report(panic),
            }));
        });
        enter(title)?;
        match Terminal::new(CrosstermBackend::new(BufWriter::new(stdout()))) {
            Ok(screen) => {
                *panics() = Some(String::new());
                Ok(Self { screen: ManuallyDrop::new(screen), title })
            }
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    pub fn screen(&mut self) -> &mut Screen {
        &mut self.screen
    }

    /// Restores the terminal while something else runs.
    pub fn lend<T>(&mut self, run: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = run();
        enter(self.title)?;
        self.clear()?;
        Ok(result)
    }

    /// Redraws everything, without a query that not every terminal answers.
    pub fn clear(&mut self) -> io::Result<()> {
        execute!(stdout(), Clear(ClearType::All))?;
        self.screen = ManuallyDrop::new(Terminal::new(CrosstermBackend::new(BufWriter::new(stdout())))?);
        Ok(())
    }

    /// Handles the signals that suspend and continue the process; true if the screen has to be redrawn.
    pub fn handle(&mut self, signals: &Signals) -> io::Result<bool> {
        let is_suspended = signals.suspend();
        if is_suspended {
            self.lend(suspend)??;
        }
        let is_resumed = signals.resumed();
        if is_resumed {
            self.lend(|| ())?;
        }
        Ok(is_suspended || is_resumed)
    }

    /// Puts a text on the clipboard of the terminal, also over a remote connection.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(stdout(), crossterm::clipboard::CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        restore();
        let report = panics().take();
        if let Some(report) = report.filter(|_| std::thread::panicking()) {
            let _ = stderr().write_all(report.as_bytes());
        }
    }
}

fn panics() -> std::sync::MutexGuard<'static, Option<String>> {
    PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Saves or restores the terminal's title (xterm's window operations 22 and 23).
const KEEP_TITLE: Print<&str> = Print("\x1b[22;2t");
const TITLE_BACK: Print<&str> = Print("\x1b[23;2t");

fn enter(title: &str) -> io::Result<()> {
    enable_raw_mode()?;
    let taken =
        execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, KEEP_TITLE, SetTitle(title));
    if taken.is_err() {
        restore();
    }
    taken
}

/// Restores the terminal. A failure cannot be reported to anyone.
fn restore() {
    if is_raw_mode_enabled().unwrap_or(true) {
        let _ = execute!(stdout(), TITLE_BACK, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        let _ = stdout().flush();
    }
}
