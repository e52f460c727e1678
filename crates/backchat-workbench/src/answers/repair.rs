//! The JSON results of `fix`.

use backchat_chat::ChatTemplate;
use backchat_chats::mending::{Change, Proof, Repair};
use backchat_core::diagnostic::shell_word;
use backchat_core::json::{Object, Value};
use backchat_probe::doctor::{Options, Problem, examine_agents};

fn texts(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| text.as_str().into()).collect())
}

/// The output of `backchat fix --format json`.
pub fn repair(repair: &Repair) -> Object {
    let edit = |edit: &Change| Value::from([("line", edit.line.into()), ("what", edit.what.as_str().into())]);
    let cured = repair.cured.iter().map(|cured| {
        Value::from([
            ("ailment", cured.problem.id().into()),
            ("shapes", texts(&cured.shapes)),
            ("edits", Value::List(cured.edits.iter().map(edit).collect())),
        ])
    });
    let left = repair.left.iter().map(|left| {
        Value::from([
            ("ailment", left.problem.id().into()),
            ("shapes", texts(&left.shapes)),
            ("reason", left.reason.as_str().into()),
            ("line", left.line.into()),
        ])
    });
    Object::from_iter([
        ("cured".to_owned(), Value::List(cured.collect())),
        ("left".to_owned(), Value::List(left.collect())),
        ("proof".to_owned(), proof(&repair.proof)),
        ("lacking".to_owned(), texts(&repair.lacking)),
        ("diff".to_owned(), repair.diff.as_str().into()),
    ])
}

fn proof(proof: &Proof) -> Value {
    let branches = &proof.branches;
    let not = branches.not.iter().map(|line| (*line).into()).collect();
    let branches =
        [("total", branches.total.into()), ("exercised", branches.exercised.into()), ("not", Value::List(not))];
    let one_turn = proof.one_turn.map(|(same, extended)| {
        ("one_turn", Value::from([("same", same.into()), ("extended", Value::from(extended))]))
    });
    let entries = [
        ("tried", proof.tried.into()),
        ("same", proof.same.into()),
        ("renders_now", proof.renders_now.into()),
        ("masks", proof.masks.into()),
        ("branches", Value::from(branches)),
    ];
    Value::Object(entries.into_iter().chain(one_turn).map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The proof in one sentence, and the second one of a repair by name.
pub fn proved(proof: &Proof) -> Vec<String> {
    let branches = &proof.branches;
    let lines: Vec<String> = branches.not.iter().map(usize::to_string).collect();
    let never = if lines.is_empty() { String::new() } else { format!(", never those at lines {}", lines.join(", ")) };
    let all = format!(
        "{} of {} conversations render to the same bytes as before; {} that raised render now; the others show a problem \
         that is repaired, or still raise; the assistant's text is the same in {} that were compared; {} of {} branches \
         exercised{never}",
        proof.same, proof.tried, proof.renders_now, proof.masks, branches.exercised, branches.total
    );
    let one_turn = proof.one_turn.map(|(same, extended)| {
        format!(
            "{same} conversations of one turn keep their bytes; {extended} only gained the stop or the prompt that was missing"
        )
    });
    [Some(all), one_turn].into_iter().flatten().collect()
}

/// The sentence about a template that does not take all conversations of agents, with the command that repairs it.
pub fn agents_warning(template: &ChatTemplate, options: &Options, source: &str) -> Option<String> {
    let agents = examine_agents(template, options);
    let mut problems: Vec<Problem> = agents.problems().map(|shape| shape.problem).collect();
    problems.dedup();
    let names: Vec<&str> = problems.into_iter().map(Problem::id).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the chat template refuses, drops or misprints conversations that agents send: {}; `backchat fix {}` repairs \
             what renders prove",
            names.join(", "),
            shell_word(source)
        )
    })
}
