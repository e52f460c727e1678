//! What the names of Jinja2 and transformers mean, in one line each, and where transformers departs from Jinja2.

use backchat_chat::ValueKind;

/// A name, its signature, and what it does.
pub type Word = (&'static str, &'static str, &'static str);

/// The variables that transformers passes.
pub const GIVEN: &[(&str, &str)] = &[
    ("messages", "the conversation: a list of messages, each with `role` and `content`"),
    ("tools", "the definitions of tools, as JSON schemas of functions; undefined or none without tools"),
    ("documents", "documents to answer from; none without any"),
    ("add_generation_prompt", "whether the render ends with the prompt for the assistant's turn"),
    ("bos_token", "the token that begins a sequence"),
    ("eos_token", "the token that ends a sequence"),
    ("unk_token", "the token for unknown text"),
    ("sep_token", "the token between sequences"),
    ("pad_token", "the token that fills a batch"),
    ("cls_token", "the token for classification"),
    ("mask_token", "the token that hides text"),
    ("additional_special_tokens", "further special tokens of the tokenizer"),
];

/// The functions of every template.
pub const FUNCTIONS: &[Word] = &[
    ("cycler", "cycler(*items)", "gives one item after another with `next()`"),
    ("dict", "dict(**items)", "a dictionary"),
    ("joiner", "joiner(sep=', ')", "gives nothing when it is first called, and the separator after that"),
    ("namespace", "namespace(**attributes)", "an object whose attributes can be set in inner scopes, such as loops"),
    (
        "raise_exception",
        "raise_exception(message)",
        "refuses the conversation: the render fails with the message; added by transformers",
    ),
    ("range", "range(start=0, stop, step=1)", "numbers from the start up to the stop"),
    ("strftime_now", "strftime_now(format)", "the local time in a format; added by transformers"),
];

/// The filters.
pub const FILTERS: &[Word] = &[
    ("abs", "abs", "the absolute value of a number"),
    ("attr", "attr(name)", "an attribute of an object, never a key"),
    ("batch", "batch(linecount, fill_with=none)", "lists of that many items each"),
    ("capitalize", "capitalize", "the first letter in upper case, the others in lower case"),
    ("center", "center(width=80)", "the text in the middle of a line of that width"),
    ("count", "count", "the number of items or characters"),
    ("d", "d(default_value='', boolean=false)", "the value, or another one if it is undefined"),
    (
        "default",
        "default(default_value='', boolean=false)",
        "the value, or another one if it is undefined; with `true` also if it is false",
    ),
    ("dictsort", "dictsort(case_sensitive=false, by='key', reverse=false)", "the pairs of a dictionary in order"),
    ("e", "e", "the text with HTML's special characters escaped"),
    ("escape", "escape", "the text with HTML's special characters escaped"),
    ("filesizeformat", "filesizeformat(binary=false)", "a number of bytes in words"),
    ("first", "first", "the first item"),
    ("float", "float(default=0.0)", "the value as a number with a fraction"),
    ("forceescape", "forceescape", "the text escaped, even if it is marked as safe"),
    ("format", "format(*args, **kwargs)", "the text as a format of Python's `%`"),
    ("groupby", "groupby(attribute, default=none, case_sensitive=false)", "groups of items with the same attribute"),
    ("indent", "indent(width=4, first=false, blank=false)", "the text with indented lines"),
    ("int", "int(default=0, base=10)", "the value as a whole number"),
    ("items", "items", "the pairs of a dictionary"),
    ("join", "join(d='', attribute=none)", "the items as one text with a separator"),
    ("last", "last", "the last item"),
    ("length", "length", "the number of items or characters"),
    ("list", "list", "a list of the items"),
    ("lower", "lower", "the text in lower case"),
    ("map", "map(filter, *args) or map(attribute=name)", "each item passed through a filter, or an attribute of each"),
    ("max", "max(case_sensitive=false, attribute=none)", "the largest item"),
    ("min", "min(case_sensitive=false, attribute=none)", "the smallest item"),
    ("pprint", "pprint", "the value as Python prints it over several lines"),
    ("random", "random", "one of the items"),
    ("reject", "reject(test, *args)", "the items that do not pass a test"),
    ("rejectattr", "rejectattr(attribute, test, *args)", "the items whose attribute does not pass a test"),
    ("replace", "replace(old, new, count=none)", "the text with one part replaced by another"),
    ("reverse", "reverse", "the items or characters from the last to the first"),
    ("round", "round(precision=0, method='common')", "a rounded number"),
    ("safe", "safe", "the text, marked as needing no escapes"),
    ("select", "select(test, *args)", "the items that pass a test"),
    ("selectattr", "selectattr(attribute, test, *args)", "the items whose attribute passes a test"),
    ("slice", "slice(slices, fill_with=none)", "the items in that many lists"),
    ("sort", "sort(reverse=false, case_sensitive=false, attribute=none)", "the items in order"),
    ("string", "string", "the value as text"),
    ("striptags", "striptags", "the text without HTML's tags"),
    ("sum", "sum(attribute=none, start=0)", "the sum of the items"),
    ("title", "title", "the text with every word capitalized"),
    (
        "tojson",
        "tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)",
        "the value as JSON; transformers replaces Jinja2's: it escapes no HTML, keeps the order of keys and letters outside ASCII",
    ),
    ("trim", "trim(chars=none)", "the text without white space at its ends"),
    ("truncate", "truncate(length=255, killwords=false, end='...', leeway=none)", "the text cut to a length"),
    ("unique", "unique(case_sensitive=false, attribute=none)", "the items without duplicates"),
    ("upper", "upper", "the text in upper case"),
    ("urlencode", "urlencode", "the text as a part of a URL"),
    ("urlize", "urlize", "links for web pages; not supported here"),
    ("wordcount", "wordcount", "the number of words"),
    ("wordwrap", "wordwrap(width=79, break_long_words=true, wrapstring=none)", "the text in lines of that width"),
    ("xmlattr", "xmlattr(autospace=true)", "a dictionary as attributes of XML"),
];

/// The tests.
pub const TESTS: &[Word] = &[
    ("boolean", "is boolean", "whether the value is true or false itself"),
    ("callable", "is callable", "whether the value can be called"),
    ("defined", "is defined", "whether the variable or key is there"),
    ("divisibleby", "is divisibleby(num)", "whether a number is a multiple"),
    ("eq", "is eq(other)", "whether both are equal"),
    ("equalto", "is equalto(other)", "whether both are equal"),
    ("escaped", "is escaped", "whether the text is marked as escaped"),
    ("even", "is even", "whether a number is even"),
    ("false", "is false", "whether the value is `false`"),
    ("filter", "is filter", "whether there is a filter with this name"),
    ("float", "is float", "whether the value is a number with a fraction"),
    ("ge", "is ge(other)", "whether it is greater or equal"),
    ("greaterthan", "is greaterthan(other)", "whether it is greater"),
    ("gt", "is gt(other)", "whether it is greater"),
    ("in", "is in(sequence)", "whether a sequence has the value"),
    ("integer", "is integer", "whether the value is a whole number"),
    ("iterable", "is iterable", "whether a loop can run over the value; a text is iterable"),
    ("le", "is le(other)", "whether it is less or equal"),
    ("lessthan", "is lessthan(other)", "whether it is less"),
    ("lower", "is lower", "whether the text is in lower case"),
    ("lt", "is lt(other)", "whether it is less"),
    ("mapping", "is mapping", "whether the value is a dictionary"),
    ("ne", "is ne(other)", "whether the two differ"),
    ("none", "is none", "whether the value is `none`"),
    ("number", "is number", "whether the value is a number"),
    ("odd", "is odd", "whether a number is odd"),
    ("sameas", "is sameas(other)", "whether both are the same object"),
    ("sequence", "is sequence", "whether the value has a length and items; a text and a dictionary have"),
    ("string", "is string", "whether the value is a text"),
    ("test", "is test", "whether there is a test with this name"),
    ("true", "is true", "whether the value is `true`"),
    ("undefined", "is undefined", "whether the variable or key is missing"),
    ("upper", "is upper", "whether the text is in upper case"),
];

/// The tags.
pub const TAGS: &[Word] = &[
    ("autoescape", "{% autoescape true %}…{% endautoescape %}", "escapes HTML inside"),
    ("block", "{% block name %}…{% endblock %}", "a part that `self.name()` prints again"),
    ("break", "{% break %}", "leaves the loop; an extension that transformers loads"),
    ("call", "{% call macro(…) %}…{% endcall %}", "calls a macro, which prints the body with `caller()`"),
    ("continue", "{% continue %}", "goes on with the next item; an extension that transformers loads"),
    ("elif", "{% elif test %}", "another branch of an `if`"),
    ("else", "{% else %}", "what is done if no branch is taken, or if a loop has no items"),
    ("extends", "{% extends … %}", "not possible: a chat template is alone"),
    ("filter", "{% filter name %}…{% endfilter %}", "passes what is printed inside through a filter"),
    ("for", "{% for item in items %}…{% endfor %}", "a loop, with names of its own"),
    ("from", "{% from … %}", "not possible: a chat template is alone"),
    (
        "generation",
        "{% generation %}…{% endgeneration %}",
        "marks what the assistant writes, for training; added by transformers",
    ),
    ("if", "{% if test %}…{% endif %}", "a condition"),
    ("import", "{% import … %}", "not possible: a chat template is alone"),
    ("include", "{% include … %}", "not possible: a chat template is alone"),
    ("macro", "{% macro name(…) %}…{% endmacro %}", "a function that prints"),
    ("print", "{% print value %}", "prints values"),
    ("raw", "{% raw %}…{% endraw %}", "text without tags"),
    ("set", "{% set name = value %}", "gives a name a value in this scope"),
    ("with", "{% with name = value %}…{% endwith %}", "names for the body alone"),
];

/// The tags that need an end.
pub const BLOCKS: &[&str] =
    &["autoescape", "block", "call", "filter", "for", "generation", "if", "macro", "set", "with"];

/// The row of a name.
pub fn find(words: &'static [Word], name: &str) -> Option<&'static Word> {
    words.iter().find(|(known, ..)| *known == name)
}

/// The keys of a value, each with what it holds.
pub fn keys(kind: ValueKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        ValueKind::Message => &[
            ("role", "who speaks: system, user, assistant, tool"),
            ("content", "what is said: a text, or a list of parts"),
            ("tool_calls", "the calls of an assistant's message"),
            ("reasoning_content", "the reasoning of an assistant's message"),
            ("reasoning", "the reasoning, under another name"),
            ("thinking", "the reasoning, under another name"),
            ("name", "the name of the function whose result this is"),
            ("tool_call_id", "the id of the call whose result this is"),
            ("function_call", "the call of an assistant's message, before there were several"),
        ],
        ValueKind::Part => &[
            ("type", "text, image, video, audio"),
            ("text", "the text of the part"),
            ("image", "an image"),
            ("image_url", "the address of an image"),
            ("video", "a video"),
            ("audio", "an audio recording"),
        ],
        ValueKind::Call => &[
            ("type", "function"),
            ("id", "the id of the call"),
            ("function", "the function that is called: `name` and `arguments`"),
            ("name", "the name, in templates that take a function for a call"),
            ("arguments", "the arguments, in templates that take a function for a call"),
        ],
        ValueKind::Function => {
            &[("name", "the name of the function"), ("arguments", "its arguments: an object, or JSON text")]
        }
        ValueKind::Tool => &[
            ("type", "function"),
            ("function", "the function: its name and its schema"),
            ("name", "the name, in templates that take a function for a tool"),
            ("description", "what it does, in templates that take a function for a tool"),
            ("parameters", "the JSON schema of its arguments, in templates that take a function for a tool"),
        ],
        ValueKind::Definition => &[
            ("name", "the name of the function"),
            ("description", "what it does"),
            ("parameters", "the JSON schema of its arguments"),
            ("return", "the JSON schema of its result"),
            ("strict", "whether arguments must follow the schema"),
        ],
        ValueKind::Schema => &[
            ("type", "the type of the value: string, integer, number, boolean, array, object"),
            ("description", "what it is"),
            ("properties", "the members of an object, each with its schema"),
            ("required", "the names of the members that must be there"),
            ("items", "the schema of the items of an array"),
            ("enum", "the values that it may have"),
            ("default", "the value if none is given"),
            ("additionalProperties", "whether an object may have other members, or their schema"),
        ],
        ValueKind::Loop => &[
            ("index", "the number of the iteration, from 1"),
            ("index0", "the number of the iteration, from 0"),
            ("revindex", "how many iterations are left, with this one"),
            ("revindex0", "how many iterations are left"),
            ("first", "whether it is the first iteration"),
            ("last", "whether it is the last iteration"),
            ("length", "the number of items"),
            ("previtem", "the item before; undefined in the first iteration"),
            ("nextitem", "the item after; undefined in the last iteration"),
            ("depth", "how deep a recursive loop is, from 1"),
            ("depth0", "how deep a recursive loop is, from 0"),
            ("cycle", "one of some values after another"),
            ("changed", "whether a value differs from that of the last iteration"),
        ],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_a_template_can_use_is_explained() {
        let missing = |known: &mut dyn Iterator<Item = &'static str>, words: &'static [Word]| {
            known.filter(|name| find(words, name).is_none()).collect::<Vec<_>>()
        };
        assert_eq!(missing(&mut backchat_chat::filter_names(), FILTERS), [""; 0]);
        assert_eq!(missing(&mut backchat_chat::test_names(), TESTS), [""; 0]);
        assert_eq!(missing(&mut backchat_chat::function_names(), FUNCTIONS), [""; 0]);
        assert_eq!(missing(&mut backchat_chat::tag_names().iter().copied(), TAGS), [""; 0]);
    }

    #[test]
    fn every_key_that_a_value_has_is_explained() {
        for kind in ValueKind::ALL_BUT_NAMESPACES {
            let known = kind.keys().map_or(&[][..], |(_, keys)| keys);
            let missing: Vec<&&str> =
                known.iter().filter(|key| !keys(kind).iter().any(|(name, _)| name == *key)).collect();
            assert!(missing.is_empty(), "{kind:?}: {missing:?}");
        }
    }
}
