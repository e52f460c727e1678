//! `transform`: the shape a field gives to its value.

use super::{Capture, Reason};
use crate::template::{Placeholder, Shape, Transform};
use backchat_core::json::{Object, Value};

/// Gives the value its shape. Names are `content` and the captures; with `transform_each` the shape is applied to each
/// element, whose keys come before the captures, and `content` is not a name.
pub fn transform(transform: &Transform, mut content: Value, captures: &[Capture]) -> Result<Value, Reason> {
    let moves = transform.moves;
    if !transform.each {
        return fill(&transform.shape, &mut Names { content: Some(&mut content), element: None, captures, moves });
    }
    let Value::List(items) = &mut content else { return Err(Reason::EachNeedsList { found: content.kind() }) };
    let shaped = items.iter_mut().enumerate().map(|(index, item)| {
        let Value::Object(element) = item else { return Err(Reason::EachNeedsObjects { found: item.kind(), index }) };
        fill(&transform.shape, &mut Names { content: None, element: Some(element), captures, moves })
    });
    shaped.collect::<Result<_, _>>().map(Value::List)
}

/// The names that a placeholder can use.
struct Names<'a> {
    content: Option<&'a mut Value>,
    element: Option<&'a mut Object>,
    captures: &'a [Capture],
    /// Whether a value is moved because nothing else needs it, rather than copied.
    moves: bool,
}

fn fill(shape: &Shape, names: &mut Names<'_>) -> Result<Value, Reason> {
    match shape {
        Shape::Placeholder(placeholder) => names.resolve(placeholder),
        Shape::Literal(value) => Ok(value.clone()),
        Shape::List(items) => items.iter().map(|item| fill(item, names)).collect::<Result<_, _>>().map(Value::List),
        Shape::Object(entries) => {
            let filled = entries.iter().map(|(key, shape)| Ok((key, fill(shape, names)?)));
            filled.collect::<Result<_, _>>().map(Value::Object)
        }
    }
}

impl Names<'_> {
    fn resolve(&mut self, placeholder: &Placeholder) -> Result<Value, Reason> {
        let name = placeholder.name.as_str();
        let content = self.content.as_deref_mut().filter(|_| name == "content");
        let value = content.or_else(|| self.element.as_deref_mut()?.get_mut(name));
        let Some(value) = value else {
            let capture = self.captures.iter().find(|capture| &*capture.name == name);
            return match (capture, placeholder.keys.first()) {
                (Some(capture), None) => Ok(Value::String(capture.text.clone())),
                (Some(_), Some(key)) => Err(Reason::NotObject {
                    placeholder: placeholder.to_string(),
                    key: key.clone(),
                    found: Value::from("").kind(),
                }),
                (None, _) => {
                    Err(Reason::Undefined { placeholder: placeholder.to_string(), available: self.available() })
                }
            };
        };
        let value = descend(value, placeholder)?;
        Ok(if self.moves { std::mem::take(value) } else { value.clone() })
    }

    fn available(&self) -> Vec<String> {
        let content = self.content.as_ref().map(|_| "content".to_owned());
        let keys = self.element.as_deref().into_iter().flat_map(Object::keys).map(str::to_owned);
        let mut names: Vec<_> = content.into_iter().chain(keys).collect();
        for capture in self.captures {
            if !names.iter().any(|name| **name == *capture.name) {
                names.push(capture.name.to_string());
            }
        }
        names
    }
}

