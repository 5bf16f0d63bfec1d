//! `maintainers`: the maintainers of the charts.

use super::*;

table! {
    /// Maintainers of the charts, as in Chart.yaml; a list of a bundle replaces that of
    /// `[defaults]`. Default: none.
    #[derive(PartialEq, Eq)]
    pub struct Maintainer at "maintainers" {
        /// Name of the person or team. chart-testing expects the name of a GitHub account.
        name: Filled;
        /// Email address.
        email: Option<Email>;
        /// Web page of the maintainer.
        url: Option<WebPage>;
    }
}

patterns! {
    /// An email address.
    Email = "^[^@\\s]+@[^@\\s]+$",
        "`email` of a maintainer is not an address: \"{text}\"",
        "write an address such as `platform@example.com`";
    /// The address of a web page.
    WebPage = "^https?://[^\\s]+$",
        "`url` of a maintainer is not a web address: \"{text}\"",
        "write an address that begins with `https://`";
}
