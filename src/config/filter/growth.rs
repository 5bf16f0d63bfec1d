//! How much a filter may put out, from its text alone.
//!
//! Sizes are bounded by straight lines over the size of the input: `slope * size + base`. Such
//! bounds compose: of `f | g`, from those of `f` and `g`. What grows faster than a line, such as
//! a list of all pairs, has an infinite bound; that is fine for outputs that are looked at one by
//! one and then forgotten, and refused for values that are built (lists, objects, strings).

use super::lint::allowed;
use super::patch;
use super::rules::{Rule, TEXT};
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::Part;

/// What a list entry or a scalar takes.
const ENTRY: f64 = 8.0;
/// How deep objects are taken to be: `..` puts a value out once for each level above it.
const DEPTH: f64 = 32.0;

/// At most `slope * size + base`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bound {
    slope: f64,
    base: f64,
}

const ZERO: Bound = Bound { slope: 0.0, base: 0.0 };
const ONE: Bound = Bound { slope: 0.0, base: 1.0 };
const SIZE: Bound = Bound { slope: 1.0, base: 0.0 };

impl Bound {
    fn times(self, factor: f64) -> Bound {
        // Zero times an unlimited number is zero, not NaN.
        let product = |value: f64| if value == 0.0 || factor == 0.0 { 0.0 } else { value * factor };
        Bound { slope: product(self.slope), base: product(self.base) }
    }

    fn plus(self, other: Bound) -> Bound {
        Bound { slope: self.slope + other.slope, base: self.base + other.base }
    }

    fn max(self, other: Bound) -> Bound {
        Bound { slope: self.slope.max(other.slope), base: self.base.max(other.base) }
    }

    /// The product; no line bounds that of two lines that both rise.
    fn by(self, other: Bound) -> Bound {
        if other.slope == 0.0 {
            self.times(other.base)
        } else if self.slope == 0.0 {
            other.times(self.base)
        } else {
            Bound { slope: f64::INFINITY, base: f64::INFINITY }
        }
    }

    /// This bound for an input whose own size is bounded by `input`.
    fn over(self, input: Bound) -> Bound {
        input.times(self.slope).plus(Bound { slope: 0.0, base: self.base })
    }
}

/// Bounds of what a filter puts out for one input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Size of all outputs together.
    total: Bound,
    /// Number of outputs.
    count: Bound,
    /// Size of the largest output.
    single: Bound,
    /// Size of the largest value built on the way.
    built: Bound,
}

