//! Compares our statements about readers with what the readers did with the same templates.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use backchat::Template;
use backchat_derive::targets::{ENGINES, Reader, Role, TARGETS, Target};
use backchat_parser::pattern::Pattern;
use serde_json::Value as Json;

use crate::support::root;

fn load(text: &str) -> Template {
    Template::load(text).unwrap().template
}

/// `tests/inputs/targets.json` was written by the readers in [`Reader::ALL`], each in its release: they were given each
/// template, and `refused_by` names those that did not load it. TRL loads what transformers loads.
#[test]
fn the_recorded_refusals_of_readers_are_predicted() {
    let rows: Json =
        serde_json::from_str(&fs::read_to_string(root().join("tests/inputs/targets.json")).unwrap()).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 200);
    let mut wrong = Vec::new();
    for row in rows {
        let template = load(&row["template"].to_string());
        let refused: BTreeSet<&str> = row["refused_by"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        for reader in Reader::ALL.into_iter().filter(|reader| *reader != Reader::Trl) {
            let refusals = reader.check(&template);
            if refusals.is_empty() == refused.contains(reader.name()) {
                wrong.push(format!("{} {}: {refusals:?}", reader.name(), row["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every string that may be a pattern in the JSON files of a folder.
fn patterns(folder: &str) -> BTreeSet<String> {
    fn walk(value: &Json, key: &str, found: &mut BTreeSet<String>) {
        match value {
            Json::Object(entries) => entries.iter().for_each(|(key, value)| walk(value, key, found)),
            Json::Array(items) => items.iter().for_each(|item| walk(item, key, found)),
            Json::String(text) if key.ends_with("_pattern") => {
                found.insert(text.clone());
            }
            _ => {}
        }
    }
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => files(&path, found),
                false if path.extension().is_some_and(|end| end == "json") => found.push(path),
                false => {}
            }
        }
    }
    let (mut paths, mut found) = (Vec::new(), BTreeSet::new());
    files(&root().join(folder), &mut paths);
    for path in paths {
        if let Ok(value) = serde_json::from_str(&fs::read_to_string(path).unwrap_or_default()) {
            walk(&value, "", &mut found);
        }
    }
    found
}

#[test]
fn every_pattern_of_ours_gets_the_verdict_of_the_crate() {
    let all: BTreeSet<String> = ["tests", "derived"].into_iter().flat_map(patterns).collect();
    let mut judged = 0;
    for source in all {
        let spec = serde_json::json!({"start_anchor": "<|a|>", "fields": {
            "t": {"open_pattern": source, "close": "</t>", "transform": "{content}"}, "content": {}}});
        let Ok(loaded) = Template::load(&spec.to_string()) else { continue };
        let refused = smg_response_template::load_response_template(&spec).err();
        let said = Reader::Smg.check(&loaded.template);
        assert_eq!(said.is_empty(), refused.is_none(), "{source}: {said:?}, {refused:?}");
        assert_eq!(Reader::Smg.check_pattern(&source, Role::Delimiter).is_some(), refused.is_some(), "{source}");
        judged += 1;
    }
    assert!(judged > 100, "{judged}");
}

#[test]
fn refusals_have_the_place_and_the_words_of_the_reader() {
    let template = load(
        r#"{"start_anchor": "<|a|>", "defaults": {"role": "assistant", "content": ""}, "fields": {
            "reasoning_content": {"open": "<think>", "close": "</think>"},
            "a": {"open_pattern": "<a(?=b)", "close_pattern": "(?i)</a>"},
            "ab": {"open_pattern": "x*", "close_pattern": "y*"},
            "tool_calls": {"content": "json"}}}"#,
    );
    let messages: Vec<String> = Target::named("sglang")
        .unwrap()
        .check(&template)
        .into_iter()
        .chain(Target::named("smg").unwrap().check(&template))
        .map(|refusal| format!("{} {} {:?}: {}", refusal.reader.name(), refusal.place, refusal.reason, refusal.words))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn cautions_have_the_place_of_what_a_reader_drops() {
    let calls = r#""tool_calls": {"open": "<c>", "close": "</c>", "repeats": true, "content": "json""#;
    let shaped = r#""transform": {"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}"#;
    let thinking = r#""thinking": {"open": "<think>", "close": "</think>"}"#;
    for (fields, target, places) in [
        (format!("{thinking}, {calls}, {shaped}}}"), "portable", &[][..]),
        (format!("{thinking}, {calls}, {shaped}}}"), "sglang", &[]),
        (r#""content": {"close": "<end>"}"#.to_owned(), "vllm-python", &["vllm fields"]),
        (
            r#""thinking": {"open": "<t>", "close": "</t>", "repeats": true}"#.to_owned(),
            "vllm-python",
            &["vllm fields.thinking.repeats"],
        ),
        (
            r#""thinking": {"open_pattern": "\\s*<t>", "close_pattern": "</t>\\s*"}"#.to_owned(),
            "vllm-python",
            &["vllm fields.thinking.close_pattern", "vllm fields.thinking.open_pattern"],
        ),
        (
            format!("{thinking}, {calls}, \"transform\": {{\"name\": \"{{content.name}}\"}}}}"),
            "vllm",
            &["vllm fields.tool_calls.transform"],
        ),
        (
            format!("{thinking}, {calls}, \"transform\": {{\"arguments\": \"{{content.name}}\"}}}}"),
            "vllm-rust",
            &["vllm-rust fields.tool_calls.transform"],
        ),
        (
            format!(r#"{thinking}, "tool_calls": {{"open_pattern": "^\\{{", {shaped}}}"#),
            "vllm-rust",
            &["vllm-rust fields.tool_calls.open_pattern"],
        ),
        (
            format!(r#"{calls}, {shaped}}}, "content": {{"close": "<end>"}}"#),
            "sglang",
            &["sglang fields.content.close"],
        ),
        (
            format!(r#"{thinking}, "tool_calls": {{"open": "<c>", "content": "json", {shaped}}}"#),
            "sglang",
            &["sglang fields.tool_calls"],
        ),
        (
            format!(r#"{thinking}, "tool_calls": {{"open": "<c>", "close_pattern": "\\)(?=\\])", {shaped}}}"#),
            "sglang",
            &["sglang fields.tool_calls.close_pattern"],
        ),
        (
            format!(
                r#"{thinking}, "tool_calls": {{"open": "<c>", "close_pattern": "(?:</c>|<end>)\\s*", {shaped}}}, "content": {{"close": "<end>"}}"#
            ),
            "sglang",
            &["sglang fields.tool_calls.close_pattern"],
        ),
        (format!(r#""tool_calls": {{"open": "<c>", "content": "json", {shaped}}}"#), "trl", &["trl fields.tool_calls"]),
        (format!(r#"{calls}, "transform_each": true, {shaped}}}"#), "trl", &["trl fields.tool_calls.transform_each"]),
    ] {
        let template = load(&format!(r#"{{"start_anchor": "<|a|>", "fields": {{{fields}}}}}"#));
        let cautions = Target::named(target).unwrap().cautions(&template);
        let messages: Vec<_> =
            cautions.iter().map(|caution| format!("{} {}", caution.reader.name(), caution.place)).collect();
        assert_eq!(messages, places, "{fields} for {target}");
    }
}

/// A target accepts a template within its limits.
#[test]
fn limits_match_checks() {
    for target in &TARGETS {
        let limits = target.limits();
        let refuses = |fields: &str, defaults: &str| {
            let text = format!(r#"{{"start_anchor": "<|a|>", "defaults": {{{defaults}}}, "fields": {{{fields}}}}}"#);
            !target.check(&load(&text)).is_empty()
        };
        let thinking = r#""thinking": {"open": "<t>", "close": "</t>"}"#;
        assert!(!refuses(thinking, r#""role": "assistant""#), "{}", target.name);
        assert_eq!(refuses(r#""reasoning": {"open": "<t>", "close": "</t>"}"#, ""), limits.fields.is_some());
        assert_eq!(refuses(r#""reasoning": {"open": "<t>", "close": "</t>"}"#, ""), limits.reasoning.is_some());
        assert_eq!(refuses(thinking, r#""content": """#), limits.defaults.is_some());
        assert_eq!(refuses(r#""content": {"repeats": true, "join": ""}"#, ""), !limits.joins_text);
        assert_eq!(refuses(r#""content": {"content": "json"}"#, ""), !limits.shapes_text);
        assert_eq!(refuses(r#""thinking": {"open_pattern": "<t>(?=a)", "close": "c"}"#, ""), !limits.looks_around);
        assert_eq!(refuses(r#""tool_calls": {"content": "json"}"#, ""), limits.calls_need_open);
    }
}

/// Patterns with every construct that engines differ on.
const CONSTRUCTS: &[&str] = &[
    r"a(?=b)",
    r"a(?!b)",
    r"(?<=a)b",
    r"(?<!a)b",
    r"(?<=a|bc)d",
    r"(?<=a+)b",
    r"(?<=a{1,3})b",
    r"(a)\1",
    r"(?P<n>a)(?P=n)",
    r"(a)?(?(1)b|c)",
    r"(?(?=a)a|b)",
    r"\((?:[^()]|(?R))*\)",
    r"(a|b)(?1)",
    r"(?P<n>a)(?&n)",
    r"a++",
    r"a*+b",
    r"a{1,2}+",
    r"(?>a|b)c",
    r"a\Kb",
    r"(?fi)ss",
    r"(?i)a",
    r"(?i:a)b",
    r"a(?i)b",
    r"(?s).",
    r"(?m)^a$",
    r"(?x) a b",
    r"\Ga",
    r"a\Z",
    r"\Aa",
    r"a$",
    r"\ba\B",
    r"\ma",
    r"a\M",
    r"a{2}",
    r"a{2,}",
    r"a{,2}",
    r"\d+",
    r"\w\s",
    r"\p{L}x",
    r"\p{Lu}",
    r"[[:alpha:]]",
    r"[\w-]",
    r"(?P<name>\w+)",
    r"(?<name>\w+)",
    r"a*?b",
    r"[^<]*",
    r"\x41",
    r"\u0041",
    r"\h",
    r"\N",
    r"\R",
    r"(?|a|b)",
    r"(?#note)a",
    r"[]a]",
    r"a{",
    r"{",
    r"}",
    r"]",
    r"\<",
    r"\/",
    r"\-",
    r"\_",
    r"\ ",
];

/// Compares our verdicts with those of the two crates, so that a new release of either cannot make them stale.
#[test]
fn verdicts_on_rust_engines_match_the_engines() {
    let all =
        ["tests", "derived"].into_iter().flat_map(patterns).chain(CONSTRUCTS.iter().map(|source| (*source).to_owned()));
    let engine = |name: &str| ENGINES.iter().find(|engine| engine.name == name).unwrap();
    let (plain, fancy) = (engine("regex (Rust)"), engine("fancy-regex (Rust)"));
    let (mut judged, mut wrong) = (0, Vec::new());
    for source in all {
        let Ok(pattern) = Pattern::new(&source) else { continue };
        // It loads `a++`, but as a repeat of a repeat.
        let means_else =
            source.contains("++") || source.contains("*+") || source.contains("}+") || source.contains("?+");
        let refused = regex::Regex::new(&source).is_err();
        if plain.check(&pattern).is_some() != refused && (refused || !means_else) {
            wrong.push(format!("regex {source}: {:?}, refused: {refused}", plain.check(&pattern)));
        }
        let refused = fancy_regex::Regex::new(&source).is_err();
        // A pattern that calls itself loads there, but does not restore groups.
        let restores_less = source.contains("(?R)") && !refused;
        if fancy.check(&pattern).is_some() != refused && !restores_less {
            wrong.push(format!("fancy-regex {source}: {:?}, refused: {refused}", fancy.check(&pattern)));
        }
        judged += 1;
    }
    assert!(judged > 150 && wrong.is_empty(), "{judged}\n{}", wrong.join("\n"));
}

#[test]
fn an_engine_refuses_patterns_with_constructs_that_it_lacks() {
    for (source, refusing) in [
        (r"</think>\s*", &[][..]),
        (r"a(?=b)", &["regex (Rust)"]),
        (r"(a)\1", &["regex (Rust)"]),
        (r"(?i)a", &["JavaScript"]),
        (r"a\Kb", &["regex (Rust)", "JavaScript", "Swift"]),
        (r"(?<=a{1,3})b", &["regex (Rust)"]),
        (r"(?<=a+)b", &["regex (Rust)", "Swift"]),
        (r"(?>a|b)c", &["regex (Rust)", "JavaScript"]),
        (r"(a)?(?(1)b|c)", &["regex (Rust)", "JavaScript", "Swift"]),
        (r"a++", &["regex (Rust)", "JavaScript"]),
    ] {
        let pattern = Pattern::new(source).unwrap();
        let names: Vec<_> =
            ENGINES.iter().filter(|engine| engine.check(&pattern).is_some()).map(|engine| engine.name).collect();
        assert_eq!(names, refusing, "{source}");
    }
}
