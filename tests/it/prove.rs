//! Proofs of response templates: the command, the verdicts, and what each kind of mistake is called.

use std::fs;

use backchat::json::{self, Object, Value};
use backchat::template::Template;
use backchat_derive::derive::Part;
use backchat_derive::derive::{Options, Sample, Status, Verdict, prove};

use crate::support::{backchat, empty_folder, root, text};

/// A chat template that shows everything: `[think]…[/think]content<call>{…}</call><end>`.
const CHAT: &str = "\
{%- for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}[think]{{ m.reasoning_content }}[/think]{% endif %}\
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
{%- if add_generation_prompt %}[assistant]{% endif %}";

/// A response template that reads it, after some changes: paths into `fields`, and what stands there instead.
fn template(changes: &[(&str, &str, &str)]) -> Template {
    let mut fields = json::read(
        r#"{
          "reasoning_content": {"open": "[think]", "close": "[/think]"},
          "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
                         "transform": {"type": "function", "function": "{content}"}},
          "content": {"close": "<end>"}
        }"#,
    )
    .unwrap();
    for (field, key, value) in changes {
        let Value::Object(all) = &mut fields else { panic!() };
        let Value::Object(entries) = all.get_mut(field).unwrap() else { panic!() };
        entries.insert(*key, json::read(value).unwrap());
    }
    let template = Value::from([("start_anchor", "[assistant]".into()), ("fields", fields)]);
    Template::from_value(&template).unwrap().template
}

fn verdict(chat: &str, template: &Template) -> Verdict {
    prove(chat, template, &Options::default()).verdict
}

#[test]
fn a_right_template_is_proved_with_a_scope() {
    let proven = prove(CHAT, &template(&[]), &Options::default());
    assert_eq!(proven.status, Status::Proved, "{:#?}", proven.verdict.failures);
    let scope = &proven.verdict.scope;
    assert_eq!(scope.proved, ["content", "reasoning", "calls", "several calls", "content beside calls"]);
    assert_eq!(scope.not_shown, ["ids"]);
    assert!(proven.verdict.cases > 40 && proven.verdict.passed == proven.verdict.cases, "{}", proven.headline());
    assert_eq!((proven.verdict.recut, proven.verdict.losses.len()), (0, 0));
}

