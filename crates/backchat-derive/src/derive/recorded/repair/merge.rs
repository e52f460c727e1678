//! Adds a form of calls to those that a field already reads: openings and closings become alternatives, and the body
//! gets a form that covers both.

use super::layout::{Form, Layout, Listed, pattern};
use crate::derive::compile::pieces::Branches;
use crate::derive::compile::{MEMBER, escape};
use crate::wire::marks::Segmentation;
use backchat_core::json::{Object, Value};
use backchat_core::push_new;
use backchat_core::text::slice;
use backchat_parser::template::TAGGED;
use backchat_probe::probe::schema;

/// A JSON member whose value is not parsed: a string's quotes are not part of it.
const BARE_MEMBER: &str = "\"(?P<key>(?:[^\"\\\\]|\\\\.)*)\"\\s*:\\s*(?:\"(?P<value>(?:[^\"\\\\]|\\\\.)*)\"|(?P<value>(?P<nested>[\\[{](?:[^\\[\\]{}\"]|\"(?:[^\"\\\\]|\\\\.)*\"|(?&nested))*[\\]}])|[^\\s,{}\\[\\]\"]+))";

/// The parts of the field to which other forms can be added.
#[derive(Clone)]
struct BaseField {
    open: String,
    close: Option<String>,
    /// The paths of the name and the arguments in the object of a call that is read whole.
    whole: Option<(String, String)>,
    is_json: bool,
    tag: Option<String>,
    /// Whether the opening also captures an id.
    has_id: bool,
}

/// The fields that also read this layout, the closest to the known field first.
pub(super) fn combined(field: &Object, layout: &Layout) -> Vec<Object> {
    if field.get("transform_each").is_some() {
        return list(field, layout).into_iter().collect();
    }
    let is_whole_list = matches!(layout.form, Form::Object { listed: Listed::Whole, .. });
    let Some(base) = BaseField::read(field).filter(|_| !is_whole_list) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(known_tag) = &base.tag {
        // Known calls with values in another form.
        found.extend(layout.bodies(field, Some(known_tag)).into_iter().map(|body| with_body(field, &body)));
    }
    found.extend(base.with_object(field, layout));
    let Some(open) = layout.named_open(base.has_id) else { return found };
    let mut layout = layout.clone();
    if layout.close.is_empty() && Segmentation::Words.is_distinctive(&layout.open) {
        // A call without a close ends where the next one begins.
        layout.close = format!("(?={})", layout.open);
    }
    let layout = &layout;
    let has_same_body = match &layout.form {
        Form::Pairs { .. } | Form::Keywords { .. } | Form::Nothing { .. } => base.tag.is_some(),
        Form::Object { .. } => false,
        Form::Json { .. } => base.whole.is_none() && (base.is_json || base.tag.as_deref() == Some(MEMBER)),
    };
    if has_same_body {
        found.extend(base.with(field, &open, &layout.close, None));
    }
    if let (true, Some(known_tag)) = (has_same_body, &base.tag) {
        for body in layout.bodies(field, Some(known_tag)) {
            found.extend(base.with(field, &open, &layout.close, Some(body)));
        }
        return found;
    }
    let Some(named) = base.named() else { return found };
    let named = BaseField { open: named, ..base.clone() };
    if base.is_json && matches!(layout.form, Form::Object { .. } | Form::Json { .. }) {
        found.extend(named.with_arguments(field, layout, &open));
    }
    found.extend(named.with_pairs(field, layout, &open));
    found
}

