//! Working on templates and outputs.

use super::*;

#[test]
fn a_broken_template_keeps_the_last_good_state() {
    let mut bench = opened();
    bench.press("30l");
    bench.world.borrow_mut().template = Some(TEMPLATE.replace("\"open\": \"<call>\"", "\"opens\": \"<call>\""));
    bench.app.reload();
    let screen = bench.screen(80, 24);
    assert!(screen.contains("unknown key `opens` in a field"), "{screen}");
    assert_eq!(bench.at(), 30);
    bench.press("⏎");
    assert!(bench.screen(80, 24).contains("rename it to `open`"));
    bench.world.borrow_mut().template = Some(TEMPLATE.replace("</think>", "</thought>"));
    bench.press("⎋");
    bench.app.reload();
    assert!(bench.app.session.library.problem.is_none());
    assert_eq!(bench.at(), 30, "the place is kept");
    bench.press("G");
    assert!(bench.screen(80, 24).contains("reasoning"));
}

#[test]
fn keys_return_their_effects() {
    let mut bench = opened();
    assert_eq!(bench.press("q"), Some(Effect::Quit));
    assert_eq!(bench.app.key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)), Some(Effect::Suspend));
    bench.press("26l");
    assert_eq!(bench.press("e"), Some(Effect::Edit { file: "template.json".into(), line: 5 }));
    assert_eq!(bench.press("yr"), Some(Effect::Copy("Look it up.\u{1b}[31m\nIs 2 < 3?".to_owned())));
    let Some(Effect::Copy(message)) = bench.press("Gym") else { panic!("nothing was copied") };
    assert!(json::read(&message).unwrap().get("tool_calls").is_some());
    let Some(Effect::Copy(command)) = bench.press("gyc") else { panic!("nothing was copied") };
    assert_eq!(command, "replay 0 --at 0 --chunks 1 One(Stable)");
    assert!(bench.screen(80, 24).contains(&command), "it can be taken by hand");
    bench.press("⎋Gy");
    let Some(Effect::Copy(command)) = bench.press("c") else { panic!("nothing was copied") };
    assert!(command.contains("--at end"), "after the end: {command}");
    bench.press("⎋iz⎋y");
    assert_eq!(bench.press("c"), None);
    assert!(bench.notice().starts_with("no command shows typed text"), "{}", bench.notice());
}

