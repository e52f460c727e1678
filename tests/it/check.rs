//! The `backchat check` command: its output in each format, and its exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "defaults": {"role": "assistant"}, "fields": {
  "reasoning_content": {"open": "<think>", "close": "</think>"},
  "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
    "transform": {"type": "function", "function": "{content}"}},
  "content": {"close": "<end>"}
}}"#;

/// A template whose close also matches the end of the text, so that transformers lets half a stop token through.
const DEPENDENT: &str = r#"{"start_anchor": "<bot>", "fields": {"content": {"close_pattern": "<end>|$"}}}"#;

const HEAD: &str = "template: t.json\nstop: <end>\n=== prefix\n<bot>\n";

/// A folder with files, where commands run.
struct Project(TempDir);

/// The exit code and the output of a command, without times.
struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.write("t.json", TEMPLATE);
        files.iter().for_each(|(name, text)| project.write(name, text));
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn check_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        let output = Command::new(env!("CARGO_BIN_EXE_backchat"))
            .arg("check")
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .env_remove("CI")
            .env_remove("GITHUB_ACTIONS")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| without_times(&String::from_utf8(bytes).unwrap());
        Answer { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn check(&self, arguments: &[&str]) -> Answer {
        self.check_with(arguments, &[])
    }
}

fn without_times(text: &str) -> String {
    let text = text.lines().map(|line| match (line.rfind(" ("), line.ends_with(" s)")) {
        (Some(at), true) => format!("{} (TIME)\n", &line[..at]),
        _ => match line.find(" time=\"") {
            Some(at) => {
                let end = at + 7 + line[at + 7..].find('"').unwrap();
                format!("{} time=\"TIME{}\n", &line[..at], &line[end..])
            }
            None => format!("{line}\n"),
        },
    });
    text.collect()
}

impl Answer {
    fn shown(&self) -> String {
        format!("{}── stderr\n{}── exit {}\n", self.out, self.err, self.code)
    }
}

fn good() -> String {
    format!(
        "{HEAD}=== output\n<think>hm</think>Hi<end>\n=== message\n{{\"role\": \"assistant\", \"reasoning_content\": \"hm\", \"content\": \"Hi\"}}\n"
    )
}

fn failing() -> String {
    format!(
        "{HEAD}=== case wrong message\n=== output\nHello<call>{{\"name\": \"f\", \"arguments\": {{\"a\": 1}}}}</call>\n\
         === message\n{{\"role\": \"assistant\", \"content\": \"Hallo\", \"tool_calls\": []}}\n\
         === case malformed\n=== output\n<call>{{\"name\": </call>\u{1b}[31mx\n=== message\n{{\"role\": \"assistant\"}}\n\
         === case other events\n=== output\na\n=== message\n{{\"role\": \"assistant\", \"content\": \"a\"}}\n=== events\n\
         {{\"type\": \"region_open\", \"field\": \"content\"}}\n=== case good\n=== output\na\n=== message\n\
         {{\"role\": \"assistant\", \"content\": \"a\"}}\n"
    )
}

#[test]
fn cases_that_hold() {
    let project = Project::new(&[("x/a.fixture", &good().replace("t.json", "../t.json"))]);
    let answer = project.check(&[]);
    assert_eq!((answer.code, answer.out.as_str()), (0, ""));
    assert_eq!(answer.err, "1 case: 1 passed (TIME)\n");
    let answer = project.check(&["-q", "x/a.fixture"]);
    assert_eq!((answer.code, answer.out.as_str(), answer.err.as_str()), (0, "", ""));
}

#[test]
fn failing_cases() {
    let project = Project::new(&[("a.fixture", &failing())]);
    insta::assert_snapshot!(project.check(&[]).shown());
}

#[test]
fn every_format() {
    let project = Project::new(&[("a.fixture", &failing())]);
    for format in ["concise", "json", "github", "junit", "sarif"] {
        let answer = project.check(&["-q", "--format", format]);
        assert_eq!(answer.code, 1);
        insta::assert_snapshot!(format!("format_{format}"), answer.out);
    }
}

