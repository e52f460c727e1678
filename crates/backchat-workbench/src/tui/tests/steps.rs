//! Stepping.

use super::*;

#[test]
fn steps_of_every_kind_with_counts() {
    let mut bench = opened();
    for (keys, at) in [
        ("l", 1),
        ("4l", 5),
        ("2h", 3),
        ("J", 17),
        ("K", 0),
        (":20⏎", 20),
        ("7g", 7),
        ("g", 0),
        ("G", 105),
        ("g.", 1),
        ("3.", 4),
        ("2,", 2),
        ("j", 26),
        ("k", 0),
        ("12→", 12),
    ] {
        bench.press(keys);
        assert_eq!(bench.at(), at, "after {keys}");
    }
}

#[test]
fn a_step_by_character_cuts_a_longer_chunk() {
    let mut bench = opened();
    bench.press("rw");
    assert_eq!(bench.app.session.playback.chunking, Chunks::Whole.into());
    bench.press("g..");
    assert_eq!((bench.at(), bench.app.session.playback.chunking.clone()), (2, Chunking::at([1, 2])));
    bench.press("G");
    assert_eq!(bench.at(), 105);
}

#[test]
fn chunks_as_asked() {
    let mut bench = bench(&[OUTPUT, OUTPUT], &start());
    for (keys, chunking) in [
        ("rw", "one chunk"),
        ("r1", "chunks of 1"),
        ("r7", "chunks of 7"),
        ("rn12⏎", "chunks of 12"),
        ("rnrandom:9⏎", "random chunks, seed 9"),
        ("rr", "random chunks, seed 10"),
        ("ro", "random chunks, seed 10"),
        ("]", "chunks as recorded"),
        ("r3", "chunks of 3"),
        ("ro", "chunks as recorded"),
    ] {
        bench.press(keys);
        assert_eq!(bench.app.session.playback.chunking.to_string(), chunking, "after {keys}");
    }
}

#[test]
fn w_goes_to_the_worst_cut() {
    let mut bench = bench(&["</think>First.\nSecond.<stop>"], &start());
    bench.press("rww");
    while bench.app.session.playback.cut_search.is_some() {
        bench.app.work(std::time::Instant::now());
    }
    assert_eq!(bench.app.session.playback.sides.len(), 2);
    assert_eq!(bench.at(), isize::try_from(bench.app.session.playback.chunking.cuts[0]).unwrap());
    assert!(bench.notice().contains("transformers gives another answer"), "{}", bench.notice());
}

#[test]
fn breakpoints_and_search() {
    let mut bench = opened();
    bench.press("c");
    assert!(bench.notice().starts_with("no breakpoint is set"));
    bench.press("smalformed⏎c");
    assert_eq!((bench.at(), bench.notice()), (99, "stopped at `malformed`"));
    bench.press("sno-field⏎");
    assert!(bench.notice().starts_with("`no-field` is not a field"));
    bench.press("s/(⏎");
    assert!(!bench.notice().is_empty());
}

#[test]
fn the_search_covers_output_events_and_template() {
    let mut bench = opened();
    bench.press("/paris⏎");
    assert_eq!((bench.at(), bench.notice()), (67, "match 1 of 2, at character 62"));
    bench.press("n");
    let event = bench.app.session.hit().cloned();
    assert!(matches!(event, Some(Hit::Event(_))), "{event:?}");
    assert!(bench.notice().starts_with("match 2 of 2, in event "), "{}", bench.notice());
    assert_eq!(bench.app.layout.panes.focus, panes::Pane::Events);
    bench.press("n");
    assert_eq!(
        (bench.at(), bench.notice()),
        (67, "match 1 of 2, at character 62; the search continued from the start")
    );
    bench.press("/nowhere⏎");
    assert_eq!(bench.notice(), "`nowhere` occurs neither in the output, the events nor the template");
    assert_eq!(bench.at(), 67);
    bench.press("g/<call>⏎n");
    assert_eq!(bench.at(), 83);
    bench.press("N");
    assert_eq!(bench.at(), 52);
    bench.press("N");
    assert!(
        bench.notice().starts_with("match 3 of 3, in line 7 of the template; the search continued"),
        "{}",
        bench.notice()
    );
    let screen = bench.screen(80, 24);
    assert!(screen.contains("\"open\": \"<call>\""), "the template is in view: {screen}");
    bench.press("g//c[a-z]+\"/⏎");
    assert_eq!(bench.at(), 59);
    bench.press("/malformed⏎");
    assert!(bench.notice().starts_with("match 1 of 1, in event "), "{}", bench.notice());
    bench.press("//(⏎");
    assert!(!bench.notice().is_empty() && bench.app.session.hit().is_none());
}