#[test]
fn the_message_is_blessed_and_the_template_derived_again() {
    let mut bench = opened();
    bench.press("b");
    let screen = bench.screen(80, 24);
    assert!(screen.contains("+  \"reasoning\": ") && screen.contains("y writes it"), "{screen}");
    assert!(bench.world.borrow().blessed.is_none());
    bench.press("n");
    assert!(bench.world.borrow().blessed.is_none());
    bench.press("by");
    assert_eq!(bench.notice(), "blessed");
    let written = bench.world.borrow().blessed.clone();
    bench.world.borrow_mut().expected = written;
    bench.app.reload();
    assert_eq!(bench.notice(), "blessed", "the file it wrote itself has not changed");
    bench.press("b");
    assert_eq!(bench.notice(), "the fixture already holds this message");
    let blessed = bench.world.borrow().blessed.clone().unwrap();
    assert_eq!(blessed.get("tool_calls").unwrap().to_string(), r#"[{"city": "Paris"}]"#);
    assert_eq!(bench.app.session.verdict(), Some(Verdict::Passed));
    bench.press("d");
    assert_eq!(bench.notice(), "deriving gives no template: proved");
    bench.world.borrow_mut().derived = json::read(&TEMPLATE.replace("<think>", "<thought>")).ok();
    bench.press("d");
    let screen = bench.screen(100, 40);
    assert!(screen.contains("-    \"reasoning\": {\"open\": \"<think>\"") || screen.contains("<thought>"), "{screen}");
}

#[test]
fn an_output_is_typed_and_pasted() {
    let mut bench = bench(&["x"], &start());
    bench.press("i");
    bench.app.paste("y</thi");
    assert_eq!(bench.at(), 7);
    bench.press("nk>");
    let side = bench.app.session.side().unwrap();
    assert_eq!(side.recording.happened(side.moment), "`</think>` closed `reasoning`");
    bench.press("⌫⌫a⎋");
    assert_eq!(bench.app.session.library.material.output, "xy</thina");
    assert_eq!(bench.app.session.library.material.chunks.as_deref(), Some(&[1, 6, 1, 1][..]));
    assert!(!bench.app.session.editing.is_typing);
}

#[test]
fn a_problem_is_not_hidden_by_an_earlier_notice() {
    let mut bench = opened();
    bench.press("y");
    bench.press("m");
    assert!(bench.notice().starts_with("copied"));
    bench.world.borrow_mut().template = Some("{".to_owned());
    bench.app.reload();
    assert!(bench.screen(80, 24).lines().last().unwrap().starts_with('✗'), "{}", bench.screen(80, 24));
    bench.app.session.say("the editor `x` cannot be run".to_owned());
    assert!(bench.screen(80, 24).ends_with("the editor `x` cannot be run"));
    bench.press("l");
    assert!(bench.screen(80, 24).lines().last().unwrap().starts_with('✗'), "and it is there again at the next key");
}

#[test]
fn typed_text_is_kept() {
    let mut bench = bench(&["x", "y"], &start());
    bench.press("iab⎋");
    bench.app.reload();
    assert_eq!(bench.app.session.library.material.output, "xab");
    assert!(bench.notice().contains("the typed text is kept"), "{}", bench.notice());
    assert!(bench.screen(80, 24).starts_with("output-0.txt 1/2 ✎ typed"), "{}", bench.screen(80, 24));
    bench.press("]");
    assert_eq!(bench.app.session.library.material.output, "y");
    bench.press("[");
    assert_eq!(bench.app.session.library.material.output, "xab");
    bench.press("u");
    assert_eq!(bench.app.session.library.material.output, "x");
    bench.press("u");
    assert_eq!(bench.notice(), "nothing was typed, and no repair was applied");
}

#[test]
fn an_output_that_cannot_be_read_does_not_block_the_list() {
    let mut bench = bench(&["", "x"], &start());
    let screen = bench.screen(80, 24);
    assert!(screen.starts_with("output-0.txt 1/2"), "{screen}");
    assert!(screen.contains("cannot read the file"), "{screen}");
    bench.press("jlkhGgmv.,⏎");
    bench.press("⎋]");
    assert_eq!(
        (bench.app.session.library.material.output.as_str(), bench.app.session.library.problem.is_none()),
        ("x", true)
    );
}

#[test]
fn a_different_message_can_be_allowed() {
    let mut bench = opened();
    bench.world.borrow_mut().expected = json::read(r#"{"content": "x"}"#).unwrap().as_object().cloned();
    bench.world.borrow_mut().is_excused = true;
    bench.app.reload();
    assert_eq!(bench.app.session.verdict(), Some(Verdict::Excused));
    assert!(!bench.app.session.has_failed(0));
    assert!(bench.notice().contains("which is allowed"), "{}", bench.notice());
}

#[test]
fn the_verdict_is_about_the_answer_that_is_shown() {
    let mut bench = bench(&["Hm</think>Hi there<stop>"], &start());
    let expected = r#"{"role": "assistant", "reasoning": "Hm", "content": "Hi there"}"#;
    bench.world.borrow_mut().expected = json::read(expected).unwrap().as_object().cloned();
    bench.app.reload();
    assert!(bench.screen(120, 24).contains("✓ as expected"));
    bench.press("m");
    assert!(bench.screen(120, 24).contains("✗ not as expected"), "these chunks change the reference's answer");
    bench.press("rw");
    assert!(bench.screen(120, 24).contains("✓ as expected"), "one chunk does not");
    bench.press("mr1x");
    assert!(bench.notice().contains("first differ at"), "{}", bench.notice());
}
