//! One more way to write calls beside those that a field reads already: the openings and closings as alternatives, the
//! bodies in a form that holds both.

use super::layout::{Form, Layout};
use crate::derive::readers::pieces::Branches;
use crate::json::{Object, Value};
use crate::text::slice;
use crate::wire::marks::Segmentation;

/// A JSON member, as a tag of `xml-inline`.
const MEMBER: &str = "\"(?P<key>[^\"\\\\]+)\"\\s*:\\s*(?P<value>\"(?:[^\"\\\\]|\\\\.)*\"|(?P<nested>[\\[{](?:[^\\[\\]{}\"]|\"(?:[^\"\\\\]|\\\\.)*\"|(?&nested))*[\\]}])|[^\\s,{}\\[\\]\"]+)";

/// The same for values that are left as they are: a string's quotes are not part of it.
const BARE_MEMBER: &str = "\"(?P<key>[^\"\\\\]+)\"\\s*:\\s*(?:\"(?P<value>(?:[^\"\\\\]|\\\\.)*)\"|(?P<value>(?P<nested>[\\[{](?:[^\\[\\]{}\"]|\"(?:[^\"\\\\]|\\\\.)*\"|(?&nested))*[\\]}])|[^\\s,{}\\[\\]\"]+))";

/// The field as far as other ways can be put beside it.
struct Known {
    open: String,
    close: Option<String>,
    /// The paths of the name and the arguments in the object of a call that is read whole.
    whole: Option<(String, String)>,
    is_json: bool,
    tag: Option<String>,
    /// Whether the opening captures an id, too.
    has_id: bool,
}

/// The fields that read this layout, too, the closest to the known field first.
pub(super) fn beside(field: &Object, layout: &Layout) -> Vec<Object> {
    if field.get("transform_each").is_some() {
        return list(field, layout).into_iter().collect();
    }
    let Some(known) = Known::of(field) else { return Vec::new() };
    let mut found = Vec::new();
    if let (Form::Pairs { tag, .. }, Some(known_tag)) = (&layout.form, &known.tag)
        && tag != known_tag
    {
        // Values written otherwise, in calls that are read already.
        found.push(tagged(field, &format!("{tag}|{known_tag}")));
    }
    if let (Form::Object { name, arguments, .. }, Some(keys)) = (&layout.form, &known.whole)
        && (name, arguments) == (&keys.0, &keys.1)
    {
        // The object stays whole: only the text around it is new.
        let guard = "(?=\\{\\s*\"|\\{\\s*\\})";
        let open = format!("{}{guard}", layout.open);
        found.extend(known.with(field, &open, &layout.close, None));
        let guarded = Known { open: format!("{}\\s*{guard}", without_guard(&known.open)), ..known.copy() };
        found.extend(guarded.with(field, &open, &layout.close, None));
    }
    let Some(open) = layout.named_open(known.has_id) else { return found };
    let mut layout = layout.clone();
    if layout.close.is_empty() && Segmentation::Words.is_distinctive(&layout.open) {
        // A call that nothing closes ends where the next one begins.
        layout.close = format!("(?={})", layout.open);
    }
    let layout = &layout;
    let has_same_body = match &layout.form {
        Form::Pairs { .. } => known.tag.is_some(),
        Form::Object { .. } => false,
        Form::Json { .. } => known.is_json && known.whole.is_none(),
    };
    if has_same_body {
        found.extend(known.with(field, &open, &layout.close, None));
    }
    if let (Form::Pairs { tag, .. }, Some(known_tag)) = (&layout.form, &known.tag) {
        if tag != known_tag {
            let body = inline(field, &format!("{tag}|{known_tag}"), false);
            found.extend(known.with(field, &open, &layout.close, Some(body)));
        }
        return found;
    }
    let Some(named) = known.named() else { return found };
    // Everything as JSON arguments, if the object around them ends with the call.
    if known.is_json && !matches!(layout.form, Form::Pairs { .. }) {
        let brace = |has_object: bool| if has_object { "\\}\\s*" } else { "" };
        let close = format!("{}{}", brace(matches!(layout.form, Form::Object { .. })), layout.close);
        let known_close = known.close.as_ref().map(|close| format!("{}(?:{close})", brace(known.whole.is_some())));
        let named = Known { open: named.clone(), close: known_close, ..known.copy() };
        let form = BodyParser { content: "json".into(), arguments: field.get("content_args").cloned() };
        found.extend(named.with(field, &open, &close, Some(form)));
    }
    // Every pair by itself, at any position.
    let named = Known { open: named, ..known.copy() };
    if let Some(tag) = &known.tag {
        for (member, parses) in [(MEMBER, true), (BARE_MEMBER, false)] {
            let body = inline(field, &format!("{tag}|{member}"), parses);
            found.extend(named.with(field, &open, &layout.close, Some(body)));
        }
        return found;
    }
    let tag = match &layout.form {
        Form::Pairs { tag, .. } => format!("{tag}|{MEMBER}"),
        _ => MEMBER.to_owned(),
    };
    found.extend(named.with(field, &open, &layout.close, Some(inline(field, &tag, true))));
    found
}

