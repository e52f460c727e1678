//! Sets of bytes, found by vectorized searches if they are few.

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bytes {
    words: [u64; 4],
    count: usize,
    /// The first members.
    few: [u8; 3],
}

impl Bytes {
    pub fn one(byte: u8) -> Self {
        Self::from_iter([byte])
    }

    fn insert(&mut self, byte: u8) {
        if let Some(word) = self.words.get_mut(usize::from(byte >> 6))
            && *word >> (byte & 63) & 1 == 0
        {
            *word |= 1 << (byte & 63);
            if let Some(place) = self.few.get_mut(self.count) {
                *place = byte;
            }
            self.count += 1;
        }
    }

    #[inline]
    pub fn has(&self, byte: u8) -> bool {
        self.words.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    /// The members, if there are at most three.
    fn few(&self) -> Option<&[u8]> {
        self.few.get(..self.count)
    }

    /// The union, unless it has more than three members.
    pub fn or(mut self, other: Self) -> Option<Self> {
        other.few()?.iter().for_each(|&byte| self.insert(byte));
        self.few().is_some().then_some(self)
    }

    pub fn touches(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(one, other)| one & other != 0)
    }

    /// The first place of one of them.
    #[inline]
    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        match self.few() {
            Some([]) => None,
            Some(&[a]) => memchr::memchr(a, bytes),
            Some(&[a, b]) => memchr::memchr2(a, b, bytes),
            Some(&[a, b, c]) => memchr::memchr3(a, b, c, bytes),
            _ => bytes.iter().position(|&byte| self.has(byte)),
        }
    }

    /// The last place of one of them.
    pub fn find_last(&self, bytes: &[u8]) -> Option<usize> {
        match self.few() {
            Some([]) => None,
            Some(&[a]) => memchr::memrchr(a, bytes),
            Some(&[a, b]) => memchr::memrchr2(a, b, bytes),
            Some(&[a, b, c]) => memchr::memrchr3(a, b, c, bytes),
            _ => bytes.iter().rposition(|&byte| self.has(byte)),
        }
    }
}

impl FromIterator<u8> for Bytes {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        let mut set = Self::default();
        bytes.into_iter().for_each(|byte| set.insert(byte));
        set
    }
}
