//! Explains what happened, and why nothing more is released.

use super::recording::{Held, Kind, Moment, Outcome, Pending, Recording};
use backchat_core::diagnostic::escape;
use backchat_parser::parser::{Problem, RecoveryPolicy};
use backchat_parser::template::Delimiter;

/// The longest text quoted in a sentence, in characters.
const LONGEST: usize = 32;

/// How many events of a chunk are listed; if there are more, only the last.
const LISTED: usize = 3;

/// A text quoted for a sentence: on one line, escaped, its middle omitted if it is long.
pub fn quoted(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return format!("`{}`", escape(text));
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    let tail: String = text.chars().skip(length - LONGEST / 2 + 1).collect();
    format!("`{}…{}`", escape(&head), escape(&tail))
}

impl Recording {
    /// The last thing that happened, in one sentence without a period.
    pub fn happened(&self, moment: Moment) -> String {
        let before = self.events_before(moment.feed);
        if moment == self.end()
            && let Outcome::Failed(error) = &self.outcome
        {
            return format!("failed: {}", escape(&error.to_string()));
        }
        if moment.event <= before {
            return match moment {
                _ if moment == self.start() => "nothing yet: the output begins here".to_owned(),
                _ if self.has_ended(moment) => "the output ended".to_owned(),
                _ => self.silence_in_words(moment),
            };
        }
        let events = match self.is_inside_feed(moment) {
            true => moment.event.saturating_sub(1)..moment.event,
            false => before..moment.event,
        };
        let last = moment.event.saturating_sub(1);
        if events.len() > LISTED {
            return format!("{}, the last of {} events", self.event_in_words(last), events.len());
        }
        let listed: Vec<String> = events.map(|event| self.event_in_words(event)).collect();
        match moment.feed {
            0 => format!("the prompt itself: {}", listed.join("; ")),
            _ => listed.join("; "),
        }
    }

    /// An event, in words.
    pub fn event_in_words(&self, event: usize) -> String {
        let Some(seen) = self.event(event) else { return String::new() };
        let field = escape(self.field_name(seen.field));
        let delimiter = self.slice(seen.span.clone());
        match seen.kind {
            Kind::Open if delimiter.is_empty() && self.is_implicit(seen.field) => {
                format!("text outside every other region began `{field}`")
            }
            Kind::Open if delimiter.is_empty() => format!("an empty match opened `{field}`"),
            Kind::Open => format!("{} opened `{field}`", quoted(delimiter)),
            Kind::Chunk => format!("released {} to `{field}`", quoted(delimiter)),
            Kind::Close => {
                let closed = match (delimiter.is_empty(), self.opens_next(event)) {
                    (false, _) => format!("{} closed `{field}`", quoted(delimiter)),
                    (true, Some(next)) => format!("the opening of `{}` ended `{field}`", escape(next)),
                    (true, None) if self.is_unclosed(event) => {
                        let close = self.field(seen.field).and_then(|field| field.close.as_ref());
                        let close = close.map_or_else(String::new, delimiter_in_words);
                        format!("the output ended, and the close of `{field}` never came: {close}")
                    }
                    (true, None) if seen.span.start == self.text.len() => {
                        format!("the end of the output closed `{field}`")
                    }
                    (true, None) => format!("an empty match closed `{field}`"),
                };
                match self.replaced(event) {
                    Some(lost) => format!("{closed}, which replaces its value {}", quoted(&lost.to_string())),
                    None => closed,
                }
            }
            Kind::Malformed => {
                let reason = seen.value.and_then(Result::err).unwrap_or("");
                format!("`{field}` ended and gives no value: {}", escape(reason))
            }
        }
    }

    /// The field that the event right after this one opens at the same place.
    fn opens_next(&self, event: usize) -> Option<&str> {
        let (closed, next) = (self.event(event)?, self.event(event + 1)?);
        (next.kind == Kind::Open && next.span.start == closed.span.end).then(|| self.field_name(next.field))
    }

    /// A feed without events.
    fn silence_in_words(&self, moment: Moment) -> String {
        let text = quoted(self.slice(self.feed_span(moment.feed)));
        let before = self.moment_of_feed(moment.feed.saturating_sub(1));
        let dropped = self.settled(before)..self.settled(moment);
        if moment.feed == 0 {
            return format!("the prompt ends in {text}, which is not settled");
        }
        match self.slice(dropped) {
            "" => format!("took {text}, released nothing"),
            dropped => format!("{} is outside every region and is dropped", quoted(dropped)),
        }
    }

