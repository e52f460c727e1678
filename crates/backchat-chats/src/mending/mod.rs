//! Repairs of chat templates: a template that takes conversations which it refused, dropped or misprinted, with a proof by
//! renders that every other conversation keeps its bytes.

mod branches;
mod candidates;
mod combined;
mod controls;
mod edit;
mod features;
mod masks;
mod named;
mod places;
mod portability;
mod prelude;
mod prelude_reader;
mod prompts;
mod report;
mod search;
#[cfg(test)]
mod tests;
mod trial;
mod variants;

use crate::line_ends::as_in_file;
use backchat_chat::{ChatTemplate, RenderOptions, ended, examine};
use backchat_core::json::Value;
use backchat_probe::diff::unified;
use backchat_probe::doctor::Options;
use backchat_probe::doctor::agents::{Base, Case, Fate, Problem, cases};
use backchat_probe::doctor::probe::{Chat, Probe};
use backchat_probe::probe::{context, stand_ins};
use masks::Masks;
use search::{Draft, Search};
use trial::{Goal, Test, Trial};

pub use branches::Branches;

/// The work that a repair may do, in budgets of an examination.
pub const WORK: f64 = 2.0;

/// How many variants of each shape are tried besides the shape itself.
const MOST_VARIANTS: usize = 16;

/// A chat template after its repairs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Repair {
    /// The template; the same text if nothing was repaired.
    pub text: String,
    /// The changes, as a unified diff; empty if there are none.
    pub diff: String,
    /// The problems that were repaired.
    pub cured: Vec<Cured>,
    /// The problems that were left.
    pub left: Vec<Left>,
    /// What renders prove.
    pub proof: Proof,
    /// Each construct that the repair brings and that an engine for templates lacks, in words.
    pub lacking: Vec<String>,
}

/// A problem that was repaired.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cured {
    /// The problem.
    pub problem: Problem,
    /// Its conversations that are healthy now.
    pub shapes: Vec<String>,
    /// What was done.
    pub edits: Vec<Change>,
}

/// One change of a repair.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The first line of the original that changed.
    pub line: usize,
    /// What was done, in words.
    pub what: String,
}

/// A problem that was left.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Left {
    /// The problem.
    pub problem: Problem,
    /// Its conversations that are as they were.
    pub shapes: Vec<String>,
    /// Why.
    pub reason: String,
    /// The line at which the template refuses them.
    pub line: Option<usize>,
}

/// What renders prove about a repair.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Proof {
    /// How many conversations were rendered with both templates.
    pub tried: usize,
    /// How many that rendered before render to the same bytes.
    pub same: usize,
    /// How many that raised before render now.
    pub renders_now: usize,
    /// In how many the mask of the assistant's text was compared.
    pub masks: usize,
    /// If a repair by name was asked for, the conversations of one turn that keep their bytes, and those that only gained
    /// the stop or the prompt that was missing.
    pub one_turn: Option<(usize, usize)>,
    /// The branches that the conversations took.
    pub branches: Branches,
}

/// Repairs the given problems of a template, or all that it shows but those that are repaired only by name. `file` is the
/// template's text, whose line ends the repair keeps.
///
/// The examination ends with its budget; what was not tried by then is left.
pub fn repair(file: &str, template: &ChatTemplate, problems: &[Problem], options: &Options) -> Repair {
    examine(options.budget.scaled(WORK), || repair_template(file, template, problems, options))
}

fn repair_template(file: &str, template: &ChatTemplate, problems: &[Problem], options: &Options) -> Repair {
    let stand_ins = stand_ins(template, &options.variables, "|");
    let mut options = options.clone();
    options.variables.extend(stand_ins.clone());
    let probe = Probe::new(template, &options);
    let Some(base) = Base::find(&probe) else {
        return Repair::unchanged(file);
    };
    let asked: Vec<Problem> = match problems {
        [] => Problem::ALL.into_iter().filter(|problem| !problem.is_by_name_only()).collect(),
        given => given.to_vec(),
    };
    let trial = trial_of(&base, &asked, &options);
    let first = trial.standing(template);
    let (rules, body) = prelude_reader::split(template.source());
    let head = template.source().lines().count() - body.lines().count();
    let mut draft = Draft { body: body.to_owned(), rules, standing: first.clone(), steps: Vec::new() };
    let original = template.source();
    let mut search = Search {
        base: &base,
        trial: &trial,
        original,
        first: &first,
        repaired: Vec::new(),
        stand_ins: &stand_ins,
        head,
    };
    let masks = asked.iter().any(|problem| is_shown(*problem, &trial, &draft)).then(|| Masks::before(&trial, template));
    let mut work = Work { changes: Vec::new(), masks: 0, unmasked: Vec::new() };
    for problem in asked.iter().copied() {
        if !is_shown(problem, &trial, &draft) {
            continue;
        }
        let Some((next, masks)) = search.cure(problem, &draft).zip(masks.as_ref()) else { continue };
        // A mask begins where the prompt ends, and ends with the stop: their repairs change it on purpose.
        let is_of_masks = |problem: &Problem| matches!(problem, Problem::GenerationPrompt | Problem::Stop);
        if !search.repaired.iter().chain([&problem]).any(is_of_masks) {
            let after = ChatTemplate::compile(&next.source()).ok();
            let Some(same) = after.and_then(|after| masks.same(&trial, &after, &first, &next.standing)) else {
                work.unmasked.push(problem);
                continue;
            };
            work.masks = same;
        }
        work.changes.push((problem, changes_between(&draft, &next, &search)));
        draft = next;
        search.repaired.push(problem);
    }
    report(file, &asked, &search, &draft, work)
}