/// The fields that read only this layout. `stop` ends a call without a close.
pub(super) fn alone(layout: &Layout, stop: Option<&str>) -> Vec<Object> {
    let none = Object::new();
    let has_id = layout.id.is_some() || layout.captures_id();
    let close = Some(layout.close.as_str()).filter(|close| !close.is_empty()).or(stop);
    let close = close.map(|close| format!("(?:{close})\\s*"));
    let object = |key: &str| format!("{{content.{key}}}");
    if let Form::Object { name, arguments, listed, .. } = &layout.form {
        let (open, [name, arguments], marker) = match listed {
            Listed::Item => return Vec::new(),
            Listed::Whole => {
                // A list without a marker begins the turn.
                let lead = if layout.open.is_empty() { "^" } else { &layout.open };
                let guard = format!("(?=\\s*\\[\\s*\\{{\\s*\"{}\"\\s*:)", pattern(name));
                (format!("{lead}{guard}"), [format!("{{{name}}}"), format!("{{{arguments}}}")], "transform_each")
            }
            Listed::No => (format!("{}(?=\\s*\\{{)", layout.open), [object(name), object(arguments)], "repeats"),
        };
        let mut made = with_delimiters(&none, open, close);
        made.insert("content", "json".into());
        let function = Value::from([("name", name.as_str().into()), ("arguments", arguments.as_str().into())]);
        made.insert("transform", schema::function(function));
        made.insert(marker, true.into());
        return vec![made];
    }
    let Some(open) = layout.named_open(has_id) else { return Vec::new() };
    let bodies = match layout.form {
        Form::Json { .. } => vec![BodyParser { content: "json".into(), arguments: None }],
        _ => layout.bodies(&none, None),
    };
    let mut field = with_delimiters(&none, open, close);
    field.insert("repeats", true.into());
    let made = bodies.iter().map(|body| {
        let mut made = with_body(&field, body);
        made.insert("transform", named_call(has_id));
        made
    });
    made.collect()
}

/// The field, reading a list of calls between other marks as well. A list without a closing mark ends like the field's
/// own lists, or with the text.
fn list(field: &Object, layout: &Layout) -> Option<Object> {
    let is_list = matches!(layout.form, Form::Object { listed: Listed::Whole, .. });
    let (open, close) = Some((&layout.open, layout.close.as_str())).filter(|(open, _)| is_list && !open.is_empty())?;
    let known_open = delimiter(field, "open")?;
    let known = delimiter(field, "close");
    let closes: Vec<&str> = known.as_deref().into_iter().chain(Some(close).filter(|close| !close.is_empty())).collect();
    let close = (!closes.is_empty()).then(|| format!("(?:{})\\s*", closes.join("|")));
    Some(with_delimiters(field, format!("{open}(?=\\s*\\[)|{known_open}"), close))
}

/// The field with another opening and, if given, another closing.
pub(super) fn with_delimiters(field: &Object, open: String, close: Option<String>) -> Object {
    let mut made = Object::from([("open_pattern".to_owned(), open.into())]);
    let has_close = close.is_some();
    made.extend(close.map(|close| ("close_pattern".to_owned(), close.into())));
    let is_kept = |key: &str| !(key.starts_with("open") || has_close && key.starts_with("close"));
    made.extend(field.iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.to_owned(), value.clone())));
    made
}

/// A content parser and its arguments.
#[derive(Clone)]
struct BodyParser {
    content: Value,
    arguments: Option<Value>,
}

fn inline(field: &Object, tag: &str, parses: bool) -> BodyParser {
    let mut arguments = Object::from([("tag_pattern".to_owned(), tag.into())]);
    let known = field.get("content_args").and_then(|args| args.get("value_parser")).cloned();
    if let Some(parser) = known.or(parses.then(|| json_values(false))) {
        arguments.insert("value_parser", parser);
    }
    BodyParser { content: TAGGED.into(), arguments: Some(Value::Object(arguments)) }
}

/// A value parser that reads JSON, with strings in single quotes if requested, and keeps other text.
fn json_values(has_single_quotes: bool) -> Value {
    let mut args = Object::from([("allow_non_json".to_owned(), true.into())]);
    if has_single_quotes {
        let pair = Value::List(vec!["'".into(), "'".into()]);
        args.insert("string_delims", Value::List(vec![pair]));
    }
    Value::from([("name", "json".into()), ("args", Value::Object(args))])
}

/// Whether a parser reads the values of a field's pairs.
pub(super) fn has_typed_values(field: &Object) -> bool {
    field.get("content_args").is_some_and(|args| args.get("value_parser").is_some())
}

