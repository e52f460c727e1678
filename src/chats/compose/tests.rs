//! How many conversations are written as their template renders them.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::Path;
use std::{env, fs};

use super::Composer;
use crate::chat::{ChatTemplate, RenderOptions};
use crate::chats::Unrenderer;
use crate::chats::frames::{Frames, context};
use crate::chats::script::{Form, Kind, Script};
use crate::json::{self, Object, Value};
use crate::text::common_start;

/// Whether a conversation is written as its template renders it; nothing if the template refuses it.
fn compare(
    composer: &Composer,
    template: &ChatTemplate,
    variables: &Object,
    options: &RenderOptions,
    (messages, tools, prompt): (&[Value], &Value, bool),
) -> Option<Result<(), String>> {
    let real = template.render(&context(variables, messages, tools, prompt), options).ok()?.text;
    let (written, why) = match composer.write(messages, tools, prompt)? {
        Ok(written) => (written, "otherwise".to_owned()),
        Err(missing) => (missing.written, format!("no way on from {:?}", missing.from)),
    };
    if written == real {
        return Some(Ok(()));
    }
    let agreed = common_start(&real, &written).len();
    let rest = |text: &str| text[agreed..].chars().take(60).collect::<String>();
    let before: String = real[..agreed].chars().rev().take(60).collect();
    let before: String = before.chars().rev().collect();
    Some(Err(format!("{why} after {before:?}: wanted {:?}, wrote {:?}", rest(&real), rest(&written))))
}

/// Shapes that no frame is learned from.
const SHAPES: &[&str] = &[
    "SUAUAUAU",
    "UAUAUAUAU",
    "SUAUAUAUA",
    "UCTAUCTA",
    "SUCTAUCTAU",
    "UCTCTCTAU",
    "UAUAUCTA",
    "SUAUCTAUA",
    "UcTAUcTA",
    "UDTTAUCTA",
    "UCTAUDTTA",
    "SUDTTAU",
    "UFTAUFTA",
    "UZTTAU",
    "UVTTTAU",
    "UNTAUA",
    "SURURU",
    "URURUR",
    "UrTRUrTR",
    "SUrTRU",
    "UrTrTR",
    "UqTRU",
];

/// The words that replace a needle of each kind, or begin the text that does.
fn words(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Name | Kind::ToolName => &["get_weather", "set", "x"],
        Kind::Key | Kind::Parameter(_) => &["city", "n", "max_count"],
        Kind::Id => &["call"],
        Kind::Value => &["Paris", "a <b> \"c\" & d", "two\nlines", "東京 é"],
        _ => {
            &["Is 3 < 5 & \"good\"?", "Voilà: 東京.", "- one\n- two\n\n```py\nprint(1)\n```", "Yes", "{\"a\": [1, 2]}"]
        }
    }
}

/// A conversation of natural texts.
fn talk(shape: &str, tools: &str, form: &Form) -> Script {
    let mut script = Script::new(shape, tools, form, "");
    let texts: Vec<(String, String)> = script
        .labels
        .iter()
        .enumerate()
        .map(|(index, label)| {
            let words = words(label.kind);
            // Letters and digits alone, as an id of nine characters that some templates require.
            let text = match label.kind {
                Kind::Id => format!("call{index:05}"),
                _ => format!("{}{index}", words[index % words.len()]),
            };
            (format!("Qz{index:06}q"), text)
        })
        .collect();
    let tools = std::mem::take(&mut script.tools);
    script.tools = said(&tools, &texts);
    script.messages = script.messages.iter().map(|message| said(message, &texts)).collect();
    script
}

