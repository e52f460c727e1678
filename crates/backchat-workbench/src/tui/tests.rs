//! Whole screens, from keys to cells.

mod findings;
mod large;
mod lists;
mod proof;
mod session_actions;
mod steps;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::replay::Chunking;
use crate::session::{
    ChatTemplate, Conversation, Derived, Finding, Hit, Material, OtherTemplate, Outputs, Position, Problem, Proof,
    ProofState, ProofTask, RepairTask, Start, Verdict, View,
};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::{self, Object, Value};
use backchat_parser::parser::Chunks;
use backchat_parser::template::Template;

const TEMPLATE: &str = r#"{
  "defaults": {"role": "assistant"},
  "start_anchor": "<bot>",
  "fields": {
    "reasoning": {"open": "<think>", "close": "</think>"},
    "tool_calls": {
      "open": "<call>",
      "close": "</call>",
      "repeats": true,
      "content": "json"
    },
    "content": {"close_pattern": "<stop>|$"}
  }
}
"#;

const PROMPT: &str = "<user>What is the weather in Paris?\n<bot><think>";
const OUTPUT: &str = "Look it up.\u{1b}[31m\nIs 2 < 3?</think>One moment.\n<call>{\"city\": \"Paris\"}</call>\n<call>{\"city\": </call><stop>";

/// A proof of a template with the text of a chat template.
type Prove = fn(&Template, &str) -> Result<Proof, String>;

/// The files that the tests change under the workbench, and those that it writes.
#[derive(Default)]
struct World {
    template: Option<String>,
    expected: Option<Object>,
    blessed: Option<Object>,
    derived: Option<Value>,
    is_excused: bool,
    /// The text of the chat template.
    chat_template: String,
    /// The result of proofs with the chat template.
    prove: Option<Prove>,
    /// The repair that is found for a template.
    repair: Option<fn(&str) -> Option<Finding>>,
}

struct TestOutputs {
    names: Vec<String>,
    outputs: Vec<&'static str>,
    first_failing: usize,
    world: Rc<RefCell<World>>,
}

impl Outputs for TestOutputs {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn material(&self, index: usize) -> Result<Material, Problem> {
        let text = self.world.borrow().template.clone().unwrap_or_else(|| TEMPLATE.to_owned());
        let problem = |diagnostics: Vec<Diagnostic>| Problem { diagnostics, sources: Default::default() };
        let loaded = Template::load(&text).map_err(|error| problem(error.diagnostics))?;
        let Some(output) = self.outputs.get(index).filter(|output| !output.is_empty()) else {
            let missing = Diagnostic::error("unreadable-file", "cannot read the file: it is gone");
            return Err(missing.at(Place::file(format!("output-{index}.txt"))).into());
        };
        Ok(Material {
            template: loaded.template,
            template_file: "template.json".to_owned(),
            template_span: 0..text.len(),
            template_text: text,
            other: Some(OtherTemplate {
                name: "other.json".to_owned(),
                template: Template::load(OTHER).unwrap().template,
            }),
            prefix: PROMPT.to_owned(),
            output: (*output).to_owned(),
            chunks: (index == 1).then(|| vec![5, 3]),
            tools: None,
            recovery: Default::default(),
            expected: self.world.borrow().expected.clone(),
            is_excused: self.world.borrow().is_excused,
        })
    }

    fn files(&self, _: usize) -> Vec<PathBuf> {
        Vec::new()
    }

    fn bless(&self, _: usize, _: &Material, message: &Object) -> Result<String, Problem> {
        self.world.borrow_mut().blessed = Some(message.clone());
        Ok("blessed".to_owned())
    }

    fn derive(&self, _: usize) -> Result<Derived, Problem> {
        Ok(Derived { status: "proved".to_owned(), template: self.world.borrow().derived.clone() })
    }

    fn place(&self, _: usize) -> Option<(PathBuf, usize)> {
        None
    }

    fn can_derive(&self, _: usize) -> bool {
        true
    }

    fn write_template(&self, _: &Path, before: &str, after: &str) -> Result<(), Problem> {
        let mut world = self.world.borrow_mut();
        assert_eq!(world.template.as_deref().unwrap_or(TEMPLATE), before);
        world.template = Some(after.to_owned());
        Ok(())
    }

    fn repair_task(&self, _: usize, material: &Material, linted: &[Finding]) -> Option<RepairTask> {
        let repair = self.world.borrow().repair?;
        let mut found: Vec<Finding> = repair(&material.template_text).into_iter().collect();
        found.extend(linted.iter().cloned());
        Some(Box::new(move || Some(found)))
    }

    fn chat_template(&self, _: usize) -> Option<ChatTemplate> {
        let world = self.world.borrow();
        world.prove.map(|_| Ok((world.chat_template.clone(), Object::new())))
    }

