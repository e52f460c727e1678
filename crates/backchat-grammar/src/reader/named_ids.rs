//! Ids that hold the name of their function: those that the response template reads as an id with that name.
//!
//! Renders show whatever id they are given, so only the response template says which form such an id has.

use super::assumed::{Hole, hole};
use crate::automaton::Automaton;
use crate::markers::CALLS;
use backchat_core::text::slice;
use backchat_derive::wire::structure::{Arguments, CallPart, Calls};
use backchat_parser::pattern::{Pattern, PatternPart, Regular, escape_literal, of_delimiter, source_of};
use backchat_parser::template::Template;

/// How many forms of an id are told apart.
const MOST_FORMS: usize = 32;

/// The longest run of one character that stands for a repeated one.
const LONGEST_SAMPLE: usize = 64;

/// The pattern of an id.
#[derive(Clone, Debug)]
pub(crate) struct NamedIds {
    parts: Vec<PatternPart>,
    /// The group of the name.
    name: String,
    /// Reads an id before the text that follows it.
    reader: Pattern,
    follows: String,
}

/// One way to write an id: each optional part is there or not.
#[derive(Clone, Debug, Default)]
struct Form {
    texts: Vec<Regular>,
    sample: String,
}

impl NamedIds {
    /// The ids of calls that are written with one; `None` if there are none, or the response template does not show them.
    pub fn find(template: &Template, calls: &Calls) -> Option<Self> {
        let at = calls.body.head.iter().position(|part| *part == CallPart::NamedId)?;
        let field = template.field(CALLS)?;
        let transform = field.transform.as_ref()?;
        let capture = |path: &[&str]| match hole(&transform.shape, path, transform.each)? {
            Hole::Capture(group) => Some(group),
            Hole::Content(_) => None,
        };
        let name = capture(&["function", "name"])?;
        let outline = field.open.as_ref()?.pattern().outline();
        let follows = follows(calls, at);
        let own = capture(&["id"]).and_then(|id| group(&outline, &id)).filter(|own| group(own, &name).is_some());
        let parts = match own {
            Some(own) => own.to_vec(),
            None => between(&outline, &before(calls, at), &follows, &name)?,
        };
        let inside = source_of(&parts, &|_, group| group.filter(|group| *group == name).map(str::to_owned))?;
        let reader = Pattern::new(&format!("^(?:{inside})\\s*{}", escape_literal(&follows))).ok()?;
        Some(Self { parts, name, reader, follows })
    }

    /// The ids that are read as this name; `None` if there are none.
    pub fn of(&self, name: &str) -> Option<Automaton> {
        let forms = self.forms(&self.parts, name)?.into_iter().filter(|form| self.reads(&form.sample, name));
        let forms = Regular::Alternate(forms.map(|form| Regular::Concat(form.texts)).collect());
        Automaton::from_pattern(&forms).filter(|ids| !ids.is_empty())
    }

    /// Whether the response template reads an id as this name.
    fn reads(&self, id: &str, name: &str) -> bool {
        let text = format!("{id}{}", self.follows);
        let found = self.reader.find_at(&text, 0).ok().flatten();
        found.is_some_and(|found| found.name(&self.name) == Some(name))
    }

    /// The forms of a sequence of parts; `None` if a part is not understood, or there are too many.
    fn forms(&self, parts: &[PatternPart], name: &str) -> Option<Vec<Form>> {
        let mut all = vec![Form::default()];
        for part in parts {
            let next = self.forms_of(part, name)?;
            let joined = all.iter().flat_map(|form| next.iter().map(|next| form.followed_by(next)));
            all = joined.collect();
            if all.len() > MOST_FORMS {
                return None;
            }
        }
        Some(all)
    }

    fn forms_of(&self, part: &PatternPart, name: &str) -> Option<Vec<Form>> {
        Some(match part {
            PatternPart::Text(text) => vec![Form::of(Regular::text(text), text)],
            PatternPart::Group { name: Some(group), .. } if *group == self.name => {
                vec![Form::of(Regular::text(name), name)]
            }
            PatternPart::Group { parts, .. } => self.forms(parts, name)?,
            PatternPart::Maybe(parts) => std::iter::once(Form::default()).chain(self.forms(parts, name)?).collect(),
            PatternPart::Many(parts) => {
                let once = self.forms(parts, name)?;
                let sample = once.first().map_or_else(String::new, |form| form.sample.clone());
                let any = Regular::Alternate(once.into_iter().map(|form| Regular::Concat(form.texts)).collect());
                vec![Form::of(any.repeat(1, None), &sample)]
            }
            PatternPart::Either(branches) => {
                let forms: Option<Vec<Vec<Form>>> = branches.iter().map(|branch| self.forms(branch, name)).collect();
                forms?.concat()
            }
            PatternPart::Run { source, sample, .. } => vec![run(source, sample)?],
            // A model writes no white space there, and what a look-ahead needs is tested with a sample.
            PatternPart::Space | PatternPart::Start | PatternPart::Ahead(_) | PatternPart::NotAhead(_) => {
                vec![Form::default()]
            }
            PatternPart::End | PatternPart::Other => return None,
        })
    }
}

