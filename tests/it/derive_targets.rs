//! `--target`: drafts within the limits of readers, the costs, and the verdict of each reader.

use std::fs;
use std::path::Path;

use backchat::json::Object;
use backchat::{Template, Value};
use backchat_derive::derive::{Derivation, Options, Remedy, Status, derive};
use backchat_derive::targets::{Reader, Target};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn derived(source: &str, targets: &[&str]) -> Derivation {
    derived_with(source, targets, None)
}

fn derived_with(source: &str, targets: &[&str], reasoning_field: Option<&str>) -> Derivation {
    let options = Options::default()
        .variables(Object::from([("eos_token".to_owned(), "</s>".into())]))
        .now("2026-01-01T00:00:00".to_owned())
        .reasoning_field(reasoning_field.map(str::to_owned))
        .targets(targets.iter().map(|name| Target::named(name).unwrap()).collect());
    derive(source, &options)
}

fn fields(derivation: &Derivation) -> Vec<String> {
    let draft = derivation.response_template.as_ref().unwrap();
    draft.get("fields").and_then(Value::as_object).unwrap().keys().map(str::to_owned).collect()
}

fn ids(derivation: &Derivation) -> Vec<&'static str> {
    derivation.diagnostics.iter().map(|diagnostic| diagnostic.id).collect()
}

/// A chat template that reads reasoning under this key.
fn with_reasoning(key: &str) -> String {
    format!(
        "{{% for m in messages %}}<|{{{{ m.role }}}}|>\
         {{% if m.{key} %}}<think>{{{{ m.{key} }}}}</think>{{% endif %}}{{{{ m.content }}}}<|end|>{{% endfor %}}\
         {{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
    )
}

#[test]
fn reasoning_has_the_readers_name_if_the_chat_template_reads_it_then() {
    for (key, targets, given, name) in [
        ("reasoning_content", &[][..], None, "thinking"),
        ("thinking", &[][..], None, "thinking"),
        ("tool_plan", &[][..], None, "tool_plan"),
        ("tool_plan", &["transformers"][..], None, "tool_plan"),
        ("tool_plan", &["vllm"][..], None, "thinking"),
        ("tool_plan", &["portable"][..], None, "thinking"),
        ("reasoning_content", &[][..], Some("reasoning_content"), "reasoning_content"),
    ] {
        let derivation = derived_with(&with_reasoning(key), targets, given);
        assert_eq!(fields(&derivation)[0], name, "{key} {targets:?} {given:?}");
        assert_eq!(derivation.status, Status::Proved, "{key} {targets:?} {given:?}: {:?}", derivation.diagnostics);
        let renamed = name == "thinking" && key == "tool_plan";
        assert_eq!(ids(&derivation).contains(&"derive-renamed"), renamed, "{key} {targets:?}");
    }
}

#[test]
fn a_requested_name_stays_even_if_the_target_refuses_it() {
    let derivation = derived_with(&with_reasoning("thinking"), &["vllm"], Some("thoughts"));
    assert_eq!((fields(&derivation)[0].as_str(), derivation.status), ("thoughts", Status::Partial));
    let finding = derivation.diagnostics.iter().find(|diagnostic| diagnostic.id == "derive-target").unwrap();
    assert!(finding.message.contains("unsupported semantic fields: ['thoughts']"), "{}", finding.message);
}

#[test]
fn every_reader_accepts_the_draft_or_refuses_it() {
    let derivation = derived(&with_reasoning("tool_plan"), &[]);
    let refusing: Vec<Reader> = derivation
        .readers
        .iter()
        .filter(|reading| !reading.refusals.is_empty())
        .map(|reading| reading.reader)
        .collect();
    assert_eq!(refusing, [Reader::Vllm, Reader::VllmRust, Reader::Sglang]);
    let vllm = derivation.readers.iter().find(|reading| reading.reader == Reader::Vllm).unwrap();
    assert_eq!(vllm.other, Some(("vllm-python", "gives a draft that it accepts")));
    assert!(vllm.describe().contains("['tool_plan']"), "{}", vllm.describe());
}

