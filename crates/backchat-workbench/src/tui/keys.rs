//! The single table of keys and their actions, for lookup, help, and the bottom bar.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::session::Step;

/// The direction of an action that has two.
const FORWARD: bool = true;
const BACK: bool = false;

/// The action of a key or the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Step(Step),
    Character(bool),
    ToStart,
    ToEnd,
    Palette,
    Play,
    Faster,
    Slower,
    Continue(bool),
    ToggleStop,
    Stops,
    Search,
    Match(bool),
    Rechunk,
    SearchCut,
    SwitchMode,
    SwitchRecovery,
    ToProblem,
    ToDifference,
    Output(bool),
    Outputs,
    Type,
    Undo,
    Findings,
    Repair,
    Edit,
    Derive,
    Failures,
    Bless,
    Copy,
    Pane(bool),
    Fold,
    Zoom,
    Move(bool),
    Grow,
    Shrink,
    /// Scrolls by some rows, pages or half pages: down, or up if there are fewer than none.
    Scroll(isize),
    Page(isize),
    HalfPage(isize),
    Whitespace,
    Future,
    EveryEvent,
    Details,
    Redraw,
    Help,
    Suspend,
    Quit,
    /// Closes the overlay, or stops the running work.
    Leave,
}

pub struct Binding {
    /// The keys, any of which triggers it.
    pub keys: &'static [Key],
    pub action: Action,
    pub group: Group,
    /// Its label in the bottom bar; empty if it is not shown there.
    pub short: &'static str,
    /// Its action, in a few words.
    pub words: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(pub KeyCode, pub KeyModifiers);

/// The subject of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Move,
    Find,
    Parse,
    Work,
    Screen,
}

impl Group {
    /// The groups in the order of the help.
    pub const ALL: [Group; 5] = [Group::Move, Group::Find, Group::Parse, Group::Work, Group::Screen];

    pub fn heading(self) -> &'static str {
        match self {
            Group::Move => "Step (a number before a key repeats it)",
            Group::Find => "Stop and find",
            Group::Parse => "Parse another way",
            Group::Work => "Work on it",
            Group::Screen => "Screen",
        }
    }
}

const fn plain(code: KeyCode) -> Key {
    Key(code, KeyModifiers::NONE)
}

const fn char(c: char) -> Key {
    plain(KeyCode::Char(c))
}

const fn control(c: char) -> Key {
    Key(KeyCode::Char(c), KeyModifiers::CONTROL)
}

const fn shift(code: KeyCode) -> Key {
    Key(code, KeyModifiers::SHIFT)
}

const fn bind(keys: &'static [Key], action: Action, group: Group, short: &'static str, words: &'static str) -> Binding {
    Binding { keys, action, group, short, words }
}

use Group::{Find, Move, Parse, Screen, Work};

