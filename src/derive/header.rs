//! What introduces an answer: the header of its turn, and what the prompt writes behind it.

use super::conversation::{Answer, Message};
use super::marks;
use super::probe::{Prober, Setting, USER_MESSAGE, after_tool_with, call, needle};
use super::reasoning::counterparts;

/// What introduces an answer after one kind of history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    /// The history, in words.
    pub after: &'static str,
    /// The text every prompt and every rendered turn share there, up to where they differ.
    pub text: String,
}

/// One way a prompt can end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PromptEnd {
    pub after: &'static str,
    pub setting: Setting,
    /// What the prompt writes after the header: part of the message already.
    pub prefill: String,
}

/// The headers, and how prompts end, in the order of the histories.
#[derive(Clone, Debug, Default)]
pub(super) struct Introduced {
    pub headers: Vec<Header>,
    pub prompts: Vec<PromptEnd>,
}

/// The history that ends in what a tool answered, in words.
pub(super) const TOOL_RESULT: &str = "a tool's result";

/// The needles a history may hold; of the call that a tool's result answers its id and name.
const HISTORY: [&str; 7] =
    [needle::SYSTEM, needle::USER, needle::LATER, needle::EARLIER, needle::RESULT, needle::IDS[2], needle::NAMES[2]];

/// Where the last needle of the history ends, looking no further than `limit`.
pub(super) fn after_history(text: &str, limit: usize) -> usize {
    let head = text.get(..limit).unwrap_or(text);
    HISTORY.iter().filter_map(|needle| head.rfind(needle).map(|at| at + needle.len())).max().unwrap_or(0)
}

/// A render that ends in this answer.
pub(super) fn full(prober: &Prober, history: &[Message], answer: &Answer, setting: &Setting) -> Option<String> {
    let mut messages = history.to_vec();
    messages.push(Message::Assistant(answer.clone()));
    prober.render(&messages, setting, false)
}

/// Adds to what is known how prompts introduce the answer after a kind of history.
pub(super) fn find(
    prober: &Prober,
    settings: &[Setting],
    after: &'static str,
    history: &[Message],
    known: &mut Introduced,
) {
    let introduced = |setting| introduction(prober, setting, after, history, &known.headers);
    let introductions: Vec<Introduction<'_>> = settings.iter().filter_map(introduced).collect();
    let Some((header, others)) = common_header(prober, history, &introductions) else { return };
    let header = match after {
        TOOL_RESULT => header_after_result(prober, header, &introductions),
        _ => header_of_any_turn(prober, history, header),
    };
    if header.trim().is_empty() {
        return;
    }
    for Introduction { setting, text, .. } in introductions {
        // What belongs to the result was cut off the header's front.
        if let Some(at) = text.find(&header) {
            let prefill = text.get(at + header.len()..).unwrap_or("").to_owned();
            known.prompts.push(PromptEnd { after, setting: setting.clone(), prefill });
        }
    }
    for other in others {
        // A prompt of another form may still end in the same marks.
        let shared = marks::shared_end(&other, &header);
        let text = if marks::is_sign(shared.trim()) { shared } else { other.trim_start() };
        if !text.trim().is_empty() && !other.ends_with(&header) {
            known.headers.push(Header { after, text: text.to_owned() });
        }
    }
    known.headers.push(Header { after, text: header });
}

/// How a prompt introduces the answer.
struct Introduction<'s> {
    setting: &'s Setting,
    /// What follows the history's own words.
    text: String,
    /// How many bytes of that are there without a generation prompt; nothing where there is none.
    generated: Option<usize>,
}

impl Introduction<'_> {
    fn lead(&self) -> usize {
        self.generated.unwrap_or(0)
    }

    /// The generation prompt, or all of it.
    fn tail(&self) -> &str {
        self.text.get(self.lead()..).unwrap_or("")
    }
}

