//! The text between two arguments of a call, where a value may hold it as well.

use super::case::Case;
use crate::wire::marks;

/// The text from the end of one argument to the beginning of the next, if the renders have arguments one by one and
/// prose may contain that text.
pub(super) fn between_arguments(cases: &[Case]) -> Option<String> {
    let calls = cases.iter().filter_map(|case| Some((&case.expected.calls.first()?.arguments, &case.text)));
    calls.into_iter().find_map(|(arguments, text)| {
        let arguments: Vec<(&str, Option<&str>)> =
            arguments.iter().map(|(key, value)| (key, value.as_str().filter(|text| !text.is_empty()))).collect();
        arguments.windows(2).find_map(|pair| {
            let [(_, Some(first)), (key, Some(second))] = pair else { return None };
            let (between, _) = text.split_once(first)?.1.split_once(second)?;
            let is_text = between.contains(key) && !between.contains(&format!("\"{key}\""));
            (is_text && !between.contains(marks::is_opening)).then(|| between.to_owned())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::calls_answer;

    #[test]
    fn only_a_text_that_a_value_may_hold_is_one() {
        for (text, between) in [
            ("<call>f?a=Brno&b=Ghent</call>", Some("&b=")),
            ("<call>f(a=\"Brno\", b=\"Ghent\")</call>", Some("\", b=\"")),
            ("a: Brno\nb: Ghent\n", Some("\nb: ")),
            // JSON escapes its quotes, and prose contains no marks.
            (r#"{"name": "f", "arguments": {"a": "Brno", "b": "Ghent"}}"#, None),
            ("<a>Brno</a><b>Ghent</b>", None),
            ("{a:<|q|>Brno<|q|>,b:<|q|>Ghent<|q|>}", None),
            ("Brno Ghent", None),
            ("Brno", None),
        ] {
            let cases = [Case::by_hand(text, calls_answer(&[("f", r#"{"a": "Brno", "b": "Ghent"}"#)]))];
            assert_eq!(between_arguments(&cases).as_deref(), between, "{text}");
        }
        assert_eq!(between_arguments(&[]), None);
    }
}
