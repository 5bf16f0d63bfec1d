//! Mutants of kinds that cargo-mutants does not have: an operand of `&&` or `||` dropped, a statement
//! deleted, a literal changed, a row of a constant table deleted.
//!
//! A constant cannot call the switch: its mutants are branches where the same file uses it, with a
//! second constant.

mod exchanges;

use crate::list::{Branch, Function, Mutant, Position, Span};
use std::collections::BTreeMap;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Returns the mutants of a source in the order of their places.
///
/// # Errors
/// The source cannot be parsed.
pub fn mutants(file: &str, text: &str) -> Result<Vec<Mutant>, String> {
    let syntax = syn::parse_file(text).map_err(|error| format!("{file}: {error}"))?;
    let mut finder = Finder { file, ..Finder::default() };
    if !is_test(&syntax.attrs) {
        finder.visit_file(&syntax);
    }
    for (id, name) in std::mem::take(&mut finder.of_constants) {
        let is_unique = finder.constants.get(&name) == Some(&1);
        let uses = finder.uses.get(&name).filter(|_| is_unique);
        let mutant = &mut finder.found[id];
        mutant.places = uses.cloned().unwrap_or_default();
        if mutant.places.is_empty() {
            mutant.branch = None;
        }
    }
    finder.found.sort_by_key(|mutant| mutant.span.start);
    Ok(finder.found)
}

/// Returns true for `#[test]` and `#[cfg(test)]`.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        syn::Meta::NameValue(_) => false,
    })
}

/// A constant around a place.
#[derive(Clone)]
struct Constant {
    name: String,
    kind: String,
    value: proc_macro2::Span,
}

/// Length of the second constants of one constant, so that the program can be compiled.
const LONGEST: usize = 200_000;

#[derive(Default)]
struct Finder<'f> {
    file: &'f str,
    /// Names of the functions around the place, the innermost last.
    functions: Vec<String>,
    /// A constant expression cannot call the switch.
    is_const: bool,
    constant: Option<Constant>,
    /// Length of the second constants of the constant around the place.
    length: usize,
    /// Number of constants by name.
    constants: BTreeMap<String, usize>,
    /// Places that use a constant, or a variable, by name.
    uses: BTreeMap<String, Vec<Span>>,
    /// Mutants of constants, with the name of the constant.
    of_constants: Vec<(usize, String)>,
    /// The longest chain of method calls by its start.
    chains: BTreeMap<usize, proc_macro2::Span>,
    found: Vec<Mutant>,
}

fn span(place: proc_macro2::Span) -> Span {
    let at = |at: proc_macro2::LineColumn| Position { line: at.line, column: at.column + 1 };
    Span { start: at(place.start()), end: at(place.end()) }
}

/// Returns Rust in one line without comments; none if a literal has several lines.
fn one_line(text: &str) -> Option<String> {
    let line = text.parse::<proc_macro2::TokenStream>().ok()?.to_string();
    (!line.contains('\n')).then_some(line)
}

