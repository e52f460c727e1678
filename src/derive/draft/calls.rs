//! The field that reads calls.

use super::Leeway;
use super::close::close;
use super::values::{keywords_field, spelled_content};
use crate::derive::arguments::Arguments;
use crate::derive::calls::{Beside, Calls, Layout, Paths, Piece};
use crate::derive::findings::Findings;
use crate::derive::marks::{self, escape, flexible};
use crate::json::{Object, Value};

/// Writes the field for calls of any layout.
pub(super) fn field(calls: &Calls, findings: &Findings, leeway: Leeway) -> Object {
    match &calls.layout {
        Layout::Array(paths) => array_field(calls, paths, findings),
        Layout::Object(paths) => object_field(calls, paths, findings),
        Layout::Keyed => keyed_field(calls, findings),
        Layout::Marked { head, arguments: Arguments::Spelled(spelled) } if spelled.is_keywords() => {
            keywords_field(calls, head, spelled, findings)
        }
        Layout::Marked { head, arguments } => marked_field(calls, head, arguments, findings, leeway),
    }
}

/// An opening or closing key with a literal where one will do.
pub(super) fn delimiter(field: &mut Object, side: &str, literal: Option<&str>, pattern: String) {
    match literal {
        Some(literal) => field.insert(side.to_owned(), literal.into()),
        None => field.insert(format!("{side}_pattern"), pattern.into()),
    };
}

/// The shape of a call: type, id where there is one, name and arguments.
pub(super) fn shape(id: Option<&str>, name: &str, arguments: &str) -> Value {
    let mut shape = Object::new();
    shape.insert("type".to_owned(), "function".into());
    if let Some(id) = id {
        shape.insert("id".to_owned(), id.into());
    }
    let function = Value::from([("name", name.into()), ("arguments", arguments.into())]);
    shape.insert("function".to_owned(), function);
    Value::Object(shape)
}

fn placeholder(root: Option<&str>, path: &[String]) -> String {
    let parts: Vec<&str> = root.into_iter().chain(path.iter().map(String::as_str)).collect();
    format!("{{{}}}", parts.join("."))
}

fn path_shape(root: Option<&str>, paths: &Paths) -> Value {
    let id = paths.id.as_ref().map(|id| placeholder(root, id));
    shape(id.as_deref(), &placeholder(root, &paths.name), &placeholder(root, &paths.arguments))
}

/// What the beginning of a call's JSON object looks like, as far as it is always the same.
pub(super) fn object_start(paths: &Paths) -> String {
    let mut pattern = String::from("\\{");
    // Where the arguments come first, a model may well write the name first, as it is used to.
    if let [first, second] = paths.keys.as_slice()
        && paths.arguments.first() == Some(first)
    {
        return format!("\\{{\\s*\"(?:{}|{})\"\\s*:", escape(first), escape(second));
    }
    for (i, key) in paths.keys.iter().enumerate() {
        if i > 0 {
            pattern.push(',');
        }
        pattern.push_str(&format!("\\s*\"{}\"\\s*:", escape(key)));
        let simple = paths.name.first() == Some(key) && paths.name.len() == 1
            || paths.id.as_ref().is_some_and(|id| id.len() == 1 && id.first() == Some(key));
        if !simple {
            break;
        }
        if i + 1 < paths.keys.len() {
            pattern.push_str("\\s*\"[^\"]*\"\\s*");
        }
    }
    pattern
}

/// An opening mark, guarded by what must follow it where prose could hold it; without any mark, what follows alone.
fn guarded_open(field: &mut Object, calls: &Calls, start: &str) {
    let mark = calls.opening();
    if mark.is_empty() {
        // Where content never stands beside a call, only a call can begin the message.
        let whole = calls.content == Beside::Dropped;
        let pattern = if whole { format!("^\\s*(?={start})") } else { format!("(?={start})") };
        delimiter(field, "open", None, pattern);
    } else if mark.ends_with(|c: char| c.is_alphanumeric()) || !marks::is_distinct(&mark) {
        let pattern = format!("{}\\s*(?={start})", flexible(&mark));
        delimiter(field, "open", None, pattern);
    } else if mark.contains('\n') || marks::split(&mark).len() > 1 {
        delimiter(field, "open", None, flexible(&mark));
    } else {
        delimiter(field, "open", Some(&mark), String::new());
    }
}

fn array_field(calls: &Calls, paths: &Paths, findings: &Findings) -> Object {
    let mut field = Object::new();
    guarded_open(&mut field, calls, &format!("\\[\\s*{}", object_start(paths)));
    close(&mut field, calls, findings, None);
    field.insert("content".to_owned(), "json".into());
    field.insert("transform_each".to_owned(), true.into());
    field.insert("transform".to_owned(), path_shape(None, paths));
    field
}

