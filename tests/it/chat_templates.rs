//! Pins the renders of each of our chat templates: the same conversations for all of them, and one snapshot per template, which
//! shows the family's wire format. The sign ∎ marks the end of a render.

use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::json::{self, Object, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

macro_rules! pin {
    ($($name:ident)*) => {
        const PINNED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), renders(stringify!($name)));
            }
        )*
    };
}

pin! {
    apertus apriel_1_5 apriel_1_6 command_r7b command_r_plus deepseek_r1 deepseek_v3 deepseek_v3_1 deepseek_v3_2
    devstral firefunction_v2 functionary_v3_1 functionary_v3_2 gemma_2 gemma_4 glm_4_6 glm_4_7 gpt_oss granite_3_3
    hermes kimi_k2 kimi_k2_thinking lfm_2_5 llama_3_1 minimax_m2 ministral_3_reasoning mistral_nemo mistral_small_3_2
    nemotron_3_nano nemotron_nano_v2 phi_4_mini qwen3 qwen3_coder qwq seed_oss smollm3 step_3_5
}

#[test]
fn every_template_is_pinned() {
    let written: BTreeSet<String> = fs::read_dir(folder())
        .expect("the folder of our chat templates")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jinja"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    let pinned: BTreeSet<String> = PINNED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(written, pinned);
}

#[test]
fn every_template_says_what_its_format_looks_like() {
    for name in PINNED {
        let source = source(name);
        let mut lines = source.lines();
        assert_eq!(lines.next(), Some("{#-"), "{name}: the first line");
        let header: Vec<&str> = lines.take_while(|line| *line != "-#}").collect();
        assert_eq!(header.len(), 2, "{name}: the lines of the header: {header:?}");
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("chat_templates")
}

fn source(name: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.jinja"))).expect("one of our chat templates")
}

/// Every conversation as rendered by the template, under its title.
fn renders(name: &str) -> String {
    let template = ChatTemplate::compile(&source(name)).expect("a chat template that compiles");
    let mut text = String::new();
    for (title, context) in conversations() {
        let render = match template.render(&context, &RenderOptions::default()) {
            Ok(rendered) => format!("{}∎", rendered.text),
            Err(error) => format!("refused: {}", error.message),
        };
        text.push_str(&format!("── {title}\n{render}\n"));
    }
    text
}

/// The conversations of `tests/chat_templates/conversations.json`, with the tools and a tokenizer's special token.
pub fn conversations() -> Vec<(String, Object)> {
    let file = json::read(include_str!("../chat_templates/conversations.json")).expect("JSON");
    let Value::Object(file) = file else { panic!("an object of tools and conversations") };
    let Value::Object(conversations) = &file["conversations"] else { panic!("an object of conversations") };
    conversations
        .iter()
        .map(|(title, conversation)| {
            let Value::Object(mut context) = conversation.clone() else { panic!("{title}: an object") };
            if context.get("tools") == Some(&Value::Bool(true)) {
                context.insert("tools", file["tools"].clone());
            }
            context.insert("bos_token", Value::String("<bos>".to_owned()));
            (title.to_owned(), context)
        })
        .collect()
}
