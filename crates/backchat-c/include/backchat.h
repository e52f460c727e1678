/* Backchat: parse the output of a chat model with a response template.
 *
 * Load a template once and share it between parsers and threads. Each message has its own parser: feed it the text as it
 * arrives, and get events, or the deltas of an OpenAI stream.
 *
 *   bc_template *template = NULL;
 *   bc_parser *parser = NULL;
 *   bc_template_load(json, json_length, &template);
 *   bc_parser_new(template, prompt, prompt_length, NULL, &parser);
 *   bc_parser_feed(parser, text, text_length, on_event, user);     // for each piece of the output
 *   bc_parser_finish(parser, 0, on_event, user);
 *   bc_parser_message(parser, &message);
 *   bc_free(parser);
 *   bc_free(template);
 *
 * Text is UTF-8, given as a pointer and a length; it need not end in a null byte. An empty text may have a null pointer.
 * Text that the library returns belongs to it, and is valid until the next call with the same parser.
 *
 * Functions return a `bc_status`. On failure nothing is written through pointers to results, and `bc_last_error` tells
 * this thread what was wrong. A call with a null pointer, a handle of the wrong kind, text that is not UTF-8, or a
 * parser that has finished or is in use fails; it is never undefined behavior. A pointer that is neither null nor to
 * live memory is.
 *
 * There is no global state. Calls for different parsers may run at the same time; templates, tools and tokens may be
 * shared between threads. One parser must not be used by two threads at once: the second call returns `BC_BUSY`.
 *
 * `bc_free` frees every handle. A template, tools or tokens may be freed while parsers that were made with them live on.
 */


#ifndef BACKCHAT_H
#define BACKCHAT_H

#include <stddef.h>
#include <stdint.h>

// The version of this interface. It changes only if a program must be compiled again.
#define BC_ABI_VERSION 1

// One answer, however the text is cut.
#define BC_MODE_STABLE 0

// What transformers answers for the same pieces.
#define BC_MODE_REFERENCE 1

// A closing marker inside a JSON string ends the region, as in transformers.
#define BC_CLOSERS_END 0

// It is part of the string.
#define BC_CLOSERS_TEXT 1

// Reasoning is a field of the message.
#define BC_REASONING_KEPT 0

// It is part of the content, with its delimiters.
#define BC_REASONING_IN_CONTENT 1

// It is in neither the message nor the events.
#define BC_REASONING_DROPPED 2

// `bc_parser_chat_delta` has nothing.
#define BC_CHAT_OFF 0

// It has the deltas of an OpenAI stream; calls are sent once their arguments begin as an object; other arguments are
// sent once they are complete.
#define BC_CHAT_GROWING 1

// Calls are sent once they are complete.
#define BC_CHAT_WHOLE 2

// A marker is recognized by its token, if the tokenizer has one.
#define BC_POLICY_EXACT 0

// A marker is recognized by its characters, in whatever tokens.
#define BC_POLICY_EITHER 1

// A region began. `start` and `end` are its delimiter; `captures` are those of the delimiter.
#define BC_EVENT_OPEN 0

// More of a region's text, in `text`. `dirty` is 1 if it is the raw text of a structured value.
#define BC_EVENT_CHUNK 1

// A region ended: `value` is its value as JSON, `body_start` and `body_end` its body.
#define BC_EVENT_CLOSE 2

// A region ended that gives no value: `text` is its text, `detail` why. The message is as if it had not been there.
#define BC_EVENT_MALFORMED 3

// A call began, with the number `index` and the name `text`; `detail` is its id if the model wrote one.
#define BC_EVENT_CALL_START 4

// More of the JSON text of the arguments of the call `index`, in `text`.
#define BC_EVENT_CALL_ARGUMENTS 5

// Something went wrong with a region: `text` is the kind of problem, `value` the problem as JSON.
#define BC_EVENT_PROBLEM 6

// The parser of one message.
typedef struct bc_parser bc_parser;

// A response template. Immutable: share it between parsers and threads.
typedef struct bc_template bc_template;

// The text of each id of a tokenizer. Immutable, too.
typedef struct bc_tokens bc_tokens;