fn object_field(calls: &Calls, paths: &Paths, findings: &Findings) -> Object {
    let mut field = Object::new();
    let open = calls.open.trim();
    if calls.parallel && open.is_empty() && !calls.section_open.is_empty() {
        // One object after another inside one pair of marks.
        let section = flexible(&calls.section_open);
        let start = object_start(paths);
        let own = calls.close.trim();
        if own.is_empty() {
            let inside = inside_section(calls, findings);
            let end = marks::groups(&calls.section_close).first().map(|mark| flexible(mark));
            let by_lines = [&calls.close, &calls.separator, &calls.open].iter().any(|text| text.contains('\n'));
            if let ([name, arguments], false) = (paths.keys.as_slice(), by_lines)
                && paths.name == [name.as_str()]
                && paths.arguments == [arguments.as_str()]
            {
                let separator = calls.separator.trim();
                let between = if separator.is_empty() { String::new() } else { format!("{}\\s*", escape(separator)) };
                return adjacent_field(&section, &between, &inside, name, arguments, end, findings);
            }
            delimiter(&mut field, "open", None, format!("{section}\\s*(?={start})|(?={start}){inside}"));
            let ends = end.map(|end| format!("(?={end})")).into_iter();
            let ends = ends.chain(findings.sure_stops().map(escape));
            delimiter(
                &mut field,
                "close",
                None,
                ["\\n".to_owned()].into_iter().chain(ends).collect::<Vec<_>>().join("|"),
            );
        } else {
            let after = format!("(?<={}\\s*)", flexible(own));
            delimiter(&mut field, "open", None, format!("{section}\\s*(?={start})|(?={start}){after}"));
            close(&mut field, calls, findings, None);
        }
    } else {
        let next =
            calls.close.trim().is_empty().then(|| flexible(open)).filter(|next| !next.is_empty() && calls.parallel);
        if calls.parallel && !open.is_empty() && !calls.section_open.is_empty() {
            let section = optional_section(calls);
            delimiter(&mut field, "open", None, format!("{section}{}", flexible(open)));
        } else {
            guarded_open(&mut field, calls, &object_start(paths));
        }
        close(&mut field, calls, findings, next);
    }
    field.insert("repeats".to_owned(), true.into());
    field.insert("content".to_owned(), "json".into());
    let plain = paths.keys == ["name", "arguments"] || paths.keys == ["arguments", "name"];
    let transform = if plain {
        Value::from([("type", "function".into()), ("function", "{content}".into())])
    } else {
        path_shape(Some("content"), paths)
    };
    field.insert("transform".to_owned(), transform);
    field
}

/// One object behind another, with no mark between or a sign: what begins a call takes its name, and its last brace
/// closes it.
fn adjacent_field(
    section: &str,
    between: &str,
    inside: &str,
    name: &str,
    arguments: &str,
    end: Option<String>,
    findings: &Findings,
) -> Object {
    let mut field = Object::new();
    let key = |key: &str| format!("\\s*\"{}\"\\s*:\\s*", escape(key));
    let start = |value: &str| format!("\\{{{}\"{value}\"\\s*,{}", key(name), key(arguments));
    let named = start("(?P<name>[^\"]*)");
    delimiter(&mut field, "open", None, format!("(?:{section}\\s*|{between}{inside}){named}"));
    let stops = findings.stops.iter().map(|stop| escape(stop));
    let ends: Vec<String> = [format!("{between}{}", start("[^\"]*"))].into_iter().chain(end).chain(stops).collect();
    delimiter(&mut field, "close", None, format!("\\}}\\s*(?:(?={})|$)", ends.join("|")));
    field.insert("repeats".to_owned(), true.into());
    field.insert("content".to_owned(), "json".into());
    field.insert("transform".to_owned(), shape(None, "{name}", "{content}"));
    field
}

/// Looks back to the section's opening mark, past no closing one. A closing sign that arguments may hold closes only
/// where the turn ends with it.
pub(super) fn inside_section(calls: &Calls, findings: &Findings) -> String {
    let section = flexible(&calls.section_open);
    let groups = marks::groups(&calls.section_close);
    let Some(end) = groups.first() else { return format!("(?<={section}.*)") };
    let stops: Vec<String> = findings.stops.iter().map(|stop| escape(stop)).collect();
    let end = match marks::is_distinct(end) || stops.is_empty() {
        true => flexible(end),
        false => format!("{}\\s*(?:{})", flexible(end), stops.join("|")),
    };
    format!("(?<={section}(?:(?!{end}).)*)")
}

