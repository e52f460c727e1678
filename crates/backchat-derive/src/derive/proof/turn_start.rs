//! Finds the start of the model's turn: compares the text that a prompt has already written with renders of whole turns.

use super::header::{Shift, aligned, before_opening, begins_with, loosely_shared, repeated, whole_marks};
use super::renders::{self, NEXT, PLAIN, Scene, Tokens, Turn, before, generated};
use backchat_core::text::{common_start, overlap, slice};
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::{Answer, Message, Setting, mentions_reasoning, needle};

/// A prompt, and how whole turns after the same history compare with it. All texts begin after the history.
pub(super) struct TurnStart {
    pub prompt: String,
    /// The end of the history in the prompt.
    pub said: usize,
    /// The text after the history, without text that no turn has before its header.
    tail: String,
    /// How positions in `tail` differ from those in the prompt.
    shift: Shift,
    /// How much of the prompt's end every plain turn has as well.
    pub shared: usize,
    pub state: State,
    /// The text after the content of a plain turn, up to the next opening of the template.
    pub stop: String,
    /// Whether reasoning follows this prompt without an opening, neither in the prompt nor in the turn.
    lacks_opening: bool,
    /// The text that the generation prompt adds; empty if it is not known.
    generated: String,
    /// The text that prompts add elsewhere, if this one adds none.
    missing: String,
    /// The text that ends every render, such as an unrequested prompt; empty if there is none.
    trailer: String,
}

/// The effect of the part of the prompt that plain turns lack.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// No such part exists, or it has nothing to do with reasoning.
    Plain,
    /// It opens reasoning. The text that opens it in renders; empty if renders have none.
    Open(String),
    /// It opens reasoning and closes it.
    Closed(String),
    /// It begins a call.
    Call,
}

/// A turn cut out of a render.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub prefix: String,
    pub text: String,
    pub cut: Cut,
}

/// How a turn was cut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// The render begins with the prompt: the text is the rest.
    Exact,
    /// The render differs from the prompt only in the history before.
    History,
    /// The prompt writes text that renders of whole turns lack: the output begins at their first difference.
    Shared,
    /// No prompt leads to this turn: the prompt opens reasoning that the turn lacks. The prefix ends before that.
    Unprompted,
    /// Every plain turn begins differently. The prefix ends at their first difference.
    Deviating,
}

impl TurnStart {
    /// Renders the prompt and plain turns; `None` if the template refuses the history or a plain answer, or leaves out the
    /// end of the history.
    pub fn find(scene: &Scene<'_, '_>, tokens: &Tokens<'_>, openings: &mut Vec<String>) -> Option<Self> {
        let Scene { prober, history, setting } = *scene;
        let prompt = scene.render(&[], true)?;
        let said = prompt.rfind(&*history.last)? + history.last.len();
        let mut turns = Vec::new();
        for text in PLAIN {
            turns.push((text, scene.turn(&Answer::content(text))?.text));
        }
        let (text, first) = turns.first()?;
        let (tail, shift) = aligned(prompt.get(said..)?, before(first, text));
        let tail = tail.as_str();
        let mut shared = tail;
        let mut is_exact = true;
        let mut stops = Vec::new();
        for (text, turn) in &turns {
            shared = common_start(shared, turn);
            is_exact &= turn.starts_with(tail);
            // If the answer is escaped, its end is unknown.
            stops.push(turn.rsplit_once(*text).map_or_else(String::new, |(_, stop)| stop.to_owned()));
        }
        let generated = generated(prober, &history.messages, setting);
        if generated.is_empty() && !renders::generated(prober, &history.messages, &Setting::new()).is_empty() {
            // Under this setting, the template ignores the request for a prompt.
            return None;
        }
        let missing = match generated.is_empty() {
            true => renders::generated(prober, &[Message::User(NEXT.to_owned())], setting),
            false => String::new(),
        };
        if first.strip_prefix(tail).is_some_and(|turn| begins_with(turn, &missing)) {
            return None;
        }
        let mut stop = common_start(stops.first()?, stops.last()?).to_owned();
        let trailer = scene.trailer(tokens, &stop, tail).unwrap_or_default();
        stop.truncate(stop.len() - trailer.len());
        stop.truncate(next_turn(&stop, &generated));
        let thought = scene.thought();
        if let Some(thought) = thought.as_deref().filter(|_| !is_exact) {
            shared = common_start(shared, thought);
        }
        let shared = if is_exact { tail.len() } else { whole_marks(tail, shared.len()) };
        let is_headed = tail.strip_suffix(generated.as_str()).is_some_and(|before| {
            tail.get(before.len()..shared).is_some_and(|header| header.contains(char::is_alphanumeric))
        });
        let surplus = Surplus { shared: slice(tail, ..shared), text: slice(tail, shared..), is_headed };
        let state = match surplus.state(thought.as_deref(), openings, |open| scene.takes_out(open)) {
            State::Plain if scene.begins_call(tail, shared) => State::Call,
            state => state,
        };
        let lacks_opening = state == State::Plain
            && thought
                .as_deref()
                .and_then(|turn| turn.strip_prefix(tail))
                .is_some_and(|rest| rest.trim_start().starts_with(needle::REASONING));
        let (shared, tail) = (shared.min(tail.len()), tail.to_owned());
        Some(Self { said, tail, shift, shared, state, stop, lacks_opening, generated, missing, trailer, prompt })
    }

