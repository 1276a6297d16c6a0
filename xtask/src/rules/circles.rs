//! No circle among the modules of a crate, beyond a parent and its child.
//!
//! At each level the children of one module are looked at, each with all that lies below it: who
//! names something of a sibling depends on it, and no chain of such arrows may come back. What a
//! module re-exports or imports is followed to where it stands. Tests may look wherever they want,
//! so that they don't count. The circles that are there are named in `tables.rs`, each with the
//! number of its arrows, and can only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use crate::complaint::Complaint;
use crate::tables::Circle;
use crate::workspace::{File, Workspace};

/// So often an import of an import is followed.
const FOLLOWED_MAX: u32 = 16;

/// A module by the names from the crate's root; the root is empty.
type Path = Vec<String>;

/// Modules that depend on each other, all children of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The module whose children they are, such as `lab` or `lab::rounds`.
    pub(crate) within: String,
    /// Their names.
    pub(crate) modules: Vec<String>,
    /// From whom to whom, and where that is written first.
    pub(crate) arrows: Vec<(String, String, String)>,
}

/// Finds every circle, and asks that each is named and as small as it is said to be.
pub(super) fn check(workspace: &Workspace, known: &[Circle]) -> Vec<Complaint> {
    let found = match find(workspace) {
        Ok(found) => found,
        Err(complaint) => return vec![complaint],
    };
    let mut complaints = Vec::new();
    let mut expected: Vec<&Circle> = known.iter().collect();
    for circle in &found {
        let holds = |known: &&Circle| {
            let named = |module: &String| known.modules.contains(&module.as_str());
            known.within == circle.within && circle.modules.iter().all(named)
        };
        let Some(at) = expected.iter().position(holds) else {
            let path = circle.arrows.first().map_or("", |(_, _, place)| place);
            complaints.push(Complaint::about(path, new(circle)));
            continue;
        };
        let known = expected.remove(at);
        let (modules, arrows) = (circle.modules.len(), circle.arrows.len());
        let text = match (known.modules.len() - modules, known.arrows) {
            (0, allowed) if allowed == arrows => continue,
            (0, allowed) if allowed < arrows => format!(
                "{arrows} arrows in the circle of {}, its exception allows {allowed}: see `cargo \
                 xtask circles`",
                circle.within
            ),
            _ => format!(
                "the circle of {} has {modules} modules and {arrows} arrows: write that into its \
                 exception, which only shrinks ({})",
                circle.within,
                circle.modules.join(", ")
            ),
        };
        complaints.push(Complaint::about("xtask/src/tables.rs", text));
    }
    complaints.extend(expected.iter().map(|known| {
        let text = format!("stale: {} has no such circle any more", known.within);
        Complaint::about("xtask/src/tables.rs", text)
    }));
    complaints
}

fn new(circle: &Found) -> String {
    let arrows = circle.arrows.iter();
    let arrows: Vec<String> = arrows
        .map(|(from, to, _)| format!("{from} → {to}"))
        .collect();
    format!(
        "modules of {} depend on each other in a circle: {}",
        circle.within,
        arrows.join(", ")
    )
}

/// Every circle with its arrows, crate by crate.
pub(crate) fn listed(workspace: &Workspace) -> Result<String, String> {
    let found = find(workspace).map_err(|complaint| complaint.to_string())?;
    let mut text = String::new();
    for (name, _) in workspace.manifests() {
        let inside = format!("{name}::");
        let own = |circle: &&Found| circle.within == name || circle.within.starts_with(&inside);
        let circles: Vec<&Found> = found.iter().filter(own).collect();
        let _ = writeln!(text, "{name}: {}", count(circles.len(), "circle"));
        for circle in circles {
            let (modules, arrows) = (circle.modules.len(), circle.arrows.len());
            let (modules, arrows) = (count(modules, "module"), count(arrows, "arrow"));
            let _ = writeln!(text, "  in {}: {modules}, {arrows}", circle.within);
            for (from, to, place) in &circle.arrows {
                let _ = writeln!(text, "    {from} → {to}  ({place})");
            }
        }
    }
    Ok(text)
}

fn count(many: usize, what: &str) -> String {
    match many {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{many} {what}s"),
    }
}

fn find(workspace: &Workspace) -> Result<Vec<Found>, Complaint> {
    let mut found = Vec::new();
    for (name, _) in workspace.manifests() {
        let roots = ["lib.rs", "main.rs"].map(|file| format!("{name}/src/{file}"));
        let root = roots.iter().find_map(|path| file(workspace, path));
        if let Some(root) = root {
            let mut tree = Tree::default();
            tree.read(workspace, root, Vec::new(), &format!("{name}/src"))?;
            found.extend(tree.circles(name));
        }
    }
    Ok(found)
}

