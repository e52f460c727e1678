//! The variables that may switch a chat template's behavior.

use super::ChatTemplate;
use backchat_core::json::{Object, Value};

/// Variables that are not switches: data, and how far to render.
const GIVEN: [&str; 6] =
    ["messages", "tools", "add_generation_prompt", "continue_final_message", "documents", "functions"];

/// Every variable that may be a switch, with the values that may matter: true, false, and the constants that the
/// template compares it with. Special tokens and the names in `given` are left out.
pub fn switches<'t>(template: &'t ChatTemplate, given: &Object) -> Vec<(&'t str, Vec<Value>)> {
    let may_switch = |name: &&String| {
        !GIVEN.contains(&name.as_str()) && !name.ends_with("_token") && !given.contains_key(name.as_str())
    };
    let values = |name: &str| {
        let mut values = vec![Value::Bool(true), Value::Bool(false)];
        for constant in template.compared_constants().get(name).into_iter().flatten() {
            if !values.contains(constant) && *constant != Value::Null {
                values.push(constant.clone());
            }
        }
        values
    };
    template.variables().iter().filter(may_switch).map(|name| (name.as_str(), values(name))).collect()
}
