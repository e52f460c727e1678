//! The parser of a region that holds a call's arguments.

use super::pattern::{escape, spaced, word_before};
use crate::json::{Object, Value};
use crate::text::slice;
use crate::wire::marks;
use crate::wire::structure::{Arguments, Encoding, KEY_AGAIN, Pairs};

/// Writes `content` and its arguments.
pub(super) fn content(field: &mut Object, arguments: &Arguments) {
    match arguments {
        Arguments::Json | Arguments::JsonText => put(field, "content", "json".into()),
        Arguments::Python => {
            put(field, "content", "json".into());
            put(field, "content_args", Value::from([("string_delims", delims("'", "'"))]));
        }
        Arguments::Dialect { unquoted_keys, quotes } => {
            let mut args = Object::new();
            if *unquoted_keys {
                args.insert("unquoted_keys".to_owned(), true.into());
            }
            if let Some((open, close)) = quotes {
                args.insert("string_delims".to_owned(), delims(open, close));
            }
            put(field, "content", "json".into());
            put(field, "content_args", Value::Object(args));
        }
        Arguments::Pairs(pairs) => inline(field, pairs),
    }
}

fn put(field: &mut Object, key: &str, value: Value) {
    field.insert(key.to_owned(), value);
}

fn delims(open: &str, close: &str) -> Value {
    Value::List(vec![Value::List(vec![open.into(), close.into()])])
}

fn inline(field: &mut Object, pairs: &Pairs) {
    let cut = &pairs.cut;
    let open = spaced(cut.open.trim_start());
    let (gap, key_end) = gap(pairs);
    // Without a mark before it a key is a word.
    let word = if cut.open.trim().is_empty() { "[\\w.-]".to_owned() } else { word_before(&key_end) };
    let key = format!("{open}(?P<key>{word}+)");
    let close = match pairs.key_again {
        true => cut.close.split(KEY_AGAIN).map(framed).collect::<Vec<_>>().join("(?P=key)"),
        false => framed(&cut.close),
    };
    // Without a mark of its own a value ends where the next key begins, or with the region.
    let between = format!("{}{}", cut.close, cut.separator);
    let between = match (between.trim(), between.contains('\n')) {
        ("", true) => "\\s*\\n\\s*".to_owned(),
        ("", false) => escape(&between),
        (sign, _) => format!("\\s*{}\\s*", escape(sign)),
    };
    let next = format!("{between}{open}{word}+{gap}");
    let end = match (cut.close.trim().is_empty(), pairs.key_again || marks::is_distinctive(&cut.close)) {
        (true, _) => format!("(?={next}|\\s*\\Z)"),
        (false, false) => format!("{close}(?={}|\\s*\\Z)", next.replacen(&between, "\\s*", 1)),
        (false, true) => close,
    };
    let value = match &pairs.values.strings {
        Encoding::Quoted { open, close, .. } if open == close && open.len() == 1 && cut.close.trim().is_empty() => {
            quoted(open, &end)
        }
        Encoding::Json => "(?P<value>\"(?:[^\"\\\\]|\\\\.)*\"|.*?)".to_owned(),
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
        parser.insert("allow_non_json".to_owned(), true.into());
        let value = Value::from([("name", "json".into()), ("args", Value::Object(parser))]);
        args.insert("value_parser".to_owned(), value);
    }
    put(field, "content", "xml-inline".into());
    put(field, "content_args", Value::Object(args));
}

/// A value that may be in quotes. A string without quotes or escapes inside keeps its quotes, to distinguish it from a
/// number; the others lose them and are read unchanged.
fn quoted(quote: &str, end: &str) -> String {
    let q = escape(quote);
    let simple = format!("{q}[^{q}\\\\]*{q}{end}");
    let nested = format!("[\\[{{].*?[\\]}}]{end}");
    if quote == "\"" {
        return format!("(?:(?!{simple}){q})?(?P<value>{simple}|{nested}|.*?(?={q}?{end}))");
    }
    // Models write JSON's quotes as well; around this kind of quote they are taken off, as this kind is.
    let around = format!("\"[^\"\\\\]*{q}[^\"\\\\]*\"{end}");
    let other = format!("(?<=\")[^\"\\\\]*(?=\"{end})|\"(?:[^\"\\\\]|\\\\.)*\"{end}");
    format!("(?:(?={around})\"|(?!{simple}){q})?(?P<value>{other}|{simple}|{nested}|.*?(?={q}?{end}))")
}

/// From key to value, and the text that ends the key.
fn gap(pairs: &Pairs) -> (String, String) {
    match &pairs.values.typed {
        None => (framed(&pairs.gap), pairs.gap.clone()),
        Some(typed) => {
            let word = word_before(&typed.suffix);
            (format!("{}{word}*{}", escape(&typed.prefix), framed(&typed.suffix)), typed.prefix.clone())
        }
    }
}

/// A text beside a value: a line break that frames the value is optional, other white space is the value's.
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
