//! Finds the text of marks that repeats something of the conversation, such as the id of a result or the keys of a call:
//! any text up to the sign after it represents it.

use super::{OWN, VaryingPlace, is_value, is_varying};
use crate::probe::marks::{is_closing, is_opening};
use backchat_core::text::{common_start, slice};

/// The signs that end an echo, `None` for any other, and whether it may have several lines. Each has a placeholder, from
/// `FIRST` on.
const ENDS: [(Option<char>, bool); 14] = [
    (Some('>'), false),
    (Some('<'), false),
    (Some('"'), false),
    (Some('\''), false),
    (Some(']'), false),
    (Some(')'), false),
    (Some('{'), false),
    (Some(':'), false),
    (Some('\n'), false),
    (None, false),
    (Some('>'), true),
    (Some('<'), true),
    (Some('"'), true),
    (None, true),
];

/// The first placeholder, after those of a clock's words.
const FIRST: char = '\u{fde2}';

/// How many places one comparison finds at most.
const MOST_PLACES: usize = 6;

/// The longest text, in bytes, by which the end of an echo is recognized.
const LONGEST_AFTER: usize = 32;

/// The sign that ends the echo which a character represents, if it is a usual one, and whether the echo may have several
/// lines; `None` if the character represents something else.
pub fn echo(c: char) -> Option<(Option<char>, bool)> {
    let at = u32::from(c).checked_sub(u32::from(FIRST))?;
    ENDS.get(usize::try_from(at).ok()?).copied()
}

/// The length of the echo at the start of a text, up to `after`.
pub(super) fn length(sign: char, text: &str, after: &str) -> Option<usize> {
    let (end, lines) = echo(sign)?;
    let length = text.find(after)?;
    let is_other = |c: char| Some(c) == end && !is_long(after) || c == '\n' && !lines;
    (!slice(text, ..length).contains(is_other)).then_some(length)
}

/// Whether the text after an echo is more than one sign: then the echo may contain this sign.
fn is_long(after: &str) -> bool {
    after.chars().nth(1).is_some()
}

/// The places in which texts differ that are otherwise the same.
pub(super) fn find(texts: &[&str]) -> Vec<VaryingPlace> {
    let mut found = Vec::new();
    let mut at = vec![0; texts.len()];
    for _ in 0..MOST_PLACES {
        let rests: Vec<&str> = texts.iter().zip(&at).map(|(text, at)| slice(text, *at..)).collect();
        let (Some(first), Some(done)) = (rests.first(), texts.first().zip(at.first())) else { break };
        let shared = rests.iter().fold(*first, |shared, rest| common_start(shared, rest)).len();
        if rests.iter().all(|rest| rest.len() == shared) {
            break;
        }
        let start = start(slice(first, ..shared));
        let others: Vec<&str> = rests.iter().map(|rest| slice(rest, start..)).collect();
        let Some((lengths, after)) = ends(&others, shared - start) else { break };
        let mut contents: Vec<&str> =
            others.iter().zip(&lengths).map(|(text, length)| slice(text, ..*length)).collect();
        // An empty line does not end several lines: only texts of one line are an echo before it.
        let has_line = |text: &&str| !text.contains('\n');
        if after.trim().is_empty() && contents.iter().filter(|text| has_line(text)).count() > 1 {
            contents.retain(has_line);
        }
        let before = before(slice(done.0, ..done.1 + start), after);
        // A line ends where it ends, whatever comes after it.
        let is_line = after.starts_with('\n') && !contents.iter().any(|text| text.contains('\n'));
        let after = if is_line && before.is_some_and(is_strong) { "\n" } else { after };
        let middle = placeholder(&contents, after);
        if let (Some(before), Some(middle)) = (before, middle.filter(|_| is_of_conversation(&contents))) {
            let (before, after) = (before.to_owned(), after.to_owned());
            found.push(VaryingPlace { before, middle: middle.to_string(), after });
        }
        at.iter_mut().zip(&lengths).for_each(|(at, length)| *at += start + length);
    }
    found
}

/// Where the echo begins that differs at the end of a text: before its word, and before other needles that signs separate
/// from it, as in a list.
fn start(shared: &str) -> usize {
    let words = shared.trim_end_matches(is_word);
    let inner = words.trim_end_matches(|c: char| !is_word(c) && c != OWN);
    let signs = slice(words, inner.len()..);
    let needle = last_word(inner);
    if is_value(needle) && !signs.contains(|c| is_opening(c) || is_closing(c)) {
        return start(inner);
    }
    words.len()
}

