// Parses an answer that arrives in pieces.
//
//   c++ -std=c++17 stream.cpp $(pkg-config --cflags --libs backchat) -o stream && ./stream
#include <backchat.hpp>

#include <iostream>

int main() {
    const backchat::response_template format(R"({
        "start_anchor": "<bot>", "defaults": {"role": "assistant"},
        "fields": {"thinking": {"open": "<think>", "close": "</think>"}, "content": {"close": "<end>"}}})");

    backchat::parser parser(format, "<user>Is it warm in Oslo?<bot><think>");
    std::string answer;
    const auto take = [&](const bc_event &event) {
        if (event.kind == BC_EVENT_CHUNK && backchat::view(event.field) == "content") answer += backchat::view(event.text);
    };
    for (const char *piece : {"I know.</th", "ink>It is", " 7 degrees.<e", "nd>"}) parser.feed(piece, take);
    parser.finish(take);
    std::cout << answer << '\n' << parser.message() << '\n';

    try {
        backchat::response_template(R"({"start_anchor": "<bot>", "fields": {"content": {"close": 7}}})");
    } catch (const backchat::error &error) {
        std::cout << error.path << '\n';
    }
    try {
        backchat::parser other(format, "<bot>");
        other.feed("Hello", [](const bc_event &) { throw std::runtime_error("stopped"); });
    } catch (const std::runtime_error &error) {
        std::cout << error.what() << '\n';
    }
}

/* Prints:
It is 7 degrees.
{"role": "assistant", "thinking": "I know.", "content": "It is 7 degrees."}
fields.content.close
stopped
*/
