//! What parsers share: templates, tools and tokens. All are immutable once they are loaded.

use std::ffi::c_char;
use std::sync::Arc;

use crate::argument::{text, write};
use crate::call::call;
use crate::failure::Failure;
use crate::handle::{Loaded, bc_template, bc_tokens, bc_tools, make, shared};
use crate::status::{BC_INVALID_OPTION, BC_OK, BC_WRONG_HANDLE, bc_status};
use backchat_core::json::{self, Value};
use backchat_parser::parser::{Policy, TokenTemplate, Tools};
use backchat_parser::template::Template;
use backchat_parser::tokens::Tokens;

/// Loads a response template from its JSON. The error has the path of the first problem.
///
/// # Safety
///
/// `json` is null or points to `length` bytes; `template` is null or points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_template_load(
    json: *const c_char,
    length: usize,
    template: *mut *mut bc_template,
) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let loaded = Template::load(unsafe { text(json, length) }?)?.template;
        // SAFETY: as above.
        unsafe { give(template, || make(Loaded::Text(loaded))) }
    })
}

/// Prepares a template for the ids of a tokenizer. `policy` is `BC_POLICY_EXACT` or `BC_POLICY_EITHER`. Parsers of the
/// new template read ids.
///
/// # Safety
///
/// `template` and `tokens` are null or handles; `for_ids` is null or points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_template_with_tokens(
    template: *const bc_template,
    tokens: *const bc_tokens,
    policy: u32,
    for_ids: *mut *mut bc_template,
) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let Loaded::Text(template) = unsafe { shared(template) }? else {
            return Err(Failure::new(BC_WRONG_HANDLE, "the template is one for ids already"));
        };
        // SAFETY: as above.
        let tokens = unsafe { shared(tokens) }?;
        let policy = match policy {
            crate::options::BC_POLICY_EXACT => Policy::Exact,
            crate::options::BC_POLICY_EITHER => Policy::Either,
            _ => return Err(Failure::new(BC_INVALID_OPTION, format!("{policy} is not a policy"))),
        };
        let prepared = TokenTemplate::new(template, tokens, policy);
        let prepared = prepared.map_err(|error| Failure::at(error.path.clone(), error))?;
        // SAFETY: as above.
        unsafe { give(for_ids, || make(Loaded::Ids(prepared))) }
    })
}

/// Loads the tools of a request: a JSON list, as in OpenAI's protocol.
///
/// # Safety
///
/// `json` is null or points to `length` bytes; `tools` is null or points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_tools_load(json: *const c_char, length: usize, tools: *mut *mut bc_tools) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let value = json::read(unsafe { text(json, length) }?).map_err(|error| Failure::at("", error))?;
        if let Some((path, problem)) = wrong_tools(&value) {
            return Err(Failure::at(path, problem));
        }
        let loaded = Arc::new(Tools::new(&value)?);
        // SAFETY: as above.
        unsafe { give(tools, || make(loaded)) }
    })
}

/// The problem of tools that are not a list, or a list without an object, and its place. Other elements are ignored, as in
/// transformers.
fn wrong_tools(value: &Value) -> Option<(&'static str, String)> {
    match value {
        Value::Null => None,
        Value::List(items) if items.iter().any(|tool| tool.as_object().is_some()) => None,
        Value::List(items) => Some(("[0]", format!("a tool is an object, not {}", items.first()?.kind()))),
        other => {
            let help = r#"write the tools in brackets, even a single one: `[{"type": "function", …}]`"#;
            Some(("", format!("expected a list of tools, not {}; {help}", other.kind())))
        }
    }
}

/// Loads a `tokenizer.json`.
///
/// # Safety
///
/// `json` is null or points to `length` bytes; `tokens` is null or points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_tokens_load(json: *const c_char, length: usize, tokens: *mut *mut bc_tokens) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let loaded = Arc::new(Tokens::load(unsafe { text(json, length) }?)?);
        // SAFETY: as above.
        unsafe { give(tokens, || make(loaded)) }
    })
}

/// Gives the caller a handle, which is made only if there is a place for it.
///
/// # Safety
///
/// `to` is null or points to memory for a pointer.
pub unsafe fn give<O>(to: *mut *mut O, make: impl FnOnce() -> *mut O) -> Result<bc_status, Failure> {
    if to.is_null() {
        return Err(crate::argument::null("the pointer to the result"));
    }
    // SAFETY: it is not null, and the caller vouches for the rest.
    unsafe { write(to, make()) }?;
    Ok(BC_OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_cast_nothing_are_refused() {
        for (tools, problem) in [
            (r#"[{"name": "f"}]"#, None),
            (r#"["x", {"type": "web_search"}]"#, None),
            ("[]", None),
            ("null", None),
            (r#"[1, "x"]"#, Some(("[0]", "a tool is an object, not a number"))),
            (
                r#"{"type": "function"}"#,
                Some(("", "expected a list of tools, not an object; write the tools in brackets")),
            ),
            (r#""abc""#, Some(("", "expected a list of tools, not a string; "))),
            ("0", Some(("", "expected a list of tools, not a number; "))),
        ] {
            let found = wrong_tools(&json::read(tools).unwrap());
            let fits = match (&found, problem) {
                (Some((path, message)), Some((place, beginning))) => *path == place && message.starts_with(beginning),
                (found, problem) => found.is_none() && problem.is_none(),
            };
            assert!(fits, "{tools}: {found:?}");
        }
    }
}