    /// The end of the prompt, after the history.
    pub fn prompted(&self) -> &str {
        slice(&self.prompt, self.said..)
    }

    /// Cuts the turn with this answer out of its render; also returns the whole render.
    pub fn cut(&self, scene: &Scene<'_, '_>, answer: &Answer, openings: &[String]) -> Option<(Piece, String)> {
        let Turn { head, text: turn, whole } = scene.turn(answer)?;
        let shows_reasoning = answer.reasoning.as_deref().is_some_and(|thought| shows(&turn, thought));
        let mut piece = self.split(&head, &turn, shows_reasoning)?;
        if begins_with(&piece.text, &self.missing) {
            // No prompt leads to this turn.
            return None;
        }
        if shows_reasoning && self.lacks_opening && openings.iter().any(String::is_empty) {
            // Other prompts open reasoning, and this one does not lead to it.
            piece.cut = Cut::Unprompted;
        }
        piece.text.truncate(self.end(&piece.text, answer));
        Some((piece, whole))
    }

    /// The prompt up to a position in its aligned end.
    fn up_to(&self, at: usize) -> Option<&str> {
        let Shift { from, prompts, turns } = self.shift;
        let at = if at > from { (at + prompts).checked_sub(turns)? } else { at };
        self.prompt.get(..self.said + at)
    }

