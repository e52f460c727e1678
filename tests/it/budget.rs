//! Examinations of hostile chat templates end within their budget, at the same place each time, and claim nothing that
//! they did not see.

use std::fs;
use std::process::{Command, Output, Stdio};

/// A format that is proved: content and calls.
const CHAT: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>\
                    {\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}</call>\
                    {% endfor %}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
/// Loops for ever in each render.
const ENDLESS: &str = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
/// Writes ten megabytes in each render.
const LONG: &str = "{{ 'abcdefghij' * 1000000 }}";
/// Does a lot of work that each render may do.
const SLOW: &str = "{% for i in range(99999) %}{% for j in range(4) %}{% endfor %}{% endfor %}";

const RESPONSE_TEMPLATE: &str = r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "<end>"}}}"#;

fn backchat(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The exit code, and what was said on both streams.
fn answer(arguments: &[&str]) -> (i32, String) {
    let run = backchat(arguments);
    (run.status.code().unwrap(), String::from_utf8([run.stdout, run.stderr].concat()).unwrap())
}

#[test]
fn every_examination_ends_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let response_template = file("template.json", RESPONSE_TEMPLATE);
    for (name, hostile) in [("endless", ENDLESS), ("long", LONG), ("slow", SLOW)] {
        let template = file(&format!("{name}.jinja"), &format!("{CHAT}{hostile}"));
        for (arguments, code) in [
            (&["derive", &template][..], 1..=2),
            (&["doctor", &template], 0..=0),
            (&["lint", &template], 0..=1),
            (&["fix", "--generation", &template], 1..=1),
            (&["prove", &response_template, "--chat-template", &template], 1..=2),
            (&["grammar", &template], 2..=2),
        ] {
            // A part of the budget: this build is many times slower.
            let arguments = [arguments, &["--budget", "0.1"]].concat();
            let (found, said) = answer(&arguments);
            assert!(code.contains(&found), "{arguments:?}: {found}: {said}");
            assert!(said.contains("the examination ended") || said.contains("stopped early"), "{arguments:?}: {said}");
            assert!(said.contains("the budget for examining this template is used up"), "{arguments:?}: {said}");
        }
    }
}

/// With less and less of a budget, a proof turns from proved into partial into none. It is never called proved if it
/// ended early, and each budget gives one answer.
#[test]
fn a_proof_that_ended_early_is_not_proved() {
    let folder = tempfile::tempdir().unwrap();
    let (template, response_template) = (folder.path().join("chat.jinja"), folder.path().join("template.json"));
    fs::write(&template, CHAT).unwrap();
    let template = template.to_str().unwrap();
    let (code, draft) = (backchat(&["derive", template]).status.code(), backchat(&["derive", template, "-q"]).stdout);
    assert_eq!(code, Some(0));
    fs::write(&response_template, draft).unwrap();
    let response_template = response_template.to_str().unwrap();
    for command in [&["derive", template][..], &["prove", response_template, "--chat-template", template]] {
        let mut codes = Vec::new();
        for budget in ["0.0001", "0.0005", "0.002", "0.01", "1"] {
            let arguments = [command, &["--budget", budget]].concat();
            let (code, said) = answer(&arguments);
            assert_eq!(code == 0, !said.contains("the examination ended"), "{arguments:?}: {said}");
            assert_eq!(code == 0, said.contains("proved: "), "{arguments:?}: {said}");
            assert_eq!((code, said), answer(&arguments), "{arguments:?}");
            codes.push(code);
        }
        assert!(codes.first() > Some(&0) && codes.last() == Some(&0), "{command:?}: {codes:?}");
        assert!(codes.is_sorted_by(|one, other| one >= other), "{command:?}: {codes:?}");
    }
}

#[test]
fn a_budget_is_a_number_above_zero() {
    for budget in ["0", "-1", "nan", "much"] {
        let (code, said) = answer(&["derive", "chat.jinja", &format!("--budget={budget}")]);
        assert_eq!(code, 2);
        assert!(said.contains("expected a number above 0"), "{budget}: {said}");
    }
}