#[test]
fn several_outputs_at_once() {
    let project = Project::new(&[("a.fixture", &failing())]);
    let answer = project.check(&[
        "-q", "--format", "concise", "--output", "o.xml", "--output", "o.sarif", "--output", "json=o", "--output",
        "o.txt",
    ]);
    assert_eq!((answer.code, answer.out.lines().count()), (1, 4));
    assert_eq!(without_times(&project.read("o.xml")), project.check(&["-q", "--format", "junit"]).out);
    assert_eq!(project.read("o.sarif"), project.check(&["-q", "--format", "sarif"]).out);
    assert_eq!(project.read("o"), project.check(&["-q", "--format", "json"]).out);
    assert_eq!(without_times(&project.read("o.txt")), project.check(&["-q"]).out);
    let answer = project.check(&["--output", "o.unknown"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("give the format as well"), "{}", answer.err);
    let answer = project.check(&["--output", "no/folder/o.xml"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("cannot write the file"), "{}", answer.err);
}

#[test]
fn a_workflow_gets_annotations() {
    let project = Project::new(&[("a.fixture", &failing())]);
    let answer = project.check_with(&["-q"], &[("GITHUB_ACTIONS", "true")]);
    assert_eq!(answer.out, project.check(&["-q", "--format", "github"]).out);
}

#[test]
fn a_different_answer_of_transformers_is_a_warning() {
    let text = format!("{HEAD}=== output\nOne.\nTwo.<end>\n=== message\n{{\"content\": \"One.\\nTwo.\"}}\n");
    let project = Project::new(&[("t.json", DEPENDENT), ("a.fixture", &text)]);
    insta::assert_snapshot!(project.check(&[]).shown());
    assert_eq!(project.check(&["--reference", "deny"]).code, 1);
    assert_eq!(project.check(&["--reference", "off"]).out, "");
}

#[test]
fn a_truncated_output_has_no_invented_call() {
    let template = r#"{"start_anchor": "<bot>", "fields": {
      "tool_calls": {"open_pattern": "<call (?P<name>\\w+)", "close": "</call>", "repeats": true,
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}
    }}"#;
    let text = format!(
        "{HEAD}=== output\n<call add>1</call>\n=== message\n\
         {{\"tool_calls\": [{{\"function\": {{\"name\": \"add\", \"arguments\": \">1\"}}}}]}}\n"
    );
    let project = Project::new(&[("t.json", template), ("a.fixture", &text)]);
    let answer = project.check(&["--format", "concise"]);
    assert_eq!(
        answer.out,
        "a.fixture:5:1: error[check-truncated] the output cut off after character 7 gives a call of `a` that the full \
         text does not contain there\n"
    );
}

#[test]
fn a_stop_token_that_nothing_closes_leaks() {
    let text = format!("{HEAD}=== output\nHi\n=== message\n{{\"role\": \"assistant\", \"content\": \"Hi\"}}\n");
    let project = Project::new(&[("a.fixture", &text.replace("stop: <end>", "stop: <end>\nstop: <eot>"))]);
    let answer = project.check(&["--format", "concise"]);
    assert_eq!(
        answer.out,
        "a.fixture:6:1: error[check-stop] the message changes with `<eot>` after the output: content: expected \"Hi\", \
         found \"Hi<eot>\"\n"
    );
}

#[test]
fn the_round_trip_finds_dropped_keys() {
    let chat = "{% for m in messages %}<{{ 'bot' if m.role == 'assistant' else m.role }}>{{ m.content }}<end>{% endfor %}\
                {% if add_generation_prompt %}<bot>{% endif %}";
    let text = good().replace("template: t.json\n", "template: t.json\nchat-template: c.jinja\n");
    let project = Project::new(&[("c.jinja", chat), ("a.fixture", &text)]);
    let answer = project.check(&["--format", "concise"]);
    assert_eq!(
        answer.out,
        "a.fixture:9:1: error[check-round-trip] the message changes when it is rendered and parsed again: \
         reasoning_content: expected \"hm\", found nothing\n"
    );
    project.write("a.fixture", text.replace("stop:", "round-trip: without reasoning_content\nstop:"));
    assert_eq!(project.check(&[]).code, 0);
    project.write("c.jinja", "{% if %}");
    let answer = project.check(&["--format", "concise"]);
    assert_eq!(answer.code, 2, "{}", answer.out);
    assert!(answer.out.contains("the chat template `c.jinja` does not load"), "{}", answer.out);
}