pub(super) fn optional_section(calls: &Calls) -> String {
    if calls.section_open.is_empty() { String::new() } else { format!("(?:{}\\s*)?", flexible(&calls.section_open)) }
}

fn keyed_field(calls: &Calls, findings: &Findings) -> Object {
    let mut field = Object::new();
    let key = "\\{\\s*\"(?P<name>[^\"]+)\"\\s*:\\s*";
    let section = flexible(&calls.section_open);
    let open = if calls.open.trim().is_empty() {
        format!("(?:{section}\\s*|,\\s*{}){key}", inside_section(calls, findings))
    } else {
        format!("{}{}\\s*{key}", optional_section(calls), flexible(calls.open.trim()))
    };
    delimiter(&mut field, "open", None, open);
    let end = flexible(calls.section_close.trim());
    delimiter(&mut field, "close", None, format!("\\}}(?=\\s*(?:{end}|,\\s*\\{{\\s*\"[^\"]+\"\\s*:\\s*\\{{))"));
    field.insert("repeats".to_owned(), true.into());
    field.insert("content".to_owned(), "json".into());
    field.insert("transform".to_owned(), shape(None, "{name}", "{content}"));
    field
}

/// The pieces before the arguments as a pattern, with groups for name and id.
fn head_pattern(pieces: &[Piece], follows: &str, stands_out: bool) -> (String, bool) {
    let mut pattern = String::new();
    let mut has_id = false;
    for (i, piece) in pieces.iter().enumerate() {
        let next = match pieces.get(i + 1) {
            Some(Piece::Text(text)) if !text.trim().is_empty() => text.trim_start(),
            _ => follows.trim_start(),
        };
        // A word ends where the next mark begins; it holds no white space.
        let stop = next.chars().next().filter(|c| stands_out && !c.is_alphanumeric());
        let word = stop.map_or("[\\w.-]".to_owned(), |stop| {
            format!(
                "[^\\s{}]",
                if matches!(stop, '[' | ']' | '^' | '\\' | '-') { format!("\\{stop}") } else { stop.to_string() }
            )
        });
        match piece {
            Piece::Text(text) => {
                let text = if i + 1 == pieces.len() { text.trim_end() } else { text };
                // Models put space around a name that stands between tokens.
                let space = if marks::is_token(text) && text.starts_with(marks::opens) { "\\s*" } else { "" };
                pattern.push_str(&format!("{space}{}", flexible(text)));
            }
            Piece::Name => pattern.push_str(&format!("(?P<name>{word}+)")),
            Piece::NameAgain => pattern.push_str(&format!("{word}+")),
            Piece::Index => pattern.push_str("\\d+"),
            Piece::Id => {
                has_id = true;
                pattern.push_str(&format!("(?P<id>{word}+)"));
            }
            Piece::NamedId => {
                has_id = true;
                pattern.push_str(&format!("(?P<id>(?:\\w+\\.)?(?P<name>{word}+?)(?::\\d+)?)"));
            }
        }
    }
    (pattern, has_id)
}

