//! The texts of a tokenizer's ids in one piece of memory, looked up by id.

use std::collections::HashMap;

use super::decoder::{Decoder, SPACE, encoded_byte};
use super::error::TokensError;

/// The decode side of a tokenizer. It can be shared by any number of threads.
#[derive(Debug)]
pub struct Tokens {
    /// The texts of ordinary tokens after the first of a text.
    later: Forms,
    /// Their texts at the start of a text, if the decoder treats it differently.
    first: Option<Forms>,
    /// The tokens that are split off before the tokenizer's model sees the text.
    added: Vec<AddedToken>,
    pub(super) decoder: Decoder,
    /// Whether encoding puts a space after every added token, which decoding drops.
    pub(super) prepends: bool,
}

#[derive(Debug)]
struct AddedToken {
    id: u32,
    content: String,
    /// What the tokenizer's file says about it.
    is_special: bool,
}

/// The token of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// Whole characters; `leads` if the first is a mark for a space.
    Text { text: &'t str, leads: bool },
    /// Bytes of which characters are made.
    Bytes(&'t [u8]),
    /// An added token, by its place among them.
    Added(usize),
}

#[derive(Debug, Default)]
struct Forms {
    /// By id; ids beyond are in `far`.
    near: Vec<Entry>,
    far: HashMap<u32, Entry>,
    count: usize,
    text: String,
    bytes: Vec<u8>,
}

/// The position of a token's text: its start, and its length with its kind in the lowest bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    start: u32,
    length_and_kind: u32,
}

/// Zero is the kind of ids that the tokenizer lacks.
const BYTES: u32 = 1;
const ADDED: u32 = 2;
/// Whole characters, with the flags below.
const TEXT: u32 = 4;
/// The first is a mark for a space.
const LEADS: u32 = 1;
/// A character is of a largely unassigned plane, which a parser of ids may use internally.
const RARE: u32 = 2;
const KIND_BITS: u32 = 3;

/// The first byte, in UTF-8, of the characters of plane 12 and beyond; none of the others has so high a byte.
const FIRST_RARE: u8 = 0xF3;

/// How far ids may be apart before they are looked up by hash: a table of a few sparse ids stays small.
const SPARSE: usize = 1 << 16;

impl Entry {
    fn new(kind: u32, start: usize, length: usize) -> Option<Self> {
        let length = u32::try_from(length).ok().filter(|length| *length < 1 << (32 - KIND_BITS))?;
        Some(Self { start: u32::try_from(start).ok()?, length_and_kind: length << KIND_BITS | kind })
    }
}

impl Forms {
    #[inline]
    fn entry(&self, id: u32) -> Entry {
        match self.near.get(id as usize) {
            Some(entry) => *entry,
            None => self.far.get(&id).copied().unwrap_or_default(),
        }
    }

    #[inline]
    fn token(&self, id: u32) -> Option<Token<'_>> {
        let Entry { start, length_and_kind } = self.entry(id);
        let (start, end) = (start as usize, start as usize + (length_and_kind >> KIND_BITS) as usize);
        let kind = length_and_kind & ((1 << KIND_BITS) - 1);
        match kind {
            BYTES => Some(Token::Bytes(self.bytes.get(start..end)?)),
            ADDED => Some(Token::Added(start)),
            TEXT.. => Some(Token::Text { text: self.text.get(start..end)?, leads: kind & LEADS != 0 }),
            _ => None,
        }
    }

    /// The text of an id whose characters are all common ones. `None` means unknown.
    #[inline]
    fn common_text(&self, id: u32) -> Option<&str> {
        let Entry { start, length_and_kind } = *self.near.get(id as usize)?;
        let end = start as usize + (length_and_kind >> KIND_BITS) as usize;
        if length_and_kind & (TEXT | RARE) == TEXT { self.text.get(start as usize..end) } else { None }
    }

    fn set(&mut self, id: u32, entry: Entry) {
        let place = id as usize;
        self.count += 1;
        // A table that is mostly holes would waste memory.
        if place < self.near.len() || place < self.count.saturating_mul(4).max(SPARSE) {
            if place >= self.near.len() {
                self.near.resize(place + 1, Entry::default());
            }
            if let Some(known) = self.near.get_mut(place) {
                *known = entry;
            }
        } else {
            self.far.insert(id, entry);
        }
    }

    fn add_text(&mut self, id: u32, text: &str, leads: bool) -> Option<()> {
        let is_rare = text.bytes().any(|byte| byte >= FIRST_RARE);
        let kind = TEXT | if leads { LEADS } else { 0 } | if is_rare { RARE } else { 0 };
        self.set(id, Entry::new(kind, self.text.len(), text.len())?);
        self.text.push_str(text);
        Some(())
    }

    fn add_bytes(&mut self, id: u32, bytes: &[u8]) -> Option<()> {
        self.set(id, Entry::new(BYTES, self.bytes.len(), bytes.len())?);
        self.bytes.extend_from_slice(bytes);
        Some(())
    }

    /// Moves ids that are no longer far: `near` alone answers for its range.
    fn settle(&mut self) {
        let length = self.near.len();
        let passed: Vec<u32> = self.far.keys().copied().filter(|id| (*id as usize) < length).collect();
        for id in passed {
            if let (Some(entry), Some(place)) = (self.far.remove(&id), self.near.get_mut(id as usize))
                && *place == Entry::default()
            {
                *place = entry;
            }
        }
        self.near.shrink_to_fit();
        self.text.shrink_to_fit();
        self.bytes.shrink_to_fit();
    }
}