/// The field with another body.
fn with_body(field: &Object, body: &BodyParser) -> Object {
    let mut field = field.clone();
    field.insert("content", body.content.clone());
    field.shift_remove("content_args");
    field.extend(body.arguments.clone().map(|arguments| ("content_args".to_owned(), arguments)));
    field
}

impl BodyParser {
    /// The same with a JSON parser for values, unless it has a parser.
    fn typed(mut self) -> Self {
        if let Some(Value::Object(arguments)) = &mut self.arguments {
            arguments.entry("value_parser").or_insert_with(|| json_values(false));
        }
        self
    }
}

impl BaseField {
    fn read(field: &Object) -> Option<Self> {
        let function = field.get("transform")?.get("function")?;
        let whole = match (function.as_str(), function.get("name").and_then(Value::as_str)) {
            (Some("{content}"), _) => Some(("name".to_owned(), "arguments".to_owned())),
            (_, Some("{name}")) => None,
            (_, Some(path)) => {
                let arguments = function.get("arguments").and_then(Value::as_str)?;
                let key = |path: &str| path.strip_prefix("{content.")?.strip_suffix('}').map(str::to_owned);
                Some((key(path)?, key(arguments)?))
            }
            _ => return None,
        };
        let content = field.get("content").and_then(Value::as_str)?;
        let tag = field.get("content_args").and_then(|args| args.get("tag_pattern")).and_then(Value::as_str);
        let open = delimiter(field, "open")?;
        Some(Self {
            has_id: open.contains("(?P<id>"),
            open,
            close: delimiter(field, "close"),
            whole,
            is_json: content == "json",
            tag: tag.map(str::to_owned),
        })
    }

    /// The opening with the name captured.
    fn named(&self) -> Option<String> {
        let Some((name, arguments)) = &self.whole else { return Some(self.open.clone()) };
        if name.contains('.') || arguments.contains('.') {
            return None;
        }
        Some(format!("{}{}", without_guard(&self.open), object_head(name, arguments)))
    }

    /// The fields in which the object stays whole, if the layout has the same: only the text around it is new.
    fn with_object(&self, field: &Object, layout: &Layout) -> Vec<Object> {
        let Form::Object { name, arguments, is_adjacent, .. } = &layout.form else { return Vec::new() };
        if self.whole.as_ref() != Some(&(name.clone(), arguments.clone())) {
            return Vec::new();
        }
        let guard = "(?=\\{\\s*\"|\\{\\s*\\})";
        // An answer has other objects between such marks: that of a call begins with its name.
        let named = format!("(?=\\{{\\s*\"{}\"\\s*:)", pattern(name));
        let open = format!("{}{}", layout.open, if *is_adjacent { &named } else { guard });
        let guarded = Self { open: format!("{}\\s*{guard}", without_guard(&self.open)), ..self.clone() };
        let bases = [self, &guarded];
        bases.into_iter().flat_map(|base| base.with(field, &open, &layout.close, None)).collect()
    }

    /// The fields that read JSON arguments alone, where the object around them ends with the call.
    fn with_arguments(&self, field: &Object, layout: &Layout, open: &str) -> Vec<Object> {
        let brace = |has_object: bool| if has_object { "\\}\\s*" } else { "" };
        let close = format!("{}{}", brace(matches!(layout.form, Form::Object { .. })), layout.close);
        let known_close = self.close.as_ref().map(|close| format!("{}(?:{close})", brace(self.whole.is_some())));
        let form = BodyParser { content: "json".into(), arguments: field.get("content_args").cloned() };
        Self { close: known_close, ..self.clone() }.with(field, open, &close, Some(form))
    }

