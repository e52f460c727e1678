//! What the values of a template may be, as a set.

use crate::jinja::typo::typo;
use crate::jinja::value_kind::ValueKind;
use backchat_core::diagnostic::one_edit_from;

/// What a value may be, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ValueKinds(u32);

impl ValueKinds {
    pub(super) const NONE: Self = Self(0);
    /// A value that was not followed.
    pub(super) const UNKNOWN: Self = Self(1);

    pub(super) fn of(kind: ValueKind) -> Self {
        Self(1 << ValueKind::ALL_BUT_NAMESPACES.iter().position(|known| *known == kind).unwrap_or(0))
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = ValueKind> {
        ValueKind::ALL_BUT_NAMESPACES
            .into_iter()
            .enumerate()
            .filter(move |(at, _)| self.0 & (1 << at) != 0)
            .map(|(_, kind)| kind)
    }

    pub(super) fn map(self, change: impl Fn(ValueKind) -> ValueKind) -> Self {
        self.iter().fold(Self::NONE, |all, kind| all.or(Self::of(change(kind))))
    }

    /// The key that was probably meant, and whose it is. The keys of all kinds are known, and none of them has this one.
    pub(super) fn meant(self, key: &str) -> Option<(&'static str, &'static str)> {
        if self.iter().any(ValueKind::has_any_key) {
            return None;
        }
        let with_keys = || self.iter().filter_map(ValueKind::keys);
        if with_keys().any(|(_, keys)| keys.contains(&key)) {
            return None;
        }
        let near = |keys: &[&'static str]| {
            one_edit_from(key, keys.iter().copied())
                .or_else(|| keys.iter().copied().find(|name| lacks_letter(key, name)))
        };
        with_keys().find_map(|(of, keys)| Some((of, near(keys)?)))
    }
}

/// Whether a short name lacks a letter, as `rol` does.
fn lacks_letter(written: &str, name: &str) -> bool {
    written.len() < name.len() && typo(written, name).is_some()
}

pub(super) fn pairs(of: ValueKinds) -> ValueKinds {
    of.map(|kind| if kind == ValueKind::Properties { ValueKind::Pairs } else { ValueKind::Unknown })
}
