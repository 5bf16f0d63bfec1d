//! Writes mutants into a source as branches: `a == b` becomes
//! `(if crate::__mutant(7) { (a) != (b) } else { a == b })`.
//!
//! Each mutant only adds text around a place, without line breaks. So places can contain each other,
//! and lines stay what they are.

use crate::list::{Mutant, Position};
use proc_macro2::LineColumn;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// A range of the written text that a mutant added.
pub struct Site {
    pub id: usize,
    pub added: Range<usize>,
    /// From the first byte that the mutant added to the last one.
    pub all: Range<usize>,
}

/// An instrumented source.
pub struct Instrumented {
    pub text: String,
    pub sites: Vec<Site>,
    /// Mutants that are no branch, with the reason.
    pub unviable: BTreeMap<usize, String>,
}

/// Text around a place, each part with its mutant.
struct Wrap {
    place: Range<usize>,
    /// Of wraps around the same place, the lowest is the outermost.
    rank: u8,
    before: Vec<(usize, String)>,
    after: Vec<(usize, String)>,
}

/// The reason for mutants that this module cannot write.
pub const NO_BRANCH: &str = "cannot be written as a branch";

/// Ranks of wraps around the same place.
const BODY: u8 = 0;
const PART: u8 = 1;
const OPERATOR: u8 = 2;

/// Writes the mutants `ids` into a source.
///
/// # Errors
/// The source cannot be parsed.
pub fn file(text: &str, ids: &[usize], mutants: &[Mutant]) -> Result<Instrumented, String> {
    let syntax = syn::parse_file(text).map_err(|error| error.to_string())?;
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut places: BTreeMap<(Position, &str), Vec<usize>> = BTreeMap::new();
    for id in ids.iter().filter(|id| !mutants[**id].is_own) {
        let mutant = &mutants[*id];
        places.entry((mutant.span.start, mutant.genre.as_str())).or_default().push(*id);
    }
    let is_model = mutants[ids[0]].file.starts_with("src/model/");
    let krate = if is_model { "crate" } else { "bundle2chart_model" };

    let mut writer = Writer {
        text,
        starts,
        mutants,
        places,
        krate,
        wraps: Vec::new(),
        unviable: BTreeMap::new(),
    };
    writer.own(ids);
    writer.bodies();
    writer.visit_file(&syntax);
    let mut unviable = writer.unviable;
    for id in writer.places.into_values().flatten() {
        unviable.insert(id, NO_BRANCH.to_owned());
    }
    let (text, sites) = write(text, writer.wraps);
    Ok(Instrumented { text, sites, unviable })
}

struct Writer<'t> {
    text: &'t str,
    /// Offsets of lines.
    starts: Vec<usize>,
    mutants: &'t [Mutant],
    /// Mutants that are not written yet, by place and genre.
    places: BTreeMap<(Position, &'t str), Vec<usize>>,
    krate: &'static str,
    wraps: Vec<Wrap>,
    unviable: BTreeMap<usize, String>,
}

