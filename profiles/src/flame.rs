//! Stacks that a profiler sampled, folded and drawn as a flame graph (Gregg, "The Flame Graph",
//! CACM 59(6), 2016): each box is a function, on top of what called it, as wide as the share of
//! the samples in which it was there.
//!
//! The picture needs no script, follows the reader's light or dark, and names each box when a
//! pointer rests on it. Order is by name, colour by where a function lives, neither by time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The width of a picture, and the height of a box.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 17.0;
/// Boxes narrower than this are left out.
const BOX_WIDTH_MIN: f64 = 0.4;
/// Stacks are cut off above this.
pub(crate) const DEPTH_MAX: usize = 120;
/// About the width of a letter.
const LETTER: f64 = 6.6;

/// Stacks and how often each was seen: functions from the outermost on, between semicolons.
pub type Folded = BTreeMap<String, u64>;

/// Folds what `perf script -F comm,tid,ip,sym,dso` writes: a line for the thread, then a line for
/// each function from the innermost on, then an empty line.
pub fn fold(text: &str) -> Folded {
    let mut folded = Folded::new();
    for sample in text.split("\n\n") {
        let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
        let Some(head) = lines.next().filter(|line| !line.starts_with(['\t', '#'])) else {
            continue;
        };
        // The number of the thread ends the line; the name may hold blanks.
        let name = head.trim().rsplit_once(' ').map_or(head, |(name, _)| name);
        let mut stack: Vec<String> = lines.filter_map(function).collect();
        stack.push(clean(name.trim()));
        stack.reverse();
        stack.truncate(DEPTH_MAX);
        *folded.entry(stack.join(";")).or_default() += 1;
    }
    folded
}

/// `ffffffff813a2413 schedule+0x93 ([kernel.kallsyms])`: what is kept is the name, or of an unnamed
/// function the file that it is in, and that it is the kernel's.
fn function(line: &str) -> Option<String> {
    let (_, rest) = line.trim().split_once(' ')?;
    let (name, file) = rest.trim().rsplit_once(" (")?;
    let file = file.trim_end_matches(')');
    let name = match name.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => name,
    };
    let is_kernel = file.starts_with("[kernel") || file.starts_with("[guest.kernel");
    Some(match name {
        "[unknown]" => format!("[{}]", clean(file.rsplit('/').next().unwrap_or(file))),
        name if is_kernel => format!("{}_[k]", clean(name)),
        name => clean(name),
    })
}

/// A name as it may stand in a stack: without the sign that separates names.
pub(crate) fn clean(name: &str) -> String {
    let fit = |c: char| if c == ';' { ':' } else { c };
    name.chars().filter(|c| !c.is_control()).map(fit).collect()
}

/// A line a stack, as other tools read it.
pub fn lines(folded: &Folded) -> String {
    let mut text = String::new();
    for (stack, count) in folded {
        let _ = writeln!(text, "{stack} {count}");
    }
    text
}

/// A function with what it called.
#[derive(Debug, Default)]
struct Node<'a> {
    count: u64,
    called: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn of(folded: &'a Folded) -> Node<'a> {
        let mut root = Node::default();
        for (stack, count) in folded {
            root.count += count;
            let mut node = &mut root;
            for name in stack.split(';') {
                node = node.called.entry(name).or_default();
                node.count += count;
            }
        }
        root
    }

    fn depth(&self) -> usize {
        1 + self.called.values().map(Node::depth).max().unwrap_or(0)
    }
}

/// The picture.
pub fn svg(title: &str, folded: &Folded) -> String {
    let root = Node::of(folded);
    let height = (root.depth() as f64 + 2.0) * HEIGHT;
    let mut boxes = String::new();
    let picture = Picture {
        samples: root.count.max(1),
        height,
    };
    picture.draw("all", &root, 0.0, 0, &mut boxes);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"ui-monospace, monospace\" font-size=\"11\" role=\"img\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"plain\" x=\"4\" y=\"13\">{}: {} samples</text>\n{boxes}</svg>\n",
        escaped(title),
        escaped(title),
        root.count
    )
}

const STYLE: &str = "\
    .back{fill:#fff}.plain{fill:#222}.user{fill:#f2a65a}.kernel{fill:#9db8d9}\
    rect{stroke:#fff;stroke-width:.5}text{fill:#111;pointer-events:none}\
    @media(prefers-color-scheme:dark){.back{fill:#15171a}.plain{fill:#ddd}\
    .user{fill:#b8692b}.kernel{fill:#3f628c}rect{stroke:#15171a}text{fill:#f4f4f4}}";

