//! The pages of `--report` in headless Chromium: stepping shows the recorded moments, and the policy blocks other
//! scripts. Without Chromium these tests pass and say so.
#![cfg(all(unix, feature = "tui"))]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::pages::{self, Piece, folder, page, pieces, replayed, root};
use backchat::Template;
use backchat::json::{self, Value};
use backchat::parser::Mode;
use backchat_parser::parser::Chunks;
use backchat_workbench::replay::{Recording, Run};

/// Opens a page in a headless browser; `None` without Chromium.
fn chromium(page: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("chromium");
    let profile = format!("--user-data-dir={}", page.with_extension("profile").display());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", &profile]);
    // A fifth of the time of a small page is what a browser does for its user.
    command.args(["--no-first-run", "--disable-background-networking", "--disable-component-update"]);
    command.args(arguments).arg(format!("file://{}", page.display()));
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("not tested in a browser: chromium: {error}");
            None
        }
    }
}

/// The console messages of a browser about a page.
fn complaints(output: &Output) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    stderr.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
}

/// The page with a script of the test appended, and without its policy, which would block the script.
fn driven(page: &str, script: &str) -> String {
    let start = page.find("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let end = start + page[start..].find('>').unwrap() + 1;
    format!("{}{}<script>{script}</script>", &page[..start], &page[end..])
}

/// What a script calls to answer: JSON in the element `said`.
const SAY: &str = "const say = it => { const e = document.createElement('pre'); e.id = 'said';
    e.textContent = JSON.stringify(it); document.body.append(e); };";

/// The JSON that a script of a page says.
fn said(folder: &Path, page: &str, script: &str) -> Option<Value> {
    let press = "const press = key => dispatchEvent(new KeyboardEvent('keydown', {key}));";
    written(folder, &driven(page, &format!("{press}{SAY}{script}")))
}

/// The same of several pages, each in a frame as wide as a phone: to start a browser takes longer than to show them.
fn said_on_phones(folder: &Path, pages: &[String], script: &str) -> Option<Vec<Value>> {
    let frame = |(index, page): (usize, &String)| {
        let page = driven(page, &format!("const say = it => parent.all[{index}] = it;{script}"));
        let page = page.replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe width=\"390\" height=\"900\" srcdoc=\"{page}\"></iframe>")
    };
    let frames: String = pages.iter().enumerate().map(frame).collect();
    let ends = "var all = []; addEventListener('load', () => say(all));";
    let host = format!("<!doctype html><meta charset=\"utf-8\"><script>{SAY}{ends}</script>{frames}");
    let all = written(folder, &host)?.as_list().unwrap().to_vec();
    assert_eq!(all.len(), pages.len(), "every script ran to its end");
    Some(all)
}

/// The JSON that the scripts of a page leave in the element `said`.
fn written(folder: &Path, page: &str) -> Option<Value> {
    let file = folder.join("driven.html");
    fs::write(&file, page).unwrap();
    let output = chromium(&file, &["--dump-dom", "--window-size=1280,900"])?;
    assert_eq!(complaints(&output), Vec::<String>::new());
    let dom = String::from_utf8(output.stdout).unwrap();
    let at = dom.rfind("<pre id=\"said\">").unwrap_or_else(|| panic!("the script ran to its end: {dom}"));
    let text = dom[at..].split_once('>').unwrap().1.split_once("</pre>").unwrap().0;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    Some(json::read(&text).unwrap())
}

/// Goes through every step from the start, and returns what each shows.
const WALK: &str = "
    const side = document.querySelector('[data-step] figure');
    const [pre, message] = side.querySelectorAll('pre');
    const steps = [];
    press('g');
    for (;;) {
      const [happened, why] = side.querySelectorAll('.now p');
      steps.push({
        held: pre.querySelector('.held').textContent,
        future: pre.querySelector('.future').textContent,
        text: pre.textContent,
        happened: happened.textContent,
        why: why.textContent,
        message: message.textContent.split('\\n}\\n')[0] + '\\n}',
        current: side.querySelector('[aria-current]')?.dataset.row ?? null,
      });
      const root = document.querySelector('[data-step]');
      const before = root.dataset.at;
      press('l');
      if (root.dataset.at === before) break;
    }
    say(steps);";

