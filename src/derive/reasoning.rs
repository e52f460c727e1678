//! How the model's reasoning is set off from its answer.

use super::conversation::{Answer, Carrier, Message, speaks_of_reasoning};
use super::marks;
use super::probe::{Prober, Setting, call, needle};
use super::turn::Turn;

/// Where reasoning begins and ends, and how that was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reasoning {
    pub open: String,
    pub close: String,
    /// What ends it instead where something else follows.
    pub other_ends: Vec<String>,
    /// The message key or content block the template reads it from, where it reads it at all.
    pub carrier: Option<Carrier>,
    /// Every key that does the same.
    pub keys: Vec<String>,
    pub setting: Setting,
    pub source: Source,
    /// Marks that the prompt asks to put around the answer itself.
    pub answer_marks: Vec<String>,
}

/// What gave the marks away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The template renders reasoning it is given.
    Rendered,
    /// The template takes reasoning out of content at the closing mark.
    Removed,
    /// The prompt opens it; the closing mark is the opening one's counterpart.
    Prefilled,
    /// Under a setting the prompt asks for it, and shows the pair of marks.
    Asked,
}

impl Source {
    /// The word of the report.
    pub fn name(self) -> &'static str {
        match self {
            Source::Rendered => "rendered",
            Source::Removed => "removed from content",
            Source::Prefilled => "opened by the prompt",
            Source::Asked => "asked for by the prompt",
        }
    }
}

/// Finds the marks around reasoning, and takes the opening one out of the headers where a prompt always writes it.
pub(super) fn find(
    prober: &mut Prober,
    settings: &[Setting],
    carriers: &[Carrier],
    literals: &[String],
    turn: &mut Turn,
) -> Option<Reasoning> {
    let reasoning = rendered(prober, settings, carriers, turn)
        .or_else(|| removed(prober, literals, turn))
        .or_else(|| prefilled(prober, literals, turn))
        .or_else(|| asked(prober, settings))?;
    prober.carrier.clone_from(&reasoning.carrier);
    give_back(&reasoning.open, turn);
    Some(reasoning)
}

/// The answers reasoning is tried with: many templates show it only beside a call, or only beside content.
fn answers() -> [Answer; 3] {
    let bare = Answer::default().with_reasoning(needle::REASONING);
    [
        bare.clone().with_content(needle::CONTENT),
        Answer { calls: vec![call(0, 1)], ..bare.clone() },
        Answer { calls: vec![call(0, 1)], ..bare }.with_content(needle::CONTENT),
    ]
}

/// Whether reasoning shows in renders at all, under a key that is called so.
pub(super) fn leaves_a_trace(prober: &mut Prober, settings: &[Setting], carriers: &[Carrier], turn: &Turn) -> bool {
    let found = carriers.iter().filter(|carrier| carrier.is_named_for_reasoning()).any(|carrier| {
        let mut shows = |carrier: Carrier| {
            prober.carrier = Some(carrier);
            settings.iter().any(|setting| answers().iter().any(|answer| shows_reasoning(prober, turn, answer, setting)))
        };
        !shows(carrier.unread()) && shows(carrier.clone())
    });
    prober.carrier = None;
    found
}

/// A way to carry reasoning that shows in renders.
struct Candidate {
    carrier: Carrier,
    open: String,
    close: String,
    other_ends: Vec<String>,
    setting: Setting,
}