/// What the search did besides the draft.
struct Work {
    changes: Vec<(Problem, Vec<Change>)>,
    /// How many masks were compared.
    masks: usize,
    /// The problems whose repair would change a mask.
    unmasked: Vec<Problem>,
}

fn report(file: &str, asked: &[Problem], search: &Search<'_, '_, '_>, draft: &Draft, work: Work) -> Repair {
    let text = as_in_file(&draft.source(), file);
    let lacking = portability::lacking(search.original, &draft.source());
    let mut repair = Repair { diff: unified(file, &text, 2, None), text, lacking, ..Repair::unchanged(file) };
    for problem in asked.iter().copied() {
        let edits = work.changes.iter().find(|(known, _)| *known == problem).map(|(_, edits)| edits.as_slice());
        note(&mut repair, problem, search, draft, edits);
    }
    for left in repair.left.iter_mut().filter(|left| work.unmasked.contains(&left.problem)) {
        "the repair that was found changes which text a mask of the assistant's marks".clone_into(&mut left.reason);
    }
    repair.proof = Proof { masks: work.masks, ..proof(search.trial, search.first, draft) };
    if asked.iter().any(|problem| problem.is_by_name_only()) {
        repair.proof.one_turn = Some(search.trial.of_one_turn(&draft.standing));
    }
    repair
}

fn is_shown(problem: Problem, trial: &Trial, draft: &Draft) -> bool {
    let chains = problem == Problem::Prefix && draft.standing.chains.contains(&false);
    chains || !trial.ill(problem, &draft.standing).is_empty()
}

fn changes_between(before: &Draft, after: &Draft, search: &Search<'_, '_, '_>) -> Vec<Change> {
    let (old, new) = (before.source(), after.source());
    let line = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count() + 1;
    let mut steps: Vec<String> = after.steps.iter().skip(before.steps.len()).cloned().collect();
    steps.dedup();
    // A setting of the template's own may do what the edit does.
    if before.standing.chains != after.standing.chains {
        let settings = named::settings(search.base, search.trial);
        steps.extend(settings.iter().map(|setting| format!("`{setting}` keeps the turns without an edit")));
    }
    steps.into_iter().map(|what| Change { line, what }).collect()
}

impl Repair {
    fn unchanged(file: &str) -> Self {
        Self {
            text: file.to_owned(),
            diff: String::new(),
            cured: Vec::new(),
            left: Vec::new(),
            proof: Proof::default(),
            lacking: Vec::new(),
        }
    }
}