#[test]
fn each_step_in_the_browser_is_the_moment_that_was_recorded() {
    let folder = folder("walk");
    let output =
        "<think>Is 1 < 2?\u{202e}\0 🚆</think>Yé`s.\n<call>{\"a\": \"</x\"}</call> <call>{\"b\": [1]}</call>no<stop>";
    let Some(steps) = said(&folder, &replayed(&folder, output), WALK) else { return };
    let template = Template::load(pages::TEMPLATE).unwrap().template;
    let run = Run {
        template: &template,
        prefix: "<user>Is 1 < 2?<bot>",
        mode: Mode::Stable,
        tools: None,
        recovery: Default::default(),
    };
    let recording = Recording::new(&run, Chunks::Every(1).split(output)).unwrap();
    let steps = steps.as_list().unwrap();
    assert_eq!(steps.len(), recording.feed_count());
    for (feed, step) in steps.iter().enumerate() {
        let moment = recording.moment_of_feed(feed);
        let text = |key: &str| step.get(key).unwrap().as_str().unwrap().to_owned();
        let escaped =
            |text: &str| text.split('\n').map(backchat_core::diagnostic::escape).collect::<Vec<_>>().join("\n");
        let plain = |words: &str| {
            if words.matches('`').count().is_multiple_of(2) { words.replace('`', "") } else { words.to_owned() }
        };
        let after = recording.slice(recording.arrived(moment)..recording.text().len());
        let held = recording.slice(recording.settled(moment)..recording.arrived(moment));
        assert_eq!(text("future"), escaped(after), "feed {feed}");
        assert_eq!(text("held"), escaped(held), "feed {feed}");
        assert_eq!(text("text"), escaped(recording.text()), "feed {feed}");
        assert_eq!(text("happened"), plain(&recording.happened(moment)), "feed {feed}");
        assert_eq!(text("why"), plain(&recording.why(moment)), "feed {feed}");
        let message = json::read(&text("message")).unwrap();
        assert_eq!(message, Value::Object(recording.message(moment)), "feed {feed}");
        let row = recording.last_event(moment).map(|event| recording.row_of(event).to_string());
        assert_eq!(step.get("current").unwrap().as_str(), row.as_deref(), "feed {feed}");
    }
}

#[test]
fn keys_go_forward_and_back() {
    let folder = folder("keys");
    let page = replayed(&folder, "<think>Hm.</think>Yes.<stop>");
    let script = "
        const root = document.querySelector('[data-step]');
        const at = [];
        for (const key of 'jjjkkllhGhgx') { press(key); at.push(Number(root.dataset.at)); }
        const slider = root.querySelector('input');
        slider.value = 9; slider.dispatchEvent(new Event('input')); at.push(Number(root.dataset.at));
        root.querySelector('button').click(); at.push(Number(root.dataset.at));
        say([at, slider.max, root.querySelector('output').textContent, document.documentElement.scrollWidth <= innerWidth]);";
    let Some(said) = said(&folder, &page, script) else { return };
    // Events: the opening after 7 characters, a chunk up to 10, and so on. 28 characters, the end, and the opening of
    // the content inside a chunk are 30 steps from the start.
    let wanted = "[[0, 7, 10, 7, 0, 1, 2, 1, 30, 29, 0, 0, 9, 0], \"30\", \"step 0 of 30\", true]";
    assert_eq!(said.to_string(), wanted);
}

