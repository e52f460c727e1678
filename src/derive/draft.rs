//! From findings to a response template.

use super::arguments::{Arguments, Spelled, Strings};
use super::calls::{Calls, Layout, Paths, Piece};
use super::findings::Findings;
use super::marks::{self, escape, flexible};
use crate::json::{Object, Value};

/// What the format leaves open: drafts differ in these, and the proof decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leeway {
    /// Whether a call whose outer mark is missing is still read as one.
    pub outer_marks_optional: bool,
    /// Whether a closing mark of reasoning that nothing opened is left out of content.
    pub stray_close_swallowed: bool,
}

impl Leeway {
    /// The leeways worth trying, the best first. An answer that only talks about a mark is kept whole where the proof
    /// and the samples leave it at that.
    pub const ALL: [Leeway; 3] = [
        Leeway { outer_marks_optional: true, stray_close_swallowed: false },
        Leeway { outer_marks_optional: false, stray_close_swallowed: false },
        Leeway { outer_marks_optional: true, stray_close_swallowed: true },
    ];
}

/// Writes the response template these findings ask for.
pub(super) fn draft(findings: &Findings, leeway: Leeway) -> Value {
    let mut template = Object::new();
    template.insert("defaults".to_owned(), Value::from([("role", "assistant".into())]));
    template.insert("start_anchor".to_owned(), one_or_many(anchors(findings)));
    let mut fields = Object::new();
    let joins = findings.calls.is_some() && findings.content.opens.is_empty();
    if let Some(reasoning) = &findings.reasoning {
        let mut field = Object::new();
        field.insert("open".to_owned(), reasoning.open.as_str().into());
        if joins {
            field.insert("close_pattern".to_owned(), format!("{}\\s*", escape(&reasoning.close)).into());
        } else {
            field.insert("close".to_owned(), reasoning.close.as_str().into());
        }
        field.insert("content".to_owned(), "text".into());
        fields.insert(findings.reasoning_field.clone(), Value::Object(field));
    }
    if let Some(calls) = &findings.calls {
        fields.insert("tool_calls".to_owned(), Value::Object(call_field(calls, findings, leeway)));
    }
    fields.insert("content".to_owned(), Value::Object(content_field(findings, joins, leeway)));
    template.insert("fields".to_owned(), Value::Object(fields));
    Value::Object(template)
}

/// The ends of the prompt after which the message begins; a closing mark the prompt writes alone is no part of it.
fn anchors(findings: &Findings) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut add = |text: String| {
        if !anchors.contains(&text) {
            anchors.push(text);
        }
    };
    for header in &findings.turn.headers {
        let text = header.text.trim_start();
        if let Some(reasoning) = &findings.reasoning {
            for prompt in findings.turn.prompts.iter().filter(|prompt| prompt.after == header.after) {
                if prompt.prefill.trim() == reasoning.close {
                    add(format!("{text}{}", prompt.prefill));
                }
            }
        }
        add(text.to_owned());
    }
    anchors
}

fn one_or_many(mut texts: Vec<String>) -> Value {
    match texts.len() {
        1 => texts.remove(0).into(),
        _ => Value::List(texts.into_iter().map(Value::from).collect()),
    }
}

fn content_field(findings: &Findings, joins: bool, leeway: Leeway) -> Object {
    let mut field = Object::new();
    let content = &findings.content;
    if !content.opens.is_empty() {
        field.insert("open".to_owned(), one_or_many(content.opens.clone()));
    }
    let mut closes: Vec<String> = Vec::new();
    let mut add = |mark: &str| {
        // Where content is all that stands outside other marks, what ends it must not occur in prose or code.
        let stands_out = !content.opens.is_empty() || marks::is_distinct(mark);
        if !mark.trim().is_empty() && stands_out && !closes.iter().any(|known| known == mark) {
            closes.push(mark.to_owned());
        }
    };
    content.closes.iter().chain(&content.wraps).for_each(|mark| add(mark));
    if content.opens.is_empty() {
        if (content.closes_reasoning || leeway.stray_close_swallowed)
            && let Some(reasoning) = &findings.reasoning
        {
            add(&reasoning.close);
        }
        if findings.turn.writes_header {
            add(findings.turn.header().trim());
        }
        if let Some(calls) = &findings.calls {
            marks::groups(&calls.section_close).into_iter().for_each(&mut add);
        }
    }
    findings.stops.iter().for_each(|stop| add(stop));
    if !closes.is_empty() {
        // White space after the end must not begin a new piece of content.
        let mut patterns: Vec<String> = closes.iter().map(|close| flexible(close)).collect();
        let pattern = if patterns.len() == 1 { patterns.remove(0) } else { format!("(?:{})", patterns.join("|")) };
        if content.opens.is_empty() {
            field.insert("close_pattern".to_owned(), format!("{pattern}\\s*").into());
        } else if let Some(calls) = findings.calls.as_ref().filter(|_| content.ends_at_calls) {
            let next = next_call(calls, findings);
            field.insert("close_pattern".to_owned(), format!("(?={next})|{pattern}").into());
        } else {
            field.insert("close".to_owned(), one_or_many(closes));
        }
    }
    field.insert("content".to_owned(), "text".into());
    if joins {
        field.insert("repeats".to_owned(), true.into());
        field.insert("join".to_owned(), "\n\n".into());
    }
    field
}

