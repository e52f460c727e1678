//! Property test: inference recovers random wire formats from the chat templates that write them.

use proptest::prelude::*;

use super::structure::{Arguments, Cut, WireFormat};
use super::{Reading, infer, template_usage};
use backchat_chat::ChatTemplate;
use backchat_core::json::{Object, Value};
use backchat_probe::probe::Prober;

/// The parts of a drawn wire.
#[derive(Clone, Debug)]
struct Drawn {
    cut: Cut,
    header: &'static str,
    end: &'static str,
    thought: (&'static str, &'static str),
    /// From the name to the arguments, in a marked layout; nothing in an object.
    gap: Option<&'static str>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let sections = prop_oneof![Just(("", "")), Just(("<calls>", "</calls>")), Just(("[PLAN]\n", "\n[/PLAN]"))];
    let items = prop_oneof![
        Just(("<|call|>", "<|/call|>")),
        Just(("<use>\n", "\n</use>")),
        Just(("「do」", "「/do」")),
        Just(("*run*", "*end run*")),
        Just(("```tool\n", "\n```")),
    ];
    let separators = prop_oneof![Just(""), Just("\n"), Just("; ")];
    let headers = prop_oneof![Just("<|im|>assistant\n"), Just("### Assistant:\n"), Just("<|bot|>")];
    let ends = prop_oneof![Just("<|end|>\n"), Just("</s>")];
    let thoughts = prop_oneof![Just(("<think>", "</think>")), Just(("[MIND]\n", "\n[/MIND]\n\n"))];
    let gaps = prop_oneof![Just(None), Just(Some("\n")), Just(Some("<|args|>"))];
    (sections, items, separators, headers, ends, thoughts, gaps).prop_map(
        |((section, section_close), (open, close), separator, header, end, thought, gap)| Drawn {
            cut: Cut::of([section, open, close, separator, section_close]),
            header,
            end,
            thought,
            gap,
        },
    )
}

impl Drawn {
    /// The chat template that writes this wire.
    fn template(&self) -> String {
        let text = |text: &str| format!("{{{{- {} }}}}", Value::from(text));
        let Cut { section, open, close, separator, section_close } = &self.cut;
        let name = "{{- c.function.name }}";
        let arguments = "{{- c.function.arguments | tojson }}";
        let call = match self.gap {
            Some(gap) => format!("{name}{}{arguments}", text(gap)),
            None => format!("{}{name}{}{arguments}{}", text("{\"name\": \""), text("\", \"arguments\": "), text("}")),
        };
        [
            "{%- for m in messages %}{%- if m.role == 'assistant' %}",
            &text(self.header),
            "{%- if m.reasoning_content %}",
            &text(self.thought.0),
            "{{- m.reasoning_content }}",
            &text(self.thought.1),
            "{%- endif %}{{- m.content }}{%- if m.tool_calls %}",
            &text(section),
            "{%- for c in m.tool_calls %}",
            &text(open),
            &call,
            &text(close),
            "{%- if not loop.last %}",
            &text(separator),
            "{%- endif %}{%- endfor %}",
            &text(section_close),
            "{%- endif %}",
            &text(self.end),
            "{%- else %}<{{ m.role }}>{{ m.content }}\n{%- endif %}{%- endfor %}{%- if add_generation_prompt %}",
            &text(self.header),
            "{%- endif %}",
        ]
        .concat()
    }

    fn infer(&self) -> WireFormat {
        let template = ChatTemplate::compile(&self.template()).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None);
        let usage = template_usage::find(&template, &prober, &variables);
        infer(&prober, &usage, Reading::default()).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_drawn_wire_is_inferred_back(drawn in drawn()) {
        let wire = drawn.infer();
        prop_assert_eq!(&wire.end, drawn.end);
        for prompt in &wire.prompts {
            prop_assert_eq!(prompt.header.trim_start(), drawn.header);
            prop_assert_eq!(&prompt.prefill, "");
        }
        let thought = wire.reasoning.as_ref().unwrap();
        prop_assert_eq!((&*thought.open, &*thought.close), drawn.thought);
        let calls = wire.calls.as_ref().unwrap();
        prop_assert!(calls.cuts.contains(&drawn.cut), "{:?} among {:?}", drawn.cut, calls.cuts);
        prop_assert_eq!(&calls.body.arguments, &Arguments::Json);
        prop_assert_eq!(calls.body.object.is_some(), drawn.gap.is_none());
    }
}
