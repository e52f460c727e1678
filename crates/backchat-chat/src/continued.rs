//! Prompts that end inside the turn of the last message, so that a model continues it.

use crate::render::{ChatTemplate, RenderError, RenderOptions};
use backchat_core::json::{Object, Value, entries_mut};
use backchat_core::python::space;

/// Marks the end of the content, as transformers does: the same text may occur in the markers of the turn. The space shows
/// whether the template keeps white space there.
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// Renders up to the end of the last message's content; of parts, up to the end of the last text. `None` if there is no
/// content, or if the template does not write it as it is.
pub fn render_continued(
    template: &ChatTemplate,
    context: &Object,
    options: &RenderOptions,
) -> Result<Option<String>, RenderError> {
    let mut context = context.clone();
    let Some(content) = context.get_mut("messages").and_then(last_text) else { return Ok(None) };
    let text = content.clone();
    content.push_str(TAG);
    let rendered = template.render(&context, options)?.text;
    Ok(rendered.rfind(TAG.trim_end()).filter(|_| rendered.contains(space::strip(&text))).map(|end| {
        let (prompt, rest) = rendered.split_at(end);
        if rest.starts_with(TAG) { prompt } else { prompt.trim_end_matches(space::is_space) }.to_owned()
    }))
}

fn last_text(messages: &mut Value) -> Option<&mut String> {
    let Value::List(messages) = messages else { return None };
    match entries_mut(messages.last_mut()?)?.get_mut("content")? {
        Value::String(text) => Some(text),
        Value::List(parts) => parts.iter_mut().rev().find_map(|part| match entries_mut(part)?.get_mut("text")? {
            Value::String(text) => Some(text),
            _ => None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    /// Expected values are those of transformers 5.24.
    #[test]
    fn a_prompt_ends_with_the_content_of_the_last_message() {
        let kept = "{% for m in messages %}<|end|>{{ m.content }}<|end|>{% endfor %}";
        let trimmed = "{% for m in messages %}<|end|>{{ m.content | trim }}<|end|>{% endfor %}";
        let parts = "{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}";
        let upper = "{% for m in messages %}{{ m.content | upper }}{% endfor %}";
        for (template, content, expected) in [
            (kept, r#""en""#, Some("<|end|>en")),
            (kept, r#""|""#, Some("<|end|>|")),
            (kept, r#""x  ""#, Some("<|end|>x  ")),
            (kept, r#""""#, Some("<|end|>")),
            (trimmed, r#"" en""#, Some("<|end|>en")),
            (trimmed, r#""x  ""#, Some("<|end|>x")),
            (parts, r#"[{"text": "a"}, {"text": "]"}, {"type": "image"}]"#, Some("[a][]")),
            (upper, r#""en""#, None),
            (kept, "null", None),
            (kept, "[]", None),
        ] {
            let context = json::read(&format!(r#"{{"messages": [{{"role": "assistant", "content": {content}}}]}}"#));
            let context = context.unwrap().as_object().unwrap().clone();
            let template = ChatTemplate::compile(template).unwrap();
            let prompt = render_continued(&template, &context, &RenderOptions::default()).unwrap();
            assert_eq!(prompt.as_deref(), expected, "{content}");
        }
    }
}
