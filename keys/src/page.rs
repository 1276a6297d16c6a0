//! The tables of a page of the reference.

/// What a page says of the keys under each of its headings.
pub(crate) struct Page {
    tables: Vec<Table>,
}

/// The keys under a heading, which has no backticks here: `[workload]`, `Top level`.
pub(crate) struct Table {
    pub(crate) heading: String,
    pub(crate) rows: Vec<Row>,
}

/// A key. Two that mean the same in one row of the page are two of these.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) kind: String,
    pub(crate) default: String,
    /// What it is, without links.
    pub(crate) is: String,
}

/// The head of a table of keys.
const HEAD: &str = "| key | type | default | is |";

impl Page {
    pub(crate) fn read(text: &str) -> Page {
        let (mut tables, mut heading) = (Vec::<Table>::new(), String::new());
        let mut inside = false;
        for line in text.lines() {
            if line.starts_with('#') {
                heading = line.trim_start_matches('#').trim().replace('`', "");
            }
            inside = (inside && line.starts_with('|')) || line == HEAD;
            if line == HEAD {
                tables.push(Table {
                    heading: heading.clone(),
                    rows: Vec::new(),
                });
            } else if let (true, Some(table)) = (inside, tables.last_mut()) {
                table.rows.extend(rows(line));
            }
        }
        Page { tables }
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter()
    }

    pub(crate) fn table(&self, heading: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.heading == heading)
    }
}

/// The keys in a line of a table; none in the one below its head.
fn rows(line: &str) -> Vec<Row> {
    let cells = line.trim_matches('|').splitn(4, '|').map(str::trim);
    let cells: Vec<&str> = cells.collect();
    let [keys, kind, default, is] = cells[..] else {
        return Vec::new();
    };
    let keys = keys.split(", ").filter_map(|key| {
        let key = key.strip_prefix('`')?;
        key.strip_suffix('`')
    });
    keys.map(|key| Row {
        key: key.to_owned(),
        kind: kind.to_owned(),
        default: default.to_owned(),
        is: without_links(is),
    })
    .collect()
}

/// `[a text](page.md)` is `a text` where nothing leads to the page.
fn without_links(text: &str) -> String {
    let (mut made, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("](") {
        let Some((link, behind)) = after.split_once(')') else {
            break;
        };
        let at = before.rfind('[').unwrap_or(0);
        if link.contains(' ') || !before[at..].starts_with('[') {
            made.push_str(&rest[..before.len() + 2]);
            rest = after;
            continue;
        }
        made.push_str(&before[..at]);
        made.push_str(&before[at + 1..]);
        rest = behind;
    }
    made + rest
}
