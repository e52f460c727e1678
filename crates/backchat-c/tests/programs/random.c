/* Makes random calls in random order: null pointers, handles of other kinds, text that is not UTF-8, parsers that have
 * finished, callbacks that stop, that feed their own parser, and that free it. Every call must return a known status, and
 * valgrind must find nothing.
 *
 *   random CALLS [SEED]
 */
#include <backchat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

/* SplitMix64. */
static uint64_t draw(uint64_t below) {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % below;
}

static const char *const JSON[] = {
    "{\"start_anchor\": \"<bot>\", \"fields\": {\"thinking\": {\"open\": \"<t>\", \"close\": \"</t>\"},"
    " \"tool_calls\": {\"open_pattern\": \"<call (?P<name>\\\\w+)>\", \"close\": \"</call>\", \"repeats\": true,"
    " \"content\": \"json\", \"transform\": {\"type\": \"function\","
    " \"function\": {\"name\": \"{name}\", \"arguments\": \"{content}\"}}}, \"content\": {\"close\": \"<end>\"}}}",
    "{\"start_anchor\": \"<bot>\", \"fields\": {\"content\": {}}}",
    "{\"start_anchor\": \"<bot>\", \"fields\": {\"content\": {\"open_pattern\": \"(\"}}}",
    "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\":"
    " {\"properties\": {\"n\": {\"type\": \"integer\"}}}}}]",
    "{\"added_tokens\": [{\"id\": 2, \"content\": \"<t>\"}, {\"id\": 3, \"content\": \"</t>\"}],"
    " \"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"vocab\": {\"Hi\": 0, \"\xC4\xA0you\": 1, \"\xC3\x83\": 4}}}",
    "[1, {", "7", "",
};
static const char *const TEXTS[] = {
    "Hello ", "<t>", "</t>", "<call f>", "</call>", "{\"n\": \"7\", \"s\": \"x", "\"}", "<", "<bot>", "<end>", "\xC3\xA9",
    "\xF0\x9F\x9A\x86", "\xF0\x9F", "\x9A\x86", "\xED\xA0\x80", "", "a\n\n", "<call f>{\"n\": 1}</call>", "all",
    "json-commas", "no-such-policy",
};
#define PICK(list) ((list)[draw(sizeof(list) / sizeof *(list))])

/* Handles that live. */
enum { TEMPLATE, IDS, TOOLS, TOKENS, PARSER, KINDS, PLACES = 4 };
static void *handles[KINDS][PLACES];
/* What a callback works on. */
static bc_parser *fed;

/* A handle of this kind, most of the time. */
static void *any_handle(int kind) {
    static uint32_t other[8];
    switch (draw(40)) {
        case 0: return NULL;
        case 1: return other; /* Memory that is no handle. */
        case 2: return handles[draw(KINDS)][draw(PLACES)];
        default: return handles[kind][draw(PLACES)];
    }
}

static void keep(void *handle, int kind) {
    if (handle == NULL) return;
    void **place = &handles[kind][draw(PLACES)];
    if (bc_free(*place) != BC_OK) abort();
    *place = handle;
}

static size_t read_event(const bc_event *event) {
    size_t sum = event->start + event->end;
    bc_text texts[] = {event->field, event->text, event->detail, event->value};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < texts[i].length; j++) sum += (unsigned char)texts[i].data[j];
    for (size_t i = 0; i < event->capture_count; i++) sum += event->captures[i].text.length;
    return sum;
}

static int32_t callback(const bc_event *event, void *user) {
    bc_text message;
    *(size_t *)user += read_event(event);
    switch (draw(12)) {
        case 0: return 1;
        case 1: if (bc_parser_feed(fed, "x", 1, NULL, NULL) != BC_BUSY) abort(); return 0;
        case 2: if (bc_free(fed) != BC_BUSY) abort(); return 0;
        case 3: if (bc_parser_message(fed, &message) != BC_BUSY) abort(); return 0;
        default: return 0;
    }
}

