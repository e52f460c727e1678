//! Templates whose prompts and turns begin in many ways.

use std::sync::LazyLock;

use super::super::conversations::{History, histories};
use super::*;
use backchat_chat::ChatTemplate;
use backchat_core::json::Object;
use backchat_probe::probe::Prober;

static NO_SETTING: LazyLock<Setting> = LazyLock::new(Setting::new);

fn scene<'p, 't>(prober: &'p Prober<'t>, history: &'p History) -> Scene<'p, 't> {
    Scene { prober, history, setting: &NO_SETTING }
}

/// The start of the turn after a question, and the known openings of reasoning.
fn turn_start(chat_template: &str) -> (Option<TurnStart>, Vec<String>) {
    let template = ChatTemplate::compile(chat_template).unwrap();
    let variables = Object::new();
    let input = backchat_probe::probe::ReasoningInput::Key("reasoning_content".to_owned());
    let prober = Prober::new(&template, &variables, None).with_reasoning(Some(&input));
    let mut openings = Vec::new();
    let found = TurnStart::find(&scene(&prober, &histories(false, false)[0]), &Tokens::default(), &mut openings);
    (found, openings)
}

/// A template whose turns begin with `turn` and whose prompt ends with `prompt`.
fn chat(turn: &str, prompt: &str) -> String {
    format!(
        "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{turn}{{% endif %}}\
         {{{{ m.content }}}}<end>{{% endfor %}}{{% if add_generation_prompt %}}<assistant>{prompt}{{% endif %}}"
    )
}

const THOUGHT: &str = "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}";

#[test]
fn the_state_is_the_effect_of_text_that_only_the_prompt_has() {
    for (turn, prompt, state, openings) in [
        (THOUGHT, "", State::Plain, &["<think>"][..]),
        (THOUGHT, "<think>", State::Open("<think>".to_owned()), &["<think>"]),
        (THOUGHT, "<think></think>", State::Closed("<think>".to_owned()), &["<think>"]),
        // A prompt may begin the thought, or write one of its own.
        (THOUGHT, "<think>Well, ", State::Open("<think>".to_owned()), &["<think>"]),
        (THOUGHT, "<think>I need none.</think>", State::Closed("<think>".to_owned()), &["<think>"]),
        // No render shows it: the mark mentions reasoning.
        ("", "<think>", State::Open(String::new()), &[]),
        ("", "<think></think>", State::Closed(String::new()), &[]),
        ("", "<say>", State::Plain, &[]),
    ] {
        let (turn_start, known) = turn_start(&chat(turn, prompt));
        let turn_start = turn_start.unwrap();
        assert_eq!(
            (&turn_start.state, known.iter().map(String::as_str).collect::<Vec<_>>().as_slice()),
            (&state, openings),
            "{turn} {prompt}"
        );
        assert_eq!(turn_start.prompted(), format!("?<end><assistant>{prompt}"), "after `7f3a`");
        assert_eq!(turn_start.stop, "<end>");
    }
}

#[test]
fn a_header_that_only_prompts_have_opens_reasoning_if_it_shares_a_word_with_the_closing_mark() {
    for (header, close, state) in [
        ("<bot><think>", "</think>", State::Open(String::new())),
        ("<start_of_bot><start_of_thought>", "<end_of_thought>", State::Open(String::new())),
        ("<bot>", "</think>", State::Plain),
        // Words that only tell openings from closings are no words of one thing.
        ("<start_of_bot>", "<end_of_thought>", State::Plain),
    ] {
        let source = format!(
            "{{% for m in messages %}}{{% if m.role != 'assistant' %}}<{{{{ m.role }}}}>{{% endif %}}\
             {{% if m.reasoning_content %}}{{{{ m.reasoning_content }}}}{close}{{% endif %}}{{{{ m.content }}}}<end>\
             {{% endfor %}}{{% if add_generation_prompt %}}{header}{{% endif %}}"
        );
        assert_eq!(turn_start(&source).0.unwrap().state, state, "{header} {close}");
    }
}

