//! The `junit` format: always well-formed XML; a case fails if one of its findings is an error.

use std::fmt::Write;
use std::time::Duration;

use super::{located, position};
use crate::diagnostic::{Diagnostic, Severity, escape_lines};
use crate::json::Map;

/// Cases that belong together, such as those of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    /// Its name in the report.
    pub name: String,
    /// Its cases, in the order of the report.
    pub cases: Vec<Case>,
}

/// One checked item and its findings; it failed if any of them is an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Its name in the report.
    pub name: String,
    /// How long it took, if that was measured.
    pub time: Option<Duration>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
}

impl Suite {
    /// One suite for each file that diagnostics are about, one case for each diagnostic.
    pub fn by_file(diagnostics: &[Diagnostic]) -> Vec<Self> {
        let mut suites = Map::<Vec<Case>>::new();
        for diagnostic in diagnostics {
            let file = diagnostic.place.as_ref().and_then(|place| place.file.as_deref()).unwrap_or("backchat");
            let path = diagnostic.place.as_ref().and_then(|place| place.path.as_deref());
            let name = path.map_or_else(|| diagnostic.id.to_owned(), |path| format!("{} at {path}", diagnostic.id));
            let case = Case { name, time: None, diagnostics: vec![diagnostic.clone()] };
            suites.entry(file).or_default().push(case);
        }
        suites.into_iter().map(|(name, cases)| Self { name, cases }).collect()
    }

    fn failures(&self) -> usize {
        self.cases.iter().filter(|case| case.failure().is_some()).count()
    }
}

impl Case {
    fn failure(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Writes the outcome of many cases, also of those without a diagnostic, as a JUnit report.
pub fn render_junit(suites: &[Suite]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(suites, &mut out);
    out
}

fn write(suites: &[Suite], out: &mut String) -> std::fmt::Result {
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let failures: usize = suites.iter().map(Suite::failures).sum();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"backchat\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">")?;
    for suite in suites {
        let (name, tests, failures) = (xml(&suite.name), suite.cases.len(), suite.failures());
        writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">"
        )?;
        for case in &suite.cases {
            write!(out, "    <testcase name=\"{}\" classname=\"{name}\"", xml(&case.name))?;
            if let Some(time) = case.time {
                write!(out, " time=\"{:.3}\"", time.as_secs_f64())?;
            }
            let text = xml(&case.diagnostics.iter().map(describe).collect::<String>());
            match case.failure() {
                Some(failure) => writeln!(
                    out,
                    ">\n      <failure message=\"{}\" type=\"{}\">{text}</failure>\n    </testcase>",
                    xml(&failure.message),
                    xml(failure.id)
                )?,
                None if text.is_empty() => writeln!(out, "/>")?,
                None => writeln!(out, ">\n      <system-out>{text}</system-out>\n    </testcase>")?,
            }
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn describe(diagnostic: &Diagnostic) -> String {
    let position = diagnostic.place.as_ref().and_then(position).map(|position| format!("{position}: "));
    let help = diagnostic.help.as_deref().map(|help| format!("  help: {help}\n"));
    let labels: String = diagnostic.labels.iter().map(|label| format!("  {}\n", located(label))).collect();
    format!(
        "{}{}[{}] {}\n{labels}{}",
        position.unwrap_or_default(),
        diagnostic.severity.name(),
        diagnostic.id,
        diagnostic.message,
        help.unwrap_or_default()
    )
}

/// Text for an attribute or an element, in which nothing moves a terminal's cursor or reorders the line.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape_lines(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c if c < ' ' || c == '\u{FFFE}' || c == '\u{FFFF}' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
