//! Links of the pages of `--report` into the playground: what each opens there.
#![cfg(feature = "tui")]

use std::fs;

use super::pages::{backchat, folder, page};
use backchat::Value;

/// A small chat template that a draft is proved for.
const CHAT: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";

const OUTPUT: &str = "<think>Is 1 < 2?</think>Yes.<stop>";

const ADDRESS: [&str; 2] = ["--playground", "https://example.org/p/?a&b"];

/// The address as markup spells it.
const SHOWN: &str = "https://example.org/p/?a&amp;b";

/// What each link of a page into the playground holds.
fn links(page: &str, address: &str) -> Vec<Value> {
    let beginning = format!("<a href=\"{address}#");
    page.split(&beginning)
        .skip(1)
        .map(|rest| state(rest.split_once("\">Open in the playground</a>").unwrap().0))
        .collect()
}

/// What the first of them holds.
fn linked(page: &str, address: &str) -> Value {
    links(page, address).into_iter().next().unwrap_or_else(|| panic!("{page}"))
}

/// The state that a fragment holds.
pub fn state(fragment: &str) -> Value {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bits = fragment.chars().map(|digit| digits.find(digit).unwrap());
    let mut data = Vec::new();
    while let (Some(one), Some(two)) = (bits.next(), bits.next()) {
        let (three, four) = (bits.next(), bits.next());
        let group = one << 18 | two << 12 | three.unwrap_or(0) << 6 | four.unwrap_or(0);
        let length = 1 + usize::from(three.is_some()) + usize::from(four.is_some());
        data.extend(group.to_be_bytes()[5..][..length].iter());
    }
    // One stored block: a byte that ends the data, its length, the length again.
    assert_eq!((data[0], u16::from_le_bytes([data[1], data[2]]) as usize), (1, data.len() - 5));
    backchat::json::read(std::str::from_utf8(&data[5..]).unwrap()).unwrap()
}