#[test]
fn it_plays_and_stops() {
    let mut bench = opened();
    let start = std::time::Instant::now();
    bench.press(" ");
    bench.app.session.playback.clock.play(start);
    settled(&mut bench);
    assert!(!bench.app.work(start));
    assert!(bench.app.work(start + std::time::Duration::from_millis(340)));
    assert_eq!(bench.at(), 5);
    bench.press("s7⏎");
    bench.app.session.playback.clock.play(start);
    bench.app.work(start + std::time::Duration::from_secs(3));
    assert_eq!((bench.at(), bench.app.session.playback.clock.is_playing()), (7, false));
}

#[test]
fn x_goes_to_the_first_wrong_event() {
    let mut bench = opened();
    let expected = r#"{"role": "assistant", "reasoning": "Look it up.\u001b[31m\nIs 2 < 3?", "content": "One moment.",
                       "tool_calls": [{"city": "Paris"}, {"city": "Rome"}]}"#;
    bench.world.borrow_mut().expected = json::read(expected).unwrap().as_object().cloned();
    bench.app.reload();
    assert_eq!(bench.app.session.verdict(), Some(Verdict::Failed));
    bench.press("x");
    assert!(bench.notice().ends_with("is not as expected"), "{}", bench.notice());
    let side = bench.app.session.side().unwrap();
    let happened = side.recording.event_in_words(side.recording.last_event(side.moment).unwrap());
    assert_eq!(happened, "the opening of `tool_calls` ended `content`, which replaces its value `\"One moment.\"`");
}

#[test]
fn longer_chunks_keep_the_position() {
    let mut bench = opened();
    bench.press("20grwr1");
    assert_eq!(bench.at(), 20);
    bench.press("lrwr1");
    assert_eq!(bench.at(), 21);
    bench.press("rw30gr1");
    assert_eq!(bench.at(), 30, "a place inside a chunk is one too");
}

#[test]
fn no_number_breaks_a_step() {
    let mut bench = opened();
    for keys in ["5g0,", "0.", "0l", "0h", "0j", "0]", "0["] {
        bench.press(keys);
        assert_eq!(bench.at(), 5, "after {keys}");
    }
    bench.press("999999g");
    assert_eq!(
        bench.app.session.side().map(|side| side.moment),
        bench.app.session.side().map(|side| side.recording.end())
    );
}

#[test]
fn breakpoints_are_listed() {
    let mut bench = opened();
    bench.press("sclose⏎s5⏎s/th.nk/⏎");
    let screen = bench.screen(80, 24);
    assert!(screen.lines().next().unwrap().contains("●3"), "{screen}");
    assert!(screen.lines().any(|line| line.starts_with("R  ●<bot><think>Look it up")), "{screen}");
    bench.press("S");
    let screen = bench.screen(80, 24);
    for line in ["1  close", "2  5", "3  /th.nk/"] {
        assert!(screen.contains(line), "{screen}");
    }
    bench.press("jd");
    assert_eq!(
        bench.app.session.playback.stops.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["close", "/th.nk/"]
    );
    bench.press("dd");
    assert_eq!((bench.app.session.playback.stops.len(), bench.notice()), (0, "no breakpoints left"));
    bench.press("S");
    assert!(bench.notice().starts_with("no breakpoint is set"));
}

