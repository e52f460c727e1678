//! The real command `backchat derive`: the destination of the draft, the report, and the exit codes.

use std::fs;
use std::path::PathBuf;

use backchat::json;

use crate::support::{backchat, empty_folder, outcome, root, text};

/// A model folder whose config has odd spacing that must stay.
fn model(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    fs::copy(root().join("chat_templates/hermes.jinja"), folder.join("chat_template.jinja")).unwrap();
    fs::write(folder.join("tokenizer_config.json"), "{\n    \"eos_token\" : \"<|im_end|>\",\n    \"x\": [1,2]\n}\n")
        .unwrap();
    folder
}

#[test]
fn the_draft_goes_to_standard_output_and_the_report_to_standard_error() {
    let output = backchat(&["derive", "chat_templates/qwen3.jinja"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), fs::read_to_string(root().join("derived/qwen3.json")).unwrap());
    insta::assert_snapshot!("report", text(&output.stderr));
}

#[test]
fn an_unproved_draft_is_printed_and_exits_with_1() {
    let output = backchat(&["derive", "tests/derive/arguments_of_a_url.jinja"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.starts_with("partial: ") && said.contains("\n  unread     "), "{said}");
    assert!(json::read(text(&output.stdout)).unwrap().get("fields").is_some());
    // A model's own config keeps its other keys.
    let folder = model("derive_partial");
    fs::copy(root().join("tests/derive/arguments_of_a_url.jinja"), folder.join("chat_template.jinja")).unwrap();
    let before = fs::read_to_string(folder.join("tokenizer_config.json")).unwrap();
    let output = backchat(&["derive", folder.to_str().unwrap(), "--write"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert!(text(&output.stderr).contains("`--partial` writes it anyway"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(folder.join("tokenizer_config.json")).unwrap(), before);
    backchat(&["derive", folder.to_str().unwrap(), "--write", "--partial"]);
    assert_ne!(fs::read_to_string(folder.join("tokenizer_config.json")).unwrap(), before);
}

#[test]
fn the_report_fits_a_screen() {
    let mut sources: Vec<String> = ["tests/derive", "chat_templates"]
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).unwrap())
        .map(|entry| entry.unwrap().path().to_string_lossy().into_owned())
        .filter(|file| file.ends_with(".jinja") && !file.ends_with("runs_forever.jinja"))
        .collect();
    sources.sort();
    for source in sources.iter().step_by(9) {
        let said = text(&backchat(&["derive", source]).stderr).to_owned();
        assert!(said.lines().count() <= 23, "{source}: {said}");
        // The suggested command is one line that can be copied.
        let too_wide: Vec<&str> =
            said.lines().filter(|line| line.chars().count() > 80 && !line.starts_with("Next: ")).collect();
        assert!(too_wide.is_empty() || said.starts_with("error"), "{source}: {too_wide:?}");
    }
}

#[test]
fn special_tokens_come_from_files_next_to_the_template_or_are_requested() {
    let folder = empty_folder("derive_tokens");
    let file = folder.join("x.jinja");
    fs::write(&file, "{%- for m in messages %}{{- '<|' + m.role + '|>' + m.content + eos_token }}{%- endfor %}")
        .unwrap();
    let derive = || backchat(&["derive", file.to_str().unwrap()]);
    let output = derive();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.starts_with("partial: the model's turn prints `eos_token`") && said.contains("--set eos_token=TEXT"),
        "{said}"
    );
    fs::write(folder.join("generation_config.json"), r#"{"eos_token_id": 7}"#).unwrap();
    fs::write(folder.join("tokenizer.json"), r#"{"added_tokens": [{"id": 7, "content": "<|stop|>"}]}"#).unwrap();
    let output = derive();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("took       `eos_token` = \"<|stop|>\" from generation_config.json"), "{said}");
    assert!(text(&output.stdout).contains("stop"), "{}", text(&output.stdout));
}

#[test]
fn a_target_that_fails_suggests_the_command_that_is_proved() {
    let source = "examples/choice/chat_template.jinja";
    let said = text(&backchat(&["derive", source, "--target", "smg"]).stderr).to_owned();
    assert_eq!(
        said.lines().last(),
        Some(format!("Next: backchat derive {source}, which is proved").as_str()),
        "{said}"
    );
    assert_eq!(backchat(&["derive", source]).status.code(), Some(0));
}

#[test]
fn json_is_one_object_even_on_failure() {
    for (source, status, code) in [
        ("chat_templates/hermes.jinja", "proved", 0),
        ("tests/derive/arguments_of_a_url.jinja", "partial", 1),
        ("tests/derive/no_content.jinja", "failed", 2),
    ] {
        let output = backchat(&["derive", source, "--format", "json"]);
        let report = json::read(text(&output.stdout)).unwrap();
        assert_eq!(report.get("status").unwrap().as_str(), Some(status));
        assert_eq!(output.status.code(), Some(code));
        for key in ["response_template", "findings", "verification", "diagnostics"] {
            assert!(report.get(key).is_some(), "{source} has no {key}");
        }
    }
}

#[test]
fn writing_changes_one_key_and_suggests_the_next_command() {
    let folder = model("derive_write");
    let config = folder.join("tokenizer_config.json");
    let before = fs::read_to_string(&config).unwrap();
    let output = backchat(&["derive", folder.to_str().unwrap(), "--write"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let after = fs::read_to_string(&config).unwrap();
    assert!(before.lines().all(|line| after.contains(line)), "{after}");
    let mut kept = json::read(&after).unwrap().as_object().unwrap().clone();
    assert!(kept.shift_remove("response_template").is_some());
    assert_eq!(json::Value::Object(kept), json::read(&before).unwrap());
    assert!(text(&output.stderr).contains("--explain"));
    // A second time there is nothing to change.
    let output = backchat(&["derive", folder.to_str().unwrap(), "--write"]);
    assert!(text(&output.stderr).contains("is the same"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&config).unwrap(), after);
}

#[test]
fn an_existing_response_template_is_compared() {
    let folder = model("derive_compare");
    let config = folder.join("tokenizer_config.json");
    let old = r#"{"eos_token": "<|im_end|>", "response_template": {"start_anchor": "<a>", "fields": {"content": {}}}}"#;
    fs::write(&config, old).unwrap();
    let output = backchat(&["derive", folder.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert!(said.contains("differs") && said.contains(r#"-  "start_anchor": "<a>""#), "{said}");
    assert_eq!(fs::read_to_string(&config).unwrap(), old);
}

#[test]
fn an_impossible_request_is_one_message() {
    let lonely = empty_folder("derive_lonely");
    fs::copy(root().join("chat_templates/hermes.jinja"), lonely.join("x.jinja")).unwrap();
    let lonely = lonely.join("x.jinja");
    let samples = empty_folder("derive_samples").join("bad.jsonl");
    fs::write(&samples, "{\"text\": \"Hi\"}\n{\"txt\": 1}\n").unwrap();
    for (arguments, wanted) in [
        (vec!["derive", lonely.to_str().unwrap(), "--write"], "no tokenizer_config.json"),
        (vec!["derive", "nowhere.jinja"], "nowhere.jinja"),
        (vec!["derive", "chat_templates/hermes.jinja", "--samples", samples.to_str().unwrap()], ":2:1"),
        (vec!["derive", "tests/derive/no_content.jinja"], "does not render the content"),
        (vec!["derive", "tests/derive/runs_forever.jinja"], "runs for too long"),
    ] {
        let output = backchat(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(text(&output.stderr).contains(wanted), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn the_next_command_keeps_the_options() {
    let folder = empty_folder("derive next");
    fs::copy(root().join("chat_templates/hermes.jinja"), folder.join("chat_template.jinja")).unwrap();
    let name = folder.to_str().unwrap();
    let next = |arguments: &[&str]| {
        let said = text(&backchat(arguments).stderr).to_owned();
        said.lines().last().unwrap_or("").to_owned()
    };
    let set = ["derive", name, "--set", "eos_token=<|im_end|>", "--reasoning-field", "thinking"];
    let kept = format!("backchat derive '{name}' --set 'eos_token=<|im_end|>' --reasoning-field thinking");
    assert_eq!(next(&set), format!("Next: {kept} -o response_template.json"));
    fs::write(folder.join("tokenizer_config.json"), "{}").unwrap();
    assert_eq!(next(&set), format!("Next: {kept} --write"));
    assert_eq!(next(&[&set[..], &["--write"]].concat()), format!("Next: {kept} --explain, for the pull request"));
    // A second time nothing is written.
    let again = text(&backchat(&[&set[..], &["--write"]].concat()).stderr).to_owned();
    assert!(again.contains("is the same") && !again.contains("Wrote"), "{again}");
    let partial = next(&["derive", "tests/derive/arguments_of_a_url.jinja"]);
    assert!(partial.starts_with("Next: backchat derive tests/derive/arguments_of_a_url.jinja --"), "{partial}");
}

#[test]
fn a_template_that_refuses_everything_is_reported_with_place_and_reason() {
    let folder = empty_folder("derive_refused");
    let file = folder.join("x.jinja");
    fs::write(&file, "{%- for m in messages %}\n{{- '<|' + m.role + '|>' + m.content + today() }}{%- endfor %}")
        .unwrap();
    let output = backchat(&["derive", file.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("the chat template refused every conversation"), "{said}");
    assert!(said.contains("x.jinja:2:"), "{said}");
}

#[test]
fn samples_are_counted() {
    let folder = empty_folder("derive_samples_counted");
    let file = folder.join("samples.jsonl");
    fs::write(&file, "{\"text\": \"Hi.<|im_end|>\"}\n{\"text\": \"<tool_call>{</tool_call>\"}\n").unwrap();
    let output = backchat(&["derive", "chat_templates/hermes.jinja", "--samples", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("samples    1 of 2 explained"), "{}", text(&output.stderr));
}

#[test]
fn the_draft_is_written_to_a_file_atomically() {
    let file = empty_folder("derive_output").join("out.json");
    let output = backchat(&["derive", "chat_templates/hermes.jinja", "-o", file.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(json::read(&fs::read_to_string(&file).unwrap()).unwrap().get("fields").is_some());
}

#[test]
fn samples_alone_name_what_is_missing() {
    let (code, out, err) = outcome(&backchat(&["derive", "--samples", "outs.jsonl"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("error[no-source]") && err.contains("backchat derive SOURCE --samples outs.jsonl"), "{err}");
    assert!(!err.contains("Usage"), "{err}");
}
