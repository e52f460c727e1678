//! The content parser of a region with the arguments of a call.

use super::pattern::{escape, spaced, word_before};
use crate::wire::marks::Segmentation;
use crate::wire::structure::{Arguments, Encoding, KEY_AGAIN, Pairs};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;

/// Alternatives for the JSON values that are not strings.
const JSON_OTHERS: &str = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|[\[{].*?[\]}]|";

/// Writes `content` and its arguments; an object may be missing if `is_optional`.
pub(super) fn content(segmentation: Segmentation, field: &mut Object, arguments: &Arguments, is_optional: bool) {
    let (unquoted_keys, quotes) = match arguments {
        Arguments::Json | Arguments::JsonText => (false, None),
        Arguments::Python => (false, Some(("'", "'"))),
        Arguments::Dialect { unquoted_keys, quotes } => {
            (*unquoted_keys, quotes.as_ref().map(|(open, close)| (open.as_str(), close.as_str())))
        }
        Arguments::Pairs(pairs) => return inline(segmentation, field, pairs),
    };
    let flags = [("unquoted_keys", unquoted_keys), ("allow_non_json", is_optional)];
    let mut args: Object =
        flags.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| (key.to_owned(), true.into())).collect();
    args.extend(quotes.map(|(open, close)| ("string_delims".to_owned(), delims(open, close))));
    field.insert("content", "json".into());
    if !args.is_empty() {
        field.insert("content_args", Value::Object(args));
    }
}

fn delims(open: &str, close: &str) -> Value {
    Value::List(vec![Value::List(vec![open.into(), close.into()])])
}

fn inline(segmentation: Segmentation, field: &mut Object, pairs: &Pairs) {
    let cut = &pairs.cut;
    let (open, word, gap) = key(pairs);
    let key = format!("{open}(?P<key>{word}+)");
    let end = value_end(segmentation, pairs);
    let value = match &pairs.values.strings {
        Encoding::Quoted { open, close, .. } if open == close && open.len() == 1 && cut.close.trim().is_empty() => {
            quoted(open, &end)
        }
        Encoding::Json => {
            // If nothing separates it from the next key, a number ends with its last digit, not where a key could
            // begin.
            let is_parted = !cut.close.is_empty() || !cut.separator.is_empty() || !cut.open.is_empty();
            let others = if is_parted { "" } else { JSON_OTHERS };
            format!("(?P<value>\"(?:[^\"\\\\]|\\\\.)*\"|{others}.*?)")
        }
        _ => match &pairs.values.frame {
            Some((open, close)) => {
                let (open, close) = (escape(open), escape(close));
                format!("(?:{open})?(?P<value>.*?)(?:{close})?")
            }
            None => "(?P<value>.*?)".to_owned(),
        },
    };
    let mut args = Object::from([(
        "tag_pattern".to_owned(),
        format!("{key}{gap}{value}{}", if value.contains(&end) { "" } else { &end }).into(),
    )]);
    let parser = match &pairs.values.strings {
        Encoding::Quoted { open, close, .. } => Some(Object::from([("string_delims".to_owned(), delims(open, close))])),
        Encoding::Bare => None,
        _ => Some(Object::new()),
    };
    if let Some(mut parser) = parser {
        parser.insert("allow_non_json", true.into());
        let value = Value::from([("name", "json".into()), ("args", Value::Object(parser))]);
        args.insert("value_parser", value);
    }
    field.insert("content", "xml-inline".into());
    field.insert("content_args", Value::Object(args));
}

/// Patterns for the text before a key, one of its characters, and the text from it to the value.
fn key(pairs: &Pairs) -> (String, String, String) {
    let open = spaced(pairs.cut.open.trim_start());
    let (gap, key_end) = gap(pairs);
    // Without a mark before it, a key is a word.
    let word = if pairs.cut.open.trim().is_empty() { "[\\w.-]".to_owned() } else { word_before(&key_end) };
    (open, word, gap)
}