#[test]
fn messages_that_render_alike_are_a_note() {
    let chat = "{% for m in messages %}<{{ 'bot' if m.role == 'assistant' else m.role }}>{{ m.content | upper }}<end>\
                {% endfor %}{% if add_generation_prompt %}<bot>{% endif %}";
    let head = "template: t.json\nchat-template: c.jinja\nstop: <end>\n=== prefix\n<USER>HI<end><bot>\n";
    let text = format!("{head}=== output\nHi\n=== message\n{{\"role\": \"assistant\", \"content\": \"Hi\"}}\n");
    let project = Project::new(&[("c.jinja", chat), ("a.fixture", &text)]);
    let answer = project.check(&["--format", "concise"]);
    assert_eq!(
        (answer.code, answer.out.as_str()),
        (
            0,
            "a.fixture:9:1: note[check-loss] the chat template writes both alike: content: expected \"Hi\", found \"HI\"\n"
        )
    );
    // Missing structure is not a loss of the chat template.
    project.write("c.jinja", chat.replace("m.content | upper", "(m.content | upper) if m.role == 'user' else ''"));
    assert_eq!(project.check(&["--format", "concise"]).code, 1);
}

#[test]
fn the_grammar_of_the_request_has_to_allow_the_output() {
    let chat = "{% for m in messages %}<{{ 'bot' if m.role == 'assistant' else m.role }}>\
                {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<end>{% endfor %}\
                {% if add_generation_prompt %}<bot>{% endif %}";
    let case = |output: &str, grammar: &str| {
        let head = format!(
            "template: t.json\nchat-template: c.jinja\ngrammar: {grammar}\nstop: <end>\n=== prefix\n<user>Hi<end><bot>\n"
        );
        format!(
            "{head}=== output\n{output}\n=== message\n{{\"role\": \"assistant\", \"reasoning_content\": \"hm\", \"content\": \"Hi\"}}\n"
        )
    };
    let project = Project::new(&[("c.jinja", chat)]);
    let check = |output: &str, grammar: &str| {
        project.write("a.fixture", case(output, grammar));
        project.check(&["--format", "concise"])
    };
    assert_eq!(check("<think>hm</think>Hi<end>", "yes").code, 0);
    let answer = check("Hi<think>hm</think><end>", "yes");
    assert_eq!(answer.code, 1);
    let problem = "error[check-grammar] the grammar rejects the output at line 1, column 9";
    assert!(answer.out.contains(problem), "{}", answer.out);
    assert_eq!(check("Hi<think>hm</think><end>", "no").code, 0, "the message is as expected");
    let answer = check("Hi<end>", "perhaps");
    assert!(answer.out.contains("`grammar` cannot be `perhaps`"), "{}", answer.out);
    // The request determines the content.
    let request = "=== request\n{\"response_format\": {\"type\": \"json_object\"}}\n=== prefix\n";
    let asked = case("<think>hm</think>Hi<end>", "yes").replace("=== prefix\n", request);
    project.write("a.fixture", asked);
    let answer = project.check(&["--format", "concise"]);
    assert!(answer.out.contains("rejects the output at line 1, column 18"), "{}", answer.out);
}

#[test]
fn a_grammar_from_a_derivation_that_is_not_proved_is_a_warning() {
    let chat = "{% for m in messages %}<{{ 'bot' if m.role == 'assistant' else m.role }}>{{ m.content }}{{ eos_token }}\
                {% endfor %}{% if add_generation_prompt %}<bot>{% endif %}";
    let head = "template: t.json\nchat-template: c.jinja\ngrammar: yes\nround-trip: no\n";
    let case = |set: &str| {
        format!(
            "{head}{set}stop: <end>\n=== prefix\n<user>Hi<end><bot>\n=== output\nHi<end>\n=== message\n\
             {{\"role\": \"assistant\", \"content\": \"Hi\"}}\n"
        )
    };
    let project = Project::new(&[("c.jinja", chat)]);
    let check = |set: &str| {
        project.write("a.fixture", case(set));
        project.check(&["--format", "concise"])
    };
    let answer = check("");
    let warning = "warning[check-grammar-unproved] the derivation that shows how turns are written is partial: the model's turn \
                   prints `eos_token`, which was not given";
    assert!(answer.code == 0 && answer.out.contains(warning), "{}", answer.out);
    let given = check("set: eos_token=<end>\n");
    assert_eq!((given.code, given.out.as_str()), (0, ""));
}

