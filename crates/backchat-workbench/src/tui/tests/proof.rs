//! The proof in the background, and its failures.

use std::time::{Duration, Instant};

use super::*;

/// Knows that reasoning ends with `</think>`, unless the chat template writes another marker, or does not compile.
fn proved(template: &Template, chat_template: &str) -> Result<Proof, String> {
    if chat_template == "broken" {
        return Err("chat_template.jinja:3:1: expected `endif`".to_owned());
    }
    let is_right = template.to_json().contains("\"close\": \"</think>\"") && chat_template != "other";
    let failing = Conversation {
        name: "a thought after a question: reasoning".to_owned(),
        prefix: PROMPT.to_owned(),
        output: "So.</think>Yes.".to_owned(),
        tools: None,
        expected: None,
    };
    let wrong = "`reasoning` should end at byte 3; it ran on to the end of the text, byte 15".to_owned();
    Ok(match is_right {
        true => Proof { cases: 48, passed: 48, wrong: None, failures: Vec::new() },
        false => Proof { cases: 48, passed: 45, wrong: Some(wrong), failures: vec![failing] },
    })
}

/// Changes the template's file, and waits for the proof.
fn edited(bench: &mut Bench, template: &str) {
    bench.world.borrow_mut().template = Some(template.to_owned());
    bench.app.reload();
    heard(bench);
}

/// Changes the chat template's file.
fn changed(bench: &mut Bench, chat_template: &str) {
    bench.world.borrow_mut().chat_template = chat_template.to_owned();
    bench.app.reload();
}

