//! Backchat for JavaScript: derive a response template from a chat template, prove it, lint it, repair it, and parse
//! outputs with it. Nothing is fetched, and text is always returned as text.
//!
//! Each function takes texts and returns a plain object, whose type is in `TYPES`.

mod derivation;
mod inspection;
mod keeping;
mod request;
mod stepping;
mod turns;
mod utf16;

use backchat::json::Value;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

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