#[test]
fn every_target_accepts_our_drafts_or_has_a_diagnostic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("chat_templates");
    let mut refused: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut refuses = |target: &str| {
            let derivation = derived(&source, &[target]);
            let template = Template::from_value(derivation.response_template.as_ref().unwrap()).unwrap().template;
            let is_taken = Target::named(target).unwrap().check(&template).is_empty();
            if is_taken && derivation.status == Status::Proved {
                return false;
            }
            assert!(ids(&derivation).contains(&"derive-target"), "{name} {target}: {:?}", derivation.diagnostics);
            refused.push(format!("{name} {target}"));
            true
        };
        // A draft for every reader is one for each.
        if refuses("portable") {
            refuses("vllm");
            refuses("vllm-rust");
        }
    }
    refused.sort();
    insta::assert_snapshot!("refused", refused.join("\n"));
}

#[test]
fn text_on_both_sides_of_a_call_is_kept_if_the_reader_can_join_it() {
    let source = read("chat_templates/hermes.jinja");
    let pieces = |targets: &[&str]| {
        let derivation = derived(&source, targets);
        let template = Template::from_value(derivation.response_template.as_ref().unwrap()).unwrap().template;
        let mut parser = backchat::Parser::new(&template, "", Default::default()).unwrap();
        let text = "One.<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>Two.<|im_end|>";
        parser.feed(text).unwrap();
        parser.finish().unwrap().message.get("content").cloned().unwrap()
    };
    assert_eq!(pieces(&[]), "Two.".into());
    assert_eq!(pieces(&["transformers"]), "One.\n\nTwo.".into());
    let costs = |targets: &[&str]| {
        let derivation = derived(&source, targets);
        derivation.readers.iter().map(|reading| reading.costs.len()).collect::<Vec<_>>()
    };
    // Those that return whole messages lose one of the pieces; servers stream both.
    assert_eq!(costs(&[])[..5], [1, 1, 1, 0, 0]);
    assert_eq!(costs(&["transformers"])[0], 0);
}

#[test]
fn a_format_that_needs_look_arounds_is_partial_for_a_reader_without_them() {
    let source = read("tests/derive/keywords_in_brackets.jinja");
    assert_eq!(derived(&source, &[]).status, Status::Proved);
    let derivation = derived(&source, &["smg"]);
    assert_eq!(derivation.status, Status::Partial);
    let finding = derivation.diagnostics.iter().find(|diagnostic| diagnostic.id == "derive-target").unwrap();
    assert!(finding.message.contains("look-around"), "{}", finding.message);
}

#[test]
fn a_draft_that_one_of_two_frontends_refuses_is_better_than_one_that_both_misread() {
    let source = read("chat_templates/apertus.jinja");
    let [both, python, rust] = [&["vllm"], &["vllm-python"], &["vllm-rust"]].map(|targets| derived(&source, targets));
    assert_eq!([both.status, python.status, rust.status], [Status::Partial, Status::Proved, Status::Partial]);
    assert_eq!(both.response_template, python.response_template);
    // The first line says who refuses it and what a draft for that reader reads, the last one how to leave it out.
    let headline = both.headline();
    let (read, cases, all) = (rust.verdict.passed, rust.verdict.cases, both.verdict.cases);
    assert!(read < cases && both.verdict.passed == all, "{headline}");
    let refused = format!("vllm-rust refuses this draft, `--target vllm-rust` gives one that reads {read} of {cases}");
    assert!(headline.contains(&format!("{all} of {all} generated")) && headline.contains(&refused), "{headline}");
    assert_eq!(both.remedy(), Some(&Remedy::Target("vllm-python")));
    let refusal = both.diagnostics.iter().find(|diagnostic| diagnostic.id == "derive-target").unwrap();
    assert!(refusal.message.starts_with("vllm-rust 0.33.0 refuses the draft that reads most: "), "{}", refusal.message);
}

