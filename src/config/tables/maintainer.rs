//! `maintainers`: who maintains the charts.

use crate::declare::{Key, table};
use crate::forms::{Filled, Rule};

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

/// An email address.
pub struct Email;

impl Rule for Email {
    const PATTERN: Option<&'static str> = Some("^[^@\\s]+@[^@\\s]+$");

    fn fault(_: &Key, text: &str) -> Option<(String, String)> {
        let hint = "write an address such as `platform@example.com`";
        let message = format!("`email` of a maintainer is not an address: {text:?}");
        (!text.contains('@')).then(|| (message, hint.to_owned()))
    }
}

/// The address of a web page.
pub struct WebPage;

impl Rule for WebPage {
    const PATTERN: Option<&'static str> = Some("^https?://[^\\s]+$");

    fn fault(_: &Key, text: &str) -> Option<(String, String)> {
        let hint = "write an address that begins with `https://`";
        let message = format!("`url` of a maintainer is not a web address: {text:?}");
        let is_web = text.starts_with("https://") || text.starts_with("http://");
        (!is_web).then(|| (message, hint.to_owned()))
    }
}