fn said(value: &Value, texts: &[(String, String)]) -> Value {
    match value {
        Value::String(text) => match json::read(text) {
            // Arguments as text hold needles of their own.
            Ok(inner @ Value::Object(_)) => said(&inner, texts).to_string().into(),
            _ => texts.iter().find(|(needle, _)| needle == text).map_or(text, |(_, said)| said).as_str().into(),
        },
        Value::List(items) => Value::List(items.iter().map(|item| said(item, texts)).collect()),
        Value::Object(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| match said(&key.as_str().into(), texts) {
                    Value::String(key) => (key, said(value, texts)),
                    _ => (key.clone(), said(value, texts)),
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

#[test]
fn other_conversations_than_those_learned_from_are_written_as_templates_render_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("chat_templates");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "jinja")).collect();
    files.sort();
    let variables = [("bos_token".to_owned(), Value::from("<s>")), ("eos_token".to_owned(), Value::from("</s>"))];
    let variables: Object = variables.into_iter().collect();
    let options = RenderOptions { now: Some("2026-11-20T08:00:00".to_owned()), ..RenderOptions::default() };
    let (mut good, mut failures) = (0, Vec::new());
    for file in &files {
        let template = ChatTemplate::compile(&fs::read_to_string(file).unwrap()).unwrap();
        let composer = Composer::learn(&template, &variables, &options);
        let form = Frames::form(&template, &variables, &options);
        for shape in SHAPES.iter().filter(|shape| form.reasoning.is_some() || !shape.contains(['R', 'r', 'q'])) {
            for tools in ["", "a", "ab", "aaa"] {
                for prompt in [false, true] {
                    let script = talk(shape, tools, &form);
                    let conversation = (script.messages.as_slice(), &script.tools, prompt);
                    match compare(&composer, &template, &variables, &options, conversation) {
                        None => {}
                        Some(Ok(())) => good += 1,
                        Some(Err(why)) => {
                            let name = file.file_stem().unwrap().to_string_lossy();
                            failures.push(format!("{name} {shape} {tools} {prompt}: {why}"));
                        }
                    }
                }
            }
        }
    }
    let all = good + failures.len();
    assert!(all > 1000, "only {all} conversations were rendered");
    assert!(good * 100 >= all * 99, "{good} of {all}:\n{}", failures.join("\n"));
}

/// `BACKCHAT_CHATS=ROWS:FOLDER cargo test --lib compose -- --ignored --nocapture` writes every chat of a file with rows
/// `{"template", "text", "want": [messages], "bos_token", "eos_token", "now"}` again; templates lie in the folder;
/// `BACKCHAT_CHATS_ONLY` is a part of the names of those to write.
#[test]
#[ignore = "needs rendered chats of many templates"]
fn recorded_chats_are_written_again() {
    let named = env::var_os("BACKCHAT_CHATS").expect("BACKCHAT_CHATS names rows and a folder of templates");
    let paths: Vec<_> = env::split_paths(&named).collect();
    let rows = fs::read_to_string(&paths[0]).unwrap();
    let only = env::var("BACKCHAT_CHATS_ONLY").unwrap_or_default();
    let mut by_template: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in rows.lines().map(|row| json::read(row).unwrap()) {
        let key = ["template", "bos_token", "eos_token", "now"];
        let key: Vec<String> =
            key.iter().map(|key| row.get(key).map_or_else(String::new, ToString::to_string)).collect();
        if key[0].contains(&only) {
            by_template.entry(key.join(" ")).or_default().push(row);
        }
    }
    let mut out = std::io::stdout();
    let (mut whole, mut good, mut all) = (0, 0, 0);
    let templates = by_template.len();
    for rows in by_template.values() {
        let text = |key: &str| rows[0].get(key).and_then(Value::as_str).map(str::to_owned);
        let path = paths[1].join(text("template").unwrap());
        let template = ChatTemplate::compile(&fs::read_to_string(&path).unwrap()).unwrap();
        let variables =
            ["bos_token", "eos_token"].into_iter().filter_map(|key| Some((key.to_owned(), text(key)?.into())));
        let variables: Object = variables.collect();
        let options = RenderOptions { now: text("now"), ..RenderOptions::default() };
        let unrenderer = Unrenderer::new(&template, variables.clone(), options.clone());
        let mut composers: HashMap<String, Composer> = HashMap::new();
        let mut failed = 0;
        for row in rows {
            let given = row.get("text").and_then(Value::as_str).unwrap();
            let read = unrenderer.unrender(given).ok().filter(|chat| chat.exact);
            let mut all_variables = variables.clone();
            let (messages, tools, prompt) = match read {
                Some(chat) => {
                    all_variables.extend(chat.variables);
                    (chat.messages, chat.tools.unwrap_or(Value::Null), chat.add_generation_prompt)
                }
                None => {
                    let want = row.get("want").unwrap().as_list().unwrap()[0].as_list().unwrap().to_vec();
                    let prompt = row.get("add_generation_prompt").and_then(Value::as_bool) == Some(true);
                    (want, Value::Null, prompt)
                }
            };
            let key = Value::Object(all_variables.clone()).to_string();
            let composer = composers.entry(key).or_insert_with(|| Composer::learn(&template, &all_variables, &options));
            let compared = compare(composer, &template, &all_variables, &options, (&messages, &tools, prompt));
            let failure = compared.unwrap_or_else(|| Err("the template refuses it".to_owned())).err();
            all += 1;
            good += usize::from(failure.is_none());
            if let Some(failure) = failure {
                failed += 1;
                let [id, shape] = ["id", "shape"].map(|key| row.get(key).map_or_else(String::new, ToString::to_string));
                writeln!(out, "{id} {shape}: {failure}").unwrap();
            }
        }
        whole += usize::from(failed == 0);
    }
    writeln!(out, "{good} of {all} chats, {whole} of {templates} templates whole").unwrap();
    assert!(good * 100 >= all * 95);
}