/// Calls in a list as Python writes them, whose strings have escapes.
const PYTHON_LIST: &str = r"{% macro value(v) %}{% if v is string %}'{{ v | replace('\\', '\\\\') | replace('\'', '\\\'')
    | replace('\n', '\\n') }}'{% elif v is mapping or v is iterable %}{{ v | tojson }}{% else %}{{ v }}{% endif %}{% endmacro %}
    {%- for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}<|calls|>[{% for c in m.tool_calls %}
    {{- c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ value(v) }}
    {{- ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]<|/calls|>{% endif %}<|end|>
    {%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

#[test]
fn a_list_of_python_calls_is_read_by_its_own_parser_where_the_readers_have_it() {
    let parser = |derivation: &Derivation| {
        let fields = derivation.response_template.as_ref().unwrap().get("fields").unwrap();
        fields.get("tool_calls").unwrap().get("content").unwrap().as_str().unwrap().to_owned()
    };
    let all = derived(PYTHON_LIST, &[]);
    assert_eq!((all.status, parser(&all)), (Status::Partial, "xml-inline".to_owned()), "{}", all.headline());
    // It loses the escapes, says so, and offers the release that reads them.
    assert!(all.verdict.passed < all.verdict.cases, "{}", all.headline());
    let offer = all.diagnostics.iter().find(|diagnostic| diagnostic.id == "derive-fuller").unwrap();
    let numbers =
        offer.message.strip_prefix("`--target transformers` gives a draft for transformers 5.24.0 that reads ");
    let (read, cases) = numbers.and_then(|numbers| numbers.split_once(" of ")).unwrap();
    assert!(cases.starts_with(&format!("{read} conversations exactly")), "{}", offer.message);
    assert_eq!(all.remedy(), Some(&Remedy::Target("transformers")));
    for (target, status, content) in [
        ("transformers", Status::Proved, "python-call-list"),
        ("trl", Status::Proved, "python-call-list"),
        ("transformers-5.23", Status::Partial, "xml-inline"),
        ("vllm-python", Status::Partial, "xml-inline"),
    ] {
        let derivation = derived(PYTHON_LIST, &[target]);
        assert_eq!((derivation.status, parser(&derivation).as_str()), (status, content), "{target}");
        assert!(!ids(&derivation).contains(&"derive-fuller"), "{target}: it was decided");
    }
}

#[test]
fn a_list_of_python_calls_with_nested_values_as_python_prints_them_is_offered_too() {
    let (_, rest) = PYTHON_LIST.split_once("{% endmacro %}").unwrap();
    let source =
        format!("{{% macro value(v) %}}{{{{ v | tojson if v is string else v | string }}}}{{% endmacro %}}{rest}");
    let all = derived(&source, &[]);
    assert_eq!((all.status, all.remedy()), (Status::Partial, Some(&Remedy::Target("transformers"))));
    let derivation = derived(&source, &["transformers"]);
    let draft = derivation.response_template.as_ref().unwrap().to_string();
    assert_eq!(derivation.status, Status::Proved, "{}", derivation.headline());
    assert!(draft.contains("python-call-list"), "{draft}");
}

/// A model folder with a response template that has look-arounds.
fn model(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let chat_template = with_reasoning("reasoning_content");
    let template = r#"{"start_anchor": "<|assistant|>", "fields": {"reasoning_content": {"open": "<think>",
        "close_pattern": "</think>\\s*"}, "content": {"close_pattern": "<\\|end\\|>(?=\\s|$)"}}}"#;
    let config = format!(
        "{{\n  \"x\": [1,2],\n  \"chat_template\": {},\n  \"response_template\": {template}\n}}\n",
        Value::from(chat_template.as_str())
    );
    fs::write(folder.join("tokenizer_config.json"), config).unwrap();
    folder
}

#[test]
fn lint_rewrites_for_a_target_if_a_chat_template_proves_the_result() {
    let folder = model("lint_rewrites");
    let file = folder.join("tokenizer_config.json");
    let lint = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_backchat"));
        let output = command.arg("lint").args(arguments).arg(&file).env("NO_COLOR", "1").output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = lint(&["--target", "portable"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("can be fixed with `--fix`"), "{text}");
    let (_, text) = lint(&["--target", "portable", "--fix"]);
    assert!(!text.contains("error["), "{text}");
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.contains("\"x\": [1,2]"), "{written}");
    let template = backchat::json::read(&written).unwrap().get("response_template").cloned().unwrap();
    let loaded = Template::from_value(&template).unwrap().template;
    assert_eq!(Target::named("portable").unwrap().check(&loaded), []);
    assert!(template.get("fields").unwrap().get("thinking").is_some(), "{written}");
}