#[test]
fn a_failing_output_opens_at_its_first_problem_and_each_step_has_a_link() {
    let folder = folder("problem");
    let script = "
        const root = document.querySelector('[data-step]');
        const place = () => root.querySelector('output').textContent;
        const first = [place(), root.querySelector('[aria-current]')?.textContent.includes('! looks wrong') ?? false];
        press('g');
        const link = root.querySelector('.controls a').getAttribute('href');
        location.hash = link.replace('@0', '@3');
        dispatchEvent(new Event('hashchange'));
        say([...first, link, place()]);";
    let output = "<call>{</call>Yes.<stop>";
    let Some(said) = said(&folder, &replayed(&folder, output), script) else { return };
    // The call has no value where it closes, after 14 of 24 characters. The end and the opening of
    // the content are steps as well.
    assert_eq!(said.to_string(), "[\"step 14 of 26\", true, \"#output-1@0\", \"step 3 of 26\"]");
}

#[test]
fn both_sides_step_together_and_x_goes_to_the_difference_and_to_the_end() {
    let folder = folder("together");
    fs::write(folder.join("other.json"), pages::TEMPLATE.replace("</think>", "</thought>")).unwrap();
    fs::write(folder.join("output.txt"), "<think>Hm.</think>Yes.<stop>").unwrap();
    let arguments = ["replay", "template.json", "output.txt", "--prefix", "prompt.txt", "--with", "other.json"];
    let script = "
        const at = [];
        const go = () => { press('x'); at.push(document.querySelector('.controls output').textContent); };
        go();
        const future = [...document.querySelectorAll('.future')].map(e => e.textContent);
        const event = [...document.querySelectorAll('figure [aria-current] td:nth-child(2)')].map(e => e.textContent);
        go();
        go();
        const places = at.map(text => text.replace(/\\d+ of (\\d+)/, (all, last) => all === `${last} of ${last}` ? 'last' : 'before'));
        say([future, event, places]);";
    let Some(said) = said(&folder, &page(&folder, &arguments), script) else { return };
    // The thought ends on one side and continues on the other.
    let future = "[\"</think>Yes.<stop>\", \"</think>Yes.<stop>\"]";
    let event = "[\"chunk ≠ first difference\", \"chunk ≠ first difference\"]";
    let places = "[\"step before\", \"step last\", \"step before\"]";
    assert_eq!(said.to_string(), format!("[{future}, {event}, {places}]"));
}

#[test]
fn tables_fit_a_phone() {
    let folder = folder("narrow");
    let chat = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                {% if add_generation_prompt %}<assistant>{% endif %}";
    fs::write(folder.join("chat.jinja"), chat).unwrap();
    fs::write(folder.join("output.txt"), "<think>Hm.</think>Yes.<stop>").unwrap();
    let case = "template: template.json\n=== case a_name_without_any_space_that_is_longer_than_the_screen_of_a_telephone\n\
                === prefix\n<bot>\n=== output\nHi.<stop>\n=== message\n{}\n";
    fs::write(folder.join("cases.fixture"), case).unwrap();
    let script = "
        const boxes = [document.documentElement, ...document.querySelectorAll('.wide, .events')];
        say([innerWidth, boxes.length, boxes.filter(box => box.scrollWidth > box.clientWidth).length]);";
    let commands = [
        &["doctor", "chat.jinja"][..],
        &["derive", "chat.jinja"],
        &["check", "cases.fixture"],
        &["replay", "template.json", "output.txt", "--prefix", "prompt.txt"],
    ];
    let Some(all) = said_on_phones(&folder, &commands.map(|arguments| page(&folder, arguments)), script) else {
        return;
    };
    for (said, arguments) in all.iter().zip(commands) {
        let said: Vec<String> = said.as_list().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(said[0], "390");
        assert_eq!(said[2], "0", "{arguments:?}");
        assert_ne!(said[1], "1", "{arguments:?} has a table");
    }
}

