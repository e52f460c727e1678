//! Small templates, and their repairs.

use super::*;
use backchat_core::json;

/// Frames of every role, with a refusal of late system messages.
const FRAMED: &str = "\
{%- for m in messages %}
    {%- if m.role == 'system' and not loop.first %}
        {{- raise_exception('System message must be first.') }}
    {%- endif %}
    {{- '<' + m.role + '>' + m.content + '</>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<assistant>' }}
{%- endif %}
";

fn repaired(source: &str, problems: &[Problem]) -> Repair {
    let template = ChatTemplate::compile(source).unwrap();
    repair(source, &template, problems, &Options::default())
}

/// The lines that a diff removes and adds.
fn changes(repair: &Repair) -> Vec<&str> {
    repair.diff.lines().filter(|line| line.starts_with(['-', '+'])).collect()
}

#[test]
fn a_refusal_goes_with_its_condition() {
    let found = repaired(FRAMED, &[Problem::LateSystem]);
    assert_eq!(
        changes(&found),
        [
            "-    {%- if m.role == 'system' and not loop.first %}",
            "-        {{- raise_exception('System message must be first.') }}",
            "-    {%- endif %}",
        ]
    );
    assert_eq!(found.cured[0].shapes, ["alone", "after_system", "head"]);
    assert!(found.left.is_empty() && found.proof.tried > 40, "{found:?}");
    // Three conversations with this problem, and five with another one as well.
    assert_eq!(found.proof.renders_now, 8);
    let branches = &found.proof.branches;
    // Both outcomes of the condition on the generation prompt, and the body of the loop.
    assert_eq!((branches.total, branches.exercised, branches.not.len()), (3, 3, 0));
}

#[test]
fn content_that_is_a_list_becomes_text_in_a_prelude() {
    let source = FRAMED.replace("\n    {%- if m.role == 'system' and not loop.first %}\n        {{- raise_exception('System message must be first.') }}\n    {%- endif %}", "");
    let found = repaired(&source, &[Problem::Parts]);
    assert_eq!(changes(&found).len(), 5, "{}", found.diff);
    assert!(found.text.ends_with(&source) && found.text.starts_with("{%- set repaired = namespace(messages=[]) %}\n"));
    let again = repaired(&found.text, &[]);
    assert_eq!((again.text, again.left.len()), (found.text, 0));
}

#[test]
fn what_is_not_a_problem_stays_byte_for_byte() {
    let windows = FRAMED.replace('\n', "\r\n");
    for source in [FRAMED, &windows, FRAMED.trim_end()] {
        let found = repaired(source, &[Problem::Developer]);
        assert_eq!((found.text.as_str(), found.diff.as_str()), (source, ""));
        assert!(found.cured.is_empty() && found.left.is_empty());
    }
}

#[test]
fn line_ends_of_the_file_stay_in_a_repair() {
    let windows = FRAMED.replace('\n', "\r\n");
    let found = repaired(&windows, &[Problem::LateSystem]);
    assert!(found.text.ends_with("{%- endif %}\r\n") && found.text.matches('\n').count() == 6, "{:?}", found.text);
    assert_eq!(found.text.matches('\n').count(), found.text.matches("\r\n").count());
}

#[test]
fn a_problem_without_a_healthy_render_is_left_with_a_reason() {
    // Turns are numbered, so that no text of a turn can be known without a render.
    let source = "{% if messages | selectattr('role', 'equalto', 'user') | list | length == 0 %}{{ raise_exception('no') }}\
                  {% endif %}{% for m in messages %}{{ loop.index }}:{{ m.content }};{% endfor %}";
    let found = repaired(source, &[Problem::NoUser]);
    assert_eq!((found.text.as_str(), found.cured.len()), (source, 0));
    assert_eq!(found.left[0].shapes, ["system_only"]);
    assert!(found.left[0].reason.contains("no render is known"), "{:?}", found.left);
}

#[test]
fn a_prompt_is_added_only_if_it_is_named() {
    let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}";
    assert!(repaired(source, &[]).cured.iter().all(|cured| cured.problem != Problem::GenerationPrompt));
    let found = repaired(source, &[Problem::GenerationPrompt]);
    assert!(found.text.contains("{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"), "{}", found.text);
}