/// A field that reads all calls as one list, between other marks.
fn list(field: &Object, layout: &Layout) -> Option<Object> {
    let open = layout.open.get(..layout.open.rfind("\\[")?)?;
    let close = layout.close.split_once("\\]").map(|(_, close)| close)?;
    if open.is_empty() || close.is_empty() {
        return None;
    }
    let mut made = Object::new();
    made.insert("open_pattern".to_owned(), format!("{open}(?=\\[)|{}", delimiter(field, "open")?).into());
    let known = delimiter(field, "close").map_or_else(String::new, |close| format!("{close}|"));
    made.insert("close_pattern".to_owned(), format!("(?:{known}{close})\\s*").into());
    let kept = |key: &str| !key.starts_with("open") && !key.starts_with("close");
    made.extend(field.iter().filter(|(key, _)| kept(key)).map(|(key, value)| (key.clone(), value.clone())));
    Some(made)
}

/// A content parser and its arguments.
struct BodyParser {
    content: Value,
    arguments: Option<Value>,
}

fn inline(field: &Object, tag: &str, parses: bool) -> BodyParser {
    let mut arguments = Object::from([("tag_pattern".to_owned(), tag.into())]);
    let known = field.get("content_args").and_then(|args| args.get("value_parser")).cloned();
    let json = Value::from([("name", "json".into()), ("args", Value::from([("allow_non_json", true.into())]))]);
    if let Some(parser) = known.or(parses.then_some(json)) {
        arguments.insert("value_parser".to_owned(), parser);
    }
    BodyParser { content: "xml-inline".into(), arguments: Some(Value::Object(arguments)) }
}

/// The field with another tag and nothing else.
fn tagged(field: &Object, tag: &str) -> Object {
    let mut field = field.clone();
    field.extend(inline(&field, tag, false).arguments.map(|arguments| ("content_args".to_owned(), arguments)));
    field
}

impl Known {
    fn of(field: &Object) -> Option<Self> {
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

    fn copy(&self) -> Self {
        Self {
            open: self.open.clone(),
            close: self.close.clone(),
            whole: self.whole.clone(),
            is_json: self.is_json,
            tag: self.tag.clone(),
            has_id: self.has_id,
        }
    }

    /// The opening with the name captured.
    fn named(&self) -> Option<String> {
        let Some((name, arguments)) = &self.whole else { return Some(self.open.clone()) };
        if name.contains('.') || arguments.contains('.') {
            return None;
        }
        Some(format!("{}{}", without_guard(&self.open), object_head(name, arguments)))
    }

    /// The field with another opening and closing beside its own, in both orders.
    fn with(&self, field: &Object, open: &str, close: &str, body: Option<BodyParser>) -> Vec<Object> {
        let close = close.trim_start_matches("\\s*");
        let mut closes: Vec<&str> = self.close.as_deref().into_iter().collect();
        if !close.is_empty() && !closes.contains(&close) {
            closes.push(close);
        }
        // White space after a call is nobody's.
        let close = format!("(?:{})\\s*", closes.join("|"));
        let orders = match self.open == open {
            true => vec![open.to_owned()],
            false => vec![format!("{open}|{}", self.open), format!("{}|{open}", self.open)],
        };
        let body = body.as_ref();
        let fields = orders.into_iter().map(|open| {
            let mut made = Object::new();
            made.insert("open_pattern".to_owned(), open.into());
            if !closes.is_empty() {
                made.insert("close_pattern".to_owned(), close.as_str().into());
            }
            made.insert("repeats".to_owned(), true.into());
            let kept = |key: &str| !["open", "open_pattern", "close", "close_pattern", "repeats"].contains(&key);
            made.extend(field.iter().filter(|(key, _)| kept(key)).map(|(key, value)| (key.clone(), value.clone())));
            if let Some(body) = body {
                made.insert("content".to_owned(), body.content.clone());
                made.shift_remove("content_args");
                made.extend(body.arguments.clone().map(|arguments| ("content_args".to_owned(), arguments)));
                made.extend(self.whole.is_some().then(|| ("transform".to_owned(), named_call())));
            }
            made
        });
        fields.collect()
    }
}

fn named_call() -> Value {
    let function = Value::from([("name", "{name}".into()), ("arguments", "{content}".into())]);
    Value::from([("type", "function".into()), ("function", function)])
}

impl Layout {
    /// The opening with the name captured.
    fn named_open(&self, has_id: bool) -> Option<String> {
        let Self { open, close, .. } = self;
        let (before, after) = match &self.id {
            Some((before, after)) if has_id => (format!("(?P<id>{before}"), format!("{after})")),
            Some((before, after)) => (before.clone(), after.clone()),
            None if has_id => ("(?P<id>)".to_owned(), String::new()),
            None => Default::default(),
        };
        let name = format!("{before}(?P<name>[\\w.-]+){after}");
        match &self.form {
            Form::Object { is_adjacent: false, .. } => None,
            Form::Object { name, arguments, .. } => {
                let id = if has_id { "(?P<id>)" } else { "" };
                Some(format!("{open}{id}{}", object_head(name, arguments)))
            }
            Form::Json { between } => Some(format!("{open}{name}{between}(?=\\s*\\{{)")),
            Form::Pairs { between, first, .. } => {
                let close = if close.is_empty() { String::new() } else { format!("|{close}") };
                Some(format!("{open}{name}{between}(?=\\s*(?:{first}{close}))"))
            }
        }
    }
}

/// The beginning of an object, up to its arguments.
fn object_head(name: &str, arguments: &str) -> String {
    let (name, arguments) = (super::layout::pattern(name), super::layout::pattern(arguments));
    format!("\\s*\\{{\\s*\"{name}\"\\s*:\\s*\"(?P<name>[^\"]*)\"\\s*,\\s*\"{arguments}\"\\s*:\\s*")
}

/// An opening without the text that it only looks at, for a pattern that goes on: alternatives become one group.
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

/// A text as a pattern that matches exactly it.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            c if "\\.^$|?*+()[]{}".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::align::{SampleMessage, align};
    use super::super::layout::layouts;
    use super::*;
    use crate::derive::by_hand::{object, read, said_calls, value};