/// What is refused wherever it stands.
pub(super) enum Refusal<'s> {
    /// The keyword `name`; `word` is the nearest word of the text.
    Word { word: &'s str, name: &'static str },
    /// A call that is not allowed.
    Call { name: &'s str, arguments: usize },
    /// Something that a patch may not assign to; `word` is a word of it.
    Path { word: &'s str },
    /// A product of anything but objects; `word` is a word of it.
    Product { word: &'s str },
}

type Checked<'s> = Result<Growth, Refusal<'s>>;

impl Growth {
    const IDENTITY: Growth = Growth { total: SIZE, count: ONE, single: SIZE, built: ZERO };
    const ITERATE: Growth = Growth { total: SIZE, count: SIZE, single: SIZE, built: ZERO };
    const RECURSE: Growth =
        Growth { total: Bound { slope: DEPTH, base: 0.0 }, count: SIZE, single: SIZE, built: ZERO };
    const NOTHING: Growth = Growth { total: ZERO, count: ZERO, single: ZERO, built: ZERO };
    /// A variable: as large as whatever it was bound to.
    const VARIABLE: Growth = Growth {
        total: Bound { slope: 0.0, base: f64::INFINITY },
        count: ONE,
        single: Bound { slope: 0.0, base: f64::INFINITY },
        built: ZERO,
    };

    /// The slope and base of the largest value that the filter builds.
    pub(super) fn built(&self) -> (f64, f64) {
        (self.built.slope, self.built.base)
    }

    fn constant(size: usize) -> Growth {
        // Far below 2^52, so exact.
        let size = Bound { slope: 0.0, base: ENTRY + size as f64 };
        Growth { total: size, count: ONE, single: size, built: ZERO }
    }

    /// One scalar for each of `count`.
    fn scalars(count: Bound, built: Bound) -> Growth {
        Growth { built, ..Self::constant(0) }.repeated(count)
    }

    /// The same outputs, `count` times over.
    fn repeated(self, count: Bound) -> Growth {
        Growth { total: self.total.by(count), count: self.count.by(count), ..self }
    }

    /// A value of size `single`, made anew `count` times.
    fn made(single: Bound, count: Bound, before: Bound) -> Growth {
        Growth { total: single.by(count), count, single, built: before.max(single) }
    }

    fn then(self, next: Growth) -> Growth {
        Growth {
            total: self.total.times(next.total.slope).plus(self.count.times(next.total.base)),
            count: self.total.times(next.count.slope).plus(self.count.times(next.count.base)),
            single: next.single.over(self.single),
            built: self.built.max(next.built.over(self.single)),
        }
    }

    /// All outputs in one list.
    fn collected(self) -> Growth {
        Self::made(self.total.plus(self.count.times(ENTRY)).plus(ONE), ONE, self.built)
    }

    /// Either of both.
    fn or(self, other: Growth) -> Growth {
        Growth {
            total: self.total.plus(other.total),
            count: self.count.plus(other.count),
            single: self.single.max(other.single),
            built: self.built.max(other.built),
        }
    }

    fn after(self, before: Growth) -> Growth {
        Growth { built: self.built.max(before.built), ..self }
    }

    /// The bounds of `term`, or the first thing in it that is refused.
    pub(super) fn of<'s>(term: &Term<&'s str>) -> Checked<'s> {
        Ok(match term {
            Term::Id => Self::IDENTITY,
            Term::Recurse => Self::RECURSE,
            Term::Num(text) => Self::constant(text.len()),
            Term::Var(name) if *name == "$ENV" || name.starts_with("$__") => {
                return Err(Refusal::Call { name, arguments: 0 });
            }
            Term::Var(_) => Self::VARIABLE,
            Term::Str(Some(format), _) => {
                return Err(Refusal::Call { name: format, arguments: 0 });
            }
            Term::Str(None, parts) => Self::string(parts)?,
            Term::Arr(None) => Self::constant(0),
            Term::Arr(Some(inner)) => Self::of(inner)?.collected(),
            Term::Obj(entries) => Self::object(entries)?,
            Term::Neg(inner) => Self::of(inner)?,
            Term::BinOp(left, operator, right) => Self::binary(left, operator, right)?,
            Term::Label(word, _) => return Err(Refusal::Word { word, name: "label" }),
            Term::Break(word) => return Err(Refusal::Word { word, name: "break" }),
            Term::Fold(word, ..) => {
                let name = if *word == "reduce" { "reduce" } else { "foreach" };
                return Err(Refusal::Word { word, name });
            }
            Term::Def(definitions, _) => {
                let word = definitions.first().map_or("", |definition| definition.name);
                return Err(Refusal::Word { word, name: "def" });
            }
            Term::TryCatch(inner, None) => Self::of(inner)?,
            Term::TryCatch(inner, Some(handler)) => {
                // The handler's input is the error, which spells a value of the input.
                let error = Bound { slope: TEXT, base: 64.0 };
                let caught = Self::made(error, ONE, ZERO).then(Self::of(handler)?);
                Self::of(inner)?.or(caught)
            }
            Term::IfThenElse(branches, otherwise) => {
                let mut all = match otherwise {
                    Some(otherwise) => Self::of(otherwise)?,
                    None => Self::IDENTITY,
                };
                let mut conditions = ONE;
                for (condition, branch) in branches {
                    let condition = Self::of(condition)?;
                    conditions = conditions.by(condition.count.plus(ONE));
                    all = all.or(Self::of(branch)?.after(condition));
                }
                all.repeated(conditions)
            }
            Term::Call(name, arguments) => Self::call(name, arguments)?,
            Term::Path(head, path) => {
                let mut growth = Self::of(head)?;
                for (part, _) in &path.0 {
                    growth = match part {
                        Part::Range(None, None) => growth.then(Self::ITERATE),
                        Part::Index(index) => {
                            let index = Self::of(index)?;
                            growth.repeated(index.count).after(index)
                        }
                        Part::Range(from, to) => {
                            for bound in [from, to].into_iter().flatten() {
                                let bound = Self::of(bound)?;
                                growth = growth.repeated(bound.count).after(bound);
                            }
                            growth
                        }
                    };
                }
                growth
            }
        })
    }

    fn string<'s>(parts: &[StrPart<&'s str, Term<&'s str>>]) -> Checked<'s> {
        let mut growth = Self::constant(0);
        let mut composed = false;
        for part in parts {
            let part = match part {
                StrPart::Str(text) => Self::constant(text.len()),
                StrPart::Char(character) => Self::constant(character.len_utf8()),
                StrPart::Term(term) => {
                    composed = true;
                    let inner = Self::of(term)?;
                    Growth { single: inner.single.times(TEXT), ..inner }
                }
            };
            growth = Growth {
                single: growth.single.plus(part.single),
                count: growth.count.by(part.count),
                built: growth.built.max(part.built),
                ..growth
            };
        }
        Ok(if composed {
            Self::made(growth.single, growth.count, growth.built)
        } else {
            Growth { total: growth.single, ..growth }
        })
    }

    fn object<'s>(entries: &[(Term<&'s str>, Option<Term<&'s str>>)]) -> Checked<'s> {
        let mut single = ONE;
        let mut count = ONE;
        let mut before = ZERO;
        for (key, value) in entries {
            let key = Self::of(key)?;
            let value = match value {
                Some(value) => Self::of(value)?,
                None => Self::IDENTITY,
            };
            single = single.plus(key.single).plus(value.single);
            count = count.by(key.count).by(value.count);
            before = before.max(key.built).max(value.built);
        }
        Ok(Self::made(single, count, before))
    }

    fn binary<'s>(
        left: &Term<&'s str>,
        operator: &BinaryOp<&'s str>,
        right: &Term<&'s str>,
    ) -> Checked<'s> {
        use BinaryOp::{Assign, Math as Calculate, Update, UpdateAlt, UpdateMath};
        if let Assign | Update | UpdateMath(_) | UpdateAlt = operator {
            patch::path(left, false)?;
        }
        if let Calculate(Math::Mul) | UpdateMath(Math::Mul) = operator
            && !matches!(right, Term::Obj(_))
        {
            return Err(Refusal::Product { word: "" });
        }
        let names = names(left);
        let (left, right) = (Self::of(left)?, Self::of(right)?);
        let before = left.built.max(right.built);
        let pairs = left.count.by(right.count);
        Ok(match operator {
            BinaryOp::Pipe(None) => left.then(right),
            BinaryOp::Pipe(Some(pattern)) => {
                let mut count = left.count;
                for key in keys(pattern) {
                    let key = Self::of(key)?;
                    // Keys are made from the value that is taken apart.
                    count = count.by(left.then(key).count);
                }
                right.repeated(count).after(left)
            }
            BinaryOp::Comma | BinaryOp::Alt => left.or(right),
            BinaryOp::Or | BinaryOp::And | BinaryOp::Cmp(_) => Self::scalars(pairs, before),
            BinaryOp::Math(Math::Add | Math::Mul) => {
                Self::made(left.single.plus(right.single), pairs, before)
            }
            // Of two strings, a quotient is a list of parts.
            BinaryOp::Math(_) => Self::made(
                left.single.times(2.0).plus(Bound { slope: 0.0, base: ENTRY }),
                pairs,
                before,
            ),
            // Assignments, which only patches may have. Each path is visited once, and gets what
            // is on the right: for `|=` made of what was there, otherwise of the whole input. The
            // names of fields that were not there come on top.
            BinaryOp::Update => {
                let made = left.then(right);
                Self::made(SIZE.plus(made.total).plus(names), ONE, before.max(made.built))
            }
            BinaryOp::Assign | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt => {
                let given = left.count.by(right.single);
                Self::made(SIZE.plus(given).plus(names), right.count, before)
            }
        })
    }

    fn call<'s>(name: &&'s str, arguments: &[Term<&'s str>]) -> Checked<'s> {
        let Some((_, _, rule)) = allowed(name, arguments.len()) else {
            return Err(Refusal::Call { name, arguments: arguments.len() });
        };
        if let (Rule::Delete, [argument]) = (rule, arguments) {
            patch::path(argument, true)?;
        }
        let arguments: Vec<Growth> = arguments.iter().map(Self::of).collect::<Result<_, _>>()?;
        let first = arguments.first().copied().unwrap_or(Self::IDENTITY);
        let second = arguments.get(1).copied().unwrap_or(Self::IDENTITY);
        let before = first.built.max(second.built);
        let each = Self::ITERATE.then(first);
        let combinations = arguments.iter().fold(ONE, |all, argument| all.by(argument.count));
        let sized = |factor: f64, count| {
            let single = Bound { slope: factor, base: ENTRY };
            // What is not larger than the input is a part of it, or takes its place.
            let built = if factor > 1.0 { before.max(single) } else { before };
            Growth { total: single.by(count), count, single, built }
        };
        Ok(match *rule {
            Rule::Scalar => Self::scalars(combinations, before),
            Rule::Sized(factor) => sized(factor, combinations),
            Rule::Select => Self::IDENTITY.repeated(first.count).after(first),
            Rule::Empty => Self::NOTHING.after(first),
            Rule::Recurse => Self::RECURSE,
            Rule::EachScalar => Self::scalars(ONE, each.built),
            Rule::PipeScalar => Self::scalars(ONE, first.then(second).built.max(second.built)),
            Rule::One => Growth { total: first.single, count: ONE, ..first },
            Rule::Map => each.collected(),
            Rule::MapEntries => sized(8.0, ONE).then(each).collected(),
            Rule::By => Self::made(SIZE.times(2.0), ONE, each.collected().built),
            Rule::Splits => Growth {
                total: SIZE.times(2.0),
                count: SIZE.plus(ONE),
                single: SIZE,
                built: before.max(SIZE.times(2.0)),
            }
            .repeated(combinations),
            Rule::Delete => Self::made(SIZE, ONE, before),
            Rule::MapValues => Self::made(SIZE.plus(each.total), ONE, before.max(each.built)),
            Rule::Add => Self::made(first.total, ONE, before),
            Rule::Join => {
                let between = SIZE.by(first.single);
                Self::made(SIZE.times(TEXT).plus(between), first.count, before)
            }
        })
    }
}

