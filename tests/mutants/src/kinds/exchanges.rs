//! Mutants that are another expression: a method exchanged for another, a call left out, arguments
//! swapped, `?` without its return, a body exchanged for that of the next arm.

use super::{Finder, excerpt, one_line};
use syn::spanned::Spanned as _;

/// Methods, and those that have the same arguments.
const METHODS: &[(&str, &str)] = &[
    ("any", "all"),
    ("ends_with", "starts_with"),
    ("find", "rfind"),
    ("first", "last"),
    ("first_key_value", "last_key_value"),
    ("is_none", "is_some"),
    ("is_none_or", "is_some_and"),
    ("is_ok", "is_err"),
    ("is_subset", "is_superset"),
    ("keys", "values"),
    ("max", "min"),
    ("max_by", "min_by"),
    ("max_by_key", "min_by_key"),
    ("next", "last"),
    ("next_back", "next"),
    ("pop_first", "pop_last"),
    ("position", "rposition"),
    ("push_back", "push_front"),
    ("saturating_add", "saturating_sub"),
    ("split_first", "split_last"),
    ("split_once", "rsplit_once"),
    ("starts_with", "contains"),
    ("strip_prefix", "strip_suffix"),
    ("trim_end", "trim_start"),
    ("union", "intersection"),
];

/// Methods, their number of arguments, and what is there instead of the call: `$R` is the receiver,
/// `$A` and `$B` are the arguments.
const CALLS: &[(&str, usize, &str)] = &[
    ("cmp", 1, "($R).cmp($A).reverse()"),
    ("extend", 1, "{ $R = ($A).into_iter().collect(); }"),
    ("insert", 2, "{ ($R).entry($A).or_insert($B); }"),
    ("max", 1, "$R"),
    ("min", 1, "$R"),
    ("or", 1, "$R"),
    ("or_else", 1, "$R"),
    ("push", 1, "($R).insert(0, $A)"),
    ("replace", 2, "String::from(&($R)[..])"),
    ("to_ascii_lowercase", 0, "String::from(&($R)[..])"),
    ("to_lowercase", 0, "String::from(&($R)[..])"),
    ("trim", 0, "&($R)[..]"),
    ("trim_end", 0, "&($R)[..]"),
    ("trim_end_matches", 1, "&($R)[..]"),
    ("trim_matches", 1, "&($R)[..]"),
    ("trim_start", 0, "&($R)[..]"),
    ("trim_start_matches", 1, "&($R)[..]"),
    ("unwrap_or", 1, "($R).unwrap_or_default()"),
    ("unwrap_or_else", 1, "($R).unwrap_or_default()"),
];

/// Methods without effect: the text around the argument, or around the body of a closure.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("chain", "IntoIterator::into_iter(", ").filter(|_| !MUTANT)"),
    ("filter", "(MUTANT || (", "))"),
    ("skip", "(if MUTANT { 0 } else { ", " })"),
    ("skip_while", "(!MUTANT && (", "))"),
    ("take", "(if MUTANT { usize::MAX } else { ", " })"),
    ("take_while", "(MUTANT || (", "))"),
];

/// Returns the text of an expression in one line, or nothing if a literal has several.
fn text(node: &impl syn::spanned::Spanned) -> Option<String> {
    one_line(&node.span().source_text()?)
}

/// Returns the arguments with two of them swapped.
fn swapped(arguments: &[String], at: usize) -> String {
    let mut arguments = arguments.to_vec();
    arguments.swap(at, at + 1);
    arguments.join(", ")
}

/// Returns the ranges of what is between a brace of a template and its colon or other brace.
fn holes(template: &str) -> Vec<std::ops::Range<usize>> {
    let (mut holes, mut at) = (Vec::new(), 0);
    while let Some(brace) = template[at..].find('{') {
        let start = at + brace + 1;
        let length = template[start..].find([':', '{', '}']).unwrap_or_default();
        at = start + length + 1;
        if !template[start..].starts_with('{') {
            holes.push(start..start + length);
        }
    }
    holes
}

