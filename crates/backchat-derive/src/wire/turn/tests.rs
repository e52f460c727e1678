//! Headers, prefills and ends of turns of small chat templates.

use super::super::support::{chat_template, with_prober};
use super::*;
use backchat_core::json::Value;

fn turns<'p, 't>(prober: &'p Prober<'t>) -> Turns<'p, 't> {
    Turns { prober, segmentation: Segmentation::Words, trailing: &[] }
}

/// The header and the prefill of a template's prompts, with leads as renders of plain content give them.
fn ends(source: &str, close: Option<&str>, thought: Option<&Answer>) -> Vec<(History, String, String, bool)> {
    with_prober(source, |prober| {
        let input = backchat_probe::probe::ReasoningInput::Key("thinking".to_owned());
        let prober = prober.with_reasoning(Some(&input));
        let leads = |turns: &Turns<'_, '_>, after: History, setting: &Setting| {
            let lead = |answer: &Answer| turns.trace(after, answer, setting).map(|trace| trace.lead().to_owned());
            Leads { all: lead(&shapes::content()).into_iter().collect(), thought: thought.and_then(lead) }
        };
        let prompts = turns(&prober).prompts(&[Setting::new()], leads, close, Comparison::Exact);
        prompts
            .into_iter()
            .map(|known| (known.after, known.header, known.prefill, known.header_in_prompt_only))
            .collect()
    })
}

#[test]
fn a_prompt_ends_with_the_header_of_the_turn() {
    let found = ends(&chat_template("{{ m.content }}"), None, None);
    let header = |after| (after, "<|assistant|>".to_owned(), String::new(), false);
    assert_eq!(found, History::ALL.map(header));
}

#[test]
fn text_that_only_the_prompt_has_is_its_prefill() {
    let thinks = "{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}{{ m.content }}";
    let opens = chat_template(thinks).replace("<|assistant|>{% endif %}", "<|assistant|><think>{% endif %}");
    let thought = shapes::content().with_reasoning(needle::REASONING);
    let (_, header, prefill, _) = ends(&opens, Some("</think>"), Some(&thought)).remove(0);
    assert_eq!((header.as_str(), prefill.as_str()), ("<|assistant|>", "<think>"));
}

#[test]
fn a_call_that_a_prompt_names_is_its_prefill() {
    let thinks = "{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}{{ m.content }}";
    let setting = |value: Value| Setting::from([("pick".to_owned(), value)]);
    for (call, opening, name) in [
        ("<fn={{ c.function.name }}>{{ c.function.arguments | tojson }}</fn>", "<fn={{ pick }}>", "pick"),
        ("<fn={{ c.function.name }}>{{ c.function.arguments | tojson }}</fn>", "<fn={{ pick.name }}>", "pick.name"),
        ("<{{ c.function.name }}|>{{ c.function.arguments | tojson }}", "<{{ pick }}|>", "pick"),
    ] {
        let called = format!("{thinks}{{% for c in m.tool_calls or [] %}}{call}{{% endfor %}}");
        let asks = format!("<|assistant|>{{% if {name} %}}{opening}{{% endif %}}{{% endif %}}");
        let source = chat_template(&called).replace("<|assistant|>{% endif %}", &asks);
        let value = needle::SETTING.into();
        let value = if name == "pick" { value } else { Value::from([("name", value)]) };
        with_prober(&source, |prober| {
            let turns = turns(prober);
            let (none, named) = (Setting::new(), setting(value));
            let lead = |answer: &Answer| turns.trace(History::User, answer, &none).map(|trace| trace.lead().to_owned());
            let answers = [shapes::content(), Answer::calls(shapes::calls(1))];
            let leads = Leads { all: answers.iter().filter_map(lead).collect(), thought: None };
            let prompt = turns.prompt(History::User, &named, &leads, Some("</think>"), None).unwrap();
            assert_eq!((prompt.header.as_str(), prompt.header_in_prompt_only), ("<|assistant|>", false), "{source}");
            assert!(prompt.prefill.contains(needle::SETTING), "{source}");
        });
    }
}

#[test]
fn aligned_prompts_have_the_header_of_turns_despite_text_around_it() {
    let reminded =
        chat_template("{{ m.content }}").replace("%}<|assistant|>{%", "%}Be brief.\n<|assistant|>\n<plan>{%");
    with_prober(&reminded, |prober| {
        let none = Setting::new();
        let turns = turns(prober);
        let lead = |answer: &Answer| turns.trace(History::User, answer, &none).map(|trace| trace.lead().to_owned());
        // One kind of turn that begins differently does not matter.
        let all = lead(&shapes::content()).into_iter().chain(["<|other|>".to_owned()]).collect();
        let leads = Leads { all, thought: None };
        let prompt = turns.aligned_prompt(History::User, &none, &leads, None).unwrap();
        assert_eq!((prompt.header.trim(), prompt.prefill.as_str()), ("<|assistant|>", "<plan>"));
        assert!(prompt.before.ends_with("Be brief.") && !prompt.header_in_prompt_only);
    });
}

#[test]
fn an_aligned_header_ends_before_reasoning_that_every_turn_shows() {
    let thinks = "<think>\n{{ m.thinking or '' }}\n</think>\n{{ m.content }}";
    let source =
        chat_template(thinks).replace("%}<|assistant|>{% endif", "%}Be brief.\n<|assistant|><think>\n{% endif");
    with_prober(&source, |prober| {
        let none = Setting::new();
        let turns = turns(prober);
        let trace = turns.trace(History::User, &shapes::content(), &none).unwrap();
        let leads = Leads { all: vec![trace.lead().to_owned()], thought: None };
        let prompt = turns.aligned_prompt(History::User, &none, &leads, Some("</think>")).unwrap();
        assert_eq!((prompt.header.trim(), prompt.prefill.as_str()), ("<|assistant|>", "<think>\n"));
    });
}

