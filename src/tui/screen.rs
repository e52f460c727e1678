//! The loop: wait, take what comes, draw what changed.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossterm::event::{self, Event};

use super::action::Effect;
use super::app::App;
use super::editor;
use super::term::Term;

/// How often the files are looked at and signals are heeded.
const BEAT: Duration = Duration::from_millis(150);

/// The shortest wait for a key. Where nothing is waited for, crossterm does not look at the terminal at all
/// (`use-dev-tty`), and keys would be dead as long as there is work.
const GLANCE: Duration = Duration::from_millis(1);

/// Runs the workbench until the user leaves it, or a signal ends it; gives the signal.
pub fn run(app: &mut App) -> io::Result<Option<i32>> {
    let signals = Signals::heed()?;
    let mut term = Term::take()?;
    match run_in(app, &mut term, &signals) {
        // A terminal that is gone fails before its signal is looked at.
        Err(error) => signals.end().map(Some).ok_or(error),
        ended => ended,
    }
}

fn run_in(app: &mut App, term: &mut Term, signals: &Signals) -> io::Result<Option<i32>> {
    let mut files = Stamps::of(app.files());
    let mut beat = Instant::now();
    let mut is_dirty = true;
    loop {
        if is_dirty {
            term.screen().draw(|frame| app.draw(frame))?;
            is_dirty = false;
        }
        let now = Instant::now();
        let wait = if app.is_busy() { GLANCE } else { app.wait(now).unwrap_or(BEAT) };
        if event::poll(wait.clamp(GLANCE, BEAT))? {
            // What has piled up is taken at once, so that a held key does not lag behind.
            loop {
                let (changed, effect) = take(app, event::read()?);
                is_dirty |= changed;
                if let Some(effect) = effect {
                    is_dirty = true;
                    if perform(effect, app, term, signals)? {
                        return Ok(None);
                    }
                    break;
                }
                if !event::poll(GLANCE)? {
                    break;
                }
            }
        }
        is_dirty |= app.work(Instant::now());
        if let Some(signal) = signals.end() {
            return Ok(Some(signal));
        }
        if signals.suspend() {
            perform(Effect::Suspend, app, term, signals)?;
            is_dirty = true;
        }
        if signals.resumed() {
            term.lend(|| ())?;
            is_dirty = true;
        }
        if beat.elapsed() >= BEAT {
            beat = Instant::now();
            let seen = Stamps::of(app.files());
            if seen != files {
                let same_output = seen.is_of_the_same_files(&files);
                files = seen;
                if same_output {
                    app.reload();
                    is_dirty = true;
                }
            }
        }
    }
}

/// Takes what the terminal says; gives whether the screen changes and what is to be done.
fn take(app: &mut App, event: Event) -> (bool, Option<Effect>) {
    match event {
        Event::Key(key) => {
            let effect = app.key(key);
            (true, effect)
        }
        Event::Mouse(mouse) => (app.mouse(mouse), None),
        Event::Paste(text) => {
            app.paste(&text);
            (true, None)
        }
        Event::Resize(..) => (true, None),
        Event::FocusGained | Event::FocusLost => (false, None),
    }
}

/// Does what the state asks for; true where that is the end.
fn perform(effect: Effect, app: &mut App, term: &mut Term, signals: &Signals) -> io::Result<bool> {
    match effect {
        Effect::Quit => return Ok(true),
        Effect::Redraw => term.anew()?,
        Effect::Suspend => term.lend(suspend)??,
        Effect::Copy(text) => term.copy(&text)?,
        Effect::Edit { file, line } => {
            let editor = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
            let editor = editor.into_iter().find(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
            let mut command: Command = editor::command(&editor, &file, line);
            if let Some(terminal) = own_terminal() {
                command.stdin(terminal);
            }
            match signals.give_way(|| term.lend(|| command.status()))? {
                Ok(status) if status.success() => {}
                Ok(status) => app.tell(format!("the editor `{editor}` ended with {status}")),
                Err(error) => {
                    app.tell(format!("set VISUAL or EDITOR: the editor `{editor}` cannot be run: {error}"));
                }
            }
        }
    }
    Ok(false)
}

/// The terminal as the standard input of another program, where this one's is a pipe that it would read from.
#[cfg(unix)]
fn own_terminal() -> Option<std::fs::File> {
    use std::io::IsTerminal;
    if io::stdin().is_terminal() { None } else { std::fs::File::open("/dev/tty").ok() }
}

#[cfg(not(unix))]
fn own_terminal() -> Option<std::fs::File> {
    None
}

/// The signals that end the process or stop it for a while.
struct Signals {
    /// Whether another program has the terminal, for which they are meant then.
    lent: Arc<AtomicBool>,
    end: Arc<AtomicUsize>,
    suspend: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
}

#[cfg(unix)]
impl Signals {
    fn heed() -> io::Result<Self> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        let signals = Self::none();
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
            signal_hook::flag::register_usize(signal, signals.end.clone(), usize::try_from(signal).unwrap_or(0))?;
        }
        // The wish is noted before the process stops. Noted after it continues, by whichever thread took the signal, it
        // could come after the main thread has dropped what was meant for the program that had the terminal.
        signal_hook::flag::register(SIGTSTP, signals.suspend.clone())?;
        // What stops the program that has the terminal stops the one that waits for it, or the shell waits forever.
        signal_hook::flag::register_conditional_default(SIGTSTP, signals.lent.clone())?;
        signal_hook::flag::register(SIGCONT, signals.resumed.clone())?;
        Ok(signals)
    }
}

#[cfg(not(unix))]
impl Signals {
    fn heed() -> io::Result<Self> {
        Ok(Self::none())
    }
}

impl Signals {
    fn none() -> Self {
        Self { lent: Arc::default(), end: Arc::default(), suspend: Arc::default(), resumed: Arc::default() }
    }

    /// Runs another program in the terminal. Its user's interrupts are its own.
    fn give_way<T>(&self, run: impl FnOnce() -> T) -> T {
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

    fn end(&self) -> Option<i32> {
        i32::try_from(self.end.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
    }

    fn suspend(&self) -> bool {
        self.suspend.swap(false, Ordering::Relaxed)
    }

    fn resumed(&self) -> bool {
        self.resumed.swap(false, Ordering::Relaxed)
    }
}

/// Stops the process as the terminal would, until the shell continues it.
#[cfg(unix)]
fn suspend() -> io::Result<()> {
    signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)
}

#[cfg(not(unix))]
fn suspend() -> io::Result<()> {
    Ok(())
}

/// When files were last changed, and how long they are.
#[derive(PartialEq, Eq)]
struct Stamps(Vec<(PathBuf, Option<(SystemTime, u64)>)>);

impl Stamps {
    fn of(files: Vec<PathBuf>) -> Self {
        let stamp = |file: &PathBuf| {
            let data = std::fs::metadata(file).ok()?;
            Some((data.modified().ok()?, data.len()))
        };
        Self(files.into_iter().map(|file| (file.clone(), stamp(&file))).collect())
    }

    fn is_of_the_same_files(&self, other: &Self) -> bool {
        self.0.iter().map(|(file, _)| file).eq(other.0.iter().map(|(file, _)| file))
    }
}
