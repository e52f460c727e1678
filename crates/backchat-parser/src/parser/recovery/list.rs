//! The problems of a text, ordered by position and limited in number.

use crate::content::recovery::ProblemKind;
use crate::parser::problem::Problem;
use crate::parser::span::Span;

/// How many are listed.
const LISTED: usize = 256;

#[derive(Clone, Debug, Default)]
pub(in crate::parser) struct Problems {
    listed: Vec<Problem>,
    /// How many were not listed, and where the last of them ends.
    more: usize,
    end: usize,
}

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        if self.listed.len() < LISTED {
            self.listed.push(problem);
        } else {
            self.more += 1;
            self.end = self.end.max(problem.span.end);
        }
    }

    /// The problems in their order.
    pub fn finish(mut self) -> Vec<Problem> {
        self.listed.sort_by_key(|problem| (problem.span.start, problem.span.end));
        if self.more > 0 {
            let rest = Problem::new(ProblemKind::More, Span::new(self.end, self.end));
            self.listed.push(Problem { count: Some(self.more), ..rest });
        }
        self.listed
    }
}