/// The pattern that ends a value.
pub fn value_end(segmentation: Segmentation, pairs: &Pairs) -> String {
    let cut = &pairs.cut;
    let (open, word, gap) = key(pairs);
    let close = match pairs.key_again {
        true => cut.close.split(KEY_AGAIN).map(framed).collect::<Vec<_>>().join("(?P=key)"),
        false => framed(&cut.close),
    };
    // Without a close, a value ends where the next key begins, or with the region.
    let between = format!("{}{}", cut.close, cut.separator);
    let between = match (between.trim(), between.contains('\n')) {
        ("", true) => "\\s*\\n\\s*".to_owned(),
        ("", false) => escape(&between),
        (sign, _) => format!("\\s*{}\\s*", escape(sign)),
    };
    // White space that opens the next argument is not part of this value.
    let lead = match slice(&cut.open, ..cut.open.len() - cut.open.trim_start().len()) {
        space if space.contains('\n') => "\\s*\\n\\s*".to_owned(),
        space => escape(space),
    };
    let next = format!("{between}{lead}{open}{word}+{gap}");
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
    let nested = format!("[\\[{{].*?[\\]}}]{end}");
    if quote == "\"" {
        return format!("(?:(?!{simple}){q})?(?P<value>{simple}|{nested}|.*?(?={q}?{end}))");
    }
    // Models also write JSON's quotes: these are removed in the same way.
    let around = format!("\"[^\"\\\\]*{q}[^\"\\\\]*\"{end}");
    let other = format!("(?<=\")[^\"\\\\]*(?=\"{end})|\"(?:[^\"\\\\]|\\\\.)*\"{end}");
    format!("(?:(?={around})\"|(?!{simple}){q})?(?P<value>{other}|{simple}|{nested}|.*?(?={q}?{end}))")
}

/// The pattern from key to value, and the text that ends the key.
fn gap(pairs: &Pairs) -> (String, String) {
    match &pairs.values.typed {
        None => (framed(&pairs.gap), pairs.gap.clone()),
        Some(typed) => {
            let word = word_before(&typed.suffix);
            (format!("{}{word}*{}", escape(&typed.prefix), framed(&typed.suffix)), typed.prefix.clone())
        }
    }
}

/// A text next to a value: a line break between them is optional, other white space belongs to the value.
fn framed(text: &str) -> String {
    let inner = text.trim();
    if inner.is_empty() {
        return if text.contains('\n') { "\\n".to_owned() } else { escape(text) };
    }
    let lead = slice(text, ..text.len() - text.trim_start().len());
    let tail = slice(text, text.trim_end().len()..);
    let space = |text: &str| if text.contains('\n') { "\\n?".to_owned() } else { escape(text) };
    format!("{}{}{}", space(lead), spaced(inner), space(tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{object, pairs, read, value};
    use crate::wire::structure::{Typed, Values};

    /// The arguments that the compiled parser reads in a call's body.
    fn arguments(written: &Arguments, body: &str) -> Value {
        let mut field = object(
            r#"{"open_pattern": "<call (?P<name>\\w+)>", "close": "</call>",
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}"#,
        );
        content(Segmentation::Words, &mut field, written, false);
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
        let table = [
            (Arguments::Json, r#"{"a": "x", "b": [1]}"#, r#"{"a": "x", "b": [1]}"#),
            (Arguments::Python, "{'a': 'x', 'b': 5}", r#"{"a": "x", "b": 5}"#),
            (Arguments::Dialect { unquoted_keys: true, quotes: None }, r#"{a: "x"}"#, r#"{"a": "x"}"#),
            (Arguments::Dialect { unquoted_keys: true, quotes: quotes("<|q|>") }, "{a: <|q|>x<|q|>}", r#"{"a": "x"}"#),
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
    fn frames_and_types_are_not_part_of_a_value() {
        let cdata =
            Values { frame: Some(("<![CDATA[".to_owned(), "]]>".to_owned())), ..pairs(["", "", "", ""]).values };
        let framed = Pairs { values: cdata, ..pairs(["<k=", ">", "</k>", ""]) };
        let body = "<k=a><![CDATA[1 < 2]]></k><k=b>x</k>";
        assert_eq!(arguments(&Arguments::Pairs(Box::new(framed)), body), value(r#"{"a": "1 < 2", "b": "x"}"#));
        let typed = Typed { prefix: "|".to_owned(), string: "str".to_owned(), suffix: ">".to_owned() };
        let values = Values { typed: Some(typed), ..pairs(["", "", "", ""]).values };
        let typed = Pairs { values, ..pairs(["<k=", "", "</k>", ""]) };
        let body = "<k=a|str>5</k><k=b|int>5</k>";
        assert_eq!(arguments(&Arguments::Pairs(Box::new(typed)), body), value(r#"{"a": "5", "b": "5"}"#));
    }

    #[test]
    fn white_space_next_to_a_value_belongs_to_it_unless_it_is_a_line_break() {
        for (text, pattern) in [("</v>", "</v>"), ("\n</v>\n", "\\n?</v>\\n?"), (" = ", " = "), ("\n", "\\n"), ("", "")]
        {
            assert_eq!(framed(text), pattern, "{text:?}");
        }
    }
}
