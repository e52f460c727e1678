//! The content parser of a region with the arguments of a call.

use super::choices::{Choices, Quotes};
use super::pattern::{any_of, escape, spaced, word_before};
use crate::wire::marks::Segmentation;
use crate::wire::structure::{Arguments, Cut, Encoding, KEY_AGAIN, Pairs, Typed};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::template::TAGGED;

/// A member of a JSON object, as a tag.
pub(in crate::derive) const MEMBER: &str = "\"(?P<key>(?:[^\"\\\\]|\\\\.)*)\"\\s*:\\s*(?P<value>\"(?:[^\"\\\\]|\\\\.)*\"|(?P<nested>[\\[{](?:[^\\[\\]{}\"]|\"(?:[^\"\\\\]|\\\\.)*\"|(?&nested))*[\\]}])|[^\\s,{}\\[\\]\"]+)";

/// Alternatives for the JSON values that are neither strings nor containers.
const JSON_OTHERS: &str = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|";

/// A string of JSON.
pub(in crate::derive) const JSON_STRING: &str = r#""(?:[^"\\]|\\.)*""#;

/// A list or an object, up to a closing bracket outside of its strings. What must follow a value decides which one.
const JSON_CONTAINER: &str = r#"[\[{](?:[^"]|"(?:[^"\\]|\\.)*")*?[\]}]"#;

/// The same with all of its inner brackets closed, where its members look like the arguments themselves.
const JSON_NESTED: &str = r#"(?P<nested>[\[{](?:[^\[\]{}"]|"(?:[^"\\]|\\.)*"|(?&nested))*[\]}])"#;

/// Writes `content` and its arguments; an object may be missing if `is_optional`.
pub(super) fn content(
    (segmentation, choices): (Segmentation, &Choices),
    field: &mut Object,
    arguments: &Arguments,
    is_optional: bool,
) {
    let (unquoted_keys, delimiters) = match arguments {
        // Of nothing, a pattern reads no arguments.
        Arguments::Json if is_optional => return members(field),
        Arguments::Json | Arguments::JsonText => (false, Vec::new()),
        Arguments::Python => (false, vec![pair("'", "'")]),
        Arguments::Dialect { unquoted_keys, quotes, null } => {
            let quotes = quotes.as_ref().map(|(open, close)| pair(open, close));
            // Another word for null loses the call, unless it opens a string that ends at once. The reference looks for it
            // after it has set other strings apart.
            let null = null.as_ref().map(|word| pair(word, ""));
            (*unquoted_keys, quotes.into_iter().chain(null).collect())
        }
        Arguments::Pairs(pairs) => return inline((segmentation, choices), field, pairs),
    };
    let flags = [("unquoted_keys", unquoted_keys), ("allow_non_json", is_optional)];
    let mut args: Object =
        flags.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| (key.to_owned(), true.into())).collect();
    if !delimiters.is_empty() {
        args.insert("string_delims", Value::List(delimiters));
    }
    field.insert("content", "json".into());
    if !args.is_empty() {
        field.insert("content_args", Value::Object(args));
    }
}

/// The members of a JSON object, if there is one.
fn members(field: &mut Object) {
    let parser = Value::from([("name", "json".into()), ("args", Value::Object(Object::new()))]);
    field.insert("content", TAGGED.into());
    let args = Value::from([("tag_pattern", MEMBER.into()), ("value_parser", parser)]);
    field.insert("content_args", args);
}

fn pair(open: &str, close: &str) -> Value {
    Value::List(vec![open.into(), close.into()])
}

