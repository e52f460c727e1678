//! Structures of small chat templates, and the steps that settle one part after another.

use super::super::structure::{Arguments, Body, Encoding, FoundBy};
use super::super::support::chat_template;
use super::super::template_usage;
use super::*;
use backchat_chat::ChatTemplate;
use backchat_core::distinct;
use backchat_core::json::Object;

fn inferred(source: &str) -> Option<WireFormat> {
    inferred_in(source, Reading::default())
}

fn inferred_in(source: &str, reading: Reading) -> Option<WireFormat> {
    let template = ChatTemplate::compile(source).unwrap();
    let variables = Object::new();
    let prober = Prober::new(&template, &variables, None).settled()?;
    let usage = template_usage::find(&template, &prober, &variables);
    infer(&prober, &usage, reading)
}

/// If each channel is a turn, the close of reasoning contains the header as well.
#[test]
fn a_channel_after_a_header_does_not_open_reasoning() {
    let source = "{% for m in messages %}<|chat|>{{ m.role }}{% if m.role == 'assistant' %}\
                  {% if m.reasoning_content %}<|to|>analysis\n{{ m.reasoning_content }}<|/chat|><|chat|>assistant\
                  {% endif %}<|to|>final\n{{ m.content }}{% else %}<|to|>all\n{{ m.content }}{% endif %}<|/chat|>\
                  {% endfor %}{% if add_generation_prompt %}(Be brief.)\n<|chat|>assistant{% endif %}";
    let wire = inferred_in(source, Reading { comparison: Comparison::Aligned, ..Reading::default() }).unwrap();
    assert!(wire.prompts.iter().all(|prompt| prompt.header.trim() == "<|chat|>assistant"), "{:?}", wire.prompts);
    assert_eq!(wire.reasoning.unwrap().open.trim(), "<|to|>analysis");
    assert_eq!(wire.content.open.trim(), "<|to|>final");
}

/// The wire of a template that writes answers with a piece of Jinja about the message `m`.
fn wire(answer: &str) -> WireFormat {
    inferred(&chat_template(answer)).unwrap()
}

const CALLS: &str = "{% for c in m.tool_calls %}<call>{{ c.function | tojson }}</call>{% endfor %}";
const THOUGHT: &str = "{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}";

#[test]
fn a_sign_that_the_template_adds_to_a_sentence_is_no_part_of_a_mark() {
    for (ended, close) in [
        ("{{ m.thinking }}{{ '.' if not m.thinking.endswith('.') }}", "</think>"),
        ("{{ m.thinking | trim + ('' if (m.thinking | trim)[-1] in '.!?' else '.') }}\n", "\n</think>"),
        ("{{ m.thinking + ('…' if m.thinking[-1:] != '…' else '') }}", "</think>"),
        // Every thought has this one.
        ("{{ m.thinking }}.", ".</think>"),
    ] {
        let thought = THOUGHT.replace("{{ m.thinking }}", ended);
        let wire = wire(&format!("{thought}{{{{ m.content }}}}{CALLS}"));
        assert_eq!(wire.reasoning.map(|reasoning| reasoning.close).as_deref(), Some(close), "{ended}");
    }
    let content = "{{ m.content }}{{ '!' if m.content and m.content[-1] != '!' }}";
    let ended = wire(&format!("{THOUGHT}{content}{CALLS}"));
    assert_eq!(
        (ended.end, ended.content.close),
        (wire(&format!("{THOUGHT}{{{{ m.content }}}}{CALLS}")).end, String::new())
    );
}

#[test]
fn a_prompt_may_begin_the_call_that_it_asks_for() {
    let answer = format!("{THOUGHT}{{{{ m.content }}}}{CALLS}");
    let asked = chat_template(&answer).replace("<|assistant|>", "<|assistant|>{% if force %}<call>{% endif %}");
    let prompts = inferred(&asked).unwrap().prompts;
    assert!(prompts.iter().all(|prompt| prompt.header == "<|assistant|>"), "{prompts:?}");
    assert!(prompts.iter().any(|prompt| prompt.prefill == "<call>"), "{prompts:?}");
}