fn file<'a>(workspace: &'a Workspace, path: &str) -> Option<&'a File> {
    workspace.files.iter().find(|file| file.path == path)
}

/// What is known of one module.
#[derive(Debug, Default)]
struct Module {
    /// Names that its imports bring, with what they mean.
    imports: BTreeMap<String, Path>,
    /// Modules all of whose names it imports.
    globs: Vec<Path>,
    /// What it defines itself.
    items: BTreeSet<String>,
    /// What it names, and where.
    named: Vec<(Path, String)>,
    /// What it names without saying whose it is: its own, that of a glob, or of another crate.
    bare: Vec<(Path, String)>,
}

/// The modules of a crate.
#[derive(Debug, Default)]
struct Tree {
    modules: BTreeMap<Path, Module>,
}

impl Tree {
    /// Reads a module and all below it; its children's files are in `folder`.
    fn read(
        &mut self,
        workspace: &Workspace,
        source: &File,
        path: Path,
        folder: &str,
    ) -> Result<(), Complaint> {
        let parsed = syn::parse_file(&source.text)
            .map_err(|error| Complaint::about(&source.path, format!("is not Rust: {error}")))?;
        for (child, place) in self.take(&source.path, path, folder, &parsed.items) {
            let name = child.last().map_or("", String::as_str);
            let candidates = [
                format!("{place}/{name}.rs"),
                format!("{place}/{name}/mod.rs"),
            ];
            let inner = format!("{place}/{name}");
            match candidates.iter().find_map(|path| file(workspace, path)) {
                Some(source) => self.read(workspace, source, child, &inner)?,
                None => {
                    let text = format!("the file of its module {name} is not where it should be");
                    return Err(Complaint::about(&source.path, text));
                }
            }
        }
        Ok(())
    }

    /// Takes in the items of a module, and says which modules below have files of their own, and
    /// in which folder.
    fn take(
        &mut self,
        source: &str,
        path: Path,
        folder: &str,
        items: &[Item],
    ) -> Vec<(Path, String)> {
        let mut apart = Vec::new();
        let mut reader = Reader {
            module: Module::default(),
            path: path.clone(),
            source,
        };
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            let Item::Mod(child) = item else {
                reader.visit_item(item);
                continue;
            };
            let mut below = path.clone();
            below.push(child.ident.to_string());
            match &child.content {
                Some((_, items)) => {
                    let inner = format!("{folder}/{}", child.ident);
                    apart.extend(self.take(source, below, &inner, items));
                }
                None => apart.push((below, folder.to_string())),
            }
        }
        self.modules.insert(path, reader.module);
        apart
    }

    /// The module in which something stands that is called by its names from the root.
    fn home(&self, names: &[String], follow: u32) -> Path {
        let mut at = Path::new();
        for (place, name) in names.iter().enumerate() {
            let mut below = at.clone();
            below.push(name.clone());
            if self.modules.contains_key(&below) {
                at = below;
                continue;
            }
            let Some(module) = self.modules.get(&at).filter(|_| follow > 0) else {
                break;
            };
            let rest = &names[place + 1..];
            if let Some(meant) = module.imports.get(name) {
                return self.home(&[meant, rest].concat(), follow - 1);
            }
            let defines = |glob: &Path| {
                let home = self.home(glob, follow - 1);
                let module = self.modules.get(&home)?;
                module.items.contains(name).then_some(home)
            };
            if !module.items.contains(name)
                && let Some(home) = module.globs.iter().find_map(defines)
            {
                at = home;
            }
            break;
        }
        at
    }

    /// What the globs of a module may mean by the names that it neither defines nor imports by
    /// themselves. A word alone is a module nowhere but in an import, and may be a variable's name.
    fn through_globs(&self, module: &Module) -> Vec<(Path, String)> {
        let mut found = Vec::new();
        for (names, place) in &module.bare {
            if module.items.contains(&names[0]) || module.imports.contains_key(&names[0]) {
                continue;
            }
            let meant = module.globs.iter().map(|glob| {
                let home = self.home(glob, FOLLOWED_MAX);
                [home, names.clone()].concat()
            });
            let is_known = |meant: &Path| names.len() > 1 || !self.modules.contains_key(meant);
            found.extend(meant.filter(is_known).map(|meant| (meant, place.clone())));
        }
        found
    }

    fn circles(&self, name: &str) -> Vec<Found> {
        // By parent: from which child to which, and where.
        let mut levels: BTreeMap<Path, BTreeMap<(String, String), String>> = BTreeMap::new();
        for (path, module) in &self.modules {
            for (names, place) in module.named.iter().chain(&self.through_globs(module)) {
                let home = self.home(names, FOLLOWED_MAX);
                let alike = path.iter().zip(&home).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (path.get(alike), home.get(alike)) {
                    let arrows = levels.entry(path[..alike].to_vec()).or_default();
                    let arrow = (from.clone(), to.clone());
                    arrows.entry(arrow).or_insert_with(|| place.clone());
                }
            }
        }
        let mut found = Vec::new();
        for (parent, arrows) in levels {
            let within = [vec![name.to_string()], parent].concat().join("::");
            found.extend(of_level(&within, &arrows));
        }
        found
    }
}