/// Arguments key by key: a pattern for each form.
fn inline((segmentation, choices): (Segmentation, &Choices), field: &mut Object, pairs: &Pairs) {
    let (start, quotes) = (start(pairs), choices.quotes);
    let end = |pairs: &Pairs| {
        let exact = if choices.exact_space { exact_line_end(pairs, &start) } else { None };
        exact.unwrap_or_else(|| end_before(segmentation, pairs, &start))
    };
    let pattern = |pairs: &Pairs| argument(pairs, &end(pairs), quotes);
    let is_typed = quotes != Quotes::Untyped && pairs.values.strings != Encoding::Bare;
    let mut strings: Vec<Value> = Vec::new();
    let mut patterns: Vec<String> = Vec::new();
    for form in &pairs.forms {
        if form.is_null {
            // A group that does not take part in a match is null, which no parser of values takes.
            let (open, _, gap) = key(&form.of(pairs));
            let value = match form.close.as_str() {
                "" if is_typed => "(?P<value>)".to_owned(),
                "" => String::new(),
                // The name of a tag is no other value: that would take every tag for one.
                close => format!("(?P<value>null){}", escape(close)),
            };
            patterns.push(format!("{open}(?P<key>[\\w.-]+){gap}{value}"));
            continue;
        }
        // A text between marks on lines of their own, which JSON cannot contain, is told from JSON by these marks.
        let lines = form.lines().filter(|_| is_typed);
        let around = lines.as_ref().map_or(form, |(around, _)| around);
        let pattern = pattern(&around.of(pairs));
        patterns.push(match &lines {
            Some((_, (open, close))) => {
                strings.push(pair(open, close));
                let value = format!("(?P<value>{}.*?{})", escape(open), escape(close));
                pattern.replacen("(?P<value>.*?)", &value, 1)
            }
            None => pattern,
        });
    }
    patterns.push(pattern(pairs));
    let mut args = Object::from([("tag_pattern".to_owned(), patterns.join("|").into())]);
    if is_typed {
        if let Encoding::Quoted { open, close, .. } = &pairs.values.strings {
            strings.push(pair(open, close));
        }
        let mut parser = Object::new();
        if !strings.is_empty() {
            parser.insert("string_delims", Value::List(strings));
        }
        if pairs.has_bare_inner_keys() {
            parser.insert("unquoted_keys", true.into());
        }
        parser.insert("allow_non_json", true.into());
        let value = Value::from([("name", "json".into()), ("args", Value::Object(parser))]);
        args.insert("value_parser", value);
    }
    field.insert("content", TAGGED.into());
    field.insert("content_args", Value::Object(args));
}

/// The pattern of an argument in its usual form whose value ends like this.
fn argument(pairs: &Pairs, end: &str, quotes: Quotes) -> String {
    let cut = &pairs.cut;
    let (open, word, gap) = key(pairs);
    let key = format!("{open}(?P<key>{word}+)");
    let value = match &pairs.values.strings {
        Encoding::Quoted { open, close, .. } if quotes == Quotes::Untyped => {
            format!("(?:{}(?P<value>.*?){}|(?P<value>{JSON_CONTAINER}|.*?))", escape(open), escape(close))
        }
        Encoding::Quoted { open, close, .. } if open == close && open.len() == 1 && cut.close.trim().is_empty() => {
            match quotes {
                Quotes::Guarded => quoted(open, end),
                Quotes::Plain | Quotes::Untyped => plainly_quoted(open, end),
            }
        }
        Encoding::Json => {
            // If nothing separates it from the next key, a number ends with its last digit, not where a key could
            // begin.
            let is_parted = !cut.close.is_empty() || !cut.separator.is_empty() || !cut.open.is_empty();
            let others = if is_parted { "" } else { JSON_OTHERS };
            // A value that ends where the text after it looks right may contain such text.
            let is_member = cut.open.trim_start_matches(|c: char| c == ',' || c.is_whitespace()) == "\"";
            let has_alike = is_member || pairs.has_bare_inner_keys();
            let container = match (end.contains("(?="), has_alike) {
                (true, true) => format!("{JSON_NESTED}|"),
                (true, false) => format!("{JSON_CONTAINER}|"),
                (false, _) => String::new(),
            };
            format!("(?P<value>{JSON_STRING}|{container}{others}.*?)")
        }
        Encoding::Quoted { open, close, .. } if open.len() > 1 => {
            // What follows a text may also stand in it.
            format!("(?P<value>{}.*?{}|.*?)", escape(open), escape(close))
        }
        _ => match &pairs.values.frame {
            Some((open, close)) => {
                let (open, close) = (escape(open), escape(close));
                format!("(?:{open})?(?P<value>.*?)(?:{close})?")
            }
            None => "(?P<value>.*?)".to_owned(),
        },
    };
    format!("{key}{gap}{value}{}", if value.contains(end) { "" } else { end })
}

/// Patterns for the text before a key, one of its characters, and the text from it to the value.
fn key(pairs: &Pairs) -> (String, String, String) {
    let open = spaced(pairs.cut.open.trim_start());
    let (gap, key_end) = gap(pairs);
    (open, key_word(pairs, &key_end), gap)
}