impl Finder<'_> {
    fn add(&mut self, genre: &str, change: &str, place: proc_macro2::Span, branch: (&str, &str)) {
        let span = span(place);
        let Position { line, column } = span.start;
        let function = self.functions.last();
        let within = function.map(|name| format!(" in {name}")).unwrap_or_default();
        let (before, after) = branch;
        self.found.push(Mutant {
            name: format!("{}:{line}:{column}: {change}{within}", self.file),
            file: self.file.to_owned(),
            genre: genre.to_owned(),
            places: vec![span.clone()],
            span,
            replacement: String::new(),
            function: function.map(|_| Function { return_type: String::new() }),
            branch: (!self.is_const)
                .then(|| Branch { before: before.to_owned(), after: after.to_owned() }),
            is_own: true,
        });
    }

    /// A dropped operand is the neutral value, which also works next to `let`.
    fn operand(&mut self, operand: &syn::Expr, operator: &syn::BinOp) {
        let (word, before) = match operator {
            syn::BinOp::And(_) => ("&&", "(MUTANT || ("),
            _ => ("||", "(!MUTANT && ("),
        };
        // The same operator again has operands of its own, and `let` declares variables.
        let is_same = |of: &syn::ExprBinary| {
            std::mem::discriminant(&of.op) == std::mem::discriminant(operator)
        };
        match operand {
            syn::Expr::Binary(inner) if is_same(inner) => {}
            syn::Expr::Let(_) => {}
            _ => {
                let change = format!("drop operand {} of {word}", excerpt(operand.span()));
                self.add("Operand", &change, operand.span(), (before, "))"));
            }
        }
    }

    fn statement(&mut self, span: proc_macro2::Span) {
        let change = format!("delete statement {}", excerpt(span));
        self.add("Statement", &change, span, ("if !MUTANT { ", " }"));
    }

    /// The last expression of a block whose value is `()`.
    fn tail(&mut self, block: &syn::Block) {
        if let Some(syn::Stmt::Expr(expression, None)) = block.stmts.last()
            && is_effect(expression)
        {
            self.statement(expression.span());
        }
    }

    /// Adds a mutant of the constant around it, whose value has `new` instead of the bytes.
    fn in_constant(
        &mut self,
        genre: &str,
        change: &str,
        place: proc_macro2::Span,
        bytes: std::ops::Range<usize>,
        new: &str,
    ) {
        self.add(genre, change, place, ("", ""));
        let Some(Constant { name, kind, value }) = self.constant.clone() else { return };
        let start = value.byte_range().start;
        let mut text = value.source_text().unwrap_or_default();
        text.replace_range(bytes.start - start..bytes.end - start, new);
        let Some(text) = one_line(&text) else { return };
        self.length += text.len();
        if self.length > LONGEST {
            return;
        }
        let id = self.found.len() - 1;
        self.found[id].branch = Some(Branch {
            before: format!("(*if MUTANT {{ const __M: {kind} = {text}; &__M }} else {{ &"),
            after: " })".to_owned(),
        });
        self.of_constants.push((id, name));
    }

    fn literal(&mut self, place: proc_macro2::Span, old: &str, new: &str, written: &str) {
        let change = format!("replace {old} with {new}");
        if self.is_const {
            self.in_constant("Literal", &change, place, place.byte_range(), written);
            return;
        }
        let before = format!("(if MUTANT {{ {written} }} else {{ ");
        self.add("Literal", &change, place, (&before, " })"));
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let constant = self.constant.take();
        let is_const = std::mem::replace(&mut self.is_const, signature.constness.is_some());
        self.functions.push(signature.ident.to_string());
        if matches!(signature.output, syn::ReturnType::Default) {
            self.tail(block);
        }
        self.visit_block(block);
        self.functions.pop();
        self.is_const = is_const;
        self.constant = constant;
    }

    fn item(&mut self, name: &syn::Ident, kind: &syn::Type, value: &syn::Expr) {
        *self.constants.entry(name.to_string()).or_default() += 1;
        let kind = one_line(&kind.span().source_text().unwrap_or_default());
        let constant =
            kind.map(|kind| Constant { name: name.to_string(), kind, value: value.span() });
        let around = std::mem::replace(&mut self.constant, constant);
        self.length = 0;
        self.constant(Some(name), value);
        self.constant = around;
    }

    fn constant(&mut self, name: Option<&syn::Ident>, value: &syn::Expr) {
        let is_const = std::mem::replace(&mut self.is_const, true);
        self.functions.extend(name.map(ToString::to_string));
        self.visit_expr(value);
        if name.is_some() {
            self.functions.pop();
        }
        self.is_const = is_const;
    }
}

/// Returns the text of a place in one short line.
fn excerpt(place: proc_macro2::Span) -> String {
    let text = place.source_text().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns true for calls, and assignments that do not initialize a variable.
fn is_effect(expression: &syn::Expr) -> bool {
    use syn::BinOp::*;
    match expression {
        syn::Expr::Call(_) | syn::Expr::MethodCall(_) => true,
        syn::Expr::Try(inner) => is_effect(&inner.expr),
        syn::Expr::Assign(assign) => !matches!(&*assign.left, syn::Expr::Path(_)),
        syn::Expr::Binary(binary) => matches!(
            binary.op,
            AddAssign(_)
                | SubAssign(_)
                | MulAssign(_)
                | DivAssign(_)
                | RemAssign(_)
                | BitXorAssign(_)
                | BitAndAssign(_)
                | BitOrAssign(_)
                | ShlAssign(_)
                | ShrAssign(_)
        ),
        _ => false,
    }
}

fn is_written(node: &syn::Macro) -> bool {
    ["write", "writeln"].iter().any(|name| node.path.is_ident(name))
}

/// Returns the arguments of a macro that has expressions; those of `matches!` before the pattern.
fn macro_arguments(node: &syn::Macro) -> Vec<syn::Expr> {
    let is_matches = node.path.is_ident("matches");
    let parse = |input: syn::parse::ParseStream<'_>| {
        let mut arguments = Vec::new();
        while !input.is_empty() {
            arguments.push(input.parse()?);
            if is_matches {
                input.parse::<proc_macro2::TokenStream>()?;
            } else if !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
            }
        }
        Ok(arguments)
    };
    let names = ["format", "matches", "vec", "write", "writeln"];
    let is_known = names.iter().any(|name| node.path.is_ident(name));
    let arguments = is_known.then(|| node.parse_body_with(parse).ok()).flatten();
    arguments.unwrap_or_default()
}

