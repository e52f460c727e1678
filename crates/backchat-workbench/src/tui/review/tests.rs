//! Whole screens of the review, from keys to cells.

use std::cell::Cell;
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use backchat_core::diagnostic::Diagnostic;

/// A docket in memory.
#[derive(Default)]
struct TestDocket {
    names: Vec<String>,
    changes: Vec<Option<Change>>,
    accepted: Vec<usize>,
    groups: Vec<usize>,
    at: usize,
    refuses: Rc<Cell<bool>>,
}

impl Docket for TestDocket {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn change(&mut self, index: usize) -> Result<Option<Change>, Problem> {
        self.at = index;
        Ok(self.changes.get(index).cloned().flatten())
    }

    fn accept(&mut self) -> Result<(), Problem> {
        if self.refuses.get() {
            return Err(Diagnostic::error("file-changed", "the file changed meanwhile").into());
        }
        self.accepted.push(self.at);
        Ok(())
    }

    fn group(&self, index: usize) -> usize {
        self.groups.get(index).copied().unwrap_or(index)
    }

    fn take_back(&mut self) -> Result<(), Problem> {
        if self.refuses.get() {
            return Err(Diagnostic::error("file-changed", "the file changed meanwhile").into());
        }
        self.accepted.pop();
        Ok(())
    }

    fn can_open(&self, index: usize) -> bool {
        index == 0
    }
}

const EXPECTED: &str = "{\n  \"role\": \"assistant\",\n  \"content\": \"It is sunny in Paris, so leave your umbrella at home.\",\n  \"tool_calls\": []\n}";
const FOUND: &str = "{\n  \"role\": \"assistant\",\n  \"content\": \"It is rainy in Paris, so leave your umbrella at home.\\u001b[31m\"\n}";

fn change(expected: &str, found: &str) -> Option<Change> {
    let section = PendingSection { name: "message", expected: expected.to_owned(), found: found.to_owned() };
    let reasons = vec!["the message differs: content: expected \"It is sunny\", found \"It is rainy\"".to_owned()];
    Some(Change { reasons, sections: vec![section] })
}

fn docket() -> TestDocket {
    let names = ["one", "two", "three"].map(|name| format!("tests/weather.fixture#{name}")).to_vec();
    let changes = vec![change(EXPECTED, FOUND), change("", FOUND), change(EXPECTED, FOUND)];
    TestDocket { names, changes, ..TestDocket::default() }
}

fn press(review: &mut Review<'_>, keys: &str) -> Option<ReviewEffect> {
    keys.chars().map(|c| review.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))).last().flatten()
}

fn screen(review: &mut Review<'_>, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| review.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn decisions_are_kept_and_the_last_one_can_be_undone() {
    let mut docket = docket();
    let mut review = Review::new(&mut docket, Theme::Plain);
    assert_eq!(press(&mut review, "a"), None);
    assert_eq!(press(&mut review, "r"), None);
    assert_eq!(press(&mut review, "s"), None);
    let decisions = [Decision::Accepted, Decision::Rejected, Decision::Skipped].map(Some);
    assert_eq!(review.decisions(), decisions);
    assert!(review.is_over());
    insta::assert_snapshot!("review_over_80x24", screen(&mut review, 80, 24));
    press(&mut review, "u");
    assert_eq!(review.decisions(), [Some(Decision::Accepted), Some(Decision::Rejected), None]);
    press(&mut review, "uu");
    assert_eq!(review.decisions(), [None; 3]);
    assert!(screen(&mut review, 80, 24).starts_with(" 1/3 "));
    press(&mut review, "u");
    assert!(screen(&mut review, 80, 24).ends_with("nothing was decided yet"));
    press(&mut review, "rra");
    assert_eq!(review.key(KeyCode::Enter.into()), Some(ReviewEffect::End));
    assert_eq!(docket.accepted, [2]);
}

#[test]
fn a_decision_can_be_revised() {
    let mut docket = docket();
    let mut review = Review::new(&mut docket, Theme::Plain);
    press(&mut review, "b");
    assert!(screen(&mut review, 80, 24).ends_with("this is the first case"));
    press(&mut review, "asb");
    let shown = screen(&mut review, 80, 24);
    assert!(shown.starts_with(" 2/3 ") && shown.contains("decided: skipped"), "{shown}");
    press(&mut review, "r");
    assert_eq!(review.decisions(), [Some(Decision::Accepted), Some(Decision::Rejected), None]);
    assert!(screen(&mut review, 80, 24).starts_with(" 3/3 "), "on to what is undecided");
    press(&mut review, "bb");
    let shown = screen(&mut review, 80, 24);
    assert!(shown.contains("decided: accepted") && shown.contains("-   \"content\": \"It is sunny"), "{shown}");
    press(&mut review, "r");
    assert!(screen(&mut review, 80, 24).contains("this case was accepted and written; u undoes"));
    assert_eq!(review.decisions(), [Some(Decision::Accepted), Some(Decision::Rejected), None]);
}

