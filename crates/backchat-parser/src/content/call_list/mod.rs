//! The `python-call-list` parser: `[f(a=1), g()]`, a strict grammar of calls with keyword arguments.
//!
//! The reader translates a call list to JSON piece by piece: growing calls are read as growing JSON, and the value of a
//! whole list is that of its JSON.

mod reader;
mod strings;
mod words;

pub(crate) use reader::CallListReader;
pub(in crate::content) use reader::tolerant_call_list;
pub use words::is_name;

use super::Reason;
use backchat_core::json::{self, Value};
use reader::Fault;

/// The value of a body: a list of `{"name", "arguments"}`.
pub(super) fn call_list(body: &str) -> Result<Value, Reason> {
    let mut reader = CallListReader::default();
    let mut json = String::with_capacity(body.len() + body.len() / 4);
    reader.push(body, &mut json);
    reader.finish();
    match reader.error {
        Some(Fault { message, offset }) => Err(Reason::NotCallList { message, offset, text: body.to_owned() }),
        // The reader writes nothing else; a list of calls nests less deep than JSON may.
        None => json::read(&json).map_err(|_| Reason::TooDeep),
    }
}

#[cfg(test)]
mod tests {
    use super::reader::MAX_DEPTH;
    use super::*;
    use crate::content::recovery::Policies;
    use proptest::prelude::*;

    /// What is read, in one piece and character by character, which must be the same.
    fn read(body: &str) -> Result<String, (&'static str, usize)> {
        let mut reader = CallListReader::default();
        let mut json = String::new();
        let mut written = 0;
        for c in body.chars() {
            reader.push(c.encode_utf8(&mut [0; 4]), &mut json);
            assert!(json.len() >= written);
            written = json.len();
        }
        reader.finish();
        let whole = call_list(body);
        match reader.error {
            None => assert_eq!(whole, Ok(json::read(&json).unwrap()), "{body}"),
            Some(Fault { message, offset }) => {
                assert_eq!(whole, Err(Reason::NotCallList { message, offset, text: body.to_owned() }));
                return Err((message, offset));
            }
        }
        Ok(whole.map(|value| value.to_string()).unwrap_or_default())
    }

    /// The arguments of one call of `f`.
    fn arguments(text: &str) -> Option<String> {
        let read = read(&format!("[f({text})]")).ok()?;
        Some(read.strip_prefix("[{\"name\": \"f\", \"arguments\": ")?.strip_suffix("}]")?.to_owned())
    }

