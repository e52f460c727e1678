//! Copies a message's reasoning to the other names under which templates read it.

use backchat_core::json::{Object, Value};

/// Copies each message's reasoning to the other names under which templates read it, as transformers does before it
/// renders: the first of `reasoning_content`, `thinking` and `reasoning` that is present becomes `reasoning_content` if
/// that is absent or null, and `thinking`, as the first key, if that is absent.
///
/// ```
/// # mod backchat { pub use backchat_chat as chat; pub use backchat_core::json; }
/// use backchat::{chat, json};
///
/// let mut context = json::read(r#"{"messages": [{"role": "assistant", "reasoning": "hm"}]}"#)?.as_object().unwrap().clone();
/// chat::alias_reasoning(&mut context);
/// assert_eq!(
///     json::Value::Object(context).to_string(),
///     r#"{"messages": [{"thinking": "hm", "role": "assistant", "reasoning": "hm", "reasoning_content": "hm"}]}"#,
/// );
/// # Ok::<(), json::Error>(())
/// ```
pub fn alias_reasoning(context: &mut Object) {
    let Some(Value::List(messages)) = context.get_mut("messages") else { return };
    for message in messages {
        let Value::Object(message) = message else { continue };
        let given = |name: &str| message.get(name).filter(|value| !matches!(value, Value::Null));
        let reasoning = given("reasoning_content").or_else(|| given("thinking")).or_else(|| given("reasoning"));
        let Some(reasoning) = reasoning.cloned() else { continue };
        if matches!(message.get("reasoning_content"), None | Some(Value::Null)) {
            message.insert("reasoning_content", reasoning.clone());
        }
        let thinking = message.shift_remove("thinking").unwrap_or(reasoning);
        message.insert_at(0, "thinking", thinking);
    }
}