#[test]
fn a_case_lists_the_problems_of_its_output() {
    let case = |header: &str, problems: &str| {
        format!(
            "template: t.json\n{header}=== prefix\n<bot>\n=== output\n<call>{{\"name\": \"f\", \"arguments\": {{\"a\": 1,}}}}\
             </call>\n=== message\n{{\"role\": \"assistant\", \"tool_calls\": [{{\"type\": \"function\", \"function\": \
             {{\"name\": \"f\", \"arguments\": {{\"a\": 1}}}}}}]}}\n=== problems\n{problems}\n"
        )
    };
    let recovered = "malformed tool_calls call 0 recovered json-commas";
    let project = Project::new(&[
        ("right.fixture", &case("recover: all\n", recovered)),
        ("wrong.fixture", &case("recover: json-commas\n", "malformed tool_calls")),
    ]);
    assert_eq!(project.check(&["right.fixture"]).code, 0);
    let wrong = project.check(&["wrong.fixture"]);
    let says = format!("problem 1 differs: expected `malformed tool_calls`, found `{recovered}`");
    assert!(wrong.code == 1 && wrong.shown().contains(&says), "{}", wrong.shown());
    assert_eq!(project.check(&["wrong.fixture", "--bless"]).code, 0);
    assert!(project.read("wrong.fixture").ends_with(&format!("=== problems\n{recovered}\n")));
}

#[test]
fn selecting() {
    let project = Project::new(&[("a.fixture", &failing()), ("b.fixture", &good())]);
    assert_eq!(
        project.check(&["--list"]).out,
        "a.fixture#wrong message\na.fixture#malformed\na.fixture#other events\na.fixture#good\nb.fixture\n"
    );
    assert_eq!(project.check(&["--list", "--filter", "good"]).out, "a.fixture#good\n");
    assert_eq!(project.check(&["--list", "--shard", "2/3"]).out, "a.fixture#malformed\nb.fixture\n");
    let shards = (1..=3).map(|part| project.check(&["--list", "--shard", &format!("{part}/3")]).out.lines().count());
    assert_eq!(shards.sum::<usize>(), 5);
    assert_eq!(project.check(&["--filter", "b.fixture"]).code, 0);
    let answer = project.check(&["--fail-fast", "--format", "concise"]);
    assert_eq!((answer.code, answer.out.lines().count()), (1, 1));
    assert_eq!(project.check(&["--shard", "4/3"]).code, 2);
}

#[test]
fn selecting_nothing_exits_with_4() {
    let project = Project::new(&[("x/readme.txt", ""), ("rows/log.jsonl", "{}\n")]);
    for (arguments, said) in [
        (&["x"][..], "no fixtures in x; start with `backchat check --new MODEL`\n"),
        (&["rows"], "no fixtures in rows; start with `backchat check --new MODEL`\n"),
        (&[], "no fixtures in .; start with `backchat check --new MODEL`\n"),
    ] {
        let answer = project.check(arguments);
        assert_eq!((answer.code, answer.out.as_str(), answer.err.as_str()), (4, "", said));
    }
    assert_eq!(project.check(&["x", "--no-tests", "pass"]).code, 0);
    project.write("a.fixture", good());
    let answer = project.check(&["--filter", "zzz"]);
    assert_eq!((answer.code, answer.err.as_str()), (4, "no case in . has `zzz` in its name\n"));
}

