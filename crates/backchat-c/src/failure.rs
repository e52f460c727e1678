//! Why calls fail, and the last failure of each thread.

use std::cell::RefCell;

use crate::status::{BC_FINISHED, BC_INVALID_JSON, BC_OK, BC_PARSE_FAILED, bc_status};
use backchat_core::Severity;
use backchat_parser::parser::{ParseError, ParseErrorKind, ToolsError};
use backchat_parser::template::LoadError;
use backchat_parser::tokens::TokensError;

/// Why a call fails. It is boxed, because calls rarely fail and their results should fit into registers.
#[derive(Debug)]
pub struct Failure(Box<Problem>);

#[derive(Debug, Default)]
pub struct Problem {
    pub code: bc_status,
    pub message: String,
    pub path: String,
    pub stage: &'static str,
}

impl Failure {
    pub fn new(code: bc_status, message: impl ToString) -> Self {
        Self(Box::new(Problem { code, message: message.to_string(), ..Problem::default() }))
    }

    /// The failure of a parser at this stage.
    pub fn in_stage(mut self, stage: &'static str) -> Self {
        self.0.stage = stage;
        self
    }

    /// Something that was loaded cannot be used, because of this place in it.
    pub fn at(path: impl Into<String>, message: impl ToString) -> Self {
        let mut failure = Self::new(BC_INVALID_JSON, message);
        failure.0.path = path.into();
        failure
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let mut errors = error.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let place = errors.find_map(|found| found.place.as_ref()?.path.clone());
        Self::at(place.unwrap_or_default(), error)
    }
}

impl From<TokensError> for Failure {
    fn from(error: TokensError) -> Self {
        Self::at(error.path.clone(), error)
    }
}

impl From<ToolsError> for Failure {
    fn from(error: ToolsError) -> Self {
        Self::at("", error)
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        let code = if error.kind() == ParseErrorKind::Failed { BC_FINISHED } else { BC_PARSE_FAILED };
        let stage = error.stage();
        Self::new(code, error).in_stage(stage)
    }
}

thread_local! {
    static LAST: RefCell<Problem> = const {
        RefCell::new(Problem { code: BC_OK, message: String::new(), path: String::new(), stage: "" })
    };
}

/// Remembers the failure as the last one of this thread.
#[cold]
pub fn remember(failure: Failure) -> bc_status {
    let code = failure.0.code;
    // A thread that ends has no last error any more.
    let _ = LAST.try_with(|last| last.replace(*failure.0));
    code
}

/// Looks at the last failure of this thread; `None` if the thread is ending.
pub fn look_at_last<R>(look: impl FnOnce(&Problem) -> R) -> Option<R> {
    LAST.try_with(|last| look(&last.borrow())).ok()
}
