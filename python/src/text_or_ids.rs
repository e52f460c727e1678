//! Prompts and outputs: text, or token ids.

use backchat::parser::{Options, Policy, TokenTemplate};
use backchat::{ParseError, Parser, Template};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::names::one_of;
use crate::tokens;

/// A prompt, or an output.
pub enum TextOrIds {
    Text(PyBackedStr),
    Ids(Vec<u32>),
}

impl TextOrIds {
    /// A prompt. Ids need a tokenizer.
    pub fn prompt(given: &Bound<'_, PyAny>, may_be_ids: bool) -> PyResult<Self> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(Self::Text(text.clone().try_into()?)),
            Err(_) if may_be_ids => Ok(Self::Ids(given.extract()?)),
            Err(_) => Err(PyTypeError::new_err("`prefix` is a str; ids need a `tokenizer`")),
        }
    }

    /// An output: ids if there is a tokenizer, else text.
    pub fn output(given: &Bound<'_, PyAny>, are_ids: bool) -> PyResult<Self> {
        match (given.cast::<PyString>(), are_ids) {
            (Ok(text), false) => Ok(Self::Text(text.clone().try_into()?)),
            (Err(_), true) => Ok(Self::Ids(given.extract()?)),
            (Ok(_), true) => Err(PyTypeError::new_err("with a `tokenizer` the output is a list of ids, not text")),
            (Err(_), false) => {
                let name = given.get_type().name()?;
                Err(PyTypeError::new_err(format!("the output is a str, not {name}; ids need a `tokenizer`")))
            }
        }
    }

    /// The text; empty if it is ids.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Ids(_) => "",
        }
    }

    /// Its length in bytes of text, or in ids.
    pub fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Ids(ids) => ids.len(),
        }
    }

    /// A parser that starts after this prompt.
    pub fn begin(
        &self,
        template: &Template,
        ready: Option<&TokenTemplate>,
        options: Options,
    ) -> Result<Parser, ParseError> {
        match (self, ready) {
            (Self::Ids(ids), Some(ready)) => Parser::with_tokens(ready, ids, options),
            (Self::Text(text), Some(ready)) => Parser::with_tokens_after(ready, text, options),
            // `prompt` refuses ids without a tokenizer.
            (given, None) => Parser::new(template, given.text(), options),
        }
    }
}

/// The template prepared for token ids, if there is a tokenizer.
pub fn ready_for_ids(
    tokenizer: Option<&Bound<'_, PyAny>>,
    template: &Template,
    policy: &str,
    stop_ids: &[u32],
) -> PyResult<Option<TokenTemplate>> {
    let policy = one_of("policy", &tokens::POLICIES, policy)?;
    match tokenizer {
        Some(tokenizer) => tokens::of(tokenizer)?.get().template(template, policy).map(Some),
        None if !stop_ids.is_empty() => Err(PyValueError::new_err("`stop_ids` need a `tokenizer`")),
        None if policy != Policy::Exact => Err(PyValueError::new_err("`policy` needs a `tokenizer`")),
        None => Ok(None),
    }
}