#[test]
fn a_prompt_leaves_the_thoughts_open_and_stands_before_what_a_switch_writes() {
    let turns = "{%- for m in messages %}{{- '<' ~ m.role ~ '>' }}{%- if m.role == 'assistant' %}\
                 {{- '<think>' ~ (m.reasoning_content or '') ~ '</think>' }}{%- endif %}{{- m.content ~ '</>' }}\
                 {%- endfor %}";
    let switch = "\n{%- if add_generation_prompt %}\n  {%- if not (thinking | default(true)) %}{{- '<think></think>' }}\
                  {%- endif %}\n{%- endif %}";
    let prompt = |source: &str, thinking: bool| {
        let found = repaired(source, &[Problem::GenerationPrompt]);
        let template = ChatTemplate::compile(&found.text).unwrap();
        let mut context = json::read(r#"{"messages": [{"role": "user", "content": "Q"}]}"#).unwrap();
        if let Value::Object(context) = &mut context {
            context.insert("add_generation_prompt", true.into());
            context.insert("thinking", thinking.into());
        }
        let text = template.render(context.as_object().unwrap(), &RenderOptions::default()).unwrap().text;
        (text.replace("<user>Q</>", ""), found.left.len())
    };
    let broken = switch.replace("'<think></think>'", "'\\n<think></think>'");
    let lines = turns.replace("'<think>'", "'\\n<think>'");
    let many: String = (0..8).map(|at| format!("{{%- if a{at} %}}{{{{- '' }}}}{{%- endif %}}")).collect();
    let defined =
        broken.replace("if add_generation_prompt", "if add_generation_prompt is defined and add_generation_prompt");
    for (source, thinking, wanted) in [
        (format!("{lines}{broken}"), true, "<assistant>"),
        (format!("{lines}{broken}"), false, "<assistant>\n<think></think>"),
        (turns.to_owned(), true, "<assistant><think>"),
        (format!("{turns}{switch}"), true, "<assistant>"),
        (format!("{turns}{switch}"), false, "<assistant><think></think>"),
        // Other switches, and other words for the same condition.
        (format!("{many}{lines}{broken}"), false, "<assistant>\n<think></think>"),
        (format!("{lines}{defined}"), false, "<assistant>\n<think></think>"),
    ] {
        assert_eq!(prompt(&source, thinking), (wanted.to_owned(), 0), "{source}");
    }
}

#[test]
fn a_prompt_that_no_answer_shows_is_left_with_a_reason() {
    // What is behind the last turn is not in the middle of a conversation.
    let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\n\n\n";
    let found = repaired(source, &[Problem::GenerationPrompt]);
    assert_eq!((found.text.as_str(), found.cured.len(), found.left.len()), (source, 0, 1));
}

#[test]
fn a_prelude_that_cures_nothing_is_not_written() {
    // A type that is no text is refused, whatever else the tool has.
    let source = "{%- macro ty(s) %}{{- {'string': 'text'}.get(s.type, 'any') }}{%- endmacro %}\
                  {%- for t in tools or [] %}{{- t.function.name ~ (t.function.description or '') }}\
                  {%- for n, p in ((t.function.parameters or {}).properties or {}) | items %}{{- n ~ ty(p) }}\
                  {%- endfor %}{%- endfor %}\
                  {%- for m in messages %}{{- '<' ~ m.role ~ '>' ~ m.content ~ '</>' }}{%- endfor %}";
    let found = repaired(source, &[Problem::Tools]);
    assert_eq!((found.text.as_str(), found.cured.len()), (source, 0));
    assert_eq!(found.left.iter().map(|left| left.shapes.join(" ")).collect::<Vec<_>>(), ["any_of"]);
}

#[test]
fn a_misprint_in_an_earlier_turn_does_not_keep_the_prefix_broken() {
    // A list as content is printed as Python writes it in an earlier turn, and refused by `lstrip` in the last.
    let source = "\
{%- for m in messages %}
    {{- '<' + m.role + '>' }}
    {%- if m.role == 'assistant' %}
        {%- if loop.last %}
            {{- '<think>' + (m.reasoning_content or '') + '</think>\\n\\n' + (m.content or '').lstrip('\\n') }}
        {%- else %}
            {{- m.content or '' }}
        {%- endif %}
    {%- else %}
        {{- m.content }}
    {%- endif %}
    {{- '</>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<assistant>' }}
{%- endif %}
";
    let found = repaired(source, &[Problem::Prefix]);
    assert_eq!(changes(&found), ["-        {%- if loop.last %}", "+        {%- if true %}"], "{found:?}");
}

/// Puts the system message into the first user's turn, and takes no other role.
const FOLDED: &str = "\
{%- set system = messages[0].content + '\\n' if messages[0].role == 'system' else '' %}
{%- for m in (messages[1:] if system else messages) %}
    {%- if (m.role == 'user') != (loop.index0 is even) %}
        {{- raise_exception('Roles must alternate.') }}
    {%- endif %}
    {%- if m.role == 'user' %}
        {{- '[' + (system if loop.first else '') + m.content + ']' }}
    {%- elif m.role == 'assistant' %}
        {{- m.content + ';' }}
    {%- else %}
        {{- raise_exception('Unknown role.') }}
    {%- endif %}
{%- endfor %}
";

/// What a repaired template makes of a conversation; `None` if it raises.
fn after(source: &str, problems: &[Problem], context: &str) -> Option<String> {
    let template = ChatTemplate::compile(&repaired(source, problems).text).unwrap();
    let context = backchat_core::json::read(context).unwrap();
    template.render(context.as_object().unwrap(), &RenderOptions::default()).ok().map(|rendered| rendered.text)
}

#[test]
fn no_text_is_lost_where_problems_meet() {
    use Problem::{Alternation, Developer, LateSystem, Parts};
    let late = |said: &str| {
        format!(
            r#"{{"messages": [{{"role": "user", "content": "u"}}, {{"role": "assistant", "content": "a"}}, {said},
            {{"role": "user", "content": "v"}}]}}"#
        )
    };
    let developer = late(r#"{"role": "developer", "content": "d"}"#);
    let parts = late(r#"{"role": "system", "content": [{"type": "text", "text": "d"}]}"#);
    let both = r#"{"messages": [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"},
        {"role": "user", "content": "u"}]}"#;
    let stranded = r#"{"messages": [{"role": "system", "content": "s"}, {"role": "assistant", "content": "a"},
        {"role": "user", "content": "u"}]}"#;
    let users = r#"{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"},
        {"role": "user", "content": "v"}]}"#;
    for (problems, context, wanted) in [
        (&[LateSystem, Developer][..], developer.as_str(), Some("[u]a;[d\nv]")),
        (&[], &developer, Some("[u]a;[d\nv]")),
        (&[LateSystem, Parts], &parts, Some("[u]a;[d\nv]")),
        (&[LateSystem, Developer], both, Some("[s\nd\nu]")),
        (&[Alternation], users, Some("[s\nu][v]")),
        (&[Alternation], stranded, None),
        (&[], stranded, None),
    ] {
        assert_eq!(after(FOLDED, problems, context).as_deref(), wanted, "{problems:?} {context}");
    }
}

