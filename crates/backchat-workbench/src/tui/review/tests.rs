//! Whole screens of the review, from keys to cells.

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
    at: usize,
    refuses: bool,
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
        if self.refuses {
            return Err(Diagnostic::error("file-changed", "the file changed meanwhile").into());
        }
        self.accepted.push(self.at);
        Ok(())
    }

    fn can_open(&self, index: usize) -> bool {
        index == 0
    }
}

const EXPECTED: &str = "{\n  \"role\": \"assistant\",\n  \"content\": \"It is sunny in Paris, so leave your umbrella at home.\",\n  \"tool_calls\": []\n}";
const FOUND: &str = "{\n  \"role\": \"assistant\",\n  \"content\": \"It is rainy in Paris, so leave your umbrella at home.\\u001b[31m\"\n}";

fn change(expected: &str, found: &str) -> Option<Change> {
    let section = Section { name: "message", expected: expected.to_owned(), found: found.to_owned() };
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
fn decisions_are_kept_and_the_last_one_ends_the_review() {
    let mut docket = docket();
    let mut review = Review::new(&mut docket, Theme::Plain);
    assert_eq!(press(&mut review, "a"), None);
    assert_eq!(press(&mut review, "r"), None);
    assert_eq!(press(&mut review, "s"), Some(ReviewEffect::End));
    let decisions = [Decision::Accepted, Decision::Rejected, Decision::Skipped].map(Some);
    assert_eq!(review.decisions(), decisions);
    assert_eq!(docket.accepted, [0]);
}

#[test]
fn what_is_settled_meanwhile_is_passed_over() {
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
    let mut docket = TestDocket { refuses: true, ..docket() };
    let mut review = Review::new(&mut docket, Theme::Plain);
    assert_eq!(press(&mut review, "a"), None);
    assert!(screen(&mut review, 80, 6).ends_with("the file changed meanwhile"));
    assert!(screen(&mut review, 80, 6).starts_with(" 1/3 "));
    assert_eq!(review.decisions(), [None, None, None]);
}

#[test]
fn only_what_the_workbench_shows_is_opened() {
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
