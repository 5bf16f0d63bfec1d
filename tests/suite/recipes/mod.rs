//! The recipes for CI (action.yml, recipes/, .pre-commit-hooks.yaml), run with stand-ins for the services:
//! a pull request in real Git repositories, a `gh` that records, and an HTTP server as GitLab.

mod github;
mod gitlab;
mod others;
mod pull_request;
