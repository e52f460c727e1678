//! The `xml-inline` parser: an object of tagged values, found with a pattern.

use std::collections::HashSet;
use std::ops::Range;

use super::{Mode, Reason, value};
use crate::template::TagArgs;
use backchat_core::json::{Object, Value};

/// One match of the tag pattern.
pub(super) struct Tag<'t> {
    /// The match of the group `key`; `None` if there is no such group or it did not take part.
    pub key: Option<&'t str>,
    /// The match of the group `value`; `None` if it did not take part. A pattern without the group gives empty values.
    pub value: Option<&'t str>,
    pub span: Range<usize>,
}

pub(super) fn xml_inline(body: &str, args: &TagArgs, mode: Mode) -> Result<Value, Reason> {
    let mut read = TagEntries::default();
    for tag in tags(body, args)? {
        let (key, value) = tagged_value(args, tag.key, tag.value, mode)?;
        read.insert(key, value, args.merge_duplicates);
    }
    Ok(Value::Object(read.entries))
}

/// The key and the value of a tag, from the groups of the pattern.
pub(crate) fn tagged_value<'t>(
    args: &TagArgs,
    key: Option<&'t str>,
    text: Option<&str>,
    mode: Mode,
) -> Result<(&'t str, Value), Reason> {
    let key = key.ok_or_else(|| Reason::NoKey { pattern: args.tag_pattern.source().to_owned() })?;
    let value = match (&args.value_parser, text) {
        (Some(parser), Some(text)) => value(parser, text, mode)?,
        (None, Some(text)) => text.into(),
        // An absent text is only allowed for an unstripped text.
        (None, None) => Value::Null,
        (Some(parser), None) if parser.strips_text() == Some(false) => Value::Null,
        (Some(_), None) => return Err(Reason::NoValue { key: key.to_owned() }),
    };
    Ok((key, value))
}

/// Every match of the tag pattern, from left to right.
pub(super) fn tags<'t>(body: &'t str, args: &TagArgs) -> Result<Vec<Tag<'t>>, Reason> {
    let has_value = args.tag_pattern.names().any(|name| name == "value");
    let tags = args.tag_pattern.matches(body).map(|found| {
        let found = found.map_err(|error| Reason::Pattern(error.to_string()))?;
        let value = if has_value { found.name("value") } else { Some("") };
        let (start, end) = found.span();
        Ok(Tag { key: found.name("key"), value, span: start..end })
    });
    tags.collect()
}

/// The values of the tags so far.
#[derive(Clone, Debug, Default)]
pub(super) struct TagEntries {
    pub entries: Object,
    /// The keys whose value is the list of the values of several tags. The value of one tag may be a list, too.
    merged: HashSet<String>,
}

impl TagEntries {
    /// Adds a tag's value to those before it.
    pub fn insert(&mut self, key: &str, value: Value, merge_duplicates: bool) {
        match self.entries.get_mut(key).filter(|_| merge_duplicates) {
            Some(Value::List(items)) if self.merged.contains(key) => items.push(value),
            Some(first) => {
                *first = Value::List(vec![std::mem::take(first), value]);
                self.merged.insert(key.to_owned());
            }
            None => {
                self.entries.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::pattern::Pattern;
    use crate::template::{ContentSpec, JsonArgs};

    fn args(tag_pattern: &str, value_parser: Option<ContentSpec>, merge_duplicates: bool) -> TagArgs {
        TagArgs {
            tag_pattern: Pattern::new(tag_pattern).unwrap(),
            value_parser: value_parser.map(Arc::new),
            merge_duplicates,
        }
    }

    fn json() -> ContentSpec {
        let string_delims = Vec::new();
        ContentSpec::Json(JsonArgs { strip: true, unquoted_keys: false, string_delims, allow_non_json: false })
    }

    const PLAIN: &str = r"<(?P<key>\w+)>(?P<value>[^<]*)";

    #[test]
    fn bodies_that_the_reference_reads() {
        let optional_value = "(?P<key>a)(?P<value>b)?";
        let cases = [
            (args(PLAIN, None, false), " <a> 1 <b>2", r#"{"a": " 1 ", "b": "2"}"#),
            (args(PLAIN, None, false), "none", "{}"),
            (args(PLAIN, None, false), "", "{}"),
            (args(PLAIN, None, false), "<a>1<b>x<a>2", r#"{"a": "2", "b": "x"}"#),
            (args(PLAIN, None, true), "<a>1<b>x<a>2<a>3", r#"{"a": ["1", "2", "3"], "b": "x"}"#),
            (args(PLAIN, Some(json()), true), "<a>[1]<a>2<a>[3]", r#"{"a": [[1], 2, [3]]}"#),
            (args(PLAIN, Some(ContentSpec::Text { strip: true }), false), "<a> 1 ", r#"{"a": "1"}"#),
            (args(r"^<(?P<key>\w+)>(?P<value>.*)$", None, false), "\n<a>1", "{}"),
            (args(r"<(?P<key>\w+)>(?P<value>.*)", None, false), "<a>1\n2", r#"{"a": "1\n2"}"#),
            (args(r"(?P<value>\d+)-(?P<key>\w+)", None, false), "1-a 2-b", r#"{"a": "1", "b": "2"}"#),
            (args("(?P<key>a)", None, false), "aab", r#"{"a": ""}"#),
            (args("(?P<key>a*)", None, false), "baac", r#"{"": "", "aa": ""}"#),
            (args(optional_value, None, false), "a", r#"{"a": null}"#),
            (args(optional_value, Some(ContentSpec::Text { strip: false }), false), "a", r#"{"a": null}"#),
            (args(optional_value, None, true), "aaba", r#"{"a": [null, "b", null]}"#),
            (args("(?P<k>z)", None, false), "a", "{}"),
        ];
        for (args, body, want) in cases {
            let got = xml_inline(body, &args, Mode::Reference).map(|value| value.to_string());
            assert_eq!(got.as_deref(), Ok(want), "{body:?} with {}", args.tag_pattern.source());
        }
    }

    #[test]
    fn a_match_without_a_key_fails() {
        for pattern in ["(?P<value>a)", "(?P<key>x)?(?P<value>a)", "a*"] {
            let got = xml_inline("aa", &args(pattern, None, false), Mode::Stable);
            assert_eq!(got, Err(Reason::NoKey { pattern: pattern.into() }));
        }
    }

    #[test]
    fn an_absent_value_cannot_be_parsed() {
        for parser in [json(), ContentSpec::Text { strip: true }, ContentSpec::Bool { strip: false }] {
            let got = xml_inline("a", &args("(?P<key>a)(?P<value>b)?", Some(parser), false), Mode::Reference);
            assert_eq!(got, Err(Reason::NoValue { key: "a".into() }));
        }
    }

    #[test]
    fn a_value_that_its_parser_rejects_fails_the_region() {
        let args = args(PLAIN, Some(ContentSpec::Int { strip: true }), false);
        assert_eq!(xml_inline("<a>x", &args, Mode::Stable), Err(Reason::NotInteger("x".into())));
    }
}
