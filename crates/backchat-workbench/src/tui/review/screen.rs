//! The loop of the review: wait for a key, handle it, draw.

use std::io;

use crossterm::event::{self, Event, MouseEventKind};

use super::super::signals::{Signals, suspend};
use super::super::term::{BEAT, Term, with_terminal};
use super::{Ended, Review, ReviewEffect};

/// Runs the review until every case was seen, the user leaves it or opens a case, or a signal ends it.
pub fn run(review: &mut Review<'_>) -> io::Result<Ended> {
    if review.is_over() {
        return Ok(Ended::Done);
    }
    with_terminal("backchat review", Ended::Signal, |term, signals| run_in(review, term, signals))
}

fn run_in(review: &mut Review<'_>, term: &mut Term, signals: &Signals) -> io::Result<Ended> {
    let mut is_dirty = true;
    loop {
        if is_dirty {
            term.screen().draw(|frame| review.draw(frame))?;
        }
        is_dirty = false;
        if event::poll(BEAT)? {
            let effect = match event::read()? {
                Event::Key(key) => review.key(key),
                Event::Mouse(mouse) => {
                    match mouse.kind {
                        MouseEventKind::ScrollDown => review.scroll_by(3),
                        MouseEventKind::ScrollUp => review.scroll_by(-3),
                        _ => continue,
                    }
                    None
                }
                Event::Resize(..) => None,
                Event::FocusGained | Event::FocusLost | Event::Paste(_) => continue,
            };
            is_dirty = true;
            match effect {
                None => {}
                Some(ReviewEffect::End) => return Ok(Ended::Done),
                Some(ReviewEffect::Open(index)) => return Ok(Ended::Open(index)),
                Some(ReviewEffect::Suspend) => term.lend(suspend)??,
                Some(ReviewEffect::Redraw) => term.clear()?,
            }
        }
        if let Some(signal) = signals.end() {
            return Ok(Ended::Signal(signal));
        }
        is_dirty |= term.handle(signals)?;
    }
}
