//! The decisions of a review: one case or all with the same difference, going back, and undoing.

use super::alike::difference;
use super::{Decision, Review};

/// A decision that can be undone.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The current case at that time.
    index: usize,
    /// The cases it applied to, and the previous decision about each.
    before: Vec<(usize, Option<Decision>)>,
    /// How many of them were written.
    written: usize,
}

impl Review<'_> {
    /// The undecided or skipped cases with the difference of the current one, including it.
    pub(super) fn alike(&self) -> Vec<usize> {
        let group = self.docket.group(self.index);
        let is_open = |index: &usize| {
            *index == self.index || matches!(self.decisions.get(*index), Some(None | Some(Decision::Skipped)))
        };
        (0..self.decisions.len()).filter(|index| self.docket.group(*index) == group).filter(is_open).collect()
    }

    pub(super) fn accept(&mut self) {
        if self.is_accepted() {
            return;
        }
        match (&self.shown, self.docket.accept()) {
            (Err(_), _) => self.notify("this case cannot be read, so there is nothing to accept".to_owned()),
            (Ok(change), Ok(())) => {
                self.accepted.insert(self.index, change.clone());
                self.pass(Decision::Accepted, 1);
            }
            (Ok(_), Err(problem)) => {
                let line = problem.line();
                self.look();
                self.notify(line);
            }
        }
    }

    /// Accepts every case with the difference of the current one.
    pub(super) fn accept_alike(&mut self) {
        if self.is_accepted() {
            return;
        }
        let Ok(change) = &self.shown else { return self.accept() };
        let wanted = difference(&change.sections);
        let mut made = Made { index: self.index, before: Vec::new(), written: 0 };
        let mut failed = None;
        for index in self.alike() {
            let change = match self.docket.change(index) {
                Ok(Some(change)) if difference(&change.sections) == wanted => change,
                // It no longer has the same difference: it is shown later.
                _ => continue,
            };
            if let Err(problem) = self.docket.accept() {
                failed = Some(problem.line());
                break;
            }
            self.accepted.insert(index, change);
            made.written += 1;
            made.before.push((index, self.decide(index, Decision::Accepted)));
        }
        let count = made.written;
        if count > 0 {
            self.made.push(made);
        }
        self.go_on();
        let done = match count {
            0 => "the difference has changed meanwhile; nothing was accepted".to_owned(),
            1 => "accepted; no other case has this difference".to_owned(),
            count => format!("accepted {count} cases with the same difference; u undoes it"),
        };
        self.notify(failed.unwrap_or(done));
    }

    /// Decides about the current case, and moves to the next undecided one.
    pub(super) fn pass(&mut self, decision: Decision, written: usize) {
        if written == 0 && self.is_accepted() {
            return;
        }
        let before = self.decide(self.index, decision);
        self.made.push(Made { index: self.index, before: vec![(self.index, before)], written });
        self.go_on();
    }

    /// Undoes the last decision, and what it wrote.
    pub(super) fn undo(&mut self) {
        let Some(mut made) = self.made.pop() else { return self.notify("nothing was decided yet".to_owned()) };
        while made.written > 0 {
            if let Err(problem) = self.docket.take_back() {
                self.is_over &= self.decisions.iter().all(Option::is_some);
                self.made.push(made);
                return self.notify(problem.line());
            }
            made.written -= 1;
            // Undone in reverse order of writing.
            if let Some((index, before)) = made.before.pop() {
                self.restore(index, before);
            }
        }
        for (index, before) in made.before {
            self.restore(index, before);
        }
        self.is_over = false;
        self.index = made.index;
        self.look();
        self.notify("undone".to_owned());
    }

    pub(super) fn back(&mut self) {
        let from = if self.is_over { self.decisions.len() } else { self.index };
        let is_shown = |index: &usize| self.decisions.get(*index) != Some(&Some(Decision::Settled));
        match (0..from).rev().find(is_shown) {
            Some(index) => {
                self.is_over = false;
                self.index = index;
                self.look();
            }
            None => self.notify("this is the first case".to_owned()),
        }
    }

    /// Goes on to the next case that is undecided.
    pub(super) fn go_on(&mut self) {
        // After going back, later cases are already decided; the rest is before.
        let is_open = |decisions: &[Option<Decision>], index: usize| decisions.get(index) == Some(&None);
        let count = self.decisions.len();
        while let Some(index) = (self.index..count).chain(0..self.index).find(|index| is_open(&self.decisions, *index))
        {
            self.index = index;
            if self.show() {
                return;
            }
        }
        self.is_over = true;
    }

    /// Records a decision; returns the previous one.
    pub(super) fn decide(&mut self, index: usize, decision: Decision) -> Option<Decision> {
        self.decisions.get_mut(index).and_then(|decided| decided.replace(decision))
    }

    fn restore(&mut self, index: usize, before: Option<Decision>) {
        self.accepted.remove(&index);
        if let Some(decided) = self.decisions.get_mut(index) {
            *decided = before;
        }
    }

    /// Whether the current case was already written; shows a notice if so.
    fn is_accepted(&mut self) -> bool {
        let is_accepted = self.decisions.get(self.index) == Some(&Some(Decision::Accepted));
        if is_accepted {
            self.notify("this case was accepted and written; u undoes the last decision".to_owned());
        }
        is_accepted
    }
}