// The tools of a request. Immutable, too.
typedef struct bc_tools bc_tools;

// The result of a call: `BC_OK`, `BC_STOPPED`, or a negative number if the call failed.
typedef int32_t bc_status;

// A text: UTF-8, without a null byte at its end.
typedef struct {
    const char *data;
    size_t length;
} bc_text;

// What went wrong.
typedef struct {
    // The status that the call returned; `BC_OK` if no call of this thread failed.
    bc_status code;
    // The problem, in one sentence.
    bc_text message;
    // The place in the JSON that was loaded, as in `fields.content.close`; empty if there is none.
    bc_text path;
    // What the parser was doing if it failed: `prefix`, `feed` or `finalize`; empty otherwise.
    bc_text stage;
} bc_error;

// How to parse. Set everything to 0, then `size` to `sizeof(bc_options)`; 0 is the default of every option.
typedef struct {
    // `sizeof(bc_options)`: later versions add options at the end.
    size_t size;
    // `BC_MODE_...`
    uint32_t mode;
    // `BC_CLOSERS_...`
    uint32_t closers_in_strings;
    // `BC_REASONING_...`
    uint32_t reasoning;
    // `BC_CHAT_...`
    uint32_t chat;
    // 1: events report calls as they grow, with `BC_EVENT_CALL_START` and `BC_EVENT_CALL_ARGUMENTS`.
    uint32_t grow_calls;
    // 1: calls stay in the content, as the model wrote them.
    uint32_t tools_off;
    // 1: the arguments of calls are checked against the schemas of their tools.
    uint32_t validate;
    // 0.
    uint32_t reserved;
    // The tools of the request, whose schemas give the types of arguments. May be null.
    const bc_tools *tools;
    // The recovery policies, as in `all` or `json-commas,json-python`.
    bc_text recover;
    // The ids that end the answer of a parser of ids.
    const uint32_t *stop_ids;
    size_t stop_id_count;
    // What new ids begin with, before a number; `call_` if empty. A call gets a new id if the model wrote none, or one
    // that an earlier call has.
    bc_text call_id_prefix;
} bc_options;

// A named group of the delimiter of a region.
typedef struct {
    bc_text name;
    bc_text text;
} bc_capture;

// An event. Its texts are valid until the callback returns, or until the next call with the parser if it was kept.
// Later versions may add kinds, which should be skipped, and members at the end.
typedef struct {
    // `BC_EVENT_...`
    uint32_t kind;
    // 1 if `text` is the raw text of a structured value.
    uint32_t dirty;
    // The field; empty for a problem of none.
    bc_text field;
    bc_text text;
    bc_text detail;
    // JSON.
    bc_text value;
    // The number of the call, from 0.
    size_t index;
    // The place in the parser's input, in bytes: the part of the prefix that belongs to the message
    // (`bc_parser_prefix_length`), then the text.
    size_t start;
    size_t end;
    size_t body_start;
    size_t body_end;
    const bc_capture *captures;
    size_t capture_count;
} bc_event;

// Takes an event; anything but 0 stops the report. It must return: no `longjmp`, no exception.
typedef int32_t (*bc_callback)(const bc_event *event, void *user);

// The call did what it should.
#define BC_OK 0

// The callback returned a number other than 0. The text was read; the rest of its events was not reported.
#define BC_STOPPED 1

// A required pointer is null, a pointer is not aligned, or a list is longer than memory can be.
#define BC_NULL_POINTER -1

// A handle is of another kind, or was freed.
#define BC_WRONG_HANDLE -2

// A text is not UTF-8; nothing of it was read. A character must not be divided between two texts.
#define BC_INVALID_UTF8 -3

// An option has a value that it cannot have.
#define BC_INVALID_OPTION -4

// A template, a list of tools or a tokenizer cannot be used.
#define BC_INVALID_JSON -5

// The parser is in use, by another thread or by the call that this callback belongs to.
#define BC_BUSY -6

// The message is finished, or parsing it failed before.
#define BC_FINISHED -7

// The parser reads ids and was given text, or the reverse.
#define BC_WRONG_INPUT -8