    #[test]
    fn lists_of_calls() {
        for (body, json) in [
            ("[]", "[]"),
            (" [\t]\r\n", "[]"),
            ("[f()]", r#"[{"name": "f", "arguments": {}}]"#),
            (
                "[ f ( a = 1 , b = 'x' ) , g() ]",
                r#"[{"name": "f", "arguments": {"a": 1, "b": "x"}}, {"name": "g", "arguments": {}}]"#,
            ),
            ("[a.b-c_1()]", r#"[{"name": "a.b-c_1", "arguments": {}}]"#),
            ("[True(None=None)]", r#"[{"name": "True", "arguments": {"None": null}}]"#),
        ] {
            assert_eq!(read(body).as_deref(), Ok(json), "{body}");
        }
    }

    #[test]
    fn values() {
        for (value, json) in [
            ("True", "true"),
            ("true", "true"),
            ("False", "false"),
            ("false", "false"),
            ("None", "null"),
            ("null", "null"),
            ("-0", "-0"),
            ("1.50", "1.50"),
            ("1e3", "1e3"),
            ("-1.5E-3", "-1.5E-3"),
            ("9007199254740991", "9007199254740991"),
            ("-9007199254740991", "-9007199254740991"),
            (r#""it's""#, r#""it's""#),
            (r#"'say "hi"'"#, r#""say \"hi\"""#),
            ("'日本\t'", r#""日本\t""#),
            (r"'\\ \' \x22'", ""),
            (r#"'\\ \' \" \/ \b \f \n \r \t'"#, r#""\\ ' \" / \b \f \n \r \t""#),
            (r"'\u00e9 \u0000'", r#""é \u0000""#),
            (r"'\ud83d\ude00!'", r#""😀!""#),
            ("[]", "[]"),
            ("[1, 'a', [None]]", r#"[1, "a", [null]]"#),
            ("{}", "{}"),
            (r#"{'a': {"b": 1}, 'c': []}"#, r#"{"a": {"b": 1}, "c": []}"#),
        ] {
            let expected = (!json.is_empty()).then(|| format!("{{\"v\": {json}}}"));
            assert_eq!(arguments(&format!("v={value}")), expected, "{value}");
        }
    }

    #[test]
    fn refusals_are_at_their_place() {
        for (body, message, offset) in [
            ("", "expected `[`", 0),
            ("f()", "expected `[`", 0),
            ("[f()", "expected `,` or `]`", 4),
            ("[f()] x", "text after the end of the list", 6),
            ("[f(),]", "expected a function name", 5),
            ("[1()]", "expected a function name or `]`", 1),
            ("[f]", "expected `(`", 2),
            ("[f-()]", "a name that does not end in a letter, a digit or `_`", 3),
            ("[f(1)]", "expected the name of an argument or `)`", 3),
            ("[f(a)]", "expected `=`: every argument has a name", 4),
            ("[f(a=1,)]", "expected the name of an argument", 7),
            ("[f(a=1, a=2)]", "a name that comes twice", 8),
            ("[f(a={'b': 1, 'b': 2})]", "a name that comes twice", 14),
            ("[f(a={b: 1})]", "expected a string, which a key of a dict is", 6),
            ("[f(a=[1,])]", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 8),
            ("[f(a=b'x')]", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 5),
            ("[f(a='x' 'y')]", "expected `,` or `)`", 9),
            ("[f(a='x\ny')]", "a string that does not end in its line", 5),
            ("[f(a='x", "a string that does not end", 7),
            ("[f", "expected `(`", 2),
            ("[f(a", "expected `=`: every argument has a name", 4),
            ("[f(a=1", "expected `,` or `)`", 6),
            ("[f(a=Tru", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 5),
            (r"[f(a='\x41')]", "a string with an escape that is not supported", 5),
            (r"[f(a='\ud83d')]", "a string with an escape that is not supported", 5),
            (r"[f(a='\ud83d\n')]", "a string with an escape that is not supported", 5),
            (r"[f(a='\ude00')]", "a string with an escape that is not supported", 5),
            ("[f(a=01)]", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 5),
            ("[f(a=1.)]", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 5),
            ("[f(a=+1)]", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 5),
            ("[f(a=NaN)]", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 5),
            ("[f(a=9007199254740992)]", "an integer that is not between -(2^53 - 1) and 2^53 - 1", 5),
            ("[f(a=-00000000000000001)]", "expected a string, a number, a list, a dict, `True`, `False` or `None`", 5),
            ("[f(a=1e400)]", "a number that is too large", 5),
            ("[f(a=[1)]", "expected `,` or `]`", 7),
            ("[f(a=1 # one\n)]", "expected `,` or `)`", 7),
        ] {
            assert_eq!(read(body), Err((message, offset)), "{body}");
        }
    }

    #[test]
    fn faults_that_a_policy_recovers() {
        let one = r#"[{"name": "f", "arguments": {"a": [1]}}]"#;
        for (body, json, policies) in [
            ("[f(a=[1])]", Some(one), ""),
            ("[f(a=[1,],),]", Some(one), "json-commas"),
            ("[f(a=[1]", Some(one), "json-brackets"),
            ("[f(a=[1", Some(one), "json-brackets"),
            ("[f(a=[1])] ])", Some(one), "json-brackets"),
            ("```python\n[f(a=[1])]\n```", Some(one), "json-fence"),
            ("```[f(a=[1]```", Some(one), "json-fence,json-brackets"),
            ("[f(a=[1,],", None, ""),
            ("[f(a=[1])] ]x", None, ""),
            ("[f(a=", None, ""),
            ("[f", None, ""),
            ("[f(a='x", None, ""),
            ("[f(a=['x", None, ""),
            ("[,]", None, ""),
        ] {
            let read = tolerant_call_list(body, Policies::all(), true);
            let expected = json.map(|json| (json.to_owned(), Policies::parse(policies).unwrap()));
            assert_eq!(read.map(|(value, used)| (value.to_string(), used)), expected, "{body}");
            assert_eq!(tolerant_call_list(body, Policies::none(), true).is_some(), call_list(body).is_ok(), "{body}");
        }
        for body in ["[f(", "[f()]]"] {
            assert_eq!(tolerant_call_list(body, Policies::all(), false), None, "{body} at the end of the text");
        }
    }

    #[test]
    fn lists_and_dicts_nest_a_hundred_levels_deep() {
        let nested = |depth: usize| format!("[f(a={}{})]", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        assert!(read(&nested(MAX_DEPTH + 1)).is_err());
    }

    proptest! {
        /// Whatever the text, it is read the same at every cut, and what is read is JSON.
        #[test]
        fn any_text(body in r#"\[(f\((a=['"\[\]{}:,a1.\\un-]{0,8})?\),?)*[\]x]?"#) {
            let _ = read(&body);
        }
    }
}
