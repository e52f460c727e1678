//! Findings of lint and the proof at their events and lines, and the repairs.

use super::*;
use backchat_core::diagnostic::{Edit, Fix};

/// A delimiter that the model never writes: the repair is known to the proof.
const WRONG: &str = "</thinks>";

fn refuted(template: &Template, _: &str) -> Result<Proof, String> {
    let is_right = !template.to_json().contains(WRONG);
    let wrong = (!is_right).then(|| "`reasoning` should end at byte 3".to_owned());
    Ok(Proof { cases: 48, passed: if is_right { 48 } else { 40 }, wrong, failures: Vec::new() })
}

fn repaired(text: &str) -> Option<Finding> {
    let at = text.find(WRONG)?;
    let span = at..at + WRONG.len();
    let fix = Fix {
        message: "write `fields.reasoning.close` as \"</think>\"".to_owned(),
        edits: vec![Edit { span: span.clone(), text: "</think>".to_owned() }],
    };
    let place = Place::span(text, span).in_file("template.json").path("fields.reasoning.close".to_owned());
    let said = Diagnostic { fix: Some(fix.clone()), ..Diagnostic::error("proof", fix.message).at(place) };
    Some(Finding { said, effect: Some(crate::session::Effect { fixes: 8, breaks: 0 }), event: None, settles: false })
}

/// A bench with a wrong delimiter, once everything is found.
fn inspected() -> Bench {
    let mut bench = bench(&["Hm</think>Hi<stop>"], &start());
    bench.world.borrow_mut().prove = Some(refuted);
    bench.world.borrow_mut().repair = Some(repaired);
    bench.world.borrow_mut().template = Some(TEMPLATE.replace("</think>", WRONG));
    bench.app.reload();
    settled(&mut bench);
    bench
}

#[test]
fn a_finding_is_shown_at_its_event_and_its_line() {
    let mut bench = inspected();
    bench.press("x");
    let wrong = bench.app.session.side().and_then(|side| side.recording.last_event(side.moment));
    let found = bench.app.session.finding_here().unwrap();
    assert_eq!(bench.app.session.findings()[found].event, wrong, "the event whose region the repair reads otherwise");
    bench.press("l⎋");
    for (width, height) in [(40, 12), (80, 24), (200, 50)] {
        if width < 200 {
            bench.app.layout.panes.focus = panes::Pane::Template;
        }
        let screen = bench.screen(width, height);
        let line = screen.lines().find(|line| line.contains("\"reasoning\": {")).unwrap_or_default();
        assert!(line.contains('◆'), "{screen}");
    }
    insta::assert_snapshot!("findings_200x50", bench.screen(200, 50));
}

#[test]
fn a_repair_is_shown_applied_and_undone() {
    let mut bench = inspected();
    let before = bench.world.borrow().template.clone();
    bench.press("xf");
    insta::assert_snapshot!("finding_80x24", bench.screen(80, 24));
    insta::assert_snapshot!("finding_40x12", bench.screen(40, 12));
    bench.press("F");
    assert!(
        bench.notice().starts_with("written to template.json: write `fields.reasoning.close`"),
        "{}",
        bench.notice()
    );
    assert_eq!(bench.world.borrow().template.as_deref(), Some(TEMPLATE));
    settled(&mut bench);
    assert!(bench.app.session.findings().iter().all(|finding| !finding.is_proof()));
    bench.press("u");
    assert!(bench.notice().starts_with("undone: write"), "{}", bench.notice());
    assert_eq!(bench.world.borrow().template, before);
    bench.press("u");
    assert_eq!(bench.notice(), "nothing was typed, and no repair was applied");
    settled(&mut bench);
    bench.press("F");
    assert_eq!(bench.world.borrow().template.as_deref(), Some(TEMPLATE), "F alone applies the current one");
    bench.press("i!⎋u");
    assert_eq!(bench.notice(), "typing undone");
    bench.press("u");
    assert_eq!(bench.world.borrow().template, before);
}

#[test]
fn tab_and_enter_move_through_the_findings() {
    let mut bench = inspected();
    bench.press("f⇥");
    let screen = bench.screen(80, 24);
    assert!(bench.app.session.findings().len() > 1);
    assert!(screen.contains("Finding 2 of "), "{screen}");
    bench.press("⎋");
    bench.press("gf⏎");
    assert!(bench.at() > 0, "enter goes to the event");
}

#[test]
fn the_editor_opens_at_the_cause_not_the_symptom() {
    // The close of the calls leaves a line break, which becomes an empty answer.
    let texts = [
        ("</think>I look.\n<cal>{\"city\": \"Oslo\"}</call><stop>", 7),
        ("</think>Hi.<call>{}</call> <call>{}</call><stop>", 8),
    ];
    for (text, line) in texts {
        let mut bench = bench(&[text], &start());
        bench.press("x");
        assert_eq!(bench.press("e"), Some(Effect::Edit { file: "template.json".into(), line }), "{text}");
    }
    let mut bench = inspected();
    bench.press("x");
    assert_eq!(bench.press("e"), Some(Effect::Edit { file: "template.json".into(), line: 5 }));
}

#[test]
fn a_repair_that_gives_the_expected_message_says_so() {
    let expected = json::read(r#"{"role": "assistant", "reasoning": "Hm", "content": "Hi"}"#).unwrap();
    let mut bench = inspected();
    bench.world.borrow_mut().expected = expected.as_object().cloned();
    bench.app.reload();
    settled(&mut bench);
    bench.press("xf");
    let screen = bench.screen(100, 30);
    assert!(screen.contains("with it, this output gives the expected message"), "{screen}");
}

#[test]
fn an_empty_result_is_reported() {
    let mut bench = bench(&["</think>Hi<stop>"], &start());
    bench.world.borrow_mut().template =
        Some("{\n  \"start_anchor\": \"<bot>\",\n  \"fields\": {\"content\": {\"close\": \"<stop>\"}}\n}\n".to_owned());
    bench.app.reload();
    settled(&mut bench);
    bench.press("f");
    assert_eq!(bench.notice(), "lint finds nothing wrong; without a chat template (--chat-template) nothing is proved");
}
