//! Small templates, and their repairs.

use super::*;

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
    assert_eq!(found.proof.renders_now, 3);
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
