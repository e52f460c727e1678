//! Text between needles: where marks begin and end, what two texts share, and marks as patterns.

/// Length in bytes of what two texts begin with in common.
pub(super) fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

/// Length in bytes of what two texts end with in common.
pub(super) fn common_suffix(a: &str, b: &str) -> usize {
    a.chars().rev().zip(b.chars().rev()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

/// What two texts begin with in common, cut back to where a mark may end in both.
pub(super) fn shared_start<'a>(a: &'a str, b: &str) -> &'a str {
    let mut end = common_prefix(a, b);
    // All of one text, where that leaves the other's marks whole.
    let open_ended = a.get(..end).and_then(|text| text.chars().next_back()).is_some_and(opens);
    if end == a.len().min(b.len()) && !open_ended && !inside_word(a, end) && !inside_word(b, end) {
        return a.get(..end).unwrap_or("");
    }
    while end > 0 && !(boundary(a, end) && boundary(b, end) && !parts_word(a, b, end)) {
        end = previous(a, end);
    }
    a.get(..end).unwrap_or("")
}

/// What two texts end with in common, cut back to where a mark may begin in both.
pub(super) fn shared_end<'a>(a: &'a str, b: &str) -> &'a str {
    let mut length = common_suffix(a, b);
    let (start_a, start_b) = (a.len() - length, b.len() - length);
    let cut_off = a.get(start_a..).and_then(|text| text.chars().next()).is_some_and(shuts);
    if start_a.min(start_b) == 0 && !cut_off && !inside_word(a, start_a) && !inside_word(b, start_b) {
        return a.get(start_a..).unwrap_or("");
    }
    while length > 0 && !(boundary(a, a.len() - length) && boundary(b, b.len() - length)) {
        length = next(a, a.len() - length).map_or(0, |at| a.len() - at);
    }
    a.get(a.len() - length..).unwrap_or("")
}

/// Whether a word goes on across this place.
fn inside_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|head| head.chars().next_back()).is_some_and(is_word);
    before && text.get(at..).and_then(|tail| tail.chars().next()).is_some_and(is_word)
}

/// Whether both texts go on with a word here, a different one: then the word and the sign before it are one mark.
fn parts_word(a: &str, b: &str, at: usize) -> bool {
    let word = |text: &str| text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(is_word);
    let glued = a.get(..at).and_then(|head| head.chars().next_back()).is_some_and(|c| !c.is_whitespace());
    glued && word(a) && word(b)
}

fn previous(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|head| head.char_indices().next_back()).map_or(0, |(i, _)| i)
}

fn next(text: &str, at: usize) -> Option<usize> {
    text.get(at..).and_then(|tail| tail.chars().next()).map(|c| at + c.len_utf8())
}

/// Whether one mark may end and another begin here: at either end of the text, beside white space, after a closing
/// sign, before an opening one. Two word characters, or two signs of one kind, are never parted.
fn boundary(text: &str, at: usize) -> bool {
    let (Some(before), Some(after)) =
        (text.get(..at).and_then(|t| t.chars().next_back()), text.get(at..).and_then(|t| t.chars().next()))
    else {
        return true;
    };
    if before.is_whitespace() || after.is_whitespace() {
        return true;
    }
    let sign = |c: char| !c.is_ascii() && !is_word(c);
    if sign(before) && sign(after) && before != after {
        return true;
    }
    let inside_word = matches!(before, ',' | ':' | ';') && is_word(after);
    closes(before) && before != after && !inside_word
        || opens(after) && (is_word(before) || closes(before)) && before != after
}

fn closes(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | ',' | ':' | ';') || shuts(c)
}

/// Opening brackets of every script.
pub(super) fn opens(c: char) -> bool {
    "<[{(«【「『＜《〈〔〖⟦⟨⟪◁".contains(c)
}

/// Closing brackets of every script.
pub(super) fn shuts(c: char) -> bool {
    ">]})»】」』＞》〉〕〗⟧⟩⟫▷".contains(c)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The marks of a stretch between needles: split at white space that holds a line break, and where a closing bracket
/// meets an opening one.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut marks = Vec::new();
    for line in text.split('\n') {
        let mut rest = line.trim();
        while let Some(at) = meeting(rest) {
            let (mark, tail) = rest.split_at(at);
            marks.push(mark.trim());
            rest = tail.trim_start();
        }
        marks.push(rest);
    }
    marks.retain(|mark| !mark.is_empty());
    marks
}

/// Where a closing bracket meets an opening one, white space aside.
fn meeting(text: &str) -> Option<usize> {
    let mut before: Option<(char, usize)> = None;
    for (i, c) in text.char_indices() {
        if c.is_whitespace() {
            continue;
        }
        if let Some((last, end)) = before
            && shuts(last)
            && opens(c)
        {
            return Some(end);
        }
        before = Some((c, i + c.len_utf8()));
    }
    None
}

/// Whether a text ends inside what could go on as a word or a name.
pub(super) fn ends_in_word(text: &str) -> bool {
    text.trim_end().ends_with(is_word)
}