#[test]
fn a_header_may_have_the_value_of_a_variable_if_it_is_set() {
    for (setting, values) in [
        ("{% if mood %} {{ mood }}{% endif %}", &["", " \u{fdd2}"][..]),
        ("{% if mood %} {{ mood | tojson }}{% endif %}", &["", " \u{fdd2}"]),
        ("{{ ' mood=' ~ mood if mood }}", &["", " mood=\u{fdd2}"]),
        ("{{ ' a=' ~ a if a }}{{ ' b=' ~ b if b }}", &["", " a=\u{fdd2}", " b=\u{fdd2}", " a=\u{fdd2} b=\u{fdd2}"]),
    ] {
        let chat = chat_template("{{ m.content }}");
        let (turns, prompt) = chat.split_once("{% if add_generation_prompt %}").unwrap();
        let source =
            format!("{turns}{{% if add_generation_prompt %}}{}", prompt.replace("|>", &format!("{setting}|>")));
        let prompts = inferred(&source).unwrap().prompts;
        let headers = distinct(prompts.iter().map(|prompt| prompt.header.as_str()));
        let wanted: Vec<String> = values.iter().map(|value| format!("<|assistant{value}|>")).collect();
        assert_eq!(headers, wanted, "{source}");
    }
}

/// A word that every mark has does not identify the opening of reasoning, even if the prompt has additional text.
#[test]
fn a_name_in_every_mark_does_not_split_the_header() {
    let answer = format!("{THOUGHT}{{{{ m.content }}}}{CALLS}");
    let plain =
        chat_template(&answer).replace("{% if add_generation_prompt %}", "{% if add_generation_prompt %}Be brief.\n");
    for (tag, mark) in [("", ""), ("ns:", "ns_")] {
        let named = plain.replace("think>", &format!("{tag}think>")).replace("call>", &format!("{tag}call>"));
        let named = named.replace("<|", &format!("<|{mark}"));
        let aligned = Reading { comparison: Comparison::Aligned, ..Reading::default() };
        let wire = inferred_in(&named, aligned).unwrap();
        let headers: Vec<_> = wire.prompts.iter().map(|prompt| prompt.header.trim()).collect();
        assert!(headers.iter().all(|header| *header == format!("<|{mark}assistant|>")), "{headers:?}");
        assert_eq!(wire.reasoning.unwrap().open, format!("<{tag}think>"));
    }
}

#[test]
fn the_number_of_tools_or_a_long_system_message_may_decide_the_header() {
    for condition in [
        "tools and tools | length > 1",
        "tools and tools | length > 8",
        "messages[0].role == 'system' and messages[0].content | length > 40",
    ] {
        let marked = format!("<|assistant{{% if {condition} %}}:long{{% endif %}}|>");
        let source = chat_template("{{ m.content }}").replace("<|assistant|>", &marked);
        let source = source.replace(
            "<|{{ m.role }}|>",
            &format!("{{% if m.role == 'assistant' %}}{marked}{{% else %}}<|{{{{ m.role }}}}|>{{% endif %}}"),
        );
        let wire = inferred(&source).unwrap();
        let headers = backchat_core::distinct(wire.prompts.iter().map(|prompt| prompt.header.as_str()));
        assert_eq!(headers.len(), 2, "{condition}: {headers:?}");
        assert!(headers.contains(&"<|assistant|>") && headers.contains(&"<|assistant:long|>"), "{headers:?}");
    }
}

#[test]
fn each_mark_that_ends_a_turn_is_a_stop() {
    let closed = chat_template("{{ m.content }}").replace("<|end|>", "<|shut|>\n<|end|>");
    let wire = inferred(&closed).unwrap();
    assert_eq!(wire.stops, ["<|shut|>", "<|end|>"]);
    assert_eq!(wire.after_stop("<|shut|>"), ["<|end|>"]);
    assert_eq!(wire.after_stop("<|end|>"), [""; 0]);
}