// Parsing failed: a pattern exceeded its limit of steps or, in reference mode, transformers raises here.
#define BC_PARSE_FAILED -9

// A bug in Backchat. The handle cannot be used any more.
#define BC_INTERNAL -10

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What was wrong with the last call of this thread that failed. The texts are valid until the next one that fails.
bc_status bc_last_error(bc_error *error);

// The version of the interface that the library has. Compare it with `BC_ABI_VERSION`.
uint32_t bc_abi_version(void);

// The version of the library, as in `0.1.0`.
bc_text bc_version(void);

// Frees a handle: a template, a parser, tools or tokens. A null pointer is fine. A parser cannot be freed by a callback
// of its own.
bc_status bc_free(void *handle);

// Loads a response template from its JSON. The error has the path of the first problem.
bc_status bc_template_load(const char *json, size_t length, bc_template **template_);

// Prepares a template for the ids of a tokenizer. `policy` is `BC_POLICY_EXACT` or `BC_POLICY_EITHER`. Parsers of the
// new template read ids.
bc_status bc_template_with_tokens(const bc_template *template_,
                                  const bc_tokens *tokens,
                                  uint32_t policy,
                                  bc_template **for_ids);

// Loads the tools of a request: a JSON list, as in OpenAI's protocol.
bc_status bc_tools_load(const char *json, size_t length, bc_tools **tools);

// Loads a `tokenizer.json`.
bc_status bc_tokens_load(const char *json, size_t length, bc_tokens **tokens);

// Begins a message. `prefix` is the prompt up to the model's output; the part after its last start anchor belongs to the
// message, and the events of it are those of `bc_parser_events` until the next call. It must not be null: without the
// prompt, a parser may take reasoning for the answer. `options` may be null.
bc_status bc_parser_new(const bc_template *template_,
                        const char *prefix,
                        size_t length,
                        const bc_options *options,
                        bc_parser **parser);

// Begins a message after a prompt that is ids. `template` is one of `bc_template_with_tokens`.
bc_status bc_parser_new_after_ids(const bc_template *template_,
                                  const uint32_t *ids,
                                  size_t count,
                                  const bc_options *options,
                                  bc_parser **parser);

// Feeds more text: characters that are whole, in pieces of any size. Events go to the callback; without one they are
// kept for `bc_parser_events`.
bc_status bc_parser_feed(bc_parser *parser, const char *data, size_t length, bc_callback callback, void *user);

// Feeds more ids, as `bc_parser_feed` does text.
bc_status bc_parser_feed_ids(bc_parser *parser,
                             const uint32_t *ids,
                             size_t count,
                             bc_callback callback,
                             void *user);

// Ends the text: held text is decided, and the message is complete. `cut_off` is 1 if the engine stopped at its limit
// of tokens: then deltas leave out what the end of the text cut off.
bc_status bc_parser_finish(bc_parser *parser, uint32_t cut_off, bc_callback callback, void *user);

// The events of the last call that had no callback, or of the prefix after `bc_parser_new`: an array of `count`
// pointers, valid until the next call with the parser.
bc_status bc_parser_events(bc_parser *parser, const bc_event *const **events, size_t *count);

// The next delta of an OpenAI stream as JSON, ready for `choices[0].delta` of a chunk; empty if there is none until more
// text comes. The parser was made with the option `chat`.
bc_status bc_parser_chat_delta(bc_parser *parser,
                               bc_text *delta);

// The finish reason for the last chunk: `stop`, `tool_calls` or `length`. The parser was made with the option `chat`.
bc_status bc_parser_finish_reason(bc_parser *parser, bc_text *reason);

// The message as JSON: the regions that have closed so far, or all of it once it is finished.
bc_status bc_parser_message(bc_parser *parser, bc_text *json);

// What makes a finished message doubtful, as a JSON object with the lists `missing`, `malformed`, `problems` and `notes`,
// without those that are empty.
bc_status bc_parser_report(bc_parser *parser,
                           bc_text *json);

// How many bytes of the prefix belong to the message: the text begins at this place of all events.
bc_status bc_parser_prefix_length(bc_parser *parser, size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BACKCHAT_H */