/// The first text after which all of these texts may go on the same, and the lengths of what comes before it in each.
fn ends<'t>(texts: &[&'t str], from: usize) -> Option<(Vec<usize>, &'t str)> {
    let first = texts.first()?;
    let signs = first.char_indices().filter(|(at, c)| *at >= from && !is_word(*c));
    // The end of a line ends an echo even where a value follows.
    let is_end = |after: &str| !after.trim().is_empty() || after.starts_with('\n');
    signs.map(|(at, _)| (at, closing(slice(first, at..)))).filter(|(_, after)| is_end(after)).find_map(|(at, after)| {
        let lengths: Vec<usize> = texts.iter().map(|text| text.find(after)).collect::<Option<_>>()?;
        (lengths.first() == Some(&at)).then_some((lengths, after))
    })
}

/// The start of a text by which the end of an echo is recognized: a quote, or the rest of a mark.
fn closing(text: &str) -> &str {
    if let Some(quote) = text.chars().next().filter(|c| is_quote(*c)) {
        return slice(text, ..quote.len_utf8());
    }
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let is_over = c == OWN || is_value(slice(text, at..)) || c == '\n' && !slice(text, ..at).trim().is_empty();
        if is_over || at > LONGEST_AFTER {
            break;
        }
        end = at + c.len_utf8();
        if is_closing(c) {
            break;
        }
    }
    slice(text, ..end)
}

/// The text before an echo on its line: the signs after another mark, or all from the nearest word of its mark on.
fn before<'t>(text: &'t str, after: &str) -> Option<&'t str> {
    let line = text.rsplit('\n').next()?;
    let value = line.char_indices().rfind(|(at, _)| is_value(slice(line, *at..)));
    let own = value.map_or(line, |(at, _)| slice(line, at..).trim_start_matches(is_word));
    let is_part = |c: char| is_word(c) || is_varying(c);
    let are_signs = |text: &str| !text.is_empty() && !text.contains(|c| is_part(c) || is_quote(c) || c == OWN);
    // A line that signs and a space begin is a quotation up to its end.
    if own.len() == line.len() && are_signs(own.trim_end()) && own.ends_with(' ') && after.starts_with('\n') {
        return Some(own);
    }
    let signs = own.rsplit(is_closing).next().unwrap_or_default().trim_start();
    // Those that begin a mark begin others, too.
    let is_known = !signs.contains(is_opening) && is_strong(signs) || after.contains(char::is_alphanumeric);
    if are_signs(signs) && is_known {
        return Some(signs);
    }
    let named = own.trim_end_matches(|c: char| !is_part(c));
    let lead = named.trim_end_matches(is_part);
    let is_sign = |c: char| !is_part(c) && !is_closing(c) && !c.is_whitespace() && c != OWN;
    (lead.len() < named.len()).then(|| slice(own, lead.trim_end_matches(is_sign).len()..))
}

/// Whether a text is recognized by itself: it has a word, or several signs.
fn is_strong(before: &str) -> bool {
    before.contains(char::is_alphanumeric) || before.chars().filter(|c| !c.is_whitespace()).count() > 1
}

/// The placeholder of these texts before another one; `None` if the sign after them would not end them.
fn placeholder(contents: &[&str], after: &str) -> Option<char> {
    let lines = contents.iter().any(|text| text.contains('\n'));
    let after = if lines { after.trim_start() } else { after };
    let first = after.chars().next()?;
    let signs = || after.chars().take_while(|c| !c.is_alphanumeric());
    let is_end = |c: char| is_quote(c) || is_opening(c) || c == '\n';
    let end = if is_end(first) { first } else { signs().find(|c| is_closing(*c)).unwrap_or(first) };
    let at = [Some(end), None].iter().find_map(|end| ENDS.iter().position(|known| *known == (*end, lines)))?;
    let is_own = |c: char| c == end && !is_long(after) || c == OWN;
    let sign = char::from_u32(u32::from(FIRST) + u32::try_from(at).ok()?)?;
    (!contents.iter().any(|text| text.contains(is_own))).then_some(sign)
}

