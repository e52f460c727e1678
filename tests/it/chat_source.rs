//! Reads chat templates from every kind of source.

use std::fs;
use std::path::Path;

use backchat::chat::source::{Source, SourceError, SourceErrorKind, open};
use backchat::json::Value;
use backchat_core::diagnostic::{Format, render};
use proptest::prelude::*;

use crate::support::{Gguf, folder_of, path_text};

/// The user's view of a result, without the folder of the test.
fn shown(result: Result<Source, SourceError>, folder: &Path) -> String {
    let error = result.unwrap_err();
    render(&error.diagnostics, Format::Full, &error.sources, false).replace(path_text(folder), "FOLDER")
}

/// The tokens as `name=text`.
fn tokens(source: &Source) -> Vec<String> {
    source.special_tokens.iter().map(|(name, text)| format!("{name}={}", text.as_str().unwrap_or("?"))).collect()
}

#[test]
fn a_jinja_file_is_its_template() {
    let folder = folder_of(&[("t.jinja", "{{ messages }}\n"), ("{odd", "{ \"not an object")]);
    let source = open(path_text(&folder.path().join("t.jinja")), None).unwrap();
    assert_eq!((source.template.as_str(), &source.name), ("{{ messages }}\n", &None));
    assert_eq!(source.special_tokens.len(), 0);
}

#[test]
fn a_config_has_the_template_and_the_tokens() {
    let config = r#"{"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "unk_token": null,
        "add_bos_token": true, "additional_special_tokens": ["<a>", {"content": "<b>"}], "chat_template": "T"}"#;
    let folder = folder_of(&[("tokenizer_config.json", config)]);
    for path in [folder.path().join("tokenizer_config.json"), folder.path().to_owned()] {
        let source = open(path_text(&path), None).unwrap();
        assert_eq!((source.template.as_str(), &source.name), ("T", &None));
        assert_eq!((source.bos_token(), source.eos_token()), (Some("<s>"), Some("</s>")));
        assert_eq!(
            Value::Object(source.special_tokens).to_string(),
            r#"{"bos_token": "<s>", "eos_token": "</s>", "additional_special_tokens": ["<a>", "<b>"]}"#
        );
    }
}

#[test]
fn of_several_templates_the_default_is_that_of_transformers() {
    let config = r#"{"chat_template": [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "U"},
        {"name": "rag", "template": "R"}]}"#;
    let folder = folder_of(&[("tokenizer_config.json", config)]);
    let open = |wanted| open(path_text(folder.path()), wanted).unwrap();
    for (wanted, plain, with_tools) in [
        (None, ("D", "default", "tool_use rag"), ("U", "tool_use", "rag default")),
        (Some("rag"), ("R", "rag", "default tool_use"), ("R", "rag", "default tool_use")),
        (Some("default"), ("D", "default", "tool_use rag"), ("D", "default", "tool_use rag")),
    ] {
        for (source, (template, name, others)) in [(open(wanted), plain), (open(wanted).for_tools(), with_tools)] {
            assert_eq!(source.template, template);
            assert_eq!(source.name.as_deref(), Some(name));
            assert_eq!(source.other_names.join(" "), others);
        }
    }
}

