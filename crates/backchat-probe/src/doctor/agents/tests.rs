//! Small templates, and what they make of the conversations of agents.

use super::super::{Options, examine};
use backchat_chat::ChatTemplate;
use backchat_core::json::Value;

const PLAIN: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\n{% endfor %}\
                     {% if add_generation_prompt %}<assistant>{% endif %}";

fn agents(source: &str) -> Value {
    let template = ChatTemplate::compile(source).unwrap();
    examine(&template, &Options::default()).agents.to_json()
}

#[test]
fn each_conversation_is_refused_dropped_printed_or_shown() {
    let alternates = format!(
        "{{% for m in messages %}}\n{{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}}\n\
         {{{{ raise_exception('alternate!') }}}}{{% endif %}}{{% endfor %}}{PLAIN}"
    );
    let only_first = "{% if messages[0].role == 'system' %}<system>{{ messages[0].content }}</>{% endif %}\
                      {% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}</>{% endfor %}";
    let calls = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}\
                 {{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}</>{% endfor %}{{ tools | tojson }}";
    for (source, fact, result, line) in [
        (PLAIN, "late_system.after_system", "shown", None),
        (PLAIN, "parts.user", "printed", None),
        (PLAIN, "empty_calls.null", "shown", None),
        (&alternates, "alternation.two_users", "refused", Some(3)),
        (&alternates, "alternation.assistant_first", "refused", Some(3)),
        (only_first, "late_system.after_system", "dropped", None),
        (only_first, "no_user.system_only", "shown", None),
        (calls, "null_content.null", "printed", None),
        (calls, "args_text.plain", "printed", None),
        (calls, "results.several", "shown", None),
    ] {
        let entry = agents(source).get(fact).cloned().unwrap_or_default();
        let found = (entry.get("result").and_then(Value::as_str), entry.get("line").and_then(Value::as_i64));
        assert_eq!(found, (Some(result), line), "{fact} of {source}");
    }
}

#[test]
fn conversations_that_do_not_apply_are_absent() {
    let found = agents(PLAIN);
    for absent in ["text.chat", "args_object.plain", "tools.refs", "reasoning_key.thinking", "prefix_tool"] {
        assert_eq!(found.get(absent), None, "{absent}");
    }
}

#[test]
fn facts_about_history_are_those_of_the_renders() {
    let last = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if not loop.last %}</>{% endif %}{% endfor %}";
    for (source, fact, holds) in [
        (PLAIN, "prefix_chat", true),
        (PLAIN, "generation_prompt", true),
        (PLAIN, "stop", true),
        (last, "generation_prompt", false),
        (last, "stop", false),
    ] {
        assert_eq!(agents(source).get(fact), Some(&holds.into()), "{fact} of {source}");
    }
}

#[test]
fn content_imitates_the_marks_that_the_template_does_not_remove() {
    let removed = PLAIN.replace("m.content }}", "m.content | replace('</>', '') }}");
    for (source, is_forged) in [(PLAIN, true), (&removed, false)] {
        let forgery = agents(source).get("forgery").and_then(|forgery| forgery.get("user")).cloned().unwrap();
        let marks = forgery.as_list().unwrap();
        assert_eq!(marks.contains(&"</>".into()), is_forged, "{source}: {forgery}");
        assert!(marks.contains(&"<assistant>".into()), "{source}: {forgery}");
    }
}

#[test]
fn every_conversation_has_a_name_that_may_be_required() {
    // It takes system messages, calls, results, tools and reasoning, as text and in parts.
    let source = "{{ tools | tojson }}{% for m in messages %}<{{ m.role }}>{{ m.reasoning }}{{ m.content }}\
                  {% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}</>\
                  {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let template = ChatTemplate::compile(source).unwrap();
    let agents = crate::doctor::examine_agents(&template, &Options::default());
    assert!(agents.shapes.len() > 30, "{}", agents.shapes.len());
    for shape in &agents.shapes {
        assert!(crate::doctor::is_agent_shape(&format!("agents.{}", shape.id())), "{}", shape.id());
    }
}
