//! vLLM and SGLang: what their parsers refuse when the server starts, and what they drop or misread afterwards.

use super::{CONTENT, Caution, Reader, Reason, Refusal, THINKING, TOOL_CALLS, field_path};
use backchat_core::json::{Path, Value};
use backchat_parser::pattern::Construct;
use backchat_parser::template::{Delimiter, Field, Shape, Template};

/// Why either of the two refuses a template.
pub(super) fn check(reader: Reader, template: &Template) -> Vec<Refusal> {
    let limits = reader.limits();
    let (fields, defaults) = (limits.fields.unwrap_or_default(), limits.defaults.unwrap_or_default());
    let mut refusals = Vec::new();
    let mut refuse = |place, reason, words| refusals.push(Refusal { reader, place, reason, words });
    let mut sorted = fields.to_vec();
    sorted.sort_unstable();
    let unknown = |name: &str| {
        format!("response_template contains unsupported semantic fields: ['{name}']. Supported fields are: {sorted:?}")
            .replace('"', "'")
    };
    for field in template.fields() {
        let path = field_path(&field.name);
        if !fields.contains(&field.name.as_str()) {
            refuse(path, Reason::Field, unknown(&field.name));
            continue;
        }
        if field.name == TOOL_CALLS {
            if limits.calls_need_open && field.open.is_none() {
                let words = "response_template field 'tool_calls' needs 'open' or 'open_pattern' so tool calls can be told apart from other text";
                refuse(path, Reason::NeedsOpen, words.to_owned());
            }
            continue;
        }
        let shaped = [
            ("content", !field.content.is_text()),
            ("transform", field.transform.is_some()),
            ("join", field.join.is_some()),
        ];
        for (key, _) in shaped.into_iter().filter(|(_, is_set)| *is_set) {
            let words = format!(
                "response_template field '{}' uses semantics that cannot be streamed by the OpenAI serving adapter",
                field.name
            );
            refuse(path.key(key), Reason::Construct, words);
        }
    }
    for key in template.defaults().keys().filter(|key| !defaults.contains(key)) {
        refuse(Path::root().key("defaults").key(key), Reason::Default, unknown(key));
    }
    refusals
}

/// Problems in vLLM with a template that it loads.
pub(super) fn vllm_cautions(template: &Template) -> Vec<Caution> {
    let mut cautions = unselectable(Reader::Vllm, template);
    if let Some(thinking) = template.field(THINKING) {
        let path = field_path(THINKING);
        let caution = |place, effect: &str, help| Caution::new(Reader::Vllm, place, effect, help);
        if thinking.repeats {
            cautions.push(caution(
                path.key("repeats"),
                "with `repeats`, reasoning never counts as ended, so structured output never starts",
                "remove `repeats` from `thinking`",
            ));
        }
        if let Some(Delimiter::Pattern(_)) = thinking.close {
            cautions.push(caution(
                path.key("close_pattern"),
                "with a closing pattern, thinking budgets do not work, and structured output reads the prompt again at every token",
                "close `thinking` with literals: `\"close\": [\"</think>\"]`",
            ));
        }
        if let Some(Delimiter::Pattern(_)) = thinking.open {
            cautions.push(caution(
                path.key("open_pattern"),
                "with an opening pattern, vLLM does not know the text that starts reasoning",
                "open `thinking` with a literal",
            ));
        }
    }
    cautions.extend(flat_calls(Reader::Vllm, template));
    cautions
}