/// Whether one of these texts has a value of a probe or a number among others. Numbers alone are counts.
fn is_of_conversation(contents: &[&str]) -> bool {
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || is_varying(c));
    if contents.iter().all(|text| is_number(text)) {
        return false;
    }
    let is_varied = |text: &&str| {
        text.contains(|c: char| c.is_ascii_digit() || is_varying(c))
            || text.char_indices().any(|(at, _)| is_value(slice(text, at..)))
    };
    contents.iter().any(is_varied)
}

fn last_word(text: &str) -> &str {
    slice(text, text.trim_end_matches(is_word).len()..)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::steady::Varying;

    #[test]
    fn an_echo_is_the_text_in_which_marks_differ() {
        for (texts, before, end, after) in [
            (["<seen qzId1>Hi", "<seen qzId22>Hi"].as_slice(), "<seen ", (Some('>'), false), ">"),
            (&["<f keys=\"qza,qzb\">", "<f keys=\"qzc\">", "<f keys=\"\">"], "keys=\"", (Some('"'), false), "\""),
            // The sign between the values of a list may also end it.
            (&["<|of qza|><|f|>", "<|of qza|qzb|><|f|>"], "<|of ", (Some('>'), false), ">"),
            (&["<|of qza|>", "<|of qzb|>"], "<|of ", (Some('>'), false), "|>"),
            // The end of its line may end it, and a value of a probe may follow.
            (&["Re: qza\nQz", "Re: qzb\nQz"], "Re: ", (Some('\n'), false), "\n"),
            (&["> qza\nQz", "> qzb\nQz"], "> ", (Some('\n'), false), "\n"),
            (&["> qza\n\nQz", "> qzb\n\nQz"], "> ", (Some('\n'), false), "\n\n"),
            (&["> qza\n\nQz", "> so\nsaid\n\nQz", "> qzb\n\nQz"], "> ", (Some('\n'), false), "\n\n"),
            (&["《of：qza》Qz", "《of：qzb》Qz"], "《of：", (None, false), "》"),
            (&["[seen]qza[/seen]Qz", "[seen]qzb[/seen]Qz"], "[seen]", (None, false), "[/seen]"),
            (&["<plan>\n1. qza\n</plan>", "<plan>\n1. qza\n2. qzb\n</plan>"], "1. ", (Some('<'), true), "</plan>"),
            (&["</f><next>wait</next>", "</f><next>qzb</next>"], "<next>", (Some('<'), false), "</next>"),
            // The name of a call is a part of the text before.
            (&["<f \u{fffe} QZA>{Qz", "<f \u{fffe} QZB>{Qz"], "<f \u{fffe} ", (Some('>'), false), ">"),
            (&["<f \u{fffe}>{Qz", "<f \u{fffe}>[qza][qzb]{Qz"], "<f \u{fffe}>", (Some('{'), false), "{"),
            // A line is known by what begins it, or else by the mark after it.
            (&["</f> // One.\n<e>", "</f> // All 2\n<e>"], "// ", (Some('\n'), false), "\n"),
            (&["Qz)  // One.\n<e>", "Qz)  // All 2\n<e>"], "// ", (Some('\n'), false), "\n"),
            (&["<a># One.\n<f>{", "<a># All 2\n<f>{"], "# ", (Some('\n'), false), "\n<f>"),
        ] {
            let places = find(texts);
            let [place] = places.as_slice() else { panic!("{texts:?}: {places:?}") };
            let sign = place.middle.chars().next().and_then(echo);
            assert_eq!((place.before.as_str(), sign, place.after.as_str()), (before, Some(end), after), "{texts:?}");
        }
    }

    #[test]
    fn a_text_with_no_word_before_it_or_no_value_in_it_is_no_echo() {
        for texts in [
            ["Qzaq>", "Qzbq>"],
            ["<a>one</a>", "<a>two</a>"],
            ["<a qza>", "<a qza>"],
            ["<f qza", "<f qzb"],
            // Any mark begins and ends like this.
            ["<|one|>Qz", "<|calls=2|>Qz"],
        ] {
            assert_eq!(find(&texts), [], "{texts:?}");
        }
    }

    #[test]
    fn an_echo_is_replaced_by_its_placeholder() {
        let mut found = Varying::default();
        found.echoes(&["<f \u{fffe} QZA>", "<f \u{fffe} QZB>"].map(str::to_owned));
        let steady = |text: &str| found.steady(text.to_owned()).replace(FIRST, "E");
        assert_eq!(steady("<f get.it GET IT>{}"), "<f get.it E>{}");
        assert_eq!(steady("<f get\n>{}"), "<f get\n>{}");
    }
}