    const CALLED: &str = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": "x"}}}]}"#;

    fn layout_of(text: &str) -> Layout {
        let said = SampleMessage::of(&object(CALLED), None);
        layouts(text, &align(text, &said).unwrap(), 0, text.len()).remove(0)
    }

    /// Texts whose calls each of the made fields reads, with the field of the known template.
    fn made(field: &str, sample: &str) -> Vec<Value> {
        let known = object(field);
        let template = |field: Object| {
            let fields = Value::from([("tool_calls", Value::Object(field)), ("content", value("{}"))]);
            Value::from([("start_anchor", "<b>".into()), ("fields", fields)])
        };
        beside(&known, &layout_of(sample)).into_iter().map(template).collect()
    }

    const WHOLE: &str = r#"{"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
        "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}}"#;
    const WHOLE_CALL: &str = r#"<call>{"name": "f", "arguments": {"a": "x"}}</call>"#;

    const TAGGED: &str = r#"{"open_pattern": "<f=(?P<name>\\w+)>", "close": "</f>", "repeats": true, "content": "xml-inline",
        "content_args": {"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)</>"},
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}"#;
    const TAGGED_CALL: &str = "<f=f><a>x</></f>";

    #[test]
    fn a_field_reads_the_other_way_beside_its_own() {
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
    fn a_list_of_calls_keeps_its_content_between_other_marks() {
        let listed = WHOLE.replace("\"repeats\": true", "\"transform_each\": true");
        let [made] = made(&listed, r#"<tools>[{"name": "f", "arguments": {"a": "x"}}]</tools>"#).try_into().unwrap();
        let field = made.get("fields").unwrap().get("tool_calls").unwrap();
        assert_eq!(field.get("open_pattern"), Some(&"<tools>(?=\\[)|<call>".into()));
        assert_eq!(field.get("close_pattern"), Some(&"(?:</call>|</tools>)\\s*".into()));
    }

    #[test]
    fn a_field_of_another_make_is_left_alone() {
        let layout = r#"<tool>{"name": "f", "arguments": {"a": "x"}}</tool>"#;
        let text = r#"{"open": "<call>", "close": "</call>", "content": "text"}"#;
        assert!(made(text, layout).is_empty(), "no transform says where the name is");
    }

    #[test]
    fn a_delimiter_is_a_pattern_of_all_its_texts() {
        let field = object(r#"{"open": ["<a>", "[b]"], "close_pattern": "x+"}"#);
        assert_eq!(delimiter(&field, "open").as_deref(), Some("<a>|\\[b\\]"));
        assert_eq!(delimiter(&field, "close").as_deref(), Some("x+"));
        assert_eq!(delimiter(&object("{}"), "open"), None);
        assert_eq!(without_guard("<a>(?=\\{)"), "<a>");
        assert_eq!(without_guard("<a>(?=x)b"), "<a>(?=x)b", "the look-ahead is not at its end");
        assert_eq!(without_guard("<a>(?=x|y)|<b>"), "(?:<a>|<b>)");
    }
}