#[rustfmt::skip]
pub const KEYS: &[Binding] = &[
    bind(&[char('j'), plain(KeyCode::Down)], Action::Step(Step::NextEvent), Move, "event", "the next event"),
    bind(&[char('k'), plain(KeyCode::Up)], Action::Step(Step::PreviousEvent), Move, "", "the previous event"),
    bind(&[char('l'), plain(KeyCode::Right)], Action::Step(Step::NextChunk), Move, "chunk", "the next chunk"),
    bind(&[char('h'), plain(KeyCode::Left)], Action::Step(Step::PreviousChunk), Move, "", "the previous chunk"),
    bind(&[char('.')], Action::Character(FORWARD), Move, "", "the next character; cuts the text there"),
    bind(&[char(',')], Action::Character(BACK), Move, "", "the previous character"),
    bind(&[char('J'), shift(KeyCode::Down)], Action::Step(Step::NextLine), Move, "", "the next line of the output"),
    bind(&[char('K'), shift(KeyCode::Up)], Action::Step(Step::PreviousLine), Move, "", "the previous line"),
    bind(&[char('g'), plain(KeyCode::Home)], Action::ToStart, Move, "", "the start; with a number, that character"),
    bind(&[char('G'), plain(KeyCode::End)], Action::ToEnd, Move, "", "the end"),
    bind(&[char(':')], Action::Palette, Move, "actions", "find an action by its words, or go to a character"),
    bind(&[char(' ')], Action::Play, Move, "play", "play and pause"),
    bind(&[char('+'), char('=')], Action::Faster, Move, "", "play faster"),
    bind(&[char('-')], Action::Slower, Move, "", "play slower"),

    bind(&[char('s')], Action::ToggleStop, Find, "stop at", "set or remove a breakpoint"),
    bind(&[char('S')], Action::Stops, Find, "", "list the breakpoints, and remove some"),
    bind(&[char('c')], Action::Continue(FORWARD), Find, "", "continue to the next breakpoint"),
    bind(&[char('C')], Action::Continue(BACK), Find, "", "go back to the previous breakpoint"),
    bind(&[char('/')], Action::Search, Find, "search", "search output, events and template; a /pattern/, too"),
    bind(&[char('n')], Action::Match(FORWARD), Find, "", "the next match"),
    bind(&[char('N')], Action::Match(BACK), Find, "", "the previous match"),

    bind(&[char('r')], Action::Rechunk, Parse, "re-chunk", "cut the output another way"),
    bind(&[char('w')], Action::SearchCut, Parse, "worst cut", "find the cut that changes the reference's answer"),
    bind(&[char('m')], Action::SwitchMode, Parse, "mode", "stable, reference, or both side by side"),
    bind(&[char('R')], Action::SwitchRecovery, Parse, "", "without policies and with all of them, side by side"),
    bind(&[char('P')], Action::ToProblem, Parse, "", "the next problem of the output"),
    bind(&[char('x')], Action::ToDifference, Find, "wrong", "the next wrong event, or the first difference of two sides"),

    bind(&[char(']')], Action::Output(FORWARD), Work, "next output", "the next output of the list"),
    bind(&[char('[')], Action::Output(BACK), Work, "", "the previous output"),
    bind(&[char('o')], Action::Outputs, Work, "", "the list of outputs, or of a fixture's cases"),
    bind(&[char('e')], Action::Edit, Work, "edit", "open the editor at the line to change"),
    bind(&[char('d')], Action::Derive, Work, "derive", "derive the template again, show what changed"),
    bind(&[char('p')], Action::Failures, Work, "proof", "failures of the proof"),
    bind(&[char('b')], Action::Bless, Work, "bless", "write the message into the fixture"),
    bind(&[char('y')], Action::Copy, Work, "copy", "copy the region, the message or the command"),
    bind(&[char('i')], Action::Type, Work, "type", "type or paste more output"),
    bind(&[char('f')], Action::Findings, Work, "repair", "the current finding, and its repair"),
    bind(&[char('F')], Action::Repair, Work, "", "apply the repair of the current finding"),
    bind(&[char('u')], Action::Undo, Work, "", "undo typing, or else the last repair"),

    bind(&[plain(KeyCode::Tab)], Action::Pane(FORWARD), Screen, "pane", "the next pane"),
    bind(&[shift(KeyCode::BackTab), plain(KeyCode::BackTab)], Action::Pane(BACK), Screen, "", "the previous pane"),
    bind(&[char('z')], Action::Fold, Screen, "", "fold or unfold the pane"),
    bind(&[char('Z')], Action::Zoom, Screen, "", "show the pane alone, and back"),
    bind(&[char('>')], Action::Move(FORWARD), Screen, "", "move the pane forward"),
    bind(&[char('<')], Action::Move(BACK), Screen, "", "move the pane back"),
    bind(&[char('}')], Action::Grow, Screen, "", "enlarge the pane"),
    bind(&[char('{')], Action::Shrink, Screen, "", "shrink the pane"),
    bind(&[control('e')], Action::Scroll(1), Screen, "", "scroll the pane down"),
    bind(&[control('y')], Action::Scroll(-1), Screen, "", "scroll the pane up"),
    bind(&[control('f'), plain(KeyCode::PageDown)], Action::Page(1), Screen, "", "a page down"),
    bind(&[control('b'), plain(KeyCode::PageUp)], Action::Page(-1), Screen, "", "a page up"),
    bind(&[control('d')], Action::HalfPage(1), Screen, "", "half a page down"),
    bind(&[control('u')], Action::HalfPage(-1), Screen, "", "half a page up"),
    bind(&[char('v')], Action::Whitespace, Screen, "spaces", "show white space"),
    bind(&[char('t')], Action::Future, Screen, "", "show the text that has not arrived yet"),
    bind(&[char('a')], Action::EveryEvent, Screen, "", "show every chunk as a separate event"),
    bind(&[plain(KeyCode::Enter)], Action::Details, Screen, "", "details of the last event or the problem"),
    bind(&[control('l')], Action::Redraw, Screen, "", "redraw the screen"),
    bind(&[control('z')], Action::Suspend, Screen, "", "suspend; `fg` comes back"),
    bind(&[char('?'), plain(KeyCode::F(1))], Action::Help, Screen, "help", "this help"),
    bind(&[plain(KeyCode::Esc)], Action::Leave, Screen, "", "close the overlay"),
    bind(&[char('q'), control('c')], Action::Quit, Screen, "quit", "quit"),
];

