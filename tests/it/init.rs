//! `backchat init`: the suite passes where it was created and after it is moved; a second run changes nothing.

use std::fs;
use std::path::Path;

use backchat::json::Value;

use crate::support::{folder_of, outcome_in, root};

/// A model folder with one of our chat templates.
fn model(name: &str, folder: &Path) {
    let model = folder.join("models/mine");
    fs::create_dir_all(&model).unwrap();
    fs::copy(root().join("chat_templates").join(name), model.join("chat_template.jinja")).unwrap();
    fs::write(model.join("tokenizer_config.json"), "{\"eos_token\": \"<|im_end|>\"}\n").unwrap();
}

/// Every file of a folder with its text, in order.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_suite_is_made_once_and_passes_anywhere() {
    let folder = folder_of(&[]);
    let folder = folder.path();
    model("hermes.jinja", folder);
    fs::create_dir(folder.join(".git")).unwrap();
    fs::write(folder.join(".gitattributes"), "*.bin -diff").unwrap();
    let (code, out, err) = outcome_in(folder, &["init", "models/mine"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("tokenizer_config.json: proved: "), "{out}");
    assert!(out.contains("OWNER/REPOSITORY/actions/workflows/backchat.yml/badge.svg"), "{out}");
    assert!(err.contains("Next: backchat check models/mine"), "{err}");
    let made = contents(folder);
    let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            ".gitattributes",
            ".github/workflows/backchat.yml",
            ".pre-commit-config.yaml",
            "models/mine/chat_template.jinja",
            "models/mine/fixtures/rendered.fixture",
            "models/mine/tokenizer_config.json",
        ]
    );
    assert_eq!(made[0].1, "*.bin -diff\n*.fixture -text\n");
    assert!(made[1].1.contains("            models/mine/tokenizer_config.json\n"), "{}", made[1].1);
    assert!(made[4].1.contains("template: ../tokenizer_config.json\nchat-template: ..\n"), "{}", made[4].1);

    let (code, out, err) = outcome_in(folder, &["init", "models/mine"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!out.contains("wrote "), "{out}");
    assert_eq!(contents(folder), made);

    let elsewhere = folder_of(&[]);
    fs::rename(folder.join("models/mine"), elsewhere.path().join("moved")).unwrap();
    let (code, out, err) = outcome_in(elsewhere.path(), &["check", "moved"]);
    assert_eq!(code, 0, "{out}{err}");
    // If the suite is its own repository, its workflow checks it from inside.
    let (code, out, err) = outcome_in(&elsewhere.path().join("moved"), &["check", "."]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains(" passed"), "{err}");
}

#[test]
fn the_workflow_runs_for_every_branch_and_a_second_model_is_added_to_each_list() {
    let folder = folder_of(&[]);
    let folder = folder.path();
    fs::create_dir(folder.join(".git")).unwrap();
    for name in ["mine", "more"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::copy(root().join("chat_templates/hermes.jinja"), folder.join(name).join("chat_template.jinja")).unwrap();
    }
    let (code, out, err) = outcome_in(folder, &["init", "mine"]);
    assert_eq!(code, 0, "{out}{err}");
    let workflow = folder.join(".github/workflows/backchat.yml");
    let text = fs::read_to_string(&workflow).unwrap();
    assert!(text.contains("\n  push:\n  pull_request:\n"), "{text}");
    let left = |out: &str| out.lines().filter(|line| line.starts_with("- add ")).map(str::to_owned).collect::<Vec<_>>();
    let (_, out, _) = outcome_in(folder, &["init", "more"]);
    let wanted = ["`templates`", "`chat-templates`"].map(|key| format!("{key} in .github/workflows/backchat.yml"));
    let items = ["more/tokenizer_config.json", "more"];
    let wanted: Vec<String> =
        items.iter().zip(&wanted).map(|(item, place)| format!("- add {item} to {place}")).collect();
    assert_eq!(left(&out).into_iter().filter(|line| !line.contains("--samples")).collect::<Vec<_>>(), wanted);
    let added = text.replace("            mine\n", "            mine\n            more\n");
    let added = added.replace("mine/tokenizer_config.json", "more/tokenizer_config.json");
    fs::write(&workflow, added).unwrap();
    let (_, out, _) = outcome_in(folder, &["init", "more"]);
    assert!(!left(&out).iter().any(|line| line.contains("backchat.yml")), "{out}");
}

