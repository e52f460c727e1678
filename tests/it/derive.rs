//! Drafts for chat templates that have one peculiarity each.

use std::fs;
use std::path::Path;

use backchat::json::Object;
use backchat_derive::derive::{Derivation, Options, Sample, Status, derive};

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/derive/{name}.jinja"))).unwrap()
}

fn options() -> Options {
    let variables = Object::from([("eos_token".to_owned(), "</s>".into())]);
    Options::default().variables(variables).now("2026-01-01T00:00:00".to_owned())
}

/// The headline, the draft and the notes.
fn shown(derivation: &Derivation) -> String {
    let mut text = derivation.headline() + "\n";
    for diagnostic in &derivation.diagnostics {
        text += &format!("{}: {}\n", diagnostic.severity.name(), diagnostic.message);
    }
    if let Some(draft) = &derivation.response_template {
        text += &draft.to_pretty("  ");
    }
    text
}

#[test]
fn peculiar_wire_formats() {
    let formats = [
        ("stop_begins_the_call", Status::Proved),
        ("key_is_the_tag", Status::Proved),
        ("tags_with_cdata", Status::Proved),
        ("roles_without_marks", Status::Proved),
        ("space_before_thinking", Status::Proved),
        ("keyword_calls", Status::Proved),
        ("whole_call_objects", Status::Proved),
        ("marks_of_other_scripts", Status::Proved),
        ("marks_without_brackets", Status::Proved),
        ("closer_without_a_name", Status::Proved),
        ("key_value_lines", Status::Proved),
        ("arguments_as_text", Status::Proved),
        ("turn_never_ends", Status::Proved),
        ("prints_the_time", Status::Proved),
        ("prints_lists_as_they_are", Status::Proved),
        ("results_are_left_out", Status::Proved),
        ("other_keys_printed", Status::Proved),
        ("calls_end_in_another_mark", Status::Proved),
        ("header_of_answers_alone", Status::Proved),
        ("name_begins_the_turn", Status::Proved),
        ("keywords_in_brackets", Status::Proved),
        ("keywords_one_by_one", Status::Proved),
        ("objects_back_to_back", Status::Proved),
        ("content_bare_beside_calls", Status::Proved),
        ("array_in_an_object", Status::Proved),
        ("array_ends_with_the_turn", Status::Proved),
        ("arguments_are_numbered", Status::Proved),
        ("sign_begins_a_line", Status::Proved),
        ("answer_in_an_object", Status::Proved),
        ("parts_are_objects", Status::Proved),
        ("reasoning_is_a_turn", Status::Proved),
        ("marks_around_no_calls", Status::Proved),
        ("calls_are_counted", Status::Proved),
        ("label_after_reasoning", Status::Proved),
        ("array_in_a_fence", Status::Proved),
        ("fences_of_two_languages", Status::Proved),
        ("labels_of_answers_and_steps", Status::Proved),
        ("label_beside_calls", Status::Proved),
        ("name_closes_the_call", Status::Proved),
        ("name_around_the_arguments", Status::Proved),
        ("name_is_the_tag", Status::Proved),
        ("names_and_keys_are_tags", Status::Proved),
        ("object_in_parentheses", Status::Proved),
        ("calls_are_refused", Status::Partial),
        ("prompt_says_more", Status::Proved),
        ("reasoning_is_asked_for", Status::Proved),
        ("thinking_is_all_the_prompt_adds", Status::Proved),
        ("turn_of_the_user_stays_open", Status::Proved),
        ("reasoning_is_always_closed", Status::Proved),
        ("thinking_is_stripped", Status::Proved),
        ("objects_with_a_sign_between", Status::Proved),
        ("parts_that_nothing_closes", Status::Proved),
        ("prompt_begins_the_call", Status::Proved),
        ("reasoning_behind_the_answer", Status::Proved),
        ("variable_nobody_gave", Status::Proved),
        ("turn_ends_with_a_line_of_signs", Status::Proved),
        ("arrow_after_the_name", Status::Proved),
        ("bars_around_arguments", Status::Proved),
        ("marks_of_doubled_colons", Status::Proved),
        ("calls_in_paragraphs", Status::Proved),
        ("a_rule_between_calls", Status::Proved),
        ("objects_line_by_line", Status::Proved),
        ("and_between_calls", Status::Proved),
        ("arguments_quoted_twice", Status::Proved),
        ("arguments_left_out", Status::Proved),
        ("parameters_left_out", Status::Proved),
        ("marks_around_several_calls", Status::Proved),
        ("answer_closed_after_thoughts", Status::Proved),
        ("thoughts_under_two_keys", Status::Proved),
        ("header_of_each_call", Status::Proved),
        ("labels_of_an_agent", Status::Proved),
        ("content_is_a_json_string", Status::Proved),
        ("code_in_a_fence", Status::Proved),
        ("speaker_is_a_variable", Status::Proved),
        ("arguments_of_a_url", Status::Partial),
        ("signs_lead_the_words", Status::Proved),
        ("brackets_touch_the_words", Status::Proved),
        ("underscores_around_words", Status::Proved),
        ("slash_and_colon_around_words", Status::Proved),
        ("calls_are_counted_in_words", Status::Proved),
        ("call_says_how_many_arguments", Status::Proved),
        ("word_between_calls", Status::Proved),
        ("answer_in_braces", Status::Proved),
        ("arguments_beside_the_name", Status::Proved),
        ("texts_in_a_fence", Status::Proved),
        ("long_calls_in_another_mark", Status::Proved),
        ("mark_of_empty_content", Status::Proved),
        ("calls_are_members_of_one_object", Status::Partial),
        ("answer_after_a_list", Status::Proved),
        ("answer_after_keyed_calls", Status::Proved),
        ("answer_after_arguments", Status::Proved),
        ("words_of_a_sentence", Status::Inexpressible),
        ("no_content", Status::Failed),
        ("runs_forever", Status::Failed),
    ];
    for (name, status) in formats {
        let derivation = derive(&read(name), &options());
        assert_eq!(derivation.status, status, "{name}\n{}", shown(&derivation));
        insta::assert_snapshot!(name, shown(&derivation));
    }
}