impl Form {
    fn of(text: Regular, sample: &str) -> Self {
        Self { texts: vec![text], sample: sample.to_owned() }
    }

    fn followed_by(&self, next: &Self) -> Self {
        Self {
            texts: self.texts.iter().chain(&next.texts).cloned().collect(),
            sample: format!("{}{}", self.sample, next.sample),
        }
    }
}

/// Characters of a set. Beyond ASCII, sets are approximated, and ids need none of that.
fn run(source: &str, sample: &str) -> Option<Form> {
    let (regular, _) = of_delimiter(source).ok()?;
    let regular = in_ascii(regular);
    let texts = Automaton::from_pattern(&regular)?;
    let sample = (0..=LONGEST_SAMPLE).map(|count| sample.repeat(count)).find(|text| texts.accepts(text))?;
    Some(Form::of(regular, &sample))
}

fn in_ascii(regular: Regular) -> Regular {
    let all = |items: Vec<Regular>| items.into_iter().map(in_ascii).collect();
    match regular {
        Regular::Class(ranges) => {
            let ranges = ranges.into_iter().filter(|(low, _)| *low < 128);
            Regular::Class(ranges.map(|(low, high)| (low, high.min(127))).collect())
        }
        Regular::Concat(items) => Regular::Concat(all(items)),
        Regular::Alternate(items) => Regular::Alternate(all(items)),
        Regular::Repeat { node, min, max } => in_ascii(*node).repeat(min, max),
        other => other,
    }
}

/// The parts of the group with this name.
fn group<'p>(parts: &'p [PatternPart], wanted: &str) -> Option<&'p [PatternPart]> {
    parts.iter().find_map(|part| match part {
        PatternPart::Group { name: Some(name), parts, .. } if name == wanted => Some(parts.as_slice()),
        PatternPart::Group { parts, .. } | PatternPart::Maybe(parts) | PatternPart::Many(parts) => group(parts, wanted),
        PatternPart::Either(branches) => branches.iter().find_map(|branch| group(branch, wanted)),
        _ => None,
    })
}

/// The text of the wire before the id.
fn before(calls: &Calls, at: usize) -> String {
    let open = calls.cuts.first().map_or("", |cut| cut.open.as_str());
    let head = calls.body.head.iter().take(at).rev().map_while(CallPart::text).collect::<Vec<_>>();
    let all: String = std::iter::once(open).chain(head.into_iter().rev()).collect();
    all.trim().to_owned()
}

/// The text of the wire after the id.
fn follows(calls: &Calls, at: usize) -> String {
    let head: String = calls.body.head.iter().skip(at + 1).map_while(CallPart::text).collect();
    match head.trim() {
        "" => first_of(&calls.body.arguments).trim().to_owned(),
        head => head.to_owned(),
    }
}

/// The text that arguments begin with.
pub(crate) fn first_of(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Pairs(pairs) => format!("{}{}", pairs.cut.section, pairs.cut.open),
        Arguments::JsonText => "\"".to_owned(),
        _ => "{".to_owned(),
    }
}

/// The parts around the name, up to the texts of the wire on both sides.
fn between(parts: &[PatternPart], before: &str, after: &str, name: &str) -> Option<Vec<PatternPart>> {
    let at = parts.iter().position(|part| group(std::slice::from_ref(part), name).is_some())?;
    let mut around = Vec::new();
    let mut is_found = false;
    for part in parts.iter().take(at).rev() {
        let PatternPart::Text(text) = part else {
            around.insert(0, part.clone());
            continue;
        };
        let mut bounds = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let known = bounds.rfind(|end| before.ends_with(slice(text, ..*end)));
        around.insert(0, PatternPart::Text(slice(text, known.unwrap_or(0)..).to_owned()));
        is_found = known.is_some();
        if is_found {
            break;
        }
    }
    around.extend(parts.get(at).cloned());
    if !is_found {
        return None;
    }
    for part in parts.iter().skip(at + 1) {
        match part {
            PatternPart::Ahead(_) => return Some(around),
            PatternPart::Text(text) => {
                let known = text.char_indices().map(|(at, _)| at).find(|at| after.starts_with(slice(text, *at..)));
                around.push(PatternPart::Text(slice(text, ..known.unwrap_or(text.len())).to_owned()));
                if known.is_some() {
                    return Some(around);
                }
            }
            part => around.push(part.clone()),
        }
    }
    None
}
