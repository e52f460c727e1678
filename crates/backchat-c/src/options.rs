//! How to parse: the options as callers pass them, of this version of the header or an older one.

use std::sync::Arc;

use crate::argument::{bc_text, list, text};
use crate::chosen::Chosen;
use crate::failure::Failure;
use crate::handle::{bc_tools, shared};
use crate::status::BC_INVALID_OPTION;
use backchat_parser::deltas::CallDelivery;
use backchat_parser::parser::{ClosersInStrings, Mode, Options, Policies, Reasoning};

/// One answer, however the text is cut.
pub const BC_MODE_STABLE: u32 = 0;
/// What transformers answers for the same pieces.
pub const BC_MODE_REFERENCE: u32 = 1;

/// A closing marker inside a JSON string ends the region, as in transformers.
pub const BC_CLOSERS_END: u32 = 0;
/// It is part of the string.
pub const BC_CLOSERS_TEXT: u32 = 1;

/// Reasoning is a field of the message.
pub const BC_REASONING_KEPT: u32 = 0;
/// It is part of the content, with its delimiters.
pub const BC_REASONING_IN_CONTENT: u32 = 1;
/// It is in neither the message nor the events.
pub const BC_REASONING_DROPPED: u32 = 2;

/// `bc_parser_chat_delta` has nothing.
pub const BC_CHAT_OFF: u32 = 0;
/// It has the deltas of an OpenAI stream; calls are sent once their arguments begin as an object; other arguments are
/// sent once they are complete.
pub const BC_CHAT_GROWING: u32 = 1;
/// Calls are sent once they are complete.
pub const BC_CHAT_WHOLE: u32 = 2;

/// A marker is recognized by its token, if the tokenizer has one.
pub const BC_POLICY_EXACT: u32 = 0;
/// A marker is recognized by its characters, in whatever tokens.
pub const BC_POLICY_EITHER: u32 = 1;

/// How to parse. Set everything to 0, then `size` to `sizeof(bc_options)`; 0 is the default of every option.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bc_options {
    /// `sizeof(bc_options)`: later versions add options at the end.
    pub size: usize,
    /// `BC_MODE_...`
    pub mode: u32,
    /// `BC_CLOSERS_...`
    pub closers_in_strings: u32,
    /// `BC_REASONING_...`
    pub reasoning: u32,
    /// `BC_CHAT_...`
    pub chat: u32,
    /// 1: events report calls as they grow, with `BC_EVENT_CALL_START` and `BC_EVENT_CALL_ARGUMENTS`.
    pub grow_calls: u32,
    /// 1: calls stay in the content, as the model wrote them.
    pub tools_off: u32,
    /// 1: the arguments of calls are checked against the schemas of their tools.
    pub validate: u32,
    /// 0.
    pub reserved: u32,
    /// The tools of the request, whose schemas give the types of arguments. May be null.
    pub tools: *const bc_tools,
    /// The recovery policies, as in `all` or `json-commas,json-python`.
    pub recover: bc_text,
    /// The ids that end the answer of a parser of ids.
    pub stop_ids: *const u32,
    pub stop_id_count: usize,
    /// What new ids begin with, before a number; `call_` if empty. A call gets a new id if the model wrote none, or one
    /// that an earlier call has.
    pub call_id_prefix: bc_text,
}

/// The options as the parser takes them; defaults if the pointer is null.
///
/// # Safety
///
/// `given` is null, or points to as many bytes as its `size` says; its pointers are null or point to what they claim.
pub unsafe fn read(given: *const bc_options) -> Result<Chosen, Failure> {
    if given.is_null() {
        return Ok(Chosen { call_id_prefix: "call_".to_owned(), ..Chosen::default() });
    }
    // SAFETY: as above.
    let given = unsafe { copied(given) }?;
    // SAFETY: as above.
    let recover = unsafe { text(given.recover.data, given.recover.length) }?;
    let recover = Policies::parse(recover).map_err(|error| wrong("recover", &error.to_string()))?;
    // SAFETY: as above.
    let stop_ids = unsafe { list(given.stop_ids, given.stop_id_count, "stop_ids") }?;
    let mut options = Options::default()
        .mode(choice("mode", given.mode, &[Mode::Stable, Mode::Reference])?)
        .closers_in_strings(choice(
            "closers_in_strings",
            given.closers_in_strings,
            &[ClosersInStrings::Ends, ClosersInStrings::Text],
        )?)
        .reasoning(choice("reasoning", given.reasoning, &[Reasoning::Kept, Reasoning::InContent, Reasoning::Dropped])?)
        .tools_off(switch("tools_off", given.tools_off)?)
        .validate(switch("validate", given.validate)?)
        .recover(recover);
    choice("reserved", given.reserved, &[()])?;
    let chat = choice("chat", given.chat, &[None, Some(CallDelivery::Growing), Some(CallDelivery::Whole)])?;
    if given.mode == BC_MODE_REFERENCE && (chat.is_some() || !recover.is_empty()) {
        return Err(wrong("mode", "reference mode reads as transformers does: it has neither deltas nor policies"));
    }
    options = options.grow_calls(switch("grow_calls", given.grow_calls)? || chat.is_some());
    if !stop_ids.is_empty() {
        options = options.stop_ids(stop_ids);
    }
    if !given.tools.is_null() {
        // SAFETY: as above.
        options = options.tools(Arc::clone(unsafe { shared(given.tools) }?));
    }
    // SAFETY: as above.
    let prefix = unsafe { text(given.call_id_prefix.data, given.call_id_prefix.length) }?;
    let call_id_prefix = if prefix.is_empty() { "call_" } else { prefix }.to_owned();
    Ok(Chosen { options, chat, call_id_prefix })
}

/// The options, if they are of this version of the header: so far there is one.
///
/// # Safety
///
/// `given` points to as many bytes as its `size` says, and at least to that.
unsafe fn copied(given: *const bc_options) -> Result<bc_options, Failure> {
    if !given.is_aligned() {
        return Err(wrong("size", "the options are not aligned"));
    }
    // SAFETY: every version begins with the size.
    let size = unsafe { given.cast::<usize>().read() };
    if size != size_of::<bc_options>() {
        return Err(wrong("size", "set it to sizeof(bc_options)"));
    }
    // SAFETY: the caller vouches for this size.
    Ok(unsafe { given.read() })
}

fn choice<T: Copy>(name: &str, number: u32, choices: &[T]) -> Result<T, Failure> {
    let chosen = usize::try_from(number).ok().and_then(|number| choices.get(number));
    chosen.copied().ok_or_else(|| wrong(name, &format!("{number} is not one of its values")))
}

fn switch(name: &str, number: u32) -> Result<bool, Failure> {
    choice(name, number, &[false, true])
}

#[cold]
fn wrong(name: &str, problem: &str) -> Failure {
    Failure::new(BC_INVALID_OPTION, format!("option `{name}`: {problem}"))
}