    fn split(&self, head: &str, turn: &str, shows_reasoning: bool) -> Option<Piece> {
        let tail = self.tail.as_str();
        let piece =
            |prefix: &str, text: &str, cut| Some(Piece { prefix: prefix.to_owned(), text: text.to_owned(), cut });
        let is_same = self.prompt.get(..self.said) == Some(head);
        let after_all = |text: &str, cut: Cut| {
            piece(&format!("{head}{}", self.prompted()), text, if is_same { cut } else { cut.max(Cut::History) })
        };
        if let Some(text) = turn.strip_prefix(self.prompted()) {
            return after_all(text, Cut::Exact);
        }
        if let Some(text) = turn.strip_prefix(tail) {
            return after_all(text, Cut::Shared);
        }
        let (ours, theirs) = loosely_shared(tail, turn);
        if ours > 0 && slice(tail, ours..).trim().is_empty() {
            // It begins as the prompt ends, except for white space.
            return after_all(slice(turn, theirs..), Cut::Shared);
        }
        let start = common_start(tail, turn);
        let at = start.len();
        if at < self.shared {
            // A turn of this kind begins differently from plain ones.
            let rest = turn.get(at..)?;
            let header = self.generated.trim();
            let lacks_header = slice(tail, at..).contains(header) && !rest.contains(header);
            if self.state == State::Plain && !header.is_empty() && lacks_header {
                // It has no header: the header in the prompt applies to it.
                return piece(&self.prompt, rest, Cut::Shared);
            }
            let splits_word = start.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric);
            let prefix = self.up_to(at)?;
            return if splits_word { None } else { piece(prefix, rest, Cut::Deviating) };
        }
        let surplus = tail.get(self.shared..)?;
        let rest = turn.get(self.shared..)?;
        let before = self.up_to(self.shared)?;
        let repeated = repeated(surplus, rest);
        let after_prompt = || piece(&self.prompt, rest.get(repeated..)?, Cut::Shared);
        match (&self.state, shows_reasoning) {
            _ if surplus.trim().is_empty() => after_prompt(),
            (State::Plain, _) => after_prompt(),
            (State::Open(open), true) if open.is_empty() || repeated > 0 => after_prompt(),
            (State::Open(_), true) => piece(before, rest, Cut::Shared),
            (State::Closed(_), true) => None,
            (State::Open(open), false) if !open.is_empty() && rest.trim_start().starts_with(open) && repeated > 0 => {
                after_prompt()
            }
            (State::Open(open), false) => {
                piece(&format!("{before}{}", before_opening(surplus, open)), rest, Cut::Unprompted)
            }
            (State::Call, _) => piece(before, rest, Cut::Unprompted),
            (State::Closed(open), false) if !open.is_empty() && rest.trim_start().starts_with(open) => {
                piece(before, rest, Cut::Shared)
            }
            (State::Closed(_), false) => piece(&self.prompt, rest, Cut::Shared),
        }
    }

    /// The end of the model's turn: before the text that ends every render and before the next turn, without trailing white
    /// space, because no model writes the white space between turns.
    fn end(&self, text: &str, answer: &Answer) -> usize {
        let parts = answer.content.iter().chain(&answer.reasoning).map(String::as_str);
        let parts = parts.chain(answer.calls.iter().map(|call| call.name.as_str()));
        let text = text.strip_suffix(&self.trailer).unwrap_or(text);
        let last = parts.filter_map(|part| text.rfind(part).map(|at| at + part.len())).max().unwrap_or(text.len());
        let end = last + next_turn(slice(text, last..), &self.generated);
        let text = text.get(..end).unwrap_or(text);
        match self.stop.trim() {
            "" => text.len(),
            _ => text.trim_end().len(),
        }
    }

    /// The text without the stop, as engines return it: without the known token, or else without the marks that end the
    /// turn, or the last of them if the others close what this turn does not have. Ordinary text before one, such as a
    /// bracket, belongs to the answer.
    pub fn without_stop<'t>(&self, text: &'t str, eos_token: Option<&str>) -> Option<&'t str> {
        let stop = self.stop.trim();
        if stop.is_empty() {
            return None;
        }
        if let Some(token) = eos_token.filter(|eos| !eos.is_empty() && stop.ends_with(eos)) {
            return text.strip_suffix(token);
        }
        let mut end = 0;
        let ends = Segmentation::Words.marks(stop).into_iter().filter_map(|mark| {
            let rest = slice(stop, end..);
            end += mark.len();
            Segmentation::Words.is_distinctive(mark).then_some(rest)
        });
        let mut ends: Vec<&str> = ends.collect();
        // With signs before it, the first of several marks closes what the turn has opened, as in `]]></text><end>`.
        if let [first, _, ..] = ends.as_slice()
            && first.len() < stop.len()
        {
            ends.remove(0);
        }
        if ends.is_empty() { text.strip_suffix(stop) } else { ends.into_iter().find_map(|end| text.strip_suffix(end)) }
    }
}

/// The end of a prompt, beside that of plain turns.
struct Surplus<'t> {
    /// The text that plain turns begin with, too.
    shared: &'t str,
    /// The text that only the prompt has.
    text: &'t str,
    /// Whether plain turns have the header of the prompt and only lack the text after it.
    is_headed: bool,
}

