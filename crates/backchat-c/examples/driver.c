/* Reads rows {"id", "template", "prefix", "text", "tools", "chunks"} from standard input, feeds each text in chunks of so
 * many code points, and writes the answers as `backchat parse --jsonl - --events` does.
 *
 *   driver [stable|reference] < rows.jsonl
 */
#include <backchat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that grows. */
typedef struct {
    char *data;
    size_t length, room;
} buffer;

static void add(buffer *to, const char *data, size_t length) {
    if (to->length + length > to->room) {
        to->room = 2 * (to->length + length);
        to->data = realloc(to->data, to->room);
        if (to->data == NULL) abort();
    }
    if (length > 0) memcpy(to->data + to->length, data, length);
    to->length += length;
}

static void add_text(buffer *to, const char *text) { add(to, text, strlen(text)); }

static void add_string(buffer *to, bc_text text) {
    add_text(to, "\"");
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        char escape[8];
        if (c == '"' || c == '\\') snprintf(escape, sizeof escape, "\\%c", c);
        else if (c < ' ') snprintf(escape, sizeof escape, "\\u%04x", c);
        else snprintf(escape, sizeof escape, "%c", c);
        add_text(to, escape);
    }
    add_text(to, "\"");
}

/* ---- JSON, as far as rows need it ---- */

static const char *space(const char *at) { return at + strspn(at, " \t\r\n"); }

static const char *after_string(const char *at) {
    for (at++; *at != '"' && *at != '\0'; at++)
        if (*at == '\\') at++;
    return at + 1;
}

static const char *after_value(const char *at) {
    int depth = 0;
    do {
        if (*at == '"') {
            at = after_string(at);
            continue;
        }
        if (*at == '{' || *at == '[') depth++;
        if (*at == '}' || *at == ']') depth--;
        at++;
        if (depth == 0 && strchr(",]} \r\n", *at) != NULL) break;
    } while (*at != '\0' && (depth > 0 || strchr(",]}", *at) == NULL));
    return at;
}

/* The value of a key of a row: where it begins and how long it is. */
static bc_text member(const char *row, const char *key) {
    for (const char *at = space(row) + 1; *(at = space(at)) == '"';) {
        const char *name = at + 1, *end = after_string(at), *value = space(space(end) + 1), *after = after_value(value);
        if ((size_t)(end - 1 - name) == strlen(key) && strncmp(name, key, strlen(key)) == 0)
            return (bc_text){value, (size_t)(after - value)};
        at = space(after) + 1;
    }
    return (bc_text){NULL, 0};
}

static int is_null(bc_text value) { return value.data == NULL || strncmp(value.data, "null", 4) == 0; }

/* The command reads an object as no tools, as transformers does; the library refuses it. */
static int has_tools(bc_text value) { return !is_null(value) && *value.data != '{'; }

static unsigned hex(const char *at) {
    char digits[5] = {at[0], at[1], at[2], at[3], '\0'};
    return (unsigned)strtoul(digits, NULL, 16);
}

static void add_code_point(buffer *to, unsigned c) {
    char bytes[4];
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char LEADS[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length; i-- > 1; c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3F));
    bytes[0] = (char)(LEADS[length] | c);
    add(to, bytes, length);
}

/* The text of a JSON string. */
static void read_string(bc_text value, buffer *to) {
    to->length = 0;
    if (is_null(value)) return;
    for (const char *at = value.data + 1, *end = value.data + value.length - 1; at < end; at++) {
        if (*at != '\\') {
            add(to, at, 1);
        } else if (*++at == 'u') {
            unsigned c = hex(at + 1);
            at += 4;
            if (c >= 0xD800 && c < 0xDC00 && at[1] == '\\' && at[2] == 'u') {
                c = 0x10000 + ((c - 0xD800) << 10) + (hex(at + 3) - 0xDC00);
                at += 6;
            }
            add_code_point(to, c);
        } else {
            static const char FROM[] = "bfnrt", TO[] = "\b\f\n\r\t";
            const char *known = strchr(FROM, *at);
            add(to, known != NULL ? &TO[known - FROM] : at, 1);
        }
    }
}

/* ---- Rows ---- */

static int32_t add_event(const bc_event *event, void *user) {
    static const char *const TYPES[] = {"region_open", "region_chunk", "region_close", "region_malformed"};
    buffer *to = user;
    if (event->kind > BC_EVENT_MALFORMED) return 0;
    if (to->data[to->length - 1] == '}') add_text(to, ", ");
    add_text(to, "{\"type\": \"");
    add_text(to, TYPES[event->kind]);
    add_text(to, "\", \"field\": ");
    add_string(to, event->field);
    if (event->kind == BC_EVENT_CHUNK || event->kind == BC_EVENT_MALFORMED) {
        add_text(to, ", \"text\": ");
        add_string(to, event->text);
    }
    if (event->kind == BC_EVENT_CHUNK) add_text(to, event->dirty ? ", \"dirty\": true" : ", \"dirty\": false");
    if (event->kind == BC_EVENT_MALFORMED) {
        add_text(to, ", \"reason\": ");
        add_string(to, event->detail);
    }
    if (event->kind == BC_EVENT_CLOSE) {
        add_text(to, ", \"value\": ");
        add(to, event->value.data, event->value.length);
    }
    add_text(to, "}");
    return 0;
}

