//! The values that objects use.

use super::{Expr, Object, Part, ValuesPath};
use std::collections::HashSet;

/// The paths of the values that objects use.
///
/// The objects are walked once, so that queries for many values do not depend on the number of
/// objects.
#[derive(Debug)]
pub struct ReadPaths<'a>(HashSet<&'a [String]>);

impl<'a> ReadPaths<'a> {
    /// Returns the paths that the expressions and conditions of these objects read.
    pub fn of(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut paths = ReadPaths(HashSet::new());
        for object in objects {
            let mut of_condition = Vec::new();
            object.when.iter().for_each(|condition| condition.paths(&mut of_condition));
            paths.0.extend(of_condition.into_iter().map(ValuesPath::segments));
            object.expressions().into_iter().for_each(|expr| paths.add_expression(expr));
        }
        paths
    }

    /// Returns true if an object depends on this path of the values, or an expression on a part of
    /// it.
    pub fn contains(&self, path: &ValuesPath) -> bool {
        self.0.contains(path.segments())
    }

    fn add_expression(&mut self, expr: &'a Expr) {
        if let Expr::Concat(parts) | Expr::Truncated(parts, _) = expr {
            for part in parts {
                if let Part::Image(image) = part {
                    self.add_with_parents(&image.own);
                    self.add_with_parents(&image.registry);
                }
            }
        }
        if let Some(path) = expr.path() {
            self.add_with_parents(path);
        }
    }

    fn add_with_parents(&mut self, path: &'a ValuesPath) {
        let segments = path.segments();
        // With the parents: a value that is a map is read through its keys.
        self.0.extend((0..=segments.len()).filter_map(|end| segments.get(..end)));
    }
}

#[cfg(test)]
mod tests {
    use super::ReadPaths;
    use crate::ir::{Condition, Expr, Map, Object, Origin, Value, ValuesPath};

    fn path(text: &str) -> ValuesPath {
        ValuesPath::new(text.split('.'))
    }

    #[test]
    fn expressions_read_what_is_around_them_and_conditions_only_themselves() {
        let spec = Value::map([("a", Value::Expr(Expr::Values(path("manager.resources.limits"))))]);
        let mut object = Object::new(Map::from_iter([("data".to_owned(), spec)]), Origin::Stub);
        let differ = [Expr::ReleaseNamespace, Expr::Text(path("namespaces.jobs"))];
        object.when = Some(Condition::All(vec![
            Condition::Set(path("crds.enabled")),
            Condition::Differ(Box::new(differ)),
        ]));
        let objects = [object];
        let read = ReadPaths::of(&objects);
        for (text, expected) in [
            ("manager.resources.limits", true),
            ("manager.resources", true),
            ("manager", true),
            ("manager.resources.limits.cpu", false),
            ("crds.enabled", true),
            ("crds", false),
            ("namespaces.jobs", true),
            ("other", false),
        ] {
            assert_eq!(read.contains(&path(text)), expected, "{text}");
        }
    }
}
