//! The destinations and formats of diagnostics: standard output, and any number of files.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use super::signals::uninterrupted;
use super::{Failure, Global, input};
use backchat_core::diagnostic::{Diagnostic, Format, Sources, Suite, render, render_junit};
use backchat_parser::template::source::replace_file;

/// The formats of diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Excerpts with the problem underlined
    Full,
    /// One line per finding
    Concise,
    /// One JSON object
    Json,
    /// Annotations of a GitHub workflow
    Github,
    /// A JUnit report
    Junit,
    /// A SARIF log
    Sarif,
}

#[derive(Clone, Debug, clap::Args)]
pub struct Outputs {
    /// Select the format of findings [default: full, or github in a GitHub workflow]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Name>,
    /// Also write the findings to a file: FILE.xml (JUnit), FILE.sarif, FILE.json, FILE.txt, or FORMAT=FILE; repeatable
    #[arg(long, value_name = "FILE")]
    output: Vec<Target>,
}

#[derive(Clone, Debug)]
struct Target {
    format: Format,
    path: PathBuf,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').and_then(|(name, path)| Some((Name::from_str(name, true).ok()?, path)));
        if let Some((name, path)) = named.filter(|(_, path)| !path.is_empty()) {
            return Ok(Self { format: name.into(), path: path.into() });
        }
        let path = PathBuf::from(text);
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("xml") => Format::Junit,
            Some("sarif") => Format::Sarif,
            Some("json") => Format::Json,
            Some("txt") => Format::Full,
            _ => return Err("give the format as well: FORMAT=FILE, such as `junit=report`".to_owned()),
        };
        Ok(Self { format, path })
    }
}

impl From<Name> for Format {
    fn from(name: Name) -> Self {
        match name {
            Name::Full => Format::Full,
            Name::Concise => Format::Concise,
            Name::Json => Format::Json,
            Name::Github => Format::Github,
            Name::Junit => Format::Junit,
            Name::Sarif => Format::Sarif,
        }
    }
}

/// The findings to write.
pub struct Results<'d> {
    pub diagnostics: &'d [Diagnostic],
    pub sources: &'d Sources,
    /// All checked items, if not only those with findings.
    pub suites: Option<&'d [Suite]>,
}

impl Outputs {
    /// Writes the findings to all requested outputs.
    pub fn write(&self, found: &Results<'_>, global: &Global) -> Result<(), Failure> {
        for target in &self.output {
            let text = found.render(target.format, false);
            uninterrupted(|| replace_file(&target.path, text.as_bytes()))
                .map_err(|error| input::cannot_write(&target.path.display().to_string(), &error))?;
        }
        let mut out = io::stdout().lock();
        let format = self.format.map_or_else(|| by_itself(out.is_terminal()), Format::from);
        out.write_all(found.render(format, global.colors(&out)).as_bytes())?;
        Ok(out.flush()?)
    }
}

fn by_itself(is_terminal: bool) -> Format {
    let in_workflow = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if in_workflow && !is_terminal { Format::Github } else { Format::Full }
}

impl Results<'_> {
    fn render(&self, format: Format, color: bool) -> String {
        match (format, self.suites) {
            (Format::Junit, Some(suites)) => render_junit(suites),
            _ => render(self.diagnostics, format, self.sources, color),
        }
    }
}