fn marked_field(calls: &Calls, head: &[Piece], arguments: &Arguments, findings: &Findings, leeway: Leeway) -> Object {
    let mut field = Object::new();
    let follows = match arguments {
        Arguments::Spelled(spelled) => spelled.lead.as_str(),
        Arguments::Json | Arguments::Dialect { .. } => "{",
    };
    let begins_turn = begins_turn(calls);
    let stands_out = !calls.open.trim().is_empty() || head.first().is_some_and(|piece| piece.text().is_some());
    let broken_off = begins_turn
        && head.last().and_then(Piece::text).is_some_and(|text| text.trim().is_empty() && text.contains('\n'));
    let (mut head, has_id) = head_pattern(head, follows, stands_out);
    if broken_off {
        // The line break is all that tells a name from a word.
        head.push_str("\\s*\\n");
    }
    let open = calls.open.trim_start();
    let marks = marks::split(open);
    let own = match marks.split_last() {
        Some((last, outer)) if leeway.outer_marks_optional && !outer.is_empty() && marks::is_distinct(last) => {
            let outer: Vec<String> = outer.iter().map(|mark| escape(mark)).collect();
            let tail = if open.trim_end().len() < open.len() { "\\s*" } else { "" };
            format!("(?:{}\\s*)?{}{tail}", outer.join("\\s*"), escape(last))
        }
        _ if begins_turn => turn_start(calls, findings),
        _ => flexible(open),
    };
    let is_token = marks.last().is_some_and(|mark| marks::is_token(mark)) && !own.ends_with("\\s*");
    let own = if is_token { own + "\\s*" } else { own };
    // The mark that opens content may look like a call's.
    let guards = findings.content.opens.iter().filter(|_| !own.is_empty());
    let guard: String = guards.map(|content| guard_against(content, &calls.open)).collect();
    let section = if findings.content.opens.is_empty() { optional_section(calls) } else { String::new() };
    let follows = argument_guard(calls, arguments);
    delimiter(&mut field, "open", None, format!("{section}{own}{guard}{head}{follows}"));
    close(&mut field, calls, findings, (!own.is_empty()).then(|| next_call(calls, findings)));
    field.insert("repeats".to_owned(), true.into());
    let id = has_id.then_some("{id}");
    match arguments {
        Arguments::Json => {
            field.insert("content".to_owned(), "json".into());
        }
        Arguments::Dialect { unquoted_keys, quotes } => {
            field.insert("content".to_owned(), "json".into());
            let mut args = Object::new();
            if *unquoted_keys {
                args.insert("unquoted_keys".to_owned(), true.into());
            }
            if let Some((open, close)) = quotes {
                let pair = Value::List(vec![open.as_str().into(), close.as_str().into()]);
                args.insert("string_delims".to_owned(), Value::List(vec![pair]));
            }
            field.insert("content_args".to_owned(), Value::Object(args));
        }
        Arguments::Spelled(spelled) => spelled_content(&mut field, spelled),
    }
    field.insert("transform".to_owned(), shape(id, "{name}", "{content}"));
    field
}

/// Whether a call has no mark of its own: the first begins the turn, and what stands between two begins the others.
pub(super) fn begins_turn(calls: &Calls) -> bool {
    let marks = marks::split(&calls.separator);
    calls.open.trim().is_empty()
        && calls.section_open.is_empty()
        && marks.last().is_some_and(|mark| marks::is_sign(mark))
}

/// The start of the message, the end of reasoning, or what separates calls, of which the outer marks may have closed
/// content.
pub(super) fn turn_start(calls: &Calls, findings: &Findings) -> String {
    let marks = marks::split(&calls.separator);
    let Some((last, outer)) = marks.split_last() else { return String::new() };
    let outer: Vec<String> = outer.iter().map(|mark| escape(mark)).collect();
    let outer = if outer.is_empty() { String::new() } else { format!("(?:{}\\s*)?", outer.join("\\s*")) };
    let thought = findings.reasoning.as_ref().map(|reasoning| format!("(?<={}\\s*)|", escape(&reasoning.close)));
    format!("(?:^\\s*|{}{outer}{}\\s*)", thought.unwrap_or_default(), escape(last))
}

/// What must follow the head of a call whose mark alone would not stand out from an answer.
fn argument_guard(calls: &Calls, arguments: &Arguments) -> &'static str {
    let stands_out =
        marks::split(&calls.open).iter().any(|mark| marks::is_distinct(mark)) || !calls.section_open.is_empty();
    match arguments {
        Arguments::Json | Arguments::Dialect { .. } if !stands_out => "(?=\\s*\\{)",
        _ => "",
    }
}

/// What the next call looks like, seen from the end of what stands before it.
pub(super) fn next_call(calls: &Calls, findings: &Findings) -> String {
    if begins_turn(calls) {
        return flexible(calls.separator.trim());
    }
    let first = flexible(&calls.opening());
    let Layout::Marked { head, arguments } = &calls.layout else { return first };
    let guard = argument_guard(calls, arguments);
    if guard.is_empty() {
        return first;
    }
    let (head, _) = head_pattern(head, "{", true);
    let head = head.replace("(?P<name>", "(?:").replace("(?P<id>", "(?:");
    let guards: String = findings.content.opens.iter().map(|content| guard_against(content, &calls.open)).collect();
    format!("{first}{guards}{head}{guard}")
}

/// A text as a pattern, which is not the beginning of a longer word.
pub(super) fn whole_word(text: &str) -> String {
    let end = if marks::ends_in_word(text) { "(?![\\w.-])" } else { "" };
    format!("{}{end}", flexible(text))
}

/// Keeps a call's opening mark from taking content's.
fn guard_against(content: &str, open: &str) -> String {
    let open = open.trim();
    match content.strip_prefix(open) {
        Some(rest) if !rest.is_empty() => format!("(?!{})", whole_word(rest)),
        _ => String::new(),
    }
}
