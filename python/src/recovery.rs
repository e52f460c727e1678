//! The options for recovery: the policies, and whether arguments are validated.

use backchat::parser::{Mode, Options, Policies};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// How to parse text that deviates from its format.
#[derive(Clone, Copy, Default)]
pub struct Recovery {
    policies: Policies,
    validate: bool,
}

impl Recovery {
    /// Reads `recover` (policies, as a list or as text) and `validate`. Reference mode takes no policies.
    pub fn read(recover: Option<&Bound<'_, PyAny>>, validate: bool, mode: Mode) -> PyResult<Self> {
        let policies = recover.map_or(Ok(Policies::none()), policies)?;
        if mode == Mode::Reference && !policies.is_empty() {
            let message = "`recover` needs `mode=\"stable\"`: the reference mode reads as transformers does";
            return Err(PyValueError::new_err(message));
        }
        Ok(Self { policies, validate })
    }

    /// Adds them to options.
    pub fn of(self, options: Options) -> Options {
        options.recover(self.policies).validate(self.validate)
    }
}

fn policies(given: &Bound<'_, PyAny>) -> PyResult<Policies> {
    let unknown = |error: backchat::parser::UnknownPolicy| PyValueError::new_err(format!("`recover`: {error}"));
    if let Ok(text) = given.cast::<PyString>() {
        return Policies::parse(text.to_str()?).map_err(unknown);
    }
    let not_names = || PyTypeError::new_err("`recover` is \"all\" or a list of policies");
    let mut names = Vec::new();
    for name in given.try_iter().map_err(|_| not_names())? {
        names.push(name?.cast::<PyString>().map_err(|_| not_names())?.to_str()?.to_owned());
    }
    Policies::of_names(names.iter().map(String::as_str)).map_err(unknown)
}
