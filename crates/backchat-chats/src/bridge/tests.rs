//! Whole bridges over templates of our own, with a tokenizer that has a token for each byte and for each marker.
#![cfg(feature = "tokenizer")]

use std::sync::Arc;

use super::*;
use crate::chats::byte_level;
use backchat_core::json;

const MARKERS: [&str; 8] = ["<user>", "<model>", "<tool>", "<end>", "<return>", "<call>", "</call>", "<think>"];

fn tokenizer() -> Tokenizer {
    byte_level::tokenizer(&MARKERS.map(|marker| (marker, true)))
}

/// Keeps reasoning in the last turn only, and ends turns in history with another marker than the last one.
const CHAT: &str = "{% for m in messages %}\
    {%- if m.role == 'assistant' %}<model>\
    {%- if m.thinking and loop.last %}<think>{{ m.thinking }}<think>{% endif %}{{ m.content }}\
    {%- for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}\
    {%- if loop.last %}<return>{% else %}<end>{% endif %}\
    {%- elif m.role == 'user' or m.role == 'tool' %}<{{ m.role }}>{{ m.content }}<end>\
    {%- elif m.role == 'other' %}{{ raise_exception('no such role') }}{% endif %}{% endfor %}\
    {%- if add_generation_prompt %}<model>{% endif %}";

/// Has no end-of-turn marker: the next header ends a turn.
const HEADERS: &str = "{% for m in messages %}<{{ {'assistant': 'model'}[m.role] or m.role }}>{{ m.content }}{% endfor %}\
     {% if add_generation_prompt %}<model>{% endif %}";

const READ: &str = r#"{"start_anchor": "<model>", "defaults": {"role": "assistant"}, "fields": {
    "thinking": {"open": "<think>", "close": "<think>"},
    "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json", "transform": {"type": "function", "function": "{content}"}},
    "content": {"close": ["<end>", "<return>", "<user>", "<tool>"]}}}"#;

/// The ids of a text; `{` and `}` around a marker spell it in plain tokens.
fn ids(text: &str) -> Vec<u32> {
    tokenizer().encode(text).unwrap().ids
}

fn messages(text: &str) -> Vec<Value> {
    json::read(text).unwrap().as_list().unwrap().to_vec()
}

fn bridge(chat: &str) -> Bridge {
    let chat = Arc::new(ChatTemplate::compile(chat).unwrap());
    let template = Template::load(READ).unwrap().template;
    Bridge::new(chat, Object::new(), RenderOptions::default(), &tokenizer(), &template).unwrap()
}

