//! The methods of `str`.

use std::borrow::Cow;
use std::collections::HashSet;

use minijinja::Value;

use crate::engine::limits;
use crate::values::arguments::{bind, integer, integer_or, none, only, positional, required, string, truth_or};
use crate::values::build;
use crate::values::markup;
use crate::values::{Kind, Result, error, format, items_of};
use backchat_core::python::printable::is_printable;
use backchat_core::python::space::is_space;
use backchat_core::python::text;

pub(crate) fn call(value: &Value, text: &str, name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    let like = |text: String| Ok(Some(markup::like(value, text)));
    let answer = |truth: bool| none(name, arguments).map(|()| Some(Value::from(truth)));
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let [characters] = positional(name, ["chars"], arguments)?;
            Ok(Some(markup::part(value, strip(name, text, characters.as_ref())?)))
        }
        "split" | "rsplit" => split(value, text, name, arguments).map(Some),
        "startswith" | "endswith" => affix(text, name, arguments).map(Some),
        "upper" => none(name, arguments).and_then(|()| like(text.to_uppercase())),
        "lower" => none(name, arguments).and_then(|()| like(text.to_lowercase())),
        "casefold" => none(name, arguments).and_then(|()| like(text::casefold(text))),
        "capitalize" => none(name, arguments).and_then(|()| like(text::capitalize(text))),
        "title" => none(name, arguments).and_then(|()| like(text::title(text))),
        "swapcase" => none(name, arguments).and_then(|()| like(text::swapcase(text))),
        "replace" => replaced(value, text, name, arguments).map(Some),
        "join" => {
            let parts = items_of(&only(name, "iterable", arguments)?)?;
            let parts: Vec<Value> = parts.iter().map(|part| markup::escaped_for(value, part)).collect();
            join(text, &parts).map(|joined| Some(markup::like(value, joined)))
        }
        "find" | "rfind" | "index" | "rindex" | "count" => search(text, name, arguments).map(Some),
        "partition" | "rpartition" => partition(value, text, name, arguments).map(Some),
        "removeprefix" | "removesuffix" => without_affix(value, text, name, arguments).map(Some),
        "splitlines" => lines(value, text, name, arguments).map(Some),
        "ljust" | "rjust" | "center" => {
            let [width, fill] = positional(name, ["width", "fillchar"], arguments)?;
            let width = integer(name, &required(name, "width", width)?)?;
            like(justify(text, name, width, fill.as_ref())?)
        }
        "zfill" => like(zfill(text, integer(name, &only(name, "width", arguments)?)?)?),
        "expandtabs" => {
            let [size] = bind(name, ["tabsize"], arguments)?;
            like(expand_tabs(text, integer_or(name, &size, 8)?)?)
        }
        "format" => format::format(value, text, arguments).map(|text| Some(markup::like(value, text))),
        "isspace" => answer(!text.is_empty() && text.chars().all(is_space)),
        "isdigit" => answer(text::is_digit(text)),
        "isdecimal" => answer(!text.is_empty() && text.chars().all(|c| c.is_ascii_digit())),
        "isnumeric" => answer(!text.is_empty() && text.chars().all(char::is_numeric)),
        "isalpha" => answer(!text.is_empty() && text.chars().all(char::is_alphabetic)),
        "isalnum" => answer(!text.is_empty() && text.chars().all(char::is_alphanumeric)),
        "isascii" => answer(text.is_ascii()),
        "isupper" => answer(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)),
        "islower" => answer(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)),
        "istitle" => answer(text::is_title(text)),
        "isidentifier" => answer(text::is_identifier(text)),
        "isprintable" => answer(text.chars().all(is_printable)),
        _ => Ok(None),
    }
}

fn replaced(value: &Value, text: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let [old, new, count] = positional(name, ["old", "new", "count"], arguments)?;
    let (old, new) = (required(name, "old", old)?, required(name, "new", new)?);
    let new = markup::escaped_for(value, &new);
    let count = integer_or(name, &count, -1)?;
    Ok(match replace(text, string(name, &old)?, string(name, &new)?, count)? {
        Cow::Borrowed(text) => markup::part(value, text),
        Cow::Owned(text) => markup::like(value, text),
    })
}