fn rendered(prober: &mut Prober, settings: &[Setting], carriers: &[Carrier], turn: &Turn) -> Option<Reasoning> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for carrier in carriers {
        // A list or a message that is printed as it is shows every key.
        prober.carrier = Some(carrier.unread());
        if settings.iter().any(|setting| answers().iter().any(|answer| shows_reasoning(prober, turn, answer, setting)))
        {
            continue;
        }
        prober.carrier = Some(carrier.clone());
        let found = settings.iter().find_map(|setting| {
            let (open, close, other_ends) = marks_under(prober, turn, setting)?;
            Some(Candidate { carrier: carrier.clone(), open, close, other_ends, setting: setting.clone() })
        });
        candidates.extend(found);
    }
    prober.carrier = None;
    // Templates print other keys too, such as a refusal. Reasoning is what a prompt opens, or what is called so.
    let rank = |candidate: &Candidate| {
        let is_opened = turn.prompts.iter().any(|prompt| prompt.prefill.contains(&candidate.open));
        (!is_opened, !candidate.carrier.is_named_for_reasoning())
    };
    let best = candidates.iter().min_by_key(|candidate| rank(candidate))?;
    let same = candidates.iter().filter(|other| (&other.open, &other.close) == (&best.open, &best.close));
    let keys = same.filter_map(|candidate| match &candidate.carrier {
        Carrier::Key(key) => Some(key.clone()),
        Carrier::Block { .. } => None,
    });
    Some(Reasoning {
        open: best.open.clone(),
        close: best.close.clone(),
        other_ends: best.other_ends.clone(),
        carrier: Some(best.carrier.clone()),
        keys: keys.collect(),
        setting: best.setting.clone(),
        source: Source::Rendered,
        answer_marks: Vec::new(),
    })
}

fn shows_reasoning(prober: &Prober, turn: &Turn, answer: &Answer, setting: &Setting) -> bool {
    turn.body(prober, answer, setting).is_some_and(|body| body.contains(needle::REASONING))
}

/// The marks around the reasoning of the first answer that shows it, and what ends it in others.
fn marks_under(prober: &Prober, turn: &Turn, setting: &Setting) -> Option<(String, String, Vec<String>)> {
    let mut found: Option<(String, String, Vec<String>)> = None;
    for answer in answers() {
        let Some(body) = turn.body(prober, &answer, setting).filter(|body| body.contains(needle::REASONING)) else {
            continue;
        };
        // What stands behind the content, or is set off from it by nothing, is no reasoning.
        let (open, close) = around(&body, turn)?;
        match &mut found {
            None => found = Some((open, close, Vec::new())),
            Some((_, first, others)) if *first != close && !others.contains(&close) => others.push(close),
            Some(_) => {}
        }
    }
    found
}

/// The marks on either side of the reasoning needle.
fn around(body: &str, turn: &Turn) -> Option<(String, String)> {
    let at = body.find(needle::REASONING)?;
    let before = body.get(..at)?.trim();
    let header = marks::split(turn.header());
    let open = match (before, header.as_slice()) {
        // The header swallowed it: its last mark is the opening one.
        ("", [_, .., last]) => (*last).to_owned(),
        ("", _) => return None,
        (before, _) => before.to_owned(),
    };
    let is_header = !before.is_empty() && header.iter().any(|mark| marks::is_sign(mark) && open.contains(mark));
    if is_header || open.contains(needle::CONTENT) || open.contains(needle::NAMES[0]) {
        return None;
    }
    let after = body.get(at + needle::REASONING.len()..)?;
    let next = [needle::CONTENT, needle::IDS[0], needle::NAMES[0]]
        .iter()
        .filter_map(|needle| after.find(needle))
        .min()
        .unwrap_or(after.len());
    let gap = after.get(..next)?;
    Some((open, (*marks::split(gap).first()?).to_owned()))
}

