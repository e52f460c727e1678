//! What `unrender` reads, its chat template writes again.

use std::path::Path;
use std::{fs, thread};

use super::Unrenderer;
use super::frames::Frames;
use super::script::{Form, Kind, Script};
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::json::{self, Object, Value};
use backchat_probe::probe::{Renderer, context};

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
fn natural_conversation(shape: &str, tools: &str, form: &Form) -> Script {
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
    script.tools = with_texts(&tools, &texts);
    script.messages = script.messages.iter().map(|message| with_texts(message, &texts)).collect();
    script
}

fn with_texts(value: &Value, texts: &[(String, String)]) -> Value {
    match value {
        Value::String(text) => match json::read(text) {
            // Arguments as text hold needles of their own.
            Ok(inner @ Value::Object(_)) => with_texts(&inner, texts).to_string().into(),
            _ => texts
                .iter()
                .find(|(needle, _)| needle == text)
                .map_or(text, |(_, with_texts)| with_texts)
                .as_str()
                .into(),
        },
        Value::List(items) => Value::List(items.iter().map(|item| with_texts(item, texts)).collect()),
        Value::Object(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| match with_texts(&key.into(), texts) {
                    Value::String(key) => (key, with_texts(value, texts)),
                    _ => (key.to_owned(), with_texts(value, texts)),
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

/// The text that the template writes for what was read of a render, and whether it is that render.
fn round_trips(
    template: &ChatTemplate,
    unrenderer: &Unrenderer<&ChatTemplate>,
    variables: &Object,
    options: &RenderOptions,
    rendered: &str,
) -> Result<(), String> {
    let chat = unrenderer.unrender(rendered).map_err(|error| error.to_string())?;
    if !chat.exact {
        return Err("not exact".to_owned());
    }
    let mut all = variables.clone();
    all.extend(chat.variables);
    let tools = chat.tools.unwrap_or(Value::Null);
    let again = template
        .render(&context(&all, &chat.messages, &tools, chat.add_generation_prompt), options)
        .map_err(|error| error.to_string())?;
    // A text that ends in the model's turn is the beginning of what is written for it.
    let same = if chat.open { again.text.starts_with(rendered) } else { again.text == rendered };
    if same { Ok(()) } else { Err("called exact, and written otherwise".to_owned()) }
}

/// How many conversations of other shapes come back from the renders of a chat template, and what is wrong with the others.
fn conversations_of_other_shapes(file: &Path) -> (usize, Vec<String>) {
    let variables = [("bos_token".to_owned(), Value::from("<s>")), ("eos_token".to_owned(), Value::from("</s>"))];
    let variables: Object = variables.into_iter().collect();
    let options = RenderOptions::default().now("2026-11-20T08:00:00".to_owned());
    let template = ChatTemplate::compile(&fs::read_to_string(file).unwrap()).unwrap();
    let unrenderer = Unrenderer::new(&template, variables.clone(), options.clone());
    let form = Frames::form(&Renderer::new(&template, options.clone()), &variables);
    let (mut good, mut failures) = (0, Vec::new());
    for shape in SHAPES.iter().filter(|shape| form.reasoning.is_some() || !shape.contains(['R', 'r', 'q'])) {
        for (tools, prompt) in [("", false), ("ab", true)] {
            let script = natural_conversation(shape, tools, &form);
            let context = context(&variables, &script.messages, &script.tools, prompt);
            let Ok(rendered) = template.render(&context, &options) else { continue };
            match round_trips(&template, &unrenderer, &variables, &options, &rendered.text) {
                Ok(()) => good += 1,
                Err(why) => failures.push(format!("{} {shape} {tools} {prompt}: {why}", file.display())),
            }
        }
    }
    (good, failures)
}

#[test]
fn conversations_of_other_shapes_round_trip() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chat_templates");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "jinja")).collect();
    let (mut good, mut failures) = (0, Vec::new());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|first| files.iter().skip(first).step_by(4))
            .map(|part| scope.spawn(|| part.map(|file| conversations_of_other_shapes(file)).collect::<Vec<_>>()))
            .collect();
        for (right, wrong) in workers.into_iter().flat_map(|worker| worker.join().unwrap()) {
            good += right;
            failures.extend(wrong);
        }
    });
    let all = good + failures.len();
    assert!(all > 1000, "only {all} conversations were rendered");
    assert!(good * 100 >= all * 99, "{good} of {all}:\n{}", failures.join("\n"));
}

#[test]
fn calls_are_read_whatever_their_ids_and_results_are() {
    let dumped = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}</>\n{% endfor %}";
    let named = "{% for m in messages %}<{{ m.role }}>{% for c in m.tool_calls or [] %}\
        <call>{{ c.function | tojson }}</call>{% else %}{{ m.content }}{% endfor %}</>\n{% endfor %}";
    let function = r#"{"name": "f", "arguments": {"x": 1}}"#;
    let whole = format!(r#"[{{"id": "a", "type": "function", "function": {function}}}]"#);
    for (source, call, result) in [
        (dumped, whole.as_str(), "R"),
        (named, &format!("<call>{function}</call>"), "R"),
        (named, &format!("<call>{function}</call>"), ""),
    ] {
        let template = ChatTemplate::compile(source).unwrap();
        let text = format!("<user>q</>\n<assistant>{call}</>\n<tool>{result}</>\n");
        let unrenderer = Unrenderer::new(&template, Object::new(), RenderOptions::default());
        let chat = unrenderer.unrender(&text).unwrap();
        let calls = chat.messages[1].get("tool_calls").map(Value::to_string);
        assert!(chat.exact && calls.is_some_and(|calls| calls.contains(function)), "{text}: {chat:?}");
        assert_eq!(chat.messages[2].get("content"), Some(&result.into()), "{text}");
    }
}
