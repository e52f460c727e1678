//! Python's values and what Python does with them, on top of minijinja's.
//!
//! minijinja supplies numbers, strings, undefined and tuples. Lists, dictionaries and everything lazy are objects of
//! our own, so that they print, compare and are indexed as in Python. The files build on each other in one direction:
//! `error`, `extent`, `entries`; the objects (`containers`, `lazy`, `namespace`, `group`, `number`); `kind`; `equality`
//! and `measure`; `build`; and what works on finished values.

pub(crate) mod arguments;
pub(crate) mod build;
pub(crate) mod containers;
pub(crate) mod entries;
pub(crate) mod equality;
mod error;
pub(crate) mod extent;
pub(crate) mod format;
pub(crate) mod group;
pub(crate) mod json;
mod kind;
pub(crate) mod lazy;
pub(crate) mod markup;
pub(crate) mod measure;
pub(crate) mod namespace;
pub(crate) mod number;
pub(crate) mod operators;
pub(crate) mod text;

pub(crate) use error::{Result, error, immutable, is_immutable};
pub(crate) use kind::{Kind, Number, items_of, type_name};