fn without_affix(value: &Value, text: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let affix = only(name, "affix", arguments)?;
    let affix = string(name, &affix)?;
    let rest = if name == "removeprefix" { text.strip_prefix(affix) } else { text.strip_suffix(affix) };
    Ok(markup::part(value, rest.unwrap_or(text)))
}

fn lines(value: &Value, text: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let [keep] = bind(name, ["keepends"], arguments)?;
    let lines = text::split_lines(text, truth_or(&keep, false), limits::MAX_ITEMS);
    limits::items(lines.len())?;
    build::list(lines.into_iter().map(|line| markup::part(value, line)).collect())
}

/// Up to this many bytes, characters are searched one by one.
const SHORT_SET: usize = 16;

/// `strip`, `lstrip` and `rstrip`
pub(crate) fn strip<'t>(name: &str, text: &'t str, characters: Option<&Value>) -> Result<&'t str> {
    let set: Option<&str> = match characters {
        Some(value) if !value.is_none() => Some(string(name, value)?),
        _ => None,
    };
    let distinct: Option<HashSet<char>> = set.filter(|set| set.len() > SHORT_SET).map(|set| set.chars().collect());
    let drop = |c: char| match (set, &distinct) {
        (_, Some(distinct)) => distinct.contains(&c),
        (Some(set), None) => set.contains(c),
        _ => is_space(c),
    };
    Ok(match name {
        "lstrip" => text.trim_start_matches(drop),
        "rstrip" => text.trim_end_matches(drop),
        _ => text.trim_matches(drop),
    })
}

fn split(value: &Value, text: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let [separator, limit] = bind(name, ["sep", "maxsplit"], arguments)?;
    // More parts than a list may hold are refused below, so the rest need not be found.
    let limit = usize::try_from(integer_or(name, &limit, -1)?).unwrap_or(usize::MAX).min(limits::MAX_ITEMS);
    let from_right = name == "rsplit";
    let parts = match separator.filter(|separator| !separator.is_none()) {
        None => text::split_space(text, limit, from_right),
        Some(separator) => {
            let separator = string(name, &separator)?;
            if separator.is_empty() {
                return Err(error("empty separator"));
            }
            let pieces = limit.saturating_add(1);
            if from_right {
                let mut parts: Vec<&str> = text.rsplitn(pieces, separator).collect();
                parts.reverse();
                parts
            } else {
                text.splitn(pieces, separator).collect()
            }
        }
    };
    limits::items(parts.len())?;
    build::list(parts.into_iter().map(|part| markup::part(value, part)).collect())
}

/// The byte range of the characters that optional start and end arguments select.
fn bounds(name: &str, text: &str, start: &Option<Value>, end: &Option<Value>) -> Result<Option<(usize, usize)>> {
    let given = |value: &Option<Value>| value.clone().filter(|value| !value.is_none());
    let (start, end) = (given(start), given(end));
    if start.is_none() && end.is_none() {
        return Ok(Some((0, text.len())));
    }
    let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let place = |at: i64| if at < 0 { (at + count).max(0) } else { at };
    let start = place(integer_or(name, &start, 0)?);
    let end = place(integer_or(name, &end, count)?).min(count);
    if start > end || start > count {
        return Ok(None);
    }
    let byte = |at: i64| {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
    };
    Ok(Some((byte(start), byte(end))))
}

fn affix(text: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let [affix, start, end] = positional(name, ["prefix", "start", "end"], arguments)?;
    let affix = required(name, "prefix", affix)?;
    let range = bounds(name, text, &start, &end)?;
    let within = range.and_then(|(start, end)| text.get(start..end));
    let has = |affix: &str| {
        within.is_some_and(|text| if name == "startswith" { text.starts_with(affix) } else { text.ends_with(affix) })
    };
    match Kind::of(&affix) {
        Kind::Str(affix) => Ok(Value::from(has(affix))),
        Kind::Tuple(several) => {
            for affix in several {
                limits::charge_bytes(affix.as_str().map_or(0, str::len))?;
                if has(string(name, affix)?) {
                    return Ok(Value::from(true));
                }
            }
            Ok(Value::from(false))
        }
        _ => Err(error(format!(
            "{name} first arg must be str or a tuple of str, not {}",
            crate::values::type_name(&affix)
        ))),
    }
}

