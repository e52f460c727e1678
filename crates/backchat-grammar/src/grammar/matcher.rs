//! Follows a text through the rules of a grammar.

use crate::rules::{Machine, Node, Rules};

/// The state of a text in a grammar.
#[derive(Clone, Debug)]
pub struct Matcher<'g> {
    machine: Machine<'g>,
    at: usize,
    is_broken: bool,
}

/// The result of feeding a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fed {
    /// The text is allowed so far.
    Ok {
        /// Whether the text may end here.
        may_end: bool,
    },
    /// The text is not allowed.
    Broken {
        /// The byte at which it breaks.
        at: usize,
        /// The texts that are allowed there.
        expected: Vec<String>,
    },
}

impl<'g> Matcher<'g> {
    pub(super) fn new(rules: &'g Rules, root: &'g Node) -> Self {
        Self { machine: Machine::new(rules, root), at: 0, is_broken: false }
    }

    /// Takes the next piece of the text.
    pub fn feed(&mut self, text: &str) -> Fed {
        for c in text.chars() {
            if self.is_broken || !self.machine.feed(c) {
                self.is_broken = true;
                return Fed::Broken { at: self.at, expected: self.machine.expected() };
            }
            self.at += c.len_utf8();
        }
        Fed::Ok { may_end: self.machine.may_end() }
    }
}
