//! Texts that look like YAML, made from a seed.

use super::awkward::AWKWARD;

/// Parts of generated texts.
const PIECES: &[&str] = &[
    "a",
    "b",
    "c",
    "x y",
    "a: ",
    "b: ",
    "c:",
    ": ",
    ":",
    "- ",
    "-",
    "\n",
    "\n",
    "\n  ",
    "\n ",
    "\n    ",
    "\n- ",
    "\n  - ",
    "\na: ",
    "\n  b: ",
    " ",
    "  ",
    "\t",
    "\n\t",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ",",
    "? ",
    "?",
    "'",
    "\"",
    "''",
    "\\",
    "\\n",
    "\\x41",
    "\\\n",
    "|",
    ">",
    "|-",
    ">+",
    "|2",
    "|\n  ",
    ">\n  ",
    "#",
    " # c",
    "\n# c",
    "&x ",
    "&y",
    "*x",
    "*y ",
    "!!str ",
    "!!int ",
    "! ",
    "!c ",
    "!!merge ",
    "<<: ",
    "<<",
    "\n<<: *x",
    "---",
    "\n---\n",
    "\n...\n",
    "...",
    "1",
    "0.5",
    "1e3",
    "08",
    "true",
    "~",
    ".inf",
    "\r\n",
    "\r",
    "\u{85}",
    "\u{2028}",
    "é",
    "\u{feff}",
    "\u{a0}",
    "@",
    "%",
    "`",
    "\"a\": ",
    "{\"a\":1}",
    "'a': ",
];

/// A generator of numbers that a seed decides.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % limit.max(1) as u64).expect("it is small")
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// A text: pieces, a changed awkward text, or a tree in random styles that is perhaps changed.
pub(crate) fn text(seed: u64) -> String {
    let mut random = Random::new(seed);
    match random.below(5) {
        0 => pieces(&mut random),
        1 | 2 => {
            let text = random.pick(AWKWARD).to_owned();
            changed(text, &mut random)
        }
        3 => document(&mut random),
        _ => {
            let text = document(&mut random);
            changed(text, &mut random)
        }
    }
}

fn pieces(random: &mut Random) -> String {
    let count = 1 + random.below(12);
    (0..count).map(|_| random.pick(PIECES)).collect()
}

fn changed(mut text: String, random: &mut Random) -> String {
    for _ in 0..=random.below(3) {
        let at = |text: &str, random: &mut Random| boundary(text, random.below(text.len() + 1));
        let start = at(&text, random);
        match random.below(4) {
            0 => {
                let end = boundary(&text, (start + 1 + random.below(4)).min(text.len()));
                text.replace_range(start..end, "");
            }
            1 => {
                let other = random.pick(AWKWARD);
                let from = at(other, random);
                text.insert_str(start, &other[from..]);
            }
            _ => text.insert_str(start, random.pick(PIECES)),
        }
    }
    text
}

