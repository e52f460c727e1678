//! Test support: chat templates as text, their probers and their wires.

use super::{Reading, Wire, infer, template_usage, varying};
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

/// The wire of a chat template in the reading that is tried first.
pub(super) fn wire(source: &str) -> Wire {
    with_prober(source, |prober| {
        let usage = template_usage::find(prober.template(), prober, &Object::new());
        let varying = varying::find(prober, &usage);
        let reading = Reading::ordered(prober.template().literals()).next().unwrap();
        let structure = infer(&prober.steady(&varying), &usage, reading).unwrap();
        Wire::new(prober, structure, varying)
    })
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