#[test]
fn an_event_has_one_number() {
    let mut bench = opened();
    bench.press("jjj");
    let listed = |screen: &str| {
        let row = screen.lines().find(|line| line.starts_with('▶')).unwrap();
        row.trim_start_matches('▶').split_whitespace().next().unwrap().to_owned()
    };
    let number = listed(&bench.screen(80, 24));
    bench.press("⏎");
    assert!(bench.screen(80, 24).contains(&format!(" Event {number} ")), "{}", bench.screen(80, 24));
    bench.press("⎋a");
    let number = listed(&bench.screen(80, 24));
    bench.press("⏎");
    assert!(bench.screen(80, 24).contains(&format!(" Event {number} ")), "{}", bench.screen(80, 24));
}

#[test]
fn leftover_markers_look_wrong() {
    let mut bench =
        bench(&["</think>I look.\n<cal>{\"city\": \"Oslo\"}</call><stop>", "</think>Is a < b?<stop>"], &start());
    assert_eq!(bench.notice(), "! 1 event looks wrong: x goes there");
    bench.press("x");
    assert!(bench.notice().ends_with("looks wrong: `<cal>` is left in its text"), "{}", bench.notice());
    while bench.app.session.is_busy() {
        bench.app.work(std::time::Instant::now());
    }
    bench.press("o");
    assert!(bench.screen(80, 24).contains("Outputs: 1 looking wrong, 1 in order"), "{}", bench.screen(80, 24));
    bench.press("⎋]x");
    assert_eq!(bench.notice(), "no event looks wrong; there is no expected message");
}

#[test]
fn a_moment_inside_a_chunk_is_kept() {
    let mut bench = opened();
    bench.press("rwgjj");
    let said = |bench: &Bench| {
        let side = bench.app.session.side().unwrap();
        side.recording.event_in_words(side.recording.last_event(side.moment).unwrap())
    };
    let here = said(&bench);
    assert!(bench.app.session.side().is_some_and(|side| side.recording.is_inside_feed(side.moment)));
    for keys in ["r4", "r1", "rnrandom:3⏎"] {
        bench.press(keys);
        assert_eq!(said(&bench), here, "after {keys}");
        bench.press("rwgjj");
    }
    bench.app.reload();
    assert_eq!(said(&bench), here, "after the files were read again");
    bench.press("yc⎋G");
    assert_ne!(said(&bench), here);
    let event = bench.app.session.recording().map_or(0, |recording| recording.initial_count()) + 2;
    bench.press(&format!(":event:{event}⏎"));
    assert_eq!(said(&bench), here);
}

#[test]
fn stepping_by_character_starts_inside_a_chunk() {
    let mut bench = opened();
    bench.press("rwgjj");
    let here =
        bench.app.session.side().map(|side| side.recording.offset_of(side.recording.settled(side.moment))).unwrap();
    bench.press(".");
    assert_eq!(bench.at(), here + 1);
    bench.press("rwgjj,");
    assert_eq!(bench.at(), here - 1);
}

#[test]
fn every_match_in_a_chunk_is_reached() {
    let mut bench = opened();
    bench.press("rwg/call>⏎");
    let mut notices = vec![bench.notice().to_owned()];
    for key in ["n", "n", "n", "n", "N", "N", "N", "N"] {
        bench.press(key);
        notices.push(bench.notice().to_owned());
    }
    let places: Vec<&str> = notices.iter().map(|notice| notice.split(' ').nth(6).unwrap_or("")).collect();
    assert_eq!(places, ["47,", "71,", "78,", "94,", "7", "94,", "78,", "71,", "47,"], "{notices:?}");
}