/// The bridge over `[user]` to new messages.
fn cross(chat: &str, prompt: &str, sampled: &[u32], new: &str, stop_ids: &[u32]) -> Result<Bridged, Refused> {
    bridge(chat).next(&Sample {
        messages: &messages(r#"[{"role": "user", "content": "Hi"}]"#),
        tools: None,
        prompt_ids: &ids(prompt),
        sampled_ids: sampled,
        new_messages: &messages(new),
        stop_ids,
        refuses_edits: false,
    })
}

fn applied(text: &str, edits: &[Edit]) -> String {
    let characters: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    for edit in edits {
        out.extend(&characters[at..edit.start]);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.extend(&characters[at..]);
    out
}

const USER: &str = r#"[{"role": "user", "content": "And?"}]"#;
const RESULT: &str = r#"[{"role": "tool", "content": "14"}]"#;
const PROMPT: &str = "<user>Hi<end><model>";

#[test]
fn appended_ids_continue_the_sample() {
    let call = r#"<call>{"name": "f", "arguments": {"a": 1}}</call>"#;
    let respelled = r#"<call>{"name":"f","arguments":{"a":1}}</call>"#;
    for (chat, sampled, new, wanted, closed, whys) in [
        (CHAT, "Yes.<end>", USER, "<user>And?<end><model>", false, &[][..]),
        // History has another marker.
        (CHAT, "Yes.<return>", USER, "<user>And?<end><model>", false, &["stop"]),
        // No marker was sampled.
        (CHAT, "Yes.", USER, "<end><user>And?<end><model>", true, &[]),
        (CHAT, "", USER, "<end><user>And?<end><model>", true, &[]),
        (CHAT, &format!("{call}<end>"), RESULT, "<tool>14<end><model>", false, &[]),
        (CHAT, call, RESULT, "<end><tool>14<end><model>", true, &[]),
        (CHAT, &format!("{respelled}<end>"), RESULT, "<tool>14<end><model>", false, &["call"]),
        (CHAT, "<think>Hm.<think>Yes.<end>", USER, "<user>And?<end><model>", false, &["reasoning"]),
        (HEADERS, "Yes.", USER, "<user>And?<model>", false, &[]),
        (HEADERS, "Yes.<user>", USER, "And?<model>", false, &[]),
        (HEADERS, "Né 😀", USER, "<user>And?<model>", false, &[]),
    ] {
        let prompt = if chat == CHAT { PROMPT } else { "<user>Hi<model>" };
        let bridged = cross(chat, prompt, &ids(sampled), new, &[]).unwrap();
        assert_eq!((bridged.text.as_str(), bridged.closed), (wanted, closed), "{sampled}");
        assert_eq!(bridged.ids, ids(wanted), "{sampled}");
        let found: Vec<&str> = bridged.edits.iter().map(|edit| edit.why.as_str()).collect();
        let is_explained = whys.iter().all(|why| found.contains(why)) && found.is_empty() == whys.is_empty();
        assert!(is_explained && bridged.is_exact() == whys.is_empty(), "{sampled}: {:?}", bridged.edits);
        let history = format!("{prompt}{sampled}{wanted}");
        let text = [Value::from([("role", "user".into()), ("content", "Hi".into())]), Value::Object(bridged.message)];
        let all = [text.as_slice(), &messages(new)].concat();
        let context = [("messages".to_owned(), Value::List(all)), ("add_generation_prompt".to_owned(), true.into())];
        let render =
            ChatTemplate::compile(chat).unwrap().render(&context.into_iter().collect(), &RenderOptions::default());
        assert_eq!(applied(&history, &bridged.edits), render.unwrap().text, "{sampled}");
    }
}

#[test]
fn unproved_continuations_are_refused() {
    let yes = ids("Yes.<end>");
    let cut = [ids("Yes "), vec![0xF0, 0x9F]].concat();
    let tool = byte_level::FIRST_ADDED + 2;
    for (chat, prompt, sampled, new, stop_ids, kind) in [
        (CHAT, PROMPT, &yes, "[]", &[][..], Refusal::NoMessages),
        (CHAT, PROMPT, &yes, r#"[{"role": "assistant", "content": "No."}]"#, &[], Refusal::AssistantMessage),
        (CHAT, "<user>Ho<end><model>", &yes, USER, &[], Refusal::PromptMismatch),
        (CHAT, PROMPT, &ids("<think>Hm"), USER, &[], Refusal::Unfinished),
        (CHAT, PROMPT, &ids(r#"<call>{"name": "f", "arg"#), RESULT, &[], Refusal::Unfinished),
        (CHAT, PROMPT, &cut, USER, &[], Refusal::IncompleteCharacter),
        (CHAT, PROMPT, &ids("Yes.<end>More"), USER, &[byte_level::FIRST_ADDED + 3], Refusal::AfterStop),
        (CHAT, PROMPT, &ids("Yes.<return>More"), USER, &[], Refusal::AfterStop),
        (CHAT, PROMPT, &ids("<call>nothing</call><end>"), RESULT, &[], Refusal::Unparsed),
        (CHAT, PROMPT, &yes, r#"[{"role": "other", "content": "x"}]"#, &[], Refusal::TemplateError),
        (CHAT, PROMPT, &yes, r#"[{"role": "system", "content": "x"}]"#, &[], Refusal::Dropped),
        (HEADERS, "<user>Hi<model>", &ids("Yes.<tool>"), USER, &[tool], Refusal::StopMismatch),
    ] {
        let refused = cross(chat, prompt, sampled, new, stop_ids).unwrap_err();
        assert_eq!(refused.kind, kind, "{refused}");
    }
    let sample = Sample {
        messages: &messages(r#"[{"role": "user", "content": "Hi"}]"#),
        tools: None,
        prompt_ids: &ids(PROMPT),
        sampled_ids: &ids("<think>Hm.<think>Yes.<end>"),
        new_messages: &messages(USER),
        stop_ids: &[],
        refuses_edits: true,
    };
    assert_eq!(bridge(CHAT).next(&sample).unwrap_err().kind, Refusal::HistoryEdited);
}

/// The bridge of a sample that followed a prompt of these messages.
fn after_prompt(chat: &str, said: &str, prompt: &str) -> Result<Bridged, Refused> {
    bridge(chat).next(&Sample {
        messages: &messages(said),
        tools: None,
        prompt_ids: &ids(prompt),
        sampled_ids: &ids("No.<end>"),
        new_messages: &messages(USER),
        stop_ids: &[],
        refuses_edits: false,
    })
}

#[test]
fn what_a_conversation_lacks_is_null_as_in_transformers() {
    let chat = "{% if tools is none and documents is none %}<think>{% endif %}".to_owned() + CHAT;
    let bridged = cross(&chat, &format!("<think>{PROMPT}"), &ids("Yes.<end>"), USER, &[]);
    assert_eq!(bridged.unwrap().text, "<user>And?<end><model>");
}

#[test]
fn a_prompt_may_spell_earlier_turns_differently() {
    let said = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes.", "thinking": "Hm."},
        {"role": "user", "content": "And?"}]"#;
    let sample = |prompt: &str| after_prompt(CHAT, said, prompt);
    let kept = sample("<user>Hi<end><model><think>Hm.<think>Yes.<end><user>And?<end><model>").unwrap();
    assert_eq!((kept.text.as_str(), kept.is_exact()), ("<user>And?<end><model>", false));
    let other = sample("<user>Hi<end><model>Yes.<end><user>What?<end><model>").unwrap_err();
    assert_eq!(other.kind, Refusal::PromptMismatch);
}

#[test]
fn a_prompt_keeps_earlier_renders_of_its_messages() {
    // The system's text is before the last user's, wherever that is.
    let chat = "{% for m in messages %}{% if m.role == 'user' %}<user>\
        {%- if loop.last %}Short! {% endif %}{{ m.content }}<end>{% elif m.role == 'assistant' %}<model>{{ m.content }}<end>\
        {%- endif %}{% endfor %}{% if add_generation_prompt %}<model>{% endif %}";
    let said = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}]"#;
    let sample = |prompt: &str| after_prompt(chat, said, prompt);
    let kept = sample("<user>Short! Hi<end><model>Yes.<end><user>Short! And?<end><model>").unwrap();
    assert_eq!(kept.text, "<user>Short! And?<end><model>");
    assert_eq!(
        applied(
            "<user>Short! Hi<end><model>Yes.<end><user>Short! And?<end><model>No.<end><user>Short! And?<end><model>",
            &kept.edits
        ),
        "<user>Hi<end><model>Yes.<end><user>And?<end><model>No.<end><user>Short! And?<end><model>"
    );
    let other = sample("<user>Short! Ho<end><model>Yes.<end><user>Short! And?<end><model>").unwrap_err();
    assert_eq!(other.kind, Refusal::PromptMismatch);
}