#[test]
fn a_link_of_the_grid_opens_its_conversation() {
    let folder = folder("grid");
    let chat = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                {% if add_generation_prompt %}<assistant>{% endif %}";
    fs::write(folder.join("chat.jinja"), chat).unwrap();
    let script = "
        const link = document.querySelector('.grid a');
        const open = () => document.querySelector(link.getAttribute('href')).closest('details').open;
        const before = open();
        link.click();
        addEventListener('hashchange', () => say([before, open()]));";
    let Some(said) = said(&folder, &page(&folder, &["derive", "chat.jinja"]), script) else { return };
    assert_eq!(said.to_string(), "[false, true]");
}

#[test]
fn the_policy_allows_only_the_page_itself() {
    let folder = folder("console");
    let file = folder.join("page.html");
    let hostile = "</script><script>document.title = 'run'</script><img src=x onerror=alert(1)>\0\u{202e}".repeat(3);
    let chat = root().join("chat_templates/qwen3.jinja");
    for page in [replayed(&folder, &hostile), page(&folder, &["derive", chat.to_str().unwrap()])] {
        // Another script is blocked, and the console says so, of it alone.
        fs::write(&file, format!("{page}<script>document.title = 'run'</script>")).unwrap();
        let Some(output) = chromium(&file, &["--dump-dom"]) else { return };
        let complaints = complaints(&output);
        assert!(matches!(&complaints[..], [one] if one.contains("Content Security Policy")), "{complaints:#?}");
        let dom = String::from_utf8(output.stdout).unwrap();
        assert!(dom.contains("<button"), "the page's own script runs");
        assert!(!dom.contains("<title>run</title>"));
    }
}

#[test]
fn a_page_can_be_read_without_its_script() {
    let folder = folder("scriptless");
    let page = replayed(&folder, "<think>Hm.</think>Yes.<stop>");
    let tags: Vec<String> = pieces(&page)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Start { tag, .. } => Some(tag),
            _ => None,
        })
        .collect();
    assert!(
        !tags.iter().any(|tag| ["button", "input", "noscript"].contains(&tag.as_str())),
        "only the script adds controls"
    );
    assert!(pages::shown(&page).contains("\"thought\": \"Hm.\""));
}

#[test]
fn pages_of_many_cases_are_short_and_can_be_filtered() {
    let folder = folder("long");
    let case = |at: usize| {
        let found = if at.is_multiple_of(3) { "Hi" } else { "Ho" };
        format!(
            "=== case number {at}\n=== prefix\n<bot>\n=== output\n{found} {at}.<stop>\n=== message\n\
             {{\"role\": \"assistant\", \"content\": \"Hi {at}.\"}}\n"
        )
    };
    let cases: String = (0..659).map(case).collect();
    fs::write(folder.join("many.fixture"), format!("template: template.json\n{cases}")).unwrap();
    let pages = ["check", "replay"].map(|command| page(&folder, &[command, "many.fixture"]));
    // Filters the list of each page.
    let script = "
        const before = document.documentElement.scrollHeight;
        const input = document.querySelector('.filter input');
        input.value = '601 number';
        input.dispatchEvent(new Event('input'));
        const rows = document.querySelectorAll(':is(#cases, #outputs) tbody tr');
        const shown = [...rows].filter(row => row.offsetParent);
        const found = document.querySelector('.filter output').value;
        input.value = '';
        input.dispatchEvent(new Event('input'));
        say([before, shown.map(row => row.querySelector('th').textContent), found,
            document.documentElement.scrollHeight === before]);";
    let Some(all) = said_on_phones(&folder, &pages, script) else { return };
    for said in all {
        let said = said.as_list().unwrap();
        let height = said[0].as_i64().unwrap();
        assert!(height < 8_000, "{height} pixels: 57,700 before it was folded");
        let found = said[1].as_list().unwrap();
        assert!(found.len() == 1 && found[0].as_str().unwrap().ends_with("number 601"), "{found:?}");
        assert_eq!((said[2].as_str(), said[3].clone()), (Some("1 found"), Value::Bool(true)));
    }
}
