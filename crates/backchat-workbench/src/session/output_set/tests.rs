//! Cases that are broken and fixed, and rows that are appended.

use super::super::Outputs;
use super::*;
use std::fs;
use std::io::Write;

use backchat_core::json::Object;

#[test]
fn a_broken_case_opens_once_it_is_fixed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("t.json"), r#"{"start_anchor": "<bot>", "fields": {"content": {}}}"#).unwrap();
    let write = |second: &str| {
        let text = format!("template: t.json\n=== prefix none\n=== case a\n=== output\nHi\n=== case b\n{second}");
        fs::write(path("a.fixture"), text).unwrap();
    };
    write("");
    let asked = Request { template: path("a.fixture").display().to_string(), ..Request::default() };
    let Ok(set) = OutputSet::open(&asked, Stdin::Left) else { panic!("the other case is whole") };
    let Err(problem) = Outputs::material(&set, 1) else { panic!("it has no output") };
    assert_eq!(problem.diagnostics[0].id, "fixture-incomplete");
    write("=== output\nHo\n");
    // Two changes may have one time; what was read before is forgotten.
    set.read.borrow_mut().clear();
    let Ok(material) = Outputs::material(&set, 1) else { panic!("it has one now") };
    assert_eq!(material.output, "Ho");
    write("=== output\nHo\n=== output\n");
    set.read.borrow_mut().clear();
    assert_eq!(Outputs::material(&set, 1).err().map(|problem| problem.diagnostics.len()), Some(1));
    assert_eq!(set.place(1).map(|(_, line)| line), Some(1));
    write("=== output\nHo\n=== case a\n=== output\nHa\n");
    let Ok(set) = OutputSet::open(&asked, Stdin::Left) else { panic!("two cases are whole") };
    let Err(problem) = Outputs::material(&set, 2) else { panic!("it has the name of another") };
    assert_eq!(problem.diagnostics[0].id, "duplicate-case");
}

fn names(followed: &mut Followed) -> Vec<String> {
    let shared = |shared: Shared| shared.standing_in(TemplateSource::File("t.json".into()), Some(String::new()));
    let rows = followed.take_rows();
    rows.into_iter()
        .map(|row| followed.case(row, shared).map_or_else(|broken| broken.id, |case| case.id))
        .map(|id| id.rsplit('#').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_row_is_read_once_its_line_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    fs::write(&path, "").unwrap();
    let mut followed = Followed::open(path.to_str().unwrap()).unwrap_or_else(|_| panic!("the file exists"));
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut append = |text: &str| file.write_all(text.as_bytes()).unwrap();
    assert_eq!(names(&mut followed), [""; 0]);
    append("{\"id\": \"a\", \"text\": \"é\"}\n\n{\"id\": \"b\", \"te");
    assert_eq!(names(&mut followed), ["a"]);
    append("xt\": \"2\"}\noops\n{\"id\": \"c\", \"text\": \"3\"}\n");
    assert_eq!(names(&mut followed), ["b", "4", "c"]);
    assert_eq!(names(&mut followed), [""; 0]);
    fs::write(&path, "{\"id\": \"d\", \"text\": \"\"}\n").unwrap();
    assert_eq!(names(&mut followed), ["d"], "a file that was truncated");
    fs::remove_file(&path).unwrap();
    assert_eq!(names(&mut followed), [""; 0]);
}

#[test]
fn a_problem_of_a_row_names_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    fs::write(&path, "{}\n\n  oops\n").unwrap();
    let mut followed = Followed::open(path.to_str().unwrap()).unwrap_or_else(|_| panic!("the file exists"));
    let rows = followed.take_rows();
    let broken = followed.case(rows[1], |shared| shared).unwrap_err();
    let place = broken.diagnostics[0].place.clone().unwrap();
    assert_eq!((place.line_column, place.file), (Some((3, 3)), Some(path.display().to_string())));
}

#[test]
fn an_output_is_read_from_its_chat_template_and_its_defaults_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("t.json"), r#"{"start_anchor": "<bot>", "fields": {"content": {}}}"#).unwrap();
    fs::write(path("defaults.fixture"), "template: t.json\nchat-template: chat.jinja\n").unwrap();
    fs::write(path("chat.jinja"), "{{ messages }}").unwrap();
    fs::write(path("a.fixture"), "=== prefix none\n=== output\nHi\n").unwrap();
    let asked = Request { template: path("a.fixture").display().to_string(), ..Request::default() };
    let Ok(set) = OutputSet::open(&asked, Stdin::Left) else { panic!("the case is whole") };
    let mut files = set.files(0);
    files.sort();
    files.dedup();
    assert_eq!(files, ["a.fixture", "chat.jinja", "defaults.fixture", "t.json"].map(path));
    assert_eq!(set.chat_template(0), Some(Ok(("{{ messages }}".to_owned(), Object::new()))));
    fs::remove_file(path("chat.jinja")).unwrap();
    assert!(set.chat_template(0).is_some_and(|read| read.is_err_and(|why| why.contains("chat.jinja: cannot read"))));
    assert!(set.files(0).contains(&path("chat.jinja")), "it may come back");
}