    fn proof_task(&self, _: usize, template: &Template) -> Option<ProofTask> {
        let prove = self.world.borrow().prove?;
        let (template, chat_template) = (template.clone(), self.world.borrow().chat_template.clone());
        Some(Box::new(move || Some(prove(&template, &chat_template))))
    }

    fn append_conversations(&mut self, conversations: Vec<Conversation>, _: usize) -> usize {
        let first = self.first_failing;
        self.names.truncate(first);
        self.outputs.truncate(first);
        for conversation in conversations {
            self.names.push(conversation.name);
            self.outputs.push(conversation.output.leak());
        }
        first
    }

    fn command(&self, index: usize, view: &View) -> Result<String, String> {
        Ok(format!("replay {index} --at {} --chunks {} {:?}", view.at, view.chunking.written(), view.showing))
    }
}

const OTHER: &str =
    r#"{"start_anchor": "<bot>", "fields": {"reasoning": {"open": "<think>", "close": "</think>"}, "content": {}}}"#;

struct Bench {
    app: App,
    world: Rc<RefCell<World>>,
}

fn start() -> Start {
    Start::default()
}

fn bench(outputs: &[&'static str], start: &Start) -> Bench {
    bench_in(Theme::Dark, outputs, start)
}

fn bench_in(theme: Theme, outputs: &[&'static str], start: &Start) -> Bench {
    bench_named(theme, (0..outputs.len()).map(|at| format!("output-{at}.txt")).collect(), outputs, start)
}

fn bench_named(theme: Theme, names: Vec<String>, outputs: &[&'static str], start: &Start) -> Bench {
    let world = Rc::new(RefCell::new(World::default()));
    let outputs = TestOutputs { names, outputs: outputs.to_vec(), first_failing: outputs.len(), world: world.clone() };
    Bench { app: App::new(Box::new(outputs), start, theme).map_err(|problem| problem.line()).unwrap(), world }
}

fn opened() -> Bench {
    bench(&[OUTPUT], &start())
}

impl Bench {
    /// Presses keys: each character one, `⇥` tab, `⏎` enter, `⎋` escape, `↓` and so on the arrows.
    fn press(&mut self, keys: &str) -> Option<Effect> {
        let mut effect = None;
        for c in keys.chars() {
            let code = match c {
                '⇥' => KeyCode::Tab,
                '⏎' => KeyCode::Enter,
                '⎋' => KeyCode::Esc,
                '⌫' => KeyCode::Backspace,
                '↓' => KeyCode::Down,
                '→' => KeyCode::Right,
                '↑' => KeyCode::Up,
                c => KeyCode::Char(c),
            };
            effect = self.app.key(KeyEvent::new(code, KeyModifiers::NONE)).or(effect);
        }
        effect
    }

    fn screen(&mut self, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| self.app.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content.chunks(usize::from(width.max(1)));
        let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }

    /// How many characters of the output have arrived.
    fn at(&self) -> isize {
        let side = self.app.session.side().unwrap();
        side.recording.offset_of(side.recording.arrived(side.moment))
    }

    fn notice(&self) -> &str {
        self.app.session.notice.as_deref().unwrap_or("")
    }
}

/// Waits for lint, the proof and its repairs.
fn settled(bench: &mut Bench) {
    let start = std::time::Instant::now();
    loop {
        bench.app.work(std::time::Instant::now());
        if !bench.app.session.is_inspecting() || start.elapsed() > std::time::Duration::from_secs(20) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn screens_at_three_sizes() {
    let mut bench = opened();
    bench.press("jj5l");
    insta::assert_snapshot!("screen_80x24", bench.screen(80, 24));
    insta::assert_snapshot!("screen_200x50", bench.screen(200, 50));
    insta::assert_snapshot!("screen_40x10", bench.screen(40, 10));
}

#[test]
fn both_modes_side_by_side() {
    let mut bench = opened();
    bench.press("mm");
    insta::assert_snapshot!("both_modes_80x24", bench.screen(80, 24));
}

#[test]
fn the_help_lists_every_key() {
    let mut bench = opened();
    bench.press("?");
    let screen = bench.screen(100, 100);
    for binding in keys::KEYS {
        assert!(screen.contains(binding.words), "{} is not in the help", binding.words);
    }
    insta::assert_snapshot!("help_80x24", bench.screen(80, 24));
}

#[test]
fn no_size_and_no_key_breaks_the_screen() {
    let mut bench = bench(&[OUTPUT, OUTPUT], &start());
    let keys: Vec<char> = keys::KEYS
        .iter()
        .flat_map(|binding| binding.keys)
        .filter_map(|key| match key.0 {
            KeyCode::Char(c) => Some(c),
            _ => None,
        })
        .collect();
    for (at, size) in [(1, 1), (2, 30), (7, 3), (40, 10), (59, 11), (61, 13), (121, 21), (300, 5)].iter().enumerate() {
        for key in keys.iter().cycle().skip(at * 7).take(60) {
            bench.press(&key.to_string());
            bench.screen(size.0, size.1);
            bench.app.work(std::time::Instant::now());
        }
        bench.press("⎋⎋");
    }
}

#[test]
fn keys_move_through_a_list() {
    let mut bench = bench(&[OUTPUT, "</think>Hi<stop>", ""], &start());
    while bench.app.session.is_busy() {
        bench.app.work(std::time::Instant::now());
    }
    let verdicts: Vec<Verdict> = bench.app.session.library.verdicts.iter().map(|verdict| verdict.unwrap()).collect();
    assert_eq!(verdicts, [Verdict::Odd, Verdict::InOrder, Verdict::Broken]);
    bench.press("[");
    assert_eq!(bench.notice(), "this is the first output");
    bench.press("]");
    assert!(bench.screen(80, 24).starts_with("output-1.txt 2/3"));
    bench.press("]");
    assert!(bench.screen(80, 24).contains("cannot read the file: it is gone"));
    bench.press("o");
    insta::assert_snapshot!("outputs_80x24", bench.screen(80, 24));
    bench.press("↑⏎");
    assert!(bench.app.session.library.problem.is_none());
}

#[test]
fn the_mouse_points() {
    let mut bench = opened();
    bench.screen(80, 24);
    let click = |column, row| MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column,
        row,
        modifiers: KeyModifiers::NONE,
    };
    assert!(bench.app.mouse(click(20, 3)).0);
    assert!(bench.at() > 0, "a click on the output goes there");
    let before = bench.at();
    bench.screen(80, 24);
    assert!(bench.app.mouse(click(5, 15)).0);
    assert_ne!(bench.at(), before, "a click on an event goes there");
    assert!(
        !bench.app.mouse(MouseEvent { kind: MouseEventKind::Moved, ..click(1, 1) }).0,
        "nothing is drawn for nothing"
    );
    let wheel = MouseEvent { kind: MouseEventKind::ScrollDown, ..click(5, 3) };
    assert!(bench.app.mouse(wheel).0);
}

#[test]
fn panes_fold_move_and_zoom() {
    let mut bench = opened();
    assert!(bench.screen(80, 24).contains(" Message "));
    bench.press("Z");
    assert!(!bench.screen(80, 24).contains(" Message "));
    bench.press("⎋z");
    assert!(bench.screen(80, 24).contains(" Output (folded) "));
    bench.press("z>");
    let screen = bench.screen(80, 24);
    assert!(screen.lines().nth(1).unwrap().contains(" Events "), "{screen}");
    bench.press("⇥");
    assert_eq!(bench.app.layout.panes.focus, panes::Pane::Message);
}

#[test]
fn text_from_models_is_never_interpreted() {
    let hostile = "</think>\u{1b}]0;title\u{7}\u{202e}\u{200b}\r\u{9b}31m日本<stop>";
    for theme in [Theme::Dark, Theme::Plain] {
        let mut bench = bench_in(theme, &[hostile], &start());
        for keys in ["G", "v", "a", "⏎", "⎋o", "⎋mm"] {
            bench.press(keys);
            for (width, height) in [(80, 24), (200, 50), (40, 10)] {
                let screen = bench.screen(width, height);
                let obeyed =
                    screen.chars().find(|c| *c != '\n' && (c.is_control() || matches!(c, '\u{202e}' | '\u{200b}')));
                assert_eq!(obeyed, None, "{screen}");
            }
        }
    }
}

#[test]
fn without_colors_nothing_is_lost() {
    let mut bench = bench_in(Theme::Plain, &[OUTPUT], &start());
    bench.press("60l");
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| bench.app.draw(frame)).unwrap();
    let plain = |cell: &ratatui::buffer::Cell| {
        cell.fg == ratatui::style::Color::Reset && cell.bg == ratatui::style::Color::Reset
    };
    assert!(terminal.backend().buffer().content.iter().all(plain));
    let screen = bench.screen(80, 24);
    assert!(screen.lines().any(|line| line.starts_with("T ") || line.starts_with("CT")), "{screen}");
}

#[test]
fn combining_marks_are_drawn_with_their_base() {
    let text = "</think>cafe\u{301} कि ที่ 👨\u{200d}👩\u{200d}👧🇫🇷<stop>";
    let mut bench = bench(&[text], &start());
    for (width, height) in [(80, 24), (40, 10)] {
        let screen = bench.screen(width, height);
        for part in ["cafe\u{301}", "कि", "ที่", "👨\u{200d}👩\u{200d}👧"] {
            assert!(screen.contains(part), "{part} in {screen}");
        }
    }
}

const MANY: &str = r#"{
  "start_anchor": "<bot>",
  "fields": {
    "first_of_several": {"open": "<section_of_the_first_kind>", "close": "</section_of_the_first_kind>"},
    "second_of_several": {"open": "<section_of_the_second_kind>", "close": "</section_of_the_second_kind>"},
    "third_of_several": {"open": "<section_of_the_third_kind>", "close": "</section_of_the_third_kind>"},
    "content": {}
  }
}"#;

/// The words of the bottom rows, as one sentence.
fn said(screen: &str) -> String {
    screen.lines().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_details_list_every_reason_for_held_text() {
    let mut bench = bench(&["Hello <section_of_the_"], &start());
    bench.world.borrow_mut().template = Some(MANY.to_owned());
    bench.app.reload();
    bench.press("gG");
    bench.press("h");
    let why = bench.app.session.side().map(|side| side.recording.why(side.moment)).unwrap();
    assert!(why.len() > 200, "{why}");
    let screen = bench.screen(80, 24);
    assert!(said(&screen).contains(&why), "{screen}");
    let rows = |screen: &str| screen.lines().position(|line| line.starts_with('▸')).unwrap();
    let before = rows(&screen);
    bench.press("20h");
    assert_eq!(rows(&bench.screen(80, 24)), before, "the panes do not jump");
    bench.press("Gh");
    bench.press("Gh");
    let small = bench.screen(40, 10);
    assert!(said(&small).contains("holding `<section_of_the_`: could become the opening of"), "{small}");
    bench.press("⏎");
    for (width, height) in [(80, 24), (40, 24)] {
        let screen = bench.screen(width, height);
        assert_eq!(said(&screen).matches("could become the opening").count(), 3, "{screen}");
        assert!(screen.contains("third_of_several"), "{screen}");
    }
    bench.press("⎋mmgGh");
    let screen = bench.screen(80, 24);
    assert_eq!(said(&screen).matches("holding `<section_of_the_`").count(), 2, "{screen}");
}

#[test]
fn the_header_keeps_the_important_parts() {
    let name = "a/very/long/path/to/a/folder/of/many/fixtures.fixture#and-a-long-case";
    let mut bench = bench_named(Theme::Dark, vec![name.to_owned()], &[OUTPUT], &start());
    for (width, parts) in [
        (80, &["long-case", "stable, chunks of 1", "char 0/105  chunk 0/105"][..]),
        (60, &["long-case", "stable, chunks of 1", "char 0/105"]),
        (40, &["case", "char 0/105"]),
        (10, &["case"]),
    ] {
        let screen = bench.screen(width, 10);
        let header = screen.lines().next().unwrap();
        for part in parts {
            assert!(header.contains(part), "{part} in {header}");
        }
    }
}

#[test]
fn a_question_lists_its_answers() {
    let mut bench = opened();
    bench.press("s/x");
    for (width, height) in [(80, 24), (40, 10)] {
        let screen = bench.screen(width, height);
        assert!(said(&screen).contains("malformed, a field's name, a number of characters or /pattern/"), "{screen}");
        assert!(screen.ends_with("> /x"), "{screen}");
    }
    bench.press("⎋rncut:17⏎");
    assert_eq!(bench.app.session.playback.chunking, Chunking::at([17]));
}

#[test]
fn regions_of_a_row_are_distinct_without_color() {
    let text = "a</think>b<call>{}</call>c<call>{}</call>d<stop>";
    let mut bench = bench_in(Theme::Plain, &[text], &start());
    bench.press("G");
    let screen = bench.screen(80, 24);
    assert!(screen.lines().any(|line| line.starts_with("RC+ <bot><think>a</think>b<call>")), "{screen}");
}

#[test]
fn long_lines_of_a_text_are_wrapped() {
    let mut bench = opened();
    bench.press("G?");
    for (width, height) in [(80, 90), (40, 130), (20, 250)] {
        let screen = bench.screen(width, height);
        let shown = said(&screen).replace("│ ", "").replace(" │", "");
        for binding in keys::KEYS {
            assert!(shown.contains(binding.words), "{} at {width}: {screen}", binding.words);
        }
    }
}

#[test]
fn escape_and_the_next_key_are_two_keys() {
    let mut bench = opened();
    bench.press("?");
    let effect = bench.app.key(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT));
    assert!(bench.app.layout.overlay.is_none());
    assert!(matches!(effect, Some(Effect::Quit)), "{effect:?}");
    // Where text is typed, Alt makes a character.
    bench.press("i");
    let before = bench.app.session.library.material.output.clone();
    assert!(bench.app.key(KeyEvent::new(KeyCode::Char('@'), KeyModifiers::ALT)).is_none());
    assert_eq!(bench.app.session.library.material.output, before + "@");
}
