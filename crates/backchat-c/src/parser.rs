//! The parser of one message: text or ids in; events, deltas and the message out.

use std::ffi::{c_char, c_void};

use crate::argument::{bc_text, list, null, text, write};
use crate::call::call;
use crate::event::{bc_callback, bc_event};
use crate::failure::Failure;
use crate::handle::{Loaded, bc_parser, bc_template, make, shared, with};
use crate::options::{self, bc_options};
use crate::running::{Running, Target, wrong_input};
use crate::shared::give;
use crate::status::{BC_INVALID_OPTION, BC_OK, bc_status};
use backchat_parser::parser::Parser;

/// Begins a message. `prefix` is the prompt up to the model's output; the part after its last start anchor belongs to the
/// message, and the events of it are those of `bc_parser_events` until the next call. It must not be null: without the
/// prompt, a parser may take reasoning for the answer. `options` may be null.
///
/// # Safety
///
/// `template` is null or a handle; `prefix` is null or points to `length` bytes; `options` is null or points to options;
/// `parser` is null or points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_new(
    template: *const bc_template,
    prefix: *const c_char,
    length: usize,
    options: *const bc_options,
    parser: *mut *mut bc_parser,
) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let template = unsafe { shared(template) }?;
        if prefix.is_null() {
            let what = "the prefix; pass an empty text if the output has the whole message: it";
            return Err(null(what).in_stage("prefix"));
        }
        // SAFETY: as above.
        let prefix = unsafe { text(prefix, length) }?;
        // SAFETY: as above.
        let chosen = unsafe { options::read(options) }?;
        let options = chosen.options.clone();
        let made = match template {
            Loaded::Text(template) => Parser::new(template, prefix, options),
            Loaded::Ids(tokens) => Parser::with_tokens_after(tokens, prefix, options.keep_text(chosen.chat.is_some())),
        };
        let running = Running::new(made?, matches!(template, Loaded::Ids(_)), &chosen);
        // SAFETY: as above.
        unsafe { give(parser, || make(running)) }
    })
}

/// Begins a message after a prompt that is ids. `template` is one of `bc_template_with_tokens`.
///
/// # Safety
///
/// `template` is null or a handle; `ids` is null or points to `count` ids; `options` is null or points to options;
/// `parser` is null or points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_new_after_ids(
    template: *const bc_template,
    ids: *const u32,
    count: usize,
    options: *const bc_options,
    parser: *mut *mut bc_parser,
) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let Loaded::Ids(tokens) = unsafe { shared(template) }? else {
            return Err(wrong_input("the template is one for text; prepare it with bc_template_with_tokens"));
        };
        // SAFETY: as above.
        let ids = unsafe { list(ids, count, "the list of ids") }?;
        // SAFETY: as above.
        let chosen = unsafe { options::read(options) }?;
        let options = chosen.options.clone().keep_text(chosen.chat.is_some());
        let running = Running::new(Parser::with_tokens(tokens, ids, options)?, true, &chosen);
        // SAFETY: as above.
        unsafe { give(parser, || make(running)) }
    })
}

/// Feeds more text: characters that are whole, in pieces of any size. Events go to the callback; without one they are
/// kept for `bc_parser_events`.
///
/// # Safety
///
/// `parser` is null or a handle; `data` is null or points to `length` bytes; `callback` is null or a function that takes
/// this `user`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_feed(
    parser: *mut bc_parser,
    data: *const c_char,
    length: usize,
    callback: bc_callback,
    user: *mut c_void,
) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let piece = unsafe { text(data, length) }?;
        // SAFETY: as above.
        unsafe { with(parser, |running| running.feed(piece, Target { callback, user })) }
    })
}

/// Feeds more ids, as `bc_parser_feed` does text.
///
/// # Safety
///
/// `parser` is null or a handle; `ids` is null or points to `count` ids; `callback` is null or a function that takes this
/// `user`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_feed_ids(
    parser: *mut bc_parser,
    ids: *const u32,
    count: usize,
    callback: bc_callback,
    user: *mut c_void,
) -> bc_status {
    call(|| {
        // SAFETY: as above.
        let ids = unsafe { list(ids, count, "the list of ids") }?;
        // SAFETY: as above.
        unsafe { with(parser, |running| running.feed_ids(ids, Target { callback, user })) }
    })
}