    /// The fields that read each pair separately, anywhere.
    fn with_pairs(&self, field: &Object, layout: &Layout, open: &str) -> Vec<Object> {
        if let Some(tag) = &self.tag {
            let members = [(MEMBER, true), (BARE_MEMBER, false)];
            let bodies = members.map(|(member, parses)| inline(field, &format!("{tag}|{member}"), parses));
            return bodies.into_iter().flat_map(|body| self.with(field, open, &layout.close, Some(body))).collect();
        }
        if !layout.form.has_pairs() {
            return self.with(field, open, &layout.close, Some(inline(field, MEMBER, true)));
        }
        // A call of the known form may come before one of the other form.
        let before = match self.is_json && Segmentation::Words.is_distinctive(&layout.open) {
            true => format!("|(?<=\\}})(?=\\s*{})", layout.open),
            false => String::new(),
        };
        let close = format!("{}{before}", layout.close);
        let bodies = layout.bodies(field, Some(MEMBER)).into_iter();
        bodies.flat_map(|body| self.with(field, open, &close, Some(body.typed()))).collect()
    }

    /// The field with a second opening and closing, in both orders.
    fn with(&self, field: &Object, open: &str, close: &str, body: Option<BodyParser>) -> Vec<Object> {
        let close = close.trim_start_matches("\\s*");
        let mut closes: Vec<&str> = self.close.as_deref().into_iter().collect();
        if !close.is_empty() {
            push_new(&mut closes, close);
        }
        // White space after a call belongs to no field.
        let close = (!closes.is_empty()).then(|| format!("(?:{})\\s*", closes.join("|")));
        let mut repeated = Object::from([("repeats".to_owned(), true.into())]);
        let others = field.iter().filter(|(key, _)| *key != "repeats");
        repeated.extend(others.map(|(key, value)| (key, value.clone())));
        let orders = match self.open == open {
            true => vec![open.to_owned()],
            false => vec![format!("{open}|{}", self.open), format!("{}|{open}", self.open)],
        };
        let body = body.as_ref();
        let fields = orders.into_iter().map(|open| {
            let mut made = with_delimiters(&repeated, open, close.clone());
            if let Some(body) = body {
                made = with_body(&made, body);
                made.extend(self.whole.is_some().then(|| ("transform".to_owned(), named_call(false))));
            }
            made
        });
        fields.collect()
    }
}

fn named_call(has_id: bool) -> Value {
    let function = Value::from([("name", "{name}".into()), ("arguments", "{content}".into())]);
    let mut call = Object::from([("type".to_owned(), "function".into()), ("function".to_owned(), function)]);
    call.extend(has_id.then(|| ("id".to_owned(), "{id}".into())));
    Value::Object(call)
}

impl Form {
    /// Whether the arguments are written pair by pair.
    fn has_pairs(&self) -> bool {
        matches!(self, Form::Pairs { .. } | Form::Keywords { .. })
    }
}

