//! The `kv-lines` parser: lines of a key and a value.

use super::{Mode, Reason, value};
use crate::template::LineArgs;
use backchat_core::json::{Object, Value};
use backchat_core::python::space;

pub(super) fn kv_lines(body: &str, args: &LineArgs, mode: Mode) -> Result<Value, Reason> {
    let strip = |text| if args.strip { space::strip(text) } else { text };
    let lines: Box<dyn Iterator<Item = &str>> = match &args.line_sep {
        Some(separator) => Box::new(body.split(separator.as_str())),
        None => Box::new(space::words(body)),
    };
    let mut entries = Object::new();
    for line in lines.map(strip).filter(|line| !line.is_empty()) {
        let separator = args.kv_sep.as_ref().map_err(|why| Reason::Unusable(why.0.clone()))?;
        let Some((key, text)) = line.split_once(separator.as_str()) else { continue };
        let text = strip(text);
        let value = match &args.value_parser {
            Some(parser) => value(parser, text, mode)?,
            None => text.into(),
        };
        entries.insert(strip(key), value);
    }
    Ok(Value::Object(entries))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::template::{ContentSpec, Unusable};

    fn args(line_sep: Option<&str>, kv_sep: &str, strip: bool, value_parser: Option<ContentSpec>) -> LineArgs {
        LineArgs {
            line_sep: line_sep.map(str::to_owned),
            kv_sep: Ok(kv_sep.to_owned()),
            strip,
            value_parser: value_parser.map(Arc::new),
        }
    }

    #[test]
    fn bodies_that_the_reference_reads() {
        let usual = || args(Some("\n"), ":", true, None);
        let cases = [
            (usual(), " a : 1 \n\n b:2\nnone\n:x\na:3\n", r#"{"a": "3", "b": "2", "": "x"}"#),
            (usual(), "a:1:2", r#"{"a": "1:2"}"#),
            (usual(), "a:\u{a0}1\u{1c}", r#"{"a": "1"}"#),
            (usual(), "a:1\u{b}b:2\u{2028}c:3", r#"{"a": "1\u000bb:2\u2028c:3"}"#),
            (usual(), "", "{}"),
            (args(Some(";"), "=", true, None), "a = 1; b =2", r#"{"a": "1", "b": "2"}"#),
            (args(Some("\r\n"), ":", true, None), "a:1\r\nb:2", r#"{"a": "1", "b": "2"}"#),
            (args(Some("\n"), ":", false, None), "a:1\n\n\u{20}b: 2 \n : ", r#"{"a": "1", " b": " 2 ", " ": " "}"#),
            (args(Some("\n"), " ", true, None), " k", "{}"),
            (args(Some("\n"), " ", false, None), " k v ", r#"{"": "k v "}"#),
            (args(None, ":", true, None), " a:1\t\u{1c}b:2 c", r#"{"a": "1", "b": "2"}"#),
            (args(Some("\n"), ":", true, Some(ContentSpec::Int { strip: true })), "a:1", r#"{"a": 1}"#),
            (args(Some("\n"), ":", false, Some(ContentSpec::Text { strip: true })), "a: x ", r#"{"a": "x"}"#),
        ];
        for (args, body, want) in cases {
            assert_eq!(kv_lines(body, &args, Mode::Reference).unwrap().to_string(), want, "{body:?}");
        }
    }

    #[test]
    fn a_value_that_its_parser_rejects_fails_the_region() {
        let ints = args(Some("\n"), ":", true, Some(ContentSpec::Int { strip: true }));
        assert_eq!(kv_lines("a:x", &ints, Mode::Stable), Err(Reason::NotInteger("x".into())));
    }

    #[test]
    fn an_unusable_separator_fails_only_if_there_is_a_line() {
        let args = LineArgs { kv_sep: Err(Unusable("why".into())), ..args(Some("\n"), ":", true, None) };
        assert_eq!(kv_lines("a", &args, Mode::Stable), Err(Reason::Unusable("why".into())));
        assert_eq!(kv_lines(" \n ", &args, Mode::Stable), Ok(Value::Object(Object::new())));
    }
}
