//! No pattern and no text brings the parser down or keeps it busy without end.

use backchat::parser::{Options, ParseErrorKind, Parser};
use backchat::template::Template;
use backchat_parser::content::Mode;
use backchat_parser::pattern::Pattern;
use proptest::prelude::*;

const PIECES: &[&str] = &[
    "a",
    "b",
    "é",
    ".",
    "*",
    "+",
    "?",
    "{2}",
    "{1,3}",
    "{",
    "}",
    "|",
    "(",
    ")",
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?>",
    "(?P<n>",
    "(?P=n)",
    "(?R)",
    "(?1)",
    "(?(1)",
    "(?i)",
    "(?m)",
    "(?x)",
    "(?fi)",
    "[",
    "]",
    "[^",
    "-",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\A",
    "\\Z",
    "\\G",
    "\\K",
    "\\1",
    "\\s",
    "\\w",
    "\\d",
    "\\p{L}",
    "\\x41",
    "\\R",
    "\\",
    "#",
    " ",
    "\n",
    "ß",
    "[[:alpha:]]",
];

fn pattern() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..12).prop_map(|pieces| pieces.concat())
}

fn template(open: &str, close: &str, implicit: &str) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        r#"{{"start_anchor": "A", "fields": {{"x": {{"open_pattern": {}, "close_pattern": {}, "repeats": true,
            "transform": "{{content}}"}}, "content": {{"close_pattern": {}}}}}}}"#,
        quoted(open),
        quoted(close),
        quoted(implicit)
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_pattern_loads_or_says_where_it_is_wrong(source in pattern()) {
        if let Err(error) = Pattern::new(&source) {
            prop_assert!(error.offset <= source.len() && source.is_char_boundary(error.offset), "{:?}: {:?}", source, error);
            prop_assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn any_bytes_as_a_pattern(source in ".{0,40}") {
        if let Ok(pattern) = Pattern::new(&source) {
            let _ = pattern.find_at("aé\nb", 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_delimiters_on_any_text(
        open in pattern(),
        close in pattern(),
        implicit in pattern(),
        text in "[abéß. \n]{0,24}",
        length in 1usize..5,
        reference in any::<bool>(),
    ) {
        let Ok(loaded) = Template::load(&template(&open, &close, &implicit)) else { return Ok(()) };
        let mode = if reference { Mode::Reference } else { Mode::Stable };
        let Ok(mut parser) = Parser::new(&loaded.template, "Aab", Options::default().mode(mode)) else {
            return Ok(());
        };
        let chars: Vec<char> = text.chars().collect();
        for chunk in chars.chunks(length) {
            if parser.feed(&chunk.iter().collect::<String>()).is_err() {
                return Ok(());
            }
            let _ = parser.held();
        }
        let _ = parser.finish();
    }
}

#[test]
fn an_exhausted_pattern_is_an_error_with_its_name() {
    let loaded = Template::load(&template(r"(a+)+\1c", "x", "y")).unwrap();
    let mut parser = Parser::new(&loaded.template, "", Options::default()).unwrap();
    let error = parser.feed(&"a".repeat(5_000)).and_then(|_| parser.finish().map(|_| ())).unwrap_err();
    assert_eq!(error.stage(), "feed");
    assert!(error.to_string().starts_with(r"the pattern `(a+)+\1c` needs more steps"), "{error}");
}

#[test]
fn a_parser_that_failed_stays_failed() {
    let loaded = Template::load(&template(r"(a+)+\1c", "x", "y")).unwrap();
    let mut parser = Parser::new(&loaded.template, "", Options::default()).unwrap();
    parser.feed("b").unwrap();
    parser.feed(&("a".repeat(5_000) + "b")).unwrap_err();
    for _ in 0..2 {
        let error = parser.feed("b").unwrap_err();
        assert_eq!(error.kind(), ParseErrorKind::Failed);
    }
    parser.finish().unwrap_err();
}

#[test]
fn words_and_spaces_in_a_dialect_take_linear_time() {
    let json = r#"{"start_anchor": "A", "fields": {"content": {"content": "json", "content_args": {"unquoted_keys": true,
        "string_delims": [["<", ">"], ["<<", ">>"]]}}}}"#;
    let loaded = Template::load(json).unwrap();
    // Looked at more than once, texts of this length would take minutes.
    for text in ["a".repeat(400_000), "{".to_owned() + &" ".repeat(400_000), "<<a>> ".repeat(50_000) + ">"] {
        let parsed = backchat::parser::parse(&loaded.template, "", &text, None).unwrap();
        assert!(!parsed.message.contains_key("content"), "{}…", &text[..9]);
    }
}

#[test]
fn open_and_close_of_nothing_happen_once_at_each_place() {
    let loaded = Template::load(&template("", "", "y")).unwrap();
    let mut parser = Parser::new(&loaded.template, "", Options::default()).unwrap();
    let mut events = Vec::from(parser.feed("ab").unwrap());
    let finished = parser.finish().unwrap();
    events.extend(finished.events);
    let kinds: Vec<&str> = events.iter().map(backchat::parser::Event::kind).collect();
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "region_open").count(),
        kinds.iter().filter(|kind| **kind == "region_close").count()
    );
    assert!(kinds.len() < 20, "{kinds:?}");
}
