//! Which tools the model may or must call.

use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;

/// Which tools the model may or must call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Any of them, or none.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
    /// This one.
    Named(String),
    /// Any of these, or none.
    Allowed(Vec<String>),
    /// At least one of these.
    RequiredOf(Vec<String>),
}

impl Choice {
    /// Reads OpenAI's `tool_choice`: a word or an object.
    ///
    /// # Errors
    ///
    /// The value is neither.
    pub fn read(value: &Value) -> Result<Self, Diagnostic> {
        let wrong = || {
            let message = "invalid `tool_choice`";
            Diagnostic::error("grammar-choice", message)
                .help("`auto`, `required`, `none`, a tool's name, or OpenAI's objects of the types `function`, `custom` and `allowed_tools`")
        };
        match value {
            Value::String(word) => Ok(match word.as_str() {
                "auto" => Self::Auto,
                "required" | "any" => Self::Required,
                "none" => Self::None,
                name => Self::Named(name.to_owned()),
            }),
            Value::Object(entries) => {
                let name = |value: &Value| -> Option<String> {
                    let own = value.get("function").or_else(|| value.get("custom")).unwrap_or(value);
                    own.get("name").and_then(Value::as_str).map(str::to_owned)
                };
                match entries.get("type").and_then(Value::as_str) {
                    Some("allowed_tools") => {
                        let own = entries.get("allowed_tools").unwrap_or(value);
                        let names = own.get("tools").and_then(Value::as_list).ok_or_else(wrong)?;
                        let names: Vec<String> = names.iter().map(name).collect::<Option<_>>().ok_or_else(wrong)?;
                        match own.get("mode").and_then(Value::as_str) {
                            Some("required") => Ok(Self::RequiredOf(names)),
                            _ => Ok(Self::Allowed(names)),
                        }
                    }
                    _ => name(value).map(Self::Named).ok_or_else(wrong),
                }
            }
            _ => Err(wrong()),
        }
    }
}
