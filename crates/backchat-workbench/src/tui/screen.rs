//! The main loop: wait, handle the next event, draw the changes.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};

use super::app::{App, Effect};
use super::editor;
use super::signals::{Signals, suspend};
use super::term::{BEAT, Term, with_terminal};
use crate::session::Library;
use backchat_core::files::{Stamp, stamp};

/// The shortest wait for a key. Without a wait, crossterm does not poll the terminal at all (`use-dev-tty`), and keys
/// would be ignored as long as there is work.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Runs the workbench until the user leaves it, or a signal ends it; returns the signal.
pub fn run(app: &mut App) -> io::Result<Option<i32>> {
    with_terminal("backchat replay", Some, |term, signals| run_in(app, term, signals))
}

fn run_in(app: &mut App, term: &mut Term, signals: &Signals) -> io::Result<Option<i32>> {
    let mut files = Stamps::of(&app.session.library);
    let mut beat = Instant::now();
    let mut is_dirty = true;
    loop {
        if is_dirty {
            term.screen().draw(|frame| app.draw(frame))?;
            is_dirty = false;
        }
        let now = Instant::now();
        let wait = if app.session.is_busy() { SHORTEST_WAIT } else { app.session.wait(now).unwrap_or(BEAT) };
        if event::poll(wait.clamp(SHORTEST_WAIT, BEAT))? {
            // Pending events are taken at once, so that a held key does not lag.
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
                if !event::poll(SHORTEST_WAIT)? {
                    break;
                }
            }
        }
        is_dirty |= app.work(Instant::now());
        if let Some(signal) = signals.end() {
            return Ok(Some(signal));
        }
        is_dirty |= term.handle(signals)?;
        if beat.elapsed() >= BEAT {
            beat = Instant::now();
            let seen = Stamps::of(&app.session.library);
            if seen.has_news_since(&files) {
                app.reload();
                is_dirty = true;
            }
            files = seen;
        }
    }
}

/// Handles a terminal event; returns whether the screen changes, and the effect to perform.
fn take(app: &mut App, event: Event) -> (bool, Option<Effect>) {
    match event {
        Event::Key(key) => {
            let effect = app.key(key);
            (true, effect)
        }
        Event::Mouse(mouse) => app.mouse(mouse),
        Event::Paste(text) => {
            app.paste(&text);
            (true, None)
        }
        Event::Resize(..) => (true, None),
        Event::FocusGained | Event::FocusLost => (false, None),
    }
}

/// Performs an effect; true if it ends the workbench.
fn perform(effect: Effect, app: &mut App, term: &mut Term, signals: &Signals) -> io::Result<bool> {
    match effect {
        Effect::Quit => return Ok(true),
        Effect::Redraw => term.clear()?,
        Effect::Suspend => term.lend(suspend)??,
        Effect::Copy(text) => term.copy(&text)?,
        Effect::Edit { file, line } => {
            let editor = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
            let editor = editor.into_iter().find(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
            let mut command = editor::command(&editor, &file, line);
            if let Some(terminal) = own_terminal() {
                command.stdin(terminal);
            }
            match signals.give_way(|| term.lend(|| command.status()))? {
                Ok(status) if status.success() => {}
                Ok(status) => app.session.say(format!("the editor `{editor}` ended with {status}")),
                Err(error) => {
                    app.session.say(format!("set VISUAL or EDITOR: the editor `{editor}` cannot be run: {error}"));
                }
            }
        }
    }
    Ok(false)
}

/// The terminal as the standard input of another program. `None` if standard input is the terminal already.
fn own_terminal() -> Option<File> {
    if cfg!(unix) && !io::stdin().is_terminal() { File::open("/dev/tty").ok() } else { None }
}

/// When the files of an output were last changed, and how long they are.
struct Stamps {
    output: usize,
    files: Vec<(PathBuf, Option<Stamp>)>,
}

impl Stamps {
    fn of(library: &Library) -> Self {
        let files = library.files().into_iter().map(|file| (file.clone(), stamp(&file))).collect();
        Self { output: library.output, files }
    }

    /// Whether a file changed, or another one came or went. The files of another output were read when it was opened.
    fn has_news_since(&self, before: &Self) -> bool {
        let is_changed =
            |(file, stamp): &(PathBuf, _)| before.files.iter().any(|(other, before)| other == file && before != stamp);
        self.files.iter().any(is_changed) || (self.output == before.output && self.files != before.files)
    }
}