#[test]
fn turns_may_end_differently_after_some_histories_under_settings_and_next_to_calls() {
    let ends = |by: &str| {
        let answer = format!("{{{{ m.content }}}}{CALLS}");
        inferred(&chat_template(&answer).replace("<|end|>", by)).unwrap().stops
    };
    let after_result =
        "{{ '<|done|>' if loop.index0 > 0 and messages[loop.index0 - 1].role == 'tool' else '<|end|>' }}";
    assert_eq!(ends(after_result), ["<|end|>", "<|done|>"]);
    let beside = "{{ '<|wait|>' if m.tool_calls and m.content else '<|end|>' }}";
    assert_eq!(ends(beside), ["<|end|>", "<|wait|>"]);
    let set = "{{ '<|eot|>' if style == 'short' else '<|end|>' }}";
    assert_eq!(ends(set), ["<|end|>", "<|eot|>"]);
    assert_eq!(ends("{{ '<|note|>' if style == 'long' }}<|end|>"), ["<|end|>"]);
    assert_eq!(ends("<|end|>"), ["<|end|>"]);
}

#[test]
fn text_after_every_turn_also_follows_the_stop_of_calls() {
    let answer = format!("{{{{ m.content }}}}{CALLS}{{% if m.tool_calls %}}<|wait|>{{% else %}}<|end|>{{% endif %}}");
    let shown = chat_template(&answer).replace("{% endif %}<|end|>{% endfor %}", "{% endif %}{% endfor %}");
    let last = "{% if not add_generation_prompt and messages[-1].role == 'assistant' %}<|last|>{% endif %}";
    let wire = inferred(&format!("{shown}{last}")).unwrap();
    assert_eq!(wire.after_stop("<|end|>"), ["<|last|>"]);
    assert_eq!(wire.after_stop("<|wait|>"), ["<|last|>"]);
    assert_eq!(wire.after_stop("<|other|>"), [""; 0]);
}

#[test]
fn text_that_a_setting_adds_after_every_turn_is_not_part_of_it() {
    let calls = format!("{{{{ m.content }}}}{CALLS}");
    let noted = format!("{}{{% if note == 'on' %}}<|note|>{{% endif %}}", chat_template(&calls));
    let wire = inferred(&noted).unwrap();
    assert_eq!((wire.end.as_str(), wire.trailing.as_slice()), ("<|end|>", &["<|note|>".to_owned()][..]));
    let always = format!("{}{{% if not add_generation_prompt %}}<|end|>{{% endif %}}", chat_template(&calls));
    let wire = inferred(&always).unwrap();
    assert_eq!((wire.end.as_str(), wire.trailing.as_slice()), ("<|end|>", &["<|end|>".to_owned()][..]));
    assert_eq!(wire.calls.unwrap().cuts[0].close, "</call>");
}

#[test]
fn plain_turns_have_a_header_and_an_end() {
    let wire = wire("{{ m.content }}");
    assert_eq!((wire.end.as_str(), &wire.content), ("<|end|>", &Content::default()));
    assert_eq!(wire.stops, ["<|end|>"]);
    assert!(wire.prompts.iter().all(|prompt| prompt.header == "<|assistant|>" && prompt.prefill.is_empty()));
    assert!(wire.reasoning.is_none() && wire.calls.is_none());
}

#[test]
fn marks_around_content_belong_to_it() {
    let content = wire("<answer>{{ m.content }}</answer>").content;
    assert_eq!((content.open.as_str(), content.close.as_str()), ("<answer>", "</answer>"));
}

#[test]
fn reasoning_is_the_text_of_a_key_that_shows_before_content() {
    let wire = wire(&format!("{THOUGHT}{{{{ m.content }}}}{CALLS}"));
    let reasoning = wire.reasoning.unwrap();
    assert_eq!((reasoning.open.as_str(), reasoning.close.as_str()), ("<think>", "</think>"));
    assert_eq!((reasoning.source, reasoning.keys().collect::<Vec<_>>()), (FoundBy::Rendered, vec!["thinking"]));
    assert_eq!(reasoning.empty, None);
    assert!(!reasoning.is_late);
    // It may also come after the answer.
    let after = "{{ m.content }}{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}";
    assert!(self::wire(after).reasoning.is_some_and(|reasoning| reasoning.is_late));
}