/// What the fields of a path take where they are made.
fn names(path: &Term<&str>) -> Bound {
    let mut base = 0.0;
    visit(path, &mut |term| {
        if let Term::Str(_, parts) = term {
            let texts = parts.iter().map(|part| match part {
                StrPart::Str(text) => text.len(),
                _ => 4,
            });
            // Far below 2^52, so exact.
            base += ENTRY + texts.sum::<usize>() as f64;
        }
    });
    Bound { slope: 0.0, base }
}

/// The computed keys of a pattern such as `{(f): $x}`.
fn keys<'p, 's>(pattern: &'p Pattern<&'s str>) -> Vec<&'p Term<&'s str>> {
    match pattern {
        Pattern::Var(_) => Vec::new(),
        Pattern::Arr(inner) => inner.iter().flat_map(keys).collect(),
        Pattern::Obj(entries) => entries
            .iter()
            .flat_map(|(key, inner)| std::iter::once(key).chain(keys(inner)))
            .collect(),
    }
}

/// Calls `see` for `term` and every term in it.
pub(super) fn visit<'t, 's>(term: &'t Term<&'s str>, see: &mut impl FnMut(&'t Term<&'s str>)) {
    see(term);
    match term {
        Term::Str(_, parts) => {
            for part in parts {
                if let StrPart::Term(inner) = part {
                    visit(inner, see);
                }
            }
        }
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => visit(inner, see),
        Term::Obj(entries) => {
            for (key, value) in entries {
                visit(key, see);
                if let Some(value) = value {
                    visit(value, see);
                }
            }
        }
        Term::BinOp(left, _, right) => {
            visit(left, see);
            visit(right, see);
        }
        Term::TryCatch(inner, handler) => {
            visit(inner, see);
            if let Some(handler) = handler {
                visit(handler, see);
            }
        }
        Term::IfThenElse(branches, otherwise) => {
            for (condition, branch) in branches {
                visit(condition, see);
                visit(branch, see);
            }
            if let Some(otherwise) = otherwise {
                visit(otherwise, see);
            }
        }
        Term::Call(_, arguments) => {
            for argument in arguments {
                visit(argument, see);
            }
        }
        Term::Path(head, path) => {
            visit(head, see);
            for (part, _) in &path.0 {
                match part {
                    Part::Index(index) => visit(index, see),
                    Part::Range(from, to) => {
                        for bound in [from, to].into_iter().flatten() {
                            visit(bound, see);
                        }
                    }
                }
            }
        }
        Term::Id
        | Term::Recurse
        | Term::Num(_)
        | Term::Arr(None)
        | Term::Break(_)
        | Term::Fold(..)
        | Term::Def(..)
        | Term::Var(_) => {}
    }
}
