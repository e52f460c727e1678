//! Arguments that are no JSON object: marks around each, lines, keywords.

use super::calls::{begins_turn, delimiter, inside_section, optional_section, shape, turn_start};
use super::close::close;
use crate::derive::arguments::{KEY, Spelled, Strings};
use crate::derive::calls::{Calls, Piece};
use crate::derive::findings::Findings;
use crate::derive::marks::{self, escape, flexible};
use crate::json::{Object, Value};

fn value_parser(delims: Option<Value>) -> Value {
    let mut args = Object::new();
    if let Some(delims) = delims {
        args.insert("string_delims".to_owned(), delims);
    }
    args.insert("allow_non_json".to_owned(), true.into());
    Value::from([("name", "json".into()), ("args", Value::Object(args))])
}

fn delims(open: &str, close: &str) -> Value {
    Value::List(vec![Value::List(vec![open.into(), close.into()])])
}

/// Line breaks that frame a value are optional, one on each side; other white space is the value's.
fn frame(text: &str) -> &'static str {
    if text.contains('\n') { "\\n?" } else { "" }
}

pub(super) fn spelled_content(field: &mut Object, spelled: &Spelled) {
    let gap = spelled.gap.trim_end();
    let close = spelled.close.trim_start();
    let lead_space = frame(spelled.gap.get(gap.len()..).unwrap_or(""));
    let tail_space = frame(spelled.close.get(..spelled.close.len() - spelled.close.trim_start().len()).unwrap_or(""));
    let stop = gap.trim_start().chars().next().unwrap_or('=');
    let key =
        if stop.is_alphanumeric() { "[\\w.-]".to_owned() } else { format!("[^\\s{}]", escape(&stop.to_string())) };
    let key = format!("{}(?P<key>{key}+)", flexible(&spelled.lead));
    let close = if spelled.key_again { key_again(close) } else { flexible(close) };
    let mut parser = None;
    let pattern = match &spelled.strings {
        Strings::Marked { prefix, string, suffix } => {
            let quoted = format!("{string}{suffix}");
            parser = Some(value_parser(Some(delims(&quoted, spelled.close.trim()))));
            let stop = suffix.chars().next().map_or("\\s".to_owned(), |c| escape(&c.to_string()));
            let (quoted, suffix) = (escape(&quoted), escape(suffix));
            format!(
                "{key}{}(?:(?!{quoted})[^{stop}]*{suffix})?(?P<value>{quoted}.*?{close}|(?<={suffix}).*?(?={close}))",
                escape(prefix)
            )
        }
        Strings::Json => {
            parser = Some(value_parser(None));
            format!("{key}{}\\s*(?P<value>.*?)\\s*{close}", flexible(gap))
        }
        Strings::Quoted { quote, .. } => {
            let quote = quote.to_string();
            parser = Some(value_parser(Some(delims(&quote, &quote))));
            format!("{key}{}\\s*(?P<value>.*?)\\s*{close}", flexible(gap))
        }
        Strings::Bare => {
            let (open, shut) = match &spelled.frame {
                Some((open, shut)) => (format!("(?:{})?", escape(open)), format!("(?:{})?", escape(shut))),
                None => (String::new(), String::new()),
            };
            format!("{key}{}{lead_space}{open}(?P<value>.*?){shut}{tail_space}{close}", flexible(gap))
        }
    };
    field.insert("content".to_owned(), "xml-inline".into());
    let mut args = Object::new();
    args.insert("tag_pattern".to_owned(), pattern.into());
    if let Some(parser) = parser {
        args.insert("value_parser".to_owned(), parser);
    }
    field.insert("content_args".to_owned(), Value::Object(args));
}

/// A close that repeats the key.
fn key_again(close: &str) -> String {
    close.split(KEY).map(flexible).collect::<Vec<_>>().join("(?P=key)")
}

/// A closing sign that code is full of counts only before the next call or the end of all calls. Where that end is a
/// sign of code as well, it goes with the last call: nothing else could tell it from an answer.
fn keywords_close(field: &mut Object, calls: &Calls, spelled: &Spelled, next: &str, stops: &[String]) {
    let groups = marks::groups(&calls.section_close);
    let ends = || stops.iter().map(|stop| escape(stop)).chain(["$".to_owned()]).collect::<Vec<_>>().join("|");
    let end = groups.first().map_or_else(|| format!("(?:{})", ends()), |mark| flexible(mark));
    let is_weak = groups.first().is_some_and(|mark| !marks::is_distinct(mark));
    let close = flexible(calls.close.trim());
    let section = flexible(&calls.section_open);
    let quotes = match &spelled.strings {
        // Where quotes are escaped, a closing sign inside a string is told from the real one by counting quotes.
        Strings::Json | Strings::Quoted { escaped: true, .. } if !calls.section_open.is_empty() => {
            format!("(?<={section}(?:[^'\"\\\\]|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\")*)")
        }
        _ => String::new(),
    };
    let pattern = match is_weak {
        true => format!("{close}{quotes}(?:\\s*{end}\\s*|(?={next}))"),
        false => format!("{close}(?=\\s*{end}|{next}){quotes}"),
    };
    delimiter(field, "close", None, pattern);
}

