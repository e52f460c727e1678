//! The frame of every page: a head whose policy forbids loading and running anything else, the title, the contents.

use super::html::Html;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = concat!(include_str!("stepper.js"), "\n", include_str!("report.js"));

/// The policy of every page: nothing is fetched, sent or framed; only this stylesheet and this script count. The hashes
/// are those of the two files, which `tests/it/report.rs` computes.
const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-1Wa1Q5J0wRgC1PnHLf/6DrY6kCorQcehRUikKn8whjE='; \
    script-src 'sha256-k55F3amxzbP72o60atp82MWNe93KnkWeel+MDc3zbKo='; \
    base-uri 'none'; form-action 'none'";

/// Groups of more items are folded.
pub(super) const FOLDED: usize = 12;

/// The result of a page's subject, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Mood {
    Good,
    Doubtful,
    Bad,
}

impl Mood {
    pub fn class(self) -> &'static str {
        match self {
            Mood::Good => "good",
            Mood::Doubtful => "doubtful",
            Mood::Bad => "bad",
        }
    }
}

pub(super) struct Head<'a> {
    /// The subject of the page, in Backchat's own words.
    pub title: &'a str,
    /// The file or the model it is about.
    pub name: &'a str,
    /// The verdict in a word.
    pub badge: (&'a str, Mood),
    /// The verdict in a sentence.
    pub line: &'a str,
    /// A link to the subject of the page in the playground.
    pub playground: Option<String>,
}

/// A section of a page, under its heading.
pub(super) struct Section<'a> {
    pub id: String,
    pub title: String,
    pub write: Box<dyn FnOnce(&mut Html) + 'a>,
}

impl<'a> Section<'a> {
    pub fn new(id: impl Into<String>, title: impl Into<String>, write: impl FnOnce(&mut Html) + 'a) -> Self {
        Self { id: id.into(), title: title.into(), write: Box::new(write) }
    }
}

pub(super) fn page(head: &Head<'_>, sections: Vec<Section<'_>>) -> String {
    let mut html = Html::default();
    html.empty("!doctype html", &[]);
    html.gap();
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| {
            html.empty("meta", &[("charset", "utf-8")]);
            html.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
            html.empty("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
            html.empty("meta", &[("name", "color-scheme"), ("content", "light dark")]);
            html.empty("meta", &[("name", "referrer"), ("content", "no-referrer")]);
            html.tag("title", "", &format!("{} {}", head.title, head.name));
            html.inlined("style", STYLE);
        });
        html.gap();
        html.element("body", &[], |html| {
            html.element("a", &[("class", "skip"), ("href", "#main")], |html| html.text("Skip to the content"));
            html.element("header", &[], |html| {
                html.of_class("h1", "", |html| {
                    html.text(head.title);
                    html.text(" ");
                    html.tag("span", "name", head.name);
                });
                html.of_class("p", "verdict", |html| {
                    html.tag("strong", &format!("badge {}", head.badge.1.class()), head.badge.0);
                    html.text(" ");
                    html.prose(head.line);
                });
                html.element("nav", &[("aria-label", "Contents")], |html| {
                    for section in &sections {
                        html.link(&format!("#{}", section.id), &section.title);
                        html.text(" ");
                    }
                    if let Some(address) = &head.playground {
                        open_link(html, address);
                    }
                });
            });
            html.gap();
            html.element("main", &[("id", "main")], |html| {
                for section in sections {
                    let heading = format!("{}-heading", section.id);
                    html.element("section", &[("id", &section.id), ("aria-labelledby", &heading)], |html| {
                        html.element("h2", &[("id", &heading)], |html| html.text(&section.title));
                        (section.write)(html);
                    });
                    html.gap();
                }
            });
            html.tag("footer", "", concat!("Written by backchat ", env!("CARGO_PKG_VERSION")));
            html.inlined("script", SCRIPT);
        });
    });
    html.gap();
    html.finish()
}

pub(super) fn open_link(html: &mut Html, address: &str) {
    html.link(address, "Open in the playground");
}
