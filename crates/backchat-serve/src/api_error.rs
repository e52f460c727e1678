//! Errors in OpenAI's format: a status, and an object with a message, a type, a parameter, a code.

use backchat_core::json::Value;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    pub status: u16,
    /// The problem and the remedy.
    pub message: String,
    /// The parameter that is wrong.
    pub param: Option<String>,
    pub code: Option<&'static str>,
    /// How long to wait before retrying, as the engine says.
    pub retry_after: Option<String>,
}

impl ApiError {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None, retry_after: None }
    }

    /// A parameter of the request that is wrong.
    pub fn param(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..Self::new(400, message) }
    }

    /// The same with a code.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// The type, which follows from the status.
    fn kind(&self) -> &'static str {
        match self.status {
            401 => "authentication_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        }
    }

    /// The body of the answer.
    pub fn to_value(&self) -> Value {
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        let error = Value::from([
            ("message", self.message.as_str().into()),
            ("type", self.kind().into()),
            ("param", text(self.param.as_deref())),
            ("code", text(self.code)),
        ]);
        Value::from([("error", error)])
    }
}