fn heard(bench: &mut Bench) {
    let start = Instant::now();
    while matches!(bench.app.session.proof(), ProofState::Running) && start.elapsed() < Duration::from_secs(5) {
        bench.app.work(Instant::now());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn bar(bench: &mut Bench) -> String {
    bench.screen(100, 24).lines().last().unwrap().to_owned()
}

#[test]
fn a_template_is_repaired_with_the_proof_open() {
    let mut bench = bench(&["Hm</think>Hi<stop>"], &start());
    bench.world.borrow_mut().prove = Some(proved);
    edited(&mut bench, &TEMPLATE.replace("\"</think>\"", "\"</thinks>\""));
    bench.press("l");
    assert!(bar(&mut bench).starts_with("✗ 45 of 48: `reasoning` should end at byte 3"), "{}", bar(&mut bench));
    bench.press("p");
    let screen = bench.screen(100, 24);
    assert!(screen.contains("a thought after a question: reasoning"), "{screen}");
    bench.press("⏎");
    assert_eq!(bench.app.session.library.material.output, "So.</think>Yes.");
    edited(&mut bench, TEMPLATE);
    assert_eq!(
        bench.app.session.library.material.output, "So.</think>Yes.",
        "the conversation stays open while the template is edited"
    );
    bench.press("G");
    assert!(bar(&mut bench).starts_with("✓ 48 of 48  "), "{}", bar(&mut bench));
    bench.press("p");
    assert_eq!(bench.notice(), "all 48 conversations parse back exactly");
}

#[test]
fn failures_replace_those_of_the_last_proof() {
    let mut bench = bench(&["one", "two"], &start());
    bench.world.borrow_mut().prove = Some(proved);
    edited(&mut bench, &TEMPLATE.replace("\"</think>\"", "\"</a>\""));
    bench.press("p⎋");
    assert_eq!((bench.app.session.library.names().len(), bench.app.session.library.output), (3, 2));
    edited(&mut bench, &TEMPLATE.replace("\"</think>\"", "\"</b>\""));
    bench.press("p⎋[");
    assert_eq!(
        (bench.app.session.library.names().len(), bench.app.session.library.material.output.as_str()),
        (3, "two")
    );
}

#[test]
fn without_a_chat_template_there_is_no_proof() {
    let mut bench = opened();
    bench.press("p");
    assert_eq!(bench.notice(), "nothing to prove with: name the chat template with --chat-template SOURCE");
    assert_eq!(bench.app.session.proof(), ProofState::Unknown);
}

#[test]
fn a_changed_chat_template_is_proved_again() {
    let mut bench = bench(&["Hm</think>Hi<stop>"], &start());
    bench.world.borrow_mut().prove = Some(proved);
    edited(&mut bench, TEMPLATE);
    bench.press("l");
    assert!(bar(&mut bench).starts_with("✓ 48 of 48  "), "{}", bar(&mut bench));
    changed(&mut bench, "other");
    assert!(bar(&mut bench).starts_with("proving…  "), "the old result is not shown: {}", bar(&mut bench));
    bench.press("p");
    assert_eq!(bench.notice(), "the proof is still running");
    heard(&mut bench);
    bench.press("h");
    assert!(bar(&mut bench).starts_with("✗ 45 of 48: `reasoning` should"), "{}", bar(&mut bench));
}

#[test]
fn a_broken_chat_template_proves_nothing_and_says_why() {
    let mut bench = bench(&["Hm</think>Hi<stop>"], &start());
    bench.world.borrow_mut().prove = Some(proved);
    edited(&mut bench, TEMPLATE);
    changed(&mut bench, "broken");
    heard(&mut bench);
    bench.press("l");
    let bar = bar(&mut bench);
    assert!(bar.starts_with("✗ not proved: chat_template.jinja:3:1: expected"), "{bar}");
    bench.press("p");
    assert_eq!(bench.notice(), "nothing is proved: chat_template.jinja:3:1: expected `endif`");
}

#[test]
fn conversations_of_another_chat_template_are_closed() {
    let mut bench = bench(&["one", "two"], &start());
    bench.world.borrow_mut().prove = Some(proved);
    edited(&mut bench, &TEMPLATE.replace("\"</think>\"", "\"</a>\""));
    bench.press("]p⎋");
    assert_eq!(bench.app.session.library.material.output, "So.</think>Yes.");
    changed(&mut bench, "other");
    assert_eq!((bench.app.session.library.names().len(), bench.app.session.library.output), (2, 1));
    assert_eq!(bench.app.session.library.material.output, "two", "the output whose template was proved");
    assert_eq!(bench.notice(), "the chat template changed: its conversations are rendered and proved again");
    heard(&mut bench);
    bench.press("p⎋");
    assert_eq!(bench.app.session.library.names().len(), 3);
}

#[test]
fn repairs_of_another_chat_template_are_dropped() {
    let mut bench = bench(&["Hm</think>Hi<stop>"], &start());
    bench.world.borrow_mut().prove = Some(proved);
    bench.world.borrow_mut().repair = Some(|text| {
        let fix = backchat_core::diagnostic::Fix { message: "change it".to_owned(), edits: Vec::new() };
        let said = Diagnostic { fix: Some(fix), ..Diagnostic::error("proof", "change it") };
        text.contains("</a>").then_some(Finding { said, effect: None, event: None, settles: false })
    });
    bench.world.borrow_mut().template = Some(TEMPLATE.replace("\"</think>\"", "\"</a>\""));
    bench.app.reload();
    settled(&mut bench);
    assert!(bench.app.session.findings().iter().any(Finding::is_proof));
    changed(&mut bench, "other");
    assert!(!bench.app.session.findings().iter().any(Finding::is_proof), "they are looked for again");
    settled(&mut bench);
    assert!(bench.app.session.findings().iter().any(Finding::is_proof));
}

#[test]
fn the_proof_leaves_room_for_the_keys_that_matter() {
    for (width, height) in [(40, 10), (80, 24), (200, 50)] {
        let mut bench = bench(&["Hm</think>Hi<stop>"], &start());
        bench.world.borrow_mut().prove = Some(proved);
        edited(&mut bench, &TEMPLATE.replace("\"</think>\"", "\"</thinks>\""));
        bench.press("l");
        let last = bench.screen(width, height).lines().last().unwrap().to_owned();
        assert!(last.starts_with("✗ 45 of 48: ") && last.contains("p proof") && last.contains("? help"), "{last}");
    }
}