#[test]
fn cases_that_cannot_run_do_not_affect_others() {
    let project = Project::new(&[
        ("bad/t.json", r#"{"start_anchor": "<bot>", "fields": {"content": {"opens": "x"}}}"#),
        ("bad/a.fixture", &good()),
        ("bad/b.fixture", &good()),
        ("incomplete.fixture", "template: t.json\n=== output\nHi\n"),
        (
            "twice.fixture",
            &format!(
                "{HEAD}=== case a\n=== output\n=== message\n{{\"role\": \"assistant\"}}\n=== case a\n=== output\n"
            ),
        ),
        ("z.fixture", &failing()),
    ]);
    project.write("binary.fixture", b"template: t.json\n\xff\xfe");
    insta::assert_snapshot!(project.check(&[]).shown());
    for (path, said) in [("nowhere", "cannot read the file"), ("t.json/x", "cannot read the file")] {
        let answer = project.check(&[path]);
        assert_eq!(answer.code, 2);
        assert!(answer.err.contains(said), "{}", answer.err);
    }
}

#[test]
fn blessing_writes_the_messages_of_the_outputs() {
    let unsaid = format!("{HEAD}=== output\nHi<end>\n");
    let project = Project::new(&[("a.fixture", &failing()), ("b.fixture", &unsaid), ("log.jsonl", "")]);
    assert_eq!(project.check(&["b.fixture"]).code, 1);
    let answer = project.check(&["--bless=new"]);
    assert_eq!(answer.code, 1);
    assert_eq!(project.read("a.fixture"), failing());
    assert_eq!(
        project.read("b.fixture"),
        format!("{unsaid}=== message\n{{\n  \"role\": \"assistant\",\n  \"content\": \"Hi\"\n}}\n")
    );
    let answer = project.check(&["--bless"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, "5 cases: 5 passed, 3 blessed (TIME)\n"));
    assert_eq!(project.check(&[]).code, 0);
    insta::assert_snapshot!(project.read("a.fixture"));
}

#[test]
fn blessing_does_not_touch_passing_cases() {
    let case = |error: &str, content: &str| {
        format!(
            "{HEAD}=== output\n<call>{{</call>Hi\n=== message\n{{\n  \"role\": \"assistant\",\n  \"content\": \"{content}\"\n}}\n\
             === error\n{error}\n"
        )
    };
    for error in ["malformed tool_calls", "malformed tool_calls: not JSON"] {
        let project = Project::new(&[("a.fixture", &case(error, "Hi"))]);
        assert_eq!(project.check(&["--bless"]).err, "1 case: 1 passed (TIME)\n", "the short form holds");
        assert_eq!(project.read("a.fixture"), case(error, "Hi"));
        project.write("a.fixture", case(error, "Bye"));
        assert_eq!(project.check(&["--bless"]).err, "1 case: 1 passed, 1 blessed (TIME)\n");
        assert_eq!(project.read("a.fixture"), case(error, "Hi"), "only the message is written");
    }
}

#[test]
fn another_template_reads_every_case() {
    let other = TEMPLATE.replace("<think>", "[think]");
    let rows = "{\"id\": 1, \"prefix\": \"<bot>\", \"text\": \"Hi<end>\"}\n";
    let homeless = good().replace("template: t.json\n", "");
    let project = Project::new(&[
        ("a.fixture", &good()),
        ("homeless.fixture", &homeless),
        ("log.jsonl", rows),
        ("other.json", &other),
        ("turns.jinja", TURNS),
        (
            "chat.fixture",
            &format!(
                "{CHAT}=== messages\n[{{\"role\": \"user\", \"content\": \"Hi\"}}, {{\"role\": \"assistant\", \"content\": \"Hello\"}}]\n"
            ),
        ),
    ]);
    let files = ["a.fixture", "homeless.fixture", "log.jsonl", "chat.fixture"];
    let check = |template: &str| project.check(&[&["--template", template], &files[..]].concat());
    assert_eq!(check("t.json").err, "4 cases: 4 passed (TIME)\n", "{}", check("t.json").out);
    assert_eq!(project.check(&["a.fixture", "--template", "t.json"]).code, 0);
    let answer = check("other.json");
    assert_eq!((answer.code, answer.err.as_str()), (1, "4 cases: 2 passed, 2 failed (TIME)\n"), "{}", answer.out);
    assert!(answer.out.contains("content: expected \"Hi\", found \"<think>hm</think>Hi\""), "{}", answer.out);
    let answer = check("nowhere.json");
    assert_eq!(answer.code, 2);
    assert!(answer.out.contains("the template `nowhere.json` does not load"), "{}", answer.out);
}

#[test]
fn truncations_that_cases_allow_are_one_note_for_each_template() {
    let template = r#"{"start_anchor": "<bot>", "fields": {
      "tool_calls": {"open_pattern": "<call (?P<name>\\w+)", "close": "</call>", "repeats": true,
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}
    }}"#;
    let case = |name: &str| {
        format!(
            "=== case {name}\n=== output\n<call add>1</call>\n=== message\n\
             {{\"tool_calls\": [{{\"function\": {{\"name\": \"add\", \"arguments\": \">1\"}}}}]}}\n"
        )
    };
    let head = HEAD.replace("stop:", "allow: check-truncated\nstop:");
    let cases = |names: &[&str]| head.clone() + &names.iter().map(|name| case(name)).collect::<String>();
    let project = Project::new(&[
        ("t.json", template),
        ("a.fixture", &cases(&["one", "two"])),
        ("b.fixture", &cases(&["1", "2", "3", "4", "5", "6"])),
    ]);
    let answer = project.check(&["--format", "concise"]);
    assert_eq!(
        (answer.code, answer.out.as_str()),
        (
            0,
            "a.fixture:6:1: note[check-truncated] the output cut off after character 7 gives a call of `a` that the full \
             text does not contain there; 7 more cases of t.json too; also a.fixture#two, b.fixture#1, b.fixture#2, \
             b.fixture#3, b.fixture#4, b.fixture#5 and 1 more\n"
        )
    );
    let answer = project.check(&["--filter", "#one", "--format", "concise"]);
    assert!(answer.out.ends_with("does not contain there\n"), "{}", answer.out);
    project.write("b.fixture", cases(&["1"]).replace("allow: check-truncated\n", ""));
    let answer = project.check(&["--format", "concise"]);
    assert_eq!((answer.code, answer.out.lines().count()), (1, 2), "a failure is not grouped: {}", answer.out);
}