fn call_field(calls: &Calls, findings: &Findings, leeway: Leeway) -> Object {
    match &calls.layout {
        Layout::Array(paths) => array_field(calls, paths, findings),
        Layout::Object(paths) => object_field(calls, paths, findings),
        Layout::Keyed => keyed_field(calls),
        Layout::Marked { head, arguments: Arguments::Spelled(spelled) } if spelled.is_keywords() => {
            keywords_field(calls, head, spelled)
        }
        Layout::Marked { head, arguments } => marked_field(calls, head, arguments, findings, leeway),
    }
}

/// An opening or closing key with a literal where one will do.
fn delimiter(field: &mut Object, side: &str, literal: Option<&str>, pattern: String) {
    match literal {
        Some(literal) => field.insert(side.to_owned(), literal.into()),
        None => field.insert(format!("{side}_pattern"), pattern.into()),
    };
}

/// The call's close, or where calls have none, whatever ends the turn.
fn close(field: &mut Object, calls: &Calls, findings: &Findings, next: Option<String>) {
    let own = calls.close.trim();
    if !own.is_empty() {
        let pattern = format!("{}\\s*", flexible(own));
        delimiter(field, "close", None, pattern);
        return;
    }
    let tail = marks::split(&calls.section_close);
    let mut ends: Vec<&str> = findings.stops.iter().map(String::as_str).collect();
    ends.extend(tail.iter().filter(|mark| !findings.stops.iter().any(|stop| stop == *mark)));
    match next {
        Some(next) => {
            let mut patterns = vec![format!("(?={next})")];
            patterns.extend(ends.iter().map(|end| escape(end)));
            field.insert("close_pattern".to_owned(), patterns.join("|").into());
        }
        None if ends.is_empty() => {}
        None => {
            field.insert("close".to_owned(), one_or_many(ends.into_iter().map(str::to_owned).collect()));
        }
    }
}

