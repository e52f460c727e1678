//! Assumptions of response templates, in words.

use super::super::{Options, Proof};
use crate::derive::by_hand::{ANSWER, CHAT, losses_beside_null, object, template, with_proof};
use backchat_chat::ChatTemplate;
use backchat_core::json::Value;

/// The assumptions of a template, in words.
pub(super) fn assumed(chat_template: &str, answer: &str, variables: &str) -> Vec<String> {
    let chat_template = ChatTemplate::compile(chat_template).unwrap();
    let options = Options::default().variables(object(variables)).now("2026-01-01T00:00:00".to_owned());
    let proof = Proof::new(&chat_template, &options).unwrap();
    let verdict = proof.judge(&template(answer));
    assert!(verdict.holds(), "{:?}", verdict.failures);
    let assumed = verdict.losses.iter().filter(|loss| loss.is_assumed);
    let mut messages = losses_beside_null(assumed);
    messages.dedup();
    messages
}

#[test]
fn marks_that_change_with_the_clock_or_a_variable_are_read_or_reported() {
    let headed = |mark: &str| CHAT.replace("<{{ m.role }}>", &format!("<{{{{ m.role }}}}{mark}>"));
    let prompted = |mark: &str| headed(mark).replace("%}<assistant>{%", &format!("%}}<assistant{mark}>{{%"));
    let anchored = |anchor: &str| {
        ANSWER.replace("\"start_anchor\": \"<assistant>\"", &format!("\"start_anchor_pattern\": \"{anchor}\""))
    };
    let (year, who) = (prompted(" {{ strftime_now('%Y') }}"), prompted("{{ who }}"));
    let clock = "the text around the turn depends on the clock; the draft reads it as written now";
    let with = "the text around the turn depends on `who`; the draft reads it as written with the value given";
    let without = "the text around the turn depends on `who`; the draft reads it as written without it";
    for (chat_template, answer, variables, expected) in [
        (CHAT.to_owned(), ANSWER.to_owned(), "{}", &[][..]),
        (year.clone(), anchored("<assistant 2026>"), "{}", &[clock]),
        (year, anchored("<assistant \\\\d+>"), "{}", &[]),
        (who.clone(), anchored("<assistant>"), "{}", &[without]),
        (who.clone(), anchored("<assistantAda>"), r#"{"who": "Ada"}"#, &[with]),
        // A name may have two words.
        (who.clone(), anchored("<assistant\\\\w*>"), "{}", &[without]),
        (who, anchored("<assistant[^>]*>"), "{}", &[]),
        // A banner does not belong to the turn.
        (format!("{{{{ strftime_now('%Y') }}}}{{{{ who }}}}\n{CHAT}"), ANSWER.to_owned(), "{}", &[]),
    ] {
        assert_eq!(assumed(&chat_template, &answer, variables), expected, "{chat_template}\n{answer}");
    }
}

#[test]
fn a_generation_prompt_that_a_setting_leaves_out_is_reported() {
    let left_out = CHAT.replace("{% if add_generation_prompt %}", "{% if add_generation_prompt and mode != 'retry' %}");
    let named = "with `mode` set to \"retry\", the template writes no generation prompt, at which the draft starts";
    assert_eq!(assumed(&left_out, ANSWER, "{}"), [named]);
    assert_eq!(assumed(CHAT, ANSWER, "{}"), [""; 0]);
    // The turn starts there, too.
    let header = ANSWER.replace("\"start_anchor\": \"<assistant>\"", "\"start_anchor_pattern\": \"<assistant>|$\"");
    let header = header.replace("\"close\": \"<end>\"", "\"close\": [\"<assistant>\", \"<end>\"]");
    assert_eq!(assumed(&left_out, &header, "{}"), [""; 0]);
}

#[test]
fn a_member_of_a_variable_that_a_mark_repeats_is_read_or_reported() {
    let headed = |name: &str| {
        let headed = CHAT.replace("<{{ m.role }}>", &format!("<{{{{ m.role }}}}{{{{ {name} }}}}>"));
        headed.replace("%}<assistant>{%", &format!("%}}<assistant{{{{ {name} }}}}>{{%"))
    };
    let anchored =
        ANSWER.replace("\"start_anchor\": \"<assistant>\"", "\"start_anchor_pattern\": \"<assistant[^>]*>\"");
    let named = "the text around the turn depends on `who`; the draft reads it as written without it";
    for name in ["who.name if who", "(who or {}).get('name', '')", "who[0].name if who", "who.title.short if who"] {
        assert_eq!(assumed(&headed(name), ANSWER, "{}"), [named], "{name}");
        assert_eq!(assumed(&headed(name), &anchored, "{}"), [""; 0], "{name}");
    }
}

#[test]
fn reasoning_that_another_key_writes_elsewhere_is_reported_unless_it_is_read() {
    let thinks = |other: &str| CHAT.replace("{{ m.content }}", &format!("{other}{{{{ m.content }}}}"));
    let elsewhere = thinks("{% if m.thinking %}<t>{{ m.thinking }}</t>{% endif %}");
    let alike = thinks("{% if m.thinking %}<weigh>{{ m.thinking }}</weigh>{% endif %}");
    let both = ANSWER.replace(
        "\"open\": \"<weigh>\", \"close\": \"</weigh>\"",
        "\"open\": [\"<weigh>\", \"<t>\"], \"close\": [\"</weigh>\", \"</t>\"]",
    );
    let named = "the template writes `thinking` differently from `reasoning_content`, which the draft reads";
    assert_eq!(assumed(&elsewhere, ANSWER, "{}"), [named]);
    assert_eq!(assumed(&alike, ANSWER, "{}"), [""; 0]);
    assert_eq!(assumed(&elsewhere, &both, "{}"), [""; 0]);
}

#[test]
fn reasoning_that_only_some_turns_have_is_reported() {
    let named = "the template writes reasoning in some turns, which the draft does not read";
    for condition in ["m.reasoning_content.count('\\n') > 1", "m.reasoning_content[-1] == '.'"] {
        let condition = format!("{{% if m.reasoning_content and {condition} %}}");
        let source = CHAT.replacen("{% if m.reasoning_content %}", &condition, 1);
        let source = source.replace("weigh", "think");
        assert_eq!(assumed(&source, ANSWER, "{}"), [named], "{condition}");
        let not_shown = with_proof(&source, |proof| proof.judge(&template(ANSWER)).scope.not_shown);
        assert!(!not_shown.contains(&"reasoning"), "{condition}: {not_shown:?}");
    }
}

#[test]
fn what_another_key_of_a_message_writes_is_reported_unless_it_is_read() {
    let with = |mark: &str| CHAT.replace("{{ m.content }}", &format!("{{{{ m.content }}}}{mark}"));
    let named = "the draft does not read turns whose message has `score`";
    for (mark, expected) in [
        ("{% if m.score is defined %}<sure {{ m.score }}>{% endif %}", &[named][..]),
        ("{{ '<go on>' if m.score }}", &[named]),
        // The turn does not change.
        ("{{ '' if m.score }}", &[]),
        // The stop may come earlier.
        ("{{ '<end>' if m.score }}", &[]),
    ] {
        assert_eq!(assumed(&with(mark), ANSWER, "{}"), expected, "{mark}");
    }
}

#[test]
fn a_line_break_that_ends_the_last_argument_is_read_or_reported() {
    let call = "{% for k, v in c.function.arguments.items() %}<p={{ k }}>{{ v if v is string else v | tojson }}</p>{% endfor %}";
    let source = CHAT.replacen("{\"name\": \"{{ c.function.name }}\", \"arguments\": ", "{{ c.function.name }}", 1);
    let source = source.replacen("{{ c.function.arguments | tojson }}}", call, 1);
    let answer = |value: &str| {
        let tag = format!("<p=(?P<key>[^>]+)>(?P<value>.*?)(?=</p>\\\\s*<p=|{value}</p>\\\\s*$)");
        let content = format!("\"xml-inline\", \"content_args\": {{\"tag_pattern\": \"{tag}\"}}");
        ANSWER
            .replacen("\"open\": \"<call>\"", "\"open_pattern\": \"<call>(?P<name>[^<]+)\"", 1)
            .replacen("\"json\"", &content, 1)
            .replacen("{content.name}", "{name}", 1)
            .replacen("{content.arguments}", "{content}", 1)
    };
    let named = "the draft does not read the line break that ends the last argument of a call";
    assert_eq!(assumed(&source, &answer(""), "{}"), [""; 0]);
    assert_eq!(assumed(&source, &answer("\\\\s*"), "{}"), [named]);
}

#[test]
fn an_escape_in_the_name_of_an_argument_is_read_or_reported() {
    let text = r#""(?:[^"\\]|\\.)*""#;
    let nested = format!(r#"(?P<nested>[\[{{](?:[^\[\]{{}}"]|{text}|(?&nested))*[\]}}])"#);
    let members = format!(r#""(?P<key>(?:[^"\\]|\\.)*)": (?P<value>{text}|{nested}|[^\s,{{}}\[\]"]+)"#);
    let parser = Value::from([("name", "json".into())]);
    let inline = Value::from([("tag_pattern", members.into()), ("value_parser", parser)]);
    let inline = format!("\"xml-inline\", \"content_args\": {inline}");
    let answer = ANSWER
        .replacen("\"open\": \"<call>\"", "\"open_pattern\": \"<call>(?P<name>[\\\\w.-]+)\"", 1)
        .replacen("\"json\"", &inline, 1)
        .replacen("{content.name}", "{name}", 1)
        .replacen("{content.arguments}", "{content}", 1);
    let source = CHAT.replacen("{\"name\": \"{{ c.function.name }}\", \"arguments\": ", "{{ c.function.name }}", 1);
    let source = source.replacen("tojson }}}", "tojson }}", 1);
    let named = "the draft does not read the escape in the name of an argument, such as that of a quote";
    assert_eq!(assumed(&source, &answer, "{}"), [named]);
    assert_eq!(assumed(CHAT, ANSWER, "{}"), [""; 0]);
}

#[test]
fn a_variable_that_only_a_mark_of_reasoning_prints_is_reported_unless_it_is_read() {
    // As a switch it would be `True` there, which no template means: that alone does not refute a draft.
    let source = CHAT.replace("<weigh>", "<weigh{{ ' most=' ~ most if most }}>");
    let any = ANSWER.replace("\"open\": \"<weigh>\"", "\"open_pattern\": \"<weigh[^>]*>\"");
    let chat_template = ChatTemplate::compile(&source).unwrap();
    let options = Options::default();
    let proof = Proof::new(&chat_template, &options).unwrap();
    for (answer, named) in [
        (ANSWER, &["the text around the turn depends on `most`; the draft reads it as written without it"][..]),
        (&any, &[]),
    ] {
        let template = template(answer);
        let verdict = proof.with_branches(&template, proof.judge(&template));
        assert!(verdict.holds(), "{:?}", verdict.failures);
        let mut messages = losses_beside_null(&verdict.losses);
        messages.dedup();
        assert_eq!(messages, named);
    }
}

#[test]
fn a_special_token_with_a_default_text_is_reported_if_it_is_not_given() {
    let source = CHAT.replace("<end>", "{{ sep_token or '<end>' }}");
    let named = "the text around the turn depends on `sep_token`; the draft reads it as written without it";
    assert_eq!(assumed(&source, ANSWER, "{}"), [named]);
    assert_eq!(assumed(&source, ANSWER, r#"{"sep_token": "<end>"}"#), [""; 0]);
}

#[test]
fn text_after_a_turn_without_a_stop_token_is_reported_if_it_would_be_misread() {
    let always = CHAT.replace("{% if add_generation_prompt %}<assistant>{% endif %}", "<assistant>");
    let named = "every turn is followed by `<assistant>`, which the draft takes for the next prompt";
    assert_eq!(assumed(&always, ANSWER, "{}"), [named]);
    assert_eq!(assumed(&always, ANSWER, r#"{"eos_token": "<end>"}"#), [""; 0]);
    let swallows = ANSWER.replace("\"close\": \"<end>\"", "\"close_pattern\": \"<end>(?:<assistant>)?\"");
    assert_eq!(assumed(&always, &swallows, "{}"), [""; 0]);
}

#[test]
fn null_that_is_printed_beside_calls_is_named() {
    let about_null = |chat_template: &str, answer: &str| {
        with_proof(chat_template, |proof| {
            let losses = proof.judge(&template(answer)).losses;
            let messages = losses.into_iter().map(|loss| loss.message);
            let is_about =
                |message: &String| ["content is", "content that is"].iter().any(|words| message.contains(words));
            messages.filter(is_about).collect::<Vec<_>>()
        })
    };
    let named = "the template prints `None` for content that is null beside calls, which comes back as content";
    assert_eq!(about_null(CHAT, ANSWER), [named]);
    let said = |content: &str| CHAT.replace("{{ m.content }}", content);
    assert_eq!(about_null(&said("{{ m.content or '' }}"), ANSWER), [""; 0]);
    // A mark of calls may have this word.
    let silent = said("{{ '<silent/>' if m.content is none else m.content or '' }}").replace("<call>", "<call None>");
    let losses = about_null(&silent, &ANSWER.replace("<call>", "<call None>"));
    assert!(matches!(losses.as_slice(), [loss] if loss.contains("differently from")), "{losses:?}");
}
