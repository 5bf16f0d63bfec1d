//! Passes adapt the objects of a bundle, one after the other.

mod filter;

pub use filter::{Filtered, filter, unused_filters};