#[test]
fn a_header_that_turns_lack_belongs_to_the_prompt_only() {
    let source = "{% for m in messages %}<|{{ 'turn' if m.role == 'assistant' else m.role }}|>{{ m.content }}\
                  {% endfor %}{% if add_generation_prompt %}<|reply|>{% endif %}";
    let (_, header, prefill, in_prompt_only) = ends(source, None, None).remove(0);
    assert_eq!((header.as_str(), prefill.as_str(), in_prompt_only), ("<|reply|>", "", true));
}

#[test]
fn marks_that_end_only_an_earlier_message_are_not_part_of_the_turn() {
    let asks = "{% for m in messages %}{% if m.role == 'user' %}\
                {% if loop.last %}<ask>{{ m.content }}</ask>{% else %}<said>{{ m.content }}</said>{% endif %}\
                {% else %}{{ m.content }}<end>{% endif %}{% endfor %}";
    let begins = "{% for m in messages %}<|turn|>{{ m.role }}|{{ m.content }}{% endfor %}\
                  {% if add_generation_prompt %}<|reply|>{% endif %}";
    for (source, lead) in [(asks, ""), (begins, "<|turn|>assistant|")] {
        with_prober(source, |prober| {
            let trace = turns(prober).trace(History::User, &shapes::content(), &Setting::new()).unwrap();
            assert_eq!(trace.lead(), lead, "{source}");
        });
    }
}

#[test]
fn the_end_of_a_turn_also_comes_before_another_turn() {
    let last_only = chat_template("{{ m.content }}<|done|>{% if loop.last %}<|bye|>{% endif %}");
    let other_end = chat_template("{{ m.content }}{{ '<|eot|>' if loop.last else '<|next|>' }}").replace("<|end|>", "");
    for (source, tail, expected) in [
        (chat_template("{{ m.content }}"), "<|end|>", "<|end|>"),
        // The header of the next turn is not part of the end of this one.
        (last_only, "<|done|><|bye|><|end|>", "<|done|>"),
        // A turn in the middle may end differently: then only the last one counts.
        (other_end, "<|eot|>", "<|eot|>"),
    ] {
        assert_eq!(with_prober(&source, |prober| turns(prober).end(tail, &Setting::new())), expected, "{source}");
    }
}

#[test]
fn a_turn_without_an_end_stops_at_the_mark_of_the_next_one() {
    let endless =
        chat_template("{{ m.content }}{% for c in m.tool_calls %}<call>{{ c.function.name }}</call>{% endfor %}")
            .replace("<|end|>", "");
    with_prober(&endless, |prober| {
        let none = Setting::new();
        assert_eq!(turns(prober).next_mark(&shapes::content(), &none).as_deref(), Some("<|user|>"));
        // The marks of the call itself do not begin the next turn.
        let called = Answer::calls(shapes::calls(1));
        assert_eq!(turns(prober).next_mark(&called, &none).as_deref(), Some("<|tool|>"));
    });
}

#[test]
fn calls_may_end_with_another_mark_if_a_result_follows() {
    let call = "<call>{{ m.tool_calls[0].function.name }}</call>";
    let calling = |end: &str| {
        let turn = format!("{{% if m.tool_calls %}}{call}{{% else %}}{{{{ m.content }}}}{{% endif %}}{end}");
        chat_template(&turn).replace("<|end|>", "")
    };
    for (end, expected) in [
        ("{{ '<|wait|>' if m.tool_calls and not loop.last else '<|/|>' }}", Some("<|wait|>")),
        // The mark of the result is the end if calls have none of their own.
        ("{% if loop.last or m.role != 'assistant' %}<|/|>{% endif %}", Some("<|tool|>")),
        ("<|/|>", None),
        // Only text between turns differs.
        ("<|/|>{{ '<|bye|>' if loop.last else '<|next|>' }}", None),
    ] {
        let is_over = |text: &str| text.contains("<|/|>");
        let found = with_prober(&calling(end), |prober| {
            turns(prober).other_end(&Answer::calls(shapes::calls(1)), &Setting::new(), is_over)
        });
        assert_eq!(found.as_deref(), expected, "{end}");
    }
}

#[test]
fn a_result_that_repeats_its_call_is_no_part_of_the_turn() {
    let repeats = "{% for c in m.tool_calls %}<call>{{ c.id }}</call>{% endfor %}{{ m.content }}\
                   {% if m.role == 'tool' %}<of>{{ m.tool_call_id }}</of>{% endif %}";
    let source = format!("{{% for m in messages %}}<|{{{{ m.role }}}}|>{repeats}{{% endfor %}}");
    with_prober(&source, |prober| {
        let called = Answer::calls(shapes::calls(1));
        assert_eq!(turns(prober).next_mark(&called, &Setting::new()).as_deref(), Some("<|tool|>"));
    });
}

#[test]
fn the_mark_of_a_part_shares_a_word_with_its_counterpart() {
    for (text, other, others, at) in [
        ("<|a|>\n<think>", "</think>", "", Some(6)),
        ("<ns:bot>\n<ns:think>", "</ns:think>", "<ns:end>", Some(9)),
        // Words alone are not marks.
        ("think <b>", "</think>", "", None),
        ("", "</think>", "", None),
    ] {
        assert_eq!(mark_about(Segmentation::Words, text, other, others), at, "{text:?}");
    }
}