/// All conversations that a repair is judged by.
fn trial_of(base: &Base<'_, '_>, asked: &[Problem], options: &Options) -> Trial {
    let mut tests = Vec::new();
    let cases = cases(base).into_iter().filter(|case| !is_fact_only(case));
    let cases: Vec<Case> = cases.chain(named::cases(base, asked.contains(&Problem::Prefix))).collect();
    let fates = cases.iter().map(|case| (case, case.fate(&base.probe.exactly(&case.chat))));
    let fates: Vec<(&Case, Fate)> = fates.collect();
    let lists = fates.iter().filter(|(case, fate)| case.problem == Problem::Parts && fate.is_problem());
    let lists: Vec<&str> = lists.map(|(case, _)| case.shape).collect();
    let mut add = |chat: &Chat, goal: Option<Goal>| {
        let mut variables = options.variables.clone();
        variables.extend(chat.variables.iter().map(|(name, value)| (name.to_owned(), value.clone())));
        let context = context(&variables, &chat.messages, &Value::Null, chat.prompt);
        let before = base.probe.exactly(chat).ok();
        let needles = features::needles(chat, base);
        tests.push(Test { context, shows: features::shown(chat, base, &lists), before, needles, goal });
    };
    // A list that the template misprints is a problem's.
    let is_control = |chat: &Chat| !features::shown(chat, base, &lists).contains(&Problem::Parts);
    let controls: Vec<Chat> = controls::controls(base).into_iter().filter(is_control).collect();
    for case in &cases {
        add(&case.chat, Some(Goal { case: case.clone(), is_extra: false }));
    }
    for case in cases.iter().filter(|case| asked.contains(&case.problem)) {
        if case.problem == Problem::LateSystem {
            for chat in variants::late_systems(&case.chat, base) {
                let case = Case { chat: chat.clone(), ..case.clone() };
                add(&chat, Some(Goal { case, is_extra: true }));
            }
        }
        if case.problem == Problem::GenerationPrompt {
            for case in prompts::under_switches(base, &case.chat.messages) {
                add(&case.chat.clone(), Some(Goal { case, is_extra: true }));
            }
        }
        let variants = controls.iter().filter_map(|chat| {
            let text = base.probe.exactly(chat).ok()?;
            Some((variants::variant(case.problem, case.shape, chat, base)?, text))
        });
        for (chat, text) in variants.take(MOST_VARIANTS) {
            let case = Case { chat: chat.clone(), accepted: vec![text], needles: Vec::new(), ..case.clone() };
            add(&chat, Some(Goal { case, is_extra: true }));
        }
    }
    controls.iter().for_each(|chat| add(chat, None));
    let dropped: Vec<Problem> =
        fates.iter().filter(|(_, fate)| *fate == Fate::Dropped).map(|(case, _)| case.problem).collect();
    combined::conversations(base, &dropped).iter().for_each(|chat| add(chat, None));
    let chains = if asked.contains(&Problem::Prefix) { named::chains(base, &options.variables) } else { Vec::new() };
    let options = RenderOptions::default().now(options.now.clone());
    Trial { options, tests, chains, endings: named::endings(base) }
}

/// Shapes that no repair is asked for.
fn is_fact_only(case: &Case) -> bool {
    matches!((case.problem, case.shape), (Problem::Tools, "empty") | (Problem::Results, "several" | "order"))
}

/// Notes what became of a problem.
fn note(repair: &mut Repair, problem: Problem, search: &Search<'_, '_, '_>, draft: &Draft, edits: Option<&[Change]>) {
    let Search { trial, first, .. } = search;
    let now = trial.ill(problem, &draft.standing);
    let names = |ill: &[usize]| -> Vec<String> {
        let shape = |at: &usize| trial.tests.get(*at)?.goal.as_ref().map(|goal| goal.case.shape.to_owned());
        let mut names: Vec<String> = ill.iter().filter_map(shape).collect();
        names.dedup();
        names
    };
    if let Some(edits) = edits {
        let mut cured = trial.ill(problem, first);
        cured.retain(|at| !now.contains(at));
        repair.cured.push(Cured { problem, shapes: names(&cured), edits: edits.to_vec() });
    }
    if !now.is_empty() || (problem == Problem::Prefix && draft.standing.chains.contains(&false)) {
        let line = now.iter().find_map(|at| first.outcomes.get(*at)?.as_ref().err()?.line);
        let reason = reason(problem, search, &now);
        repair.left.push(Left { problem, shapes: names(&now), reason, line });
    }
}

/// Why a problem was left.
fn reason(problem: Problem, search: &Search<'_, '_, '_>, ill: &[usize]) -> String {
    let mut goals = ill.iter().filter_map(|at| search.trial.tests.get(*at)?.goal.as_ref());
    let has_none = goals.all(|goal| !goal.case.has_healthy_render());
    let words = match problem {
        _ if ended().is_some() => {
            "the budget was used up before a repair was found (a budget of 10 allows ten times the work)"
        }
        Problem::GenerationPrompt if has_none => "no render shows what an answer begins with",
        Problem::Prefix => "no change of one condition keeps every turn as it was first rendered",
        Problem::ArgsText => {
            "the template reads arguments as an object, and Jinja has no reader of JSON: the engine must parse them"
        }
        Problem::CallKeys => "an id that is absent cannot be known",
        _ if has_none => "no render is known that says the same: the template has no place of its own for it",
        _ => "no small change was found that renders prove",
    };
    words.to_owned()
}

fn proof(trial: &Trial, first: &trial::Standing, draft: &Draft) -> Proof {
    let pairs = || first.outcomes.iter().zip(&draft.standing.outcomes);
    let same = pairs().filter(|(was, now)| matches!((was, now), (Ok(was), Ok(now)) if was == now)).count();
    let renders_now = pairs().filter(|(was, now)| was.is_err() && now.is_ok()).count();
    let contexts: Vec<_> = trial.tests.iter().map(|test| &test.context).collect();
    let branches = branches::exercised(&draft.source(), &contexts, &trial.options);
    Proof { tried: trial.tests.len(), same, renders_now, branches, ..Proof::default() }
}