/// Problems in SGLang with a template that it loads.
pub(super) fn sglang_cautions(template: &Template) -> Vec<Caution> {
    let mut cautions = unselectable(Reader::Sglang, template);
    let mut caution =
        |place, effect: &str, help: &str| cautions.push(Caution::new(Reader::Sglang, place, effect, help));
    let content = template.field(CONTENT);
    if template.field(THINKING).is_none()
        && template.field(TOOL_CALLS).is_some()
        && let Some(marked) = content.filter(|content| content.open.is_some() || content.close.is_some())
    {
        let effect = "without a field `thinking`, the markers of `content` stay in the text";
        let place = field_path(CONTENT).key(written(marked.close.as_ref().or(marked.open.as_ref()), marked));
        caution(place, effect, "start the server with `--reasoning-parser response_template`");
    }
    let Some(calls) = template.field(TOOL_CALLS) else { return cautions };
    let path = field_path(TOOL_CALLS);
    match &calls.close {
        None => caution(
            path,
            "calls have no `close`, and a call that reaches the end of the text is dropped",
            "give `tool_calls` a `close`",
        ),
        Some(Delimiter::Literals { .. }) => {}
        Some(Delimiter::Pattern(pattern)) => {
            let place = path.key("close_pattern");
            let looks = [Construct::LookAhead, Construct::LookBehind];
            if pattern.shape().constructs.iter().any(|construct| looks.contains(construct)) {
                let effect = "calls are read from the text that the reasoning pass leaves: if this looks at a marker of `content`, the call is dropped";
                caution(place, effect, "make the close match the marker instead of looking at it");
            } else if let Some(stop) = content.and_then(|content| ends_with_turn(pattern, content)) {
                let effect = format!(
                    "a call that ends only with {} is dropped: the server strips stop tokens that are not literals of the close",
                    Value::from(stop)
                );
                caution(place, &effect, "close with literals: `\"close\": [\"</call>\", \"<|end|>\"]`");
            }
        }
    }
    cautions.extend(flat_calls(Reader::Sglang, template));
    cautions
}

/// The key under which a delimiter is written.
fn written(delimiter: Option<&Delimiter>, field: &Field) -> &'static str {
    match (delimiter, field.close.is_some()) {
        (Some(Delimiter::Literals { .. }), true) => "close",
        (Some(Delimiter::Pattern(_)), true) => "close_pattern",
        (Some(Delimiter::Literals { .. }), false) => "open",
        _ => "open_pattern",
    }
}

/// A text that ends the content and that a call can end with as well.
fn ends_with_turn(close: &backchat_parser::pattern::Pattern, content: &Field) -> Option<String> {
    let ends = match content.close.as_ref()? {
        Delimiter::Literals { literals, .. } => literals,
        Delimiter::Pattern(pattern) => pattern.examples(),
    };
    let mut ends = ends.iter().filter(|end| !end.trim().is_empty()).take(16);
    ends.find(|end| close.find_at(end, 0).ok().flatten().is_some_and(|found| found.span().0 == 0)).cloned()
}

/// A server selects its parsers by the fields of reasoning and calls.
fn unselectable(reader: Reader, template: &Template) -> Vec<Caution> {
    if template.field(THINKING).is_some() || template.field(TOOL_CALLS).is_some() {
        return Vec::new();
    }
    let effect = "without a field `thinking` or `tool_calls`, neither of its parsers can be selected";
    let help = "name the field for reasoning `thinking` and the field for calls `tool_calls`";
    vec![Caution::new(reader, Path::root().key("fields"), effect, help)]
}

/// Calls that are not `{"function": {"name": …, "arguments": …}}` are dropped, all of a region at once.
fn flat_calls(reader: Reader, template: &Template) -> Option<Caution> {
    let field = template.field(TOOL_CALLS)?;
    let path = field_path(TOOL_CALLS);
    let key = |shape: &Shape, key: &str| match shape {
        Shape::Object(entries) => entries.get(key).cloned(),
        Shape::Literal(Value::Object(entries)) => entries.get(key).cloned().map(Shape::Literal),
        // Only the text decides the value of a placeholder.
        Shape::Placeholder(_) => Some(shape.clone()),
        _ => None,
    };
    let shape = &field.transform.as_ref()?.shape;
    let missing = match key(shape, "function") {
        None => Some("function"),
        Some(function) => ["name", "arguments"].into_iter().find(|name| key(&function, name).is_none()),
    }?;
    let effect = format!("calls without `{missing}` are dropped, with every other call of the region");
    let help = "shape each call as `{\"function\": {\"name\": …, \"arguments\": …}}`";
    Some(Caution::new(reader, path.key("transform"), effect, help))
}
