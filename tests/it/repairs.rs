//! `doctor`'s conversations of agents, and `fix`, which repairs what they find.

use std::fs;

use backchat::json;

use crate::support::{folder_of, outcome_in};

/// Refuses late system messages, and prints content that is a list as a list.
const TEMPLATE: &str = "\
{%- for m in messages %}
    {%- if m.role == 'system' and not loop.first %}
        {{- raise_exception('System message must be first.') }}
    {%- endif %}
    {{- '<' + m.role + '>' + m.content | string + '</>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<assistant>' }}
{%- endif %}
";

const LATE_REPAIRED: &str = "\
{%- for m in messages %}
    {{- '<' + m.role + '>' + m.content | string + '</>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<assistant>' }}
{%- endif %}
";

#[test]
fn doctor_lists_problems_with_the_refusing_line_and_the_template_s_words() {
    let folder = folder_of(&[("t.jinja", TEMPLATE)]);
    let (code, out, _) = outcome_in(folder.path(), &["doctor", "t.jinja"]);
    let section = out.split("\nAgents: ").nth(1).unwrap().split("\n\n").next().unwrap();
    insta::assert_snapshot!(section, @"
    conversations of clients that it refuses, drops or misprints
      late_system                system messages in the middle, or several
        alone                    refused in line 3: System message must be first.
        after_system             refused in line 3: System message must be first.
        head                     refused in line 3: System message must be first.
      parts                      content as a list of text parts
        system                   printed
        user                     printed
        assistant                printed
      `backchat fix SOURCE --list` shows which of them have a proved repair.
    ");
    assert_eq!(code, 0);
}

#[test]
fn required_problems_decide_the_exit_code() {
    let folder = folder_of(&[("t.jinja", TEMPLATE)]);
    for (fact, code, words) in [
        ("agents.alternation", 0, ""),
        ("agents.stop", 0, ""),
        ("agents.late_system", 1, "agents.late_system.head is refused"),
        ("agents.parts", 1, "agents.parts.user is printed"),
        ("agents", 1, "agents.late_system.head is refused"),
        ("agents.late_sistem", 2, "did you mean `agents.late_system`?"),
    ] {
        let (found, _, err) = outcome_in(folder.path(), &["doctor", "t.jinja", "--require", fact]);
        assert_eq!(found, code, "{fact}: {err}");
        assert!(err.contains(words), "{fact}: {err}");
    }
    let (code, out, _) = outcome_in(folder.path(), &["doctor", "t.jinja", "--explain", "late_system"]);
    assert!(code == 0 && out.contains("raises:   System message must be first. (line 3 of the template)"), "{out}");
}

#[test]
fn fix_prints_the_template_or_writes_it() {
    let folder = folder_of(&[("t.jinja", TEMPLATE)]);
    let fix = |arguments: &[&str]| outcome_in(folder.path(), &[&["fix", "t.jinja"], arguments].concat());
    let (code, out, err) = fix(&["--for", "late_system"]);
    assert_eq!((code, out.as_str()), (0, LATE_REPAIRED), "{err}");
    assert!(err.contains("conversations render to the same bytes as before; 13 that raised render now"), "{err}");
    let (code, out, _) = fix(&["--for", "late_system", "--format", "json", "-o", "new.jinja"]);
    let report = json::read(&out).unwrap();
    assert_eq!((code, fs::read_to_string(folder.path().join("new.jinja")).unwrap().as_str()), (0, LATE_REPAIRED));
    assert_eq!(report.get("cured").unwrap()[0].get("ailment"), Some(&"late_system".into()));
    let (code, out, _) = fix(&["--list"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(out, @"
    late_system        alone, after_system, head                a repair is proved
    parts              system, user, assistant                  a repair is proved
    ");
    let (code, out, _) = fix(&["--list", "--format", "json"]);
    let cured = json::read(&out).unwrap().get("cured").and_then(|cured| cured.as_list().map(<[_]>::to_vec)).unwrap();
    let ailments: Vec<_> = cured.iter().map(|cured| cured.get("ailment").unwrap().as_str().unwrap()).collect();
    assert_eq!((code, ailments), (0, vec!["late_system", "parts"]));
    let (code, _, _) = fix(&["--write"]);
    let written = fs::read_to_string(folder.path().join("t.jinja")).unwrap();
    assert_eq!(code, 0);
    // Once more changes nothing.
    assert_eq!(fix(&[]), (0, written, "note: the template takes these conversations; nothing is changed\n".to_owned()));
}

#[test]
fn fix_refuses_what_is_no_problem() {
    let folder = folder_of(&[("t.jinja", TEMPLATE)]);
    let (code, _, err) = outcome_in(folder.path(), &["fix", "t.jinja", "--for", "developr"]);
    assert!(code == 2 && err.contains("did you mean `developer`?"), "{err}");
}

#[test]
fn a_second_repair_adds_to_the_prelude_of_the_first() {
    let folder = folder_of(&[("t.jinja", TEMPLATE)]);
    let fix = |problem: &str| outcome_in(folder.path(), &["fix", "t.jinja", "--for", problem, "--write"]);
    assert_eq!(fix("parts").0, 0);
    let once = fs::read_to_string(folder.path().join("t.jinja")).unwrap();
    assert_eq!(fix("parts").0, 0);
    assert_eq!(fs::read_to_string(folder.path().join("t.jinja")).unwrap(), once);
    assert_eq!(fix("null_content").0, 0);
    assert_eq!(fix("reasoning_only").0, 0);
    let twice = fs::read_to_string(folder.path().join("t.jinja")).unwrap();
    assert_eq!(twice.matches("namespace(").count(), 1, "{twice}");
}

#[test]
fn a_template_without_its_tokens_is_repaired_with_their_names() {
    // The frame of a system message has the token, so a repair must write it by its name.
    let source = "{%- for m in messages %}\n    {%- if m.role == 'system' and not loop.first %}\n        \
                  {{- raise_exception('first') }}\n    {%- endif %}\n    {{- '<' + m.role + '>' + m.content + eos_token }}\n\
                  {%- endfor %}\n";
    let folder = folder_of(&[("t.jinja", source)]);
    let (code, out, err) = outcome_in(folder.path(), &["fix", "t.jinja", "--for", "late_system", "--for", "training"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("the proof invents eos_token; pass the real text with `--set eos_token=TEXT`"), "{err}");
    assert!(!out.contains("<|eos_token|>") && out.contains("{% generation %}"), "{out}");
    assert!(err.contains("conversations of one turn keep their bytes"), "{err}");
}

#[test]
fn a_board_has_a_row_for_each_template() {
    let broken = "{% for m in messages %}";
    let healthy = LATE_REPAIRED.replace(" + m.content | string", " + m.content");
    let folder = folder_of(&[("a/one.jinja", TEMPLATE), ("b/two.jinja", &healthy), ("c.jinja", broken)]);
    let (code, out, err) = outcome_in(folder.path(), &["doctor", "."]);
    assert!(code == 2 && err.contains("c.jinja: not examined: "), "{err}");
    let rows: Vec<&str> = out.lines().take(4).collect();
    let [_, one, two, three] = rows.as_slice() else { panic!("{out}") };
    assert!(one.starts_with("a/one.jinja") && one.contains('R') && one.contains('P'), "{out}");
    assert!(two.starts_with("b/two.jinja") && !two.contains('P') && three.contains("not examined"), "{out}");
    let (_, out, _) = outcome_in(folder.path(), &["doctor", ".", "--format", "json"]);
    let rows: Vec<json::Value> = out.lines().map(|line| json::read(line).unwrap()).collect();
    assert_eq!(rows[0].get("agents").unwrap().get("late_system.head").unwrap().get("result"), Some(&"refused".into()));
    assert!(rows[2].get("error").is_some(), "{out}");
    let facts = ["--require", "agents.late_system.head", "--report", "board.html"];
    let (code, _, err) = outcome_in(folder.path(), &[&["doctor", "a"][..], &facts].concat());
    assert!(
        code == 1 && err.contains("one.jinja: a required fact does not hold: agents.late_system.head is refused"),
        "{err}"
    );
    assert!(fs::read_to_string(folder.path().join("board.html")).unwrap().contains("late_system"));
}

#[test]
fn a_page_shows_problems_at_their_lines_and_the_repair() {
    let folder = folder_of(&[("t.jinja", TEMPLATE)]);
    let (code, _, err) = outcome_in(folder.path(), &["doctor", "t.jinja", "--report", "page.html"]);
    assert_eq!(code, 0, "{err}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for words in
        ["Conversations of agents", "^ late_system.alone, late_system.after_system", "does not refuse the conversation"]
    {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_repair_is_a_review_with_suggestions() {
    let folder = folder_of(&[("models/a.jinja", TEMPLATE)]);
    let arguments = ["fix", "models/a.jinja", "--for", "late_system", "--format", "github"];
    let (code, out, err) = outcome_in(folder.path(), &arguments);
    assert_eq!(code, 0, "{err}");
    let review = json::read(&out).unwrap();
    let comment = &review.get("comments").unwrap()[0];
    assert_eq!(comment.get("path"), Some(&"models/a.jinja".into()));
    assert_eq!((comment.get("start_line"), comment.get("line")), (Some(&2.into()), Some(&4.into())));
    assert_eq!(comment.get("body"), Some(&"```suggestion\n```".into()));
}

#[test]
fn what_is_probably_misspelt_is_named_because_a_repair_keeps_it() {
    let folder = folder_of(&[("t.jinja", &TEMPLATE.replace("loop.first", "loop.frist"))]);
    let (_, _, err) = outcome_in(folder.path(), &["fix", "t.jinja", "--list"]);
    assert!(err.contains("note: not repaired: line 2 reads `frist` of a loop; did you mean `first`?"), "{err}");
}
