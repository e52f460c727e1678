//! The methods of `str`.

use std::collections::HashSet;

use minijinja::Value;

use super::arguments::{bind, integer, integer_or, none, positional, required, string, truth_or};
use super::{Kind, Result, containers, error, format, items_of};
use crate::chat::{limits, markup};

/// Names of the methods, which win over a key of the same name.
pub(crate) const METHODS: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "zfill",
];

/// White space, as `str.isspace` has it: Unicode's and four separators.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Calls a method of a string.
pub(crate) fn call(value: &Value, text: &str, name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    let like = |text: String| Ok(Some(markup::like(value, text)));
    let answer = |truth: bool| none(name, arguments).map(|()| Some(Value::from(truth)));
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let [characters] = positional(name, ["chars"], arguments)?;
            like(strip(name, text, characters.as_ref())?.to_owned())
        }
        "split" | "rsplit" => split(value, text, name, arguments).map(Some),
        "startswith" | "endswith" => affix(text, name, arguments).map(Some),
        "upper" => none(name, arguments).and_then(|()| like(text.to_uppercase())),
        "lower" => none(name, arguments).and_then(|()| like(text.to_lowercase())),
        "casefold" => none(name, arguments).and_then(|()| like(text.to_lowercase().replace('ß', "ss"))),
        "capitalize" => none(name, arguments).and_then(|()| like(capitalize(text))),
        "title" => none(name, arguments).and_then(|()| like(title(text))),
        "swapcase" => none(name, arguments).and_then(|()| like(swapcase(text))),
        "replace" => {
            let [old, new, count] = positional(name, ["old", "new", "count"], arguments)?;
            let (old, new) = (required(name, "old", old)?, required(name, "new", new)?);
            let new = markup::escaped_for(value, &new);
            let count = integer_or(name, &count, -1)?;
            like(replace(text, string(name, &old)?, string(name, &new)?, count)?)
        }
        "join" => {
            let [parts] = positional(name, ["iterable"], arguments)?;
            let parts = items_of(&required(name, "iterable", parts)?)?;
            let parts: Vec<Value> = parts.iter().map(|part| markup::escaped_for(value, part)).collect();
            join(text, &parts).map(|joined| Some(markup::like(value, joined)))
        }
        "find" | "rfind" | "index" | "rindex" | "count" => search(text, name, arguments).map(Some),
        "partition" | "rpartition" => partition(value, text, name, arguments).map(Some),
        "removeprefix" | "removesuffix" => {
            let [affix] = positional(name, ["affix"], arguments)?;
            let affix = required(name, "affix", affix)?;
            let affix = string(name, &affix)?;
            let rest = if name == "removeprefix" { text.strip_prefix(affix) } else { text.strip_suffix(affix) };
            like(rest.unwrap_or(text).to_owned())
        }
        "splitlines" => {
            let [keep] = bind(name, ["keepends"], arguments)?;
            let lines = split_lines(text, truth_or(&keep, false));
            limits::items(lines.len())?;
            containers::list(lines.into_iter().map(|line| markup::like(value, line.to_owned())).collect()).map(Some)
        }
        "ljust" | "rjust" | "center" => {
            let [width, fill] = positional(name, ["width", "fillchar"], arguments)?;
            let width = integer(name, &required(name, "width", width)?)?;
            like(justify(text, name, width, fill.as_ref())?)
        }
        "zfill" => {
            let [width] = positional(name, ["width"], arguments)?;
            let width = integer(name, &required(name, "width", width)?)?;
            like(zfill(text, width)?)
        }
        "expandtabs" => {
            let [size] = bind(name, ["tabsize"], arguments)?;
            like(expand_tabs(text, integer_or(name, &size, 8)?)?)
        }
        "format" => format::format(value, text, arguments).map(|text| Some(markup::like(value, text))),
        "isspace" => answer(!text.is_empty() && text.chars().all(is_space)),
        "isdigit" => answer(!text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || superscript(c))),
        "isdecimal" => answer(!text.is_empty() && text.chars().all(|c| c.is_ascii_digit())),
        "isnumeric" => answer(!text.is_empty() && text.chars().all(char::is_numeric)),
        "isalpha" => answer(!text.is_empty() && text.chars().all(char::is_alphabetic)),
        "isalnum" => answer(!text.is_empty() && text.chars().all(char::is_alphanumeric)),
        "isascii" => answer(text.is_ascii()),
        "isupper" => answer(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)),
        "islower" => answer(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)),
        "istitle" => answer(text.chars().any(char::is_alphabetic) && title(text) == text),
        "isidentifier" => answer(is_identifier(text)),
        "isprintable" => answer(text.chars().all(super::nonprintable::is_printable)),
        _ => Ok(None),
    }
}

fn superscript(c: char) -> bool {
    matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}' | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}')
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic()) && chars.all(|c| c == '_' || c.is_alphanumeric())
}

