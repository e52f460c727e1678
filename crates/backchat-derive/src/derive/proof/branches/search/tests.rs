//! Conditions that need one more value than the conversations have, and what drafts read behind them.

use crate::derive::by_hand::{CHAT, losses_beside_null, read, said_calls};
use crate::derive::{Options, Status, derive};
use backchat_core::json::Value;

/// The proved draft of a chat template that it reads without a loss.
fn draft(chat_template: &str) -> Value {
    let derivation = derive(chat_template, &Options::default());
    let losses = losses_beside_null(&derivation.verdict.losses);
    assert_eq!((derivation.status, losses.as_slice()), (Status::Proved, &[][..]), "{chat_template}");
    derivation.response_template.unwrap()
}

/// A chat template with statements before its messages, whose thoughts are written like this.
fn with_thought(before: &str, thought: &str) -> String {
    let usual = "<weigh>{{ m.reasoning_content }}</weigh>";
    assert!(CHAT.contains(usual));
    before.to_owned() + &CHAT.replace(usual, thought)
}

/// Statements that write a thought between the marks `deep` or `brief` if these conditions hold, and else between `plain`.
fn thought_if(deep: &str, brief: &str) -> String {
    let between = |mark: &str| format!("<{mark}>{{{{ m.reasoning_content }}}}</{mark}>");
    let [one, two, three] = ["deep", "brief", "plain"].map(between);
    format!("{{% if {deep} %}}{one}{{% elif {brief} %}}{two}{{% else %}}{three}{{% endif %}}")
}

#[test]
fn what_a_template_writes_for_values_that_it_does_not_name_is_read() {
    let named = |name: &str| thought_if(&format!("{name} == 'high'"), &format!("{name} == 'low'"));
    let of_macro = format!("{{% macro think(m, e) %}}{}{{% endmacro %}}", named("e"));
    let of_number = thought_if("ns.e == 0", "ns.e > 1000");
    for (before, thought) in [
        (of_macro.as_str(), "{{ think(m, effort | default('low')) }}".to_owned()),
        (&of_macro, "{{ think(m, e=effort or 'low') }}".to_owned()),
        ("{% set ns = namespace(e=effort | default('low')) %}", named("ns.e")),
        ("{% set ns = {'e': effort | default('low')} %}", named("ns.e")),
        ("", format!("{{% for e in [effort | default('low')] %}}{}{{% endfor %}}", named("e"))),
        ("", format!("{{% with e = effort | default('low') %}}{}{{% endwith %}}", named("e"))),
        ("{% set ns = namespace(e=effort | default(0)) %}", of_number),
        // No name leads from the variable to the comparison.
        ("{% set ns = namespace(e=[effort | default('low')] | first) %}", named("ns.e")),
        ("{% set ns = namespace(e=[effort | default('low')] | join) %}", named("ns.e")),
        // False is meant where true is.
        ("{% set e = effort | default('low') %}", thought_if("e == 'high'", "e == true or e == 'low'")),
    ] {
        let draft = draft(&with_thought(before, &thought));
        for mark in ["deep", "brief", "plain"] {
            let read = read(&draft, &format!("<{mark}>So.</{mark}>Yes.<end>"));
            assert_eq!(read.get("content"), Some(&"Yes.".into()), "{before}{thought}: {draft}");
        }
    }
}

#[test]
fn what_a_setting_and_the_answer_decide_together_is_read() {
    let usual = "<weigh>{{ m.reasoning_content }}</weigh>";
    let thought = |condition: &str| thought_if(condition, "false").replace("plain", "weigh");
    for condition in [
        "style == 'deep' and m.reasoning_content | length > 200",
        "deep and m.reasoning_content.startswith('Two')",
        "deep and tools and 'python' in tools | map(attribute='function') | map(attribute='name')",
    ] {
        let draft = draft(&CHAT.replace(usual, &thought(condition)));
        let read = read(&draft, "<deep>So.</deep>Yes.<end>");
        assert_eq!(read.get("content"), Some(&"Yes.".into()), "{condition}: {draft}");
    }
    let call = "<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}</call>";
    assert!(CHAT.contains(call));
    let other = call.replace("call>", "do>");
    let skills = "{% set ns = namespace(code=false) %}{% for skill in skills | default([]) %}\
                  {% if skill.upper() == 'CODE' %}{% set ns.code = true %}{% endif %}{% endfor %}";
    for condition in [
        "style == 'do' and 'query' in c.function.arguments",
        "brief and style == 'do' and 'query' in c.function.arguments",
        "brief and loop.index > 2",
        "brief and c.function.name == 'python'",
        "'code' in (kinds or []) and c.function.name == 'python'",
        "ns.code and c.function.name == 'python'",
    ] {
        let either = format!("{{% if {condition} %}}{other}{{% else %}}{call}{{% endif %}}");
        let draft = draft(&(skills.to_owned() + &CHAT.replace(call, &either)));
        let called = said_calls(&read(&draft, "<do>{\"name\": \"f\", \"arguments\": {}}</do><end>"));
        assert_eq!(called, ["f{}"], "{condition}: {draft}");
    }
}
