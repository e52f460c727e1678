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

    /// The same for an API that names parameters otherwise: the name here, and the name there.
    #[must_use]
    pub fn renamed(&self, names: &[(&str, &str)]) -> Self {
        let mut error = self.clone();
        for (from, to) in names {
            if let Some(rest) = error.param.as_deref().and_then(|param| param.strip_prefix(from))
                && (rest.is_empty() || rest.starts_with(['.', '[']))
            {
                error.param = Some(format!("{to}{rest}"));
            }
            for end in ['`', '.', '['] {
                error.message = error.message.replace(&format!("`{from}{end}"), &format!("`{to}{end}"));
            }
        }
        error
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_names_of_the_api() {
        let names = [("stop", "stop_sequences"), ("response_format", "text.format")];
        for (param, message, expected) in [
            ("stop", "`stop` must be text", ("stop_sequences", "`stop_sequences` must be text")),
            ("stopped", "`stopped` is no name", ("stopped", "`stopped` is no name")),
            ("response_format.type", "`response_format.type`", ("text.format.type", "`text.format.type`")),
        ] {
            let error = ApiError::param(param, message).renamed(&names);
            assert_eq!((error.param.as_deref(), error.message.as_str()), (Some(expected.0), expected.1));
        }
    }
}
