//! Filtered lists: outputs and actions.

use super::*;

/// Opens outputs, each with its name, and judges all of them.
fn judged(outputs: &[(&str, &'static str)]) -> Bench {
    let names = outputs.iter().map(|(name, _)| (*name).to_owned()).collect();
    let texts: Vec<&'static str> = outputs.iter().map(|(_, text)| *text).collect();
    let mut bench = bench_named(Theme::Dark, names, &texts, &start());
    while bench.app.session.is_busy() {
        bench.app.work(std::time::Instant::now());
    }
    bench
}

#[test]
fn outputs_are_filtered_by_name_and_verdict() {
    let mut bench = judged(&[
        ("weather/rome.fixture", OUTPUT),
        ("weather/oslo.fixture", "</think>Hi<stop>"),
        ("greeting.fixture", "</think>Ho<stop>"),
    ]);
    bench.press("oweath osl");
    let screen = bench.screen(80, 24);
    let list: String = screen.lines().skip(1).collect();
    assert!(list.contains("oslo") && !list.contains("rome") && list.contains("1 of 3"), "{screen}");
    bench.press("⏎");
    assert_eq!(bench.app.session.library.output, 1);
    bench.press("olooks wr");
    let screen = bench.screen(80, 24);
    assert!(screen.contains("rome") && !screen.contains("greeting"), "verdicts can be typed: {screen}");
    bench.press("zz⏎");
    assert!(bench.notice().starts_with("no output matches"), "{}", bench.notice());
    assert!(bench.screen(80, 24).contains("no matches"));
    bench.press("⎋o⇥⏎");
    assert_eq!(bench.app.session.library.output, 0, "tab selects the next problem");
}

#[test]
fn every_action_is_found_by_its_words() {
    let mut bench = opened();
    bench.press(":");
    let screen = bench.screen(80, 24);
    insta::assert_snapshot!("actions_80x24", screen);
    bench.press("mode side");
    insta::assert_snapshot!("actions_filtered_40x12", bench.screen(40, 12));
    bench.press("⏎");
    assert!(bench.notice().starts_with("reference: "), "{}", bench.notice());
    bench.press(":17⏎");
    assert_eq!(bench.at(), 17);
    assert_eq!(bench.press(":quit⏎"), Some(Effect::Quit));
    bench.press(":");
    bench.app.paste("no such thing");
    bench.press("⏎");
    assert_eq!(bench.notice(), "no action matches");
    bench.press("⎋:the start; ⏎");
    assert_eq!(bench.at(), 0);
    // The outputs of a fixture are its cases.
    bench.press(":cases⏎");
    assert!(bench.screen(80, 24).contains("type to filter"));
}

#[test]
fn a_click_opens_the_row_of_a_list() {
    let mut bench = judged(&[("output-0.txt", OUTPUT), ("output-1.txt", "</think>Hi<stop>")]);
    let click = |row| MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 20,
        row,
        modifiers: KeyModifiers::NONE,
    };
    for (name, output) in [("output-1.txt", 1), ("output-0.txt", 0)] {
        bench.press("o");
        let screen = bench.screen(80, 24);
        let found = screen.lines().enumerate().skip(1).find(|(_, line)| line.contains(name));
        let row = u16::try_from(found.map(|(row, _)| row).unwrap()).unwrap();
        assert!(bench.app.mouse(click(row)).0);
        assert_eq!(bench.app.session.library.output, output);
        assert!(bench.app.layout.overlay.is_none());
    }
    bench.press("o");
    bench.screen(80, 24);
    bench.app.mouse(click(0));
    assert!(bench.app.layout.overlay.is_none(), "a click outside the list closes it");
    bench.press(":the end");
    bench.screen(80, 24);
    let place = bench.app.layout.drawn.list.map(|list| list.area).unwrap();
    bench.app.mouse(click(place.y));
    assert_eq!(bench.at(), 105);
}
