//! Loads a content parser and its arguments. A mistake in arguments that the reference notices only while parsing is a warning.

use std::sync::Arc;

use super::problems::{Checker, Problem};
use super::values::{At, PATTERN_HELP, flag, listed, shorten};
use crate::pattern::Pattern;
use crate::template::content::{ContentParser, ContentSpec, JsonArgs, LineArgs, TagArgs, Unusable, parser_names};
use crate::template::keys;
use backchat_core::diagnostic::{Severity, closest};
use backchat_core::json::{Path, Value};

/// Reads a content parser's arguments. A mistake is a warning, because the reference loads such a template;
/// only a pattern that is not supported here, though it may be one of the reference's, is an error.
pub(super) fn content(check: &mut Checker, parser: ContentParser, args: &Value, path: &Path) -> ContentSpec {
    let unusable = |reason: String| ContentSpec::Unusable { parser: Some(parser), reason };
    let Some(entries) = args.as_object() else {
        let reason = format!("the arguments of `{}` must be an object, not {}", parser.name(), args.kind());
        unusable_argument(check, path, &reason, "write an object, or remove the key");
        return unusable(reason);
    };
    let at = At::new(entries, path.clone());
    check.keys(&at, parser.arguments(), &format!("`{}`", parser.name()), Severity::Warning);
    let read = match parser {
        ContentParser::Text => Ok(ContentSpec::Text { strip: flag(check, &at, "strip", true) }),
        ContentParser::Int => Ok(ContentSpec::Int { strip: flag(check, &at, "strip", true) }),
        ContentParser::Float => Ok(ContentSpec::Float { strip: flag(check, &at, "strip", true) }),
        ContentParser::Bool => Ok(ContentSpec::Bool { strip: flag(check, &at, "strip", true) }),
        ContentParser::Json => json(check, &at).map(ContentSpec::Json),
        ContentParser::XmlInline => xml_inline(check, &at).map(ContentSpec::XmlInline),
        ContentParser::KvLines => kv_lines(check, &at).map(ContentSpec::KvLines),
        ContentParser::CallList => Ok(ContentSpec::CallList),
    };
    read.unwrap_or_else(|Unusable(reason)| unusable(reason))
}

/// Reads the content parser of a field.
pub(super) fn parser(check: &mut Checker, at: &At<'_>) -> Option<ContentParser> {
    let path = at.path("content");
    match at.get("content") {
        None => Some(ContentParser::Text),
        Some(Value::String(name)) => ContentParser::from_name(name).or_else(|| {
            let closest = closest(name, parser_names());
            let suggestion = closest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            let message = format!("unknown content parser `{}`{suggestion}", shorten(name));
            let problem = check.error("unknown-content-parser", &path, message, choose_parser());
            if let Some(name) = closest {
                problem.replace_with(name);
            }
            None
        }),
        Some(other) => check.wrong_type(&path, other, "the name of a content parser", &choose_parser()),
    }
}

fn choose_parser() -> String {
    format!("choose one of {}", listed(parser_names()))
}

fn unusable_argument<'c>(check: &'c mut Checker, path: &Path, reason: &str, help: &str) -> &'c mut Problem {
    check.warning("unusable-argument", path, format!("{reason}: every region will fail"), help)
}

fn json(check: &mut Checker, at: &At<'_>) -> Result<JsonArgs, Unusable> {
    let strip = flag(check, at, "strip", true);
    let unquoted_keys = flag(check, at, "unquoted_keys", false);
    let allow_non_json = flag(check, at, "allow_non_json", false);
    let string_delims = match at.get("string_delims") {
        None => Vec::new(),
        Some(value) => {
            let path = at.path("string_delims");
            let help = "write a list of pairs, such as `[[\"<s>\", \"</s>\"]]`";
            let pairs = string_delims(value).inspect_err(|Unusable(reason)| {
                unusable_argument(check, &path, reason, help);
            })?;
            let is_list = |value: &Value| value.as_list().is_some();
            if !value.as_list().is_some_and(|items| items.iter().all(is_list)) {
                let taken = shorten(&json_pairs(&pairs).to_string());
                let message = format!("`string_delims` is not a list of pairs, and is read as `{taken}`");
                check.warning("odd-string-delims", &path, message, help);
            }
            pairs
        }
    };
    Ok(JsonArgs { strip, unquoted_keys, string_delims, allow_non_json })
}

fn json_pairs(pairs: &[(String, String)]) -> Value {
    let pair = |(open, close): &(String, String)| Value::List(vec![open.as_str().into(), close.as_str().into()]);
    Value::List(pairs.iter().map(pair).collect())
}

/// Reads pairs as Python unpacks them: a string of two characters is a pair as well, and anything empty is a list
/// without pairs.
fn string_delims(value: &Value) -> Result<Vec<(String, String)>, Unusable> {
    let wrong = |what: &str| Unusable(format!("`string_delims` must be a list of pairs of strings, not {what}"));
    let items = match value {
        Value::List(items) => items.as_slice(),
        Value::String(text) if text.is_empty() => &[],
        Value::Object(entries) if entries.is_empty() => &[],
        other => return Err(wrong(other.kind())),
    };
    let pair = |item: &Value| match item {
        Value::List(pair) => match pair.as_slice() {
            [Value::String(open), Value::String(close)] => Ok((open.clone(), close.clone())),
            [_, _] => Err(wrong("a list with pairs of other values")),
            _ => Err(wrong(&format!("a list that contains a list of {}", pair.len()))),
        },
        Value::String(text) => match text.chars().collect::<Vec<_>>().as_slice() {
            [open, close] => Ok((open.to_string(), close.to_string())),
            _ => Err(wrong("a list that contains a string")),
        },
        other => Err(wrong(&format!("a list that contains {}", other.kind()))),
    };
    items.iter().map(pair).collect()
}