impl Writer<'_> {
    fn offset(&self, position: Position) -> usize {
        let line = self.starts[position.line - 1];
        let rest = &self.text[line..];
        let column = rest.char_indices().nth(position.column - 1);
        line + column.map_or(rest.len(), |(at, _)| at)
    }

    fn range(&self, span: proc_macro2::Span) -> Range<usize> {
        self.offset(position(span.start()))..self.offset(position(span.end()))
    }

    fn take(&mut self, span: proc_macro2::Span, genre: &'static str) -> Vec<usize> {
        self.places.remove(&(position(span.start()), genre)).unwrap_or_default()
    }

    fn is(&self, id: usize) -> String {
        format!("{}::__mutant({id})", self.krate)
    }

    /// Mutants that know their branch.
    fn own(&mut self, ids: &[usize]) {
        for id in ids.iter().copied().filter(|id| self.mutants[*id].is_own) {
            let mutant = &self.mutants[id];
            let Some(branch) = &mutant.branch else {
                self.unviable.insert(id, NO_BRANCH.to_owned());
                continue;
            };
            let is = self.is(id);
            let part = |text: &str| vec![(id, text.replace("MUTANT", &is))];
            for place in &mutant.places {
                let place = self.offset(place.start)..self.offset(place.end);
                let (before, after) = (part(&branch.before), part(&branch.after));
                self.wraps.push(Wrap { place, rank: PART, before, after });
            }
        }
    }

    /// Function bodies: `return` before the first statement.
    fn bodies(&mut self) {
        let keys: Vec<_> =
            self.places.keys().filter(|(_, genre)| *genre == "FnValue").copied().collect();
        for key in keys {
            let mut ids = self.places.remove(&key).unwrap_or_default();
            let span = &self.mutants[ids[0]].span;
            let place = self.offset(span.start)..self.offset(span.end);
            let function = self.mutants[ids[0]].function.as_ref();
            let is_opaque = function.is_some_and(|f| f.return_type.starts_with("-> impl Iterator"));
            let mut wrap = Wrap { place, rank: BODY, before: Vec::new(), after: Vec::new() };
            if is_opaque {
                // An iterator of `&T` is none of `&mut T`, but the error is at the signature.
                ids.retain(|id| {
                    let leaks = self.mutants[*id].replacement.contains("leak(");
                    if leaks {
                        self.unviable.insert(*id, "type mismatch".to_owned());
                    }
                    !leaks
                });
                // All branches must have one type: each is there or not.
                for id in &ids {
                    let new = &self.mutants[*id].replacement;
                    let text =
                        format!("{}.then(|| {new}).into_iter().flatten().chain(", self.is(*id));
                    wrap.before.push((*id, text));
                    wrap.after.push((*id, ")".to_owned()));
                }
                let none: Vec<String> = ids.iter().map(|id| format!("!{}", self.is(*id))).collect();
                wrap.before.push((ids[0], format!("({}).then(|| {{", none.join(" && "))));
                wrap.after.push((ids[0], "}).into_iter().flatten()".to_owned()));
            } else {
                for id in ids {
                    let new = &self.mutants[id].replacement;
                    wrap.before.push((id, format!("if {} {{ return {new}; }} ", self.is(id))));
                }
            }
            self.wraps.push(wrap);
        }
    }

    /// Adds `(if MUTANT { NEW } else { … })` around an operator and its operands.
    fn choose(&mut self, place: Range<usize>, branches: Vec<(usize, String)>) {
        let mut wrap = Wrap { place, rank: OPERATOR, before: Vec::new(), after: Vec::new() };
        for (id, new) in branches {
            wrap.before.push((id, format!("(if {} {{ {new} }} else {{ ", self.is(id))));
            wrap.after.push((id, " })".to_owned()));
        }
        self.wraps.push(wrap);
    }

    /// Deletes an arm, and replaces its guard. Without a wildcard a match needs all of its arms.
    fn arm(&mut self, arm: &syn::Arm, is_complete: bool) {
        let mut deleted = self.take(arm.span(), "MatchArm");
        if !is_complete {
            let reason = |id| (id, "non-exhaustive patterns".to_owned());
            self.unviable.extend(deleted.drain(..).map(reason));
        }
        let Some((_, guard)) = &arm.guard else {
            let end = self.range(arm.pat.span()).end;
            for id in deleted {
                let after = vec![(id, format!(" if !{}", self.is(id)))];
                self.wraps.push(Wrap { place: end..end, rank: PART, before: Vec::new(), after });
            }
            return;
        };
        let replaced = self.take(guard.span(), "MatchArmGuard");
        let place = self.range(guard.span());
        let mut wrap = Wrap { place, rank: PART, before: Vec::new(), after: Vec::new() };
        for id in deleted {
            wrap.before.push((id, format!("!{} && (", self.is(id))));
            wrap.after.push((id, ")".to_owned()));
        }
        for id in replaced {
            let is = self.is(id);
            let text = match self.mutants[id].replacement.as_str() {
                "true" => format!("{is} || ("),
                _ => format!("!{is} && ("),
            };
            wrap.before.push((id, text));
            wrap.after.push((id, ")".to_owned()));
        }
        self.wraps.push(wrap);
    }

    /// Fields that are deleted from `Type { field: value, ..rest }` have the value of `rest`.
    fn field(&mut self, field: &syn::FieldValue, rest: &syn::Expr) {
        let name = match &field.member {
            syn::Member::Named(name) => name.to_string(),
            syn::Member::Unnamed(index) => index.index.to_string(),
        };
        let rest = &self.text[self.range(rest.span())];
        let new = format!("({rest}).{name}");
        for id in self.take(field.span(), "StructField") {
            let place = self.range(field.expr.span());
            let label = field.colon_token.is_none().then(|| format!("{name}: "));
            let is = self.is(id);
            let before = format!("{}(if {is} {{ {new} }} else {{ ", label.unwrap_or_default());
            self.wraps.push(Wrap {
                place,
                rank: PART,
                before: vec![(id, before)],
                after: vec![(id, " })".to_owned())],
            });
        }
    }
}

