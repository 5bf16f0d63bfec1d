//! The list of a repository's tags.

use super::failure::Failure;
use super::http::{Request, Response, join};
use super::{Repository, offline_tags, shown};
use crate::diag::Fatal;
use crate::limits::in_bytes;
use serde::Deserialize;
use ureq::http::Method;

/// Tags that are asked for at a time.
const PAGE: usize = 1_000;
/// Pages of one repository; the largest known have some ten thousand tags.
const MOST_PAGES: usize = 100;

#[derive(Deserialize)]
struct Body {
    tags: Option<Vec<String>>,
}

impl Repository<'_> {
    /// Returns all tags of the repository, in the registry's order (OCI distribution specification,
    /// "Listing Tags").
    pub(crate) fn tags(&self) -> Result<Vec<String>, Fatal> {
        if self.client.access.offline {
            return Err(offline_tags(&self.shown()));
        }

        let mut tags = Vec::new();
        let mut path = format!("tags/list?n={PAGE}");
        for _ in 0..MOST_PAGES {
            let (page, next) = self.page(&path).map_err(|failure| {
                let what = || format!("no tags found for `{}`", self.shown());
                failure.not_found(what).diagnostic(&self.host.name)
            })?;

            tags.extend(page);
            match next {
                Some(next) => path = next,
                None => return Ok(tags),
            }
        }

        let message = format!("`{}` has more than {} tags", self.shown(), MOST_PAGES * PAGE);
        Err(Failure::TooMuch(message).diagnostic(&self.host.name).into())
    }

    /// Returns one page, and the address of the next one.
    fn page(&self, path: &str) -> Result<(Vec<String>, Option<String>), Failure> {
        let _slot = self.host.slots.take();
        self.with_retries(|| {
            let response = self.send(path, false, &Request::new(Method::GET))?;
            let place = shown(&response.from);
            let next = next_page(&response);
            let limit = self.limits.document_bytes;
            let too_much = || format!("{place} has more than {}", in_bytes(limit));
            let bytes = self.read_limited(response.body, &place, too_much)?;
            let body: Body = serde_json::from_slice(&bytes)
                .map_err(|_| Failure::Refused(format!("{place} returned no list of tags")))?;
            // Registries written in Go return `null` for an empty list.
            Ok((body.tags.unwrap_or_default(), next))
        })
    }
}

/// Returns the address in the Link header (RFC 8288) with the relation `next`.
fn next_page(response: &Response) -> Option<String> {
    let link = response.header("link")?;
    let (address, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
    let is_next = parameters
        .split(';')
        .any(|parameter| matches!(parameter.trim(), "rel=next" | "rel=\"next\""));
    let next = join(&response.from, address).filter(|_| is_next)?;
    // Another host has no part of this repository's list.
    let same =
        next.authority() == response.from.authority() && next.scheme() == response.from.scheme();
    same.then(|| next.to_string())
}