/// One character of a key that ends before this text.
pub(super) fn key_word(pairs: &Pairs, key_end: &str) -> String {
    // Without a mark before it, a key is a word: after a comma alone, an object in a list looks like one. JSON has no line
    // break as such: on lines of their own, keys may have any signs.
    let is_bare = pairs.cut.open.trim().trim_matches([',', ';']).is_empty();
    if is_bare && !is_line(pairs) { "[\\w.-]".to_owned() } else { word_before(key_end) }
}

/// Whether each argument is JSON on a line of its own.
fn is_line(pairs: &Pairs) -> bool {
    let Cut { open, close, separator, .. } = &pairs.cut;
    let between = format!("{close}{separator}{open}");
    let last = between.trim_end_matches([' ', '\t']);
    pairs.values.strings == Encoding::Json && last.ends_with('\n') && !pairs.gap.trim().is_empty()
}

/// A whole string of these arguments or a character outside of strings, as a pattern.
pub(super) fn string_or_other(pairs: &Pairs) -> String {
    match pairs.values.strings == Encoding::Json && !pairs.values.python {
        true => format!("(?:[^\"\\\\]|{JSON_STRING})"),
        // Python writes either quote.
        false => format!("(?:[^\"'\\\\]|{JSON_STRING}|{})", r"'(?:[^'\\]|\\.)*'"),
    }
}

/// The pattern that ends a value of the usual form.
pub fn value_end(segmentation: Segmentation, pairs: &Pairs) -> String {
    end_before(segmentation, pairs, &start(pairs))
}

/// The beginning of an argument in any of its forms, up to the value.
pub(super) fn start(pairs: &Pairs) -> String {
    let starts = pairs.forms.iter().map(|form| key(&form.of(pairs))).chain([key(pairs)]);
    any_of(starts.map(|(open, word, gap)| format!("{open}{word}+{gap}")))
}

/// The pattern that ends a bare value of a line, if nothing but the line break does: white space before it is the value's.
fn exact_line_end(pairs: &Pairs, start: &str) -> Option<String> {
    let Cut { open, close, separator, .. } = &pairs.cut;
    let lead = slice(open, ..open.len() - open.trim_start().len());
    let between = format!("{close}{separator}{lead}");
    let is_line = between == "\n" && pairs.values.strings == Encoding::Bare;
    let last = if close.is_empty() { "" } else { "\\n?" };
    is_line.then(|| format!("(?=\\n{start}|{last}\\Z)"))
}

/// The pattern that ends a value before an argument that begins like this.
fn end_before(segmentation: Segmentation, pairs: &Pairs, start: &str) -> String {
    let cut = &pairs.cut;
    let close = match pairs.key_again {
        true => cut.close.split(KEY_AGAIN).map(framed).collect::<Vec<_>>().join("(?P=key)"),
        false => framed(&cut.close),
    };
    // Without a close, a value ends where the next key begins, or with the region.
    let between = format!("{}{}", cut.close, cut.separator);
    let between = match (between.trim(), between.contains('\n')) {
        ("", true) => "\\s*\\n\\s*".to_owned(),
        ("", false) => escape(&between),
        // White space before the sign belongs to a value without marks of its own.
        (sign, _) if pairs.values.strings == Encoding::Bare && between.starts_with(sign) => {
            format!("{}\\s*", escape(sign))
        }
        (sign, _) => format!("\\s*{}\\s*", escape(sign)),
    };
    // White space that opens the next argument is not part of this value.
    let lead = match slice(&cut.open, ..cut.open.len() - cut.open.trim_start().len()) {
        space if space.contains('\n') => "\\s*\\n\\s*".to_owned(),
        space => escape(space),
    };
    let next = format!("{between}{lead}{start}");
    match (cut.close.trim().is_empty(), pairs.key_again || segmentation.is_distinctive(&cut.close)) {
        (true, _) => format!("(?={next}|\\s*\\Z)"),
        (false, false) => {
            // The close has been matched: only the text between two arguments is left.
            let separator = match cut.separator.trim() {
                "" => "\\s*".to_owned(),
                sign => format!("\\s*{}\\s*", escape(sign)),
            };
            format!("{close}(?={}|\\s*\\Z)", next.replacen(&between, &separator, 1))
        }
        (false, true) => close,
    }
}

