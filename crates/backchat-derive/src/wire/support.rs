//! Test support: chat templates as text, and their probers.

use backchat_chat::ChatTemplate;
use backchat_core::json::Object;
use backchat_probe::probe::Prober;

/// Works with the prober of a chat template, in the request shape that the template accepts.
pub(super) fn with_prober<T>(source: &str, work: impl FnOnce(&Prober<'_>) -> T) -> T {
    let template = ChatTemplate::compile(source).unwrap();
    let variables = Object::new();
    let prober = Prober::new(&template, &variables, None).settled().expect("the template shows content");
    work(&prober)
}

/// A chat template whose turns are `<|role|>…<|end|>`; a piece of Jinja about the message `m` writes the answers.
pub(super) fn chat_template(answer: &str) -> String {
    [
        "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}",
        answer,
        "{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}",
        "{% if add_generation_prompt %}<|assistant|>{% endif %}",
    ]
    .concat()
}