fn descend<'v>(value: &'v mut Value, placeholder: &Placeholder) -> Result<&'v mut Value, Reason> {
    placeholder.keys.iter().try_fold(value, |value, key| {
        let Value::Object(entries) = value else {
            let found = value.kind();
            return Err(Reason::NotObject { placeholder: placeholder.to_string(), key: key.clone(), found });
        };
        entries
            .get_mut(key)
            .ok_or_else(|| Reason::MissingKey { placeholder: placeholder.to_string(), key: key.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    fn captures() -> Vec<Capture> {
        vec![Capture { name: "name".into(), text: "N".into() }, Capture { name: "content".into(), text: "C".into() }]
    }

    fn shaped(shape: &str, each: bool, content: &str) -> String {
        let transform_ = Transform::new(Shape::of(&json::read(shape).unwrap()), each);
        match transform(&transform_, json::read(content).unwrap(), &captures()) {
            Ok(value) => value.to_string(),
            Err(reason) => format!("! {reason}"),
        }
    }

    #[test]
    fn placeholders_are_replaced() {
        let content = r#"{"a": {"b": 1.50}, "é": null}"#;
        let cases = [
            (r#""{content}""#, content),
            (r#""{name}""#, r#""N""#),
            (r#""{content.a}""#, r#"{"b": 1.50}"#),
            (r#""{content.a.b}""#, "1.50"),
            (r#""{content.é}""#, "null"),
            (r#"["{content.a}", ["{name}"]]"#, r#"[{"b": 1.50}, ["N"]]"#),
            (r#"{"{name}": "{name}", "k": null, "l": [1, {}]}"#, r#"{"{name}": "N", "k": null, "l": [1, {}]}"#),
            (
                r#"["{content.a}", "{content}", "{content.a.b}", "{name}", "{name}"]"#,
                r#"[{"b": 1.50}, {"a": {"b": 1.50}, "é": null}, 1.50, "N", "N"]"#,
            ),
            (r#"["{content.é}", "{content.a.b}", "{content.é}"]"#, "[null, 1.50, null]"),
            (r#""{ content }""#, r#""{ content }""#),
            (r#""{}""#, r#""{}""#),
            (r#""{a-b}""#, r#""{a-b}""#),
            ("[]", "[]"),
            ("false", "false"),
            (r#""{mode}""#, "! the transform's {mode} is not defined here; defined: content, name"),
            (r#""{mode.x}""#, "! the transform's {mode.x} is not defined here; defined: content, name"),
            (r#""{name.x}""#, "! the transform's {name.x} cannot index into str at 'x'"),
            (r#""{content.a.b.c}""#, "! the transform's {content.a.b.c} cannot index into a number at 'c'"),
            (r#""{content.a.c}""#, "! the transform's {content.a.c} is missing key 'c': the object does not have it"),
        ];
        for (shape, want) in cases {
            assert_eq!(shaped(shape, false, content), want, "{shape}");
        }
        assert_eq!(
            shaped(r#""{content.0}""#, false, "[1]"),
            "! the transform's {content.0} cannot index into list at '0'"
        );
    }

    #[test]
    fn transform_each_names_an_elements_keys_before_the_captures() {
        let cases = [
            (
                r#"{"q": "{a}", "n": "{name}"}"#,
                r#"[{"a": 1}, {"a": 2, "name": "z"}]"#,
                r#"[{"q": 1, "n": "N"}, {"q": 2, "n": "z"}]"#,
            ),
            (r#""{a.x}""#, r#"[{"a": {"x": [1]}}]"#, "[[1]]"),
            (r#""{content}""#, r#"[{"content": 7}, {}]"#, r#"[7, "C"]"#),
            (r#"["{a}", "{b}", "{a.c}"]"#, r#"[{"b": 2, "a": {"c": 1}}]"#, r#"[[{"c": 1}, 2, 1]]"#),
            (r#""{a}""#, "[]", "[]"),
            ("{}", "[{}]", "[{}]"),
            (r#""{a}""#, r#"[{"b": 1}]"#, "! the transform's {a} is not defined here; defined: b, name, content"),
            (r#""{a}""#, r#"{"a": 1}"#, "! transform_each needs a list, but the body is an object"),
            (r#""x""#, "null", "! transform_each needs a list, but the body is null"),
            (r#""{a}""#, r#"[{"a": 1}, [2]]"#, "! transform_each needs a list of objects, but element 1 is a list"),
        ];
        for (shape, content, want) in cases {
            assert_eq!(shaped(shape, true, content), want, "{shape} of {content}");
        }
    }
}