#[test]
fn reasoning_that_is_written_without_input_is_empty() {
    let reasoning = wire("<think>{{ m.thinking }}</think>{{ m.content }}").reasoning.unwrap();
    assert_eq!(reasoning.empty.as_deref(), Some("<think></think>"));
}

#[test]
fn the_prompt_may_open_reasoning_that_renders_only_close() {
    let source = chat_template("{% if m.thinking %}{{ m.thinking }}</think>{% endif %}{{ m.content }}")
        .replace("<|assistant|>{% endif %}", "<|assistant|><think>{% endif %}");
    let reasoning = inferred(&source).unwrap().reasoning.unwrap();
    assert_eq!((reasoning.open.as_str(), reasoning.close.as_str()), ("<think>", "</think>"));
    assert_eq!(reasoning.source, FoundBy::OpenedByPrompt);
}

#[test]
fn a_prompt_that_opens_reasoning_under_a_setting_has_no_longer_header() {
    let opened = "<|part|>thought<|text|>";
    let source = chat_template(&format!("{opened}{{{{ m.thinking or '' }}}}<|over|>{{{{ m.content }}}}"));
    let asked = format!("<|assistant|>{{% if think %}}{opened}{{% endif %}}{{% endif %}}");
    let wire = inferred(&source.replace("<|assistant|>{% endif %}", &asked)).unwrap();
    let reasoning = wire.reasoning.unwrap();
    assert_eq!((reasoning.open.as_str(), reasoning.close.as_str()), (opened, "<|over|>"));
    assert!(wire.prompts.iter().all(|prompt| prompt.header == "<|assistant|>"), "{:?}", wire.prompts);
    assert!(wire.prompts.iter().any(|prompt| prompt.prefill == opened), "{:?}", wire.prompts);
    // A mark that turns under a setting have alone is a part of their header.
    let label = "{% if fast %}<|fast|>{% endif %}";
    let source = chat_template(&format!("{label}{THOUGHT}{{{{ m.content }}}}"));
    let wire =
        inferred(&source.replace("<|assistant|>{% endif %}", &format!("<|assistant|>{label}{{% endif %}}"))).unwrap();
    assert!(wire.prompts.iter().any(|prompt| prompt.header == "<|assistant|><|fast|>"), "{:?}", wire.prompts);
}

#[test]
fn reasoning_that_only_prompts_open_begins_after_the_header() {
    // Renders show empty reasoning before every answer, and remove reasoning from content.
    let source = chat_template("<think></think>{{ m.content.split('</think>')[-1] }}")
        .replace("<|assistant|>{% endif %}", "<|assistant|>{{ '<think>' if deep else '<think></think>' }}{% endif %}");
    let wire = inferred(&source).unwrap();
    let reasoning = wire.reasoning.unwrap();
    assert_eq!((reasoning.open.as_str(), reasoning.close.as_str()), ("<think>", "</think>"));
    assert_eq!((reasoning.source, reasoning.empty.as_deref()), (FoundBy::Removed, Some("<think></think>")));
    assert!(wire.prompts.iter().all(|prompt| prompt.header == "<|assistant|>"), "{:?}", wire.prompts);
    assert!(wire.prompts.iter().any(|prompt| prompt.prefill == "<think>"), "{:?}", wire.prompts);
    assert_eq!(wire.content.open, "");
}

#[test]
fn a_label_is_text_that_some_turns_begin_with() {
    let labels = |answer: &str| wire(answer).content.labels;
    assert_eq!(labels("{% if tools %}Reply: {% endif %}{{ m.content }}"), ["Reply: "]);
    assert_eq!(labels("{% if style == 'long' %}Reply:\n{% endif %}{{ m.content }}"), ["Reply:\n"]);
    // Text that begins every turn opens content, and reasoning has its own marks.
    assert_eq!(labels("Reply: {{ m.content }}"), [""; 0]);
    assert_eq!(labels(&format!("{THOUGHT}{{{{ m.content }}}}")), [""; 0]);
}