impl Finder<'_> {
    /// Adds a mutant that is another expression at the place. The types are inferred from the old one.
    pub(super) fn exchange(
        &mut self,
        genre: &str,
        change: &str,
        place: proc_macro2::Span,
        new: &str,
    ) {
        // A constant expression cannot call the switch.
        if !self.is_const {
            self.add(genre, change, place, ("(if !MUTANT { ", &format!(" }} else {{ {new} }})")));
        }
    }

    pub(super) fn method_call(&mut self, node: &syn::ExprMethodCall) {
        let name = node.method.to_string();
        let arguments: Option<Vec<String>> = node.args.iter().map(text).collect();
        let (Some(receiver), Some(arguments)) = (text(&node.receiver), arguments) else { return };
        let generics = node.turbofish.as_ref().and_then(text).unwrap_or_default();

        let others = METHODS.iter().flat_map(|(one, other)| [(*one, *other), (*other, *one)]);
        for (_, other) in others.filter(|(one, _)| *one == name) {
            let new = format!("{receiver}.{other}{generics}({})", arguments.join(", "));
            let change =
                format!("replace .{name} with .{other} after {}", excerpt(node.receiver.span()));
            self.exchange("Method", &change, node.span(), &new);
        }
        for (_, _, new) in CALLS.iter().filter(|row| (row.0, row.1) == (&name, arguments.len())) {
            let change = format!("replace {} with {new}", excerpt(node.span()));
            let mut new = new.replace("$R", &receiver);
            for (word, argument) in ["$A", "$B"].iter().zip(&arguments) {
                new = new.replace(word, argument);
            }
            self.exchange("Call", &change, node.span(), &new);
        }
        for (_, before, after) in ARGUMENTS.iter().filter(|row| row.0 == name) {
            let Some(argument) = node.args.first().filter(|_| node.args.len() == 1) else {
                continue;
            };
            let change = format!("undo .{name}({})", excerpt(argument.span()));
            let is_predicate = before.contains("(MUTANT ||") || before.contains("(!MUTANT &&");
            match argument {
                syn::Expr::Closure(closure) if is_predicate => {
                    self.add("Call", &change, closure.body.span(), (before, after));
                }
                _ if is_predicate => {
                    let (before, after) = (format!("|__x| {before}("), format!(")(__x){after}"));
                    self.add("Call", &change, argument.span(), (&before, &after));
                }
                _ => self.add("Call", &change, argument.span(), (before, after)),
            }
        }
        if name == "rev" {
            let place = self.chains.get(&node.span().byte_range().start).copied();
            let place = place.unwrap_or(node.span());
            if let Some(chain) = text(&place) {
                let change = format!("undo .rev() after {}", excerpt(node.receiver.span()));
                self.exchange("Call", &change, place, &chain.replacen(". rev ()", "", 1));
            }
        }
        self.arguments(&format!("{receiver}.{name}{generics}"), &arguments, node.span());
    }

    pub(super) fn call(&mut self, node: &syn::ExprCall) {
        let arguments: Option<Vec<String>> = node.args.iter().map(text).collect();
        let (Some(function), Some(arguments)) = (text(&node.func), arguments) else { return };
        if function == "Some" {
            self.exchange(
                "Call",
                &format!("replace {} with None", excerpt(node.span())),
                node.span(),
                "None",
            );
        }
        self.arguments(&function, &arguments, node.span());
    }

    fn arguments(&mut self, function: &str, arguments: &[String], place: proc_macro2::Span) {
        for at in 1..arguments.len() {
            let change = format!("swap arguments {at} and {} of {}", at + 1, excerpt(place));
            let new = format!("{function}({})", swapped(arguments, at - 1));
            self.exchange("Arguments", &change, place, &new);
        }
    }

    pub(super) fn question(&mut self, node: &syn::ExprTry) {
        if let Some(inner) = text(&node.expr) {
            let change = format!("replace {} with a default", excerpt(node.span()));
            let new = format!("({inner}).unwrap_or_default()");
            self.exchange("Try", &change, node.span(), &new);
        }
    }

    pub(super) fn range(&mut self, node: &syn::ExprRange) {
        let is_open = matches!(node.limits, syn::RangeLimits::HalfOpen(_));
        for (bound, change) in
            [(&node.start, "+ 1"), (&node.end, if is_open { "+ 1" } else { "- 1" })]
        {
            let Some(bound) = bound.as_deref().filter(|b| !matches!(b, syn::Expr::Lit(_))) else {
                continue;
            };
            if let Some(new) = text(bound) {
                let name = format!("replace bound {} with {change}", excerpt(bound.span()));
                self.exchange("Range", &name, bound.span(), &format!("({new}) {change}"));
            }
        }
    }

    /// A body is that of the next arm, that of the last one that of the arm before.
    pub(super) fn arms(&mut self, node: &syn::ExprMatch) {
        let bodies: Vec<Option<String>> = node.arms.iter().map(|arm| text(&arm.body)).collect();
        for (at, arm) in node.arms.iter().enumerate() {
            let other = if at + 1 < bodies.len() { at + 1 } else { at.wrapping_sub(1) };
            let Some(Some(new)) = bodies.get(other).filter(|new| **new != bodies[at]) else {
                continue;
            };
            let change = format!(
                "replace body of {} with {}",
                excerpt(arm.pat.span()),
                excerpt(node.arms[other].body.span())
            );
            // A block needs no comma after it.
            let is_block = matches!(*arm.body, syn::Expr::Block(_));
            let (open, close) = if is_block { ("{ ", " }") } else { ("(", ")") };
            let after = format!(" }} else {{ {new} }}{close}");
            self.add("Arm", &change, arm.body.span(), (&format!("{open}if !MUTANT {{ "), &after));
        }
    }

    pub(super) fn condition(&mut self, node: &syn::ExprIf) {
        if !crate::instrument::has_let(&node.cond) {
            let change = format!("negate {}", excerpt(node.cond.span()));
            self.add("Condition", &change, node.cond.span(), ("(MUTANT != (", "))"));
        }
        if let (None, Some(syn::Stmt::Expr(last, _))) =
            (&node.else_branch, node.then_branch.stmts.last())
            && matches!(last, syn::Expr::Return(_) | syn::Expr::Continue(_) | syn::Expr::Break(_))
        {
            let change = format!("delete {}", excerpt(last.span()));
            self.add("Return", &change, last.span(), ("if !MUTANT { ", " }"));
        }
    }

    pub(super) fn field(&mut self, node: &syn::FieldValue) {
        let empty = ["None", "new ()", "vec ! []", "default"];
        let is_default =
            text(&node.expr).is_none_or(|text| empty.iter().any(|end| text.contains(end)));
        if !is_default && !matches!(node.expr, syn::Expr::Lit(_)) {
            let name = text(&node.member).unwrap_or_default();
            let label =
                if node.colon_token.is_none() { format!("{name}: ") } else { String::new() };
            let before = format!("{label}(if !MUTANT {{ ");
            let change = format!("replace field {name} with a default");
            self.add(
                "Field",
                &change,
                node.expr.span(),
                (&before, " } else { Default::default() })"),
            );
        }
    }

    /// `"{a}: {b}"` is `"{b}: {a}"`, and of `"{}: {}", a, b` the arguments are swapped.
    pub(super) fn template(&mut self, node: &syn::ExprMacro) {
        let Some(whole) = text(node) else { return };
        let arguments = super::macro_arguments(&node.mac);
        let texts: Option<Vec<String>> = arguments.iter().map(text).collect();
        for at in 2..texts.as_deref().map_or(0, <[String]>::len) {
            let change = format!("swap arguments {} and {at} of {}", at - 1, excerpt(node.span()));
            let new = format!("format!({})", swapped(texts.as_deref().unwrap_or_default(), at - 1));
            self.exchange("Template", &change, node.span(), &new);
        }
        let Some(template) = arguments.first().and_then(text) else { return };
        let offset = whole.find(&template).unwrap_or_default();
        for pair in holes(&template).windows(2) {
            let [one, two] =
                [&pair[0], &pair[1]].map(|hole| hole.start + offset..hole.end + offset);
            let [first, second] = [&whole[one.clone()], &whole[two.clone()]].map(str::to_owned);
            if first == second || first.is_empty() || second.is_empty() {
                continue;
            }
            let mut new = whole.clone();
            new.replace_range(two, &first);
            new.replace_range(one, &second);
            let change = format!("swap {{{first}}} and {{{second}}} of {}", excerpt(node.span()));
            self.exchange("Template", &change, node.span(), &new);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kinds::tests::branches;

    /// A statement of each kind of exchange, with what is there instead.
    #[test]
    fn an_exchange_is_a_branch() {
        for (kind, text, expected) in [
            ("Method", "a.first()", "(if !MUTANT { a.first() } else { a . last () })"),
            ("Call", "a.or(b)", "(if !MUTANT { a.or(b) } else { a })"),
            ("Call", "a.cmp(b)", "(if !MUTANT { a.cmp(b) } else { (a).cmp(b).reverse() })"),
            ("Call", "a.filter(|b| c)", "a.filter(|b| (MUTANT || (c)))"),
            ("Call", "a.filter(b)", "a.filter(|__x| (MUTANT || ((b)(__x))))"),
            ("Call", "a.chain(b)", "a.chain(IntoIterator::into_iter(b).filter(|_| !MUTANT))"),
            ("Call", "a.rev().map(b)", "(if !MUTANT { a.rev().map(b) } else { a . map (b) })"),
            ("Call", "Some(a)", "(if !MUTANT { Some(a) } else { None })"),
            ("Arguments", "a(b, c)", "(if !MUTANT { a(b, c) } else { a(c, b) })"),
            ("Try", "a?", "(if !MUTANT { a? } else { (a).unwrap_or_default() })"),
            ("Range", "a[..b]", "a[..(if !MUTANT { b } else { (b) + 1 })]"),
            ("Range", "a[..=b]", "a[..=(if !MUTANT { b } else { (b) - 1 })]"),
            ("Condition", "if a { b }", "if (MUTANT != (a)) { b }"),
            ("Return", "if let A = b { return c; }", "if let A = b { if !MUTANT { return c }; }"),
            (
                "Loop",
                "if let A = b { continue; }",
                "if let A = b { (if !MUTANT { continue } else { break }); }",
            ),
            ("Field", "A { b: c() }", "A { b: (if !MUTANT { c() } else { Default::default() }) }"),
            ("Field", "A { b }", "A { b: (if !MUTANT { b } else { Default::default() }) }"),
            (
                "Template",
                "x(format!(\"{a} {b}\"))",
                "x((if !MUTANT { format!(\"{a} {b}\") } else { format ! (\"{b} {a}\") }))",
            ),
            (
                "Template",
                "x(format!(\"{} {}\", a, b))",
                "x((if !MUTANT { format!(\"{} {}\", a, b) } else { format!(\"{} {}\", b, a) }))",
            ),
        ] {
            let source = |text: &str| format!("fn f() {{ {text}; }}");
            let found = branches(&source(text), |kind| {
                !["Operand", "Statement", "Literal", "Row"].contains(&kind)
            });
            let plain = |text: String| text.replace(' ', "");
            let mut found = found.into_iter().filter_map(|(_, branch)| branch).map(plain);
            assert!(found.any(|text| text == plain(source(expected))), "{kind}: {text}");
        }
    }

    #[test]
    fn a_body_is_that_of_another_arm() {
        let text = "fn f() { match a { 1 => b, _ => { c } } }";
        let found = branches(text, |kind| kind == "Arm");
        let expected = [
            "fn f() { match a { 1 => (if !MUTANT { b } else { { c } }), _ => { c } } }",
            "fn f() { match a { 1 => b, _ => { if !MUTANT { { c } } else { b } } } }",
        ];
        let found: Vec<String> = found.into_iter().filter_map(|(_, branch)| branch).collect();
        assert_eq!(found, expected);
    }
}
