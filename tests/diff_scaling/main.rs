//! The time of `diff` grows with what is compared, and not with its square.
//!
//! Each shape is compared and rendered with [`FEW`] and with [`MANY`] of one thing. The processor
//! time of the thread is measured, which other programs hardly change, and only the relation of two
//! times counts: linear work takes 8 times as long, quadratic work 64 times.

#![allow(clippy::expect_used, reason = "a test")]

mod shapes;

use bundle2chart::diff::render::{html, json, markdown, text};
use bundle2chart::diff::{self, ChangeSet, Options, values};
use rustix::time::{ClockId, clock_gettime};
use shapes::{SHAPES, Shape};

const FEW: usize = 75;
const MANY: usize = 8 * FEW;

/// Highest relation of the times: work that grows with the power 1.5 is over it.
const MOST: f64 = 22.0;

/// Measurements of a stage before its relation counts; the shortest times do.
const ATTEMPTS: usize = 4;

/// Milliseconds below which a stage of [`MANY`] things is quick, however it grows.
const QUICK: f64 = 5.0;

const STAGES: [&str; 7] = ["compare", "text", "full text", "markdown", "html", "json", "values"];

fn milliseconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// Returns the processor time of each stage.
fn times(shape: Shape, count: usize) -> [f64; 7] {
    let (old, new) = (shape(count, 0), shape(count, 1));
    let given = new.clone();
    let start = milliseconds();
    let set = diff::compare(old, new, &Options::default());
    let compared = milliseconds() - start;

    let style = text::Style { colour: false, width: 100, full: true };
    let stage = |run: &dyn Fn(&ChangeSet) -> usize| {
        let start = milliseconds();
        std::hint::black_box(run(&set));
        milliseconds() - start
    };
    [
        compared,
        stage(&|set| text::render(set, text::Style { full: false, ..style }).len()),
        stage(&|set| text::render(set, style).len()),
        stage(&|set| markdown::render(set, usize::MAX).len()),
        stage(&|set| html::render(set).len()),
        stage(&|set| json::render(set).len()),
        stage(&|_| values::refused(&given).len()),
    ]
}

/// Returns the stages whose time grows too fast.
fn steep(shape: Shape) -> Vec<String> {
    let (mut few, mut many) = ([f64::INFINITY; 7], [f64::INFINITY; 7]);
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        for (shortest, count) in [(&mut few, FEW), (&mut many, MANY)] {
            for (shortest, time) in shortest.iter_mut().zip(times(shape, count)) {
                *shortest = shortest.min(time);
            }
        }

        let stages = STAGES.iter().zip(few.iter().zip(&many));
        let stages = stages.filter(|(_, (few, many))| **many > QUICK && *many / *few > MOST);
        found = stages.map(|(name, (few, many))| format!("{name}: {few} ms, {many} ms")).collect();
        if found.is_empty() {
            break;
        }
    }
    found
}

#[test]
fn time_grows_with_what_is_compared() {
    let steep = SHAPES.iter().flat_map(|(name, shape)| {
        steep(*shape).into_iter().map(move |stage| format!("{name}: {stage}"))
    });
    let steep: Vec<String> = steep.collect();
    assert!(steep.is_empty(), "of {FEW} and of {MANY}:\n{}", steep.join("\n"));
}

/// The test above compares nothing if a shape has no difference.
#[test]
fn every_shape_has_changes() {
    for (name, shape) in SHAPES {
        let set = diff::compare(shape(20, 0), shape(20, 1), &Options::default());
        let refused = values::refused(&shape(20, 1));
        assert!(!set.is_empty() || !refused.is_empty(), "{name}");
    }
}
