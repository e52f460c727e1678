//! Reading templates from files, and writing them into a `tokenizer_config.json`.

use std::fs;
use std::path::Path;

use backchat::json;
use backchat::template::source::{SourceError, SourceErrorKind, open};
use backchat::template::{LoadErrorKind, Template};
use backchat_core::diagnostic::{Format, render};
use backchat_parser::template::source::write_into;
use backchat_parser::template::source::{from_text, replace_file};
use proptest::prelude::*;

use crate::support::path_text;

const TEMPLATE: &str = r#"{"start_anchor": "<|a|>", "fields": {"content": {"close": "<|end|>"}}}"#;

fn template() -> Template {
    Template::load(TEMPLATE).unwrap().template
}

/// What the user reads, with the folder of the test left out.
fn shown(result: Result<impl Sized, SourceError>, folder: &Path) -> String {
    let error = result.err().unwrap();
    render(&error.diagnostics, Format::Full, &error.sources, false).replace(path_text(folder), "FOLDER")
}

/// The config after `write_into`.
fn written(config: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer_config.json");
    fs::write(&path, config).unwrap();
    write_into(path_text(&path), &template()).unwrap();
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_template_is_found_in_its_own_file_in_a_config_and_in_a_model_folder() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.json");
    let config = folder.path().join("tokenizer_config.json");
    fs::write(&own, TEMPLATE).unwrap();
    fs::write(&config, format!("{{\"chat_template\": \"\", \"response_template\": {TEMPLATE}}}")).unwrap();
    for path in [own.as_path(), config.as_path(), folder.path()] {
        let opened = open(path_text(path)).unwrap();
        assert_eq!(opened.loaded.template, template());
        assert!(opened.sources.text(Some(&opened.file)).is_some());
    }
}