pub(super) struct Builder {
    tokens: Tokens,
    scratch: Vec<u8>,
}

impl Builder {
    pub fn new(decoder: Decoder, prepends: bool) -> Self {
        let first = decoder.has_first().then(Forms::default);
        let tokens = Tokens { later: Forms::default(), first, added: Vec::new(), decoder, prepends };
        Self { tokens, scratch: Vec::new() }
    }

    pub fn token(&mut self, id: u32, name: &str) -> Result<(), TokensError> {
        let Tokens { later, first, decoder, .. } = &mut self.tokens;
        let forms = [(later, false)].into_iter().chain(first.as_mut().map(|forms| (forms, true)));
        let mut kept = Some(());
        for (forms, is_first) in forms {
            let text = decoder.text(name, is_first);
            kept = kept.and_then(|()| {
                if let Some(byte) = decoder.byte(&text) {
                    return forms.add_bytes(id, &[byte]);
                }
                let leads = name.starts_with(SPACE) && text.starts_with([SPACE, ' ']);
                if !decoder.byte_level {
                    return forms.add_text(id, &text, leads);
                }
                self.scratch.clear();
                // A name with characters that encode no bytes is its own text, as in the reference.
                let bytes = match text.chars().try_for_each(|c| encoded_byte(c).map(|byte| self.scratch.push(byte))) {
                    Some(()) => self.scratch.as_slice(),
                    None => text.as_bytes(),
                };
                match str::from_utf8(bytes) {
                    Ok(text) => forms.add_text(id, text, leads),
                    Err(_) => forms.add_bytes(id, bytes),
                }
            });
        }
        kept.ok_or_else(|| TokensError::at("model.vocab", "its texts are longer than 4 GB"))
    }

    /// An added token, which takes the place of an ordinary one. Fails if another has the id.
    pub fn added(&mut self, id: u32, content: &str, is_special: bool) -> Result<(), Taken> {
        if let Some(Token::Added(place)) = self.tokens.later.token(id)
            && let Some(other) = self.tokens.added.get(place)
        {
            return if other.content == content { Ok(()) } else { Err(Taken { by: other.content.clone() }) };
        }
        let entry = Entry::new(ADDED, self.tokens.added.len(), 0).unwrap_or_default();
        self.tokens.later.set(id, entry);
        self.tokens.added.push(AddedToken { id, content: content.to_owned(), is_special });
        Ok(())
    }

    pub fn finish(mut self) -> Tokens {
        self.tokens.later.settle();
        if let Some(first) = &mut self.tokens.first {
            first.settle();
        }
        self.tokens
    }
}

/// The id of an added token is that of another.
#[derive(Debug)]
pub struct Taken {
    pub by: String,
}

impl Tokens {
    /// Whether the tokenizer has the id.
    pub fn has(&self, id: u32) -> bool {
        self.token(id).is_some()
    }

    /// The contents of the added tokens, with their ids.
    pub fn added(&self) -> impl Iterator<Item = (u32, &str)> {
        self.added.iter().map(|token| (token.id, token.content.as_str()))
    }

    /// The content of an added token, such as a marker; `None` for any other id.
    pub fn added_text(&self, id: u32) -> Option<&str> {
        self.added_place(id).map(|place| self.added_content(place))
    }

    /// The text of the added token at a place of their list.
    pub(crate) fn added_content(&self, place: usize) -> &str {
        self.added.get(place).map_or("", |token| &token.content)
    }

    /// The place of an added token among them, by its id.
    pub(crate) fn added_place(&self, id: u32) -> Option<usize> {
        match self.token(id)? {
            Token::Added(place) => Some(place),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn token(&self, id: u32) -> Option<Token<'_>> {
        self.later.token(id)
    }

    /// The text of a token after the first of a text, if it has only common characters. `None` means unknown.
    #[inline]
    pub(super) fn common_text(&self, id: u32) -> Option<&str> {
        self.later.common_text(id)
    }

    /// The token as the first of a text.
    pub(super) fn first_token(&self, id: u32) -> Option<Token<'_>> {
        let token = self.token(id)?;
        match (&self.first, token) {
            (Some(first), Token::Text { .. } | Token::Bytes(_)) => first.token(id),
            _ => Some(token),
        }
    }
}

/// The contents of the added tokens that a tokenizer calls special.
pub fn special(tokens: &Tokens) -> impl Iterator<Item = &str> {
    tokens.added.iter().filter(|token| token.is_special).map(|token| token.content.as_str())
}