static bc_status add_kept_events(bc_parser *parser, buffer *to) {
    const bc_event *const *events;
    size_t count;
    bc_status status = bc_parser_events(parser, &events, &count);
    for (size_t i = 0; status == BC_OK && i < count; i++) add_event(events[i], to);
    return status;
}

/* Feeds the chunks, and adds the events of each as a list. */
static bc_status feed(bc_parser *parser, const buffer *text, bc_text chunks, buffer *to) {
    const char *at = text->data, *end = at + text->length, *number = chunks.data + 1;
    for (int first = 1; *(number = space(number)) != ']'; first = 0, number += *number == ',') {
        char *after;
        unsigned long count = strtoul(number, &after, 10);
        const char *start = at;
        number = space(after);
        for (; count > 0 && at < end; count--)
            for (at++; at < end && ((unsigned char)*at & 0xC0) == 0x80;) at++;
        size_t whole = to->length;
        add_text(to, first ? "[" : ", [");
        bc_status status = bc_parser_feed(parser, start, (size_t)(at - start), add_event, to);
        if (status < 0) { /* A feed that fails has no list. */
            to->length = whole;
            return status;
        }
        add_text(to, "]");
    }
    return BC_OK;
}

static bc_status parse(const char *row, uint32_t mode, buffer *to) {
    static buffer prefix, text;
    bc_text template_json = member(row, "template"), tools_json = member(row, "tools"), answer;
    bc_template *template = NULL;
    bc_tools *tools = NULL;
    bc_parser *parser = NULL;
    bc_options options = {.size = sizeof options, .mode = mode};
    int has_prefix = !is_null(member(row, "prefix"));
    add(&prefix, "", 1); /* A buffer is never null. */
    read_string(member(row, "prefix"), &prefix);
    read_string(member(row, "text"), &text);
    bc_status status = bc_template_load(template_json.data, template_json.length, &template);
    if (status == BC_OK && has_tools(tools_json)) status = bc_tools_load(tools_json.data, tools_json.length, &tools);
    options.tools = tools;
    if (status == BC_OK) status = bc_parser_new(template, has_prefix ? prefix.data : NULL, prefix.length, &options, &parser);
    if (status == BC_OK) {
        add_text(to, ", \"initial_events\": [");
        add_kept_events(parser, to);
        add_text(to, "], \"feeds\": [");
        status = feed(parser, &text, member(row, "chunks"), to);
        add_text(to, "]");
    }
    if (status == BC_OK) {
        size_t whole = to->length;
        add_text(to, ", \"final_events\": [");
        status = bc_parser_finish(parser, 0, add_event, to);
        if (status < 0) to->length = whole;
        else add_text(to, "]");
    }
    if (status == BC_OK) {
        add_text(to, ", \"message\": ");
        status = bc_parser_message(parser, &answer);
        add(to, answer.data, answer.length);
        status = bc_parser_report(parser, &answer);
        if (answer.length > 2) {
            add_text(to, ", ");
            add(to, answer.data + 1, answer.length - 2);
        }
    } else {
        bc_error error;
        bc_last_error(&error);
        add_text(to, ", \"error\": {\"stage\": ");
        add_string(to, error.stage.length > 0 ? error.stage : (bc_text){"load", 4});
        add_text(to, ", \"message\": ");
        add_string(to, error.message);
        add_text(to, "}");
    }
    bc_free(parser);
    bc_free(tools);
    bc_free(template);
    return status;
}

int main(int count, char **arguments) {
    uint32_t mode = count > 1 && strcmp(arguments[1], "reference") == 0 ? BC_MODE_REFERENCE : BC_MODE_STABLE;
    buffer row = {0}, out = {0};
    for (int c = getchar(); c != EOF; c = getchar()) {
        if (c != '\n') {
            char byte = (char)c;
            add(&row, &byte, 1);
            continue;
        }
        add(&row, "", 1);
        bc_text id = member(row.data, "id");
        out.length = 0;
        add_text(&out, "{\"id\": ");
        add(&out, id.data, id.length);
        parse(row.data, mode, &out);
        add_text(&out, "}\n");
        fwrite(out.data, 1, out.length, stdout);
        row.length = 0;
    }
    free(row.data);
    free(out.data);
    return 0;
}