impl Layout {
    /// The bodies that read its pairs and those of the known tag; none if the known tag reads both. For keywords, either
    /// tag may come first: their pairs look alike up to the values.
    fn bodies(&self, field: &Object, known_tag: Option<&str>) -> Vec<BodyParser> {
        match &self.form {
            Form::Pairs { tag, quoted, .. } if known_tag != Some(tag) => {
                // What parses the values takes texts from their quotes, and knows them from numbers by these.
                let quoted = quoted.iter().filter(|_| has_typed_values(field));
                let with_known = |tag: &String| known_tag.map_or_else(|| tag.clone(), |known| format!("{tag}|{known}"));
                quoted.chain([tag]).map(|tag| inline(field, &with_known(tag), false)).collect()
            }
            Form::Keywords { json, quoted, bare, .. } => {
                let orders = |tag: &str| match known_tag {
                    Some(known) => vec![format!("{tag}|{known}"), format!("{known}|{tag}")],
                    None => vec![tag.to_owned()],
                };
                let typed = |tag: &str, has_single_quotes: bool| {
                    let mut typed = inline(field, tag, false);
                    if let Some(Value::Object(arguments)) = &mut typed.arguments {
                        arguments.insert("value_parser", json_values(has_single_quotes));
                    }
                    typed
                };
                let quoted = orders(quoted).into_iter().map(|tag| typed(&tag, true));
                // Next to members of JSON, whose texts may hold single quotes.
                let json = orders(json).into_iter().filter(|_| known_tag == Some(MEMBER));
                let json = json.map(|tag| typed(&tag, false));
                let bare = orders(bare).into_iter().map(|tag| inline(field, &tag, false));
                quoted.chain(json).chain(bare).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The opening with the name captured.
    fn named_open(&self, has_id: bool) -> Option<String> {
        let Self { open, close, .. } = self;
        let (before, after) = match &self.id {
            Some((before, after)) if has_id => (format!("(?P<id>{before}"), format!("{after})")),
            Some((before, after)) => (before.clone(), after.clone()),
            None if has_id && !self.captures_id() => ("(?P<id>)".to_owned(), String::new()),
            None => Default::default(),
        };
        let name = format!("{before}(?P<name>[\\w.-]+){after}");
        match &self.form {
            Form::Object { is_adjacent: false, .. } => None,
            Form::Object { name, arguments, .. } => {
                let id = if has_id && !self.captures_id() { "(?P<id>)" } else { "" };
                Some(format!("{open}{id}{}", object_head(name, arguments)))
            }
            Form::Json { between } => Some(format!("{open}{name}{between}(?=\\s*\\{{)")),
            Form::Nothing { end } => Some(format!("{open}{name}(?={end})")),
            Form::Pairs { between, first, .. } => {
                let close = if close.is_empty() { String::new() } else { format!("|{close}") };
                Some(format!("{open}{name}{between}(?=\\s*(?:{first}{close}))"))
            }
            Form::Keywords { bracket, sign, .. } => {
                let end = close.split_once("(?").map_or(close.as_str(), |(end, _)| end);
                Some(format!("{open}{name}\\s*{bracket}(?=\\s*(?:[\\w.-]+\\s*{sign}|{end}))"))
            }
        }
    }
}

/// The beginning of an object, up to its arguments.
fn object_head(name: &str, arguments: &str) -> String {
    let (name, arguments) = (pattern(name), super::layout::pattern(arguments));
    format!("\\s*\\{{\\s*\"{name}\"\\s*:\\s*\"(?P<name>[^\"]*)\"\\s*,\\s*\"{arguments}\"\\s*:\\s*")
}

/// An opening without its look-arounds, for a pattern that continues: alternatives become one group.
fn without_guard(open: &str) -> String {
    let bare = |open: &str| match open.rfind("(?=") {
        Some(at) if open.ends_with(')') => slice(open, ..at).to_owned(),
        _ => open.to_owned(),
    };
    match Branches::read(open) {
        Some(Branches(branches)) if branches.len() > 1 => {
            let alternatives = branches.into_iter().map(|branch| bare(&Branches(vec![branch]).to_string()));
            format!("(?:{})", alternatives.collect::<Vec<_>>().join("|"))
        }
        _ => bare(open),
    }
}

/// A delimiter as a pattern.
pub(super) fn delimiter(field: &Object, side: &str) -> Option<String> {
    if let Some(pattern) = field.get(&format!("{side}_pattern")).and_then(Value::as_str) {
        return Some(pattern.to_owned());
    }
    let texts: Vec<String> = match field.get(side)? {
        Value::String(text) => vec![escape(text)],
        Value::List(texts) => texts.iter().filter_map(Value::as_str).map(escape).collect(),
        _ => return None,
    };
    Some(texts.join("|"))
}

#[cfg(test)]
mod tests {
    use super::super::align::{align, read as read_message};
    use super::super::keywords::layouts;
    use super::*;
    use crate::derive::by_hand::{object, read, said_calls, value};

    const CALLED: &str = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": "x"}}}]}"#;

    fn layout_of(text: &str, message: &str) -> Layout {
        let said = read_message(&object(message), None);
        layouts(text, &align(text, &said).unwrap(), 0, text.len()).remove(0)
    }

    /// Templates with each field that reads the calls of the sample in addition to those of the known field.
    fn made(field: &str, sample: &str) -> Vec<Value> {
        made_from(field, sample, CALLED)
    }

    /// The same for a sample with another message.
    fn made_from(field: &str, sample: &str, message: &str) -> Vec<Value> {
        let known = object(field);
        let template = |field: Object| {
            let fields = Value::from([("tool_calls", Value::Object(field)), ("content", value("{}"))]);
            Value::from([("start_anchor", "<b>".into()), ("fields", fields)])
        };
        combined(&known, &layout_of(sample, message)).into_iter().map(template).collect()
    }

    const WHOLE: &str = r#"{"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
        "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}}"#;
    const WHOLE_CALL: &str = r#"<call>{"name": "f", "arguments": {"a": "x"}}</call>"#;

    const TAGGED: &str = r#"{"open_pattern": "<f=(?P<name>\\w+)>", "close": "</f>", "repeats": true, "content": "xml-inline",
        "content_args": {"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)</>"},
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}"#;
    const TAGGED_CALL: &str = "<f=f><a>x</></f>";

    #[test]
    fn texts_keep_their_quotes_where_values_are_parsed() {
        let parser = r#"(?P<value>.*?)</>", "value_parser": {"name": "json", "args": {"allow_non_json": true}}}"#;
        let typed = TAGGED.replace(r#"(?P<value>.*?)</>"}"#, parser);
        let calls = [r#"<f=f><k a>"42"</k></f>"#, "<f=f><k a>42</k></f>"];
        let message = CALLED.replace(r#""x"}"#, r#""x", "b": 1}"#);
        let fields = made_from(&typed, r#"<f=f><k a>"x"</k><k b>1</k></f>"#, &message);
        let reads = |template: &Value| calls.map(|call| said_calls(&read(template, call)).concat());
        let wanted = [r#"f{"a": "42"}"#, r#"f{"a": 42}"#];
        assert!(fields.iter().any(|template| reads(template) == wanted), "{fields:?}");
    }

    #[test]
    fn a_field_reads_another_form_in_addition_to_its_own() {
        for (field, own, other) in [
            (WHOLE, WHOLE_CALL, r#"<tool>{"name": "f", "arguments": {"a": "x"}}</tool>"#),
            (WHOLE, WHOLE_CALL, r#"<tool>{"name": "f", "parameters": {"a": "x"}}</tool>"#),
            (WHOLE, WHOLE_CALL, r#"<tool>f({"a": "x"})</tool>"#),
            (WHOLE, WHOLE_CALL, "<tool=f><arg=a>x</arg></tool>"),
            (TAGGED, TAGGED_CALL, "<tool=f><arg=a>x</arg></tool>"),
            (TAGGED, TAGGED_CALL, r#"<tool>f({"a": "x"})</tool>"#),
        ] {
            let reads = |template: &Value, text: &str| said_calls(&read(template, text)) == [r#"f{"a": "x"}"#];
            let fields = made(field, other);
            assert!(
                fields.iter().any(|template| reads(template, own) && reads(template, other)),
                "{other}: {fields:?}"
            );
        }
    }

    #[test]
    fn a_list_of_calls_is_read_between_other_marks() {
        let listed = WHOLE.replace("\"repeats\": true", "\"transform_each\": true");
        let [made] = made(&listed, r#"<tools>[{"name": "f", "arguments": {"a": "x"}}]</tools>"#).try_into().unwrap();
        let field = made.get("fields").unwrap().get("tool_calls").unwrap();
        assert_eq!(field.get("open_pattern"), Some(&"<tools>(?=\\s*\\[)|<call>".into()));
        assert_eq!(field.get("close_pattern"), Some(&"(?:</call>|</tools>)\\s*".into()));
    }

    #[test]
    fn a_list_without_a_close_keeps_the_closes_of_the_field() {
        let listed = WHOLE.replace("\"repeats\": true", "\"transform_each\": true");
        let listed = listed.replace("{content.name}", "{name}").replace("{content.arguments}", "{arguments}");
        let [made] = made(&listed, r#"<tools> [{"name": "f", "arguments": {"a": "x"}}]"#).try_into().unwrap();
        for text in [
            r#"<tools> [{"name": "f", "arguments": {"a": "x"}}]"#,
            r#"<call>[{"name": "f", "arguments": {"a": "x"}}]</call>"#,
        ] {
            assert_eq!(said_calls(&read(&made, text)), [r#"f{"a": "x"}"#], "{text}");
        }
    }

    #[test]
    fn keywords_are_read_in_addition_to_any_other_body() {
        for (field, own) in [(WHOLE, WHOLE_CALL), (TAGGED, TAGGED_CALL)] {
            for other in ["<tool>f(a='x')</tool>", "[f(a='x')]"] {
                let fields = made(field, other);
                let reads = |template: &Value, text: &str| said_calls(&read(template, text)) == [r#"f{"a": "x"}"#];
                assert!(fields.iter().any(|made| reads(made, own) && reads(made, other)), "{other}: {fields:?}");
            }
        }
    }

    #[test]
    fn quotes_inside_quoted_keyword_values_are_kept() {
        let quoted = r#"{"open_pattern": "\\[(?P<name>[\\w.-]+)\\(", "close_pattern": "\\)\\]", "repeats": true,
            "content": "xml-inline",
            "content_args": {"tag_pattern": "(?P<key>\\w+)=\"(?P<value>.*?)\"(?=\\s*,\\s*\\w+=\"|\\s*\\Z)"},
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}"#;
        let own = r#"[f(a="say "x", and \" too", b="9")]"#;
        let own_reads = r#"f{"a": "say \"x\", and \\\" too", "b": "9"}"#;
        let fields = made(quoted, "[f(a='x')]");
        let reads = |template: &Value, text: &str| said_calls(&read(template, text));
        let both = |made: &&Value| reads(made, own) == [own_reads] && reads(made, "[f(a='x')]") == [r#"f{"a": "x"}"#];
        assert!(fields.iter().any(|made| both(&made)), "{fields:?}");
    }

    #[test]
    fn a_layout_alone_makes_a_field() {
        for text in [
            r#"<tool>{"name": "f", "arguments": {"a": "x"}}</tool>"#,
            r#"tools[{"name": "f", "arguments": {"a": "x"}}]"#,
            r#"<tool>f({"a": "x"})</tool>"#,
            "<tool=f><arg=a>x</arg></tool>",
            "[f(a='x')]",
        ] {
            let fields = alone(&layout_of(text, CALLED), Some("<end>")).into_iter().map(|field| {
                let fields = Value::from([("tool_calls", Value::Object(field)), ("content", value("{}"))]);
                Value::from([("start_anchor", "<b>".into()), ("fields", fields)])
            });
            let reads: Vec<_> = fields.map(|made| said_calls(&read(&made, &format!("{text}<end>")))).collect();
            assert!(reads.iter().any(|calls| *calls == [r#"f{"a": "x"}"#]), "{text}: {reads:?}");
        }
    }

    #[test]
    fn a_field_of_another_kind_is_not_changed() {
        let layout = r#"<tool>{"name": "f", "arguments": {"a": "x"}}</tool>"#;
        let text = r#"{"open": "<call>", "close": "</call>", "content": "text"}"#;
        assert!(made(text, layout).is_empty(), "no transform locates the name");
    }

    #[test]
    fn a_delimiter_becomes_a_pattern_of_all_its_literals() {
        let field = object(r#"{"open": ["<a>", "[b]"], "close_pattern": "x+"}"#);
        assert_eq!(delimiter(&field, "open").as_deref(), Some("<a>|\\[b\\]"));
        assert_eq!(delimiter(&field, "close").as_deref(), Some("x+"));
        assert_eq!(delimiter(&object("{}"), "open"), None);
        assert_eq!(without_guard("<a>(?=\\{)"), "<a>");
        assert_eq!(without_guard("<a>(?=x)b"), "<a>(?=x)b", "the look-ahead is not at its end");
        assert_eq!(without_guard("<a>(?=x|y)|<b>"), "(?:<a>|<b>)");
    }
}