/// The circles among children of one module: those that reach each other.
fn of_level(within: &str, arrows: &BTreeMap<(String, String), String>) -> Vec<Found> {
    let all: BTreeSet<&String> = arrows.keys().flat_map(|(from, to)| [from, to]).collect();
    let reached: BTreeMap<&String, BTreeSet<&String>> = all
        .iter()
        .map(|module| (*module, reach(arrows, module)))
        .collect();
    let mut done: BTreeSet<&String> = BTreeSet::new();
    let mut found = Vec::new();
    for module in all {
        let mutual = |other: &&&String| reached[**other].contains(module);
        let modules: Vec<&String> = reached[module].iter().filter(mutual).copied().collect();
        if modules.len() < 2 || !modules.iter().all(|module| done.insert(module)) {
            continue;
        }
        let inside =
            |(from, to): &(String, String)| modules.contains(&from) && modules.contains(&to);
        let inner = arrows.iter().filter(|(arrow, _)| inside(arrow));
        found.push(Found {
            within: within.to_string(),
            modules: modules.iter().map(ToString::to_string).collect(),
            arrows: inner
                .map(|((from, to), place)| (from.clone(), to.clone(), place.clone()))
                .collect(),
        });
    }
    found
}

/// Everybody that can be reached from a module.
fn reach<'a>(
    arrows: &'a BTreeMap<(String, String), String>,
    start: &'a String,
) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(from) = open.pop() {
        let next = arrows.keys().filter(|arrow| arrow.0 == *from);
        open.extend(next.map(|arrow| &arrow.1).filter(|to| seen.insert(*to)));
    }
    seen
}

/// Reads one module's items, but for modules inside it.
struct Reader<'a> {
    module: Module,
    path: Path,
    source: &'a str,
}

impl Reader<'_> {
    /// The names from the root of what is called so here.
    fn absolute(&self, names: &[String]) -> Path {
        let mut at = self.path.clone();
        for (place, name) in names.iter().enumerate() {
            match name.as_str() {
                "crate" if place == 0 => at.clear(),
                "self" if place == 0 => {}
                "super" => {
                    at.pop();
                }
                _ => {
                    at.extend(names[place..].iter().cloned());
                    break;
                }
            }
        }
        at
    }

    fn name(&mut self, names: &[String], line: usize) {
        let place = format!("{}:{line}", self.source);
        match names.first() {
            Some(first) if leads(first) => self.module.named.push((self.absolute(names), place)),
            Some(_) => self.module.bare.push((names.to_vec(), place)),
            None => {}
        }
    }

    fn import(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (names, known_as) = match tree {
            UseTree::Path(path) => return self.import(&with(&path.ident), &path.tree),
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.import(before, tree));
            }
            UseTree::Glob(_) => {
                let all = self.absolute(before);
                self.module.globs.push(all);
                return self.name(before, tree.span().start().line);
            }
            UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned())
            }
            UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(name) => (with(&name.ident), Some(name.rename.to_string())),
        };
        self.name(&names, tree.span().start().line);
        if let Some(known_as) = known_as {
            let meant = self.absolute(&names);
            self.module.imports.insert(known_as, meant);
        }
    }

    /// Paths inside the words of a macro, which nobody but the macro can parse.
    fn words(&mut self, stream: TokenStream) {
        let mut names: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for tree in stream {
            match tree {
                TokenTree::Ident(name) if names.is_empty() || colons == 2 => {
                    line = name.span().start().line;
                    names.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !names.is_empty() => colons += 1,
                other => {
                    self.name(&names, line);
                    (names, colons) = (Vec::new(), 0);
                    match other {
                        TokenTree::Group(group) => self.words(group.stream()),
                        TokenTree::Ident(name) => names.push(name.to_string()),
                        _ => {}
                    }
                }
            }
        }
        self.name(&names, line);
    }
}

