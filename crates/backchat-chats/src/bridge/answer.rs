//! Parses a sample, and determines how it ends.

use super::Sample;
use super::refusal::{Refusal, Refused, check_after_stop};
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{Finished, Options, ParseError, Parser, ProblemKind, TokenTemplate};
use backchat_parser::tokens::Placed;

/// A sample as a message.
pub(super) struct Answer {
    pub message: Object,
    /// The text of the sample.
    pub text: String,
    /// The text of its last id, if that is a stop id.
    pub asked_stop: Option<String>,
    /// The added token at its end, if any.
    pub last_marker: Option<String>,
    /// The field of reasoning or a call inside which it ends, if any.
    pub open: Option<String>,
}

/// The message of sampled ids.
pub(super) fn parse(
    tokens: &TokenTemplate,
    prompt_ids: &[u32],
    sampled_ids: &[u32],
    options: Options,
) -> Result<Finished, ParseError> {
    let mut parser = Parser::with_tokens(tokens, prompt_ids, options)?;
    parser.feed_tokens(sampled_ids)?;
    parser.finish()
}

impl Answer {
    pub fn read(tokens: &TokenTemplate, sample: &Sample<'_>) -> Result<Self, Refused> {
        let is_stop = |id: &u32| sample.stop_ids.contains(id);
        let last = sample.sampled_ids.last().copied();
        check_after_stop(sample.sampled_ids, is_stop, "")?;
        let all = Placed::new(tokens.tokens(), &[sample.prompt_ids, sample.sampled_ids].concat());
        if all.is_cut {
            return Err(Refused::new(Refusal::IncompleteCharacter, "the sample ends inside a character"));
        }
        let prompt = Placed::new(tokens.tokens(), sample.prompt_ids);
        let begin = all.spans.get(sample.prompt_ids.len()).map_or(prompt.text.len(), |(start, _)| *start);
        let text = all.text.get(begin..).unwrap_or_default().to_owned();
        let unparsed = |reason: String| Refused::new(Refusal::Unparsed, reason);
        let options = Options::default().stop_ids(sample.stop_ids);
        let finished = parse(tokens, sample.prompt_ids, sample.sampled_ids, options);
        let finished = finished.map_err(|error| unparsed(error.to_string()))?;
        let is_open = |kind| matches!(kind, ProblemKind::Unclosed | ProblemKind::Malformed);
        let open = finished.problems.iter().find(|problem| problem.at_end && is_open(problem.kind));
        let open = open.and_then(|problem| problem.field.clone()).filter(|field| field != "content");
        if let (None, Some(region)) = (&open, finished.malformed.first()) {
            return Err(unparsed(format!("a region of `{}` gives no value: {}", region.field, region.reason)));
        }
        let content_of = |id: u32| tokens.tokens().added_text(id).map(str::to_owned);
        Ok(Self {
            message: finished.message,
            text,
            asked_stop: last.filter(is_stop).map(|id| content_of(id).unwrap_or_default()),
            last_marker: last.and_then(content_of),
            open,
        })
    }

    /// The message for renders: calls without an id get the id that their result names.
    pub fn for_render(&self, new: &[Value]) -> Value {
        let mut message = self.message.clone();
        let mut ids = new.iter().filter_map(|message| message.get("tool_call_id").cloned());
        if let Some(Value::List(calls)) = message.get_mut("tool_calls") {
            for call in calls {
                let id = ids.next();
                if let (Value::Object(call), Some(id)) = (call, id)
                    && call.get("id").is_none_or(Value::is_null)
                {
                    call.insert("id", id);
                }
            }
        }
        Value::Object(message)
    }
}
