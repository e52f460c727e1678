/* Feeds 64 KB of prose in pieces of four characters, so many times, to count the instructions of a feed.
 *
 *   feeds ROUNDS
 */
#include <backchat.h>

#include <stdlib.h>
#include <string.h>

static const char TEMPLATE[] =
    "{\"defaults\": {\"role\": \"assistant\"}, \"start_anchor\": \"<|assistant|>\", \"fields\": {"
    "\"reasoning_content\": {\"open\": \"<think>\", \"close\": \"</think>\"}, \"tool_calls\": {"
    "\"open\": \"<tool_call>\", \"close\": \"</tool_call>\", \"repeats\": true, \"content\": \"json\", \"transform\":"
    " {\"type\": \"function\", \"function\": {\"name\": \"{content.name}\", \"arguments\": \"{content.arguments}\"}}},"
    "\"content\": {\"close\": [\"<|end|>\"]}}}";
static const char PROMPT[] = "What is the weather in five cities?<|assistant|>";
static const char SENTENCE[] =
    "The user wants 5 cities; if x < 3 then I ask again, else I call the tool (see above).\n";
enum { LENGTH = 64 * 1024 };

static int32_t look(const bc_event *event, void *user) {
    *(size_t *)user += event->text.length;
    return 0;
}

int main(int count, char **arguments) {
    static char text[LENGTH];
    bc_template *template = NULL;
    size_t seen = 0;
    long rounds = count > 1 ? atol(arguments[1]) : 1;
    for (size_t i = 0; i < LENGTH; i++) text[i] = SENTENCE[i % (sizeof SENTENCE - 1)];
    if (bc_template_load(TEMPLATE, strlen(TEMPLATE), &template) != BC_OK) return 1;
    for (long round = 0; round < rounds; round++) {
        bc_parser *parser = NULL;
        if (bc_parser_new(template, PROMPT, strlen(PROMPT), NULL, &parser) != BC_OK) return 1;
        for (size_t at = 0; at < LENGTH; at += 4)
            if (bc_parser_feed(parser, text + at, 4, look, &seen) != BC_OK) return 1;
        if (bc_parser_finish(parser, 0, look, &seen) != BC_OK) return 1;
        bc_free(parser);
    }
    bc_free(template);
    return seen == (size_t)rounds * LENGTH ? 0 : 1;
}