#[test]
fn content_comes_before_calls_after_them_or_not_at_all() {
    for (answer, place) in [
        (format!("{{{{ m.content }}}}{CALLS}"), Place::Before),
        (format!("{CALLS}{{{{ m.content }}}}"), Place::After),
        (format!("{{% if m.tool_calls %}}{CALLS}{{% else %}}{{{{ m.content }}}}{{% endif %}}"), Place::Dropped),
    ] {
        assert_eq!(wire(&answer).content.place, place, "{answer}");
    }
}

#[test]
fn values_that_a_template_writes_by_the_schema_of_the_tool_are_inferred_with_it() {
    let set = |value: &str| {
        format!(
            "{{% for c in m.tool_calls or [] %}}<call {{{{ c.function.name }}}}>\
             {{% set own = (tools or []) | selectattr('function.name', 'equalto', c.function.name) | list %}}\
             {{% for k, v in c.function.arguments.items() %}}<{{{{ k }}}}>{{{{ {value} }}}}</{{{{ k }}}}>{{% endfor %}}\
             </call>{{% else %}}{{{{ m.content }}}}{{% endfor %}}"
        )
    };
    let by_schema = "v if own and own[0].function.parameters.properties[k].type == 'string' else v | tojson";
    for (value, strings) in [(by_schema, Encoding::Bare), ("v | tojson", Encoding::Json)] {
        let arguments = wire(&set(value)).calls.unwrap().body.arguments;
        let Arguments::Pairs(pairs) = arguments else { panic!("{value}: {arguments:?}") };
        assert_eq!(pairs.values.strings, strings, "{value}");
    }
}

#[test]
fn content_may_have_other_marks_next_to_calls() {
    let answer = format!(
        "{{% if m.content %}}{{% if m.tool_calls %}}<note>{{{{ m.content }}}}</note>{{% else %}}<answer>{{{{ m.content }}}}\
         </answer>{{% endif %}}{{% endif %}}{CALLS}"
    );
    let content = wire(&answer).content;
    assert_eq!((content.open.as_str(), content.close.as_str()), ("<answer>", "</answer>"));
    assert_eq!(content.beside_calls, Some(("<note>".to_owned(), "</note>".to_owned())));
}

#[test]
fn content_may_have_marks_only_without_calls_whether_reasoning_is_written_empty_or_not() {
    let said = "{% if m.tool_calls %}{{ m.content }}{% else %}<say>{{ m.content }}</say>{% endif %}";
    for thought in [THOUGHT, "<think>\n{{ m.thinking or '' }}\n</think>\n"] {
        let content = wire(&format!("{thought}{said}{CALLS}")).content;
        assert_eq!((content.open.as_str(), content.close.as_str()), ("", ""), "{thought}");
        assert_eq!(content.after_reasoning, Some(("<say>".to_owned(), "</say>".to_owned())), "{thought}");
    }
}

#[test]
fn content_may_have_a_mark_that_closes_it_only_before_calls() {
    let beside = |close: &str| {
        let said = format!("{{% if m.content %}}<say>{{{{ m.content }}}}{close}{{% endif %}}{CALLS}");
        wire(&said).content.beside_calls
    };
    let close = "{% if m.tool_calls %}<|over|><|assistant|>{% endif %}";
    assert_eq!(beside(close), Some(("<say>".to_owned(), "<|over|>".to_owned())));
    // What follows is the mark of the calls.
    assert_eq!(beside(""), None);
}

#[test]
fn content_after_calls_may_have_a_mark_there_alone() {
    let said = "{% if m.tool_calls and m.content %}<say>{% endif %}{{ m.content }}";
    let beside = |answer: &str| wire(answer).content.beside_calls;
    let marks = |open: &str, close: &str| Some((open.to_owned(), close.to_owned()));
    assert_eq!(beside(&format!("{CALLS}{said}")), marks("<say>", ""));
    let closed = format!("{CALLS}{said}{{{{ '</say>' if m.tool_calls and m.content }}}}");
    assert_eq!(beside(&closed), marks("<say>", "</say>"));
    assert_eq!(beside(&format!("{CALLS}{{{{ m.content }}}}")), None);
}