#[test]
fn a_breakpoint_after_the_end_is_never_met() {
    let mut bench = opened();
    bench.press("gs99999⏎c");
    assert_eq!(bench.notice(), "no breakpoint up to the end");
}

#[test]
fn the_expected_value_is_shown_beside_the_actual_one() {
    let mut bench =
        bench(&["Hm</think>One.<call>{\"city\": \"Paris\"}</call><call>{\"city\": \"Oslo\"}</call><stop>"], &start());
    let expected = r#"{"role": "assistant", "reasoning": "Hm", "content": "One.",
                       "tool_calls": [{"city": "Paris"}, {"city": "Rome"}]}"#;
    bench.world.borrow_mut().expected = json::read(expected).unwrap().as_object().cloned();
    bench.app.reload();
    bench.press("rwx");
    let screen = bench.screen(200, 50);
    assert!(
        screen.contains(r#"{"city": "Oslo"} expected {"city": "Rome"}"#.replace("} e", "}  e").as_str()),
        "{screen}"
    );
    assert!(screen.contains("`tool_calls`: expected "), "{screen}");
    let small = bench.screen(80, 24);
    assert!(small.contains("\"Oslo\"} ≠ ") && small.contains("`tool_calls`: - expected, + actual"), "{small}");
    assert!(small.contains("-   \"city\": \"Rome\"") && small.contains("+   \"city\": \"Oslo\""), "{small}");
    bench.press("⏎");
    for (width, height) in [(80, 24), (200, 50)] {
        let details = bench.screen(width, height);
        let column = |row: &str| row.chars().enumerate().filter(|(_, c)| *c == '│').nth(1).map(|(at, _)| at);
        let mut rows = details.lines().skip_while(|row| !row.contains("`tool_calls`: expected"));
        let head = rows.next().unwrap().trim_start_matches(|c| c != '│');
        let first = rows.next().unwrap().trim_start_matches(|c| c != '│');
        assert!(head.contains("│  actual"), "{details}");
        assert_eq!(column(head), column(first), "{details}");
    }
    bench.press("⎋G");
    let end = bench.screen(200, 50);
    assert!(end.contains("the message: expected ") && end.contains("│  actual"), "{end}");
    bench.world.borrow_mut().expected = json::read(&expected.replace("Rome", "Oslo")).unwrap().as_object().cloned();
    bench.app.reload();
    assert!(!bench.screen(200, 50).contains("│  actual"), "and nothing of it once it is right");
}

#[test]
fn long_rows_are_cut_around_the_first_difference() {
    let text = format!("x</think>{} and then it ends<stop>", "the same words ".repeat(300));
    let mut bench = bench(&[text.leak()], &start());
    // Only the reference treats the end of the text so far as final.
    bench.press("rncut:4531⏎mm");
    let screen = bench.screen(80, 24);
    for row in ["C … it ends               │≠5 chunk     C ×2 …it ends<stop>", "C … it ends\"              │≠6"]
    {
        assert!(screen.contains(row), "{screen}");
    }
    let streams: Vec<Vec<&str>> = screen.lines().skip(2).take(4).map(|row| row.split('│').collect()).collect();
    assert!(streams.iter().all(|sides| sides[0].trim_end() == sides[1].trim_end()), "one text, one place: {screen}");
}

#[test]
fn x_goes_from_the_first_difference_to_the_end() {
    let mut bench = opened();
    bench.press("r1mmg");
    let Some(difference) = bench.app.session.playback.difference else { panic!("the sides say the same") };
    for (notice, at_end) in
        [("the two sides first differ", false), ("the end of both", true), ("the two sides first differ", false)]
    {
        bench.press("x");
        assert!(bench.notice().starts_with(notice), "{}", bench.notice());
        let side = bench.app.session.side().unwrap();
        assert_eq!(side.recording.has_ended(side.moment), at_end);
        assert!(at_end || side.moment == difference.first);
    }
}
