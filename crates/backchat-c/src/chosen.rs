//! The options of one parser, as its caller chose them.

use backchat_parser::deltas::CallDelivery;
use backchat_parser::parser::Options;

/// The options of a parser.
#[derive(Default)]
pub struct Chosen {
    pub options: Options,
    /// How deltas deliver calls, if there are to be any.
    pub chat: Option<CallDelivery>,
    pub call_id_prefix: String,
}