/// Whether a text stands out enough from prose and code to be a mark by itself.
pub(super) fn is_distinct(mark: &str) -> bool {
    let mark = mark.trim();
    let letters = mark.chars().filter(|c| c.is_alphanumeric()).count();
    letters >= 2 && mark.chars().count() >= 4 || is_sign(mark)
}

/// Whether a mark looks like nothing a person would write: signs at both ends, and more between them than the signs
/// of Markdown, JSON and code.
pub(super) fn is_sign(mark: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric());
    let plain = |c: char| c.is_whitespace() || "\"'`*_#-=.,:;()[]{}<>/".contains(c);
    mark.chars().count() >= 3
        && ends(mark.chars().next())
        && ends(mark.chars().next_back())
        && !mark.chars().all(plain)
        && !mark.contains(char::is_whitespace)
}

/// Whether a mark looks like a token of its own rather than a tag that people write too: it has a bar in its brackets.
pub(super) fn is_token(mark: &str) -> bool {
    is_sign(mark) && mark.contains(['|', '｜'])
}

/// The marks of a stretch as they stand, each with its neighbours where it would not stand out alone.
pub(super) fn groups(text: &str) -> Vec<&str> {
    let text = text.trim();
    let mut groups: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for mark in split(text) {
        let Some(found) = text.get(at..).and_then(|rest| rest.find(mark)) else { break };
        at += found + mark.len();
        if is_sign(mark) {
            groups.extend(text.get(start..at).map(str::trim));
            start = at;
        }
    }
    let rest = text.get(start..).unwrap_or("").trim();
    if !rest.is_empty() {
        // What is left over belongs to the mark before it.
        match groups.pop() {
            Some(last) => {
                let from = text.rfind(last).unwrap_or(0);
                groups.extend(text.get(from..));
            }
            None => groups.push(rest),
        }
    }
    groups
}

/// A text as a pattern that matches exactly it.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\\' | '.' | '^' | '$' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// A stretch of marks as a pattern in which white space around and between marks may vary.
pub(super) fn flexible(text: &str) -> String {
    let mut out = String::new();
    let leading = text.len() - text.trim_start().len();
    if leading > 0 {
        out.push_str("\\s*");
    }
    let marks = split(text);
    for (i, mark) in marks.iter().enumerate() {
        if i > 0 {
            out.push_str("\\s*");
        }
        out.push_str(&escape(mark));
    }
    if !marks.is_empty() && text.trim_end().len() < text.len() {
        out.push_str("\\s*");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_ends_are_cut_back_to_whole_marks() {
        let table = [
            ("<outer:call>\n<invoke name=\"", "\n</invoke>\n<invoke name=\"", "\n<invoke name=\""),
            ("<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "<tool_call>\n"),
            ("[A][CALL]", "{}[CALL]", "[CALL]"),
            ("@call ", " @done@call ", "@call "),
            ("x", "y", ""),
        ];
        for (a, b, shared) in table {
            assert_eq!(shared_end(a, b), shared, "{a:?} {b:?}");
        }
    }

    #[test]
    fn shared_starts_are_cut_back_to_whole_marks() {
        let table = [
            ("\n</parameter>\n<parameter=", "\n</parameter>\n</function>", "\n</parameter>\n"),
            ("</call>\n<call>", "</call></calls>", "</call>"),
            (" @done@call ", " @done", " @done"),
            ("', ", "')]<end>", "'"),
            ("<|im_end|>\n", "<|im_end|>", "<|im_end|>"),
            ("<|a|>", "<|b|>", ""),
        ];
        for (a, b, shared) in table {
            assert_eq!(shared_start(a, b), shared, "{a:?} {b:?}");
        }
    }

    #[test]
    fn marks_part_at_lines_and_where_brackets_meet() {
        assert_eq!(split("\n</think>\n\n<|call|><|name|>"), ["</think>", "<|call|>", "<|name|>"]);
        assert_eq!(
            split("<|close|>think<|sep|><|open|>response<|sep|>"),
            ["<|close|>think<|sep|>", "<|open|>response<|sep|>"]
        );
        assert_eq!(split(" functools"), ["functools"]);
        assert_eq!(split("Action: ```json\n"), ["Action: ```json"]);
    }

    #[test]
    fn a_mark_that_would_not_stand_out_keeps_its_neighbour() {
        assert_eq!(groups("]<|end|>"), ["]<|end|>"]);
        assert_eq!(groups("```\n<|end|>\n"), ["```\n<|end|>"]);
        assert_eq!(groups("<|calls_end|><|turn_end|>"), ["<|calls_end|>", "<|turn_end|>"]);
        assert_eq!(groups("```"), ["```"]);
    }

    #[test]
    fn white_space_around_marks_may_vary() {
        assert_eq!(flexible("<tool_call>\n<function="), r"<tool_call>\s*<function=");
        assert_eq!(flexible("\n```<|end|>"), r"\s*```<\|end\|>");
        assert_eq!(flexible(">\n"), r">\s*");
    }
}