/// A value that may be in quotes. A string without quotes or escapes inside keeps its quotes, to tell it from a number;
/// others lose them and are read unchanged.
fn quoted(quote: &str, end: &str) -> String {
    let q = escape(quote);
    let simple = format!("{q}[^{q}\\\\]*{q}{end}");
    if quote == "\"" {
        let nested = format!("{JSON_CONTAINER}{end}");
        return format!("(?:(?!{simple}){q})?(?P<value>{simple}|{nested}|.*?(?={q}?{end}))");
    }
    let nested = format!("[\\[{{].*?[\\]}}]{end}");
    // Models also write JSON's quotes: these are removed in the same way.
    let around = format!("\"[^\"\\\\]*{q}[^\"\\\\]*\"{end}");
    let other = format!("(?<=\")[^\"\\\\]*(?=\"{end})|{JSON_STRING}{end}");
    format!("(?:(?={around})\"|(?!{simple}){q})?(?P<value>{other}|{simple}|{nested}|.*?(?={q}?{end}))")
}

/// As [`quoted`], without look-arounds but that at the end: the simplest reading comes first, and a value that begins with
/// a quote keeps it only there.
fn plainly_quoted(quote: &str, end: &str) -> String {
    let q = escape(quote);
    let json = if quote == "\"" { "" } else { "\"[^\"\\\\]*\"|" };
    let other = if quote == "\"" { "[^\"].*?".to_owned() } else { format!("\"?[^{q}\"].*?") };
    format!("{q}??(?P<value>{q}[^{q}\\\\]*{q}|{json}[\\[{{].*?[\\]}}]|{other}){q}?{end}")
}

/// The pattern from key to value, and the text that ends the key.
fn gap(pairs: &Pairs) -> (String, String) {
    match &pairs.values.typed {
        None => (framed(&pairs.gap), pairs.gap.clone()),
        Some(typed) => {
            let word = typed_word(typed);
            (format!("{}{word}*{}", escape(&typed.prefix), framed(&typed.suffix)), typed.prefix.clone())
        }
    }
}

/// One character of the word that names a type. Several words, as of an attribute, have white space between them.
fn typed_word(typed: &Typed) -> String {
    let word = word_before(&typed.suffix);
    if typed.has_space { word.replace("\\s", "") } else { word }
}

/// The text from the first key of a call to the value, as a pattern without white space around it.
pub(super) fn first_gap(pairs: &Pairs) -> String {
    match &pairs.values.typed {
        None => escape(pairs.gap.trim()),
        Some(typed) => {
            format!("{}{}*{}", escape(typed.prefix.trim_start()), typed_word(typed), escape(typed.suffix.trim()))
        }
    }
}