#[test]
fn equal_differences_are_accepted_and_undone_at_once() {
    let mut docket = docket();
    docket.changes[1] = change(EXPECTED, "{}");
    docket.groups = vec![0, 1, 0];
    let mut review = Review::new(&mut docket, Theme::Plain);
    insta::assert_snapshot!("review_alike_40x12", screen(&mut review, 40, 12));
    press(&mut review, "A");
    let shown = screen(&mut review, 80, 24);
    assert!(
        shown.starts_with(" 2/3 ") && shown.contains("accepted 2 cases with the same difference; u undoes it"),
        "{shown}"
    );
    assert_eq!(review.decisions(), [Some(Decision::Accepted), None, Some(Decision::Accepted)]);
    press(&mut review, "u");
    assert_eq!(review.decisions(), [None; 3]);
    press(&mut review, "sA");
    assert_eq!(review.decisions(), [Some(Decision::Skipped), Some(Decision::Accepted), None], "no other is like it");
    press(&mut review, "A");
    assert_eq!(review.decisions(), [Decision::Accepted; 3].map(Some), "what was skipped is like it, too");
    drop(review);
    assert_eq!(docket.accepted, [1, 0, 2]);
}

#[test]
fn cases_that_no_longer_match_stay_undecided() {
    let mut docket = docket();
    docket.changes[1] = change(EXPECTED, "{}");
    docket.groups = vec![0, 0, 0];
    let mut review = Review::new(&mut docket, Theme::Plain);
    press(&mut review, "A");
    assert_eq!(review.decisions(), [Some(Decision::Accepted), None, Some(Decision::Accepted)]);
}

#[test]
fn escape_asks() {
    let mut docket = docket();
    let mut review = Review::new(&mut docket, Theme::Plain);
    assert_eq!(review.key(KeyCode::Esc.into()), None);
    assert!(screen(&mut review, 80, 24).ends_with("leave the review, 3 undecided? y leaves, any other key stays"));
    assert_eq!(press(&mut review, "a"), None);
    assert_eq!(review.decisions(), [None; 3], "the answer is not a decision");
    assert_eq!(review.key(KeyCode::Esc.into()), None);
    assert_eq!(press(&mut review, "y"), Some(ReviewEffect::End));
}

#[test]
fn a_decision_that_cannot_be_undone_stays() {
    let mut docket = docket();
    let refuses = Rc::clone(&docket.refuses);
    let mut review = Review::new(&mut docket, Theme::Plain);
    press(&mut review, "ru");
    assert_eq!(review.decisions(), [None; 3], "what wrote nothing is undone");
    press(&mut review, "a");
    refuses.set(true);
    press(&mut review, "u");
    assert_eq!(review.decisions(), [Some(Decision::Accepted), None, None]);
    assert!(screen(&mut review, 80, 24).ends_with("the file changed meanwhile"));
    drop(review);
    assert_eq!(docket.accepted, [0]);
}

#[test]
fn cases_resolved_elsewhere_are_skipped() {
    let mut docket = docket();
    docket.changes[1] = None;
    let mut review = Review::new(&mut docket, Theme::Plain);
    press(&mut review, "s");
    assert!(screen(&mut review, 80, 5).starts_with(" 3/3  tests/weather.fixture#three"));
    assert_eq!(press(&mut review, "q"), Some(ReviewEffect::End));
    assert_eq!(review.decisions(), [Some(Decision::Skipped), Some(Decision::Settled), None]);
}

#[test]
fn a_case_that_cannot_be_written_is_reported_and_stays() {
    let mut docket = TestDocket { refuses: Rc::new(Cell::new(true)), ..docket() };
    let mut review = Review::new(&mut docket, Theme::Plain);
    assert_eq!(press(&mut review, "a"), None);
    assert!(screen(&mut review, 80, 6).ends_with("the file changed meanwhile"));
    assert!(screen(&mut review, 80, 6).starts_with(" 1/3 "));
    assert_eq!(review.decisions(), [None, None, None]);
}

#[test]
fn only_outputs_open_in_the_workbench() {
    let mut docket = docket();
    let mut review = Review::new(&mut docket, Theme::Plain);
    assert_eq!(press(&mut review, "o"), Some(ReviewEffect::Open(0)));
    assert_eq!(press(&mut review, "so"), None);
    assert!(screen(&mut review, 80, 6).ends_with("the workbench shows outputs, not rendered chats"));
}

#[test]
fn screens() {
    let mut docket = docket();
    let mut review = Review::new(&mut docket, Theme::Plain);
    insta::assert_snapshot!("review_lines_80x24", screen(&mut review, 80, 24));
    press(&mut review, "d");
    insta::assert_snapshot!("review_sides_80x24", screen(&mut review, 80, 24));
    press(&mut review, "dr");
    insta::assert_snapshot!("review_unsaid_40x10", screen(&mut review, 40, 10));
    for (width, height) in [(1, 1), (3, 2), (10, 3), (200, 50)] {
        let shown = screen(&mut review, width, height);
        let head: String = " 2/3  …".chars().take(usize::from(width.min(5))).collect();
        assert!(shown.starts_with(head.trim_end()), "{width}×{height}: {shown}");
    }
}

#[test]
fn a_long_difference_scrolls_to_its_end_and_back() {
    let text = |word: &str| (0..40).map(|n| format!("{word} {n}")).collect::<Vec<_>>().join("\n");
    let mut docket = docket();
    docket.changes[0] = change(&text("old"), &text("new"));
    let mut review = Review::new(&mut docket, Theme::Plain);
    assert!(!screen(&mut review, 60, 12).contains("new 39"));
    press(&mut review, "G");
    assert!(screen(&mut review, 60, 12).contains("+ new 39"));
    press(&mut review, "k");
    assert!(!screen(&mut review, 60, 12).contains("+ new 39"));
    press(&mut review, "g");
    assert!(screen(&mut review, 60, 12).contains("- old 0"));
}