#[test]
fn a_suite_may_have_a_folder_within_folders_that_are_not_there_yet() {
    let folder = folder_of(&[]);
    let folder = folder.path();
    fs::copy(root().join("chat_templates/qwen3.jinja"), folder.join("chat_template.jinja")).unwrap();
    let (code, out, err) = outcome_in(folder, &["init", "chat_template.jinja", "suites/mine"]);
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = outcome_in(folder, &["check", "suites/mine"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn recorded_outputs_become_cases() {
    let folder = folder_of(&[(
        "outputs.jsonl",
        "{\"id\": \"greeting\", \"text\": \"Hello.<|im_end|>\"}\n{\"id\": \"thanks\", \"text\": \"Thanks!<|im_end|>\"}\n",
    )]);
    let folder = folder.path();
    model("hermes.jinja", folder);
    let (code, out, err) = outcome_in(folder, &["init", "models/mine", "--samples", "outputs.jsonl"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("recorded.fixture: 2 recorded outputs"), "{out}");
    let (code, listed, _) = outcome_in(folder, &["check", "models/mine", "--list", "--filter", "recorded"]);
    assert_eq!((code, listed.lines().count()), (0, 2), "{listed}");
    let (code, out, err) = outcome_in(folder, &["check", "models/mine"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn samples_are_not_added_to_a_file_that_is_there() {
    let wrong = r#"{"id": "a", "text": "Hello.<|im_end|>", "message": {"role": "assistant", "content": "Bye."}}"#;
    let right = wrong.replace("Bye.", "Hello.");
    let folder = folder_of(&[("wrong.jsonl", wrong), ("right.jsonl", &right)]);
    let folder = folder.path();
    model("hermes.jinja", folder);
    let (code, out, err) = outcome_in(folder, &["init", "models/mine", "--samples", "right.jsonl"]);
    assert_eq!((code, out.contains("the response template wrote them")), (0, false), "{out}{err}");
    let made = contents(folder);
    let (code, out, err) = outcome_in(folder, &["init", "models/mine", "--samples", "wrong.jsonl"]);
    assert_eq!((code, out.contains("backchat check models/mine/fixtures")), (0, false), "{out}{err}");
    assert!(out.contains("kept models/mine/fixtures/recorded.fixture: the samples were not added"), "{out}");
    assert_eq!(contents(folder), made);
}

#[test]
fn a_suite_that_is_there_is_checked() {
    let wrong = r#"{"id": "a", "text": "Hello.<|im_end|>", "message": {"role": "assistant", "content": "Bye."}}"#;
    let folder = folder_of(&[("wrong.jsonl", wrong)]);
    let folder = folder.path();
    model("hermes.jinja", folder);
    let init = ["init", "models/mine", "--samples", "wrong.jsonl"];
    let (code, out, err) = outcome_in(folder, &init);
    assert_eq!(code, 1, "{out}{err}");
    for arguments in [&init[..], &init[..2]] {
        let (code, out, err) = outcome_in(folder, arguments);
        assert_eq!(code, 1, "{out}{err}");
        let file = "models/mine/fixtures/recorded.fixture";
        let left = format!("- 1 case in {file} does not pass: backchat check {file}");
        assert!(out.contains(&format!("kept {file}")) && out.contains(&left), "{out}");
    }
    let file = folder.join("models/mine/fixtures/recorded.fixture");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("Bye.", "Hello.")).unwrap();
    let (code, out, err) = outcome_in(folder, &init[..2]);
    assert_eq!(code, 0, "{out}{err}");
    fs::write(&file, "no fixture\n").unwrap();
    let (code, out, err) = outcome_in(folder, &init[..2]);
    assert_eq!((code, out.contains("does not pass: backchat check models/mine")), (1, true), "{out}{err}");
}

#[test]
fn cases_that_the_models_own_template_misreads_fail() {
    let folder = folder_of(&[]);
    let folder = folder.path();
    model("hermes.jinja", folder);
    let template = r#"{"start_anchor": "<|im_start|>assistant\n", "fields": {"content": {}}}"#;
    let config = format!("{{\"eos_token\": \"<|im_end|>\", \"response_template\": {template}}}\n");
    fs::write(folder.join("models/mine/tokenizer_config.json"), config).unwrap();
    let (code, out, err) = outcome_in(folder, &["init", "models/mine"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("it has a response template"), "{out}");
    let left = out.lines().find(|line| line.contains(" rendered cases fail: backchat check ")).expect(&out);
    let (code, _, summary) = outcome_in(folder, &["check", "models/mine/fixtures/rendered.fixture"]);
    assert_eq!(code, 1, "{summary}");
    let count = left.split(' ').nth(1).unwrap();
    assert!(summary.contains(&format!(" {count} failed")), "{left}: {summary}");
}

#[test]
fn a_chat_template_without_a_folder_is_copied_into_the_suite() {
    let folder = folder_of(&[]);
    let folder = folder.path();
    fs::copy(root().join("chat_templates/qwen3.jinja"), folder.join("talk.jinja")).unwrap();
    let (code, out, err) = outcome_in(folder, &["init", "talk.jinja"]);
    assert_eq!(code, 0, "{out}{err}");
    fs::remove_file(folder.join("talk.jinja")).unwrap();
    let (code, out, err) = outcome_in(folder, &["check", "talk"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn the_chat_templates_that_are_not_copied_are_named() {
    let template = fs::read_to_string(root().join("chat_templates/qwen3.jinja")).unwrap();
    let named =
        |name: &str, template: &str| format!("{{\"name\": \"{name}\", \"template\": {}}}", Value::from(template));
    let other = template.replace("<|im_end|>", "<|end|>");
    let config = format!("{{\"chat_template\": [{}, {}]}}", named("default", &other), named("tool_use", &template));
    let folder = folder_of(&[("list.json", &config)]);
    let (_, out, err) = outcome_in(folder.path(), &["init", "list.json", "suite"]);
    let about = "chat_template.jinja: the chat template `tool_use`, without the others of the model: default";
    assert!(out.contains(about), "{out}{err}");
    assert_eq!(fs::read_to_string(folder.path().join("suite/chat_template.jinja")).unwrap(), template);
}

#[test]
fn unusable_arguments_are_named_and_nothing_is_written() {
    let folder = folder_of(&[("silent.jinja", "{{ messages | length }}")]);
    for (model, word) in [
        ("nowhere.jinja", "nowhere.jinja"),
        ("silent.jinja", "derive-no-content"),
        ("-", "backchat init - suites/mine"),
    ] {
        let (code, out, err) = outcome_in(folder.path(), &["init", model]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(word), "{err}");
    }
    assert_eq!(contents(folder.path()).len(), 1);
}
