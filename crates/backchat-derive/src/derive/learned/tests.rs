//! What a draft learns from branches of its chat template: marks of settings, values and places.

use super::*;
use crate::derive::by_hand::{CHAT, losses_beside_null, read, said_calls, value};
use crate::derive::{Options, Status, derive};

/// The status of a derivation, its losses, and the text of its draft.
fn derived(chat_template: &str) -> (Status, Vec<String>, String) {
    let derivation = derive(chat_template, &Options::default());
    let losses = losses_beside_null(&derivation.verdict.losses);
    (derivation.status, losses, derivation.response_template.map(|draft| draft.to_string()).unwrap_or_default())
}

#[test]
fn a_value_in_a_learned_mark_is_any_text_up_to_the_sign_after_it() {
    for (text, any) in [
        (r#""open": "<call of=\"V\">""#, Some(r#""open": "<call of=\"[^\\n\"]+\">""#)),
        (r#""<V>""#, Some(r#""<[^\\n>]+>""#)),
        (r#""<call\\(V\\)>""#, Some(r#""<call\\([^\\n)]+\\)>""#)),
        (r#""<think for V now>""#, Some(r#""<think for [^\\n]+? now>""#)),
        (r#""<a>""#, Some(r#""<a>""#)),
        // An answer may end with these words.
        (r#""(?:on\\s*V\\s*)?<call>""#, None),
    ] {
        assert_eq!(with_any_text(text, "V").as_deref(), any, "{text}");
    }
}

#[test]
fn marks_that_a_setting_chooses_are_read_under_each_value() {
    let thought = "{{ {'low': '<hunch>', 'high': '<study>'}[effort | default('low')] }}{{ m.reasoning_content }}";
    let (status, losses, draft) = derived(&CHAT.replace("<weigh>{{ m.reasoning_content }}", thought));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains("<hunch>") && draft.contains("<study>"), "{draft}");
}

#[test]
fn texts_of_marks_that_a_setting_or_a_description_gives_are_any_texts() {
    let about =
        "{% for t in tools or [] if t.function.name == c.function.name %}{{ t.function.description }}{% endfor %}";
    let lines = ["marks repeat a description; the draft does not read one of several lines".to_owned()];
    for (old, new, unread, text) in [
        ("<call>", "<call{{ ' of=\"' + server.name + '\"' if server }}>", &[][..], "<call of=\"All tools\">{J}</call>"),
        ("<call>", "<call{{ ' of=\"' + server + '\"' if server }}>", &[][..], "<call of=\"git\">{J}</call>"),
        ("</call>", &format!("</call> // {about}{{{{ '\\n' }}}}"), &lines, "<call>{J}</call> // Finds one.\n"),
        ("<call>", &format!("# {about}{{{{ '\\n' }}}}<call>"), &lines, "# Finds one.\n<call>{J}</call>"),
    ] {
        let (status, mut losses, draft) = derived(&CHAT.replacen(old, new, 1));
        // The call becomes content.
        losses.dedup();
        assert_eq!((status, losses.as_slice()), (Status::Proved, unread), "{draft}");
        let text = text.replace("{J}", r#"{"name": "f", "arguments": {"a": 1}}"#) + "<end>";
        assert_eq!(said_calls(&read(&value(&draft), &text)), [r#"f{"a": 1}"#], "{draft}");
    }
}

#[test]
fn words_that_a_thought_chooses_for_its_mark_are_no_other_words() {
    let word = "{{ 'hunch' if m.reasoning_content | length < 10 else 'study' }}>";
    let thought = CHAT.replace("<weigh>", &format!("<{word}")).replace("</weigh>", &format!("</{word}"));
    let (status, losses, draft) = derived(&thought);
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    for (text, content) in [("<hunch>So.</hunch>Yes.<end>", "Yes."), ("<b>So</b> it is.<end>", "<b>So</b> it is.")] {
        assert_eq!(read(&value(&draft), text).get("content"), Some(&content.into()), "{draft}");
    }
}

#[test]
fn words_of_marks_that_a_place_a_count_or_a_value_chooses_are_read() {
    let (before, _) = CHAT.split_once("{% for c in").unwrap();
    let (_, after) = CHAT.split_once("{% endfor %}<end>").unwrap();
    let each = "{% for c in m.tool_calls or [] %}";
    let json = "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}";
    let again = "{% set w = 'again' if not loop.first and c.function.name == m.tool_calls[loop.index0 - 1].function.name else 'call' %}";
    let many = "{% set w = 'plan' if m.tool_calls and m.tool_calls | length > 3 else 'act' %}";
    let pair = "{% for k, v in c.function.arguments.items() %}{% set w = 'neg' if v is number and v < 0 else 'arg' %}\
                <{{ w }} {{ k }}>{{ v if v is string else v | tojson }}</{{ w }}>{% endfor %}";
    for (calls, words) in [
        (format!("{each}{again}<{{{{ w }}}}>{json}</{{{{ w }}}}>{{% endfor %}}"), ["<again>", "</again>"]),
        (
            format!(
                "{many}{{% if m.tool_calls %}}<|{{{{ w }}}}|>{{% endif %}}{each}{{{{ c.function.name }}}} \
                 {{{{ c.function.arguments | tojson }}}}{{{{ '\n' if not loop.last }}}}{{% endfor %}}\
                 {{% if m.tool_calls %}}<|/{{{{ w }}}}|>{{% endif %}}"
            ),
            ["plan", "/plan"],
        ),
        (format!("{each}<do {{{{ c.function.name }}}}>{pair}</do>{{% endfor %}}"), ["<neg", "</neg>"]),
    ] {
        let (status, losses, draft) = derived(&format!("{before}{calls}<end>{after}"));
        // Values without quotes have the types of the tool's schema.
        let is_of_types = |loss: &String| loss.starts_with("the wire format does not distinguish the string");
        assert!(status == Status::Proved && losses.iter().all(is_of_types), "{losses:?} {draft}");
        assert!(words.iter().all(|word| draft.contains(word)), "{draft}");
    }
}

#[test]
fn marks_for_a_text_that_the_template_does_not_name_are_read() {
    let renamed = "{% set style = call_style or 'json' %}{% for c in";
    let mark = |sign: &str| format!("<{sign}{{{{ 'call' if style == 'json' else 'do' }}}}>");
    let styled = CHAT.replacen("{% for c in", renamed, 1).replace("<call>", &mark("")).replace("</call>", &mark("/"));
    let (status, losses, draft) = derived(&styled);
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(["<call>", "<do>"].iter().all(|mark| draft.contains(mark)), "{draft}");
}

#[test]
fn a_call_without_arguments_is_read_as_a_setting_has_it_written() {
    let (before, _) = CHAT.split_once("<call>").unwrap();
    let (_, after) = CHAT.split_once("<end>").unwrap();
    let name = "{{ c.function.name }}";
    let arguments = "{{ c.function.arguments | tojson }}";
    let pairs = "{% for k, v in c.function.arguments.items() %}<p {{ k }}>{{ v | tojson }}</p>{% endfor %}";
    for (verb, condition, bare, arguments) in [
        // The setting chooses the verb, or decides only about calls without arguments.
        ("{{ 'do' if enable_thinking else 'call' }}", "enable_thinking", "/>", arguments),
        ("{{ 'do' if style == 'do' else 'call' }}", "style == 'do'", "/>", arguments),
        ("{{ 'do' if style == 'do' else 'call' }}", "style == 'do'", "></do>", arguments),
        ("{{ 'do' if style == 'do' else 'call' }}", "style == 'do'", "/>", pairs),
        ("call", "brief", "/>", arguments),
    ] {
        let call = format!(
            "<{verb} {name}{{% if {condition} and not c.function.arguments %}}{bare}{{% else %}}>{arguments}</{verb}>\
             {{% endif %}}{{% endfor %}}<end>"
        );
        let (status, losses, draft) = derived(&format!("{before}{call}{after}"));
        // Arguments that are read one by one.
        let names = "the draft does not read the escape in the name of an argument, such as that of a quote";
        assert!(status == Status::Proved && losses.iter().all(|loss| loss == names), "{call} {losses:?} {draft}");
        let text = format!("<{} get_time{bare}<end>", if verb == "call" { "call" } else { "do" });
        assert_eq!(said_calls(&read(&value(&draft), &text)), ["get_time{}"], "{draft}");
    }
}

#[test]
fn text_that_a_value_may_contain_closes_a_call_under_each_setting_only_before_the_next_one() {
    let (before, _) = CHAT.split_once("<call>").unwrap();
    let (_, after) = CHAT.split_once("<end>").unwrap();
    let verb = "{{ {'low': 'run', 'high': 'start'}[effort | default('low')] }}";
    let call = format!(
        "\n[{verb}] {{{{ c.function.name }}}} with {{{{ c.function.arguments | tojson }}}}.{{% endfor %}}<end>"
    );
    let (status, losses, draft) = derived(&format!("{before}{call}{after}"));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    let called = |verb: &str| format!("\n[{verb}] add with {{\"a\": 2.5, \"b\": \"x. y.\"}}.");
    for verb in ["run", "start"] {
        let text = format!("{0}{0}<end>", called(verb));
        let calls = said_calls(&read(&value(&draft), &text));
        assert_eq!(calls, [r#"add{"a": 2.5, "b": "x. y."}"#; 2], "{draft}");
    }
}

/// What a template whose mark of a call has these words derives to, each chosen by a setting of its own.
fn with_words(marks: [&[&str]; 3]) -> (Status, Vec<String>, String) {
    let (before, _) = CHAT.split_once("<call>").unwrap();
    let (_, after) = CHAT.split_once("<end>").unwrap();
    let word = |at: usize| {
        let known: Vec<String> = marks[at].iter().map(|word| format!("'say {word}': '{word}'")).collect();
        format!("{{{{ {{{}}}[w{at} | default('say {}')] }}}}", known.join(", "), marks[at][0])
    };
    let [verb, word, kind] = [0, 1, 2].map(word);
    let call = format!("<{verb} {{{{ c.function.name }}}} {word} {kind}>{{{{ c.function.arguments | tojson }}}}</>");
    derived(&format!("{before}{call}{{% endfor %}}<end>{after}"))
}

const FOUR_VERBS: &[&str] = &["call", "do", "make", "run"];
const FOUR_WORDS: &[&str] = &["with", "using", "having", "taking"];

#[test]
fn words_of_several_settings_in_one_mark_are_read_together() {
    for marks in [[&["call", "do"][..], &["with", "using"], &["alpha", "beta"]], [FOUR_VERBS, FOUR_WORDS, &["alpha"]]] {
        let (status, losses, draft) = with_words(marks);
        assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
        let [verbs, words, kinds] = marks;
        for (verb, word) in verbs.iter().flat_map(|verb| words.iter().map(move |word| (verb, word))) {
            for kind in kinds {
                let calls = said_calls(&read(&value(&draft), &format!("<{verb} f {word} {kind}>{{}}</><end>")));
                assert_eq!(calls, ["f{}"], "{verb} {word} {kind}: {draft}");
            }
        }
    }
}

#[test]
fn words_of_too_many_settings_in_one_mark_are_reported() {
    let (_, losses, draft) = with_words([FOUR_VERBS, FOUR_WORDS, &["alpha", "beta", "gamma", "delta"]]);
    let is_named = losses.iter().any(|loss| loss.contains("combinations of settings"));
    assert!(is_named, "{losses:?} {draft}");
}

#[test]
fn marks_that_the_prompt_opens_are_read_under_each_value_of_a_switch() {
    let [open, close] =
        ["", "/"].map(|sign| format!("{{{{ '<{sign}study>' if enable_thinking else '<{sign}hunch>' }}}}"));
    let thought = CHAT.replace("<weigh>", &open).replace("</weigh>", &close);
    let prompted = thought.replace("%}<assistant>{%", &format!("%}}<assistant>{open}{{%"));
    assert_ne!(prompted, thought);
    let (status, losses, draft) = derived(&prompted);
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(["<hunch>", "</hunch>", "<study>", "</study>"].iter().all(|mark| draft.contains(mark)), "{draft}");
}

#[test]
fn a_quote_that_the_prompt_opens_may_stand_in_the_answer() {
    let quoted = CHAT.replace("<{{ m.role }}>", "<{{ m.role }}>{{ '\"' if m.role == 'assistant' }}");
    let quoted = quoted.replace("{{ m.content }}", "{{ m.content }}{{ '\"' if m.role == 'assistant' }}");
    let prompted =
        quoted.replace("{% if add_generation_prompt %}<assistant>", "{% if add_generation_prompt %}<assistant>\"");
    assert_eq!(prompted.matches("<assistant>\"").count(), 1);
    let without_reasoning =
        prompted.replace("{% if m.reasoning_content %}<weigh>{{ m.reasoning_content }}</weigh>{% endif %}", "");
    let (status, losses, draft) = derived(&without_reasoning);
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
}

#[test]
fn a_draft_that_reads_one_value_of_a_switch_only_is_not_proved() {
    let content = "{{ m.content[::-1] if enable_thinking and m.role == 'assistant' else m.content }}";
    let mirrored = CHAT.replace("{{ m.content }}", content);
    // After the usual prompt, a model writes as usual.
    assert_eq!(derive(&mirrored, &Options::default()).status, Status::Proved);
    let header = "<{{ m.role }}>{{ '<mirror>' if enable_thinking and m.role == 'assistant' }}";
    let mirrored = mirrored.replace("<{{ m.role }}>", header);
    let prompted = mirrored.replace("%}<assistant>{%", "%}<assistant>{{ '<mirror>' if enable_thinking }}{%");
    assert_ne!(prompted, mirrored);
    let derivation = derive(&prompted, &Options::default());
    let line = derivation.verdict_line();
    let wanted = "partial: proved for turns without `enable_thinking` set to true only. ";
    assert!(derivation.status == Status::Partial && line.starts_with(wanted), "{line}");
}

#[test]
fn marks_of_some_answers_or_messages_are_read_and_not_excused() {
    let said = "{{ m.content }}";
    // The mark of a key is learned from answers alone, and not read after reasoning.
    let weight = "no conversation of the proof has `'weight' in m` true (line 1); the draft misreads turns that the template writes \
        then";
    for (written, marks, named) in [
        // A template that writes a mark beside some answers writes an answer with the mark alike.
        ("{{ m.content }}{{ '<glad>' if m.content and m.content[-1] == '!' }}", &["<glad>"][..], &[][..]),
        (
            "{{ '<object>' + m.content + '</object>' if m.content and m.content[0] == '{' else m.content }}",
            &["<object>", "</object>"],
            &[],
        ),
        // A key of the message chooses the mark, or absent content does.
        ("{{ '<alt>' if m.content and 'weight' in m }}{{ m.content }}", &["<alt>"], &[weight]),
        ("{{ '<mute>' if m.role == 'assistant' and not m.content }}{{ m.content or '' }}", &["<mute>"], &[]),
    ] {
        let (status, losses, draft) = derived(&CHAT.replacen(said, written, 1));
        assert_eq!(
            (status, losses.iter().map(String::as_str).collect::<Vec<_>>()),
            (Status::Proved, named.to_vec()),
            "{written} {draft}"
        );
        assert!(marks.iter().all(|mark| draft.contains(mark)), "{draft}");
    }
}

#[test]
fn no_id_of_a_conversation_is_learned_in_a_mark() {
    let seen = "{% if m.role == 'assistant' %}{% for r in messages[:loop.index0] if r.role == 'tool' %}<ok {{ r.tool_call_id }}>\
                {% endfor %}{% endif %}{{ m.content }}";
    let (_, _, draft) = derived(&CHAT.replace("{{ m.content }}", seen));
    let marks: Vec<&str> = draft.split("<ok ").skip(1).collect();
    assert!(!marks.is_empty() && marks.iter().all(|mark| mark.starts_with("[^")), "{draft}");
}

#[test]
fn a_guard_that_readers_made_a_mark_comes_back_if_they_refuse_what_is_learned() {
    let part = |of: &str, text: &str| format!("--=part\nof: {of}\n\n{{{{ {text} }}}}\n");
    let source = format!(
        "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}\
         {{% if m.reasoning_content %}}{}{{% endif %}}{{% if m.content %}}{}{{% endif %}}\
         {{% for c in m.tool_calls or [] %}}{}{{% endfor %}}--=part--\
         {{% else %}}{{{{ m.content }}}}{{% endif %}}<end>{{% endfor %}}{{% if add_generation_prompt %}}<assistant>{{% endif %}}",
        part("thought", "m.reasoning_content"),
        part("text", "m.content"),
        part("call {{ c.function.name }}", "c.function.arguments | tojson"),
    );
    let options = Options::default().variables(Object::from([("eos_token".to_owned(), "</s>".into())]));
    assert_eq!(derive(&source, &options).status, Status::Proved, "{source}");
}

#[test]
fn what_was_dropped_for_readers_that_refuse_what_is_learned_comes_back() {
    let said = "{{ '<say>' + m.content + '</say>' if m.role == 'assistant' and m.content and wrap | default(true) \
                else m.content or '' }}";
    let (status, losses, draft) = derived(&CHAT.replace("{{ m.content }}", said));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    let read = read(&value(&draft), "I look.<call>{\"name\": \"f\", \"arguments\": {}}</call><end>");
    assert_eq!(read.get("content"), Some(&"I look.".into()), "{draft}");
}

#[test]
fn a_mark_that_only_some_answers_have_is_read() {
    let asks = "{{ m.content }}{{ '<ask>' if m.content.endswith('?') }}";
    let (status, losses, draft) = derived(&CHAT.replace("{{ m.content }}", asks));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains("<ask>"), "{draft}");
}

/// The template with reasoning between other marks in turns with calls.
fn planned() -> String {
    let tag = "{{ 'plan' if m.tool_calls else 'weigh' }}>";
    CHAT.replace("<weigh>", &format!("<{tag}")).replace("</weigh>", &format!("</{tag}"))
}

#[test]
fn marks_that_only_an_answer_beside_calls_has_are_read() {
    let said =
        "{{ '<say>' + m.content + '</say>' if tools and m.role == 'assistant' and m.content else m.content or '' }}";
    let (status, losses, draft) = derived(&planned().replace("{{ m.content }}", said));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains("(?<=</plan>"), "{draft}");
}

#[test]
fn reasoning_before_calls_is_learned_although_their_arguments_come_before_their_names() {
    let call = "<call>{{ c.function.arguments | tojson }} -> {{ c.function.name }}</call>{% endfor %}<end>";
    let planned = planned();
    let (before, _) = planned.split_once("<call>").unwrap();
    let (_, after) = planned.split_once("<end>").unwrap();
    let (status, losses, draft) = derived(&format!("{before}{call}{after}"));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains("<plan>"), "{draft}");
}

#[test]
fn marks_of_several_branches_are_read_one_after_another() {
    let said = "{{ '<number>' if m.content and m.content[0].isdigit() }}\
                {{ '<code>' + m.content + '</code>' if m.content and '```' in m.content else m.content }}";
    let (status, losses, draft) = derived(&CHAT.replace("{{ m.content }}", said));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(["<number>", "<code>", "</code>"].iter().all(|mark| draft.contains(mark)), "{draft}");
}

#[test]
fn a_prefix_that_only_some_names_have_is_no_part_of_a_name() {
    let name = "{{ c.function.name if '.' in c.function.name else 'functions.' + c.function.name }}";
    let call = format!("<call>{name}<with>{{{{ c.function.arguments | tojson }}}}</call>{{% endfor %}}<end>");
    let (before, _) = CHAT.split_once("<call>").unwrap();
    let (_, after) = CHAT.split_once("<end>").unwrap();
    let (status, losses, draft) = derived(&format!("{before}{call}{after}"));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
}

#[test]
fn a_mark_behind_the_id_of_a_call_that_only_some_turns_have_is_read() {
    let marked = "<call id=\"{{ c.id }}\"{{ ' batch' if m.tool_calls | length > 1 }}>";
    let (status, losses, draft) = derived(&CHAT.replace("<call>", marked));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains("batch") && draft.contains("{id}"), "{draft}");
}

#[test]
fn a_count_of_one_digit_becomes_a_number() {
    let calls = "{% if m.tool_calls and m.tool_calls | length > 2 %}<batch n={{ m.tool_calls | length }}>{% endif %}{% for c in";
    let (status, losses, draft) = derived(&CHAT.replacen("{% for c in", calls, 1));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains("<batch\\\\s*n=\\\\d+>"), "{draft}");
}

#[test]
fn a_count_beside_a_mark_that_other_values_have_becomes_a_number() {
    let call = "{% set big = c.function.arguments | tojson | length > 120 %}<{{ 'big' if big else 'call' }}>\
                {{ c.function.name }}\n{{ c.function.arguments | tojson }}</{{ 'big' if big else 'call' }}>{% endfor %}<end>";
    let counted = CHAT.replace("</weigh>", "</weigh of={{ m.reasoning_content | length }}>");
    let (before, _) = counted.split_once("<call>").unwrap();
    let (_, after) = counted.split_once("<end>").unwrap();
    let (status, losses, draft) = derived(&format!("{before}{call}{after}"));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains(r"of=\\d+>"), "{draft}");
}

#[test]
fn what_stands_in_place_of_reasoning_is_left_out_before_an_answer_with_marks_and_without() {
    let thought = "{{ '<weigh>' + (m.reasoning_content or 'none') + '</weigh>' if m.role == 'assistant' }}";
    let said =
        "{{ '<say>' + m.content + '</say>' if tools and m.role == 'assistant' and m.content else m.content or '' }}";
    let chat = CHAT
        .replace("{% if m.reasoning_content %}<weigh>{{ m.reasoning_content }}</weigh>{% endif %}", thought)
        .replace("{{ m.content }}", said);
    let (status, losses, draft) = derived(&chat);
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(draft.contains("none"), "{draft}");
}

#[test]
fn a_text_that_decides_a_mark_is_tried_beside_calls_where_the_mark_is_another_one() {
    let said = "{{ ('<script>' if m.tool_calls else '<code>') + m.content if m.content and '```' in m.content else m.content }}";
    let (status, losses, draft) = derived(&CHAT.replace("{{ m.content }}", said));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
    assert!(["<script>", "<code>"].iter().all(|mark| draft.contains(mark)), "{draft}");
}

#[test]
fn a_stop_of_turns_with_reasoning_ends_arguments_that_are_written_one_by_one() {
    let call = "<call>{{ c.function.name }}:{% for k, v in c.function.arguments.items() %} {{ k }}={{ v | tojson }};\
                {% endfor %}</call>{% endfor %}{{ '<thought>' if m.reasoning_content else '<end>' }}";
    let (before, _) = CHAT.split_once("<call>").unwrap();
    let (_, after) = CHAT.split_once("<end>").unwrap();
    let (status, losses, draft) = derived(&format!("{before}{call}{after}"));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
}

#[test]
fn what_a_text_and_a_setting_have_written_together_is_read() {
    let said = "{{ '<ok>' if m.role == 'assistant' and m.content and m.content.startswith('Sure') }}\
                {{ '<json>' + m.content + '</json>' if json_mode and m.role == 'assistant' and m.content else m.content }}";
    let (status, losses, draft) = derived(&CHAT.replace("{{ m.content }}", said));
    assert_eq!((status, losses.as_slice()), (Status::Proved, &[][..]), "{draft}");
}

#[test]
fn words_of_the_conversations_are_never_learned() {
    let content = "{{ m.content }}{% if m.reasoning_content %}{{ m.content }}{% endif %}";
    let (status, _, draft) = derived(&CHAT.replace("{{ m.content }}", content));
    assert_eq!(status, Status::Partial, "{draft}");
    assert!(!["Paris", "look", "km"].iter().any(|word| draft.contains(word)), "{draft}");
}

#[test]
fn names_of_the_conversations_are_never_learned() {
    let planned = "{% if m.tool_calls %}<plan>{{ m.tool_calls | map(attribute='function.name') | join(', ') }}</plan>{% endif %}{% for c in";
    let (_, _, draft) = derived(&CHAT.replacen("{% for c in", planned, 1));
    assert!(!["get_", "route", "store_entry"].iter().any(|word| draft.contains(word)), "{draft}");
}

#[test]
fn what_no_draft_reads_is_a_named_loss() {
    let cut = CHAT.replace("{{ m.content }}", "{{ m.content[:400] }}");
    let (status, losses, draft) = derived(&cut);
    let is_named = losses.iter().any(|loss| loss.contains("Word by word it goes on"));
    assert!(status == Status::Proved && is_named, "{losses:?} {draft}");
}

#[test]
fn a_call_is_kept_if_null_is_another_word() {
    let arguments = "{{ '{' }}{% for k, v in c.function.arguments.items() %}{{ k }}:{% if v is string %}<q>{{ v }}<q>\
                     {% else %}{{ 'nil' if v is none else v | tojson }}{% endif %}{{ ',' if not loop.last }}{% endfor %}\
                     {{ '}' }}</call>{% endfor %}";
    let (before, rest) = CHAT.split_once("<call>").unwrap();
    let (_, after) = rest.split_once("{% endfor %}").unwrap();
    let (status, losses, draft) = derived(&format!("{before}<call>{{{{ c.function.name }}}}{arguments}{after}"));
    assert_eq!(status, Status::Proved, "{draft}");
    assert!(draft.contains(r#"["nil", ""]"#), "{draft}");
    assert!(losses.iter().any(|loss| loss == "null is written as nil and comes back as an empty text"), "{losses:?}");
}

#[test]
fn numbers_of_a_setting_become_any_number() {
    let text = r#"{"open_pattern": "<level=3>|<x13>|<level=3 b>"}"#;
    assert_eq!(with_any_number(text, "3"), r#"{"open_pattern": "<level=\\d+>|<x13>|<level=\\d+ b>"}"#);
}
