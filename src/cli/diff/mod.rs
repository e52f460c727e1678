//! `diff`: what changes for whom between two chat templates, two response templates, or two models.

mod git;
mod sides;

use std::process::ExitCode;

use super::chat_options::{Given, failed};
use super::report::Page;
use super::watch::{self, Watched};
use super::{Failure, Global, chat_rows, input};
use backchat_core::diagnostic::{Diagnostic, escape};
use backchat_core::json::Object;
use backchat_diff::{ModelDiff, Options, Problem, Touched, Verdict, What, models};
use backchat_workbench::report::{self, Compared};
use sides::Opened;

/// Compare what two templates or models do: the smallest conversation for each difference
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat diff old.jinja new.jinja
  backchat diff models/source model.gguf
  backchat diff main -- chat_template.jinja
  backchat diff v1 v2 -- models/mine
  backchat diff old.jinja new.jinja --explain 2
  backchat diff old.json new.json --chat-template chat_template.jinja
  backchat diff --jsonl rows.jsonl

Each side is a .jinja file, a response template, a model folder, a .gguf file, or ORG/NAME in
the Hugging Face cache. With `-- PATH`, revisions of a file or folder are compared: none is HEAD
and one is that revision, each against the working tree.

A row of --jsonl is {\"id\", \"old\": path, \"new\": path, \"set\"?: {…}}; the answer is that of
`--format json` with the `id`, or {\"id\", \"error\"}.

git shows behavior with `git config diff.backchat.command \"backchat diff --git\"` and
`*.jinja diff=backchat` in .gitattributes.

Exit codes: 0 same, 1 differs or undecided, 2 could not run.")]
pub struct Diff {
    /// The old and the new side; with `-- PATH`, up to two revisions
    #[arg(value_name = "OLD NEW", num_args = 0..)]
    sides: Vec<String>,
    /// Compare revisions of this file or folder
    #[arg(last = true, value_name = "PATH")]
    path: Option<String>,
    /// Select the form of the answer
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    given: Given,
    /// Select one of several chat templates
    #[arg(long, value_name = "NAME")]
    template_name: Option<String>,
    /// Compare response templates on the turns of this chat template
    #[arg(long, value_name = "SOURCE")]
    chat_template: Option<String>,
    /// Show how this response template reads the renders of both, in the place of their drafts
    #[arg(long, value_name = "FILE")]
    response_template: Option<String>,
    /// Compare the ids of special tokens by this tokenizer.json, or the one in a model folder
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<String>,
    /// Show every case and both renders of one change, or of all
    #[arg(long, value_name = "N", num_args = 0..=1)]
    explain: Option<Option<usize>>,
    /// Bound the work of the search, in seconds
    #[arg(long, value_name = "N", default_value = "10", value_parser = seconds)]
    seconds: f64,
    /// Exit with 1 only if such a change is found; repeatable
    #[arg(long, value_name = "WHAT", value_enum)]
    fail_on: Vec<FailOn>,
    /// Take the arguments that git passes to an external diff
    #[arg(long)]
    git: bool,
    /// Compare one pair per row of a JSON Lines file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sides", "path", "git", "explain"])]
    jsonl: Option<String>,
    /// Run again whenever a file changes, with what changed on top; Ctrl-C ends
    #[arg(long, conflicts_with_all = ["git", "jsonl"])]
    watch: bool,
    #[command(flatten)]
    page: Page,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

/// What `--fail-on` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    Turn,
    Prompt,
    History,
    Refusal,
    Mask,
    Draft,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    seconds.ok_or_else(|| "expected a number above 0".to_owned())
}

impl Diff {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if let Some(file) = &self.jsonl {
            return self.rows(file, global);
        }
        if self.watch {
            let named = self.sides.iter().chain(&self.path).chain(&self.chat_template);
            let named = named.chain(&self.response_template).chain(&self.tokenizer);
            return watch::run("diff", &Watched::new(named).without(self.page.file()), global);
        }
        if self.git {
            return self.external(global);
        }
        input::stdin_once(self.sides.iter().map(|name| Some(name.as_str())), "pass one of the sides as a file")?;
        let pair = match &self.path {
            Some(path) => git::revisions(&self.sides, path)?,
            None => match self.sides.as_slice() {
                [old, new] => git::Pair::Both(sides::Place::plain(old), sides::Place::plain(new)),
                _ => {
                    let message = format!("expected two sides, or revisions and `-- PATH`; got {}", self.sides.len());
                    let help = "pass OLD and NEW, such as `backchat diff old.jinja new.jinja`";
                    return Err(Diagnostic::error("two-sides", message).help(help).into());
                }
            },
        };
        match pair {
            git::Pair::Both(old, new) => {
                let (diff, sources) = self.compared(&old, &new, global)?;
                self.print(&diff)?;
                self.page.write(global, || {
                    let sources = sources.as_ref().map(|[old, new]| [old.as_str(), new.as_str()]);
                    report::diff(&Compared { names: [&old.shown, &new.shown], sources, diff: &diff })
                })?;
                Ok(ExitCode::from(u8::from(self.fails(&diff))))
            }
            git::Pair::Alone(sentence) => {
                super::print(&format!("{sentence}\n"))?;
                Ok(ExitCode::from(1))
            }
        }
    }

    /// What git calls for a changed file. It takes any exit code but 0 for a crash.
    fn external(&self, global: &Global) -> Result<ExitCode, Failure> {
        match git::external(&self.sides)? {
            git::Pair::Both(old, new) => {
                super::print(&format!("{}\n", escape(&new.shown)))?;
                match self.compared(&old, &new, global) {
                    Ok((diff, _)) => self.print(&diff)?,
                    Err(failure) => {
                        let _ = failure.report(global);
                    }
                }
            }
            git::Pair::Alone(sentence) => super::print(&format!("{sentence}\n"))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn options(&self) -> Options {
        Options::default().now(self.given.clock()).seconds(self.seconds)
    }

    fn compared(
        &self,
        old: &sides::Place,
        new: &sides::Place,
        global: &Global,
    ) -> Result<(ModelDiff, Option<[String; 2]>), Failure> {
        let (mut opened, shared) = sides::both([old, new], &self.given, self.template_name.as_deref())?;
        if let Some(file) = shared {
            tell!(global, "note: {} has no special tokens beside it; those of the other side are used", escape(&file));
        }
        if let Some(partner) = &self.chat_template {
            for side in &mut opened {
                if side.model.chat.is_none() {
                    side.add_chat(partner, &self.given)?;
                }
            }
        }
        for chat in opened.iter_mut().filter_map(|side| side.model.chat.as_mut()) {
            if let Some(file) = &self.response_template {
                chat.response = Some(sides::response_template(file)?);
            }
            if let Some(file) = &self.tokenizer {
                chat.token_ids = sides::token_ids(file)?;
            }
        }
        let [old_side, new_side] = &opened;
        self.page.check_target()?;
        let is_partner_only = self.chat_template.is_some() && old_side.is_response_file && new_side.is_response_file;
        let mut diff = match is_partner_only {
            true => {
                let [Some(old), Some(new)] = [&old_side.model.response, &new_side.model.response] else {
                    return Err(nothing(old, new));
                };
                let response =
                    backchat_diff::response_templates(old, new, new_side.model.chat.as_ref(), &self.options());
                ModelDiff::of_response(response)
            }
            false => models(&old_side.model, &new_side.model, &self.options())
                .map_err(|problem| refused(problem, &opened))?,
        };
        if diff.chat.is_none() && diff.response.is_none() {
            return Err(nothing(old, new));
        }
        if let Some(response) = &mut diff.response {
            let (old, new) = (old_side.advice(), new_side.advice());
            let only = |one: &[String], other: &[String]| {
                one.iter().filter(|finding| !other.contains(finding)).cloned().collect()
            };
            response.lint = [only(&old, &new), only(&new, &old)];
        }
        let source = |side: &Opened| side.source.as_ref().map(|source| source.template.clone());
        let sources = source(old_side).zip(source(new_side)).map(|(old, new)| [old, new]);
        Ok((diff, sources))
    }

    fn print(&self, diff: &ModelDiff) -> Result<(), Failure> {
        if let Some(number) = self.explain {
            let Some(text) = diff.explained(number) else {
                let message = format!("there is no change {}", number.unwrap_or_default());
                let help = "the numbers are those of the text without `--explain`";
                return Err(Diagnostic::error("no-change", message).help(help).into());
            };
            return Ok(super::print(&text)?);
        }
        match self.format {
            Format::Text => Ok(super::print(&diff.text())?),
            Format::Markdown => Ok(super::print(&diff.markdown())?),
            Format::Json => Ok(super::print_json(&format!("{}\n", diff.to_value()))?),
        }
    }

    /// Whether the exit code is 1.
    fn fails(&self, diff: &ModelDiff) -> bool {
        if self.fail_on.is_empty() {
            return diff.verdict() != Verdict::Same;
        }
        let changes = || diff.chat.iter().flat_map(|chat| &chat.changes);
        let touches = |touched: Touched| changes().any(|change| change.touches.contains(&touched));
        let is = |what: What| changes().any(|change| change.what == what);
        self.fail_on.iter().any(|fail_on| match fail_on {
            FailOn::Turn => {
                touches(Touched::Turn) || diff.response.as_ref().is_some_and(|diff| !diff.changes.is_empty())
            }
            FailOn::Prompt => touches(Touched::Prompt),
            FailOn::History => touches(Touched::History),
            FailOn::Refusal => is(What::Refusal),
            FailOn::Mask => is(What::Mask),
            FailOn::Draft => {
                let drafts = diff.chat.as_ref().and_then(|chat| chat.drafts.as_ref());
                drafts.is_some_and(|drafts| !drafts.is_same() || drafts.loses())
            }
        })
    }

    fn rows(&self, file: &str, global: &Global) -> Result<ExitCode, Failure> {
        let tally = chat_rows::answer(file, global, |row| {
            let path = |key: &str| {
                let path = chat_rows::file(row, key)?;
                path.map(sides::Place::plain).ok_or_else(|| format!("the row has no `{key}`"))
            };
            let (old, new) = (path("old")?, path("new")?);
            let mut given = self.given.clone();
            given.set = chat_rows::variables(row, &given.set)?.into_iter().collect();
            let message = |failure: Failure| {
                let problem = backchat_workbench::input::Problem::from(failure).diagnostics.into_iter().next();
                problem.map_or_else(|| "cannot read this".to_owned(), |problem| problem.message)
            };
            let ([old, new], _) = sides::both([&old, &new], &given, self.template_name.as_deref()).map_err(message)?;
            let diff = models(&old.model, &new.model, &self.options()).map_err(|problem| problem.to_string())?;
            Ok(diff.to_value().as_object().cloned().unwrap_or_else(Object::new))
        })?;
        Ok(ExitCode::from(if tally.failed > 0 { 2 } else { 0 }))
    }
}

fn nothing(old: &sides::Place, new: &sides::Place) -> Failure {
    let message = format!("{} and {} have no kind of template in common", escape(&old.shown), escape(&new.shown));
    let help = "compare two chat templates, two response templates, or two models";
    Diagnostic::error("nothing-in-common", message).help(help).into()
}

fn refused(problem: Problem, sides: &[Opened; 2]) -> Failure {
    match problem {
        Problem::NotCompiled { is_new, error } => {
            let side = if is_new { &sides[1] } else { &sides[0] };
            match &side.source {
                Some(source) => failed(vec![error.diagnostic(&source.template, &source.file)], source),
                None => Diagnostic::error("template-failed", error.to_string()).into(),
            }
        }
        problem => Diagnostic::error("refuses-all", escape(&problem.to_string()).into_owned()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_diff::Model;

    #[test]
    fn models_without_templates_have_nothing_in_common() {
        let diff = models(&Model::default(), &Model::default(), &Options::default()).unwrap();
        assert!(diff.chat.is_none() && diff.response.is_none());
        assert_eq!(diff.verdict(), Verdict::Same);
    }
}
