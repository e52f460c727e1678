//! The options `--report` and `--playground`, and the destination of the page.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Failure, Global, input, signals};
use backchat_core::diagnostic::{Diagnostic, escape};
use backchat_core::text::uri_path;
use backchat_workbench::report::Playground;

/// The options of every command with an HTML report.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Page {
    /// Also write an HTML report: one self-contained file that can be attached to a pull request
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Link the report to the playground at this address, or in this file
    #[arg(long, value_name = "ADDRESS", requires = "report")]
    playground: Option<String>,
}

impl Page {
    /// The link to the playground from a page beside the report, or from the report itself.
    pub fn playground(&self, place: Option<&Path>) -> Result<Option<Playground>, Failure> {
        let (Some(address), Some(report)) = (&self.playground, &self.report) else { return Ok(None) };
        let page = place.map_or_else(|| report.clone(), |place| beside(report, place));
        let folder = page.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let is_file = Path::new(address).exists();
        let address = if is_file {
            self::address(Path::new(&input::path_from(folder, Path::new(address))))
        } else {
            address.clone()
        };
        Playground::at(&address).map(Some).ok_or_else(|| {
            let message = format!("`{}` is not an address of a page", escape(&address));
            let help = "pass an https address, or the index.html that `playground/build` writes";
            Diagnostic::error("playground-address", message).help(help).into()
        })
    }

    /// The file of the report.
    pub fn file(&self) -> Option<&PathBuf> {
        self.report.as_ref()
    }

    pub fn is_asked(&self) -> bool {
        self.report.is_some()
    }

    /// Writes a page into the folder next to the report with the same name; returns its relative address.
    pub fn write_beside(&self, place: &Path, page: &str) -> Result<Option<String>, Failure> {
        let Some(file) = &self.report else { return Ok(None) };
        let target = beside(file, place);
        check_file(&target)?;
        signals::write_inside(&target, page)?;
        let above = file.parent().unwrap_or(Path::new(""));
        Ok(Some(address(target.strip_prefix(above).unwrap_or(&target))))
    }

    /// Refuses a target that cannot be a page, if a page was requested.
    pub fn check_target(&self) -> Result<(), Failure> {
        self.report.as_deref().map_or(Ok(()), check_file)
    }

    /// Writes the page if one was requested, and prints its path.
    pub fn write(&self, global: &Global, page: impl FnOnce() -> String) -> Result<(), Failure> {
        let Some(file) = &self.report else { return Ok(()) };
        check_file(file)?;
        signals::write(file, page())?;
        tell!(global, "Wrote the report {}.", escape(&file.display().to_string()));
        Ok(())
    }
}

/// The path of a page, relative to the report.
fn beside(report: &Path, place: &Path) -> PathBuf {
    let folder = match report.extension() {
        Some(_) => report.with_extension(""),
        None => report.with_extension("pages"),
    };
    let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder.join(place.with_file_name(format!("{name}.html")))
}

/// Whether the file exists and is not an HTML page, such as a template or a fixture given by mistake.
fn is_another_file(file: &Path) -> bool {
    const BEGINNING: &[u8] = b"<!doctype html>";
    let mut start = Vec::new();
    let read = File::open(file).and_then(|file| file.take(BEGINNING.len() as u64).read_to_end(&mut start));
    read.is_ok() && !start.is_empty() && !start.eq_ignore_ascii_case(BEGINNING)
}

/// A relative path as the address of a link.
fn address(path: &Path) -> String {
    uri_path(&path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"))
}

/// Refuses a file that a page would replace.
fn check_file(file: &Path) -> Result<(), Failure> {
    let shown = file.display().to_string();
    let message = match () {
        () if shown == "-" => "a report is written to a file".to_owned(),
        () if is_another_file(file) => {
            format!("the report would replace {}, which is not an HTML page", escape(&shown))
        }
        () => return Ok(()),
    };
    let help = "name a new file, such as `report.html`";
    Err(Diagnostic::error("report-file", message).help(help).into())
}