fn search(text: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let [part, start, end] = positional(name, ["sub", "start", "end"], arguments)?;
    let part = required(name, "sub", part)?;
    let part = string(name, &part)?;
    let range = bounds(name, text, &start, &end)?;
    let within = range.and_then(|(start, end)| Some((start, text.get(start..end)?)));
    if name == "count" {
        let count = within
            .map_or(0, |(_, text)| if part.is_empty() { text.chars().count() + 1 } else { text.matches(part).count() });
        return Ok(Value::from(count));
    }
    let found = within.and_then(|(start, within)| {
        let at = if name.starts_with('r') { within.rfind(part) } else { within.find(part) };
        text.get(..start + at?).map(|before| before.chars().count())
    });
    match found {
        Some(at) => Ok(Value::from(at)),
        None if name.ends_with("find") => Ok(Value::from(-1)),
        None => Err(error("substring not found")),
    }
}

fn partition(value: &Value, text: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let separator = only(name, "sep", arguments)?;
    let separator = string(name, &separator)?;
    if separator.is_empty() {
        return Err(error("empty separator"));
    }
    let (before, mark, after) = if name == "partition" {
        text.split_once(separator).map_or((text, "", ""), |(before, after)| (before, separator, after))
    } else {
        text.rsplit_once(separator).map_or(("", "", text), |(before, after)| (before, separator, after))
    };
    build::tuple([before, mark, after].into_iter().map(|part| markup::part(value, part)).collect())
}

/// `replace`, at most `count` times unless that is negative
pub(crate) fn replace<'t>(text: &'t str, old: &str, new: &str, count: i64) -> Result<Cow<'t, str>> {
    let times = usize::try_from(count).unwrap_or(usize::MAX);
    let occurrences = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    limits::size(text.len().saturating_add(occurrences.min(times).saturating_mul(new.len())))?;
    limits::charge_units(occurrences)?;
    Ok(if occurrences == 0 { Cow::Borrowed(text) } else { Cow::Owned(text.replacen(old, new, times)) })
}

fn join(separator: &str, parts: &[Value]) -> Result<String> {
    let mut out = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        let Kind::Str(part) = Kind::of(part) else {
            let kind = crate::values::type_name(part);
            return Err(error(format!("sequence item {index}: expected str instance, {kind} found")));
        };
        out.push_str(part);
        limits::size(out.len())?;
    }
    Ok(out)
}

/// `ljust`, `rjust` and `center`
pub(crate) fn justify(text: &str, name: &str, width: i64, fill: Option<&Value>) -> Result<String> {
    let fill = match fill {
        Some(fill) => string(name, fill)?,
        None => " ",
    };
    if fill.chars().count() != 1 {
        return Err(error("The fill character must be exactly one character long"));
    }
    let length = text.chars().count();
    let width = usize::try_from(width).unwrap_or(0);
    let margin = width.saturating_sub(length);
    limits::size(text.len().saturating_add(margin.saturating_mul(fill.len())))?;
    let left = match name {
        "ljust" => 0,
        "rjust" => margin,
        // Python puts the odd fill character on the left only if the width is odd, too.
        _ => margin / 2 + (margin & width & 1),
    };
    Ok([fill.repeat(left).as_str(), text, fill.repeat(margin - left).as_str()].concat())
}

fn zfill(text: &str, width: i64) -> Result<String> {
    let length = text.chars().count();
    let zeros = usize::try_from(width).unwrap_or(0).saturating_sub(length);
    limits::size(text.len().saturating_add(zeros))?;
    let (sign, digits) = if text.starts_with(['+', '-']) { text.split_at(1) } else { ("", text) };
    Ok([sign, &"0".repeat(zeros), digits].concat())
}

fn expand_tabs(text: &str, size: i64) -> Result<String> {
    let size = usize::try_from(size).unwrap_or(0);
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let spaces = size - column % size;
                limits::size(out.len().saturating_add(spaces))?;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            c => {
                out.push(c);
                column += 1;
            }
        }
    }
    Ok(out)
}