#[test]
fn two_turns_show_calls_that_no_template_can_express() {
    let report = derive(&read("words_of_a_sentence"), &options()).to_value();
    let shown =
        report.get("verification").and_then(|proof| proof.get("inexpressible")).and_then(|turns| turns.as_list());
    let turns: Vec<_> =
        shown.unwrap().iter().map(|turn| turn.get("text").and_then(|text| text.as_str()).unwrap()).collect();
    assert_eq!(turns, ["so run get_time.<|end|>", "\"Ghent\" is the city, so run get_route.<|end|>"]);
}

#[test]
fn deviations_are_tried_and_reported() {
    // The format has no stray closing marks, so its template does not handle them.
    let derivation = derive(&read("whole_call_objects"), &options());
    let tolerance = &derivation.verdict.tolerance;
    let notes: Vec<_> = derivation.diagnostics.iter().filter(|note| note.id == "derive-tolerance").collect();
    assert!(tolerance.tried > 20 && tolerance.tolerated < tolerance.tried, "{tolerance:?}");
    insta::assert_snapshot!(notes[0].message);
    // A draft with failures is not tried.
    assert_eq!(derive(&read("arguments_of_a_url"), &options()).verdict.tolerance.tried, 0);
}

#[test]
fn deriving_twice_gives_the_same_bytes() {
    let once = derive(&read("key_is_the_tag"), &options()).to_value().to_string();
    assert_eq!(derive(&read("key_is_the_tag"), &options()).to_value().to_string(), once);
}

#[test]
fn a_syntax_error_is_reported_with_its_position() {
    let derivation = derive("{% for m in messages %}{{ m.content }", &Options::default());
    assert_eq!(derivation.status, Status::Failed);
    let place = derivation.diagnostics[0].place.as_ref().unwrap();
    assert_eq!(place.line_column.unwrap().0, 1);
}

#[test]
fn the_reasoning_field_cannot_have_a_name_that_is_taken() {
    for name in ["content", "tool_calls", "role"] {
        let options = options().reasoning_field(name.to_owned());
        let derivation = derive("{{ messages[0].content }}", &options);
        assert_eq!(derivation.diagnostics[0].id, "derive-name-taken", "{name}");
        assert!(derivation.response_template.is_none());
    }
}

#[test]
fn the_name_of_the_reasoning_field_can_be_set() {
    let options = options().reasoning_field("thinking".to_owned());
    let derivation = derive(&read("space_before_thinking"), &options);
    assert!(derivation.response_template.unwrap().get("fields").unwrap().get("thinking").is_some());
}

fn sample(text: &str) -> Sample {
    Sample::new("one", text)
}

#[test]
fn a_sample_that_the_draft_explains_changes_nothing() {
    let plain = derive(&read("space_before_thinking"), &options());
    let sampled = options().samples(vec![sample("<think>\nHm.\n</think>\n\nYes.\n\n<sep>")]);
    let derivation = derive(&read("space_before_thinking"), &sampled);
    assert_eq!(derivation.status, Status::Proved);
    assert_eq!(derivation.response_template, plain.response_template);
}

#[test]
fn a_sample_with_a_stray_closing_mark_gets_a_more_tolerant_draft() {
    // After a prompt that does not open reasoning.
    let prefix = "human: Really? <sep> assistant:".to_owned();
    let sampled = options().samples(vec![sample("Yes.\n</think>\n\nReally.").prefix(prefix)]);
    let derivation = derive(&read("space_before_thinking"), &sampled);
    assert_eq!(derivation.status, Status::Proved, "{}", shown(&derivation));
    let content = derivation.response_template.unwrap().get("fields").unwrap().get("content").unwrap().to_string();
    assert!(content.contains("</think>"), "{content}");
}

#[test]
fn an_unexplained_sample_is_reported_with_its_position() {
    let sampled = options().samples(vec![sample("Yes. <tool_call>\nnot JSON\n</tool_call>")]);
    let derivation = derive(&read("space_before_thinking"), &sampled);
    assert_eq!(derivation.status, Status::Partial);
    assert_eq!(derivation.explained.departures[0].sample, "one");
    let said = derivation.diagnostics.iter().any(|d| d.id == "derive-sample" && d.message.contains("from byte 16: "));
    assert!(said, "{}", shown(&derivation));
}
