//! The special tokens of a model, with their numbers: from its tokenizer's files, or as the command line lists them.

use std::path::Path;

use super::{Failure, input};
use backchat_grammar::SpecialToken;
use backchat_workbench::answers;

/// The value of `--special-tokens`: a file, a comma-separated list, or `none`. The default is those of the model
/// folder.
pub fn read(given: Option<&str>, model: &str) -> Result<Vec<SpecialToken>, Failure> {
    match given {
        Some("none") => Ok(Vec::new()),
        Some(file) if Path::new(file).is_file() => Ok(answers::special_tokens_of(&input::json(file)?)),
        Some(list) => {
            let texts = list.split(',').map(str::trim).filter(|text| !text.is_empty());
            Ok(texts.map(|text| SpecialToken::new(text, None)).collect())
        }
        None => Ok(answers::special_tokens(model)?),
    }
}
