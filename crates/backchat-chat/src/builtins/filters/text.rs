//! Filters that make text.

use minijinja::Value;

use super::select::Getter;
use crate::builtins::methods::strings;
use crate::engine::limits;
use crate::engine::run::Run;
use crate::values::arguments::{self, bind, integer, integer_or, required, split, truth_or};
use crate::values::build;
use crate::values::entries::Key;
use crate::values::markup;
use crate::values::text::{to_str, write_str};
use crate::values::{Kind, Result, error, items_of, operators};
use backchat_core::python;
use backchat_core::python::space::is_space;

pub(super) fn string(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("string", [], arguments)?;
    Ok(if value.as_str().is_some() { value.clone() } else { Value::from(to_str(value).into_owned()) })
}

/// A filter without arguments that maps text to text.
pub(super) fn mapped(name: &str, value: &Value, arguments: &[Value], map: fn(&str) -> String) -> Result<Value> {
    bind(name, [], arguments)?;
    Ok(markup::like(value, map(&to_str(value))))
}

/// Capitalizes every word; unlike in `str.title`, an apostrophe does not begin a word.
pub(super) fn title(text: &str) -> String {
    let mut out = String::new();
    let mut begins = true;
    for c in text.chars() {
        if c == '-' || matches!(c, '(' | '{' | '[' | '<') || is_space(c) {
            out.push(c);
            begins = true;
        } else if std::mem::take(&mut begins) {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

pub(super) fn trim(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [characters] = bind("trim", ["chars"], arguments)?;
    let text = to_str(value);
    strings::strip("strip", &text, characters.as_ref()).map(|text| markup::part(value, text))
}

pub(super) fn center(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [width] = bind("center", ["width"], arguments)?;
    let width = integer_or("center", &width, 80)?;
    strings::justify(&to_str(value), "center", width, None).map(|text| markup::like(value, text))
}

pub(super) fn replace(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [old, new, count] = bind("replace", ["old", "new", "count"], arguments)?;
    let (old, new) = (required("replace", "old", old)?, required("replace", "new", new)?);
    let count = integer_or("replace", &count.filter(|count| !count.is_none()), -1)?;
    strings::replace(&to_str(value), &to_str(&old), &to_str(&new), count).map(|text| Value::from(text.as_ref()))
}

pub(super) fn join(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [separator, attribute] = bind("join", ["d", "attribute"], arguments)?;
    let separator = separator.as_ref().map(to_str).unwrap_or_default();
    let getter = Getter::of(attribute)?;
    let mut out = String::new();
    for (index, item) in items_of(value)?.into_iter().enumerate() {
        if index > 0 {
            out.push_str(&separator);
        }
        write_str(&mut out, &getter.get(&item)?);
        limits::size(out.len())?;
    }
    Ok(Value::from(out))
}

pub(super) fn indent(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [width, first, blank] = bind("indent", ["width", "first", "blank"], arguments)?;
    let indention = match width {
        Some(width) if width.as_str().is_some() => to_str(&width).into_owned(),
        width => {
            let width = usize::try_from(integer_or("indent", &width, 4)?).unwrap_or(0);
            limits::size(width)?;
            " ".repeat(width)
        }
    };
    // The added line break makes the text's own final line break count.
    let text = format!("{}\n", arguments::string("indent", value)?);
    let lines = python::text::split_lines(&text, false, limits::MAX_ITEMS);
    limits::items(lines.len())?;
    limits::size(text.len().saturating_add(lines.len().saturating_mul(indention.len())))?;
    let blank = truth_or(&blank, false);
    let mut out = String::new();
    if truth_or(&first, false) {
        out.push_str(&indention);
    }
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
            if blank || !line.is_empty() {
                out.push_str(&indention);
            }
        }
        out.push_str(line);
    }
    Ok(markup::like(value, out))
}

pub(super) fn format(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let (positional, keywords) = split(arguments);
    let values = match (positional, keywords) {
        ([_, ..], Some(_)) => return Err(error("can't handle positional and keyword arguments at the same time")),
        (positional, None) => build::tuple(positional.to_vec())?,
        ([], Some(keywords)) => {
            let entry = |name: &str| Ok((Key::from(name), keywords.peek(name)?));
            build::dict(keywords.args().map(entry).collect::<Result<_>>()?)?
        }
    };
    crate::values::format::percent(value, &to_str(value), &values)
}

pub(super) fn wordcount(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("wordcount", [], arguments)?;
    let text = to_str(value);
    let words = text.split(|c: char| !(c == '_' || c.is_alphanumeric())).filter(|word| !word.is_empty());
    Ok(Value::from(words.count()))
}

pub(super) fn truncate(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let names = ["length", "killwords", "end", "leeway"];
    let [length, killwords, end, leeway] = bind("truncate", names, arguments)?;
    let length = integer_or("truncate", &length, 255)?;
    let end = end.as_ref().map_or_else(|| "...".into(), to_str);
    let leeway = integer_or("truncate", &leeway.filter(|leeway| !leeway.is_none()), 5)?;
    let end_length = i64::try_from(end.chars().count()).unwrap_or(i64::MAX);
    if length < end_length || leeway < 0 {
        return Err(error("truncate() expects a length of at least that of its end"));
    }
    let count = i64::try_from(operators::len(value)?).unwrap_or(i64::MAX);
    if count <= length.saturating_add(leeway) {
        return Ok(value.clone());
    }
    let text = arguments::string("truncate", value)?;
    let keep = usize::try_from(length - end_length).unwrap_or(0);
    let kept: String = text.chars().take(keep).collect();
    let kept =
        if truth_or(&killwords, false) { &kept } else { kept.rsplit_once(' ').map_or(&*kept, |(words, _)| words) };
    Ok(markup::like(value, format!("{kept}{end}")))
}

pub(super) fn wordwrap(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let names = ["width", "break_long_words", "wrapstring", "break_on_hyphens"];
    let [width, break_long, wrap, _] = bind("wordwrap", names, arguments)?;
    let width = usize::try_from(integer_or("wordwrap", &width, 79)?).unwrap_or(0);
    if width == 0 {
        return Err(error("wordwrap() expects a width of at least 1"));
    }
    let wrap = wrap.filter(|wrap| !wrap.is_none()).map_or_else(|| "\n".to_owned(), |wrap| to_str(&wrap).into_owned());
    let break_long = truth_or(&break_long, true);
    let text = arguments::string("wordwrap", value)?;
    let lines = python::text::split_lines(text, false, limits::MAX_ITEMS);
    // Two consecutive lines together are longer than the width.
    limits::items(lines.len().saturating_add(2 * text.len() / width))?;
    let lines: Vec<String> = lines
        .into_iter()
        .flat_map(|line| {
            let wrapped = wrap_line(line, width, break_long);
            if wrapped.is_empty() { vec![String::new()] } else { wrapped }
        })
        .collect();
    limits::size(text.len().saturating_add(wrap.len().saturating_mul(lines.len())))?;
    Ok(markup::like(value, lines.join(&wrap)))
}

/// A line wrapped as Python's `textwrap` does: at spaces, and inside words that are longer than a line.
fn wrap_line(line: &str, width: usize, break_long: bool) -> Vec<String> {
    let is_space = |c: char| matches!(c, '\t' | '\n' | '\x0b' | '\x0c' | '\r' | ' ');
    let chars: Vec<char> = line.chars().collect();
    let mut chunks = chars.chunk_by(|a, b| is_space(*a) == is_space(*b));
    let is_blank = |chunk: &[char]| chunk.iter().all(|c| python::space::is_space(*c));
    let mut lines = Vec::new();
    let mut next = chunks.next();
    while next.is_some() {
        if !lines.is_empty() {
            next = next.filter(|chunk| !is_blank(chunk)).or_else(|| chunks.next());
        }
        let mut parts: Vec<&[char]> = Vec::new();
        let mut room = width;
        while let Some(chunk) = next {
            if chunk.len() <= room {
                room -= chunk.len();
                parts.push(chunk);
                next = chunks.next();
                continue;
            }
            if chunk.len() > width && break_long {
                let (fits, rest) = chunk.split_at(room);
                parts.push(fits);
                next = Some(rest);
            } else if chunk.len() > width && parts.is_empty() {
                parts.push(chunk);
                next = chunks.next();
            }
            break;
        }
        parts.pop_if(|last| is_blank(last));
        if !parts.is_empty() {
            lines.push(parts.concat().into_iter().collect());
        }
    }
    lines
}

pub(super) fn striptags(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("striptags", [], arguments)?;
    let text = to_str(value);
    let mut rest: &str = &text;
    let mut plain = String::new();
    while let Some((before, tag)) = rest.split_once('<') {
        let end =
            if tag.starts_with("!--") { tag.find("-->").map(|at| at + 3) } else { tag.find('>').map(|at| at + 1) };
        let Some(after) = end.and_then(|end| tag.get(end..)) else { break };
        plain.push_str(before);
        rest = after;
    }
    plain.push_str(rest);
    let words: Vec<&str> = python::space::words(&plain).collect();
    let joined = words.join(" ");
    let unescaped = [("&lt;", "<"), ("&gt;", ">"), ("&#34;", "\""), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    Ok(Value::from(unescaped.iter().fold(joined, |text, (entity, plain)| text.replace(entity, plain))))
}

pub(super) fn urlencode(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("urlencode", [], arguments)?;
    let quote = |value: &Value, in_query: bool| {
        let mut out = String::new();
        for byte in to_str(value).bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
                b'/' if !in_query => out.push('/'),
                b' ' if in_query => out.push('+'),
                byte => out.push_str(&format!("%{byte:02X}")),
            }
        }
        out
    };
    let pair = |key: &Value, value: &Value| format!("{}={}", quote(key, true), quote(value, true));
    let pairs: Vec<String> = match Kind::of(value) {
        Kind::Dict(dict) => dict.read_all().map(|(key, value)| pair(key.as_value(), value)).collect(),
        Kind::List(_) | Kind::Tuple(_) | Kind::Object(_) => {
            let mut pairs = Vec::new();
            for item in items_of(value)? {
                match items_of(&item)?.as_slice() {
                    [key, value] => pairs.push(pair(key, value)),
                    _ => return Err(error("urlencode() expects pairs")),
                }
            }
            pairs
        }
        _ => return Ok(Value::from(quote(value, false))),
    };
    Ok(Value::from(pairs.join("&")))
}

/// The number of slices or elements a filter should produce.
pub(super) fn count(function: &str, value: Option<Value>) -> Result<usize> {
    let count = integer(function, &required(function, "count", value)?)?;
    match usize::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(error(format!("{function}() expects a positive number"))),
    }
}
