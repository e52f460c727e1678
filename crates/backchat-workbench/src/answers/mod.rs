//! The results of commands as values, shared by rows, pages, and programs that embed them.

mod chats;
mod check;
mod inputs;
mod lint;
mod proof;
mod repair;
mod review;
mod source;

pub use chats::{MASK_PARTS, Tokenized, blocks, bridge, doctor, mask, mask_part, not_rendered, unrendered};
pub use check::{case_file, case_files, check};
pub use inputs::{samples, special_tokens, special_tokens_of, token_ids, token_ids_of};
pub use lint::{LintOptions, chat_template, chat_templates, lint, lint_chat_template, response};
pub use proof::{proof, prove};
pub use repair::{agents_warning, proved};
pub use review::review;
pub use source::{NOW, compile, template_name};
