//! The sentences of `fix`.

use backchat_chat::ChatTemplate;
use backchat_chats::mending::Proof;
use backchat_core::diagnostic::shell_word;
use backchat_probe::doctor::{Options, Problem, examine_agents};

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
    let names: Vec<&str> = agents.ailments().into_iter().map(Problem::id).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the chat template refuses, drops or misprints conversations that agents send: {}; `backchat fix {}` repairs \
             what renders prove",
            names.join(", "),
            shell_word(source)
        )
    })
}
