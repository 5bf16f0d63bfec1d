//! Gates as expressions of Flux (CEL) and Argo CD (Lua).

use crate::config::GateTest;
use crate::kubectl::Gate;

impl Gate {
    /// Returns true if Flux and Argo CD have their own health check for it: rollouts, and
    /// established CRDs.
    pub(super) fn has_health_check(&self) -> bool {
        self.test == GateTest::Rollout || self.target.is_crd()
    }

    /// Returns a CEL expression over the object's fields. A field that is missing is an error for
    /// CEL, after which Flux waits.
    pub(super) fn cel(&self) -> String {
        match &self.test {
            // It has a health check.
            GateTest::Rollout => String::new(),
            GateTest::Condition(condition) => format!(
                "has(status.conditions) && \
                 status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
            ),
            GateTest::Field { path, value } => {
                // Values in bundles.toml are text; the field may be a number or a boolean.
                format!("string({}) == '{value}'", path.trim_start_matches('.'))
            }
        }
    }

    /// Returns Lua statements that set `open` to true if it is open.
    pub(super) fn lua(&self) -> String {
        match &self.test {
            GateTest::Rollout => String::new(),
            GateTest::Condition(condition) => format!(
                "local status = obj.status or {{}}\n\
                 for _, condition in ipairs(status.conditions or {{}}) do\n\
                 \x20 if condition.type == \"{condition}\" and condition.status == \"True\" then\n\
                 \x20   open = true\n\
                 \x20 end\n\
                 end\n"
            ),
            GateTest::Field { path, value } => {
                let mut text = "local value = obj\n".to_owned();
                for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
                    // Lists of Lua begin with 1.
                    let key = match step.parse::<usize>() {
                        Ok(index) => (index + 1).to_string(),
                        Err(_) => format!("\"{step}\""),
                    };
                    text += &format!("if value ~= nil then value = value[{key}] end\n");
                }
                text + &format!("open = value ~= nil and tostring(value) == \"{value}\"\n")
            }
        }
    }
}
