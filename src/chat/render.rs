use crate::json::{Object, Value};

/// A compiled chat template, ready to render any number of conversations.
pub struct ChatTemplate {
    environment: minijinja::Environment<'static>,
}

/// What a render may vary in, apart from its context.
#[derive(Clone, Debug, Default)]
pub struct RenderOptions {
    /// What `strftime_now` sees, such as `2026-11-20T08:00:00`; the real time where absent.
    pub now: Option<String>,
    /// Whether to report what the template read.
    pub watch: bool,
}

/// A render that succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The prompt.
    pub text: String,
    /// What `{% generation %}` blocks wrote, in code points.
    pub assistant_spans: Vec<(usize, usize)>,
    /// What the template read, where it was watched.
    pub watched: Option<Watched>,
}

/// What a template read while it rendered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// Variables of the context it asked for, given or not, in the order of first reading.
    pub variables: Vec<String>,
    /// Paths below a message it asked for, such as `messages[].reasoning_content`, given or not.
    pub paths: Vec<String>,
}

/// Why a render failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    /// The template's own message where it raised, else the engine's.
    pub message: String,
    /// Whether the template itself refused, with `raise_exception`.
    pub raised: bool,
    /// 1-based line of the template.
    pub line: Option<usize>,
}

impl ChatTemplate {
    /// Compiles the source of a chat template.
    pub fn compile(source: &str) -> Result<Self, RenderError> {
        let mut environment = minijinja::Environment::new();
        let syntax = minijinja::syntax::SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(engine_error)?;
        environment.set_syntax(syntax);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_template_owned("chat_template".to_owned(), source.to_owned()).map_err(engine_error)?;
        Ok(Self { environment })
    }

    /// Renders one conversation: `messages`, `tools`, `add_generation_prompt`, and any other variable.
    pub fn render(&self, context: &Object, _options: &RenderOptions) -> Result<Rendered, RenderError> {
        let template = self.environment.get_template("chat_template").map_err(engine_error)?;
        let context: minijinja::Value = context.iter().map(|(key, value)| (key.clone(), engine_value(value))).collect();
        let text = template.render(context).map_err(engine_error)?;
        Ok(Rendered { text, ..Rendered::default() })
    }
}

fn engine_error(error: minijinja::Error) -> RenderError {
    RenderError { message: error.to_string(), raised: false, line: error.line() }
}

fn engine_value(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(value) => minijinja::Value::from(*value),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => minijinja::Value::from(integer),
            None => minijinja::Value::from(number.as_f64()),
        },
        Value::String(text) => minijinja::Value::from(text.as_str()),
        Value::List(items) => items.iter().map(engine_value).collect(),
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), engine_value(value))).collect(),
    }
}