struct Picture {
    samples: u64,
    height: f64,
}

impl Picture {
    fn draw(&self, name: &str, node: &Node<'_>, left: f64, level: usize, into: &mut String) {
        let share = node.count as f64 / self.samples as f64;
        let width = share * WIDTH;
        if width < BOX_WIDTH_MIN {
            return;
        }
        let top = self.height - (level as f64 + 1.0) * HEIGHT;
        let class = match name.ends_with("_[k]") {
            true => "kernel",
            false => "user",
        };
        let plain = name.trim_end_matches("_[k]");
        let _ = writeln!(
            into,
            "<g><title>{} ({:.1} %, {} samples)</title><rect class=\"{class}\" x=\"{left:.1}\" \
             y=\"{top:.0}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/>{}</g>",
            escaped(plain),
            100.0 * share,
            node.count,
            label(plain, left, top, width)
        );
        let mut left = left;
        for (name, called) in &node.called {
            self.draw(name, called, left, level + 1, into);
            left += called.count as f64 / self.samples as f64 * WIDTH;
        }
    }
}

/// As much of the name as fits.
fn label(name: &str, left: f64, top: f64, width: f64) -> String {
    let room = ((width - 4.0) / LETTER).floor();
    if room < 3.0 {
        return String::new();
    }
    let mut shown: String = name.chars().take(room as usize).collect();
    if shown.len() < name.len() {
        shown.pop();
        shown.push('…');
    }
    let (x, y) = (left + 3.0, top + 12.0);
    format!("<text x=\"{x:.1}\" y=\"{y:.0}\">{}</text>", escaped(&shown))
}

fn escaped(text: &str) -> String {
    let replaced = text.replace('&', "&amp;").replace('<', "&lt;");
    replaced.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by perf 6.1.
    const SCRIPT: &str = "\
python3  3220 \n\
\tffffffff813a2413 finish_task_switch.isra.0+0x93 ([kernel.kallsyms])\n\
\tffffffff821f8914 __schedule+0x3d4 ([kernel.kallsyms])\n\
\t           fd4c6 __GI___tcgetattr+0x26 (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
\t               0 [unknown] ([unknown])\n\
\n\
my server  17 \n\
\t          1234 core::ops::Fn<(A, B)>::call+0x1f (/opt/app)\n\
\t          5678 [unknown] (/opt/lib/libjit.so)\n\
\n\
my server  17 \n\
\t          1234 core::ops::Fn<(A, B)>::call+0x2a (/opt/app)\n\
\t          5678 [unknown] (/opt/lib/libjit.so)\n";

    #[test]
    fn samples_are_folded_from_the_outermost_function_on() {
        let folded = fold(SCRIPT);
        let expected = [
            ("my server;[libjit.so];core::ops::Fn<(A, B)>::call", 2),
            (
                "python3;[[unknown]];__GI___tcgetattr;__schedule_[k];\
                 finish_task_switch.isra.0_[k]",
                1,
            ),
        ];
        let expected = expected.map(|(stack, count)| (stack.to_owned(), count));
        assert_eq!(folded, Folded::from(expected));
        assert!(lines(&folded).starts_with("my server;[libjit.so];core"));
        assert!(fold("").is_empty());
        assert!(fold("# captured on a machine\n").is_empty());
    }

    #[test]
    fn the_picture_needs_no_script_and_hides_no_markup() {
        let folded = fold(SCRIPT);
        let picture = svg("a <b> & c", &folded);
        assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
        assert!(picture.contains("a &lt;b&gt; &amp; c: 3 samples"));
        assert!(picture.contains("<title>core::ops::Fn&lt;(A, B)&gt;::call (66.7 %, 2 samples)"));
        assert!(picture.contains("prefers-color-scheme:dark"));
        for forbidden in ["<script", "onclick", "href"] {
            assert!(!picture.contains(forbidden), "{forbidden}");
        }
        // Each function once, for each of its callers, and the whole.
        assert_eq!(picture.matches("<rect class=\"kernel\"").count(), 2);
        assert_eq!(picture.matches("<rect class=\"user\"").count(), 7);
    }
}