/// A model whose template has a typo, and the suite that `--new` writes for it with the right template.
fn typo() -> Project {
    let project = Project::new(&[("model/chat_template.jinja", MODEL)]);
    assert_eq!(project.check(&["--new", "model", "--template", "t.json"]).code, 0);
    project.write("t.json", TEMPLATE.replace("</think>", "</thinking>"));
    project
}

#[test]
fn cases_that_fail_for_one_cause_are_one_finding_with_its_repair() {
    insta::assert_snapshot!("one_cause", typo().check(&["model.fixture"]).shown());
}

#[test]
fn a_repair_is_written_and_shown_as_a_diff() {
    let project = typo();
    let answer = project.check(&["model.fixture", "--fix"]);
    insta::assert_snapshot!("fixed", answer.shown());
    assert!(project.read("t.json").contains(r#""close": ["</think>", "<end>"]"#), "as it is derived");
    assert_eq!(project.check(&["model.fixture"]).code, 0);
}

#[test]
fn machines_get_every_finding_and_the_repair() {
    let answer = typo().check(&["model.fixture", "--format", "json"]);
    let found = backchat::json::read(&answer.out).unwrap();
    let found = found.get("diagnostics").unwrap().as_list().unwrap();
    let ids: Vec<_> = found.iter().map(|found| found.get("id").unwrap().as_str().unwrap()).collect();
    let every = ["check-message", "check-message", "check-stop", "check-message", "check-stop", "check-repair"];
    assert_eq!(ids, every, "no difference of the message twice");
    let repair = found.last().unwrap();
    assert_eq!(repair.get("file").unwrap().as_str(), Some("t.json"));
    assert!(repair.get("fix").is_some_and(|fix| fix.get("edits").is_some()), "{repair}");
}

#[test]
fn ci_does_not_bless() {
    let project = Project::new(&[("a.fixture", &failing())]);
    let answer = project.check_with(&["--bless"], &[("CI", "true")]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("bless on your own machine, or add `--force`"), "{}", answer.err);
    assert_eq!(project.read("a.fixture"), failing());
    assert_eq!(project.check_with(&["--bless", "--force"], &[("CI", "true")]).code, 0);
}

#[test]
fn a_log_is_checked_without_expected_messages() {
    let rows =
        "{\"id\": 1, \"prefix\": \"<bot>\", \"text\": \"Hi<end>\"}\n{\"prefix\": \"\", \"text\": \"<call>{</call>\"}\n";
    let project = Project::new(&[("defaults.fixture", "template: t.json\n"), ("log.jsonl", rows)]);
    let answer = project.check(&["--format", "concise"]);
    assert_eq!(answer.code, 1);
    assert_eq!(answer.out.lines().count(), 1, "{}", answer.out);
    assert!(
        answer
            .out
            .starts_with("log.jsonl:2:1: error[check-problem] the output has a problem that the case does not expect")
    );
}

#[test]
fn a_case_has_its_time() {
    let text = format!("{HEAD}=== output\n{}\n=== message\n{{}}\n", "x".repeat(2000));
    let project = Project::new(&[("a.fixture", &text), ("b.fixture", &good())]);
    let answer = project.check(&["--timeout", "0", "--format", "concise"]);
    assert_eq!(answer.code, 1);
    assert!(answer.out.contains("error[check-time] the check of the case did not finish"), "{}", answer.out);
    assert_eq!(project.check(&["--timeout", "-1"]).code, 2);
    let answer = project.check(&["--timeout", "0", "--bless"]);
    assert_eq!((answer.code, project.read("a.fixture")), (1, text), "what was not checked to its end is not blessed");
}

/// A chat template that renders the format of [`TEMPLATE`].
const MODEL: &str = "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}{% for m in messages %}\
    <{{ 'bot' if m.role == 'assistant' else m.role }}>\
    {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}\
    {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
    {% if add_generation_prompt %}<bot>{% endif %}";

#[test]
fn init_writes_a_first_file_of_cases() {
    let project = Project::new(&[("model/chat_template.jinja", MODEL), ("cases/x.txt", "")]);
    let new = ["--new", "model", "--template", "t.json"];
    let answer = project.check(&[&new[..], &["cases"]].concat());
    assert_eq!(
        (answer.code, answer.err.as_str()),
        (0, "Wrote cases/model.fixture: 11 cases. Next: backchat check cases/model.fixture\n")
    );
    insta::assert_snapshot!(project.read("cases/model.fixture"));
    assert_eq!(project.check(&["cases"]).code, 0);
    let answer = project.check(&[&new[..], &["cases"]].concat());
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("the file already exists"), "{}", answer.err);
    assert_eq!(project.check(&[&new[..], &["cases/other.fixture"]].concat()).code, 0);
    assert_eq!(project.read("cases/other.fixture"), project.read("cases/model.fixture"));
}

#[test]
fn a_first_file_sets_the_variables_that_were_given() {
    let asking = format!("{{% if not style %}}{{{{ raise_exception('no style') }}}}{{% endif %}}{MODEL}");
    let project = Project::new(&[("model/chat_template.jinja", &asking)]);
    let new = ["--new", "model", "--template", "t.json"];
    assert_eq!(project.check(&new).code, 2, "nothing can be rendered");
    assert_eq!(project.check(&[&new[..], &["--set", "style=plain"]].concat()).code, 0);
    assert!(project.read("model.fixture").contains("\nset: style=\"plain\"\n"), "{}", project.read("model.fixture"));
    assert_eq!(project.check(&["model.fixture"]).code, 0);
}

#[test]
fn a_first_file_keeps_messages_that_the_template_misreads() {
    let other = TEMPLATE.replace("<think>", "[think]");
    let project = Project::new(&[("model/chat_template.jinja", MODEL), ("other.json", &other)]);
    let answer = project.check(&["--new", "model", "--template", "other.json"]);
    assert_eq!(
        (answer.code, answer.err.as_str()),
        (
            0,
            "Wrote model.fixture: 11 cases, of which 3 fail: the template reads another message than the one that was rendered. \
             Next: backchat check model.fixture\n"
        )
    );
    let summary = "11 cases: 8 passed, 3 failed; `--fix` repairs 1 template, and fixes 3 (TIME)\n";
    assert_eq!(project.check(&["model.fixture"]).err, summary);
    assert_eq!(project.check(&["model.fixture", "--template", "t.json"]).code, 0, "the cases are right");
}

#[test]
fn unusable_models_are_reported_by_init() {
    let project = Project::new(&[
        ("model/chat_template.jinja", MODEL),
        ("model/tokenizer_config.json", "{}"),
        ("silent.jinja", "{% for m in messages %}{% endfor %}"),
    ]);
    for (arguments, said) in [
        (&["--new", "model"][..], "derive one with `backchat derive model -o response_template.json`"),
        (&["--new", "nowhere"], "a chat template is read from"),
        (&["--new", "model", "--template", "nowhere.json"], "nowhere.json"),
        (&["--new", "silent.jinja", "--template", "t.json"], "does not render the content of assistant messages"),
        (&["--new", "model", "--bless"], "cannot be used with"),
    ] {
        let answer = project.check(arguments);
        assert_eq!(answer.code, 2, "{arguments:?}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(said), "{arguments:?}: {}", answer.err);
    }
}

#[test]
fn the_first_cases_of_every_format_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let project = Project::new(&[]);
    let files = fs::read_dir(root.join("derived")).unwrap().map(|entry| entry.unwrap().path());
    let templates: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    assert!(!templates.is_empty());
    for template in &templates {
        let name = template.file_stem().unwrap().to_str().unwrap();
        let (model, draft) = (format!("{name}.jinja"), format!("{name}.json"));
        project.write(&model, fs::read_to_string(root.join("chat_templates").join(&model)).unwrap());
        project.write(&draft, fs::read_to_string(template).unwrap());
        let answer = project.check(&["--new", &model, "--template", &draft]);
        assert_eq!(answer.code, 0, "{name}: {}", answer.err);
        let text = project.read(&format!("{name}.fixture"));
        let prompt = text.find("=== prefix\n").map_or(usize::MAX, |at| text[at..].find("Do I need a coat").unwrap());
        assert!(prompt < 80, "{name}: the prefix begins with the user's turn: {text}");
    }
    let answer = project.check(&["--reference", "off"]);
    assert_eq!((answer.code, answer.out.matches("error[").count()), (0, 0), "{}", answer.out);
}

#[test]
fn an_outdated_derived_template_fails() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let chat = fs::read_to_string(root.join("chat_templates/gemma_2.jinja")).unwrap();
    let derived = fs::read_to_string(root.join("derived/gemma_2.json")).unwrap();
    let project = Project::new(&[("chat_templates/g.jinja", &chat), ("derived/g.json", &derived)]);
    let answer = project.check(&[]);
    assert_eq!((answer.code, answer.err.as_str()), (0, "1 case: 1 passed (TIME)\n"), "{}", answer.out);
    project.write("derived/g.json", derived.replace("<end_of_turn>", "<end>"));
    for path in [".", "derived", "derived/g.json"] {
        let answer = project.check(&[path, "--format", "concise"]);
        assert_eq!(answer.code, 1);
        assert!(
            answer.out.contains(
                "derived/g.json: error[check-drift] chat_templates/g.jinja derives to a different template: "
            ),
            "{}",
            answer.out
        );
    }
    project.write("chat_templates/g.jinja", "{% if %}");
    assert_eq!(project.check(&[]).code, 1);
}