/// Whether a path that begins so is one within this crate for certain.
fn leads(name: &str) -> bool {
    ["crate", "super", "self"].contains(&name)
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        if let Some(name) = named(item) {
            self.module.items.insert(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|one| one.ident.to_string())
            .collect();
        self.name(&names, path.span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, one: &'ast syn::Macro) {
        self.visit_path(&one.path);
        self.words(one.tokens.clone());
    }

    /// Who may see something is no dependency.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn named(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(is_test)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{made_of, texts};
    use super::*;

    fn complaints(files: &[(&str, &str)], known: &[Circle]) -> Vec<String> {
        let files = [&[("lab/Cargo.toml", "")], files].concat();
        texts(&check(&made_of(&files), known))
    }

    const ROOT: (&str, &str) = ("lab/src/lib.rs", "mod a;\nmod b;\npub use b::{B, deep};\n");
    const B: (&str, &str) = ("lab/src/b.rs", "pub struct B;\nuse crate::a::A;\n");
    const A_TO_B: &str = "lab/src/a.rs:1: modules of lab depend on each other in a circle: \
                          a → b, b → a";

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        for text in [
            "use crate::b::B;",
            "use super::b;",
            "use crate::{b::{self, B}};",
            "use crate::b::*;",
            "fn f() { crate::b::f() }",
            "fn f(_: &super::b::B) {}",
            "fn f() { println!(\"{}\", [crate::b::f()]) }",
            // Through what the root makes of it.
            "use crate::B;",
            "use crate::B as Other;",
            "use super::*;\nfn f(_: super::B) {}",
            "use super::*;\nfn f(_: B) {}",
            "use super::*;\nfn f() { deep::f() }",
            "use super::*;\nfn f() { println!(\"{:?}\", B) }",
            "mod inner { use super::super::*; fn f() { b::f() } }",
            "mod inner { use super::super::b::B; }",
        ] {
            let found = complaints(&[ROOT, ("lab/src/a.rs", text), B], &[]);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            let said = A_TO_B.split_once(": ").map_or("", |(_, said)| said);
            assert!(found[0].ends_with(said), "{text}: {found:?}");
        }
        let found = complaints(&[ROOT, ("lab/src/a.rs", "use crate::b::B;"), B], &[]);
        assert_eq!(found, [A_TO_B]);
    }

    #[test]
    fn what_is_no_circle_is_let_be() {
        for text in [
            "",
            "#[cfg(test)]\nmod tests { use crate::b::B; }",
            "#[cfg(test)]\nuse crate::b::B;",
            "/// See [`crate::b::B`].\npub(in crate::a) struct A;",
            "use b::B;",
            "fn f(_: B) {}",
            // What is defined or imported here goes before what a glob brings.
            "use super::*;\nstruct B;\nfn f(_: B) {}",
            "use super::*;\nuse other::B;\nfn f(_: B) {}",
            "use super::*;\nfn f(b: u8) -> u8 { b }",
            "use other::b;",
            "fn f() { println!(\"crate::b::f()\") }",
        ] {
            let found = complaints(&[ROOT, ("lab/src/a.rs", text), B], &[]);
            assert_eq!(found, [""; 0], "{text}");
        }
        // A parent and its child.
        let parent = ("lab/src/a.rs", "mod child;\nuse child::C;\npub struct A;");
        let child = ("lab/src/a/child.rs", "use super::A;\npub struct C;");
        let found = complaints(&[ROOT, parent, child, B], &[]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn children_count_for_their_parents_and_among_themselves() {
        let parent = ("lab/src/a/mod.rs", "mod x;\nmod y;\npub struct A;");
        let x = (
            "lab/src/a/x.rs",
            "use super::y::Y;\npub struct X;\nuse crate::deep::D;",
        );
        let y = ("lab/src/a/y.rs", "use crate::a::x::X;\npub struct Y;");
        let b = (
            "lab/src/b.rs",
            "pub mod deep { pub struct D; use crate::a::A; }",
        );
        let found = complaints(&[ROOT, parent, x, y, b], &[]);
        let expected = [
            "lab/src/a/x.rs:3: modules of lab depend on each other in a circle: a → b, b → a",
            "lab/src/a/x.rs:1: modules of lab::a depend on each other in a circle: x → y, y → x",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn known_circles_only_shrink() {
        let files = [ROOT, ("lab/src/a.rs", "use crate::b::B;"), B];
        let known = |within, modules, arrows| Circle {
            within,
            modules,
            arrows,
        };
        assert_eq!(complaints(&files, &[known("lab", &["a", "b"], 2)]), [""; 0]);
        for (known, part) in [
            (known("lab", &["a", "b"], 3), "2 modules and 2 arrows"),
            (known("lab", &["a", "b"], 1), "its exception allows 1"),
            (known("lab", &["a", "b", "c"], 2), "2 modules and 2 arrows"),
            (known("lab", &["a", "c"], 2), "in a circle: a → b"),
        ] {
            let found = complaints(&files, &[known]);
            assert!(found[0].contains(part), "{part}: {found:?}");
        }
        let stale = complaints(
            &[ROOT, ("lab/src/a.rs", ""), B],
            &[known("lab", &["a", "b"], 2)],
        );
        assert!(stale[0].contains("stale"), "{stale:?}");
    }
}