#[test]
fn a_mark_opens_reasoning_if_content_up_to_its_closing_mark_is_left_out() {
    let of = |content: &str| turn_start(&chat("", "<say>").replace("{{ m.content }}", content)).0.unwrap().state;
    assert_eq!(of("{{ m.content.split('</say>')[-1] }}"), State::Open(String::new()));
    let earlier = "{{ m.content if loop.last else m.content.split('</say>')[-1] }}";
    assert_eq!(of(earlier), State::Open(String::new()), "only in earlier turns");
    assert_eq!(of("{{ m.content.split('</other>')[-1] }}"), State::Plain);
    let closed = chat("", "<think>\n</think>").replace("{{ m.content }}", "{{ m.content.split('</think>')[-1] }}");
    assert_eq!(turn_start(&closed).0.unwrap().state, State::Closed(String::new()));
}

#[test]
fn white_space_at_the_end_of_every_render_does_not_hide_the_prompt() {
    for end in ["", "\n"] {
        let source = chat(THOUGHT, "") + &format!("{{{{ {end:?} }}}}");
        assert_eq!(turn_start(&source).0.unwrap().generated, format!("<assistant>{end}"));
    }
}

#[test]
fn a_history_that_is_not_rendered_has_no_turn_start() {
    let forgetful = "{% for m in messages %}{% if m.role != 'user' %}{{ m.content }}{% endif %}{% endfor %}";
    assert!(turn_start(forgetful).0.is_none());
    assert!(turn_start("{{ raise_exception('no') }}").0.is_none());
}

#[test]
fn a_turn_is_cut_depending_on_what_its_prompt_opened() {
    let cut = |prompt: &str, answer: &Answer| {
        let source = chat(THOUGHT, prompt);
        let template = ChatTemplate::compile(&source).unwrap();
        let variables = Object::new();
        let input = backchat_probe::probe::ReasoningInput::Key("reasoning_content".to_owned());
        let prober = Prober::new(&template, &variables, None).with_reasoning(Some(&input));
        let history = &histories(false, false)[0];
        let mut openings = Vec::new();
        let turn_start = TurnStart::find(&scene(&prober, history), &Tokens::default(), &mut openings)?;
        let (piece, _) = turn_start.cut(&scene(&prober, history), answer, &openings)?;
        Some((piece.cut, piece.prefix.rsplit_once("<end>")?.1.to_owned(), piece.text))
    };
    let plain = Answer::content("Yes.");
    let thought = plain.clone().with_reasoning("Hm.");
    let piece = |cut, prefix: &str, text: &str| Some((cut, prefix.to_owned(), text.to_owned()));
    assert_eq!(cut("", &plain), piece(Cut::Exact, "<assistant>", "Yes.<end>"));
    assert_eq!(cut("<think>", &thought), piece(Cut::Exact, "<assistant><think>", "Hm.</think>Yes.<end>"));
    // The prompt opens reasoning, but the turn has none.
    assert_eq!(cut("<think>", &plain), piece(Cut::Unprompted, "<assistant>", "Yes.<end>"));
    // Such a prompt is for turns without reasoning.
    assert_eq!(cut("<think></think>", &thought), None);
    assert_eq!(cut("<think></think>", &plain), piece(Cut::Shared, "<assistant><think></think>", "Yes.<end>"));
}

#[test]
fn a_turn_may_have_its_header_between_its_parts() {
    let text = |between: &str| {
        let thought = THOUGHT.replace("</think>", &format!("</think>{between}<assistant>"));
        let template = ChatTemplate::compile(&chat(&thought, "")).unwrap();
        let variables = Object::new();
        let input = backchat_probe::probe::ReasoningInput::Key("reasoning_content".to_owned());
        let prober = Prober::new(&template, &variables, None).with_reasoning(Some(&input));
        let history = &histories(false, false)[0];
        let turn_start = TurnStart::find(&scene(&prober, history), &Tokens::default(), &mut Vec::new()).unwrap();
        turn_start.cut(&scene(&prober, history), &Answer::default().with_reasoning("Hm."), &[]).unwrap().0.text
    };
    assert_eq!(text("<part>"), "<think>Hm.</think><part><assistant><end>");
    // At its stop a turn is over.
    assert_eq!(text("<end>"), "<think>Hm.</think><end>");
}