/// A text next to a value: a lone line break between them is optional, an indent is that of renders, and other white space belongs
/// to the value.
fn framed(text: &str) -> String {
    let inner = text.trim();
    if inner.is_empty() {
        return escape(text);
    }
    let lead = slice(text, ..text.len() - text.trim_start().len());
    let tail = slice(text, text.trim_end().len()..);
    // Without its indent, a line of a text would be a key and its value.
    let space = |text: &str| if text == "\n" { "\\n?".to_owned() } else { escape(text) };
    format!("{}{}{}", space(lead), spaced(inner), space(tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{object, pairs, read, value};
    use crate::targets::{Reader, Role};
    use crate::wire::structure::{PairForm, Typed, Values};

    /// The arguments that the compiled parser reads in a call's body.
    fn arguments(written: &Arguments, body: &str) -> Value {
        arguments_in(Quotes::Guarded, written, body)
    }

    fn arguments_in(quotes: Quotes, written: &Arguments, body: &str) -> Value {
        arguments_under(&Choices { quotes, ..Choices::default() }, written, body)
    }

    fn arguments_under(choices: &Choices, written: &Arguments, body: &str) -> Value {
        arguments_by(|field| content((Segmentation::Words, choices), field, written, false), body)
    }

    fn arguments_by(write: impl FnOnce(&mut Object), body: &str) -> Value {
        let mut field = object(
            r#"{"open_pattern": "<call (?P<name>\\w+)>", "close": "</call>",
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}"#,
        );
        write(&mut field);
        let fields = Value::from([("tool_calls", Value::Object(field)), ("content", value("{}"))]);
        let message = read(
            &Value::from([("start_anchor", "<bot>".into()), ("fields", fields)]),
            &format!("<call f>{body}</call>"),
        );
        let call = message.get("tool_calls").unwrap_or_else(|| panic!("{message}"));
        call.get("function").unwrap().get("arguments").unwrap().clone()
    }

    fn quoted(open: &str) -> Encoding {
        Encoding::Quoted { open: open.to_owned(), close: open.to_owned(), escaped: false }
    }

    #[test]
    fn one_object_is_read_in_its_dialect() {
        let quotes = |text: &str| Some((text.to_owned(), text.to_owned()));
        let dialect = |quotes, null: Option<&str>| Arguments::Dialect {
            unquoted_keys: true,
            quotes,
            null: null.map(str::to_owned),
        };
        let table = [
            (Arguments::Json, r#"{"a": "x", "b": [1]}"#, r#"{"a": "x", "b": [1]}"#),
            (Arguments::Python, "{'a': 'x', 'b': 5}", r#"{"a": "x", "b": 5}"#),
            (dialect(None, None), r#"{a: "x"}"#, r#"{"a": "x"}"#),
            (dialect(quotes("<|q|>"), None), "{a: <|q|>x<|q|>}", r#"{"a": "x"}"#),
            // Another word for null is read as an empty text, and the call is kept; inside of strings it is text.
            (
                dialect(quotes("<|q|>"), Some("None")),
                "{a: None, b: {c: [1, None]}, d: <|q|>None<|q|>, e: null}",
                r#"{"a": "", "b": {"c": [1, ""]}, "d": "None", "e": null}"#,
            ),
            // JSON inside a JSON string is parsed once: it remains text.
            (Arguments::JsonText, r#""{\"a\": 1}""#, r#""{\"a\": 1}""#),
        ];
        for (written, body, wanted) in table {
            assert_eq!(arguments(&written, body), value(wanted), "{written:?}");
        }
    }

    #[test]
    fn pairs_are_read_between_their_marks() {
        let framed = pairs(["<k>", "</k>\n<v>\n", "\n</v>", "\n"]);
        // Line breaks around a value are not part of it; those inside are.
        assert_eq!(
            arguments(&Arguments::Pairs(Box::new(framed.clone())), "<k>a</k>\n<v>\nx\n\ny\n</v>"),
            value(r#"{"a": "x\n\ny"}"#)
        );
        // They are optional.
        assert_eq!(arguments(&Arguments::Pairs(Box::new(framed)), "<k>a</k><v>x</v>"), value(r#"{"a": "x"}"#));
        let mut again = pairs(["<", ">", "", ""]);
        again.key_again = true;
        again.cut.close = format!("</{KEY_AGAIN}>");
        let body = "<a>1</a><b></c></b>";
        assert_eq!(arguments(&Arguments::Pairs(Box::new(again)), body), value(r#"{"a": "1", "b": "</c>"}"#));
    }

    #[test]
    fn each_form_of_an_argument_has_its_pattern() {
        let form = |gap: &str, close: &str| PairForm {
            open: String::new(),
            gap: gap.to_owned(),
            close: close.to_owned(),
            is_raw: true,
            is_null: false,
        };
        let mut typed = pairs(["", " = ", "\n", ""]);
        typed.values.strings = Encoding::Json;
        typed.forms = vec![form(" <<END\n", "\nEND\n")];
        // The marks tell a text from JSON.
        let body = "a = [1]\nb <<END\nnull\nEND\nc = \"x\\ny\"\n";
        let wanted = r#"{"a": [1], "b": "null", "c": "x\ny"}"#;
        assert_eq!(arguments(&Arguments::Pairs(Box::new(typed)), body), value(wanted));
        let mut tagged = pairs(["<", ">", "</>", ""]);
        tagged.forms = vec![PairForm { open: "<".to_owned(), is_raw: false, is_null: true, ..form("/>", "") }];
        let body = "<a>x</><b/><c></>";
        let wanted = r#"{"a": "x", "b": null, "c": ""}"#;
        assert_eq!(arguments(&Arguments::Pairs(Box::new(tagged)), body), value(wanted));
        let mut quotes = pairs([" ", "=", "", ""]);
        quotes.values.strings = quoted("\"");
        quotes.forms = vec![PairForm { open: " ".to_owned(), ..form("={{", "}}") }];
        let body = " a={{{\"k\": \"v\"}}} b=\"x\"";
        let read = arguments_in(Quotes::Untyped, &Arguments::Pairs(Box::new(quotes)), body);
        assert_eq!(read, value(r#"{"a": "{\"k\": \"v\"}", "b": "x"}"#));
    }

    #[test]
    fn keywords_end_where_the_next_key_begins() {
        let mut keywords = pairs(["", "=", "", ", "]);
        keywords.values.strings = Encoding::Json;
        let keywords = |values: Values| Arguments::Pairs(Box::new(Pairs { values, ..keywords.clone() }));
        let of = |strings| Values { strings, python: false, frame: None, typed: None };
        let table = [
            (of(Encoding::Json), r#"a="x, b=1", c=5, d=true"#, r#"{"a": "x, b=1", "c": 5, "d": true}"#),
            (of(quoted("'")), "a='it is', b=5", r#"{"a": "it is", "b": 5}"#),
            // A string that looks like a number keeps its quotes, and with them its type.
            (of(quoted("'")), "a='5'", r#"{"a": "5"}"#),
            (of(quoted("'")), r#"a="it's", b=2"#, r#"{"a": "it's", "b": 2}"#),
            (of(Encoding::Bare), "a=x y, b=5", r#"{"a": "x y", "b": "5"}"#),
            (of(Encoding::Bare), "a=  x\n, b=5", r#"{"a": "  x\n", "b": "5"}"#),
        ];
        for (values, body, wanted) in table {
            assert_eq!(arguments(&keywords(values), body), value(wanted), "{body}");
        }
        // Nothing separates the arguments: a JSON number or word ends where the next key begins.
        let mut joined = pairs(["", "=", "", ""]);
        joined.values = of(Encoding::Json);
        let body = r#"a=-8b=0.5c=trued="x=1"e={"k": [1]}f=2e5"#;
        let wanted = r#"{"a": -8, "b": 0.5, "c": true, "d": "x=1", "e": {"k": [1]}, "f": 2e5}"#;
        assert_eq!(arguments(&Arguments::Pairs(Box::new(joined)), body), value(wanted));
    }

    #[test]
    fn keys_on_lines_of_their_own_may_have_any_signs() {
        for (texts, body) in [
            (["  ", ": ", "\n", ""], "  $top: 5\n  @id: \"a: b\"\n  odata.x: {\"k: l\": 1}\n"),
            (["\n", " = ", "", ""], "\n$top = 5\n@id = \"a: b\"\nodata.x = {\"k: l\": 1}"),
            (["", ": ", "", "\n"], "$top: 5\n@id: \"a: b\"\nodata.x: {\"k: l\": 1}"),
        ] {
            let mut lines = pairs(texts);
            lines.values.strings = Encoding::Json;
            let wanted = value(r#"{"$top": 5, "@id": "a: b", "odata.x": {"k: l": 1}}"#);
            assert_eq!(arguments(&Arguments::Pairs(Box::new(lines)), body), wanted, "{body}");
        }
    }

    #[test]
    fn objects_among_keywords_may_have_keys_without_quotes() {
        let mut keywords = pairs(["", ": ", "", ", "]);
        keywords.values.strings = Encoding::Json;
        keywords.written = vec![("object", "{qzinner: \"x\"}".to_owned())];
        let body = r#"a: {b: {c: 1}, d: "e: 2, f: {"}, g: [{h: null}]"#;
        let wanted = r#"{"a": {"b": {"c": 1}, "d": "e: 2, f: {"}, "g": [{"h": null}]}"#;
        assert_eq!(arguments(&Arguments::Pairs(Box::new(keywords)), body), value(wanted));
    }

    #[test]
    fn an_escape_in_the_name_of_a_member_leaves_its_value_whole() {
        let body = r#"{"a\nb": {"c": 1}, "d": 2, "": [{"c": 3}]}"#;
        assert_eq!(arguments_by(members, body), value(r#"{"a\\nb": {"c": 1}, "d": 2, "": [{"c": 3}]}"#));
    }

    #[test]
    fn white_space_at_the_end_of_a_line_belongs_to_its_value_if_white_space_is_exact() {
        for (form, body) in [
            (["", " = ", "\n", ""], "a = x \nb = y\n\n"),
            (["<k>", "<v>", "\n", ""], "<k>a<v>x \n<k>b<v>y\n\n"),
            // The line break belongs to the next argument: there is none.
            (["\n<k>", "<v>", "", ""], "\n<k>a<v>x \n<k>b<v>y\n"),
        ] {
            let lines = Arguments::Pairs(Box::new(pairs(form)));
            let read = |exact_space: bool| {
                let choices = Choices { exact_space, ..Choices::default() };
                arguments_under(&choices, &lines, body)
            };
            assert_eq!(read(true), value(r#"{"a": "x ", "b": "y\n"}"#), "{body}");
            assert_eq!(read(false), value(r#"{"a": "x", "b": "y"}"#), "{body}");
        }
    }

    #[test]
    fn values_in_quotes_need_no_look_around_but_that_at_the_end() {
        let mut keywords = pairs(["", "=", "", ", "]);
        let table = [
            ("'", r#"a='it is', b=5, c='5', d=[1, 'x, y']"#, r#"{"a": "it is", "b": 5, "c": "5", "d": [1, "x, y"]}"#),
            ("'", r#"a='', b="it's", c='"so", he said'"#, r#"{"a": "", "b": "it's", "c": "\"so\", he said"}"#),
            ("'", r#"a='it\'s', b=2"#, r#"{"a": "it\\'s", "b": 2}"#),
            ("\"", r#"a="x, y", b="5", c=5"#, r#"{"a": "x, y", "b": "5", "c": 5}"#),
        ];
        for (quote, body, wanted) in table {
            keywords.values.strings = quoted(quote);
            let written = Arguments::Pairs(Box::new(keywords.clone()));
            assert_eq!(arguments_in(Quotes::Plain, &written, body), value(wanted), "{body}");
            let mut field = Object::new();
            let choices = Choices { quotes: Quotes::Plain, ..Choices::default() };
            content((Segmentation::Words, &choices), &mut field, &written, false);
            let pattern = field.get("content_args").unwrap().get("tag_pattern").unwrap().as_str().unwrap().to_owned();
            let refusing = [Reader::VllmRust, Reader::Smg]
                .map(|reader| reader.check_pattern(&pattern.replace("\\Z", "$"), Role::Tag));
            assert_eq!(refusing, [None, None], "{pattern}");
        }
    }

    #[test]
    fn an_object_in_a_list_does_not_begin_an_argument_after_a_comma() {
        let mut members = pairs([", ", ": ", "", ""]);
        members.values.strings = Encoding::Json;
        let body = r#", a: "x", b: [{"id": 1, "v": "a, c: d"}, {"id": 2, "v": "e"}], c: 3"#;
        let wanted = r#"{"a": "x", "b": [{"id": 1, "v": "a, c: d"}, {"id": 2, "v": "e"}], "c": 3}"#;
        assert_eq!(arguments(&Arguments::Pairs(Box::new(members)), body), value(wanted));
    }

    #[test]
    fn frames_and_types_are_not_part_of_a_value() {
        let cdata =
            Values { frame: Some(("<![CDATA[".to_owned(), "]]>".to_owned())), ..pairs(["", "", "", ""]).values };
        let framed = Pairs { values: cdata, ..pairs(["<k=", ">", "</k>", ""]) };
        let body = "<k=a><![CDATA[1 < 2]]></k><k=b>x</k>";
        assert_eq!(arguments(&Arguments::Pairs(Box::new(framed)), body), value(r#"{"a": "1 < 2", "b": "x"}"#));
        let typed =
            Typed { prefix: "|".to_owned(), string: "str".to_owned(), suffix: ">".to_owned(), has_space: false };
        let values = Values { typed: Some(typed), ..pairs(["", "", "", ""]).values };
        let typed = Pairs { values, ..pairs(["<k=", "", "</k>", ""]) };
        let body = "<k=a|str>5</k><k=b|int>5</k>";
        assert_eq!(arguments(&Arguments::Pairs(Box::new(typed)), body), value(r#"{"a": "5", "b": "5"}"#));
    }

    #[test]
    fn white_space_next_to_a_value_belongs_to_it_unless_it_is_a_line_break() {
        for (text, pattern) in [
            ("</v>", "</v>"),
            ("\n</v>\n", "\\n?</v>\\n?"),
            (" = ", " = "),
            ("\n", "\\n"),
            ("", ""),
            // The indent of renders, which a value of several lines may have as well.
            ("\n  ", "\\n  "),
            (":\n  ", ":\\n  "),
        ] {
            assert_eq!(framed(text), pattern, "{text:?}");
        }
    }
}