const TURNS: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>\n{% endfor %}";

const CHAT: &str = "chat-template: turns.jinja\n=== chat\n<user>Hi<end>\n<assistant>Hello<end>\n\n";

#[test]
fn a_rendered_chat_is_read_back_and_compared() {
    let said = |content: &str| {
        format!(
            "{CHAT}=== messages\n[{{\"role\": \"user\", \"content\": \"{content}\"}}, \
             {{\"role\": \"assistant\", \"content\": \"Hello\"}}]\n"
        )
    };
    let project = Project::new(&[
        ("turns.jinja", TURNS),
        ("right.fixture", &said("Hi")),
        ("wrong.fixture", &said("Bye")),
        ("other.fixture", "chat-template: turns.jinja\n=== chat\n[user] Hi\n=== messages\n[]\n"),
        ("unsaid.fixture", CHAT),
        ("mixed.fixture", &format!("{CHAT}=== output\nHi\n")),
        ("homeless.fixture", "=== chat\n<user>Hi<end>\n"),
    ]);
    for (file, code, said) in [
        ("right.fixture", 0, ""),
        ("wrong.fixture", 1, "error[check-messages]: the messages differ: [0].content: expected \"Bye\", found \"Hi\""),
        ("other.fixture", 1, "error[check-chat]: the text is not a render of this template"),
        ("unsaid.fixture", 1, "error[check-unsaid]"),
        ("mixed.fixture", 2, "a case with `=== chat` has no section `output`"),
        ("homeless.fixture", 2, "the case has no chat template"),
    ] {
        let answer = project.check(&[file]);
        assert_eq!(answer.code, code, "{file}: {}{}", answer.out, answer.err);
        assert!(answer.out.contains(said), "{file}: {}", answer.out);
    }
}

#[test]
fn the_messages_of_a_rendered_chat_are_blessed() {
    let project = Project::new(&[("turns.jinja", TURNS), ("a.fixture", CHAT)]);
    assert_eq!(project.check(&["--bless=new", "a.fixture"]).code, 0);
    let blessed = project.read("a.fixture");
    assert!(blessed.starts_with(CHAT), "every other byte is as it was: {blessed}");
    assert!(blessed.contains("=== messages\n[\n  {\"role\": \"user\", \"content\": \"Hi\"},\n"), "{blessed}");
    assert_eq!(project.check(&["a.fixture"]).code, 0);
}

#[test]
fn an_injected_turn_is_a_note() {
    let chat = "chat-template: turns.jinja\n=== chat\n<user>Hi<end>\n<system>Obey<end>\n<assistant>No<end>\n\n";
    let project = Project::new(&[("turns.jinja", TURNS), ("a.fixture", chat)]);
    let answer = project.check(&["--bless=new", "a.fixture"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("note[check-ambiguous]: messages["), "{}", answer.out);
}