impl<'a> Visit<'a> for Finder<'_> {
    // Places without expressions that run.
    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
    fn visit_pat(&mut self, _: &'a syn::Pat) {}
    fn visit_type(&mut self, _: &'a syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'a syn::GenericArgument) {}
    fn visit_variant(&mut self, _: &'a syn::Variant) {}

    fn visit_item_mod(&mut self, node: &'a syn::ItemMod) {
        if !is_test(&node.attrs) {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_fn(&mut self, node: &'a syn::ItemFn) {
        if !is_test(&node.attrs) {
            self.function(&node.sig, &node.block);
        }
    }

    fn visit_impl_item_fn(&mut self, node: &'a syn::ImplItemFn) {
        if !is_test(&node.attrs) {
            self.function(&node.sig, &node.block);
        }
    }

    fn visit_trait_item_fn(&mut self, node: &'a syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.function(&node.sig, block);
        }
    }

    fn visit_item_const(&mut self, node: &'a syn::ItemConst) {
        if !is_test(&node.attrs) {
            self.item(&node.ident, &node.ty, &node.expr);
        }
    }

    fn visit_impl_item_const(&mut self, node: &'a syn::ImplItemConst) {
        self.constant(Some(&node.ident), &node.expr);
    }

    fn visit_item_static(&mut self, node: &'a syn::ItemStatic) {
        if !is_test(&node.attrs) {
            self.item(&node.ident, &node.ty, &node.expr);
        }
    }

    fn visit_expr_path(&mut self, node: &'a syn::ExprPath) {
        if let (false, Some(name)) = (self.is_const, node.path.get_ident()) {
            self.uses.entry(name.to_string()).or_default().push(span(node.span()));
        }
    }

    /// A slice has one row less. An array has a number of them in its type.
    fn visit_expr_array(&mut self, node: &'a syn::ExprArray) {
        if self.constant.as_ref().is_some_and(|constant| !constant.kind.contains(';')) {
            for (at, row) in node.elems.iter().enumerate() {
                let end = match node.elems.get(at + 1) {
                    Some(next) => next.span().byte_range().start,
                    None => node.bracket_token.span.close().byte_range().start,
                };
                let change = format!("delete row {}", excerpt(row.span()));
                let bytes = row.span().byte_range().start..end;
                self.in_constant("Row", &change, row.span(), bytes, "");
            }
        }
        visit::visit_expr_array(self, node);
    }

    fn visit_expr_const(&mut self, node: &'a syn::ExprConst) {
        let is_const = std::mem::replace(&mut self.is_const, true);
        visit::visit_expr_const(self, node);
        self.is_const = is_const;
    }

    fn visit_expr_repeat(&mut self, node: &'a syn::ExprRepeat) {
        self.visit_expr(&node.expr);
        self.constant(None, &node.len);
    }

    /// A closure runs later, such as that of `LazyLock::new` in a static.
    fn visit_expr_closure(&mut self, node: &'a syn::ExprClosure) {
        let is_const = std::mem::replace(&mut self.is_const, false);
        let constant = self.constant.take();
        visit::visit_expr_closure(self, node);
        self.constant = constant;
        self.is_const = is_const;
    }

    fn visit_expr_binary(&mut self, node: &'a syn::ExprBinary) {
        if matches!(node.op, syn::BinOp::And(_) | syn::BinOp::Or(_)) {
            self.operand(&node.left, &node.op);
            self.operand(&node.right, &node.op);
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_stmt(&mut self, node: &'a syn::Stmt) {
        match node {
            syn::Stmt::Expr(expression, Some(_)) if is_effect(expression) => {
                self.statement(node.span());
            }
            syn::Stmt::Macro(it) if it.semi_token.is_some() && is_written(&it.mac) => {
                self.statement(node.span());
            }
            _ => {}
        }
        visit::visit_stmt(self, node);
    }

    fn visit_expr_if(&mut self, node: &'a syn::ExprIf) {
        self.condition(node);
        if node.else_branch.is_none() {
            self.tail(&node.then_branch);
        }
        visit::visit_expr_if(self, node);
    }

    fn visit_expr_for_loop(&mut self, node: &'a syn::ExprForLoop) {
        self.tail(&node.body);
        visit::visit_expr_for_loop(self, node);
    }

    fn visit_expr_while(&mut self, node: &'a syn::ExprWhile) {
        self.tail(&node.body);
        visit::visit_expr_while(self, node);
    }

    fn visit_expr_call(&mut self, node: &'a syn::ExprCall) {
        self.call(node);
        visit::visit_expr_call(self, node);
    }

    fn visit_expr_try(&mut self, node: &'a syn::ExprTry) {
        self.question(node);
        visit::visit_expr_try(self, node);
    }

    fn visit_expr_range(&mut self, node: &'a syn::ExprRange) {
        self.range(node);
        visit::visit_expr_range(self, node);
    }

    fn visit_expr_match(&mut self, node: &'a syn::ExprMatch) {
        self.arms(node);
        visit::visit_expr_match(self, node);
    }

    fn visit_field_value(&mut self, node: &'a syn::FieldValue) {
        self.field(node);
        visit::visit_field_value(self, node);
    }

    fn visit_expr_continue(&mut self, node: &'a syn::ExprContinue) {
        self.exchange("Loop", "replace continue with break", node.span(), "break");
    }

    fn visit_expr_break(&mut self, node: &'a syn::ExprBreak) {
        if node.label.is_none() && node.expr.is_none() {
            self.exchange("Loop", "replace break with continue", node.span(), "continue");
        }
        visit::visit_expr_break(self, node);
    }

    fn visit_expr_method_call(&mut self, node: &'a syn::ExprMethodCall) {
        let span = node.span();
        self.chains.entry(span.byte_range().start).or_insert(span);
        self.method_call(node);
        // The text of `expect` is for what never happens.
        if node.method == "expect" {
            self.visit_expr(&node.receiver);
        } else {
            visit::visit_expr_method_call(self, node);
        }
    }

    fn visit_expr_lit(&mut self, node: &'a syn::ExprLit) {
        let place = node.span();
        match &node.lit {
            syn::Lit::Bool(lit) => {
                let new = (!lit.value).to_string();
                self.literal(place, &lit.value.to_string(), &new, &new);
            }
            syn::Lit::Int(lit) => {
                if let Ok(number) = lit.base10_parse::<u64>() {
                    let new = format!("{}{}", number.wrapping_add(1), lit.suffix());
                    self.literal(place, &lit.to_string(), &new, &new);
                }
            }
            syn::Lit::Str(lit) => {
                let new = if lit.value() == "mutated" { "\"\"" } else { "\"mutated\"" };
                self.literal(place, &excerpt(place), new, new);
            }
            _ => {}
        }
    }

    fn visit_expr_macro(&mut self, node: &'a syn::ExprMacro) {
        // The template must stay a literal.
        if node.mac.path.is_ident("format") {
            let new = "String::from(\"mutated\")";
            self.literal(node.span(), &excerpt(node.span()), "\"mutated\"", new);
            self.template(node);
        }
        visit::visit_expr_macro(self, node);
    }

    fn visit_macro(&mut self, node: &'a syn::Macro) {
        let name = node.path.get_ident().map(ToString::to_string).unwrap_or_default();
        // Arguments before the values: a template, with the writer before it.
        let skipped = match name.as_str() {
            "format" => 1,
            "write" | "writeln" => 2,
            _ => 0,
        };
        for argument in macro_arguments(node).iter().skip(skipped) {
            // `name = value` is an argument, no assignment.
            match argument {
                syn::Expr::Assign(assign) if skipped > 0 => Visit::visit_expr(self, &assign.right),
                _ => Visit::visit_expr(self, argument),
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Kinds that are no exchanges.
    const KINDS: [&str; 4] = ["Operand", "Statement", "Literal", "Row"];

    fn found(text: &str) -> Vec<(String, Option<String>)> {
        branches(text, |kind| KINDS.contains(&kind))
    }

    /// Returns each mutant of a source without its place: the change, and the source with its branch.
    pub fn branches(text: &str, is_kind: fn(&str) -> bool) -> Vec<(String, Option<String>)> {
        let mut found = mutants("src/model/a.rs", text).expect("a source");
        found.retain(|mutant| is_kind(&mutant.genre));
        let change = |name: &str| name.splitn(4, ':').nth(3).expect("a change").trim().to_owned();
        let mutant = |mutant: Mutant| {
            assert_eq!((mutant.span.start.line, mutant.span.end.line), (1, 1));
            let (start, end) = (mutant.span.start.column - 1, mutant.span.end.column - 1);
            let branch = mutant.branch.map(|Branch { before, after }| {
                format!("{}{before}{}{after}{}", &text[..start], &text[start..end], &text[end..])
            });
            (change(&mutant.name), branch)
        };
        found.into_iter().map(mutant).collect()
    }

    #[test]
    fn operands_statements_and_literals_are_changed() {
        for (text, expected) in [
            (
                "fn f() -> bool { a && let Some(b) = c && d }",
                &[
                    (
                        "drop operand a of && in f",
                        "fn f() -> bool { (MUTANT || (a)) && let Some(b) = c && d }",
                    ),
                    (
                        "drop operand d of && in f",
                        "fn f() -> bool { a && let Some(b) = c && (MUTANT || (d)) }",
                    ),
                ] as &[_],
            ),
            (
                "fn f() -> bool { a || b }",
                &[
                    ("drop operand a of || in f", "fn f() -> bool { (!MUTANT && (a)) || b }"),
                    ("drop operand b of || in f", "fn f() -> bool { a || (!MUTANT && (b)) }"),
                ],
            ),
            (
                "fn f() -> A { a(); b.c = d; e = f; g }",
                &[
                    (
                        "delete statement a(); in f",
                        "fn f() -> A { if !MUTANT { a(); } b.c = d; e = f; g }",
                    ),
                    (
                        "delete statement b.c = d; in f",
                        "fn f() -> A { a(); if !MUTANT { b.c = d; } e = f; g }",
                    ),
                ],
            ),
            (
                "fn f() -> A { if a { b()? } g }",
                &[("delete statement b()? in f", "fn f() -> A { if a { if !MUTANT { b()? } } g }")],
            ),
            (
                "fn f() -> A { a(7u8, true) }",
                &[
                    (
                        "replace 7u8 with 8u8 in f",
                        "fn f() -> A { a((if MUTANT { 8u8 } else { 7u8 }), true) }",
                    ),
                    (
                        "replace true with false in f",
                        "fn f() -> A { a(7u8, (if MUTANT { false } else { true })) }",
                    ),
                ],
            ),
            (
                "fn f() -> A { vec![\"a\"] }",
                &[(
                    "replace \"a\" with \"mutated\" in f",
                    "fn f() -> A { vec![(if MUTANT { \"mutated\" } else { \"a\" })] }",
                )],
            ),
            (
                "static A: L = L::new(|| a(7));",
                &[(
                    "replace 7 with 8 in A",
                    "static A: L = L::new(|| a((if MUTANT { 8 } else { 7 })));",
                )],
            ),
        ] {
            let expected = expected.iter().map(|(a, b)| ((*a).to_owned(), Some((*b).to_owned())));
            assert_eq!(found(text), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn constants_have_mutants_without_a_branch() {
        for text in ["const A: u8 = 7;", "const fn A() -> u8 { 7 }", "fn A() { [b; 7]; }"] {
            assert_eq!(found(text), [("replace 7 with 8 in A".to_owned(), None)]);
        }
    }

    #[test]
    fn tests_patterns_and_attributes_have_no_mutants() {
        let text = "#[cfg(test)] mod tests { const A: u8 = 7; } #[test] fn f() { a(); } \
                    #[a = 7] fn g() -> A { match b { 7 => c, _ => d.expect(\"d\") } }";
        assert_eq!(found(text), []);
    }

    #[test]
    fn constants_are_changed_where_they_are_used() {
        let text = "const A: &[u8] = &[7, /* b */ 9]; fn f() { a(A) }";
        let mutants = mutants("src/model/a.rs", text).expect("a source");
        let mutants: Vec<Mutant> = mutants
            .into_iter()
            .filter(|m| m.genre != "Statement" && KINDS.contains(&m.genre.as_str()))
            .collect();
        let written: Vec<String> = (0..mutants.len())
            .map(|id| crate::instrument::file(text, &[id], &mutants).expect("a source").text)
            .collect();
        let expected =
            ["[9]", "[8 , 9]", "[7 ,]", "[7 , 10]"].into_iter().enumerate().map(|(id, table)| {
                format!(
                    "const A: &[u8] = &[7, /* b */ 9]; fn f() {{ a((*if crate::__mutant({id}) \
                     {{ const __M: & [u8] = & {table}; &__M }} else {{ &A }})) }}"
                )
            });
        let plain = |text: &String| text.replace(' ', "");
        let expected: Vec<String> = expected.map(|text| plain(&text)).collect();
        assert_eq!(written.iter().map(plain).collect::<Vec<_>>(), expected);
    }

    /// Each mutant of a small program compiles, and changes what the program returns.
    #[test]
    fn mutants_compile_and_change_the_result() {
        let text = r#"
const RESERVED: &[u16] = &[9];
static NAMES: [&str; 2] = ["zero", "one"];

struct Pod { ports: Vec<u16>, host: bool, name: String }

fn check(ports: &[u16]) -> Result<(), String> {
    if ports.iter().any(|port| RESERVED.contains(port)) || ports.len() > 2 { Err(format!("{ports:?}")) } else { Ok(()) }
}

fn pod(host: Option<bool>, port: u16) -> Result<Pod, String> {
    let mut pod = Pod { ports: vec![1], host: false, name: String::new() };
    if let Some(host) = host && port > 0 && host {
        pod.host = true;
    }
    pod.ports.push(port);
    if port == 1 {
        pod.name.push_str(NAMES[1]);
    }
    if port == 0 {
        pod.name.push_str(NAMES[0])
    }
    check(&pod.ports)?;
    Ok(pod)
}

fn result() -> String {
    let mut text = String::new();
    for port in [0, 1, 9] {
        for host in [None, Some(false), Some(true)] {
            match pod(host, port) {
                Ok(Pod { ports, host, name }) => text.push_str(&format!("{ports:?} {host} {name}")),
                Err(error) => text.push_str(&error),
            }
        }
    }
    for ports in [&[] as &[u16], &[9], &[1, 2, 3]] {
        text.push_str(&format!("{:?}", check(ports)));
    }
    text
}
"#;
        let mut mutants = mutants("src/model/a.rs", text).expect("a source");
        mutants.retain(|mutant| KINDS.contains(&mutant.genre.as_str()));
        let ids: Vec<usize> = (0..mutants.len()).collect();
        let done = crate::instrument::file(text, &ids, &mutants).expect("a source");
        assert!(done.unviable.is_empty());
        let main = "fn __mutant(id: usize) -> bool {
            std::env::var(\"MUTANT\").is_ok_and(|wanted| wanted == id.to_string())
        }
        fn main() { println!(\"{}\", result()) }";
        let folder = std::env::temp_dir().join(format!("mutants-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (source, program) = (folder.join("a.rs"), folder.join("a"));
        std::fs::write(&source, done.text + main).expect("a file");
        let compiled = std::process::Command::new("rustc")
            .args(["--edition=2024", "--cap-lints=allow", "-o"])
            .args([&program, &source])
            .output()
            .expect("rustc");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));

        let run = |id: &str| {
            std::process::Command::new(&program).env("MUTANT", id).output().expect("a run").stdout
        };
        let usual = run("");
        let missed = mutants.iter().zip(&ids).filter(|(_, id)| run(&id.to_string()) == usual);
        let missed: Vec<&str> = missed.map(|(mutant, _)| mutant.name.as_str()).collect();
        assert_eq!(missed, [""; 0]);
        for genre in KINDS {
            assert!(mutants.iter().any(|mutant| mutant.genre == genre));
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