#[test]
fn content_may_have_a_label_of_its_own_next_to_calls() {
    let content = |label: &str| {
        wire(&format!(
            "{{% if m.tool_calls %}}{{% if m.content %}}Step: {{{{ m.content }}}}\n{{% endif %}}{CALLS}{{% else %}}\
             {label}{{{{ m.content }}}}{{% endif %}}"
        ))
        .content
    };
    let labeled = content("Reply: ");
    assert_eq!(labeled.open.trim(), "Reply:");
    assert_eq!(labeled.beside_calls.unwrap().0, "Step:");
    assert_eq!(labeled.labels, [""; 0]);
    // If content alone has no opening, it is a label at the start of the turn.
    let bare = content("");
    assert_eq!((bare.open.as_str(), bare.beside_calls), ("", None));
    assert_eq!(bare.labels, ["Step: "]);
}

#[test]
fn a_turn_with_calls_may_end_differently() {
    let source = chat_template(&format!("{{{{ m.content }}}}{CALLS}"))
        .replace("<|end|>", "{{ '<|wait|>' if m.tool_calls else '<|end|>' }}");
    let wire = inferred(&source).unwrap();
    assert_eq!(wire.end, "<|end|>");
    let calls = wire.calls.unwrap();
    assert_eq!(calls.end.as_deref(), Some("<|wait|>"));
    assert_eq!(wire.stops, ["<|end|>", "<|wait|>"]);
    assert_eq!((calls.several, &calls.body.arguments), (true, &Arguments::Json));
}

#[test]
fn a_turn_without_an_end_stops_where_the_next_one_begins() {
    let wire = inferred(&chat_template("{{ m.content }}").replace("<|end|>", "")).unwrap();
    assert_eq!((wire.end.as_str(), wire.stops), ("", vec!["<|user|>".to_owned()]));
    let earlier = chat_template("{{ m.content }}{% if not loop.last %}<|/|>{% endif %}").replace("<|end|>", "");
    assert_eq!(inferred(&earlier).unwrap().stops, ["<|/|>"]);
}

#[test]
fn tools_after_the_first_message_are_no_part_of_the_turn() {
    let tools = "{% if loop.first and tools %}<tools>{{ tools | tojson }}<|end|>{% endif %}{% endfor %}";
    let plain = chat_template(&format!("{{{{ m.content }}}}{CALLS}"));
    let later = plain.replacen("<|end|>{% endfor %}", &format!("<|end|>{tools}"), 1);
    assert_ne!(later, plain);
    let calls = |source: &str| {
        inferred(source).and_then(|wire| wire.calls).map(|calls| (calls.several, calls.body.arguments, calls.cuts))
    };
    assert_eq!(calls(&later), calls(&plain));
    assert!(calls(&plain).is_some());
}

#[test]
fn turns_before_other_messages_may_stop_at_another_mark() {
    for (end, stops) in [
        // The first also ends messages of users, as some marks do.
        ("{{ '<|last|>' if loop.last else '<|end|>' }}", ["<|last|>", "<|end|>"]),
        (
            "{{ '<|eot|>' if loop.nextitem is defined and loop.nextitem.role == 'user' else '<|end|>' }}",
            ["<|end|>", "<|eot|>"],
        ),
        // What follows names the call that it answers.
        (
            "{% for c in m.tool_calls if messages | length > 2 %}<of id=\"{{ c.id }}\">{% endfor %}<|end|>",
            ["<|end|>", "<of id=\""],
        ),
    ] {
        let turn = format!("{{{{ m.content }}}}{CALLS}{end}");
        let others = "{% else %}{{ m.content }}{% endif %}";
        let source =
            chat_template(&turn).replace(&format!("{others}<|end|>"), &others.replace("{% endif", "<|end|>{% endif"));
        assert_eq!(inferred(&source).unwrap().stops, stops, "{end}");
    }
}