#[test]
fn a_folders_own_files_win_over_its_configs() {
    let config = ("tokenizer_config.json", r#"{"bos_token": "<s>", "chat_template": "config"}"#);
    let processor = ("chat_template.json", r#"{"chat_template": "processor"}"#);
    let own = ("chat_template.jinja", "own");
    let named = ("additional_chat_templates/tool_use.jinja", "tools");
    let map = ("special_tokens_map.json", r#"{"bos_token": "other", "eos_token": {"content": "</s>"}}"#);
    for (files, template, names) in [
        (vec![config, processor, own, named, map], "own", "tool_use"),
        (vec![config, processor, own], "own", ""),
        (vec![config, processor], "config", ""),
        (vec![processor], "processor", ""),
        (vec![config, named], "tools", ""),
    ] {
        let folder = folder_of(&files);
        let source = open(path_text(folder.path()), None).unwrap();
        assert_eq!(source.template, template);
        assert_eq!(source.other_names.join(" "), names);
        if files.contains(&map) {
            assert_eq!(tokens(&source), ["bos_token=<s>", "eos_token=</s>"]);
        }
    }
}

#[test]
fn sources_without_a_template_are_reported_with_their_position() {
    let folder = folder_of(&[
        ("broken.json", "{\n  \"chat_template\": \"a\n}"),
        ("list.json", "[1]"),
        ("none.json", "{\"bos_token\": \"<s>\"}"),
        ("response.json", "{\"fields\": {\"content\": {}}}"),
        ("number.json", "{\n  \"chat_template\": 3\n}"),
        ("named.json", "{\"chat_template\": [{\"name\": \"a\", \"template\": \"A\"}, {\"name\": \"b\"}]}"),
        (
            "nodefault.json",
            "{\"chat_template\": [{\"name\": \"a\", \"template\": \"A\"}, {\"name\": \"b\", \"template\": \"B\"}]}",
        ),
        ("fake.gguf", "not one"),
        ("empty/readme.md", "nothing"),
    ]);
    let mut all = String::new();
    for file in [
        "broken.json",
        "list.json",
        "none.json",
        "response.json",
        "number.json",
        "named.json",
        "nodefault.json",
        "fake.gguf",
        "empty",
        "absent",
    ] {
        all += &shown(open(path_text(&folder.path().join(file)), None), folder.path());
        all += "\n";
    }
    all += &shown(open(path_text(&folder.path().join("nodefault.json")), Some("c")), folder.path());
    insta::assert_snapshot!(all);
}

fn model() -> Gguf {
    Gguf::new()
        .text("general.architecture", "test")
        .entry("a.bool", 7, &[1])
        .entry("a.float", 12, &1.5_f64.to_le_bytes())
        .entry("a.numbers", 9, &[4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0])
        .texts("tokenizer.ggml.tokens", ["<unk>", "<s>", "</s>", "a"].into_iter())
        .number("tokenizer.ggml.bos_token_id", 1)
        .number("tokenizer.ggml.eos_token_id", 2)
        .number("tokenizer.ggml.padding_token_id", 2)
        .number("tokenizer.ggml.unknown_token_id", 99)
        .text("tokenizer.chat_template", "main {{ bos_token }}")
        .text("tokenizer.chat_template.tool_use", "tools")
}

fn open_bytes(bytes: &[u8]) -> Result<Source, SourceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, bytes).unwrap();
    open(path_text(&path), None)
}

#[test]
fn gguf_metadata_has_templates_and_tokens() {
    let mut file = model().finish();
    file.extend([0xff; 64]);
    let source = open_bytes(&file).unwrap();
    assert_eq!(source.template, "main {{ bos_token }}");
    assert_eq!((source.name.as_deref(), source.other_names.join(" ")), (Some("default"), "tool_use".to_owned()));
    assert_eq!(tokens(&source), ["bos_token=<s>", "eos_token=</s>", "pad_token=</s>"]);
    assert_eq!(source.for_tools().template, "tools");
}

#[test]
fn a_folder_may_contain_only_a_gguf_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.gguf"), model().finish()).unwrap();
    let source = open(path_text(folder.path()), None).unwrap();
    assert_eq!((source.template.as_str(), source.eos_token()), ("main {{ bos_token }}", Some("</s>")));
}

#[test]
fn tensors_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gguf");
    fs::write(&path, model().finish()).unwrap();
    // A sparse file of a terabyte: reading it would take hours.
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(open(path_text(&path), None).unwrap().bos_token(), Some("<s>"));
}