/// Ends the text: held text is decided, and the message is complete. `cut_off` is 1 if the engine stopped at its limit
/// of tokens: then deltas leave out what the end of the text cut off.
///
/// # Safety
///
/// `parser` is null or a handle; `callback` is null or a function that takes this `user`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_finish(
    parser: *mut bc_parser,
    cut_off: u32,
    callback: bc_callback,
    user: *mut c_void,
) -> bc_status {
    call(|| {
        if cut_off > 1 {
            return Err(Failure::new(BC_INVALID_OPTION, "cut_off is neither 0 nor 1"));
        }
        // SAFETY: as above.
        unsafe { with(parser, |running| running.finish(cut_off == 1, Target { callback, user })) }
    })
}

/// The events of the last call that had no callback, or of the prefix after `bc_parser_new`: an array of `count`
/// pointers, valid until the next call with the parser.
///
/// # Safety
///
/// `parser` is null or a handle; `events` and `count` are null or point to memory for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_events(
    parser: *mut bc_parser,
    events: *mut *const *const bc_event,
    count: *mut usize,
) -> bc_status {
    call(|| {
        if count.is_null() {
            return Err(null("the pointer to the count"));
        }
        let get = |running: &mut Running| {
            let found = running.kept.pointers();
            Ok((found.as_ptr(), found.len()))
        };
        // SAFETY: as above.
        let (found, length) = unsafe { with(parser, get) }?;
        // SAFETY: as above.
        unsafe { write(events, found) }?;
        // SAFETY: as above.
        unsafe { write(count, length) }?;
        Ok(BC_OK)
    })
}

/// The next delta of an OpenAI stream as JSON, ready for `choices[0].delta` of a chunk; empty if there is none until more
/// text comes. The parser was made with the option `chat`.
///
/// # Safety
///
/// `parser` is null or a handle; `delta` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_chat_delta(parser: *mut bc_parser, delta: *mut bc_text) -> bc_status {
    // SAFETY: as above.
    unsafe { answer(parser, delta, |running| Ok(running.chat()?.next())) }
}

/// The finish reason for the last chunk: `stop`, `tool_calls` or `length`. The parser was made with the option `chat`.
///
/// # Safety
///
/// `parser` is null or a handle; `reason` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_finish_reason(parser: *mut bc_parser, reason: *mut bc_text) -> bc_status {
    // SAFETY: as above.
    unsafe { answer(parser, reason, |running| Ok(bc_text::of(running.chat()?.finish_reason()))) }
}

/// The message as JSON: the regions that have closed so far, or all of it once it is finished.
///
/// # Safety
///
/// `parser` is null or a handle; `json` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_message(parser: *mut bc_parser, json: *mut bc_text) -> bc_status {
    // SAFETY: as above.
    unsafe { answer(parser, json, |running| running.message().map(bc_text::of)) }
}

/// What makes a finished message doubtful, as a JSON object with the lists `missing`, `malformed`, `problems` and `notes`,
/// without those that are empty.
///
/// # Safety
///
/// `parser` is null or a handle; `json` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_report(parser: *mut bc_parser, json: *mut bc_text) -> bc_status {
    // SAFETY: as above.
    unsafe { answer(parser, json, |running| Ok(bc_text::of(running.report()))) }
}

/// How many bytes of the prefix belong to the message: the text begins at this place of all events.
///
/// # Safety
///
/// `parser` is null or a handle; `length` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_parser_prefix_length(parser: *mut bc_parser, length: *mut usize) -> bc_status {
    // SAFETY: as above.
    unsafe { answer(parser, length, |running| Ok(running.prefix_length)) }
}

/// Gives the caller something of a parser.
///
/// # Safety
///
/// `parser` is null or a handle; `to` is null or points to memory for the result.
unsafe fn answer<T>(
    parser: *mut bc_parser,
    to: *mut T,
    get: impl FnOnce(&mut Running) -> Result<T, Failure>,
) -> bc_status {
    call(|| {
        if to.is_null() {
            return Err(null("the pointer to the result"));
        }
        // SAFETY: as above.
        let got = unsafe { with(parser, get) }?;
        // SAFETY: it is not null, and the caller vouches for the rest.
        unsafe { write(to, got) }?;
        Ok(BC_OK)
    })
}