static bc_options random_options(void) {
    static const uint32_t ids[] = {2, 3, 7};
    bc_options options = {.size = draw(50) == 0 ? draw(200) : sizeof options};
    if (draw(2) == 0) options.chat = (uint32_t)draw(3);
    if (draw(4) == 0) options.mode = (uint32_t)draw(3);
    if (draw(4) == 0) options.reasoning = (uint32_t)draw(4);
    if (draw(4) == 0) options.grow_calls = (uint32_t)draw(2);
    if (draw(8) == 0) options.tools_off = 1;
    if (draw(8) == 0) options.validate = 1;
    if (draw(8) == 0) options.closers_in_strings = 1;
    if (draw(3) == 0) options.tools = any_handle(TOOLS);
    if (draw(4) == 0) options.recover = (bc_text){"all", 3};
    if (draw(40) == 0) { const char *text = PICK(TEXTS); options.recover = (bc_text){text, strlen(text)}; }
    if (draw(8) == 0) { options.stop_ids = ids; options.stop_id_count = draw(4); }
    return options;
}

static bc_status random_call(size_t *sum) {
    const char *json = PICK(JSON), *text = PICK(TEXTS);
    size_t length = draw(10) == 0 && strlen(text) > 0 ? draw(strlen(text)) : strlen(text);
    uint32_t ids[3] = {(uint32_t)draw(6), (uint32_t)draw(6), (uint32_t)draw(6)};
    bc_callback how = draw(2) == 0 ? callback : NULL;
    void *made = NULL;
    bc_text answer = {NULL, 0};
    bc_options options = random_options();
    const bc_event *const *events;
    size_t count = 0;
    bc_status status;
    int kind = PARSER;
    fed = any_handle(PARSER);
    switch (draw(40)) {
        case 0:
            kind = TEMPLATE;
            status = bc_template_load(json, strlen(json), draw(50) ? (bc_template **)&made : NULL);
            break;
        case 1: kind = TOOLS; status = bc_tools_load(json, strlen(json), (bc_tools **)&made); break;
        case 2: kind = TOKENS; status = bc_tokens_load(json, strlen(json), (bc_tokens **)&made); break;
        case 3:
            kind = IDS;
            status = bc_template_with_tokens(any_handle(TEMPLATE), any_handle(TOKENS), (uint32_t)draw(3), (bc_template **)&made);
            break;
        case 4: case 5: case 6:
            status = bc_parser_new(any_handle(draw(3) ? TEMPLATE : IDS), text, length, draw(3) ? &options : NULL,
                                   (bc_parser **)&made);
            break;
        case 7: status = bc_parser_new_after_ids(any_handle(IDS), ids, draw(4), &options, (bc_parser **)&made); break;
        case 8: status = bc_parser_finish(fed, (uint32_t)draw(3), how, sum); break;
        case 9: status = bc_parser_message(fed, &answer); break;
        case 10: status = bc_parser_report(fed, draw(20) ? &answer : NULL); break;
        case 11: case 12: status = bc_parser_chat_delta(fed, &answer); break;
        case 13: status = bc_parser_finish_reason(fed, &answer); break;
        case 14: status = bc_parser_prefix_length(fed, &count); break;
        case 15:
            status = bc_parser_events(fed, &events, &count);
            for (size_t i = 0; status == BC_OK && i < count; i++) *sum += read_event(events[i]);
            break;
        case 16: case 17: status = bc_parser_feed_ids(fed, draw(20) ? ids : NULL, draw(4), how, sum); break;
        default: status = bc_parser_feed(fed, draw(20) ? text : NULL, length, how, sum); break;
    }
    for (size_t i = 0; status == BC_OK && i < answer.length; i++) *sum += (unsigned char)answer.data[i];
    if (status < 0) {
        bc_error error;
        if (bc_last_error(&error) != BC_OK || error.code != status || error.message.length == 0) abort();
        for (size_t i = 0; i < error.message.length; i++) *sum += (unsigned char)error.message.data[i];
    }
    if (status != BC_OK && made != NULL) abort(); /* A call that failed made nothing. */
    keep(made, kind);
    return status;
}

int main(int count, char **arguments) {
    unsigned long calls = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000;
    unsigned long results[12] = {0};
    size_t sum = 0;
    state = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;
    for (unsigned long i = 0; i < calls; i++) {
        bc_status status = random_call(&sum);
        if (status > BC_STOPPED || status <= BC_INTERNAL) {
            printf("call %lu returned %d\n", i, status);
            return 1;
        }
        results[1 - status]++;
    }
    for (size_t i = 0; i < KINDS * PLACES; i++)
        if (bc_free(handles[i / PLACES][i % PLACES]) != BC_OK) abort();
    for (int i = 0; i < 11; i++) printf("%3d: %lu\n", 1 - i, results[i]);
    return 0;
}
