// Package backchat parses the output of chat models with response templates: events, deltas of an OpenAI stream, and the
// message, the same however the text is cut.
//
// It needs the C library, found by pkg-config. A Template, Tools and Tokens may be used by many goroutines at once; calls of
// one Parser wait for each other.
//
// Close what you no longer need: its memory is C's, which the garbage collector does not see. What is not closed is freed once
// it is collected.
package backchat

/*
#cgo pkg-config: backchat
#include <backchat.h>
#include <stdlib.h>

// What bc_parser_events gives, with a name that Go can write.
typedef const bc_event *events;

static bc_status kept(bc_parser *parser, events const **list, size_t *count) {
	return bc_parser_events(parser, list, count);
}

// A feed and its events in one call, because a call from Go costs more than most feeds.
static bc_status feed(bc_parser *parser, const void *text, size_t length, events const **list, size_t *count) {
	bc_status status = bc_parser_feed(parser, text, length, NULL, NULL);
	return status == BC_OK ? bc_parser_events(parser, list, count) : status;
}

static bc_status feed_ids(bc_parser *parser, const uint32_t *ids, size_t length, events const **list, size_t *count) {
	bc_status status = bc_parser_feed_ids(parser, ids, length, NULL, NULL);
	return status == BC_OK ? bc_parser_events(parser, list, count) : status;
}

static bc_status finish(bc_parser *parser, uint32_t cut_off, events const **list, size_t *count) {
	bc_status status = bc_parser_finish(parser, cut_off, NULL, NULL);
	return status == BC_OK ? bc_parser_events(parser, list, count) : status;
}
*/
import "C"

import (
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// Error is a call that failed.
type Error struct {
	// Code is a status of backchat.h, such as -5 for JSON that cannot be loaded.
	Code int
	// Message is the problem, in one sentence.
	Message string
	// Path is the place in the JSON that was loaded, if there is one.
	Path string
	// Stage is what the parser was doing, if it failed: prefix, feed or finalize.
	Stage string
}

func (e *Error) Error() string { return "backchat: " + e.Message }

// ErrClosed is the error of every use after Close, and of a value that was not loaded.
var ErrClosed = errors.New("backchat: the template, tools, tokens or parser is closed")

// check makes a call, and fetches its error from the thread that made it.
func check(call func() C.bc_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	if status >= C.BC_OK {
		return nil
	}
	var e C.bc_error
	C.bc_last_error(&e)
	return &Error{Code: int(status), Message: text(e.message), Path: text(e.path), Stage: text(e.stage)}
}

func text(t C.bc_text) string { return C.GoStringN(t.data, C.int(t.length)) }

// data is the address of a string's bytes, which C reads during the call.
func data(s string) unsafe.Pointer {
	if s == "" {
		s = "-" // The address of an empty string may be nil, which is no text.
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&s))
}

// handle is an object of the C library.
type handle struct {
	lock    sync.RWMutex
	pointer unsafe.Pointer
}

