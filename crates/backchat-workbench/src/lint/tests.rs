//! Measures how much text the rules parse, and tries their fixes out.

use super::trial_parse::{FEEDS, read_whole};
use super::{Subject, apply_fixes, lint};
use backchat_core::json::Value;
use backchat_parser::template::Template;
use backchat_parser::template::source;

/// How many chunks the rules parse for a template. On one core 10,000 take about 3 ms.
fn work(text: &str) -> usize {
    let template = Template::load(text).unwrap().template;
    FEEDS.set(0);
    lint(&Subject::new(&template, &[]));
    FEEDS.get()
}

#[test]
fn real_templates_take_milliseconds() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../derived");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| (work(&std::fs::read_to_string(&path).unwrap()), path))
        .collect();
    assert!(all.len() > 30);
    let most = all.iter().max().unwrap();
    assert!(most.0 < 30_000, "{most:?}");
}

#[test]
fn work_grows_with_the_fields_and_no_faster() {
    let fields = |count: usize| {
        let fields: String = (0..count)
            .map(|n| format!("\"f{n}\": {{\"open\": \"<f{n}>\", \"close_pattern\": \"</f{n}>\\\\s*\"}}, "))
            .collect();
        work(&format!(r#"{{"start_anchor": "A", "fields": {{{fields}"content": {{"close": "<end>"}}}}}}"#))
    };
    let (some, many) = (fields(64), fields(512));
    assert!(many < some * 9, "{some} chunks for 64 fields, {many} for 512");
}

/// The close that takes white space after a call must not demand white space before it.
#[test]
fn a_fixed_close_also_reads_calls_on_one_line() {
    for (close, content) in [
        (r#""\n</call>""#, "json"),
        (r#"["\n</call>", " </c>"]"#, "json"),
        (r#""</call>""#, "json"),
        (r#""</call>""#, "text"),
    ] {
        let text = format!(
            r#"{{"start_anchor": "A", "fields": {{"calls": {{"open": "<call>", "close": {close}, "content": "{content}",
                "repeats": true}}, "content": {{"close": "<end>"}}}}}}"#
        );
        let opened = source::from_text("t.json".to_owned(), text.clone()).unwrap();
        let findings = lint(&Subject::of_file(&opened, &[]));
        let fixed = Template::load(&apply_fixes(&text, &findings).0).unwrap().template;
        for call in ["{}\n</call>", "{}</call>"] {
            let message = read_whole(&fixed, &format!("Hi<call>{call}\n<end>")).unwrap().message.unwrap();
            assert_eq!(message.get("content").and_then(Value::as_str), Some("Hi"), "{text}");
            assert_eq!(message.get("calls").and_then(Value::as_list).map(<[Value]>::len), Some(1), "{text}");
        }
    }
}
