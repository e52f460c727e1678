//! A delta as the JSON object that OpenAI's protocol has in a chunk's `delta`.

use super::Delta;
use backchat_core::json::Value;

/// The name of the member that holds reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningName {
    #[default]
    ReasoningContent,
    Reasoning,
    Both,
}

impl ReasoningName {
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::ReasoningContent => &["reasoning_content"],
            Self::Reasoning => &["reasoning"],
            Self::Both => &["reasoning_content", "reasoning"],
        }
    }
}

impl Delta<'_> {
    /// Appends the delta. The id is that of a call that begins; other deltas have none.
    pub fn write_to(self, reasoning: ReasoningName, call_id: &str, out: &mut String) {
        let text = |text: &str, out: &mut String| Value::from(text).write_to(out);
        match self {
            Delta::Content(content) => {
                out.push_str("{\"content\": ");
                text(content, out);
            }
            Delta::Reasoning(delta) => {
                let mut lead = '{';
                for name in reasoning.names() {
                    out.push(lead);
                    out.push_str(&format!("\"{name}\": "));
                    text(delta, out);
                    lead = ',';
                }
            }
            Delta::Call { index, name, .. } => {
                out.push_str(&format!("{{\"tool_calls\": [{{\"index\": {index}, \"id\": "));
                text(call_id, out);
                out.push_str(", \"type\": \"function\", \"function\": {\"name\": ");
                text(name, out);
                out.push_str(", \"arguments\": \"\"}}]");
            }
            Delta::Arguments { index, text: more } => {
                out.push_str(&format!("{{\"tool_calls\": [{{\"index\": {index}, \"function\": {{\"arguments\": "));
                text(more, out);
                out.push_str("}}]");
            }
        }
        out.push('}');
    }
}
