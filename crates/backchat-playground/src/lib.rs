//! Backchat for JavaScript: derive a response template from a chat template, prove it, lint it, repair it, and parse
//! outputs with it. Nothing is fetched, and text is always returned as text.
//!
//! Each function takes texts and returns a plain object, whose type is in `TYPES`.

mod derivation;
mod inspection;
mod keeping;
mod prompt;
mod request;
mod stepping;
mod turns;

use backchat::json::Value;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

/// The variables that a chat template reads in addition to the conversation.
#[wasm_bindgen(skip_typescript)]
pub fn variables(chat_template: &str) -> JsValue {
    object(&prompt::variables(chat_template))
}

/// The prompt that a chat template renders for a conversation, with the author of each text.
#[wasm_bindgen(skip_typescript)]
pub fn prompt(chat_template: &str, conversation: &str) -> JsValue {
    object(&prompt::prompt(chat_template, conversation))
}

/// Derives a response template from a chat template.
#[wasm_bindgen(skip_typescript)]
pub fn derive(chat_template: &str, variables: Option<String>) -> JsValue {
    object(&derivation::derive(chat_template, variables.as_deref()))
}

/// The turns that a chat template writes in an everyday conversation, as input for a response template.
#[wasm_bindgen(skip_typescript)]
pub fn turns(chat_template: &str, template: &str, variables: Option<String>) -> JsValue {
    object(&turns::turns(chat_template, template, variables.as_deref()))
}

/// Lints a response template, and proves it if a chat template is given.
#[wasm_bindgen(skip_typescript)]
pub fn inspect(template: &str, chat_template: Option<String>, variables: Option<String>) -> JsValue {
    object(&inspection::inspect(template, chat_template.as_deref(), variables.as_deref()))
}

/// Changes that improve the proof of a response template.
#[wasm_bindgen(skip_typescript)]
pub fn repairs(template: &str, chat_template: &str, variables: Option<String>) -> JsValue {
    object(&inspection::repairs(template, chat_template, variables.as_deref()))
}

/// Parses a whole output.
#[wasm_bindgen(skip_typescript)]
pub fn read(template: &str, prefix: &str, output: &str, tools: Option<String>) -> JsValue {
    object(&stepping::read(template, prefix, output, tools.as_deref()))
}

/// The markup for stepping through an output, character by character.
#[wasm_bindgen(skip_typescript)]
pub fn steps(template: &str, prefix: &str, output: &str, tools: Option<String>) -> Option<String> {
    stepping::steps(template, prefix, output, tools.as_deref())
}

/// A fixture with an output and the message that a template parses from it.
#[wasm_bindgen(skip_typescript)]
pub fn fixture(template: &str, prefix: &str, output: &str, tools: Option<String>) -> Option<String> {
    keeping::fixture(template, prefix, output, tools.as_deref())
}

/// The members to merge into a `tokenizer_config.json`.
#[wasm_bindgen(skip_typescript)]
pub fn patch(template: &str) -> Option<String> {
    keeping::patch(template)
}

/// A value as a JavaScript object. Values from models are strings, because JavaScript's JSON cannot represent all of them.
fn object(value: &Value) -> JsValue {
    js_sys::JSON::parse(&value.to_string()).unwrap_or(JsValue::NULL)
}