#[test]
fn the_words_with_which_a_prompt_begins_a_thought_are_known() {
    let words = |turn: &str, prompt: &str| turn_start(&chat(turn, prompt)).0.unwrap().begun_thought;
    let on_a_line = THOUGHT.replace("<think>", "<think>\n");
    assert_eq!(words(&on_a_line, "<think>\nWell, "), "Well, ");
    for prompt in ["", "<think>\n", "<think>\nI need none.</think>"] {
        assert_eq!(words(&on_a_line, prompt), "", "{prompt}");
    }
}

#[test]
fn text_that_ends_every_render_is_not_part_of_a_turn() {
    let ends = |source: &str, eos: Option<&str>| {
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None);
        let history = &histories(false, false)[0];
        let tokens = Tokens { bos: None, eos };
        let turn_start = TurnStart::find(&scene(&prober, history), &tokens, &mut Vec::new()).unwrap();
        let said = Answer::content("Yes.");
        let (piece, _) = turn_start.cut(&scene(&prober, history), &said, &[]).unwrap();
        (piece.text, turn_start.stop, turn_start.trailer)
    };
    let turns = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}";
    let asked = "{% if add_generation_prompt %}<assistant>{% endif %}";
    let lines = turns.replace("<end>", "\n").replace("<{{ m.role }}>", "### {{ m.role }}: ");
    for (source, eos, text, stop, trailer) in [
        (format!("{turns}{asked}"), None, "Yes.<end>", "<end>", ""),
        // A prompt that is always written, bounded by a stop or by the first message.
        (format!("{turns}<assistant>"), None, "Yes.<end>", "<end>", "<assistant>"),
        (format!("{turns}<user><assistant>"), Some("<end>"), "Yes.<end>", "<end>", "<user><assistant>"),
        (format!("{lines}### assistant: "), None, "Yes.\n", "\n", "### assistant: "),
        (format!("{}### assistant: ", lines.replace("\n", "<end>\n")), None, "Yes.<end>", "<end>\n", "### assistant: "),
        // A footer, with or without a prompt after it; a token that only ends the text.
        (format!("{turns}[be brief]{asked}"), None, "Yes.<end>", "<end>", "[be brief]"),
        (
            format!("{turns}{{% if add_generation_prompt %}}<assistant>{{% else %}}<eos>{{% endif %}}"),
            None,
            "Yes.<end>",
            "<end>",
            "<eos>",
        ),
        // Only the last turn has this end.
        (
            turns.replace("<end>", "{{ '<fin>' if loop.last and loop.length > 1 else '<end>' }}") + asked,
            None,
            "Yes.<fin>",
            "<fin>",
            "",
        ),
        // Text after the stop token does not belong to the turn.
        (
            format!("{turns}{{% if messages | length > 1 %}}<last>{{% endif %}}{asked}"),
            Some("<end>"),
            "Yes.<end>",
            "<end>",
            "<last>",
        ),
    ] {
        let expected = (text.to_owned(), stop.to_owned(), trailer.to_owned());
        assert_eq!(ends(&source, eos), expected, "{source}");
    }
}