fn xml_inline(check: &mut Checker, at: &At<'_>) -> Result<TagArgs, Unusable> {
    let merge_duplicates = flag(check, at, "merge_duplicates", false);
    let value_parser = value_parser(check, at);
    let path = at.path("tag_pattern");
    let example = "write a pattern such as `<(?P<key>\\w+)>(?P<value>.*?)</(?P=key)>`";
    let source = match at.get("tag_pattern") {
        Some(Value::String(source)) => source,
        Some(other) => {
            let reason = format!("`tag_pattern` must be a string with a pattern, not {}", other.kind());
            unusable_argument(check, &path, &reason, example);
            return Err(Unusable(reason));
        }
        None => {
            let reason = "`xml-inline` needs the argument `tag_pattern`".to_owned();
            unusable_argument(check, &path, &reason, example).missing();
            return Err(Unusable(reason));
        }
    };
    let tag_pattern = Pattern::new(source).map_err(|error| {
        let reason = format!("`tag_pattern` is not a valid pattern: {error}");
        if error.is_unsupported {
            check.refused_pattern(&path, &error);
        } else {
            let message = format!("{reason}; every region will fail");
            check.warning("unusable-argument", &path, message, PATTERN_HELP).in_string(error.offset);
        }
        Unusable(reason)
    })?;
    if !tag_pattern.names().any(|group| group == "key") {
        let message = "`tag_pattern` has no group `key`: every region in which it matches will fail";
        check.warning("unusable-argument", &path, message, example);
    } else if !tag_pattern.names().any(|group| group == "value") {
        let message = "`tag_pattern` has no group `value`: every value will be an empty string";
        check.warning("no-value-group", &path, message, example);
    }
    Ok(TagArgs { tag_pattern, value_parser, merge_duplicates })
}

fn kv_lines(check: &mut Checker, at: &At<'_>) -> Result<LineArgs, Unusable> {
    let strip = flag(check, at, "strip", true);
    let value_parser = value_parser(check, at);
    let separator = |check: &mut Checker, key: &str, default: &str, help: &str| {
        let reason = match at.get(key) {
            None => return Ok(default.to_owned()),
            Some(Value::String(separator)) if !separator.is_empty() => return Ok(separator.clone()),
            Some(Value::String(_)) => format!("`{key}` must not be empty"),
            Some(other) => format!("`{key}` must be a string, not {}", other.kind()),
        };
        unusable_argument(check, &at.path(key), &reason, help);
        Err(Unusable(reason))
    };
    let kv_sep = separator(check, "kv_sep", ":", "write the text that separates a key from its value, such as `\":\"`");
    let line_sep = match at.get("line_sep") {
        Some(Value::Null) => None,
        _ => Some(separator(check, "line_sep", "\n", "write the text that separates two lines, such as `\"\\n\"`")?),
    };
    Ok(LineArgs { line_sep, kv_sep, strip, value_parser })
}

/// Reads `value_parser`, which the reference does not check before it has a value to parse.
fn value_parser(check: &mut Checker, at: &At<'_>) -> Option<Arc<ContentSpec>> {
    let path = at.path("value_parser");
    let unusable = |reason: String| Some(Arc::new(ContentSpec::Unusable { parser: None, reason }));
    let entries = match at.get("value_parser") {
        None | Some(Value::Null) => return None,
        Some(Value::Object(entries)) => entries,
        Some(other) => {
            let reason = format!("`value_parser` must be an object, not {}", other.kind());
            let help = match other.as_str().and_then(ContentParser::from_name) {
                Some(parser) => format!("write `{{\"name\": \"{}\"}}`", parser.name()),
                None => {
                    "write an object such as `{\"name\": \"json\", \"args\": {\"allow_non_json\": true}}`".to_owned()
                }
            };
            unusable_argument(check, &path, &reason, &help);
            return unusable(reason);
        }
    };
    let at = At::new(entries, path);
    check.keys(&at, keys::VALUE_PARSER, "`value_parser`", Severity::Warning);
    let parser = match at.get("name") {
        None => ContentParser::Text,
        Some(Value::String(name)) => match ContentParser::from_name(name) {
            Some(parser) => parser,
            None => {
                let closest = closest(name, parser_names());
                let suggestion = closest.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
                let reason = format!("unknown content parser `{}`", shorten(name));
                unusable_argument(check, &at.path("name"), &reason, &(suggestion + &choose_parser()));
                return unusable(reason);
            }
        },
        Some(other) => {
            let reason = format!("`name` must be the name of a content parser, not {}", other.kind());
            unusable_argument(check, &at.path("name"), &reason, &choose_parser());
            return unusable(reason);
        }
    };
    let empty = Value::Object(Default::default());
    Some(Arc::new(content(check, parser, at.get("args").unwrap_or(&empty), &at.path("args"))))
}
