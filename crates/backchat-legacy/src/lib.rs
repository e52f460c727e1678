//! Response schemas, the format before response templates, and their conversion.

pub mod convert;
pub mod lint;
pub mod schema;
