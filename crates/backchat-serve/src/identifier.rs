//! Unique identifiers: 24 letters and digits that cannot be guessed from earlier ones.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A new identifier with this prefix.
pub fn identifier(lead: &str) -> String {
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let keys = KEYS.get_or_init(RandomState::new);
    let mut name = lead.to_owned();
    for _ in 0..2 {
        let mut hasher = keys.build_hasher();
        hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
        let mut number = hasher.finish();
        for _ in 0..12 {
            let digit = u32::try_from(number % 36).unwrap_or(0);
            name.push(char::from_digit(digit, 36).unwrap_or('0'));
            number /= 36;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_long_and_differ() {
        let names: HashSet<String> = (0..1000).map(|_| identifier("x-")).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.len() == 26 && name.starts_with("x-")));
    }
}