/// The first boundary of characters from an offset on.
fn boundary(text: &str, offset: usize) -> usize {
    (offset..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// A map or list as people and programs write them.
fn document(random: &mut Random) -> String {
    let mut writer = Writer { random, text: String::new(), anchors: 0 };
    if writer.random.below(3) == 0 {
        writer.text.push_str("---\n");
    }
    let documents = 1 + writer.random.below(2);
    for number in 0..documents {
        if number > 0 {
            writer.text.push_str("---\n");
        }
        writer.anchors = 0;
        writer.block(0, 3);
    }
    writer.text
}

struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    anchors: usize,
}

const WORDS: &[&str] = &[
    "alpha",
    "beta gamma",
    "delta's",
    "say \"no\"",
    "é",
    "1",
    "1.50",
    "0x1F",
    "true",
    "null",
    "~",
    "yes",
    "a: b",
    "- a",
    "# c",
    "a #b",
    "{",
    "[x]",
    "%",
    "@",
    "",
    " padded ",
    "tab\there",
    "a:b",
    "*x",
    "&x",
    "!x",
    "|",
    ">",
    "http://h:80/#x",
    "2001-01-01",
    "1_000",
    "08",
    "-",
    "---",
    "...",
    "<<",
    "\\d+",
    "$(VAR)",
    "{{ .Values }}",
];

impl Writer<'_> {
    /// Writes a block map or list, from the beginning of a line.
    fn block(&mut self, indent: usize, depth: usize) {
        let list = self.random.below(3) == 0;
        for number in 0..=self.random.below(4) {
            self.comment(indent);
            self.text.push_str(&" ".repeat(indent));
            if list {
                self.text.push('-');
            } else {
                let key = format!("k{number}");
                match self.random.below(8) {
                    0 => self.text.push_str(&format!("'{key}':")),
                    1 => self.text.push_str(&format!("\"{key}\" :")),
                    2 => self.text.push_str(&format!("? {key}\n{}:", " ".repeat(indent))),
                    3 if self.anchors > 0 => {
                        let anchor = 1 + self.random.below(self.anchors);
                        self.text.push_str(&format!("<<: *m{anchor}\n"));
                        continue;
                    }
                    _ => self.text.push_str(&format!("{key}:")),
                }
            }
            self.value(indent, depth, !list);
        }
    }

    fn comment(&mut self, indent: usize) {
        if self.random.below(8) == 0 {
            let margin = " ".repeat(self.random.below(indent + 3));
            self.text.push_str(self.random.pick(&["\n", "# c\n", "  \n"]));
            self.text.push_str(&margin);
            self.text.push_str("# d\n");
        }
    }

    /// Writes what follows `key:` or `-`.
    fn value(&mut self, indent: usize, depth: usize, in_map: bool) {
        let further = indent + 1 + self.random.below(3);
        match self.random.below(if depth == 0 { 4 } else { 7 }) {
            0 => {
                self.text.push(' ');
                self.block_scalar(further);
            }
            1 if depth > 0 => {
                self.text.push(' ');
                self.flow(depth);
                self.text.push('\n');
            }
            4 if !in_map => {
                // A map that begins in the line of its `-`.
                self.text.push_str(" k: v\n");
                self.text.push_str(&" ".repeat(indent + 2));
                self.text.push_str("l: w\n");
            }
            4 => {
                self.anchors += 1;
                let anchor = self.anchors;
                self.text.push_str(&format!(" &m{anchor}\n"));
                self.text.push_str(&format!("{0}p: 1\n{0}q: [2]\n", " ".repeat(further)));
            }
            5 | 6 => {
                self.text.push('\n');
                self.block(further, depth - 1);
            }
            _ => {
                self.text.push(' ');
                self.scalar(Some(further));
                self.text.push('\n');
            }
        }
    }

    fn block_scalar(&mut self, indent: usize) {
        let header = self.random.pick(&["|", ">", "|-", ">-", "|+", ">+", "| # c"]);
        self.text.push_str(header);
        self.text.push('\n');
        for _ in 0..self.random.below(4) {
            let more = self.random.below(3).saturating_sub(1);
            let line = match self.random.below(4) {
                0 => String::new(),
                _ => format!("{}w{}", " ".repeat(indent + more), self.random.pick(WORDS)),
            };
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn flow(&mut self, depth: usize) {
        let list = self.random.below(2) == 0;
        self.text.push(if list { '[' } else { '{' });
        for number in 0..self.random.below(4) {
            if number > 0 {
                self.text.push_str(self.random.pick(&[", ", ",", ",\n    ", " , "]));
            }
            if !list {
                self.text.push_str(&format!("\"f{number}\": "));
            }
            if depth > 1 && self.random.below(3) == 0 {
                self.flow(depth - 1);
            } else {
                self.scalar(None);
            }
        }
        self.text.push(if list { ']' } else { '}' });
    }

    /// Writes a scalar, which may go on in lines with this indentation.
    fn scalar(&mut self, lines: Option<usize>) {
        let mut words = self.random.pick(WORDS).to_owned();
        if let Some(indent) = lines {
            for _ in 0..self.random.below(3).saturating_sub(1) {
                let margin = self.random.pick(&["", "\n"]).to_owned() + "\n";
                words += &format!("{margin}{}{}", " ".repeat(indent), self.random.pick(WORDS));
            }
        }
        match self.random.below(3) {
            0 => self.text.push_str(&words),
            1 => self.text.push_str(&format!("'{}'", words.replace('\'', "''"))),
            _ => {
                let escaped = words.replace('\\', "\\\\").replace('"', "\\\"");
                self.text.push_str(&format!("\"{escaped}\""));
            }
        }
    }
}
