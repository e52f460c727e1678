/* Parses an answer that arrives in pieces: shows its events, then the deltas that a chat server would send.
 *
 *   cc stream.c $(pkg-config --cflags --libs backchat) -o stream && ./stream
 */
#include <backchat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TEMPLATE[] =
    "{\"start_anchor\": \"<bot>\", \"defaults\": {\"role\": \"assistant\"},"
    " \"fields\": {"
    "  \"thinking\": {\"open\": \"<think>\", \"close\": \"</think>\"},"
    "  \"tool_calls\": {\"open\": \"<call>\", \"close\": \"</call>\", \"repeats\": true, \"content\": \"json\","
    "   \"transform\": {\"type\": \"function\","
    "    \"function\": {\"name\": \"{content.name}\", \"arguments\": \"{content.arguments}\"}}},"
    "  \"content\": {\"close\": \"<end>\"}}}";
static const char PROMPT[] = "<user>Is it warm in Oslo?<bot><think>";
static const char *const PIECES[] = {"I ask.</th", "ink>Let me see.<call>{\"name\": \"weather\", \"argu",
                                     "ments\": {\"city\": \"Os", "lo\"}}</call>", "<end>"};
enum { COUNT = sizeof PIECES / sizeof *PIECES };

/* Ends the program if a call failed. */
static void check(bc_status status) {
    if (status < 0) {
        bc_error error;
        bc_last_error(&error);
        fprintf(stderr, "%.*s\n", (int)error.message.length, error.message.data);
        exit(1);
    }
}

static int32_t show(const bc_event *event, void *user) {
    static const char *const KINDS[] = {"open", "chunk", "close", "malformed", "call", "arguments", "problem"};
    (void)user;
    if (event->kind < sizeof KINDS / sizeof *KINDS) { /* A later version may have more. */
        bc_text text = event->kind == BC_EVENT_CLOSE ? event->value : event->text;
        printf("%-5s %.*s %.*s\n", KINDS[event->kind], (int)event->field.length, event->field.data, (int)text.length,
               text.length > 0 ? text.data : "");
    }
    return 0;
}

/* Prints the deltas that are ready. */
static void send(bc_parser *parser) {
    bc_text delta;
    for (check(bc_parser_chat_delta(parser, &delta)); delta.length > 0; check(bc_parser_chat_delta(parser, &delta)))
        printf("%.*s\n", (int)delta.length, delta.data);
}

int main(void) {
    bc_template *template = NULL;
    bc_parser *parser = NULL;
    bc_text text;
    check(bc_template_load(TEMPLATE, strlen(TEMPLATE), &template));

    check(bc_parser_new(template, PROMPT, strlen(PROMPT), NULL, &parser));
    for (size_t i = 0; i < COUNT; i++)
        check(bc_parser_feed(parser, PIECES[i], strlen(PIECES[i]), show, NULL));
    check(bc_parser_finish(parser, 0, show, NULL));
    check(bc_parser_message(parser, &text));
    printf("%.*s\n\n", (int)text.length, text.data);
    bc_free(parser);

    bc_options options = {.size = sizeof options, .chat = BC_CHAT_GROWING};
    check(bc_parser_new(template, PROMPT, strlen(PROMPT), &options, &parser));
    for (size_t i = 0; i < COUNT; i++) {
        check(bc_parser_feed(parser, PIECES[i], strlen(PIECES[i]), NULL, NULL));
        send(parser);
    }
    check(bc_parser_finish(parser, 0, NULL, NULL));
    send(parser);
    check(bc_parser_finish_reason(parser, &text));
    printf("%.*s\n", (int)text.length, text.data);
    bc_free(parser);
    bc_free(template);
    return 0;
}
