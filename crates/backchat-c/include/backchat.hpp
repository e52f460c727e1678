// Backchat for C++17: owners of the handles of backchat.h, and exceptions for its errors.
//
// A template, tools and tokens may be shared between threads; a parser belongs to one thread at a time. Views of texts are
// valid until the next call with the same parser.

#ifndef BACKCHAT_HPP
#define BACKCHAT_HPP

#include <backchat.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace backchat {

// A call failed. `path` is the place in the JSON that was loaded, if there is one.
class error : public std::runtime_error {
public:
    explicit error(const bc_error &from)
        : std::runtime_error(std::string(from.message.data, from.message.length)), code(from.code),
          path(from.path.data, from.path.length) {}

    const bc_status code;
    const std::string path;
};

namespace detail {

inline bc_status check(bc_status status) {
    if (status >= BC_OK) return status;
    bc_error from;
    bc_last_error(&from);
    throw error(from);
}

struct freed {
    void operator()(void *handle) const noexcept { bc_free(handle); }
};

template <class Handle> using owner = std::unique_ptr<Handle, freed>;
template <class Handle> using shared = std::shared_ptr<Handle>;

inline std::string_view view(bc_text text) { return text.length > 0 ? std::string_view(text.data, text.length) : ""; }

// Gives each event to a function, and stops if it throws: an exception must not pass through the library.
template <class Sink> struct reporter {
    Sink &sink;
    std::exception_ptr thrown;

    static int32_t report(const bc_event *event, void *user) noexcept {
        auto *self = static_cast<reporter *>(user);
        try {
            self->sink(*event);
            return 0;
        } catch (...) {
            self->thrown = std::current_exception();
            return 1;
        }
    }

    void rethrow() const {
        if (thrown) std::rethrow_exception(thrown);
    }
};

} // namespace detail

using detail::view;

class tools {
public:
    explicit tools(std::string_view json) {
        bc_tools *made = nullptr;
        detail::check(bc_tools_load(json.data(), json.size(), &made));
        handle.reset(made, detail::freed());
    }
    const bc_tools *get() const { return handle.get(); }

private:
    detail::shared<bc_tools> handle;
};

class tokens {
public:
    explicit tokens(std::string_view json) {
        bc_tokens *made = nullptr;
        detail::check(bc_tokens_load(json.data(), json.size(), &made));
        handle.reset(made, detail::freed());
    }
    const bc_tokens *get() const { return handle.get(); }

private:
    detail::shared<bc_tokens> handle;
};

// `template` is a word of C++.
class response_template {
public:
    explicit response_template(std::string_view json) {
        bc_template *made = nullptr;
        detail::check(bc_template_load(json.data(), json.size(), &made));
        handle.reset(made, detail::freed());
    }
    // The same template for the ids of a tokenizer.
    response_template(const response_template &text, const tokens &tokenizer, uint32_t policy = BC_POLICY_EXACT) {
        bc_template *made = nullptr;
        detail::check(bc_template_with_tokens(text.get(), tokenizer.get(), policy, &made));
        handle.reset(made, detail::freed());
    }
    const bc_template *get() const { return handle.get(); }

private:
    detail::shared<bc_template> handle;
};

// The options of a parser, all of them with their defaults.
inline bc_options options() {
    bc_options defaults{};
    defaults.size = sizeof defaults;
    return defaults;
}

class parser {
public:
    parser(const response_template &with, std::string_view prefix, const bc_options &how = options()) {
        bc_parser *made = nullptr;
        detail::check(bc_parser_new(with.get(), prefix.data(), prefix.size(), &how, &made));
        handle.reset(made);
    }

    // Feeds text; `sink` takes each event, a `const bc_event &`.
    template <class Sink> void feed(std::string_view text, Sink &&sink) {
        detail::reporter<Sink> to{sink, nullptr};
        detail::check(bc_parser_feed(handle.get(), text.data(), text.size(), &to.report, &to));
        to.rethrow();
    }

    template <class Sink> void feed_ids(const uint32_t *ids, size_t count, Sink &&sink) {
        detail::reporter<Sink> to{sink, nullptr};
        detail::check(bc_parser_feed_ids(handle.get(), ids, count, &to.report, &to));
        to.rethrow();
    }

    // Ends the text; `cut_off` if the engine stopped at its limit of tokens.
    template <class Sink> void finish(Sink &&sink, bool cut_off = false) {
        detail::reporter<Sink> to{sink, nullptr};
        detail::check(bc_parser_finish(handle.get(), cut_off, &to.report, &to));
        to.rethrow();
    }

    // The next delta of an OpenAI stream; empty if there is none. Needs the option `chat`.
    std::string_view chat_delta() { return answer(bc_parser_chat_delta); }
    std::string_view finish_reason() { return answer(bc_parser_finish_reason); }
    // JSON.
    std::string_view message() { return answer(bc_parser_message); }
    std::string_view report() { return answer(bc_parser_report); }

    bc_parser *get() { return handle.get(); }

private:
    std::string_view answer(bc_status (*ask)(bc_parser *, bc_text *)) {
        bc_text text;
        detail::check(ask(handle.get(), &text));
        return view(text);
    }

    detail::owner<bc_parser> handle;
};

} // namespace backchat

#endif