#[test]
fn forms_that_are_no_problem_keep_their_bytes() {
    let joined = "{% for m in messages %}<{{ m.role }}>\
        {{ m.content if m.content is string or m.role != 'user' else m.content | map(attribute='text') | join('\\n') }}{% endfor %}";
    let parts = r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}"#;
    let tools = "{% for t in tools or [] %}{% set f = t.function or t %}{{ f.name }}: {{ f.description }}\
        {% for key, value in f.parameters.properties.items() %}({{ key }}){% endfor %}{% endfor %}\
        {% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
    let flat_tool = r#"{"messages": [{"role": "user", "content": "u"}],
        "tools": [{"name": "f", "description": "d", "parameters": {"properties": {"x": {}}}}]}"#;
    let calls = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}\
        {% set c = c.function or c %}{{ c.name + c.arguments }}{% endfor %}{% endfor %}";
    let flat_call = r#"{"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "",
        "tool_calls": [{"name": "f", "arguments": "{}"}]}]}"#;
    for (source, problem, context, wanted) in [
        (joined, Problem::Parts, parts, "<user>a\nb"),
        (tools, Problem::Tools, flat_tool, "f: d(x)<user>u"),
        (calls, Problem::ArgsObject, flat_call, "<user>u<assistant>f{}"),
    ] {
        assert!(!repaired(source, &[problem]).cured.is_empty(), "{problem:?}");
        assert_eq!(after(source, &[problem], context).as_deref(), Some(wanted), "{problem:?}");
    }
}

#[test]
fn an_added_branch_takes_content_as_the_template_s_own_and_repeats_no_opening() {
    let turns = "\
{%- macro turn(who, said) %}<{{ who }}>{{ (said if said is string else said | map(attribute='text') | join) | trim }}</>{% endmacro %}
{%- set seen = namespace(role='') %}
{%- for m in messages %}
    {%- if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be first.') }}{% endif %}
    {%- if m.role == seen.role %}{{ raise_exception('Roles must alternate.') }}{% endif %}
    {%- set seen.role = m.role %}
    {{- turn(m.role, m.content) }}
{%- endfor %}";
    let opening = "\
{{- '<begin>' }}
{%- set messages = messages if messages[0].role == 'system' else [{'role': 'system', 'content': 'd'}] + messages %}
{%- for m in messages %}
    {%- if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be first.') }}{% endif %}
    {{- '<' + m.role + '>' + m.content + '</>' }}
{%- endfor %}";
    let late = |content: &str| {
        format!(r#"{{"messages": [{{"role": "user", "content": "u"}}, {{"role": "system", "content": {content}}}]}}"#)
    };
    for (source, content, wanted) in [
        (turns, r#"" l ""#, "<user>u</><system>l</>"),
        (turns, r#"[{"type": "text", "text": "l"}]"#, "<user>u</><system>l</>"),
        (opening, r#""l""#, "<begin><system>d</><user>u</><system>l</>"),
    ] {
        let found = after(source, &[Problem::LateSystem], &late(content));
        assert_eq!(found.as_deref(), Some(wanted), "{content} {source}");
    }
}