#[test]
fn gguf_metadata_has_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.gguf");
    // A key of 300 MiB, in a file that is sparse after its length.
    fs::write(&path, Gguf::new().entry("a.string", 8, &(300_u64 << 20).to_le_bytes()).finish()).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
    let error = open(path_text(&path), None).unwrap_err().to_string();
    assert!(error.contains("the metadata is longer than 256 MiB"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_to_no_file_is_not_taken_for_no_file() {
    let folder = folder_of(&[]);
    for name in ["chat_template.jinja", "tokenizer_config.json"] {
        let link = folder.path().join(name);
        std::os::unix::fs::symlink("../blobs/4f2a", &link).unwrap();
        let said = shown(open(path_text(folder.path()), None), folder.path());
        assert!(said.contains(&format!("a link to a file that is not there\n--> FOLDER/{name}")), "{said}");
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn all_templates_of_a_place_are_read() {
    let list = r#"{"chat_template": [{"name": "rag", "template": "R"}, {"name": "default", "template": "D"}]}"#;
    let folder = folder_of(&[("list.json", list), ("t.jinja", "T")]);
    let all = |file: &str| {
        let sources = backchat_chat::source::open_all(path_text(&folder.path().join(file))).unwrap();
        sources.into_iter().map(|source| (source.name, source.template, source.other_names)).collect::<Vec<_>>()
    };
    let named = |name: &str, template: &str, other: &str| (Some(name.into()), template.into(), vec![other.into()]);
    assert_eq!(all("list.json"), [named("rag", "R", "default"), named("default", "D", "rag")]);
    assert_eq!(all("t.jinja"), [(None, "T".into(), vec![])]);
}

#[test]
fn every_error_has_a_kind() {
    let kind = |path: &Path| open(path_text(path), None).unwrap_err().kind();
    let folder = folder_of(&[("tokenizer_config.json", "{}"), ("broken.json", "{"), ("gguf/model.gguf", "GG")]);
    assert_eq!(kind(&folder.path().join("none.jinja")), SourceErrorKind::Unreadable);
    assert_eq!(kind(folder.path()), SourceErrorKind::NoTemplate);
    assert_eq!(kind(Path::new("no-such-org/no-such-model")), SourceErrorKind::NoTemplate);
    assert_eq!(kind(&folder.path().join("broken.json")), SourceErrorKind::Invalid);
    assert_eq!(kind(&folder.path().join("gguf/model.gguf")), SourceErrorKind::Invalid);
}

#[test]
fn truncated_gguf_files_are_reported_as_such() {
    let file = model().finish();
    for end in 4..file.len() {
        let error = open_bytes(&file[..end]).unwrap_err();
        assert_eq!(error.diagnostics[0].id, "invalid-gguf", "cut at {end}: {error}");
    }
}

#[test]
fn absurd_gguf_files_are_refused() {
    let absurd = u64::MAX.to_le_bytes();
    let long_array: Vec<u8> = [&10_u32.to_le_bytes()[..], &absurd].concat();
    let long_strings: Vec<u8> = [&8_u32.to_le_bytes()[..], &absurd].concat();
    let nested: Vec<u8> = [9_u32.to_le_bytes().to_vec(), 1_u64.to_le_bytes().to_vec()].concat().repeat(1000);
    let mut big_endian = model().finish();
    big_endian[4..8].reverse();
    let mut future = model().finish();
    future[4] = 77;
    let mut endless = model().finish();
    endless[16..24].copy_from_slice(&absurd);
    let mut all = String::new();
    for file in [
        Gguf::new().entry("a.string", 8, &absurd).finish(),
        Gguf::new().entry("an.array", 9, &long_array).finish(),
        Gguf::new().entry("a.list", 9, &long_strings).finish(),
        Gguf::new().entry("nested", 9, &nested).finish(),
        Gguf::new().entry("odd", 42, &[]).finish(),
        Gguf::new().text("general.name", "no template").finish(),
        Gguf::new().entry("tokenizer.chat_template", 8, &[1, 0, 0, 0, 0, 0, 0, 0, 0xff]).finish(),
        Gguf::new()
            .texts("tokenizer.ggml.tokens", std::iter::empty())
            .text("tokenizer.chat_template", "x")
            .entry("k", 9, &[8])
            .finish(),
        big_endian,
        future,
        endless,
    ] {
        all += &open_bytes(&file).unwrap_err().to_string();
        all += "\n";
    }
    insta::assert_snapshot!(all);
}

proptest! {
    #[test]
    fn no_bytes_of_a_gguf_file_panic(at in 4_usize..600, bytes in proptest::collection::vec(any::<u8>(), 1..16)) {
        let mut file = model().finish();
        for (offset, byte) in bytes.into_iter().enumerate() {
            if let Some(slot) = file.get_mut(at + offset) {
                *slot = byte;
            }
        }
        drop(open_bytes(&file));
    }
}