#[test]
fn every_error_has_a_kind() {
    let loaded = |text: &str| Template::load(text).unwrap_err().kind();
    assert_eq!(loaded("{"), LoadErrorKind::Syntax);
    assert_eq!(loaded(&" ".repeat((1 << 20) + 1)), LoadErrorKind::TooLarge);
    assert_eq!(loaded(r#"{"fields": 1}"#), LoadErrorKind::Invalid);

    let found = |text: &str| from_text("a.json".to_owned(), text.to_owned()).unwrap_err().kind();
    assert_eq!(found(r#"{"chat_template": ""}"#), SourceErrorKind::NoTemplate);
    assert_eq!(found(r#"{"response_schema": {"type": "object"}}"#), SourceErrorKind::NoTemplate);
    assert_eq!(found(r#"{"response_template": {"fields": 1}}"#), SourceErrorKind::Invalid);
    assert_eq!(found("{"), SourceErrorKind::Invalid);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(open(path_text(&folder.path().join("none"))).unwrap_err().kind(), SourceErrorKind::Unreadable);
    assert_eq!(open(path_text(folder.path())).unwrap_err().kind(), SourceErrorKind::NoTemplate);
}

#[test]
fn complaints_about_a_config_name_the_place_in_it() {
    let config = "{\n  \"chat_template\": \"x\",\n  \"response_template\": {\"start_anchor\": 1, \"fields\": {}}\n}\n";
    let error = from_text("tokenizer_config.json".to_owned(), config.to_owned()).unwrap_err();
    insta::assert_snapshot!(render(&error.diagnostics, Format::Full, &error.sources, false));
}

#[test]
fn what_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = |file: &str, content: &[u8]| {
        let path = folder.join(file);
        fs::write(&path, content).unwrap();
        shown(open(path_text(&path)), folder)
    };
    let shown = [
        shown(open(path_text(&folder.join("missing.json"))), folder),
        shown(open(path_text(folder)), folder),
        file("empty.json", b""),
        file("cut.json", b"{\"start_anchor\": \"<|a|>\",\n \"fields\": {\"content\": {\"close\": \"<|e"),
        file("latin.json", b"{\"start_anchor\":\n \"\xe9\"}"),
        file("config.json", b"{\"tokenizer_class\": \"X\"}"),
        file("deep.json", &b"[".repeat(100_000)),
        shown(write_into(path_text(&folder.join("missing.json")), &template()), folder),
    ];
    insta::assert_snapshot!(shown.concat());
}

#[test]
fn a_template_of_any_size_is_bounded_and_a_config_may_be_large() {
    let large = "[".to_owned() + &"[],".repeat(1_100_000) + "1]";
    let config = format!("{{\"added_tokens\": {large}, \"response_template\": {TEMPLATE}}}");
    assert_eq!(from_text("a.json".to_owned(), config).unwrap().loaded.template, template());

    let template = format!("{{\"start_anchor\": \"a\", \"fields\": {{}}, \"defaults\": {{\"x\": {large}}}}}");
    let config = format!("{{\"response_template\": {template}}}");
    let by_file = |text: &str| from_text("a.json".to_owned(), text.to_owned()).unwrap_err().diagnostics;
    let value = json::read(&template).unwrap();
    for diagnostics in [
        by_file(&template),
        by_file(&config),
        Template::load(&template).unwrap_err().diagnostics,
        Template::from_value(&value).unwrap_err().diagnostics,
    ] {
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].message, "the response template is larger than 1 MB");
    }
}

#[test]
fn only_the_bytes_of_the_key_change() {
    // (before, after); what stands on both sides of the template must be the same bytes.
    let pretty = "{\n  \"b\": \"\\u00e9\\/\",\n  \"response_template\": 5,\n  \"a\": 1.50\n}";
    let tabs = "{\n\t\"z\": [1,2],\n\t\"a\": {}\n}\n";
    let sorted = "{\r\n    \"a\" : 1,\r\n    \"z\" : 2\r\n}\r\n";
    let before_all = "{\n \"zz\": 1\n}\n";
    let minified = "{\"b\":1,\"a\":2}";
    insta::assert_snapshot!(
        [pretty, tabs, sorted, before_all, minified, "{\"a\": 1}\n", "{}", "{ }\n"]
            .map(|config| format!("{config}\n--- becomes\n{}\n======\n", written(config).replace('\r', "␍")))
            .concat()
    );
}

#[test]
fn a_file_that_is_no_config_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for content in ["[]", "{\"a\": ", "\u{feff}{}"] {
        let path = folder.path().join("tokenizer_config.json");
        fs::write(&path, content).unwrap();
        assert!(write_into(path_text(&path), &template()).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file may stay behind");
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("blob"), folder.path().join("tokenizer_config.json"));
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("blob", &link).unwrap();
    write_into(path_text(&link), &template()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(open(path_text(&real)).unwrap().loaded.template, template());
}

#[test]
fn a_new_file_is_written_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.json");
    replace_file(&path, b"one").unwrap();
    replace_file(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert!(replace_file(&folder.path().join("no/such/folder"), b"").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_other_key_keeps_its_value_and_order(
        keys in proptest::collection::vec("[a-z_\u{e9}\"\\\\]{0,8}|response_template", 0..6),
        spaces in "[ \t\r\n]{0,4}",
    ) {
        let entries: Vec<_> = keys
            .iter()
            .enumerate()
            .map(|(i, key)| format!("{spaces}{}{spaces}:{spaces}[{i}]", json::Value::from(key.as_str())))
            .collect();
        let config = format!("{spaces}{{{}{spaces}}}{spaces}", entries.join(","));
        let mut wanted = json::read(&config).unwrap();
        let mut found = json::read(&written(&config)).unwrap();
        let template = found.get("response_template").cloned();
        prop_assert_eq!(template, Some(template_value()));
        for value in [&mut wanted, &mut found] {
            if let json::Value::Object(entries) = value {
                entries.shift_remove("response_template");
            }
        }
        prop_assert_eq!(found.to_string(), wanted.to_string());
    }
}

fn template_value() -> json::Value {
    template().to_value()
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_written_into() {
    use std::os::unix::fs::FileTypeExt;

    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::read_to_string(pipe).unwrap())
    };
    replace_file(&pipe, b"text").unwrap();
    assert_eq!(reader.join().unwrap(), "text");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}