pub fn action(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
    // A capital letter already implies shift.
    let modifiers = match code {
        KeyCode::Char(_) => modifiers - KeyModifiers::SHIFT,
        _ => modifiers,
    };
    KEYS.iter().find(|binding| binding.keys.contains(&Key(code, modifiers))).map(|binding| binding.action)
}

impl Binding {
    /// Its keys as the help writes them.
    pub fn key_names(&self) -> String {
        // Two codes can be one key to its user.
        let mut names: Vec<String> = self.keys.iter().map(|key| key.name()).collect();
        names.dedup();
        names.join(" ")
    }
}

/// The mouse actions and their effects.
pub const MOUSE: &[(&str, &str)] = &[
    ("click", "on an event or a character goes there, on a pane selects it"),
    ("drag", "a title or the line between panes resizes them"),
    ("wheel", "scrolls the pane under it; in a list, moves the mark"),
    ("click in a list", "opens the row; outside the list, closes it"),
];

impl Key {
    /// The key as the help writes it.
    pub fn name(self) -> String {
        let base = match self.0 {
            KeyCode::Char(' ') => "space".to_owned(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".to_owned(),
            KeyCode::Down => "↓".to_owned(),
            KeyCode::Left => "←".to_owned(),
            KeyCode::Right => "→".to_owned(),
            KeyCode::Home => "home".to_owned(),
            KeyCode::End => "end".to_owned(),
            KeyCode::PageUp => "pgup".to_owned(),
            KeyCode::PageDown => "pgdn".to_owned(),
            KeyCode::Tab => "tab".to_owned(),
            KeyCode::BackTab => return "shift-tab".to_owned(),
            KeyCode::Enter => "enter".to_owned(),
            KeyCode::Esc => "esc".to_owned(),
            KeyCode::F(number) => format!("F{number}"),
            other => format!("{other:?}").to_lowercase(),
        };
        match self.1 {
            KeyModifiers::CONTROL => format!("ctrl-{base}"),
            KeyModifiers::SHIFT => format!("shift-{base}"),
            _ => base,
        }
    }
}

/// The target of a key in a list or a text. `None` if it closes it.
pub fn moved(at: usize, key: KeyCode, page: usize) -> Option<usize> {
    Some(match key {
        KeyCode::Char('j') | KeyCode::Down => at + 1,
        KeyCode::Char('k') | KeyCode::Up => at.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => at + page,
        KeyCode::PageUp => at.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => usize::MAX / 2,
        KeyCode::Char('q' | '?') | KeyCode::Enter | KeyCode::F(1) => return None,
        _ => at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut seen = Vec::new();
        for key in KEYS.iter().flat_map(|binding| binding.keys) {
            assert!(!seen.contains(key), "{} is bound twice", key.name());
            assert!(!matches!(key.0, KeyCode::Char('0'..='9')), "numbers are counts");
            seen.push(*key);
        }
    }

    #[test]
    fn capitals_match_with_and_without_shift() {
        for modifiers in [KeyModifiers::SHIFT, KeyModifiers::NONE] {
            assert_eq!(action(KeyCode::Char('G'), modifiers), Some(Action::ToEnd));
        }
        assert_eq!(action(KeyCode::Char('g'), KeyModifiers::NONE), Some(Action::ToStart));
        assert_eq!(action(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Quit));
        assert_eq!(action(KeyCode::Char('T'), KeyModifiers::NONE), None);
    }

    #[test]
    fn every_group_has_keys_and_every_key_is_described() {
        for group in Group::ALL {
            assert!(KEYS.iter().any(|binding| binding.group == group), "{}", group.heading());
        }
        assert!(KEYS.iter().all(|binding| !binding.words.is_empty() && !binding.keys.is_empty()));
    }
}