/// Tries every text the template names: one that makes the content before it vanish or move is a closing mark.
fn removed(prober: &Prober, literals: &[String], turn: &Turn) -> Option<Reasoning> {
    const BEFORE: &str = "Qzbeforeq";
    const AFTER: &str = "Qzafterq";
    let user = Message::User(needle::USER.to_owned());
    let later = Message::User(needle::LATER.to_owned());
    let shows = |content: &str| -> Vec<String> {
        let answer = Message::Assistant(Answer::content(content));
        let last = vec![user.clone(), answer.clone()];
        let earlier = vec![user.clone(), answer, later.clone()];
        [last, earlier].iter().filter_map(|messages| prober.render(messages, &Setting::new(), false)).collect()
    };
    // The shortest text that does it is the mark; longer ones contain it.
    let mut literals: Vec<&String> = literals.iter().collect();
    literals.sort_by_key(|literal| literal.trim().len());
    for close in &literals {
        let content = format!("{BEFORE}{close}{AFTER}");
        let texts = shows(&content);
        let taken = texts.iter().any(|text| text.contains(AFTER) && !text.contains(&content));
        if !taken || texts.iter().any(|text| text.contains(&format!("{BEFORE}{AFTER}"))) {
            continue;
        }
        let open = texts
            .iter()
            .find_map(|text| {
                let end = text.find(BEFORE)?;
                let start = text.get(..end)?.rfind(turn.header())? + turn.header().len();
                let lead = text.get(start..end)?.trim();
                (!lead.is_empty()).then(|| lead.to_owned())
            })
            .or_else(|| prefill(turn, |mark| mark != close.trim()))
            .or_else(|| literals.iter().find(|open| counterparts(open).contains(close)).map(|open| (*open).clone()))
            .or_else(|| opening(close.trim()));
        if let Some(open) = open {
            return Some(Reasoning {
                open,
                close: close.trim().to_owned(),
                other_ends: Vec::new(),
                carrier: None,
                keys: Vec::new(),
                setting: Setting::new(),
                source: Source::Removed,
                answer_marks: Vec::new(),
            });
        }
    }
    None
}

/// A mark, other than the closing one, that prompts write after the header though rendered turns have none there.
fn prefill(turn: &Turn, counts: impl Fn(&str) -> bool) -> Option<String> {
    let mut marks = turn.prompts.iter().filter_map(|prompt| marks::split(&prompt.prefill).into_iter().next());
    marks.find(|mark| counts(mark)).map(str::to_owned)
}

/// Whether a mark stands open where a call begins.
fn opens_calls(mark: &str, prober: &Prober, turn: &Turn) -> bool {
    let body = turn.body(prober, &Answer::calls(vec![call(0, 1)]), &Setting::new());
    let before = body.as_deref().and_then(|body| body.get(..body.find(needle::NAMES[0])?));
    let behind = before.and_then(|before| before.get(before.rfind(mark)?..));
    behind.is_some_and(|behind| !counterparts(mark).iter().any(|close| behind.contains(close)))
}

fn prefilled(prober: &Prober, literals: &[String], turn: &Turn) -> Option<Reasoning> {
    let open = prefill(turn, |mark| !opens_calls(mark, prober, turn))?;
    let body = turn.body(prober, &Answer::content(needle::CONTENT), &Setting::new())?;
    let candidates = counterparts(&open);
    // A prompt that closes it at once shows the closing mark too.
    let closed = turn.prompts.iter().find_map(|prompt| match marks::split(&prompt.prefill).as_slice() {
        [first, second] if *first == open => Some((*second).to_owned()),
        _ => None,
    });
    let known =
        |close: &&String| literals.iter().any(|text| text.contains(close.as_str())) || body.contains(close.as_str());
    let close = closed.or_else(|| candidates.iter().find(known).or(candidates.first()).cloned())?;
    Some(Reasoning {
        open,
        close,
        other_ends: Vec::new(),
        carrier: None,
        keys: Vec::new(),
        setting: Setting::new(),
        source: Source::Prefilled,
        answer_marks: Vec::new(),
    })
}

/// A switch that makes the prompt ask for reasoning between two marks, which it shows side by side.
fn asked(prober: &Prober, settings: &[Setting]) -> Option<Reasoning> {
    let user = [Message::User(needle::USER.to_owned())];
    let plain = prober.render(&user, &Setting::new(), true)?;
    settings.iter().find_map(|setting| {
        let text = prober.render(&user, setting, true)?;
        let start = marks::common_prefix(&plain, &text);
        let end = marks::common_suffix(plain.get(start..)?, text.get(start..)?);
        let mut pairs = side_by_side(text.get(start..text.len() - end)?).into_iter();
        let (open, close) = pairs.next()?;
        let named = setting.keys().any(|name| speaks_of_reasoning(name)) || speaks_of_reasoning(&open);
        named.then(|| Reasoning {
            open,
            close,
            other_ends: Vec::new(),
            carrier: None,
            keys: Vec::new(),
            setting: setting.clone(),
            source: Source::Asked,
            answer_marks: pairs.flat_map(|(open, close)| [open, close]).collect(),
        })
    })
}