fn position(at: LineColumn) -> Position {
    Position { line: at.line, column: at.column + 1 }
}

/// Returns true if a condition declares variables, so that it cannot be in parentheses.
pub fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

impl<'a> Visit<'a> for Writer<'_> {
    fn visit_expr_binary(&mut self, node: &'a syn::ExprBinary) {
        visit::visit_expr_binary(self, node);
        let ids = self.take(node.op.span(), "BinaryOperator");
        if has_let(&node.left) || has_let(&node.right) {
            // Only `&&` joins conditions with `let`, and only `||` replaces it.
            let reason = |id| (id, "expected expression, found `let` statement".to_owned());
            self.unviable.extend(ids.into_iter().map(reason));
            return;
        }
        let (left, right) = (self.range(node.left.span()), self.range(node.right.span()));
        let branches = ids.into_iter().map(|id| {
            let operator = &self.mutants[id].replacement;
            let (left, right) = (&self.text[left.clone()], &self.text[right.clone()]);
            (id, format!("({left}) {operator} ({right})"))
        });
        let branches = branches.collect();
        self.choose(left.start..right.end, branches);
    }

    fn visit_expr_unary(&mut self, node: &'a syn::ExprUnary) {
        visit::visit_expr_unary(self, node);
        let ids = self.take(node.op.span(), "UnaryOperator");
        let place = self.range(node.span());
        let inner = &self.text[self.range(node.expr.span())];
        let branches = ids.into_iter().map(|id| (id, inner.to_owned())).collect();
        self.choose(place, branches);
    }

    fn visit_expr_match(&mut self, node: &'a syn::ExprMatch) {
        visit::visit_expr_match(self, node);
        let catches_all = |arm: &syn::Arm| {
            // `None` is a name, too.
            let is_variable = |name: &syn::Ident| name.to_string().starts_with(char::is_lowercase);
            arm.guard.is_none()
                && match &arm.pat {
                    syn::Pat::Wild(_) => true,
                    syn::Pat::Ident(pattern) => is_variable(&pattern.ident),
                    _ => false,
                }
        };
        for (at, arm) in node.arms.iter().enumerate() {
            let mut others = node.arms.iter().enumerate().filter(|(other, _)| *other != at);
            self.arm(arm, others.any(|(_, other)| catches_all(other)));
        }
    }

    fn visit_expr_struct(&mut self, node: &'a syn::ExprStruct) {
        visit::visit_expr_struct(self, node);
        if let Some(rest) = &node.rest {
            for field in &node.fields {
                self.field(field, rest);
            }
        }
    }
}