impl Surplus<'_> {
    /// The effect of the surplus, judged by the text around reasoning in renders. `takes_out` says whether renders leave out
    /// content up to the closing mark of a text.
    fn state(&self, thought: Option<&str>, openings: &mut Vec<String>, takes_out: impl Fn(&str) -> bool) -> State {
        let surplus = self.text;
        if let Some((lead, after)) = thought.and_then(|turn| turn.split_once(needle::REASONING)) {
            let open = lead.strip_prefix(self.shared).unwrap_or(lead).trim();
            if !open.is_empty() && !openings.iter().any(|known| known == open) {
                openings.push(open.to_owned());
            }
            if surplus.trim().is_empty() {
                return State::Plain;
            }
            if open.is_empty() {
                // No render shows the opening of reasoning: text that shares a word with the closing is one.
                let close = before(before(after, needle::CONTENT), needle::NAMES[0]).trim();
                let surplus = surplus.trim_end();
                let last = slice(surplus, surplus.len() - overlap(surplus, close)..);
                // Other text that a prompt writes between its header and reasoning without an opening asks for reasoning.
                let closes = |text: &str| Segmentation::Words.share_a_word(text, close, "");
                let opens = closes(surplus) || self.is_headed && surplus.contains(char::is_alphanumeric);
                if opens && !openings.iter().any(String::is_empty) {
                    openings.push(String::new());
                }
                return match opens {
                    true if closes(last) => State::Closed(String::new()),
                    true => State::Open(String::new()),
                    false => State::Plain,
                };
            }
            if let Some(state) = opened(surplus, open) {
                return state;
            }
        }
        if let Some(state) = openings.iter().filter(|open| !open.is_empty()).find_map(|open| opened(surplus, open)) {
            return state;
        }
        // No render shows reasoning: a mark after which content is left out opens it. Otherwise, guess by the words of the mark.
        if openings.is_empty() && !surplus.trim().is_empty() && takes_out(surplus.trim()) {
            return State::Open(String::new());
        }
        let speaks = surplus.split_whitespace().any(mentions_reasoning);
        let closes = surplus.split("</").skip(1).chain(surplus.split("[/").skip(1)).any(mentions_reasoning);
        match (speaks && openings.is_empty(), closes) {
            (false, _) => State::Plain,
            (true, true) => State::Closed(String::new()),
            (true, false) => State::Open(String::new()),
        }
    }
}

/// Whether a prompt's surplus ends with the text that opens reasoning, or has more text after it.
fn opened(surplus: &str, open: &str) -> Option<State> {
    if surplus.trim_end().ends_with(open) {
        return Some(State::Open(open.to_owned()));
    }
    surplus.contains(open).then(|| State::Closed(open.to_owned()))
}

/// The position at which a text opens the next turn.
fn next_turn(text: &str, generated: &str) -> usize {
    let header = generated.trim();
    text.find(header).filter(|_| !header.is_empty()).unwrap_or(text.len())
}

