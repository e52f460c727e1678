//! The proof in the background, and its failures.

use std::time::{Duration, Instant};

use super::*;

/// Knows that reasoning ends with `</think>`.
fn proved(template: &Template) -> Proof {
    let is_right = template.to_json().contains("\"close\": \"</think>\"");
    let failing = Conversation {
        name: "a thought after a question: reasoning".to_owned(),
        prefix: PROMPT.to_owned(),
        output: "So.</think>Yes.".to_owned(),
        tools: None,
        expected: None,
    };
    let wrong = "`reasoning` should end at byte 3; it ran on to the end of the text, byte 15".to_owned();
    match is_right {
        true => Proof { cases: 48, passed: 48, wrong: None, failures: Vec::new() },
        false => Proof { cases: 48, passed: 45, wrong: Some(wrong), failures: vec![failing] },
    }
}

/// Changes the template's file, and waits for the proof.
fn edited(bench: &mut Bench, template: &str) {
    bench.world.borrow_mut().template = Some(template.to_owned());
    bench.app.reload();
    heard(bench);
}

fn heard(bench: &mut Bench) {
    let start = Instant::now();
    while bench.app.session.proof().is_none() && start.elapsed() < Duration::from_secs(5) {
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
    assert!(bench.app.session.proof().is_none());
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
