//! Writes a conversation that refutes a proof as a file with one case.

use super::fixture::{EXTENSION, json_section, prefix_section, write_section};
use super::scaffold::Names;
use backchat_core::json::Value;
use backchat_derive::derive::{self, Failure};

/// The name and the text of a file with the case of a failure. The name depends on the case alone.
pub fn counterexample(failure: &Failure, seed: u64, names: Names<'_>) -> (String, String) {
    let Names { template, chat_template, variables, .. } = names;
    let part = failure.part.name();
    let mut case = String::new();
    for (name, value) in variables.iter().chain(&failure.setting) {
        case += &format!("set: {name}={value}\n");
    }
    case += &format!("\n=== case {part} {}\n", failure.case.replace(['\n', '\r'], " "));
    case += &prefix_section(&failure.prefix);
    if let Some(calls) = failure.expected.get("tool_calls").and_then(Value::as_list) {
        case += &(json_section("tools", &tools_of(calls)) + "\n");
    }
    case += &write_section("output", &failure.text);
    case += &json_section("message", &expected(failure));
    let head = format!("# Found by a hunt with seed {seed}.\ntemplate: {template}\nchat-template: {chat_template}\n");
    (format!("hunt-{part}-{:08x}.{EXTENSION}", fingerprint(&case)), head + &case)
}

/// The definitions of the tools that are called.
fn tools_of(calls: &[Value]) -> Value {
    let name = |value: &Value| value.get("function").and_then(|function| function.get("name")).cloned();
    let mut tools = derive::proof_tools();
    if let Value::List(tools) = &mut tools {
        tools.retain(|tool| calls.iter().any(|call| name(call) == name(tool)));
    }
    tools
}

/// The expected message. Keys that the template never writes are not part of it.
fn expected(failure: &Failure) -> Value {
    let mut expected = failure.expected.clone();
    if let Value::Object(message) = &mut expected
        && failure.got.get("role").is_none()
    {
        message.shift_remove("role");
    }
    expected
}

/// A short number that differs for most texts (FNV-1a).
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