/// Whether a text shows an answer's text in any escaping: whether it contains the longest run of plain words.
pub(super) fn shows(text: &str, said: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || c == ' ';
    let run = said.split(|c| !is_plain(c)).map(str::trim).max_by_key(|run| run.len());
    run.is_some_and(|run| !run.is_empty() && text.contains(run))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::super::conversations::{History, histories};
    use super::*;
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;
    use backchat_probe::probe::Prober;

    static NO_SETTING: LazyLock<Setting> = LazyLock::new(Setting::new);

    fn scene<'p, 't>(prober: &'p Prober<'t>, history: &'p History) -> Scene<'p, 't> {
        Scene { prober, history, setting: &NO_SETTING }
    }

    /// The start of the turn after a question, and the known openings of reasoning.
    fn turn_start(chat_template: &str) -> (Option<TurnStart>, Vec<String>) {
        let template = ChatTemplate::compile(chat_template).unwrap();
        let variables = Object::new();
        let input = backchat_probe::probe::ReasoningInput::Key("reasoning_content".to_owned());
        let prober = Prober::new(&template, &variables, None).with_reasoning(Some(&input));
        let mut openings = Vec::new();
        let found = TurnStart::find(&scene(&prober, &histories(false, false)[0]), &Tokens::default(), &mut openings);
        (found, openings)
    }

    /// A template whose turns begin with `turn` and whose prompt ends with `prompt`.
    fn chat(turn: &str, prompt: &str) -> String {
        format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{turn}{{% endif %}}\
             {{{{ m.content }}}}<end>{{% endfor %}}{{% if add_generation_prompt %}}<assistant>{prompt}{{% endif %}}"
        )
    }

    const THOUGHT: &str = "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}";

    #[test]
    fn the_state_is_the_effect_of_text_that_only_the_prompt_has() {
        for (turn, prompt, state, openings) in [
            (THOUGHT, "", State::Plain, &["<think>"][..]),
            (THOUGHT, "<think>", State::Open("<think>".to_owned()), &["<think>"]),
            (THOUGHT, "<think></think>", State::Closed("<think>".to_owned()), &["<think>"]),
            // No render shows it: the mark mentions reasoning.
            ("", "<think>", State::Open(String::new()), &[]),
            ("", "<think></think>", State::Closed(String::new()), &[]),
            ("", "<say>", State::Plain, &[]),
        ] {
            let (turn_start, known) = turn_start(&chat(turn, prompt));
            let turn_start = turn_start.unwrap();
            assert_eq!(
                (&turn_start.state, known.iter().map(String::as_str).collect::<Vec<_>>().as_slice()),
                (&state, openings),
                "{turn} {prompt}"
            );
            assert_eq!(turn_start.prompted(), format!("?<end><assistant>{prompt}"), "after `7f3a`");
            assert_eq!(turn_start.stop, "<end>");
        }
    }

    #[test]
    fn a_header_that_only_prompts_have_opens_reasoning_if_it_shares_a_word_with_the_closing_mark() {
        for (header, close, state) in [
            ("<bot><think>", "</think>", State::Open(String::new())),
            ("<start_of_bot><start_of_thought>", "<end_of_thought>", State::Open(String::new())),
            ("<bot>", "</think>", State::Plain),
            // Words that only tell openings from closings are no words of one thing.
            ("<start_of_bot>", "<end_of_thought>", State::Plain),
        ] {
            let source = format!(
                "{{% for m in messages %}}{{% if m.role != 'assistant' %}}<{{{{ m.role }}}}>{{% endif %}}\
                 {{% if m.reasoning_content %}}{{{{ m.reasoning_content }}}}{close}{{% endif %}}{{{{ m.content }}}}<end>\
                 {{% endfor %}}{{% if add_generation_prompt %}}{header}{{% endif %}}"
            );
            assert_eq!(turn_start(&source).0.unwrap().state, state, "{header} {close}");
        }
    }

    #[test]
    fn a_mark_opens_reasoning_if_content_up_to_its_closing_mark_is_left_out() {
        let of = |content: &str| turn_start(&chat("", "<say>").replace("{{ m.content }}", content)).0.unwrap().state;
        assert_eq!(of("{{ m.content.split('</say>')[-1] }}"), State::Open(String::new()));
        let earlier = "{{ m.content if loop.last else m.content.split('</say>')[-1] }}";
        assert_eq!(of(earlier), State::Open(String::new()), "only in earlier turns");
        assert_eq!(of("{{ m.content.split('</other>')[-1] }}"), State::Plain);
        let closed = chat("", "<think>\n</think>").replace("{{ m.content }}", "{{ m.content.split('</think>')[-1] }}");
        assert_eq!(turn_start(&closed).0.unwrap().state, State::Closed(String::new()));
    }

    #[test]
    fn white_space_at_the_end_of_every_render_does_not_hide_the_prompt() {
        for end in ["", "\n"] {
            let source = chat(THOUGHT, "") + &format!("{{{{ {end:?} }}}}");
            assert_eq!(turn_start(&source).0.unwrap().generated, format!("<assistant>{end}"));
        }
    }

    #[test]
    fn a_history_that_is_not_rendered_has_no_turn_start() {
        let forgetful = "{% for m in messages %}{% if m.role != 'user' %}{{ m.content }}{% endif %}{% endfor %}";
        assert!(turn_start(forgetful).0.is_none());
        assert!(turn_start("{{ raise_exception('no') }}").0.is_none());
    }

    #[test]
    fn a_turn_is_cut_depending_on_what_its_prompt_opened() {
        let cut = |prompt: &str, answer: &Answer| {
            let source = chat(THOUGHT, prompt);
            let template = ChatTemplate::compile(&source).unwrap();
            let variables = Object::new();
            let input = backchat_probe::probe::ReasoningInput::Key("reasoning_content".to_owned());
            let prober = Prober::new(&template, &variables, None).with_reasoning(Some(&input));
            let history = &histories(false, false)[0];
            let mut openings = Vec::new();
            let turn_start = TurnStart::find(&scene(&prober, history), &Tokens::default(), &mut openings)?;
            let (piece, _) = turn_start.cut(&scene(&prober, history), answer, &openings)?;
            Some((piece.cut, piece.prefix.rsplit_once("<end>")?.1.to_owned(), piece.text))
        };
        let plain = Answer::content("Yes.");
        let thought = plain.clone().with_reasoning("Hm.");
        let piece = |cut, prefix: &str, text: &str| Some((cut, prefix.to_owned(), text.to_owned()));
        assert_eq!(cut("", &plain), piece(Cut::Exact, "<assistant>", "Yes.<end>"));
        assert_eq!(cut("<think>", &thought), piece(Cut::Exact, "<assistant><think>", "Hm.</think>Yes.<end>"));
        // The prompt opens reasoning, but the turn has none.
        assert_eq!(cut("<think>", &plain), piece(Cut::Unprompted, "<assistant>", "Yes.<end>"));
        // Such a prompt is for turns without reasoning.
        assert_eq!(cut("<think></think>", &thought), None);
        assert_eq!(cut("<think></think>", &plain), piece(Cut::Shared, "<assistant><think></think>", "Yes.<end>"));
    }

    #[test]
    fn text_that_ends_every_render_is_not_part_of_a_turn() {
        let ends = |source: &str, eos: Option<&str>| {
            let template = ChatTemplate::compile(source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None);
            let history = &histories(false, false)[0];
            let tokens = Tokens { bos: None, eos };
            let turn_start = TurnStart::find(&scene(&prober, history), &tokens, &mut Vec::new()).unwrap();
            let said = Answer::content("Yes.");
            let (piece, _) = turn_start.cut(&scene(&prober, history), &said, &[]).unwrap();
            (piece.text, turn_start.stop, turn_start.trailer)
        };
        let turns = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}";
        let asked = "{% if add_generation_prompt %}<assistant>{% endif %}";
        let lines = turns.replace("<end>", "\n").replace("<{{ m.role }}>", "### {{ m.role }}: ");
        for (source, eos, text, stop, trailer) in [
            (format!("{turns}{asked}"), None, "Yes.<end>", "<end>", ""),
            // A prompt that is always written, bounded by a stop or by the first message.
            (format!("{turns}<assistant>"), None, "Yes.<end>", "<end>", "<assistant>"),
            (format!("{turns}<user><assistant>"), Some("<end>"), "Yes.<end>", "<end>", "<user><assistant>"),
            (format!("{lines}### assistant: "), None, "Yes.\n", "\n", "### assistant: "),
            (
                format!("{}### assistant: ", lines.replace("\n", "<end>\n")),
                None,
                "Yes.<end>",
                "<end>\n",
                "### assistant: ",
            ),
            // A footer, with or without a prompt after it; a token that only ends the text.
            (format!("{turns}[be brief]{asked}"), None, "Yes.<end>", "<end>", "[be brief]"),
            (
                format!("{turns}{{% if add_generation_prompt %}}<assistant>{{% else %}}<eos>{{% endif %}}"),
                None,
                "Yes.<end>",
                "<end>",
                "<eos>",
            ),
            // Only the last turn has this end.
            (
                turns.replace("<end>", "{{ '<fin>' if loop.last and loop.length > 1 else '<end>' }}") + asked,
                None,
                "Yes.<fin>",
                "<fin>",
                "",
            ),
            // Text after the stop token does not belong to the turn.
            (
                format!("{turns}{{% if messages | length > 1 %}}<last>{{% endif %}}{asked}"),
                Some("<end>"),
                "Yes.<end>",
                "<end>",
                "<last>",
            ),
        ] {
            let expected = (text.to_owned(), stop.to_owned(), trailer.to_owned());
            assert_eq!(ends(&source, eos), expected, "{source}");
        }
    }

    #[test]
    fn marks_that_end_only_an_earlier_message_are_not_part_of_a_turn() {
        // The last message of a prompt has other marks than an earlier one.
        let asks = "{% for m in messages %}{% if m.role == 'user' %}\
                    {% if loop.last %}<ask>{{ m.content }}</ask>{% else %}<said>{{ m.content }}</said>{% endif %}\
                    {% else %}{{ m.content }}<end>{% endif %}{% endfor %}";
        // A mark that begins every turn does not end one.
        let begins = "{% for m in messages %}<|turn|>{{ m.role }}|{{ m.content }}{% endfor %}\
                      {% if add_generation_prompt %}<|reply|>{% endif %}";
        let answer = Answer::content("Yes.");
        for (source, prefix, text) in [
            (asks, "<ask>How far is it to Brzeg, say by 7f3a?</ask>", "Yes.<end>"),
            (begins, "<|turn|>user|How far is it to Brzeg, say by 7f3a?<|reply|>", "<|turn|>assistant|Yes."),
        ] {
            let template = ChatTemplate::compile(source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None);
            let history = &histories(false, false)[0];
            let none = Setting::new();
            let turn_start = TurnStart::find(&scene(&prober, history), &Tokens::default(), &mut Vec::new()).unwrap();
            let (piece, whole) = turn_start.cut(&scene(&prober, history), &answer, &[]).unwrap();
            assert_eq!((turn_start.prompt.as_str(), piece.text.as_str()), (prefix, text));
            let messages = [history.messages.as_slice(), &[Message::Assistant(answer.clone())]].concat();
            assert_eq!(Some(whole), prober.render(&messages, &none, false));
        }
    }

    #[test]
    fn a_history_without_a_prompt_has_no_turn_start() {
        let silent = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                      {% if add_generation_prompt and messages | length == 1 %}<assistant>{% endif %}";
        let turn_starts = |source: &str| {
            let template = ChatTemplate::compile(source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None);
            let find = |history| TurnStart::find(&scene(&prober, history), &Tokens::default(), &mut Vec::new());
            histories(false, false).iter().take(2).map(|history| find(history).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(turn_starts(silent), [true, false]);
        assert_eq!(turn_starts(&silent.replace(" and messages | length == 1", "")), [true, true]);
    }

    #[test]
    fn engines_return_the_text_before_the_stop_token() {
        let turn_start = |stop: &str| TurnStart { stop: stop.to_owned(), ..turn_start(&chat("", "")).0.unwrap() };
        for (stop, text, eos_token, shown) in [
            ("<end>\n", "Yes.<end>", None, Some("Yes.")),
            ("</s><end>", "Yes.</s><end>", Some("<end>"), Some("Yes.</s>")),
            ("<end>", "Yes.<end>", Some("<other>"), Some("Yes.")),
            ("}<end>\n", "{Yes.}<end>", None, Some("{Yes.}")),
            ("</say><end>\n", "<say>Yes.</say><end>", None, Some("<say>Yes.")),
            ("</say><end>\n", "<call>f</call><end>", None, Some("<call>f</call>")),
            ("]]></say><end>\n", "<say><![CDATA[Yes.]]></say><end>", None, Some("<say><![CDATA[Yes.]]></say>")),
            ("\n\n", "Yes.", None, None),
            ("<end>", "Yes.", None, None),
            ("", "Yes.", None, None),
        ] {
            assert_eq!(turn_start(stop).without_stop(text, eos_token), shown, "{stop:?} {text}");
        }
    }

    #[test]
    fn the_next_turn_begins_at_its_header() {
        assert_eq!([next_turn("a<bot>b", "\n<bot>"), next_turn("ab", ""), next_turn("ab", "<bot>")], [1, 2, 2]);
    }

    #[test]
    fn a_text_shows_an_answer_in_any_escaping() {
        assert!(shows("1 &lt; 2 or so it seems", "1 < 2 or so it seems"));
        assert!(!shows("2 or so", "1 < 2 or so it seems"));
        assert!(!shows("anything", "…") && !shows("anything", ""), "punctuation alone is not evidence");
    }
}
