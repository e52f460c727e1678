//! The destinations and formats of diagnostics: standard output, and any number of files.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::str::FromStr;

use super::known_values::{Names, named, one_of};
use super::{Failure, Global, signals};
use backchat_core::diagnostic::{Diagnostic, Format, Sources, Suite, render, render_junit};

const FORMATS: &Names<Format> = &[
    ("full", Format::Full, "Excerpts with the problem underlined"),
    ("concise", Format::Concise, "One line per finding"),
    ("json", Format::Json, "One JSON object"),
    ("github", Format::Github, "Annotations of a GitHub workflow"),
    ("junit", Format::Junit, "A JUnit report"),
    ("sarif", Format::Sarif, "A SARIF log"),
];

#[derive(Clone, Debug, clap::Args)]
pub struct Outputs {
    /// Select the format of findings [default: full, or github in a GitHub workflow]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(FORMATS))]
    format: Option<Format>,
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
        let given = text.split_once('=').and_then(|(name, path)| Some((named(FORMATS, &name.to_lowercase())?, path)));
        if let Some((format, path)) = given.filter(|(_, path)| !path.is_empty()) {
            return Ok(Self { format, path: path.into() });
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

pub struct Results<'d> {
    pub diagnostics: &'d [Diagnostic],
    /// The same, those of one cause as one, for the formats that people read.
    pub by_cause: Option<&'d [Diagnostic]>,
    pub sources: &'d Sources,
    /// All checked items, if items without findings are reported too.
    pub suites: Option<&'d [Suite]>,
}

impl Outputs {
    /// The files that it writes.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().map(|target| &target.path)
    }

    /// Writes the findings to all requested outputs.
    pub fn write(&self, found: &Results<'_>, global: &Global) -> Result<(), Failure> {
        for target in &self.output {
            let text = found.render(target.format, false);
            signals::write(&target.path, text)?;
        }
        let mut out = io::stdout().lock();
        let format = self.format.unwrap_or_else(|| default_format(out.is_terminal()));
        out.write_all(found.render(format, global.colors(&out)).as_bytes())?;
        Ok(out.flush()?)
    }
}

fn default_format(is_terminal: bool) -> Format {
    let in_workflow = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if in_workflow && !is_terminal { Format::Github } else { Format::Full }
}

impl Results<'_> {
    fn render(&self, format: Format, color: bool) -> String {
        match (format, self.suites, self.by_cause) {
            (Format::Junit, Some(suites), _) => render_junit(suites),
            (Format::Full | Format::Concise | Format::Github, _, Some(by_cause)) => {
                render(by_cause, format, self.sources, color)
            }
            _ => render(self.diagnostics, format, self.sources, color),
        }
    }
}
