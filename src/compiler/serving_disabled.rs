//! Model serving in a build without the feature `serving`: everything that other modules use of `serving`,
//! without models. `[[serving]]` and `[chart.maas]` are errors, so that no model is left out silently.

use crate::chart::Chart;
use crate::diag::Diagnostics;
use crate::images::Image;
use crate::ir::Unit;
use config::ServingConfig;

pub mod config {
    //! Tables of bundles.toml that this build refuses.

    use crate::config::keys::Table;
    use crate::config::read::Tables;
    use crate::config::read::check::Draft;
    use crate::config::read::defaults::Settings;
    use crate::config::read::reader::{Located, Reader};
    use crate::diag::{Code, Span};
    use std::convert::Infallible;
    use std::ops::Range;
    use toml::de::DeTable;

    pub mod keys {
        //! `[[serving]]`

        use crate::config::keys::Table;

        /// `[[serving]]`
        pub static SERVING: Table = Table {
            header: "[[serving]]",
            doc: "A model. This build of bundle2chart has no serving charts.",
            exactly_one_of: &[],
            keys: &[],
        };
    }

    pub mod maas {
        //! `[chart.maas]`

        use crate::config::read::reader::{Fields, Reader};

        pub mod keys {
            //! `[chart.maas]`

            use crate::config::keys::Table;

            /// `[chart.maas]`
            pub static PLATFORM: Table = Table {
                header: "[chart.maas]",
                doc: "The platform of models as a service. This build of bundle2chart has no serving \
                    charts.",
                exactly_one_of: &[],
                keys: &[],
            };
        }

        /// The platform of models as a service; this build has none.
        #[derive(Clone, Debug)]
        pub enum MaasPlatform {}

        /// Reports `[chart.maas]` as an error.
        pub(crate) fn platform(
            reader: &mut Reader<'_>,
            chart: &Fields<'_>,
            _: &str,
        ) -> Option<MaasPlatform> {
            let (_, header) = chart.table("maas")?;
            super::refuse(reader, &keys::PLATFORM, &header);
            None
        }
    }

    /// A model; this build has none.
    #[derive(Clone, Debug)]
    pub struct ServingConfig {
        /// Name of the chart.
        pub name: String,
        /// Namespace for texts.
        pub namespace: String,
        /// Bundles and models that must be ready before this one.
        pub depends_on: Vec<String>,
        /// The table's header.
        pub span: Span,
        /// No value of the type exists.
        pub never: Infallible,
    }

    /// Reports the table as an error.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        (table, header): Located<&DeTable<'_>>,
        _: &Settings,
    ) -> (Draft, Option<ServingConfig>) {
        refuse(reader, &keys::SERVING, &header);
        let name = table.get("name");
        let text = name.and_then(|name| Some((name.get_ref().as_str()?.to_owned(), name.span())));
        let name = text.map(|(text, range)| (text, reader.span(range)));
        (Draft { name, depends_on: Vec::new() }, None)
    }

    /// Returns without a finding: there are no references between models and platforms.
    pub(crate) fn resolve(_: &mut Reader<'_>, _: &mut Tables) {}

    fn refuse(reader: &mut Reader<'_>, table: &Table, header: &Range<usize>) {
        let message =
            format!("`{}`: this build of bundle2chart has no serving charts", table.header);
        let hint = "use a build with the feature `serving`, which is on by default";
        reader.error(Code::InvalidValue, header, message, hint);
    }
}

pub mod maas {
    //! The platform of models as a service; this build has none.

    use super::config::maas::MaasPlatform;
    use crate::chart::Additions;
    use crate::ir::{Expr, Object};

    /// Returns the objects of a platform.
    pub fn platform(platform: &MaasPlatform, _: impl Fn(&str) -> Option<Expr>) -> Vec<Object> {
        match *platform {}
    }

    /// Returns the text about a platform.
    pub fn additions(platform: &MaasPlatform) -> Additions {
        match *platform {}
    }
}

/// Returns the objects and the chart of a model.
pub fn chart(config: &ServingConfig, _: &mut Diagnostics) -> Option<(Unit, Chart)> {
    match config.never {}
}

/// Returns the images of a model's pods.
pub fn images(config: &ServingConfig, _: &mut Diagnostics) -> Option<Vec<Image>> {
    match config.never {}
}

/// Returns without a finding: without models there are no conflicts between them.
pub fn collisions(_: &[(&ServingConfig, Unit)], _: &mut Diagnostics) {}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::diag::{Code, Diagnostics, SourceText};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn models_and_their_platform_are_refused_by_name() {
        let text = "
[[chart]]
name = \"gateway\"
chart-version = \"1.0.0\"
[chart.maas.tenant]

[[serving]]
name = \"qwen3-8b\"
model = \"hf://Qwen/Qwen3-8B\"
engine = { image = \"vllm/vllm-openai:v0.23.0\" }
";
        let text = SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() };
        let mut diagnostics = Diagnostics::new();
        let config = Config::parse(&Arc::new(text), Path::new("."), &mut diagnostics);

        assert!(config.is_none());
        let found: Vec<(Code, &str)> =
            diagnostics.iter().map(|found| (found.code, found.message.as_str())).collect();
        let refused =
            |table: &str| format!("`{table}`: this build of bundle2chart has no serving charts");
        assert_eq!(
            found,
            [
                (Code::InvalidValue, refused("[chart.maas]").as_str()),
                (Code::InvalidValue, refused("[[serving]]").as_str()),
            ]
        );
    }
}
