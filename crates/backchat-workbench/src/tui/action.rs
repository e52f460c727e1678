//! The actions of keys, and the effects of the workbench on the outside.

use std::path::PathBuf;

use crate::session::Step;

/// The direction of an action that has two.
pub const FORWARD: bool = true;
pub const BACK: bool = false;

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

/// The effect of an action outside the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Restore the terminal and exit.
    Quit,
    /// Restore the terminal and suspend the process.
    Suspend,
    Redraw,
    /// Open an editor on a line of a file.
    Edit {
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Put a text on the clipboard.
    Copy(String),
}