/// The opening marks that stand right before their counterpart.
fn side_by_side(text: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (start, _) in text.char_indices().filter(|(_, c)| marks::opens(*c)) {
        let Some(rest) = text.get(start..) else { continue };
        let ends = rest.char_indices().take_while(|(_, c)| !c.is_whitespace()).filter(|(_, c)| marks::shuts(*c));
        let found = ends.map(|(at, c)| rest.split_at(at + c.len_utf8())).find_map(|(open, behind)| {
            let close = counterparts(open).into_iter().find(|close| behind.starts_with(close.as_str()))?;
            Some((open.to_owned(), close))
        });
        pairs.extend(found.filter(|pair| !pairs.contains(pair)));
    }
    pairs
}

/// The opening mark that a closing one is paired with, where nothing shows it.
fn opening(close: &str) -> Option<String> {
    let words = PAIRS.iter().map(|(from, to)| close.replacen(to, from, 1));
    let mut found = words.chain([close.replacen('/', "", 1)]);
    found.find(|open| open != close && counterparts(open).iter().any(|other| other == close))
}

/// The words of opening marks, and those of their closing ones.
const PAIRS: [(&str, &str); 7] = [
    ("START", "END"),
    ("Start", "End"),
    ("start", "end"),
    ("BEGIN", "END"),
    ("Begin", "End"),
    ("begin", "end"),
    ("open", "close"),
];

/// The closing marks people pair with an opening one: `<x>` with `</x>`, `<|x_start|>` with `<|x_end|>`, and so on.
pub(super) fn counterparts(open: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (from, to) in PAIRS {
        if open.contains(from) {
            found.push(open.replacen(from, to, 1));
        }
    }
    let mut signs = open.chars();
    if let (Some(first), Some(last)) = (signs.next(), signs.next_back())
        && !first.is_alphanumeric()
        && !last.is_alphanumeric()
        && !signs.as_str().starts_with(first)
    {
        let inner = signs.as_str();
        if let Some(inner) = inner.strip_prefix('|') {
            found.push(format!("{first}|/{inner}{last}"));
            if !inner.ends_with('|') {
                found.push(format!("{first}{inner}|{last}"));
            }
        }
        found.push(format!("{first}/{inner}{last}"));
    }
    found
}

/// Cuts the headers before the opening mark, so that the prompt's own mark opens the region.
fn give_back(open: &str, turn: &mut Turn) {
    for header in &mut turn.headers {
        let Some(at) = header.text.find(open) else { continue };
        if header.text.get(..at).is_none_or(|kept| kept.trim().is_empty()) {
            continue;
        }
        let taken = header.text.split_off(at);
        for prompt in turn.prompts.iter_mut().filter(|prompt| prompt.after == header.after) {
            prompt.prefill.insert_str(0, &taken);
        }
    }
}

/// Whether a stretch of text opens reasoning and closes it at once, and what it is without that.
pub(super) fn without_empty(text: &str, reasoning: Option<&Reasoning>) -> String {
    let Some(reasoning) = reasoning else { return text.to_owned() };
    let mut rest = text.to_owned();
    while let Some(open) = rest.find(&reasoning.open) {
        let after = open + reasoning.open.len();
        let Some(inner) = rest.get(after..) else { break };
        let Some(close) =
            inner.find(&reasoning.close).filter(|at| inner.get(..*at).is_some_and(|t| t.trim().is_empty()))
        else {
            break;
        };
        rest.replace_range(open..after + close + reasoning.close.len(), "");
    }
    rest
}