#[test]
fn each_mistake_is_found_at_its_boundary() {
    let mistakes = [
        ("a close that the text does not have", ("reasoning_content", "close", r#""[/thought]""#)),
        ("a close that a value can hold", ("tool_calls", "close_pattern", r#""\\}""#)),
        ("an open that is not written", ("tool_calls", "open", r#""<tool>""#)),
        ("no close at all", ("content", "close", r#""<stop>""#)),
        ("an open that prose can match", ("tool_calls", "open_pattern", r#""<call>|\\{""#)),
        (
            "another key for the name",
            (
                "tool_calls",
                "transform",
                r#"{"type": "function", "function": {"name": "{content.arguments}", "arguments": "{content.name}"}}"#,
            ),
        ),
    ];
    let mut shown = String::new();
    for (what, (field, key, value)) in mistakes {
        let mut changes = vec![(field, key, value)];
        let plain = key.strip_suffix("_pattern");
        let mut broken = template(&[]).to_value();
        if let (Some(plain), Value::Object(all)) = (plain, &mut broken) {
            let Value::Object(fields) = all.get_mut("fields").unwrap() else { panic!() };
            let Value::Object(entries) = fields.get_mut(field).unwrap() else { panic!() };
            entries.shift_remove(plain);
            entries.insert(key, json::read(value).unwrap());
            changes.clear();
        }
        let broken =
            if changes.is_empty() { Template::from_value(&broken).unwrap().template } else { template(&changes) };
        let verdict = verdict(CHAT, &broken);
        assert!(!verdict.holds(), "{what}");
        let failed: usize = verdict.failures.iter().map(|failure| failure.count).sum();
        assert_eq!(verdict.passed + verdict.lost() + failed, verdict.cases, "{what}");
        shown += &format!("{what}: {} of {} conversations fail\n", failed, verdict.cases);
        for failure in &verdict.failures {
            shown += &format!("  {}\n", failure.describe());
            shown += &failure.hint().map(|hint| format!("    to fix: {hint}\n")).unwrap_or_default();
        }
    }
    insta::assert_snapshot!("mistakes", shown);
}

#[test]
fn white_space_after_a_call_that_replaces_content_is_called_so() {
    // The newline after each call opens content again.
    let chat = CHAT.replace("</call>", "</call>\n");
    let verdict = verdict(&chat, &template(&[]));
    let failure = &verdict.failures[0];
    assert_eq!(failure.part, Part::Content);
    assert!(failure.describe().contains("was read, and replaced by another region"), "{}", failure.describe());
}

#[test]
fn what_the_wire_cannot_tell_apart_is_its_loss_and_not_the_templates() {
    // Every value is written as text, so that a number and its digits look alike, and no schema helps inside a list.
    let chat = CHAT.replace(
        "{{ c.function | tojson }}",
        "{{ c.function.name }}{% for k, v in c.function.arguments.items() %}|{{ k }}={{ v }}{% endfor %}|",
    );
    let changes = [
        ("tool_calls", "content", r#""xml-inline""#),
        ("tool_calls", "content_args", r#"{"tag_pattern": "(?P<key>[^=|]+)=(?P<value>.*?)\\|(?=[^=|\\n]+=|$)"}"#),
        (
            "tool_calls",
            "transform",
            r#"{"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}"#,
        ),
    ];
    let mut value = template(&changes[..2]).to_value();
    let Value::Object(all) = &mut value else { panic!() };
    let Value::Object(fields) = all.get_mut("fields").unwrap() else { panic!() };
    let Value::Object(calls) = fields.get_mut("tool_calls").unwrap() else { panic!() };
    calls.shift_remove("open");
    calls.insert("open_pattern", r"<call>(?P<name>[^|<]+)\|".into());
    calls.insert("transform", json::read(changes[2].2).unwrap());
    let verdict = verdict(&chat, &Template::from_value(&value).unwrap().template);
    let loss = verdict.losses.iter().find(|loss| loss.part == Part::Arguments).expect("a loss of arguments");
    // The example is this template's own render.
    assert!(loss.example.contains("<call>") && loss.message.contains("are written alike"), "{}", loss.message);
    assert_eq!(loss.count, 1);
    let failed: usize = verdict.failures.iter().map(|failure| failure.count).sum();
    assert_eq!(verdict.passed + verdict.lost() + failed, verdict.cases);
}

#[test]
fn text_taken_for_content_is_no_loss_though_it_renders_alike() {
    let mut value = template(&[]).to_value();
    let Value::Object(all) = &mut value else { panic!() };
    let Value::Object(fields) = all.get_mut("fields").unwrap() else { panic!() };
    fields.shift_remove("tool_calls");
    let verdict = verdict(CHAT, &Template::from_value(&value).unwrap().template);
    assert!(!verdict.holds() && verdict.losses.is_empty());
}

#[test]
fn a_name_of_reasoning_that_the_chat_template_does_not_read_fails_unless_asked_for() {
    let mut value = template(&[]).to_value().to_string();
    value = value.replace("reasoning_content", "thoughts");
    let renamed = Template::load(&value).unwrap().template;
    let verdict = verdict(CHAT, &renamed);
    assert!(
        verdict.failures.iter().any(|failure| failure.what.contains("not as `thoughts`")),
        "{:?}",
        verdict.failures
    );
    let options = Options::default().reasoning_field("thoughts".to_owned());
    assert_eq!(prove(CHAT, &renamed, &options).status, Status::Proved);
}

#[test]
fn what_no_conversation_exercised_is_said() {
    let chat = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}\
                {% if add_generation_prompt %}[assistant]{% endif %}";
    let proven = prove(chat, &template(&[]), &Options::default());
    // Calls are claimed and never seen.
    assert_eq!(proven.status, Status::Partial);
    let parts: Vec<Part> = proven.verdict.unverified.iter().map(|claim| claim.part).collect();
    assert_eq!(parts, [Part::Reasoning, Part::Calls]);
    assert_eq!(proven.verdict.scope.not_shown, ["reasoning", "calls"]);
}

#[test]
fn prompts_that_write_what_turns_lack_are_said() {
    // The prompt opens reasoning that plain turns never show.
    let chat = CHAT.replace("%}[assistant]{% endif", "%}[assistant][think]{% endif");
    let proven = prove(&chat, &template(&[]), &Options::default());
    assert_eq!(proven.status, Status::Proved, "{:#?}", proven.verdict.failures);
    assert!(proven.verdict.recut > 0);
}

fn sample(text: &str, message: Option<&str>) -> Sample {
    Sample::new("one", text).message(message.map(|message| json::read(message).unwrap()))
}

#[test]
fn samples_are_read_after_every_way_a_prompt_can_end() {
    let chat = CHAT.replace("%}[assistant]{% endif", "%}[assistant]{% if deep %}[think]{% endif %}{% endif");
    let samples = vec![
        sample("Hm.[/think]Yes.<end>", Some(r#"{"reasoning_content": "Hm.", "content": "Yes."}"#)),
        sample("Yes.<end>", Some(r#"{"content": "Yes."}"#)),
    ];
    let options = Options::default().samples(samples);
    let proven = prove(&chat, &template(&[]), &options);
    assert_eq!(proven.explained.departures, []);
    let ends: Vec<&str> = proven.explained.assumed.iter().map(|(end, _)| end.as_str()).collect();
    assert!(ends[0].ends_with("[think]") && ends[1].ends_with("[assistant]"), "{ends:?}");
}

#[test]
fn samples_are_compared_as_the_wire_allows() {
    let call = r#"{"role": "assistant", "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": {"n": 5}}}]}"#;
    let tools = r#"[{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}}]"#;
    let text = r#"<call>{"name": "f", "arguments": {"n": "5"}}</call><end>"#;
    for (message, tools, departs) in [
        (None, None, 0),
        (Some(call.replace(r#""id": "x", "#, "")), None, 0),
        (Some(call.replace(r#""id": "x", "#, "")), Some(tools), 0),
        (Some(call.replace("\"f\"", "\"g\"")), None, 1),
        (Some(r#"{"content": "Yes."}"#.to_owned()), None, 1),
    ] {
        let one = sample(text, message.as_deref()).tools(tools.map(|tools| json::read(tools).unwrap()));
        let options = Options::default().samples(vec![one]);
        let explained = prove(CHAT, &template(&[]), &options).explained;
        assert_eq!(explained.departures.len(), departs, "{message:?}: {:?}", explained.departures);
    }
}

#[test]
fn without_a_message_only_what_nothing_explains_is_a_departure() {
    for (text, why) in [
        ("Yes.<end>", None),
        ("[think]Use <call> and </call> there.[/think]Yes.<end>", None),
        ("Write `[/think]` at the end.<end>", None),
        ("Yes.[/think]No.<end>", Some("is left in `content`")),
        ("<call>{broken</call><end>", Some("could not be parsed")),
    ] {
        let options = Options::default().samples(vec![sample(text, None)]);
        let departures = prove(CHAT, &template(&[]), &options).explained.departures;
        match why {
            None => assert_eq!(departures, [], "{text}"),
            Some(why) => assert!(departures[0].why.contains(why), "{text}: {departures:?}"),
        }
    }
}

#[test]
fn a_repair_is_written_into_the_file_and_shown_as_a_diff() {
    let folder = empty_folder("prove-fix");
    let (chat, file) = (folder.join("chat.jinja"), folder.join("response_template.json"));
    fs::write(&chat, CHAT).unwrap();
    let right = format!("{}\n", template(&[]).to_json());
    let wrong = right.replace("[/think]", "[/thinking]").replace("\"<call>\"", "\"<cal>\"");
    fs::write(&file, &wrong).unwrap();
    let run = |more: &[&str]| {
        let base = ["prove", file.to_str().unwrap(), "--chat-template", chat.to_str().unwrap()];
        let output = backchat(&[&base[..], more].concat());
        (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    let (code, out, _) = run(&[]);
    assert_eq!((code, out.matches("\nfailed: ").count()), (Some(1), 2), "one cause for each fault: {out}");
    let (_, out, _) = run(&["--format", "json"]);
    let repairs = json::read(&out).unwrap().get("repairs").unwrap().as_list().unwrap().to_vec();
    let paths: Vec<_> = repairs.iter().map(|repair| repair.get("path").unwrap().as_str().unwrap()).collect();
    assert_eq!(paths, ["fields.tool_calls.open", "fields.reasoning_content.close"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), wrong, "nothing is written without --fix");

    let (code, out, err) = run(&["--fix"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.starts_with("proved: "), "{out}");
    for line in [
        "-    \"reasoning_content\": ",
        "+    \"reasoning_content\": ",
        "-      \"open\": \"<cal>\"",
        "+      \"open\": \"<call>\"",
    ] {
        assert!(err.contains(line), "{line}: {err}");
    }
    let (code, out, _) = run(&["--fix", "--format", "json"]);
    assert_eq!((code, json::read(&out).unwrap().get("applied").unwrap().to_string().as_str()), (Some(0), "[]"));
}

#[test]
fn a_repair_for_one_setting_is_not_written_if_it_costs_the_others() {
    let folder = empty_folder("prove-fix-setting");
    let long = "{{ '[long]' if style == 'long' else '[think]' }}{{ m.reasoning_content }}{{ '[/long]' if style == 'long' else '[/think]' }}";
    let chat = CHAT.replace("[think]{{ m.reasoning_content }}[/think]", long);
    assert_ne!(chat, CHAT);
    fs::write(folder.join("chat.jinja"), chat).unwrap();
    let file = folder.join("t.json");
    let right = template(&[]).to_value().to_string();
    fs::write(&file, &right).unwrap();
    let paths = [file, folder.join("chat.jinja")].map(|path| path.to_str().unwrap().to_owned());
    let run = |more: &[&str]| {
        let output = backchat(&[&["prove", &paths[0], "--chat-template", &paths[1]], more].concat());
        (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    let (code, out, err) = run(&["--set", "style=long", "--fix"]);
    assert!(code == Some(1) && err.contains("note: not written: without `--set`, "), "{out}{err}");
    assert_eq!(fs::read_to_string(&paths[0]).unwrap(), right);
    // The setting that is not read is named with the option that shows it.
    let (code, out, err) = run(&[]);
    assert!(code == Some(0) && out.contains("`--set 'style=\"long\"'` shows them"), "{out}{err}");
}

#[test]
fn a_template_that_is_piped_in_is_not_fixed() {
    let output = backchat(&["prove", "-", "--chat-template", "chat.jinja", "--fix"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("standard input cannot be changed"), "{}", text(&output.stderr));
}

#[test]
fn the_command_says_what_fails_and_how_to_repair_it() {
    let folder = empty_folder("prove");
    let chat = folder.join("chat.jinja");
    fs::write(&chat, CHAT.replace("</call>", "</call>\n")).unwrap();
    let file = folder.join("response_template.json");
    let write = |template: &Template| fs::write(&file, template.to_value().to_string()).unwrap();
    let run = |more: &[&str]| {
        let base = ["prove", file.to_str().unwrap(), "--chat-template", chat.to_str().unwrap()];
        backchat(&[&base[..], more].concat())
    };
    write(&template(&[]));
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!("not_proved", text(&output.stdout));
    let report = json::read(text(&run(&["--format", "json"]).stdout)).unwrap();
    assert_eq!(report.get("status").unwrap().as_str(), Some("partial"));
    let failures = report.get("verification").unwrap().get("failures").unwrap().as_list().unwrap();
    assert_eq!(failures[0].get("kind").unwrap().as_str(), Some("content"));
    assert!(failures[0].get("boundary").unwrap().get("at").is_some());

    write(&template(&[("content", "repeats", "true"), ("content", "join", "\"\"")]));
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).starts_with("proved: content, reasoning, calls"), "{}", text(&output.stdout));
}

#[test]
fn the_command_says_why_it_could_not_run() {
    let folder = empty_folder("prove_errors");
    let chat = folder.join("chat.jinja");
    fs::write(&chat, "{{ raise_exception('never') }}").unwrap();
    let file = folder.join("response_template.json");
    fs::write(&file, template(&[]).to_value().to_string()).unwrap();
    let (chat, file) = (chat.to_str().unwrap(), file.to_str().unwrap());
    for (arguments, wanted) in [
        (vec!["prove", file, "--chat-template", chat], "refused every conversation"),
        (vec!["prove", "nowhere.json", "--chat-template", chat], "nowhere.json"),
        (vec!["prove", file, "--chat-template", "nowhere.jinja"], "nowhere.jinja"),
        (vec!["prove", "-", "--chat-template", "-"], "more than once"),
        (vec!["prove", file], "--chat-template"),
    ] {
        let output = backchat(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(wanted), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn many_sources_are_derived_in_order() {
    let folder = empty_folder("derive_many");
    for name in ["hermes", "gemma_2", "qwen3"] {
        fs::copy(root().join(format!("chat_templates/{name}.jinja")), folder.join(format!("{name}.jinja"))).unwrap();
    }
    fs::copy(root().join("tests/derive/no_content.jinja"), folder.join("zero.jinja")).unwrap();
    let drafts = folder.join("drafts");
    let output = backchat(&["derive", folder.to_str().unwrap(), "-o", drafts.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let table = text(&output.stdout);
    let statuses: Vec<&str> = table.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(statuses, ["proved", "proved", "proved", "failed"], "{table}");
    assert!(text(&output.stderr).contains("4 chat templates: 3 proved, 0 partial, 0 inexpressible, 1 failed"));
    let written: Vec<String> =
        fs::read_dir(&drafts).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(written.len(), 3);
    let alone = backchat(&["derive", "chat_templates/qwen3.jinja"]);
    assert_eq!(fs::read_to_string(drafts.join("qwen3.json")).unwrap(), text(&alone.stdout));
    // What is there already can be left alone.
    fs::write(drafts.join("qwen3.json"), "mine").unwrap();
    fs::remove_file(drafts.join("hermes.json")).unwrap();
    let output = backchat(&["derive", folder.to_str().unwrap(), "-o", drafts.to_str().unwrap(), "--resume"]);
    assert!(text(&output.stderr).contains("2 drafts are already in"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 2, "{}", text(&output.stdout));
    assert_eq!(fs::read_to_string(drafts.join("qwen3.json")).unwrap(), "mine");
    assert!(drafts.join("hermes.json").exists());
    let output = backchat(&["derive", folder.to_str().unwrap(), "--write"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`--write` takes one source"), "{}", text(&output.stderr));
}

#[test]
fn rows_of_chat_templates_give_rows_of_reports() {
    let folder = empty_folder("derive_rows");
    let source = fs::read_to_string(root().join("chat_templates/hermes.jinja")).unwrap();
    let row = |entries: Vec<(&str, Value)>| {
        Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Object>()).to_string()
    };
    let rows = [
        row(vec![("id", "text".into()), ("chat_template", source.as_str().into()), ("eos_token", "</s>".into())]),
        row(vec![("id", 2.into()), ("template", "chat_templates/gemma_2.jinja".into())]),
        row(vec![("id", "neither".into())]),
        "not JSON".to_owned(),
    ];
    let file = folder.join("rows.jsonl");
    fs::write(&file, rows.join("\n")).unwrap();
    let output = backchat(&["derive", "--jsonl", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let answers: Vec<Value> = text(&output.stdout).lines().map(|line| json::read(line).unwrap()).collect();
    let shown: Vec<(String, &str)> = answers
        .iter()
        .map(|answer| (answer.get("id").unwrap().to_string(), answer.get("status").unwrap().as_str().unwrap()))
        .collect();
    let wanted = [("\"text\"", "proved"), ("2", "proved"), ("\"neither\"", "failed"), ("null", "failed")];
    assert_eq!(shown, wanted.map(|(id, status)| (id.to_owned(), status)));
    for answer in &answers {
        assert!(answer.get("verification").unwrap().get("losses").is_some());
    }
}

#[test]
fn two_drafts_never_go_to_one_file() {
    let folder = empty_folder("derive_twins");
    let mut twins = Vec::new();
    for name in ["a", "b"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        twins.push(folder.join(name).join("x.jinja"));
        fs::copy(root().join("chat_templates/gemma_2.jinja"), &twins[twins.len() - 1]).unwrap();
    }
    let [a, b] = [0, 1].map(|at| twins[at].to_str().unwrap());
    let drafts = folder.join("drafts");
    let output = backchat(&["derive", a, b, "-o", drafts.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains(a) && said.contains(b) && said.contains("would both be written to one file"), "{said}");
    assert!(!drafts.exists(), "nothing is derived before that is settled");
    // A folder's tree is kept.
    let output = backchat(&["derive", folder.to_str().unwrap(), "-o", drafts.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(drafts.join("a/x.json").exists() && drafts.join("b/x.json").exists());
}

#[test]
fn variables_that_nobody_gave_are_filled_and_named() {
    let chat = format!("{{{{ 'In ' + place }}}}{CHAT}");
    let proven = prove(&chat, &template(&[]), &Options::default());
    assert_eq!(proven.status, Status::Proved, "{}", proven.headline());
    let filled = &proven.diagnostics[0];
    assert_eq!(
        (filled.id, filled.help.as_deref()),
        ("derive-filled", Some("pass the real values: add `--set place=TEXT`"))
    );
}