/// Returns the text with all wraps, and the sites of mutants in it.
fn write(text: &str, wraps: Vec<Wrap>) -> (String, Vec<Site>) {
    // Outer wraps begin first and end last.
    let mut order: Vec<usize> = (0..wraps.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(wraps[*at].place.len()), wraps[*at].rank));
    // At an offset, wraps end before others begin, the inner ones first.
    type Ends = Vec<(usize, bool)>;
    let mut additions: BTreeMap<usize, (Ends, Ends)> = BTreeMap::new();
    for at in &order {
        let place = &wraps[*at].place;
        additions.entry(place.start).or_default().1.push((*at, true));
        additions.entry(place.end).or_default().0.insert(0, (*at, false));
    }

    let mut written = String::with_capacity(text.len() * 2);
    let mut added: Vec<(usize, usize, Range<usize>)> = Vec::new();
    let mut from = 0;
    for (offset, (ends, begins)) in additions {
        written += &text[from..offset];
        from = offset;
        // A wrap of nothing has only text after its place, which it must not end before it begins.
        for (at, is_begin) in ends.into_iter().chain(begins) {
            let wrap = &wraps[at];
            let parts: Box<dyn Iterator<Item = &(usize, String)>> = if is_begin {
                Box::new(wrap.before.iter())
            } else {
                Box::new(wrap.after.iter().rev())
            };
            for (id, part) in parts {
                let start = written.len();
                written += part;
                added.push((at, *id, start..written.len()));
            }
        }
    }
    written += &text[from..];

    let mut all: BTreeMap<usize, Range<usize>> = BTreeMap::new();
    for (at, _, range) in &added {
        let whole = all.entry(*at).or_insert_with(|| range.clone());
        *whole = whole.start.min(range.start)..whole.end.max(range.end);
    }
    let sites = added.into_iter().map(|(at, id, added)| Site { id, added, all: all[&at].clone() });
    (written, sites.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Span;

    /// Returns a source with the mutants `(genre, place, new text)`.
    fn written(text: &str, changes: &[(&str, &str, &str)]) -> (String, Vec<usize>) {
        let at = |offset: usize| {
            let line = text[..offset].matches('\n').count();
            let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
            Position { line: line + 1, column: text[start..offset].chars().count() + 1 }
        };
        let mutant = |(genre, place, new): &(&str, &str, &str)| {
            let start = text.find(place).expect("the place");
            Mutant {
                name: format!("{place} -> {new}"),
                file: "src/model/a.rs".to_owned(),
                genre: (*genre).to_owned(),
                span: Span { start: at(start), end: at(start + place.len()) },
                replacement: (*new).to_owned(),
                function: None,
                branch: None,
                places: Vec::new(),
                is_own: false,
            }
        };
        let mutants: Vec<Mutant> = changes.iter().map(mutant).collect();
        let ids: Vec<usize> = (0..mutants.len()).collect();
        let found = file(text, &ids, &mutants).expect("a source");
        for site in &found.sites {
            assert!(!found.text[site.added.clone()].is_empty());
        }
        (found.text, found.unviable.into_keys().collect())
    }

    #[test]
    fn mutants_are_branches_around_their_places() {
        for (text, change, expected) in [
            (
                "fn f() -> bool { a == b }",
                ("BinaryOperator", "==", "!="),
                "fn f() -> bool { (if crate::__mutant(0) { (a) != (b) } else { a == b }) }",
            ),
            (
                "fn f() -> bool { !a }",
                ("UnaryOperator", "!", ""),
                "fn f() -> bool { (if crate::__mutant(0) { a } else { !a }) }",
            ),
            (
                "fn f() -> bool { a }",
                ("FnValue", "a", "true"),
                "fn f() -> bool { if crate::__mutant(0) { return true; } a }",
            ),
            (
                "fn f() { match a { 1 => b(), _ => {} } }",
                ("MatchArm", "1 => b(),", ""),
                "fn f() { match a { 1 if !crate::__mutant(0) => b(), _ => {} } }",
            ),
            (
                "fn f() { match a { x if c => b(), _ => {} } }",
                ("MatchArmGuard", "c =>", "true"),
                "fn f() { match a { x if crate::__mutant(0) || (c) => b(), _ => {} } }",
            ),
            (
                "fn f() -> A { A { x: 1, ..b() } }",
                ("StructField", "x: 1", ""),
                "fn f() -> A { A { x: (if crate::__mutant(0) { (b()).x } else { 1 }), ..b() } }",
            ),
        ] {
            assert_eq!(written(text, &[change]), (expected.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn places_contain_each_other_and_lines_stay() {
        let text = "fn f() -> bool {\n    ü(a) &&\n        b == c\n}\n";
        let changes = [
            ("BinaryOperator", "&&", "||"),
            ("BinaryOperator", "==", "!="),
            ("FnValue", "ü(a) &&\n        b == c", "true"),
        ];
        let (found, unviable) = written(text, &changes);
        assert_eq!(
            found,
            "fn f() -> bool {\n    if crate::__mutant(2) { return true; } \
             (if crate::__mutant(0) { (ü(a)) || (b == c) } else { ü(a) &&\n        \
             (if crate::__mutant(1) { (b) != (c) } else { b == c }) })\n}\n"
        );
        assert_eq!(unviable, [0; 0]);
    }

    #[test]
    fn mutants_that_do_not_compile_are_named() {
        let text = "fn f() { if a && let Some(x) = b {} match c { true => {} false => {} } }";
        let changes = [("BinaryOperator", "&&", "||"), ("MatchArm", "true => {}", "")];
        assert_eq!(written(text, &changes), (text.to_owned(), vec![0, 1]));
    }
}
