//! Large outputs: the beginning is shown at once, and keys work.

use super::*;

fn large() -> &'static str {
    let text = "<think>".to_owned() + &"lorem ipsum < dolor ".repeat(8_000) + "</think>Yes.<stop>";
    text.leak()
}

fn read(bench: &mut Bench) {
    while bench.app.session.library.percent_read().is_some() {
        bench.app.work(std::time::Instant::now());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn the_beginning_is_shown_while_the_rest_is_read() {
    let mut bench = bench(&[large()], &start());
    let screen = bench.screen(80, 24);
    assert!(screen.lines().next().unwrap().contains("% read"), "{screen}");
    assert!(screen.contains("lorem ipsum"), "{screen}");
    bench.press("/dolor⏎");
    let place = bench.at();
    assert!(place > 0, "keys work");
    bench.press("b");
    assert!(bench.notice().ends_with("% of this output was read so far; wait for its end"), "{}", bench.notice());
    read(&mut bench);
    assert_eq!(bench.at(), place, "the place is kept");
    let screen = bench.screen(80, 24);
    assert!(screen.lines().next().unwrap().contains("/160025"), "{screen}");
    bench.press("G");
    assert_eq!(bench.at(), 160_025);
    assert!(bench.screen(80, 24).contains("the message is complete"));
}

#[test]
fn recutting_a_partly_read_output_keeps_the_position() {
    let mut bench = bench(&[large()], &Start { at: Some(Position::Character(130_000)), ..start() });
    read(&mut bench);
    assert_eq!(bench.at(), 130_000);
    bench.press("r5");
    assert!(bench.at() < 100_000, "only the beginning is there");
    read(&mut bench);
    assert_eq!(bench.at(), 130_000);
    bench.press("m");
    read(&mut bench);
    assert_eq!(bench.at(), 130_000);
    bench.press("Gr8");
    read(&mut bench);
    assert_eq!(bench.at(), 160_025, "the end is the end");
}
