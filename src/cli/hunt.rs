//! The options of a hunt, its progress and report, and the fixtures of what it finds.

use std::path::{Path, PathBuf};

use super::progress::Progress;
use super::{Failure, Global, input, signals};
use backchat_core::diagnostic::{Diagnostic, counted, escape, shell_word, shortened};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{self, Hunt, Hunted, Options};
use backchat_parser::template::Template;
use backchat_workbench::check::{self, Names};

/// How much of an example is shown, in characters.
const EXCERPT: usize = 400;

/// A longer proof, with random conversations.
#[derive(Clone, Debug, clap::Args)]
pub struct HuntOptions {
    /// If it is proved, look for a random conversation that refutes the proof: try N of them
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10000", value_parser = number())]
    pub hunt: Option<usize>,
    /// Set the seed of the random conversations
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "hunt")]
    seed: u64,
    /// Write each conversation that the hunt finds into this folder, as a fixture
    #[arg(long, value_name = "DIR", requires = "hunt")]
    pub fixtures: Option<PathBuf>,
}

/// A number above zero.
pub fn number() -> impl clap::builder::TypedValueParser<Value = usize> {
    use clap::builder::TypedValueParser as _;
    clap::value_parser!(u32).range(1..).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

impl HuntOptions {
    /// The hunt that was asked for.
    pub fn asked(&self) -> Option<Hunt> {
        self.hunt.map(|conversations| Hunt { conversations, seed: self.seed })
    }
}

/// Hunts with progress on a terminal. The first Ctrl-C ends it, with the result so far.
pub fn run(
    chat_template: &str,
    template: &Template,
    options: &Options,
    hunt: Hunt,
    global: &Global,
) -> Result<Hunted, Diagnostic> {
    let mut progress = Progress::new(global, "conversations", Some(hunt.conversations as u64));
    signals::ended_by_interrupt(|| {
        derive::hunt(chat_template, template, options, hunt, &mut |tried| progress.advance(1, tried as u64))
    })
}

/// The result in lines, the first of which is the headline.
pub fn text(hunted: &Hunted) -> String {
    let mut out = format!("{}\n", escape(&hunted.headline()));
    hunted.details().iter().for_each(|line| out.push_str(&format!("  {}\n", escape(line))));
    hunted.failures.iter().for_each(|failure| out.push_str(&example(failure, failure.hint())));
    out
}

/// A failure with its smallest conversation, and what to do about it.
pub fn example(failure: &derive::Failure, to_fix: Option<String>) -> String {
    let setting = Value::Object(failure.setting.clone()).to_string();
    let lines = [
        ("text", Some(shortened(&format!("{:?}", failure.text), EXCERPT).into_owned())),
        ("expected", Some(shortened(&failure.expected.to_string(), EXCERPT).into_owned())),
        ("got", Some(shortened(&failure.got.to_string(), EXCERPT).into_owned())),
        ("with", (!failure.setting.is_empty()).then_some(setting)),
        ("to fix", to_fix),
    ];
    let mut out = format!("\nfailed: {}\n", escape(&failure.describe()));
    for (name, text) in lines {
        out.extend(text.map(|text| format!("  {name:<9} {}\n", escape(&text))));
    }
    out
}

/// A report with the result of a hunt. A proof that it refutes is partial.
pub fn with_hunt(report: Value, hunted: Option<&Hunted>) -> Value {
    let (Value::Object(mut report), Some(hunted)) = (report.clone(), hunted) else { return report };
    if hunted.refutes() {
        report.insert("status", "partial".into());
    }
    report.insert("hunt", hunted.to_value());
    Value::Object(report)
}

/// Writes a fixture for each conversation that a hunt found. Its name depends on the conversation alone, so that another
/// hunt replaces only what it finds again.
pub fn write_fixtures(
    folder: &Path,
    hunted: &Hunted,
    [template, chat_template]: [&str; 2],
    variables: &Object,
    global: &Global,
) -> Result<(), Failure> {
    let path = |name: &str| Ok::<_, Failure>(input::path_from(folder, Path::new(&input::place(name)?)));
    let (template, chat_template) = (path(template)?, path(chat_template)?);
    for failure in &hunted.failures {
        let names = Names { file: "", template: &template, chat_template: &chat_template, variables };
        let (name, text) = check::counterexample(failure, hunted.seed, names);
        signals::write_inside(&folder.join(name), text)?;
    }
    if hunted.refutes() {
        let folder = folder.display().to_string();
        let wrote = counted(hunted.failures.len(), "fixture");
        tell!(global, "Wrote {wrote} into {}. Next: backchat check {}", escape(&folder), shell_word(&folder));
    }
    Ok(())
}