fn text(state: &Value, key: &str) -> Option<String> {
    state.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[test]
fn a_page_links_to_the_playground_if_its_address_is_known() {
    let folder = folder("playground");
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    let of_derive = ["derive", "chat.jinja", "--set", "eos_token=<end>"];
    let page = |arguments: &[&str]| page(&folder, arguments);
    assert!(!page(&of_derive).contains("playground"));
    let state = linked(&page(&[&of_derive[..], &ADDRESS].concat()), SHOWN);
    assert_eq!((text(&state, "chat").as_deref(), text(&state, "template")), (Some(CHAT), None));
    assert_eq!(text(&state, "variables").as_deref(), Some(r#"{"eos_token": "<end>"}"#));
    assert_eq!(text(&state, "output"), None, "nothing fails");

    // A proof that fails opens what it fails on.
    fs::write(folder.join("wrong.json"), r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "<x>"}}}"#)
        .unwrap();
    let of_prove = ["prove", "wrong.json", "--chat-template", "chat.jinja"];
    let state = linked(&page(&[&of_prove[..], &ADDRESS].concat()), SHOWN);
    assert!(text(&state, "template").unwrap().contains("\"<x>\""), "{state}");
    assert!(text(&state, "prefix").unwrap().ends_with("<assistant>") && text(&state, "output").is_some(), "{state}");

    fs::write(folder.join("output.txt"), OUTPUT).unwrap();
    let of_replay = ["replay", "template.json", "output.txt", "--prefix", "prompt.txt"];
    let state = linked(&page(&[&of_replay[..], &ADDRESS].concat()), SHOWN);
    assert_eq!(text(&state, "output").as_deref(), Some(OUTPUT));
    assert_eq!(text(&state, "prefix"), fs::read_to_string(folder.join("prompt.txt")).ok());

    // A page in this folder names a file as it is seen from there.
    fs::create_dir_all(folder.join("my site")).unwrap();
    fs::write(folder.join("my site/index.html"), "").unwrap();
    linked(&page(&[&of_derive[..], &["--playground", "my site/index.html"]].concat()), "my%20site/index.html");
    let refused =
        backchat(&folder, &[&of_derive[..], &["--report", "r.html", "--playground", "javascript:alert(1)"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not an address of a page"));
}

#[test]
fn a_case_that_fails_opens_as_it_was_read() {
    let folder = folder("playground-check");
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    let case = |name: &str, message: &str| {
        format!(
            "=== case {name}\n=== prefix\n<bot>\n=== output\nHi.<stop>\n=== message\n\
             {{\"role\": \"assistant\", \"content\": \"{message}\"}}\n\n"
        )
    };
    let tools = r#"[{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}]"#;
    let head = "template: template.json\nchat-template: chat.jinja\nset: eos_token=<end>\nround-trip: no\n\n";
    let head = format!("{head}=== tools\n{tools}\n\n");
    fs::write(folder.join("right.fixture"), format!("template: template.json\n\n{}", case("right", "Hi."))).unwrap();
    fs::write(folder.join("wrong.fixture"), format!("{head}{}{}", case("right", "Hi."), case("wrong", "Ho."))).unwrap();
    let of_check = |file: &str| links(&page(&folder, &[&["check", file][..], &ADDRESS].concat()), SHOWN);
    assert_eq!(of_check("right.fixture"), []);
    let states = of_check("wrong.fixture");
    // At the top and at the case; the case that holds is not shown in full.
    assert_eq!(states.len(), 2, "{states:?}");
    for state in &states {
        assert!(text(state, "template").unwrap().contains("\"<stop>\""), "{state}");
        assert_eq!(text(state, "chat").as_deref(), Some(CHAT));
        assert_eq!(text(state, "variables").as_deref(), Some(r#"{"eos_token": "<end>"}"#));
        assert_eq!(text(state, "prefix").as_deref(), Some("<bot>"));
        assert_eq!(text(state, "output").as_deref(), Some("Hi.<stop>"));
        assert_eq!(text(state, "tools").map(|text| backchat::json::read(&text)), Some(backchat::json::read(tools)));
    }
    assert!(!page(&folder, &["check", "wrong.fixture"]).contains("playground"));
}

#[test]
fn an_examination_opens_its_chat_template() {
    let folder = folder("playground-doctor");
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    let of_doctor = ["doctor", "chat.jinja", "--set", "eos_token=<end>"];
    let states = links(&page(&folder, &[&of_doctor[..], &ADDRESS].concat()), SHOWN);
    let [state] = &states[..] else { panic!("{states:?}") };
    assert_eq!((text(state, "chat").as_deref(), text(state, "template")), (Some(CHAT), None));
    assert_eq!(text(state, "variables").as_deref(), Some(r#"{"eos_token": "<end>"}"#));
}

#[test]
fn each_smallest_output_of_an_audit_opens_with_the_template_that_reads_it() {
    let folder = folder("playground-audit");
    let log = r#"{"text": "<call>{\"name\": \"f\",}</call><stop>", "prefix": "<bot>", "tools": [{"name": "f"}]}
{"text": "<call>{\"name\": \"f\",}</call><stop>"}
{"text": "[call]{", "template": {"start_anchor": "<b>", "fields": {"calls": {"open": "[call]", "close": "[end]", "content": "json"}}}}
"#;
    fs::write(folder.join("log.jsonl"), log).unwrap();
    let of_audit = ["audit", "log.jsonl", "--template", "template.json"];
    let states = links(&page(&folder, &[&of_audit[..], &ADDRESS].concat()), SHOWN);
    let seen: Vec<_> =
        states.iter().map(|state| (text(state, "output").unwrap(), text(state, "prefix").unwrap())).collect();
    let first = ("<call>{\"name\": \"f\",}</call><stop>".to_owned(), "<bot>".to_owned());
    assert_eq!(seen, [first.clone(), first, ("[call]{".to_owned(), String::new())]);
    let tools = |state: &Value| text(state, "tools").map(|text| backchat::json::read(&text).unwrap().to_string());
    assert_eq!(states.iter().map(tools).collect::<Vec<_>>()[1..], [Some(r#"[{"name": "f"}]"#.to_owned()), None]);
    assert!(text(&states[1], "template").unwrap().contains("<think>"));
    assert!(text(&states[2], "template").unwrap().contains("[call]"));
    assert!(!page(&folder, &of_audit).contains("playground"));
}
