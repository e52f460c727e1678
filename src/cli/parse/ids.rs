//! An output that is token ids: the keys of a row.

use super::POLICIES;
use super::row_error::{RowError, take};
use crate::cli::known_values::named_in_row;
use crate::cli::token_ids::of_value;
use backchat_core::json::{Object, Value};
use backchat_parser::parser::Policy;

/// The token ids of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    /// The model's output.
    pub token_ids: Vec<u32>,
    /// The prompt, if it is ids as well.
    pub prompt_ids: Option<Vec<u32>>,
    /// The file of the tokenizer, if given.
    pub tokenizer: Option<String>,
    /// The policy for markers, if given.
    pub policy: Option<Policy>,
    /// The ids that end the output, if given.
    pub stop_ids: Option<Vec<u32>>,
}

impl Ids {
    /// Takes these keys out of a row; `None` if its output is text.
    pub fn take(entries: &mut Object) -> Result<Option<Self>, RowError> {
        let Some(token_ids) = entries.shift_remove("token_ids") else { return Ok(None) };
        let both = |one: &str, other: &str| {
            RowError::load(format!(
                "the row has both `{one}` and `{other}`; give the one that you have, and not the other"
            ))
        };
        if entries.contains_key("text") {
            return Err(both("text", "token_ids"));
        }
        let token_ids = of_value("token_ids", &token_ids).map_err(RowError::load)?;
        let mut list = |key: &str| take(entries, key, |value| of_value(key, &value));
        let (prompt_ids, stop_ids) = (list("prompt_ids")?, list("stop_ids")?);
        if prompt_ids.is_some() && entries.contains_key("prefix") {
            return Err(both("prefix", "prompt_ids"));
        }
        let tokenizer = take(entries, "tokenizer", |value| match value {
            Value::String(tokenizer) => Ok(tokenizer),
            other => Err(format!("`tokenizer` must name a file, not {}", other.kind())),
        })?;
        let policy = take(entries, "policy", |value| named_in_row(POLICIES, "policy", &value))?;
        Ok(Some(Self { token_ids, prompt_ids, tokenizer, policy, stop_ids }))
    }
}