    /// Why nothing more is released, in one sentence without a full stop.
    pub fn why(&self, moment: Moment) -> String {
        if self.has_ended(moment) {
            return self.end_in_words();
        }
        if self.is_inside_feed(moment) {
            return match self.slice(self.settled(moment)..self.arrived(moment)) {
                "" => "more events of the same chunk follow".to_owned(),
                rest => format!("still to read of this chunk: {}", quoted(rest)),
            };
        }
        let Some(held) = self.held(moment) else {
            return format!("nothing is held; {}", self.watched_in_words(moment));
        };
        let text = quoted(self.slice(held.span.clone()));
        let could = self.pending_in_words(&held);
        if could.is_empty() {
            return format!("holding {text}: an empty match made the reference stop searching");
        }
        let more = match could.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(", or {more} more"),
        };
        let could: Vec<String> = could.into_iter().take(3).collect();
        format!("holding {text}: could become {}{more}", could.join(", or "))
    }

    /// Why text is held, with one sentence for each delimiter that it may become.
    pub fn why_in_full(&self, moment: Moment) -> Vec<String> {
        let Some(held) = self.held(moment).filter(|held| !held.pending.is_empty()) else {
            return vec![self.why(moment)];
        };
        let head = format!("holding `{}`", escape(self.slice(held.span.clone())));
        let could = self.pending_in_words(&held).into_iter().map(|words| format!("could become {words}"));
        std::iter::once(head).chain(could).collect()
    }

    /// The delimiters that text is held for, in the order of the text.
    fn pending_in_words(&self, held: &Held<'_>) -> Vec<String> {
        let mut pending: Vec<&Pending> = held.pending.iter().collect();
        pending.sort_by_key(|pending| (pending.start(), pending.field()));
        let words = pending.into_iter().map(|pending| {
            let name = escape(self.field_name(pending.field()));
            let what = if pending.closes { "close" } else { "opening" };
            let came = self.slice(pending.start()..held.span.end);
            format!("the {what} of `{name}` ({})", self.rest_in_words(pending, came))
        });
        words.collect()
    }

    /// The missing text that would decide it.
    fn rest_in_words(&self, pending: &Pending, came: &str) -> String {
        let field = self.field(pending.field());
        let delimiter = field.and_then(|field| if pending.closes { field.close.as_ref() } else { field.open.as_ref() });
        let Some(delimiter) = delimiter else { return String::new() };
        let Delimiter::Literals { literals, .. } = delimiter else {
            let pattern = quoted(delimiter.pattern().source());
            return match came.is_empty() {
                true => format!("pattern {pattern}, which looks ahead"),
                false => format!("pattern {pattern}, from {} on", quoted(came)),
            };
        };
        let rests = literals.iter().filter_map(|literal| literal.strip_prefix(came)).filter(|rest| !rest.is_empty());
        let rests: Vec<String> = rests.map(quoted).collect();
        match rests.as_slice() {
            [] => format!("{} is there, but the text before it is not settled", quoted(came)),
            rests => format!("{} to go", rests.join(" or ")),
        }
    }

    /// The delimiters the parser looks for.
    pub fn watched_in_words(&self, moment: Moment) -> String {
        let region = self.region(moment).and_then(|region| self.field(region.field));
        if let Some(field) = region.filter(|field| field.open.is_some()) {
            let name = escape(&field.name);
            return match &field.close {
                Some(close) => format!("inside `{name}` only its close counts: {}", delimiter_in_words(close)),
                None => format!("`{name}` has no close and runs to the end of the output"),
            };
        }
        let opens = self.template.fields().iter().filter_map(|field| field.open.as_ref().map(|open| (field, open)));
        let opens: Vec<String> = opens
            .map(|(field, open)| format!("{} to open `{}`", delimiter_in_words(open), escape(&field.name)))
            .collect();
        let implicit = self.template.implicit_field();
        let closes = implicit.and_then(|field| Some((field, field.close.as_ref()?)));
        let closes =
            closes.map(|(field, close)| format!("{} to close `{}`", delimiter_in_words(close), escape(&field.name)));
        match opens.into_iter().chain(closes).collect::<Vec<_>>() {
            watched if watched.is_empty() => "no delimiter is looked for".to_owned(),
            watched => format!("looking for {}", watched.join(", ")),
        }
    }

    fn end_in_words(&self) -> String {
        match &self.outcome {
            Outcome::Failed(_) => "the parser cannot go on after this".to_owned(),
            Outcome::Open => "more of the output may come".to_owned(),
            Outcome::Finished { missing } if !missing.is_empty() => {
                let names: Vec<String> = missing.iter().map(|name| format!("`{}`", escape(name))).collect();
                format!("the message is complete, but required fields are absent: {}", names.join(", "))
            }
            Outcome::Finished { .. } => match self.malformed_count() {
                0 => "the message is complete".to_owned(),
                1 => "the message is complete, without one region that gave no value".to_owned(),
                count => format!("the message is complete, without {count} regions that gave no value"),
            },
        }
    }

    fn is_implicit(&self, field: usize) -> bool {
        self.field(field).is_some_and(|field| field.open.is_none())
    }
}

/// A problem in one line: its kind, its field, the reason, and the policies that recover it.
pub fn problem_in_words(problem: &Problem) -> String {
    let mut words = problem.kind.as_str().to_owned();
    if let Some(field) = &problem.field {
        words.push_str(&format!(" of `{field}`"));
    }
    if let Some(reason) = &problem.reason {
        words.push_str(&format!(": {reason}"));
    }
    if !problem.policies.is_empty() {
        words.push_str(&format!(", {}", recovery_in_words(problem)));
    }
    words
}

/// The policies that recover from a problem, in words; empty if none does.
pub fn recovery_in_words(problem: &Problem) -> String {
    let verb = match (problem.policies.is_empty(), problem.is_recovered) {
        (true, _) => return String::new(),
        (false, true) => "recovered by",
        (false, false) => "could be recovered by",
    };
    let policies: Vec<&str> = problem.policies.iter().map(RecoveryPolicy::as_str).collect();
    format!("{verb} {}", policies.join(", "))
}

fn delimiter_in_words(delimiter: &Delimiter) -> String {
    match delimiter.literals() {
        Some(literals) => literals.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(" or "),
        None => format!("pattern {}", quoted(delimiter.pattern().source())),
    }
}
