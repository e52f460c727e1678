//! What works on a machine works in WebAssembly without a system: deriving, rendering with a clock, parsing.
#![cfg(all(test, target_family = "wasm"))]
#![allow(clippy::unwrap_used)]

use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::derive::{Options, Status, derive};
use backchat::json::Object;
use backchat::{Parser, Template};
use wasm_bindgen_test::wasm_bindgen_test;

/// A chat template of ours and what deriving gives on a machine.
const KNOWN: [(&str, &str); 3] = [
    (include_str!("../../chat_templates/hermes.jinja"), include_str!("../../derived/hermes.json")),
    (include_str!("../../chat_templates/gpt_oss.jinja"), include_str!("../../derived/gpt_oss.json")),
    (include_str!("../../chat_templates/qwen3_coder.jinja"), include_str!("../../derived/qwen3_coder.json")),
];

#[wasm_bindgen_test]
fn deriving_gives_the_same_bytes_as_on_a_machine() {
    for (chat_template, derived) in KNOWN {
        let options = Options::default().now("2026-01-01T00:00:00".to_owned());
        let derivation = derive(chat_template, &options);
        assert_eq!(derivation.status(), Status::Proved, "{}", derivation.headline());
        assert_eq!(derivation.response_template().unwrap().to_pretty("  ") + "\n", derived);
    }
}

#[wasm_bindgen_test]
fn a_template_asks_what_time_it_is() {
    let template = ChatTemplate::compile("{{ strftime_now('%Y') }}").unwrap();
    let rendered = template.render(&Object::new(), &RenderOptions::default()).unwrap();
    assert!(rendered.text.parse::<u32>().unwrap() >= 2026, "{}", rendered.text);
}

#[wasm_bindgen_test]
fn an_output_is_parsed() {
    let template = Template::load(KNOWN[0].1).unwrap().template;
    let mut parser = Parser::new(&template, "<|im_start|>assistant\n", Default::default()).unwrap();
    for piece in ["Yes", ".<|im_", "end|>"] {
        parser.feed(piece).unwrap();
    }
    assert_eq!(parser.finish().unwrap().message.get("content").unwrap().as_str(), Some("Yes."));
}