// newHandle takes what a call makes. The finalizer frees it, unless it was closed before.
func newHandle(call func(*unsafe.Pointer) C.bc_status) (*handle, error) {
	h := &handle{}
	if err := check(func() C.bc_status { return call(&h.pointer) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(h, (*handle).close)
	return h, nil
}

func (h *handle) close() {
	if h == nil {
		return
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	runtime.SetFinalizer(h, nil)
	C.bc_free(h.pointer)
	h.pointer = nil
}

// concurrent runs a call while others may use the handle, and none can close it.
func (h *handle) concurrent(call func(unsafe.Pointer) error) error {
	if h == nil {
		return ErrClosed
	}
	return h.use(h.lock.RLocker(), call)
}

// exclusive runs a call while no other one uses the handle.
func (h *handle) exclusive(call func(unsafe.Pointer) error) error {
	if h == nil {
		return ErrClosed
	}
	return h.use(&h.lock, call)
}

func (h *handle) use(lock sync.Locker, call func(unsafe.Pointer) error) error {
	lock.Lock()
	defer lock.Unlock()
	if h.pointer == nil {
		return ErrClosed
	}
	return call(h.pointer)
}

// Template is a response template.
type Template struct{ handle *handle }

// Load reads a response template from its JSON.
func Load(templateJSON string) (*Template, error) {
	h, err := newHandle(func(handle *unsafe.Pointer) C.bc_status {
		return C.bc_template_load((*C.char)(data(templateJSON)), C.size_t(len(templateJSON)), (**C.bc_template)(unsafe.Pointer(handle)))
	})
	if err != nil {
		return nil, err
	}
	return &Template{h}, nil
}

// Close frees the template. Its parsers live on.
func (t *Template) Close() { t.handle.close() }

// Tools are the tools of a request, whose schemas give the types of arguments.
type Tools struct{ handle *handle }

// LoadTools reads a JSON list of tools, as in OpenAI's protocol.
func LoadTools(toolsJSON string) (*Tools, error) {
	h, err := newHandle(func(handle *unsafe.Pointer) C.bc_status {
		return C.bc_tools_load((*C.char)(data(toolsJSON)), C.size_t(len(toolsJSON)), (**C.bc_tools)(unsafe.Pointer(handle)))
	})
	if err != nil {
		return nil, err
	}
	return &Tools{h}, nil
}

// Close frees the tools. Parsers that were made with them live on.
func (t *Tools) Close() { t.handle.close() }

// Tokens is the text of each id of a tokenizer.
type Tokens struct{ handle *handle }

// LoadTokens reads a tokenizer.json.
func LoadTokens(tokenizerJSON string) (*Tokens, error) {
	h, err := newHandle(func(handle *unsafe.Pointer) C.bc_status {
		return C.bc_tokens_load((*C.char)(data(tokenizerJSON)), C.size_t(len(tokenizerJSON)), (**C.bc_tokens)(unsafe.Pointer(handle)))
	})
	if err != nil {
		return nil, err
	}
	return &Tokens{h}, nil
}

// Close frees the tokens. Templates that were made with them live on.
func (t *Tokens) Close() { t.handle.close() }

// Policy is how markers are recognized in ids.
type Policy uint32

const (
	// Exact recognizes a marker by its token, if the tokenizer has one.
	Exact Policy = C.BC_POLICY_EXACT
	// Either recognizes a marker by its characters, in whatever tokens.
	Either Policy = C.BC_POLICY_EITHER
)

// WithTokens is the template for parsers of ids.
func (t *Template) WithTokens(tokens *Tokens, policy Policy) (ids *Template, err error) {
	err = t.handle.concurrent(func(template unsafe.Pointer) error {
		return tokens.handle.concurrent(func(tokens unsafe.Pointer) error {
			h, err := newHandle(func(handle *unsafe.Pointer) C.bc_status {
				return C.bc_template_with_tokens((*C.bc_template)(template), (*C.bc_tokens)(tokens), C.uint32_t(policy),
					(**C.bc_template)(unsafe.Pointer(handle)))
			})
			ids = &Template{h}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// Options say how to parse. The zero value has the default of every option.
type Options struct {
	// Reference answers as transformers does for the same pieces, instead of the same however the text is cut.
	Reference bool
	// ClosersInStrings keeps a closing marker inside a JSON string as part of the string.
	ClosersInStrings bool
	// Reasoning says what becomes of reasoning.
	Reasoning Reasoning
	// Chat says whether Deltas has something, and when it delivers calls.
	Chat Chat
	// GrowCalls reports calls as they grow, with CallStart and CallArguments.
	GrowCalls bool
	// ToolsOff leaves calls in the content, as the model wrote them.
	ToolsOff bool
	// Validate checks the arguments of calls against the schemas of their tools.
	Validate bool
	Tools    *Tools
	// Recover lists recovery policies, as in "all" or "json-commas,json-python".
	Recover string
	// StopIDs end the answer of a parser of ids.
	StopIDs []uint32
	// CallIDPrefix precedes the number in new ids; "call_" if empty. A call gets a new id if the model wrote none, or one
	// that an earlier call has.
	CallIDPrefix string
}

// Reasoning says what becomes of reasoning.
type Reasoning uint32

const (
	// Kept makes reasoning a field of the message.
	Kept Reasoning = C.BC_REASONING_KEPT
	// InContent makes it part of the content, with its delimiters.
	InContent Reasoning = C.BC_REASONING_IN_CONTENT
	// Dropped leaves it out.
	Dropped Reasoning = C.BC_REASONING_DROPPED
)

// Chat says which deltas there are.
type Chat uint32

const (
	// ChatOff makes no deltas.
	ChatOff Chat = C.BC_CHAT_OFF
	// ChatGrowing delivers calls once their arguments begin as an object; other arguments once they are complete.
	ChatGrowing Chat = C.BC_CHAT_GROWING
	// ChatWhole delivers calls once they are complete.
	ChatWhole Chat = C.BC_CHAT_WHOLE
)

// Kind is the kind of an event. Skip one that you do not know: later versions may have more.
type Kind uint32

const (
	Open          Kind = C.BC_EVENT_OPEN
	Chunk         Kind = C.BC_EVENT_CHUNK
	Close         Kind = C.BC_EVENT_CLOSE
	Malformed     Kind = C.BC_EVENT_MALFORMED
	CallStart     Kind = C.BC_EVENT_CALL_START
	CallArguments Kind = C.BC_EVENT_CALL_ARGUMENTS
	Problem       Kind = C.BC_EVENT_PROBLEM
)

// Event is what happened in the text. backchat.h describes its members.
type Event struct {
	Kind  Kind
	Field string
	// Text is that of a chunk or a malformed region, the name of a call, more of its arguments, or the kind of a problem.
	Text string
	// Dirty says whether Text is the raw text of a structured value.
	Dirty bool
	// Detail is why a region is malformed, or the id of a call if the model wrote one.
	Detail string
	// Value is that of a region that ended, or the problem.
	Value json.RawMessage
	// Index is the number of the call.
	Index int
	// Start and End are the place in the parser's input, in bytes.
	Start, End int
	// Captures are the named groups of the delimiter.
	Captures map[string]string
}

// Parser reads one message.
type Parser struct {
	handle  *handle
	initial []Event
}

// Parser begins a message. prefix is the prompt up to the model's output.
func (t *Template) Parser(prefix string, options Options) (*Parser, error) {
	return t.begin(options, func(template *C.bc_template, given *C.bc_options, parser **C.bc_parser) C.bc_status {
		return C.bc_parser_new(template, (*C.char)(data(prefix)), C.size_t(len(prefix)), given, parser)
	})
}

// ParserAfterIDs begins a message after a prompt that is ids. The template is one of WithTokens.
func (t *Template) ParserAfterIDs(prompt []uint32, options Options) (*Parser, error) {
	return t.begin(options, func(template *C.bc_template, given *C.bc_options, parser **C.bc_parser) C.bc_status {
		return C.bc_parser_new_after_ids(template, ids(prompt), C.size_t(len(prompt)), given, parser)
	})
}

func ids(list []uint32) *C.uint32_t {
	if len(list) == 0 {
		return nil
	}
	return (*C.uint32_t)(unsafe.Pointer(&list[0]))
}

type newParser func(*C.bc_template, *C.bc_options, **C.bc_parser) C.bc_status

func (t *Template) begin(options Options, create newParser) (*Parser, error) {
	given := options.inC()
	defer freeInC(given)
	p := &Parser{}
	in := func(template unsafe.Pointer) (err error) {
		p.handle, err = newHandle(func(parser *unsafe.Pointer) C.bc_status {
			return create((*C.bc_template)(template), given, (**C.bc_parser)(unsafe.Pointer(parser)))
		})
		return err
	}
	err := t.handle.concurrent(func(template unsafe.Pointer) error {
		if options.Tools == nil {
			return in(template)
		}
		return options.Tools.handle.concurrent(func(tools unsafe.Pointer) error {
			given.tools = (*C.bc_tools)(tools)
			return in(template)
		})
	})
	if err != nil {
		return nil, err
	}
	p.initial, err = p.events(func(parser *C.bc_parser, events **C.events, count *C.size_t) C.bc_status {
		return C.kept(parser, events, count)
	})
	return p, err
}

// Close frees the parser. Events and deltas that it returned stay valid.
func (p *Parser) Close() { p.handle.close() }

func flag(is bool) C.uint32_t {
	if is {
		return 1
	}
	return 0
}

// inC copies the options into memory of C, because they have pointers.
func (o *Options) inC() *C.bc_options {
	given := (*C.bc_options)(C.calloc(1, C.sizeof_bc_options))
	given.size = C.sizeof_bc_options
	given.mode = flag(o.Reference)
	given.closers_in_strings = flag(o.ClosersInStrings)
	given.reasoning = C.uint32_t(o.Reasoning)
	given.chat = C.uint32_t(o.Chat)
	given.grow_calls = flag(o.GrowCalls)
	given.tools_off = flag(o.ToolsOff)
	given.validate = flag(o.Validate)
	given.recover = C.bc_text{C.CString(o.Recover), C.size_t(len(o.Recover))}
	given.call_id_prefix = C.bc_text{C.CString(o.CallIDPrefix), C.size_t(len(o.CallIDPrefix))}
	if len(o.StopIDs) > 0 {
		given.stop_ids = (*C.uint32_t)(C.calloc(C.size_t(len(o.StopIDs)), 4))
		given.stop_id_count = C.size_t(len(o.StopIDs))
		for i, id := range o.StopIDs {
			unsafe.Slice(given.stop_ids, len(o.StopIDs))[i] = C.uint32_t(id)
		}
	}
	return given
}

func freeInC(given *C.bc_options) {
	C.free(unsafe.Pointer(given.recover.data))
	C.free(unsafe.Pointer(given.call_id_prefix.data))
	C.free(unsafe.Pointer(given.stop_ids))
	C.free(unsafe.Pointer(given))
}

// Initial has the events of the prefix itself.
func (p *Parser) Initial() []Event { return p.initial }

// Feed reads more text, of whole characters, and returns its events.
func (p *Parser) Feed(piece string) ([]Event, error) {
	return p.events(func(parser *C.bc_parser, events **C.events, count *C.size_t) C.bc_status {
		return C.feed(parser, data(piece), C.size_t(len(piece)), events, count)
	})
}

// FeedIDs reads more ids and returns their events.
func (p *Parser) FeedIDs(list []uint32) ([]Event, error) {
	return p.events(func(parser *C.bc_parser, events **C.events, count *C.size_t) C.bc_status {
		return C.feed_ids(parser, ids(list), C.size_t(len(list)), events, count)
	})
}

// Finish ends the text and returns the last events. cutOff says that the engine stopped at its limit of tokens.
func (p *Parser) Finish(cutOff bool) ([]Event, error) {
	return p.events(func(parser *C.bc_parser, events **C.events, count *C.size_t) C.bc_status {
		return C.finish(parser, flag(cutOff), events, count)
	})
}

func (p *Parser) events(call func(*C.bc_parser, **C.events, *C.size_t) C.bc_status) (events []Event, err error) {
	err = p.handle.exclusive(func(parser unsafe.Pointer) error {
		var list *C.events
		var count C.size_t
		err := check(func() C.bc_status { return call((*C.bc_parser)(parser), &list, &count) })
		if err != nil || count == 0 {
			return err
		}
		events = make([]Event, count)
		for i, from := range unsafe.Slice(list, int(count)) {
			events[i] = event(from)
		}
		return nil
	})
	return events, err
}

func event(from *C.bc_event) Event {
	e := Event{
		Kind:  Kind(from.kind),
		Field: text(from.field),
		Text:  text(from.text),
		Dirty: from.dirty == 1,
		Index: int(from.index),
		Start: int(from.start),
		End:   int(from.end),
	}
	if from.detail.length > 0 {
		e.Detail = text(from.detail)
	}
	if from.value.length > 0 {
		e.Value = json.RawMessage(text(from.value))
	}
	if from.capture_count > 0 {
		e.Captures = map[string]string{}
		for _, capture := range unsafe.Slice(from.captures, int(from.capture_count)) {
			e.Captures[text(capture.name)] = text(capture.text)
		}
	}
	return e
}

// Deltas returns the deltas of an OpenAI stream that are ready, each for choices[0].delta of a chunk. The end of the text
// makes more of them ready: call it after Finish, too. It needs the option Chat.
func (p *Parser) Deltas() ([]json.RawMessage, error) {
	var deltas []json.RawMessage
	err := p.handle.exclusive(func(parser unsafe.Pointer) error {
		for {
			delta, err := answer(parser, func(parser *C.bc_parser, to *C.bc_text) C.bc_status {
				return C.bc_parser_chat_delta(parser, to)
			})
			if err != nil || delta == "" {
				return err
			}
			deltas = append(deltas, json.RawMessage(delta))
		}
	})
	return deltas, err
}

// FinishReason is that of the last chunk: stop, tool_calls or length. It needs the option Chat.
func (p *Parser) FinishReason() (string, error) {
	return p.answer(func(parser *C.bc_parser, to *C.bc_text) C.bc_status { return C.bc_parser_finish_reason(parser, to) })
}

// Message is the message: the regions that have closed so far, or all of it once it is finished.
func (p *Parser) Message() (json.RawMessage, error) {
	message, err := p.answer(func(parser *C.bc_parser, to *C.bc_text) C.bc_status { return C.bc_parser_message(parser, to) })
	return json.RawMessage(message), err
}

// Report lists what makes a finished message doubtful: missing, malformed, problems and notes.
func (p *Parser) Report() (json.RawMessage, error) {
	report, err := p.answer(func(parser *C.bc_parser, to *C.bc_text) C.bc_status { return C.bc_parser_report(parser, to) })
	return json.RawMessage(report), err
}

type query func(*C.bc_parser, *C.bc_text) C.bc_status

func (p *Parser) answer(ask query) (found string, err error) {
	err = p.handle.exclusive(func(parser unsafe.Pointer) error {
		found, err = answer(parser, ask)
		return err
	})
	return found, err
}

func answer(parser unsafe.Pointer, ask query) (string, error) {
	var found C.bc_text
	if err := check(func() C.bc_status { return ask((*C.bc_parser)(parser), &found) }); err != nil {
		return "", err
	}
	return text(found), nil
}
