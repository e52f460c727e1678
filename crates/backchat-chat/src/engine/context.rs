//! The outermost scope of one render: the variables of the caller that the template may ask for.

use std::sync::Arc;

use minijinja::Value;

use super::read_recorder::{Recorder, Watch};
use crate::builtins::functions::FUNCTIONS;
use crate::values::entries::{Entries, Key};
use crate::values::extent::Extent;
use crate::values::number::LongInteger;
use crate::values::{Result, build};
use backchat_core::json;

/// The outermost scope: the variables of the caller, by their numbers in the program.
#[derive(Debug)]
pub(crate) struct Context {
    variables: Vec<Option<Value>>,
    /// The bytes of all strings in the variables.
    pub(crate) text: usize,
    recorder: Option<Arc<Recorder>>,
}

/// A value that is converted once for many renders.
#[derive(Clone, Debug)]
pub struct Prepared {
    value: Value,
    text: usize,
}

impl Prepared {
    /// `None` if the value nests too deep, which is an error of a render.
    pub fn new(given: &json::Value) -> Option<Self> {
        let (mut text, mut around) = (0, Extent::CONTAINER);
        let value = engine_value(given, None, &mut text, &mut around).ok()?;
        Some(Self { value, text })
    }
}

impl Context {
    /// The variables of these names. Reads of prepared ones are not recorded.
    pub(crate) fn new(
        names: &[Box<str>],
        given: &json::Object,
        prepared: &[(&str, &Prepared)],
        recorder: Option<Arc<Recorder>>,
    ) -> Result<Self> {
        let mut variables = Vec::with_capacity(names.len());
        let mut text = 0;
        let mut all = Extent::CONTAINER;
        for name in names {
            if let Some((_, prepared)) = prepared.iter().find(|(known, _)| **known == **name) {
                text += prepared.text;
                variables.push(Some(prepared.value.clone()));
                continue;
            }
            let watch = recorder.as_ref().map(|recorder| Watch::new(recorder, name));
            let value = given.get(name).map(|value| engine_value(value, watch, &mut text, &mut all));
            variables.push(value.transpose()?);
        }
        Ok(Self { variables, text, recorder })
    }

    /// The variable of a number and name, if it was given.
    pub(crate) fn variable(&self, number: usize, name: &str) -> Option<&Value> {
        let found = self.variables.get(number).and_then(Option::as_ref);
        if let Some(recorder) = &self.recorder
            && (found.is_some() || !FUNCTIONS.has(name))
        {
            recorder.variable(name, found.is_some());
        }
        found
    }
}

/// The engine's form of a value, which extends the extent of the container around it. Adds the bytes of its strings to
/// `bytes`.
fn engine_value(value: &json::Value, watch: Option<Watch>, bytes: &mut usize, around: &mut Extent) -> Result<Value> {
    let mut extent = Extent::SCALAR;
    let made = match value {
        json::Value::Null => Value::from(()),
        json::Value::Bool(value) => Value::from(*value),
        json::Value::Number(number) => engine_number(number),
        json::Value::String(text) => {
            *bytes += text.len();
            Value::from(text.as_str())
        }
        json::Value::List(items) => {
            extent = Extent::CONTAINER;
            let element = watch.as_ref().map(Watch::element);
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.push(engine_value(item, element.clone(), bytes, &mut extent)?);
            }
            build::given_list(list, extent)?
        }
        json::Value::Object(given) => {
            extent = Extent::CONTAINER;
            let mut entries = Vec::with_capacity(given.len());
            for (key, value) in given {
                let below = watch.as_ref().map(|watch| watch.below(key));
                entries.push((Key::from(key), engine_value(value, below, bytes, &mut extent)?));
            }
            build::given_dict(Entries::of_distinct(entries), extent, watch)?
        }
    };
    *around = around.with(extent);
    Ok(made)
}

fn engine_number(number: &json::Number) -> Value {
    if !number.is_integer() {
        return Value::from(number.as_f64());
    }
    if let Some(integer) = number.as_i64() {
        return Value::from(integer);
    }
    match number.as_str().parse::<i128>() {
        Ok(integer) => Value::from(integer),
        Err(_) => Value::from_object(LongInteger(number.as_str().into())),
    }
}

#[cfg(test)]
mod tests {
    use super::Prepared;
    use crate::render::{ChatTemplate, RenderOptions, render_prepared};
    use backchat_core::json;

    #[test]
    fn a_prepared_variable_renders_like_one_of_the_context_and_comes_before_it() {
        let template = ChatTemplate::compile("{{ tools | tojson }}{{ tools[0].n + 1 }} {{ said }}").unwrap();
        let context = json::read(r#"{"said": "so", "tools": [{"n": 41, "text": ["a", null]}]}"#).unwrap();
        let (context, options) = (context.as_object().unwrap(), RenderOptions::default());
        let usual = template.render(context, &options).unwrap();
        assert!(usual.text.ends_with("42 so"), "{}", usual.text);
        let prepared = Prepared::new(context.get("tools").unwrap()).unwrap();
        for given in ["{\"said\": \"so\"}", "{\"said\": \"so\", \"tools\": 1}"] {
            let given = json::read(given).unwrap();
            let rendered = render_prepared(&template, given.as_object().unwrap(), &[("tools", &prepared)], &options);
            assert_eq!(rendered, Ok(usual.clone()));
        }
    }

    #[test]
    fn values_that_nest_too_deep_cannot_be_prepared() {
        let deep = (0..2000).fold(json::Value::Null, |inner, _| json::Value::List(vec![inner]));
        assert!(Prepared::new(&deep).is_none());
    }
}
