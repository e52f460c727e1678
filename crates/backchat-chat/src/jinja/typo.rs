//! Whether one name is a typo of another: one edit, in a word that is long enough for it.

/// One edit between two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Two adjacent letters are swapped.
    Swap,
    /// A letter is left out.
    Gap,
    /// A letter is another one.
    Other,
}

impl Edit {
    /// The shortest word in which it is a typo rather than another word.
    fn shortest_word(self) -> usize {
        match self {
            Self::Swap => 3,
            Self::Gap => 4,
            Self::Other => 5,
        }
    }
}

/// The typo that makes one name of the other; `None` if they are different names.
pub(super) fn typo(one: &str, other: &str) -> Option<Edit> {
    let (first, second): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (long, short) = if first.len() < second.len() { (second, first) } else { (first, second) };
    let before = long.iter().zip(&short).take_while(|(a, b)| a == b).count();
    let most_after = short.len() - before;
    let after = long.iter().rev().zip(short.iter().rev()).take(most_after).take_while(|(a, b)| a == b).count();
    let (old, new) = (long.get(before..long.len() - after)?, short.get(before..short.len() - after)?);
    if !old.iter().chain(new).all(|c| c.is_alphabetic()) {
        return None;
    }
    let tail = long.get(long.len() - after..)?;
    let letters_after = tail.iter().take_while(|c| c.is_alphabetic()).count();
    let letters_before = long.get(..before)?.iter().rev().take_while(|c| c.is_alphabetic()).count();
    let edit = match (old, new) {
        (['s' | 'S'], []) if letters_after == 0 => return None,
        ([_], []) => Edit::Gap,
        ([a], [b]) if a.to_lowercase().ne(b.to_lowercase()) => Edit::Other,
        ([a, b], [c, d]) if (a, b) == (d, c) => Edit::Swap,
        _ => return None,
    };
    (letters_before + old.len() + letters_after >= edit.shortest_word()).then_some(edit)
}
