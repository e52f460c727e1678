//! The input of custom tools: any text, or text that follows a grammar of the request.

mod common;
mod context_free;
mod lark_syntax;
mod regex;

use std::fmt;

use crate::automaton::Automaton;
use crate::notes::{Effect, Note};
use crate::rules::{Node, Rules};
use backchat_core::json::Value;
pub(crate) use context_free::ContextFree;

/// The input that a custom tool accepts.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A regular language.
    Regular(Automaton),
    /// A recursive language.
    ContextFree(ContextFree),
}

/// Why a grammar cannot be used: the rest of a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsupported(String);

impl From<String> for Unsupported {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<&str> for Unsupported {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Writes one terminal in the wire's spelling; `None` if that needs too many states.
pub(crate) type Spell<'s> = dyn FnMut(&mut Rules, &str, &Automaton) -> Option<Node> + 's;

/// How long a grammar may be.
const MOST_BYTES: usize = 1 << 20;

/// How many states rules without recursion may have as one automaton; engines follow larger ones rule by rule.
const MOST_JOINED: usize = 100;

/// Reads the format of a custom tool's input; `None` if any text is allowed.
///
/// # Errors
///
/// A description of the problem, with line and column if it is in the grammar.
pub(crate) fn read(format: Option<&Value>, notes: &mut Vec<Note>) -> Result<Option<Input>, Unsupported> {
    let Some(format) = format.filter(|format| !format.is_null()) else { return Ok(None) };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => return Ok(None),
        Some("grammar") => {}
        Some(other) => return Err(format!("`format` is of the type `{other}`, not `text` or `grammar`").into()),
        None => return Err("`format` has no `type`".into()),
    }
    // OpenAI's two interfaces nest differently.
    let own = format.get("grammar").unwrap_or(format);
    let Some(definition) = own.get("definition").and_then(Value::as_str) else {
        return Err("the grammar has no `definition`".into());
    };
    if definition.len() > MOST_BYTES {
        return Err(format!("the grammar has more than {MOST_BYTES} bytes").into());
    }
    let input = match own.get("syntax").and_then(Value::as_str) {
        Some("regex") => {
            let problem = |problem: &str| Unsupported(format!("the regular expression {problem}"));
            let regular = regex::read(definition, "", true).map_err(|why| problem(&why.0))?;
            let made = Automaton::from_pattern(&regular);
            Input::Regular(made.ok_or_else(|| problem("needs too many states: make it smaller"))?)
        }
        Some("lark") => {
            let problem = |Unsupported(problem)| Unsupported(format!("the Lark grammar {problem}"));
            let grammar = ContextFree::new(lark_syntax::read(definition).map_err(problem)?).map_err(problem)?;
            if grammar.overlaps {
                let message = "terminals overlap: the grammar is read over characters, where a lexer would take the longest terminal";
                notes.push(Note { keyword: Some("format".to_owned()), ..Note::new(Effect::Looser, message) });
            }
            match grammar.regular().filter(|made| made.len() <= MOST_JOINED) {
                Some(made) => Input::Regular(made),
                None => Input::ContextFree(grammar),
            }
        }
        Some(other) => return Err(format!("the grammar's syntax is `{other}`, not `regex` or `lark`").into()),
        None => return Err("the grammar has no `syntax`".into()),
    };
    match &input {
        Input::Regular(made) if made.is_empty() => Err("the grammar accepts no text".into()),
        _ => Ok(Some(input)),
    }
}

#[cfg(test)]
mod tests;