/// The shape of a call: type, id where there is one, name and arguments.
fn shape(id: Option<&str>, name: &str, arguments: &str) -> Value {
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
fn object_start(paths: &Paths) -> String {
    let mut pattern = String::from("\\{");
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
    let mark = first_call_mark(calls);
    if mark.is_empty() {
        // Where content never stands beside a call, only a call can begin the message.
        let whole = calls.content == super::calls::Beside::Dropped;
        let pattern = if whole { format!("^\\s*(?={start})") } else { format!("(?={start})") };
        delimiter(field, "open", None, pattern);
    } else if mark.ends_with(|c: char| c.is_alphanumeric()) {
        let pattern = format!("{}\\s*(?={start})", flexible(&mark));
        delimiter(field, "open", None, pattern);
    } else if mark.contains('\n') || marks::split(&mark).len() > 1 {
        delimiter(field, "open", None, flexible(&mark));
    } else {
        delimiter(field, "open", Some(&mark), String::new());
    }
}

/// The marks before the first call.
fn first_call_mark(calls: &Calls) -> String {
    format!("{}{}", calls.section_open, calls.open).trim().to_owned()
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
            let inside = inside_section(calls);
            delimiter(&mut field, "open", None, format!("{section}\\s*(?={start})|(?={start}){inside}"));
            let end = marks::groups(&calls.section_close).first().map(|mark| format!("|(?={})", flexible(mark)));
            delimiter(&mut field, "close", None, format!("\\n{}", end.unwrap_or_default()));
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

/// Looks back to the section's opening mark, past no closing one.
fn inside_section(calls: &Calls) -> String {
    let section = flexible(&calls.section_open);
    match marks::groups(&calls.section_close).first() {
        Some(end) => format!("(?<={section}(?:(?!{}).)*)", flexible(end)),
        None => format!("(?<={section}.*)"),
    }
}

fn optional_section(calls: &Calls) -> String {
    if calls.section_open.is_empty() { String::new() } else { format!("(?:{}\\s*)?", flexible(&calls.section_open)) }
}

fn keyed_field(calls: &Calls) -> Object {
    let mut field = Object::new();
    let key = "\\{\\s*\"(?P<name>[^\"]+)\"\\s*:\\s*";
    let section = flexible(&calls.section_open);
    let open = if calls.open.trim().is_empty() {
        format!("(?:{section}\\s*|,\\s*{}){key}", inside_section(calls))
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
fn head_pattern(pieces: &[Piece], follows: &str) -> (String, bool) {
    let mut pattern = String::new();
    let mut has_id = false;
    for (i, piece) in pieces.iter().enumerate() {
        let next = match pieces.get(i + 1) {
            Some(Piece::Text(text)) if !text.trim().is_empty() => text.trim_start(),
            _ => follows.trim_start(),
        };
        // A word ends where the next mark begins; it holds no white space.
        let word = next.chars().next().filter(|c| !c.is_alphanumeric()).map_or("[\\w.-]".to_owned(), |stop| {
            format!(
                "[^\\s{}]",
                if matches!(stop, '[' | ']' | '^' | '\\' | '-') { format!("\\{stop}") } else { stop.to_string() }
            )
        });
        match piece {
            Piece::Text(text) => {
                let text = if i + 1 == pieces.len() { text.trim_end() } else { text };
                pattern.push_str(&flexible(text));
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
    let (head, has_id) = head_pattern(head, follows);
    let open = calls.open.trim_start();
    let marks = marks::split(open);
    let own = match marks.split_last() {
        Some((last, outer)) if leeway.outer_marks_optional && !outer.is_empty() && marks::is_distinct(last) => {
            let outer: Vec<String> = outer.iter().map(|mark| escape(mark)).collect();
            let tail = if open.trim_end().len() < open.len() { "\\s*" } else { "" };
            format!("(?:{}\\s*)?{}{tail}", outer.join("\\s*"), escape(last))
        }
        _ => flexible(open),
    };
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
fn next_call(calls: &Calls, findings: &Findings) -> String {
    let first = flexible(format!("{}{}", calls.section_open, calls.open).trim());
    let Layout::Marked { head, arguments } = &calls.layout else { return first };
    let guard = argument_guard(calls, arguments);
    if guard.is_empty() {
        return first;
    }
    let (head, _) = head_pattern(head, "{");
    let head = head.replace("(?P<name>", "(?:").replace("(?P<id>", "(?:");
    let guards: String = findings.content.opens.iter().map(|content| guard_against(content, &calls.open)).collect();
    format!("{first}{guards}{head}{guard}")
}

/// Keeps a call's opening mark from taking content's.
fn guard_against(content: &str, open: &str) -> String {
    let open = open.trim();
    match content.strip_prefix(open) {
        Some(rest) if !rest.is_empty() => format!("(?!{})", flexible(rest)),
        _ => String::new(),
    }
}

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

fn spelled_content(field: &mut Object, spelled: &Spelled) {
    let gap = spelled.gap.trim_end();
    let close = spelled.close.trim_start().replace(super::arguments::KEY, "\u{1}");
    let lead_space = frame(spelled.gap.get(gap.len()..).unwrap_or(""));
    let tail_space = frame(spelled.close.get(..spelled.close.len() - spelled.close.trim_start().len()).unwrap_or(""));
    let stop = gap.trim_start().chars().next().unwrap_or('=');
    let key =
        if stop.is_alphanumeric() { "[\\w.-]".to_owned() } else { format!("[^\\s{}]", escape(&stop.to_string())) };
    let key = format!("{}(?P<key>{key}+)", flexible(&spelled.lead));
    let close = if spelled.key_again { key_again(&close) } else { flexible(&close) };
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
    close.split('\u{1}').map(flexible).collect::<Vec<_>>().join("(?P=key)")
}

fn keywords_field(calls: &Calls, head: &[Piece], spelled: &Spelled) -> Object {
    let mut field = Object::new();
    let after = match head.iter().rev().find(|piece| matches!(piece, Piece::Text(_))) {
        Some(Piece::Text(text)) => flexible(text.trim()),
        _ => String::new(),
    };
    let name = "(?P<name>[\\w.-]+)";
    let section = flexible(&calls.section_open);
    let separator = match calls.separator.trim() {
        "" => "\\s*",
        sign => &format!("{}\\s*", escape(sign)),
    };
    let open = match calls.open.trim() {
        "" if calls.section_open.is_empty() => format!("{name}{after}"),
        "" => {
            let close = escape(calls.close.trim());
            let inside = inside_section(calls);
            format!("(?:{section}\\s*|(?<={close}){separator}{inside}){name}{after}")
        }
        own => format!("{}{}\\s*{name}{after}", optional_section(calls), flexible(own)),
    };
    delimiter(&mut field, "open", None, open);
    let end = marks::groups(&calls.section_close).first().map_or("$".to_owned(), |mark| flexible(mark));
    let close = flexible(calls.close.trim());
    let quotes = match &spelled.strings {
        // Where quotes are escaped, a closing sign inside a string is told from the real one by counting quotes.
        Strings::Json | Strings::Quoted { escaped: true, .. } if !calls.section_open.is_empty() => {
            format!("(?<={section}(?:[^'\"\\\\]|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\")*)")
        }
        _ => String::new(),
    };
    delimiter(&mut field, "close", None, format!("{close}(?=\\s*{end}|{separator}[\\w.-]+{after}){quotes}"));
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
            let value = format!("(?:(?!{simple}){q})?(?P<value>{simple}|{nested}|.*?(?={q}?{end}))");
            (value, Some(delims(&quote.to_string(), &quote.to_string())))
        }
        _ => (format!("(?P<value>\"(?:[^\"\\\\]|\\\\.)*\"|{nested}|.*?(?={end}))"), None),
    };
    let args = Value::from([("tag_pattern", format!("{key}{value}").into()), ("value_parser", value_parser(parser))]);
    field.insert("content_args".to_owned(), args);
    field.insert("transform".to_owned(), shape(None, "{name}", "{content}"));
    field
}
