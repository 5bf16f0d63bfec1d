//! Gates as commands of kubectl, and as expressions of Flux (CEL) and Argo CD (Lua).

use crate::config::{self, GateTest, Target};

/// A gate of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The awaited object; its namespace is that of bundles.toml, or of the object in the chart.
    pub target: Target,
    /// The state that it must have.
    pub test: GateTest,
    /// Time limit in seconds.
    pub timeout: u32,
    /// True if the chart contains the object; others are created by operators.
    pub in_chart: bool,
}

impl Gate {
    /// Returns a gate of the configuration for a chart.
    pub fn new(gate: &config::Gate, in_chart: bool) -> Gate {
        Gate {
            target: gate.target.clone(),
            test: gate.test.clone(),
            timeout: gate.timeout,
            in_chart,
        }
    }

    /// Returns the arguments of the kubectl commands that wait for it, without the namespace.
    ///
    /// The first one waits for the object: `kubectl wait` for a condition and `kubectl rollout
    /// status` fail at once without it.
    pub fn waits(&self) -> Vec<Vec<String>> {
        let timeout = format!("--timeout={}s", self.timeout);
        let object = self.object();
        let wait = |condition: String| {
            let condition = format!("--for={condition}");
            vec!["wait".to_owned(), condition, timeout.clone(), object.clone()]
        };
        let create = wait("create".to_owned());
        let test = match &self.test {
            GateTest::Condition(condition) => wait(format!("condition={condition}")),
            GateTest::Field { path, value } => wait(format!("jsonpath={{{path}}}={value}")),
            GateTest::Rollout => {
                vec!["rollout".to_owned(), "status".to_owned(), timeout.clone(), object.clone()]
            }
        };
        vec![create, test]
    }

    /// Returns the arguments of the kubectl commands that show why it is closed, without the
    /// namespace.
    pub fn shows(&self) -> Vec<Vec<String>> {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let object = self.object();
        match (&self.test, self.target.is_crd()) {
            (_, true) => vec![words(&format!("describe {object}"))],
            (GateTest::Rollout, _) => vec![
                words(&format!("describe {object}")),
                words("get pods"),
                words("get events --sort-by=.lastTimestamp"),
            ],
            _ => vec![
                words(&format!("get {object} --output yaml")),
                words("get events --sort-by=.lastTimestamp"),
            ],
        }
    }

    /// Returns the object as kubectl expects it: `istio.sailoperator.io/default`.
    pub fn object(&self) -> String {
        let Target { group, kind, name, .. } = &self.target;
        let kind = kind.to_lowercase();
        match group.as_str() {
            "" | "apps" => format!("{kind}/{name}"),
            "apiextensions.k8s.io" => format!("crd/{name}"),
            group => format!("{kind}.{group}/{name}"),
        }
    }

    /// Returns the namespace of the object in a release in `release`; `None` for CRDs.
    pub fn namespace<'a>(&'a self, release: &'a str) -> Option<&'a str> {
        let own = self.target.namespace.as_deref().unwrap_or(release);
        (!self.target.is_crd()).then_some(own)
    }

    /// Returns the arguments with the namespace.
    pub(super) fn with_namespace(&self, arguments: Vec<String>, release: &str) -> Vec<String> {
        let namespace = self.namespace(release);
        let flag = namespace.map(|name| vec!["--namespace".to_owned(), name.to_owned()]);
        flag.into_iter().flatten().chain(arguments).collect()
    }

    /// Returns true if Flux and Argo CD have their own health check for it: rollouts, and
    /// established CRDs.
    pub(super) fn has_health_check(&self) -> bool {
        self.test == GateTest::Rollout || self.target.is_crd()
    }

    /// Returns a CEL expression over the object's fields. A field that is missing is an error for
    /// CEL, after which Flux waits.
    pub(super) fn cel(&self) -> String {
        match &self.test {
            GateTest::Rollout => "true".to_owned(),
            GateTest::Condition(condition) => format!(
                "has(status.conditions) && \
                 status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
            ),
            GateTest::Field { path, value } => {
                format!("string({}) == '{value}'", path.trim_start_matches('.'))
            }
        }
    }

    /// Returns Lua statements that set `open` to true if it is open.
    pub(super) fn lua(&self) -> String {
        match &self.test {
            GateTest::Rollout => "open = true\n".to_owned(),
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

    /// Returns the gate in a few words: `condition Ready of Istio/default`.
    pub fn describe(&self) -> String {
        let Target { kind, name, .. } = &self.target;
        match &self.test {
            GateTest::Rollout => format!("rollout of {kind}/{name}"),
            GateTest::Condition(condition) => format!("condition {condition} of {kind}/{name}"),
            GateTest::Field { path, value } => format!("{path} = {value} of {kind}/{name}"),
        }
    }
}

/// Returns a command for a POSIX shell.
pub fn shell(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let words: Vec<String> = arguments
        .iter()
        .map(|word| {
            let quoted = || format!("'{}'", word.replace('\'', "'\\''"));
            let is_plain = !word.is_empty() && word.chars().all(plain);
            if is_plain { word.clone() } else { quoted() }
        })
        .collect();
    words.join(" ")
}