pub(super) fn keywords_field(calls: &Calls, head: &[Piece], spelled: &Spelled, findings: &Findings) -> Object {
    let mut field = Object::new();
    let after = match head.iter().rev().find(|piece| matches!(piece, Piece::Text(_))) {
        Some(Piece::Text(text)) => flexible(text.trim_end()),
        _ => String::new(),
    };
    let name = "(?P<name>[\\w.-]+)";
    let section = flexible(&calls.section_open);
    let separator = match calls.separator.trim() {
        "" => "\\s*".to_owned(),
        sign => format!("{}\\s*", escape(sign)),
    };
    let open = match calls.open.trim() {
        "" if begins_turn(calls) => format!("{}{name}{after}", turn_start(calls, findings)),
        "" if calls.section_open.is_empty() => format!("{name}{after}"),
        "" => {
            let close = escape(calls.close.trim());
            let inside = inside_section(calls, findings);
            // A bracket opens calls only where keywords follow, or nothing at all.
            let keywords = format!("(?={}|[\\w.-]+\\s*{})", close, flexible(spelled.gap.trim()));
            let guard = if marks::is_distinct(&calls.section_open) { "" } else { &keywords };
            format!("(?:{section}\\s*|(?<={close}){separator}{inside}){name}{after}{guard}")
        }
        own => format!("{}{}\\s*{name}{after}", optional_section(calls), flexible(own)),
    };
    delimiter(&mut field, "open", None, open);
    if marks::is_distinct(&calls.close) {
        close(&mut field, calls, findings, None);
    } else {
        let next = match calls.open.trim() {
            "" => format!("{separator}[\\w.-]+{after}"),
            open => format!("{separator}{}", flexible(open)),
        };
        keywords_close(&mut field, calls, spelled, &next, &findings.stops);
    }
    field.insert("repeats".to_owned(), true.into());
    if spelled.separator.contains('\n') && matches!(spelled.strings, Strings::Bare) {
        field.insert("content".to_owned(), "kv-lines".into());
        field.insert("content_args".to_owned(), Value::from([("kv_sep", spelled.gap.trim().into())]));
        field.insert("transform".to_owned(), shape(None, "{name}", "{content}"));
        return field;
    }
    field.insert("content".to_owned(), "xml-inline".into());
    let gap = flexible(spelled.gap.trim());
    let comma = escape(spelled.separator.trim());
    let end = format!("\\s*(?:{comma}\\s*[\\w.-]+\\s*{gap}|$)");
    let key = format!("(?P<key>[\\w.-]+)\\s*{gap}\\s*");
    let nested = format!("[\\[{{].*?[\\]}}](?={end})");
    let (value, parser) = match &spelled.strings {
        Strings::Quoted { quote, .. } => {
            // A string without quotes or escapes inside keeps its quotes, so that it is told from a number; the
            // others lose them and are read as they stand.
            let q = escape(&quote.to_string());
            let simple = format!("{q}[^{q}\\\\]*{q}(?={end})");
            let value = match quote {
                '"' => format!("(?:(?!{simple}){q})?(?P<value>{simple}|{nested}|.*?(?={q}?{end}))"),
                // Models write JSON's quotes as well; around this kind of quote they are taken off, as this kind is.
                _ => {
                    let around = format!("\"[^\"\\\\]*{q}[^\"\\\\]*\"(?={end})");
                    let other = format!("(?<=\")[^\"\\\\]*(?=\"{end})|\"(?:[^\"\\\\]|\\\\.)*\"(?={end})");
                    format!("(?:(?={around})\"|(?!{simple}){q})?(?P<value>{other}|{simple}|{nested}|.*?(?={q}?{end}))")
                }
            };
            (value, Some(delims(&quote.to_string(), &quote.to_string())))
        }
        _ => (format!("(?P<value>\"(?:[^\"\\\\]|\\\\.)*\"|{nested}|.*?(?={end}))"), None),
    };
    let args = Value::from([("tag_pattern", format!("{key}{value}").into()), ("value_parser", value_parser(parser))]);
    field.insert("content_args".to_owned(), args);
    field.insert("transform".to_owned(), shape(None, "{name}", "{content}"));
    field
}