/// So many bytes of characters are searched one by one.
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
    // More parts than a list may have items are refused below, so there is no need to find them all.
    let limit = usize::try_from(integer_or(name, &limit, -1)?).unwrap_or(usize::MAX).min(limits::MAX_ITEMS);
    let from_right = name == "rsplit";
    let parts = match separator.filter(|separator| !separator.is_none()) {
        None => split_space(text, limit, from_right),
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
    containers::list(parts.into_iter().map(|part| markup::like(value, part.to_owned())).collect())
}

/// Splits at runs of white space, at most `limit` times; the rest keeps its inner white space.
fn split_space(text: &str, limit: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    if from_right {
        rest = rest.trim_end_matches(is_space);
        while !rest.is_empty() {
            let cut = if parts.len() < limit { rest.rfind(is_space) } else { None };
            let Some((at, space)) = cut.and_then(|at| Some((at, rest.get(at..)?.chars().next()?))) else {
                parts.push(rest);
                break;
            };
            parts.push(rest.get(at + space.len_utf8()..).unwrap_or_default());
            rest = rest.get(..at).unwrap_or_default().trim_end_matches(is_space);
        }
        parts.reverse();
    } else {
        rest = rest.trim_start_matches(is_space);
        while !rest.is_empty() {
            let cut = if parts.len() < limit { rest.find(is_space) } else { None };
            let Some(at) = cut else {
                parts.push(rest);
                break;
            };
            parts.push(rest.get(..at).unwrap_or_default());
            rest = rest.get(at..).unwrap_or_default().trim_start_matches(is_space);
        }
    }
    parts
}

/// Byte bounds of the slice of characters that optional start and end arguments mean.
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
        _ => Err(error(format!("{name} first arg must be str or a tuple of str, not {}", super::type_name(&affix)))),
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
    let [separator] = positional(name, ["sep"], arguments)?;
    let separator = required(name, "sep", separator)?;
    let separator = string(name, &separator)?;
    if separator.is_empty() {
        return Err(error("empty separator"));
    }
    let (before, mark, after) = if name == "partition" {
        text.split_once(separator).map_or((text, "", ""), |(before, after)| (before, separator, after))
    } else {
        text.rsplit_once(separator).map_or(("", "", text), |(before, after)| (before, separator, after))
    };
    containers::tuple([before, mark, after].into_iter().map(|part| markup::like(value, part.to_owned())).collect())
}

/// `replace`, at most `count` times unless that is negative
pub(crate) fn replace(text: &str, old: &str, new: &str, count: i64) -> Result<String> {
    let times = usize::try_from(count).unwrap_or(usize::MAX);
    let occurrences = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    limits::size(text.len().saturating_add(occurrences.min(times).saturating_mul(new.len())))?;
    Ok(text.replacen(old, new, times))
}

fn join(separator: &str, parts: &[Value]) -> Result<String> {
    let mut out = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        let Kind::Str(part) = Kind::of(part) else {
            let kind = super::type_name(part);
            return Err(error(format!("sequence item {index}: expected str instance, {kind} found")));
        };
        out.push_str(part);
        limits::size(out.len())?;
    }
    Ok(out)
}

/// First character in upper case, the rest in lower.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    title_case(first).chain(chars.as_str().to_lowercase().chars()).collect()
}

/// A character as it stands at the head of a word: digraphs have a form between upper and lower case.
fn title_case(c: char) -> impl Iterator<Item = char> {
    let mut upper: Vec<char> = match c {
        'Ǆ' | 'ǅ' | 'ǆ' => vec!['ǅ'],
        'Ǉ' | 'ǈ' | 'ǉ' => vec!['ǈ'],
        'Ǌ' | 'ǋ' | 'ǌ' => vec!['ǋ'],
        'Ǳ' | 'ǲ' | 'ǳ' => vec!['ǲ'],
        c => c.to_uppercase().collect(),
    };
    if let [_, rest @ ..] = upper.as_mut_slice() {
        for c in rest {
            *c = c.to_lowercase().next().unwrap_or(*c);
        }
    }
    upper.into_iter()
}

/// Every run of cased letters with its first in upper case.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(title_case(c));
        }
        inside = c.is_lowercase() || c.is_uppercase();
    }
    out
}

fn swapcase(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
    }
    out
}

/// The lines of a text, at every boundary `str.splitlines` knows. It stops after more lines than a list may have items,
/// for the caller to refuse them.
pub(crate) fn split_lines(text: &str, keep_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let boundary =
            matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        if !boundary {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        lines.push(text.get(start..if keep_ends { end } else { at }).unwrap_or_default());
        if lines.len() > limits::MAX_ITEMS {
            return lines;
        }
        start = end;
    }
    if start < text.len() {
        lines.push(text.get(start..).unwrap_or_default());
    }
    lines
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
        // Python puts the odd one to the left only where the width is odd too.
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