#[test]
fn marks_that_end_only_an_earlier_message_are_not_part_of_a_turn() {
    // The last message of a prompt has other marks than an earlier one.
    let asks = "{% for m in messages %}{% if m.role == 'user' %}\
                {% if loop.last %}<ask>{{ m.content }}</ask>{% else %}<said>{{ m.content }}</said>{% endif %}\
                {% else %}{{ m.content }}<end>{% endif %}{% endfor %}";
    // A mark that begins every turn does not end one.
    let begins = "{% for m in messages %}<|turn|>{{ m.role }}|{{ m.content }}{% endfor %}\
                  {% if add_generation_prompt %}<|reply|>{% endif %}";
    let answer = Answer::content("Yes.");
    for (source, prefix, text) in [
        (asks, "<ask>How far is it to Brzeg, say by 7f3a?</ask>", "Yes.<end>"),
        (begins, "<|turn|>user|How far is it to Brzeg, say by 7f3a?<|reply|>", "<|turn|>assistant|Yes."),
    ] {
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None);
        let history = &histories(false, false)[0];
        let none = Setting::new();
        let turn_start = TurnStart::find(&scene(&prober, history), &Tokens::default(), &mut Vec::new()).unwrap();
        let (piece, whole) = turn_start.cut(&scene(&prober, history), &answer, &[]).unwrap();
        assert_eq!((turn_start.prompt.as_str(), piece.text.as_str()), (prefix, text));
        let messages = [history.messages.as_slice(), &[Message::Assistant(answer.clone())]].concat();
        assert_eq!(Some(whole), prober.render(&messages, &none, false));
    }
}

#[test]
fn a_history_without_a_prompt_has_no_turn_start() {
    let silent = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                  {% if add_generation_prompt and messages | length == 1 %}<assistant>{% endif %}";
    let turn_starts = |source: &str| {
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None);
        let find = |history| TurnStart::find(&scene(&prober, history), &Tokens::default(), &mut Vec::new());
        histories(false, false).iter().take(2).map(|history| find(history).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(turn_starts(silent), [true, false]);
    assert_eq!(turn_starts(&silent.replace(" and messages | length == 1", "")), [true, true]);
}

#[test]
fn engines_return_the_text_before_the_stop_token() {
    let turn_start = |stop: &str| TurnStart { stop: stop.to_owned(), ..turn_start(&chat("", "")).0.unwrap() };
    for (stop, text, eos_token, shown) in [
        ("<end>\n", "Yes.<end>", None, Some("Yes.")),
        ("</s><end>", "Yes.</s><end>", Some("<end>"), Some("Yes.</s>")),
        ("<end>", "Yes.<end>", Some("<other>"), Some("Yes.")),
        ("}<end>\n", "{Yes.}<end>", None, Some("{Yes.}")),
        ("</say><end>\n", "<say>Yes.</say><end>", None, Some("<say>Yes.")),
        ("</say><end>\n", "<call>f</call><end>", None, Some("<call>f</call>")),
        ("]]></say><end>\n", "<say><![CDATA[Yes.]]></say><end>", None, Some("<say><![CDATA[Yes.]]></say>")),
        ("\n\n", "Yes.", None, None),
        ("<end>", "Yes.", None, None),
        ("", "Yes.", None, None),
        // Another mark may end this turn, but not one that closes a part of it.
        ("<|end|><|done|>", "<|run|>f()<|end|><|wait|>", None, Some("<|run|>f()<|end|>")),
        ("<|end|>", "<|run|>f()<|/run|>", None, None),
        ("<|end|>", "<|run|>f()<|run_end|>", None, None),
    ] {
        assert_eq!(turn_start(stop).without_stop(text, eos_token), shown, "{stop:?} {text}");
    }
}

#[test]
fn the_next_turn_begins_at_its_header() {
    assert_eq!([next_turn("a<bot>b", "\n<bot>"), next_turn("ab", ""), next_turn("ab", "<bot>")], [1, 2, 2]);
}

#[test]
fn a_text_shows_an_answer_in_any_escaping() {
    assert!(shows("1 &lt; 2 or so it seems", "1 < 2 or so it seems"));
    assert!(!shows("2 or so", "1 < 2 or so it seems"));
    assert!(!shows("anything", "…") && !shows("anything", ""), "punctuation alone is not evidence");
}