fn introduction<'s>(
    prober: &Prober,
    setting: &'s Setting,
    after: &'static str,
    history: &[Message],
    known: &[Header],
) -> Option<Introduction<'s>> {
    let prompt = prober.render(history, setting, true)?;
    let start = after_history(&prompt, prompt.len());
    let generated = prober
        .render(history, setting, false)
        .and_then(|bare| prompt.starts_with(&bare).then_some(bare.len()))
        .filter(|at| *at < prompt.len())
        // What other prompts write after their header is no header here.
        .filter(|at| known.first().is_none_or(|first| !ends_inside(&first.text, prompt.get(*at..).unwrap_or(""))))
        .or_else(|| Some(start + user_end(prober, prompt.get(start..)?)?).filter(|_| after == USER_MESSAGE))
        .map(|at| at.saturating_sub(start));
    Some(Introduction { setting, text: prompt.get(start..).unwrap_or("").to_owned(), generated })
}

/// The header that all introductions have, and the generation prompts that have another one.
fn common_header(
    prober: &Prober,
    history: &[Message],
    introductions: &[Introduction<'_>],
) -> Option<(String, Vec<String>)> {
    let mut header: Option<String> = None;
    let mut rendered = String::new();
    let mut others = Vec::new();
    for introduction in introductions {
        let (lead, tail) = (introduction.lead(), introduction.tail());
        let answer = full(prober, history, &Answer::content(needle::CONTENT), introduction.setting);
        let shown = answer.as_deref().and_then(|answer| {
            let content = answer.rfind(needle::CONTENT)?;
            answer.get(after_history(answer, content) + lead..content)
        });
        let mut shared = shown.map_or(tail, |shown| marks::shared_start(tail, shown));
        if shared.trim().is_empty() {
            shared = before_prefill(&introduction.text, lead, answer.as_deref()).unwrap_or(tail);
        }
        let Some(known) = &header else {
            rendered = shown.unwrap_or("").to_owned();
            header = Some(shared.to_owned());
            continue;
        };
        let common = marks::shared_start(known, shared);
        let rest = tail.get(common.len()..).unwrap_or("");
        if common != known && !common.trim().is_empty() && belongs(known, common, rest, &rendered) {
            header = Some(common.to_owned());
        } else if !introduction.text.contains(known) {
            others.push(tail.to_owned());
        }
    }
    Some((header?, others))
}

/// The part of the header that earlier turns and turns with calls have too.
fn header_of_any_turn(prober: &Prober, history: &[Message], header: String) -> String {
    // Templates strip the reasoning of earlier turns, so that their header shows less than the prompt's.
    let mut header = earlier_header(prober, &header).unwrap_or(header);
    let alone = Answer::calls(vec![call(0, 1)]);
    for answer in [alone.clone().with_content(needle::CONTENT), alone] {
        header = call_header(prober, history, &answer, &header).unwrap_or(header);
    }
    header
}

/// The header behind a tool's result, without what belongs to the result.
fn header_after_result(prober: &Prober, header: String, introductions: &[Introduction<'_>]) -> String {
    let header = earlier_header(prober, &header).unwrap_or(header);
    let prefill = introductions.first().and_then(|first| first.text.get(first.text.find(&header)? + header.len()..));
    let mut header = common_to_results(prober, header, prefill.unwrap_or(""));
    // Without a generation prompt only the mark that ends the results introduces the answer.
    if introductions.iter().all(|introduction| introduction.generated.is_none())
        && let Some(last) = marks::split(&header).last().copied().filter(|mark| marks::is_sign(mark))
        && let Some(at) = header.rfind(last)
    {
        header.drain(..at);
    }
    header
}

/// The header where a turn shows nothing of what the prompt adds: what stands before that in both, or the end of it
/// that both have. `prompt` is what follows the history, of which `lead` bytes are there without a generation prompt.
fn before_prefill<'p>(prompt: &'p str, lead: usize, answer: Option<&str>) -> Option<&'p str> {
    let answer = answer?;
    let content = answer.rfind(needle::CONTENT)?;
    let shown = answer.get(after_history(answer, content)..content)?;
    let before = prompt.get(..lead)?;
    let end = marks::shared_end(prompt.get(lead..)?, shown).trim_start();
    if marks::is_distinct(end) {
        return Some(end);
    }
    (marks::is_distinct(before) && shown.starts_with(before)).then(|| before.trim_start())
}

