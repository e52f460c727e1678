//! The palette: actions by description, and positions of the output by number.

use super::super::action::Action;
use super::super::keys::{Binding, KEYS};
use super::fuzzy::ranked;
use crate::session::Position;

#[derive(Clone, Copy)]
pub enum Command {
    /// Go to the place that was typed.
    Go(Position),
    Key(&'static Binding),
}

/// The rows for what was typed, the best first.
pub fn commands(typed: &str) -> Vec<Command> {
    let place = typed.trim().parse::<Position>().ok().map(Command::Go);
    // Closing the palette is not an action to choose from it.
    let bindings: Vec<&Binding> = KEYS.iter().filter(|binding| binding.action != Action::Leave).collect();
    let named: Vec<String> = bindings.iter().map(|binding| format!("{} {}", binding.words, binding.short)).collect();
    let found = ranked(named.iter().map(String::as_str), typed)
        .into_iter()
        .filter_map(|at| bindings.get(at).copied().map(Command::Key));
    place.into_iter().chain(found).collect()
}

impl Command {
    pub fn words(self) -> String {
        match self {
            Command::Go(Position::Character(offset)) => format!("go to character {offset}"),
            Command::Go(Position::Event(count)) => format!("go to event {count}"),
            Command::Go(Position::End) => "go to the end".to_owned(),
            Command::Key(binding) => binding.words.to_owned(),
        }
    }

    pub fn keys(self) -> String {
        match self {
            Command::Go(_) => String::new(),
            Command::Key(binding) => binding.key_names(),
        }
    }
}
