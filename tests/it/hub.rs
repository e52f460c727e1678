//! Models in the local Hugging Face cache, as the command finds them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const TEMPLATE: &str = include_str!("../../chat_templates/hermes.jinja");

fn derive(cache: &Path, name: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
    command.args(["derive", "-q", name]).current_dir(cache).env("HF_HUB_CACHE", cache);
    command.output().unwrap()
}

fn put(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn a_model_is_read_from_the_snapshot_of_its_main_revision() {
    let cache = tempfile::tempdir().unwrap();
    let model = cache.path().join("models--some-org--Some-Model");
    put(&model.join("snapshots/old/chat_template.jinja"), "{{ raise_exception('the old one') }}");
    put(&model.join("snapshots/new/chat_template.jinja"), TEMPLATE);
    put(&model.join("refs/main"), "new");
    let output = derive(cache.path(), "some-org/Some-Model");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("<tool_call>"));

    // Without a name for it, the only snapshot counts; of several none does.
    fs::remove_file(model.join("refs/main")).unwrap();
    assert_eq!(derive(cache.path(), "some-org/Some-Model").status.code(), Some(2));
    fs::remove_dir_all(model.join("snapshots/old")).unwrap();
    assert_eq!(derive(cache.path(), "some-org/Some-Model").status.code(), Some(0));
}

#[test]
fn what_is_not_there_is_told_with_the_command_that_fetches_it() {
    let cache = tempfile::tempdir().unwrap();
    put(&cache.path().join("models--some-org--base/snapshots/one/config.json"), "{}");
    for name in ["some-org/absent", "some-org/base"] {
        let output = derive(cache.path(), name);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&format!("hf download {name} --include")), "{said}");
        assert_eq!(said.matches("error[").count(), 1, "{said}");
    }
}

#[test]
fn a_response_template_in_the_cache_is_read_and_never_written() {
    let cache = tempfile::tempdir().unwrap();
    let config = cache.path().join("models--some-org--model/snapshots/one/tokenizer_config.json");
    // Fixable: one literal is the beginning of another.
    let text = r#"{"response_template": {"start_anchor": "<a>", "fields": {"content": {"close": ["<e>", "<e>xy"]}}}}"#;
    put(&config, text);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        command.args(arguments).current_dir(cache.path()).env("HF_HUB_CACHE", cache.path());
        command.output().unwrap()
    };
    put(&cache.path().join("output.txt"), "Hi.<e>");
    let parsed = run(&["parse", "some-org/model", "output.txt", "-q"]);
    assert_eq!(String::from_utf8(parsed.stdout).unwrap(), "{\"content\": \"Hi.\"}\n");
    assert_eq!(run(&["lint", "some-org/model"]).status.code(), Some(1));
    let fixed = run(&["lint", "some-org/model", "--fix"]);
    assert_eq!(fixed.status.code(), Some(2));
    assert!(String::from_utf8(fixed.stdout).unwrap().contains("the Hugging Face cache is read-only"));
    assert_eq!(fs::read_to_string(&config).unwrap(), text);
}

#[test]
fn a_folder_of_that_name_goes_before_the_cache() {
    let cache = tempfile::tempdir().unwrap();
    put(&cache.path().join("some-org/model/chat_template.jinja"), TEMPLATE);
    assert_eq!(derive(cache.path(), "some-org/model").status.code(), Some(0));
}