/// How much of what follows a user's message ends it: what stands between two of them, less what begins the first.
fn user_end(prober: &Prober, rest: &str) -> Option<usize> {
    let messages = [Message::User(needle::USER.to_owned()), Message::User(needle::LATER.to_owned())];
    let text = prober.render(&messages, &Setting::new(), false)?;
    let (before, behind) = text.split_once(needle::USER)?;
    let between = behind.split(needle::LATER).next()?;
    let end = between.strip_suffix(marks::shared_end(before, between))?;
    let header = rest.strip_prefix(end)?;
    (marks::is_sign(end.trim()) && marks::is_distinct(header.trim())).then_some(end.len())
}

/// Whether a text is the end of a header and not all of it.
fn ends_inside(header: &str, text: &str) -> bool {
    !text.is_empty() && header.len() > text.len() && header.ends_with(text)
}

/// Whether what a setting changes at the end of the prompt belongs to the answer: a mark that rendered answers show,
/// or one that closes what the other opens. If not, the setting changes the header itself.
fn belongs(known: &str, common: &str, rest: &str, rendered: &str) -> bool {
    let Some(other) = marks::split(rest).first().copied() else { return true };
    let own = known.get(common.len()..).and_then(|rest| marks::split(rest).first().copied()).unwrap_or("");
    rendered.contains(other)
        || counterparts(own).iter().any(|mark| mark == other)
        || counterparts(other).iter().any(|mark| mark == own)
}

/// The part of the header that the turns before the last one have too.
fn earlier_header(prober: &Prober, header: &str) -> Option<String> {
    let messages = [
        Message::User(needle::USER.to_owned()),
        Message::Assistant(Answer::content(needle::EARLIER)),
        Message::User(needle::LATER.to_owned()),
    ];
    let text = prober.render(&messages, &Setting::new(), false)?;
    let end = text.find(needle::EARLIER)?;
    let start = text.get(..end)?.rfind(needle::USER)? + needle::USER.len();
    shared_header(header, text.get(start..end)?)
}

/// The part of the header that a turn with calls has too.
fn call_header(prober: &Prober, history: &[Message], answer: &Answer, header: &str) -> Option<String> {
    let text = full(prober, history, answer, &Setting::new())?;
    let name = text.rfind(needle::NAMES[0])?;
    let start = after_history(&text, name);
    shared_header(header, text.get(start..)?)
}

/// The part of a header that the beginning of another turn shows as well.
fn shared_header(header: &str, shown: &str) -> Option<String> {
    // The header may stand after the end of the user's message.
    let first = marks::split(header).first().copied()?;
    let at = shown.find(first)? + first.len();
    let from = header.find(first)? + first.len();
    let rest = marks::shared_start(header.get(from..)?, shown.get(at..)?);
    header.get(..from + rest.len()).map(str::to_owned)
}

/// Without what belongs to the result itself, such as a closing quote.
fn common_to_results(prober: &Prober, mut header: String, prefill: &str) -> String {
    for result in ["{\"qzkey\": \"Qzresultq\"}", "Qzresultq and more. ", "71"] {
        if let Some(text) = prober.render(&after_tool_with(result), &Setting::new(), true) {
            let end = format!("{header}{prefill}");
            let shared = marks::shared_end(&end, &text).strip_suffix(prefill).unwrap_or("").trim_start();
            if shared.trim().is_empty() {
                break;
            }
            header = shared.to_owned();
        }
    }
    header
}
