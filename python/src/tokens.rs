//! Tokenizers, each read once and shared by parsers, masks and bridges.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use backchat::Template;
use backchat::json::{Object, Value};
use backchat::parser::{Policy, TokenTemplate};
use backchat::tokens::{Tokenizer, Tokens};
use backchat_workbench::input;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::not_loaded;
use crate::names::{Named, Place};
use crate::value::from_python;

/// How many templates prepared for its ids a tokenizer keeps.
const KEPT: usize = 16;

/// A tokenizer: the decoder, and an encoder loaded on first use.
#[pyclass(frozen, name = "Tokenizer", module = "backchat")]
pub struct PyTokenizer {
    json: String,
    tokens: Arc<Tokens>,
    encoder: OnceLock<Result<Arc<Tokenizer>, String>>,
    templates: Mutex<VecDeque<(Template, Policy, TokenTemplate)>>,
    control_tokens: ControlTokens,
}

/// The `chat_control_tokens` of a tokenizer.
enum ControlTokens {
    Given(Vec<String>),
    /// In the tokenizer_config.json next to this tokenizer.json, or in this folder.
    Beside(Place),
    Unknown,
}

#[pymethods]
impl PyTokenizer {
    /// Reads a tokenizer.json, the one in a model folder, or its text.
    #[new]
    #[pyo3(signature = (source, *, chat_control_tokens=None))]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>, chat_control_tokens: Option<Vec<String>>) -> PyResult<Self> {
        let (json, beside) = match Named::of(source, "a tokenizer is a str or a path")? {
            Named::Text(json) => (json, None),
            Named::Place(place) => {
                let read = py.detach(|| input::tokenizer_json(&place.name));
                (read.map_err(|problem| not_loaded(py, &place.tried(problem.diagnostics)))?, Some(place))
            }
        };
        let tokens = py.detach(|| Tokens::load(&json).map(Arc::new));
        let tokens = tokens.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let control_tokens = match (chat_control_tokens, beside) {
            (Some(given), _) => ControlTokens::Given(given),
            (None, Some(place)) => ControlTokens::Beside(place),
            (None, None) => ControlTokens::Unknown,
        };
        Ok(Self { json, tokens, encoder: OnceLock::new(), templates: Mutex::default(), control_tokens })
    }

    /// The arguments for pickle: what was read, whose files may not be where it is made anew.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((&str,), Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("chat_control_tokens", self.chat_control_tokens(py)?)?;
        Ok(((&self.json,), named))
    }

    /// The ids of a text. No special tokens are added.
    fn encode(&self, py: Python<'_>, text: &str) -> PyResult<Vec<u32>> {
        let encoder = self.encoder(py)?;
        let encoded = py.detach(|| encoder.encode(text)).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(encoded.ids)
    }

    /// The text of ids.
    fn decode(&self, ids: Vec<u32>) -> String {
        self.tokens.decode(&ids)
    }
}

impl PyTokenizer {
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// The encoder, loaded on first use, because that takes seconds for a large vocabulary.
    pub fn encoder(&self, py: Python<'_>) -> PyResult<Arc<Tokenizer>> {
        let read = || Tokenizer::load(&self.json).map(Arc::new).map_err(|error| error.to_string());
        py.detach(|| self.encoder.get_or_init(read)).clone().map_err(PyValueError::new_err)
    }

    /// The added tokens that only chat templates write, if they are listed.
    pub fn chat_control_tokens(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        match &self.control_tokens {
            ControlTokens::Given(listed) => Ok(Some(listed.clone())),
            ControlTokens::Beside(place) => {
                let listed = py.detach(|| input::chat_control_tokens(&place.name));
                listed.map_err(|problem| not_loaded(py, &problem.diagnostics))
            }
            ControlTokens::Unknown => Ok(None),
        }
    }

    /// A template prepared for the tokenizer's ids.
    pub fn template(&self, template: &Template, policy: Policy) -> PyResult<TokenTemplate> {
        let lock = || self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |(known, other, _): &&(Template, Policy, TokenTemplate)| *other == policy && known == template;
        if let Some((.., ready)) = lock().iter().find(is_known) {
            return Ok(ready.clone());
        }
        let ready = TokenTemplate::new(template, &self.tokens, policy);
        let ready = ready.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut templates = lock();
        templates.push_front((template.clone(), policy, ready.clone()));
        templates.truncate(KEPT);
        Ok(ready)
    }
}

/// A tokenizer from a `Tokenizer`, a file, or an object of transformers or tokenizers.
pub fn of<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTokenizer>> {
    converted(given, false)
}

/// The same, for encoding, which depends on more of the object than decoding does.
pub fn to_encode<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTokenizer>> {
    converted(given, true)
}

fn converted<'py>(given: &Bound<'py, PyAny>, encodes: bool) -> PyResult<Bound<'py, PyTokenizer>> {
    if let Ok(known) = given.cast::<PyTokenizer>() {
        return Ok(known.clone());
    }
    let known = given.py().import("backchat._tokens")?.getattr("tokenizer_of")?.call1((given, encodes))?;
    Ok(known.cast_into::<PyTokenizer>()?)
}

/// The special tokens that a tokenizer of transformers hands to its chat template, by their names.
pub fn special_tokens(given: &Bound<'_, PyAny>) -> PyResult<Object> {
    match given.getattr_opt("special_tokens_map")?.map(|named| from_python(&named)).transpose()? {
        Some(Value::Object(named)) => Ok(named),
        _ => Ok(Object::new()),
    }
}

/// How markers match token ids.
pub const POLICIES: [(&str, Policy); 2] = [("exact", Policy::Exact), ("either", Policy::Either)];