#[test]
fn calls_before_a_result_may_stop_at_another_mark() {
    let waits = "{{ '<|wait|>' if m.tool_calls and not loop.last else '<|end|>' }}";
    let wire = inferred(
        &chat_template(&format!("{{{{ m.content }}}}{CALLS}{waits}")).replace("{% endif %}<|end|>", "{% endif %}"),
    );
    assert_eq!(wire.unwrap().stops, ["<|end|>", "<|wait|>"]);
}

#[test]
fn a_template_that_shows_no_content_has_no_structure() {
    assert!(inferred("{% for m in messages %}<|{{ m.role }}|>{% endfor %}").is_none());
}

#[test]
fn a_closing_mark_that_was_mistaken_for_the_end_is_moved_back_to_content() {
    let open = |open: &str| Content { open: open.to_owned(), ..Content::default() };
    for (mut content, end, close) in [
        (open("<answer>"), "</answer><|end|>", "</answer>"),
        (open("<answer>"), "\n</answer>\n<|end|>", "\n</answer>"),
        (open("<answer><![CDATA["), "]]></answer><|end|>", "]]></answer>"),
        (open("<answer>{"), "} </answer>\n<|end|>", "} </answer>"),
        // The end has another word or only one mark, or content has no opening.
        (open("<answer>"), "</turn><|end|>", ""),
        (open("<answer>"), "</answer>", ""),
        (open(""), "</answer><|end|>", ""),
        (Content { close: "!".to_owned(), ..open("<answer>") }, "</answer><|end|>", "!"),
    ] {
        let mut rest = end.to_owned();
        settle(Segmentation::Words, &mut content, &mut rest);
        assert_eq!((content.close.as_str(), rest.as_str()), (close, end.strip_prefix(close).unwrap_or(end)), "{end:?}");
    }
}

fn prompt(header: &str) -> Prompt {
    Prompt {
        after: History::User,
        setting: Setting::new(),
        header: header.to_owned(),
        prefill: "rest".to_owned(),
        before: String::new(),
        header_in_prompt_only: false,
    }
}

#[test]
fn a_mark_at_the_end_of_the_header_is_moved_into_the_turn() {
    for (header, mark, expected) in [
        ("<|bot|><part>\n", "<part>", ("<|bot|>", "<part>\nrest")),
        ("<|bot|>", "<part>", ("<|bot|>", "rest")),
        ("<|bot|>", " ", ("<|bot|>", "rest")),
    ] {
        let mut prompt = prompt(header);
        begin_at(&mut prompt, mark);
        assert_eq!((prompt.header.as_str(), prompt.prefill.as_str()), expected, "{header:?} {mark:?}");
    }
}

#[test]
fn a_mark_that_ends_headers_and_separates_calls_opens_each_part() {
    let calls = |cut: Cut| Calls {
        sections: Vec::new(),
        section_closes: Vec::new(),
        cuts: vec![cut],
        body: Body { head: Vec::new(), arguments: Arguments::Json, tail: Vec::new(), object: None, left_out: None },
        several: true,
        end: None,
        request_shape: RequestShape::USUAL,
        setting: Setting::new(),
        ids_hold_names: false,
        margins: (0, 0),
    };
    let separated = || Cut { separator: "<part>".to_owned(), ..Cut::default() };
    let given = |header: &str, cut: Cut| {
        let (mut prompts, mut calls, mut content) = ([prompt(header)], calls(cut), Content::default());
        move_separator_to_openings(&mut prompts, &mut calls, &mut content);
        let [prompt] = prompts;
        (prompt.header, calls.cuts, content.open)
    };
    let opened = Cut { open: "<part>".to_owned(), ..Cut::default() };
    let expected = ("<|bot|>".to_owned(), vec![opened, separated()], "<part>".to_owned());
    assert_eq!(given("<|bot|><part>", separated()), expected);
    // The header would be empty or does not end with it, or the calls have their own opening.
    let own = Cut { open: "<call>".to_owned(), ..separated() };
    for (header, cut) in [("<part>", separated()), ("<|bot|>", separated()), ("<|bot|><part>", own)] {
        assert_eq!(given(header, cut.clone()), (header.to_owned(), vec![cut], String::new()), "{header}");
    }
}
