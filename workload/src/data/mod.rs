//! Rows of data files, dealt out to workers.
//!
//! A file is read block by block and never whole. In turn, each of W workers goes through all of it
//! and takes each W-th row; where rows end is found several times faster than a file is read, so
//! that passing over the rows of others costs less than an index of all would, and the load starts
//! at once. At random, rows are found by an index, for which the file is read once beforehand.
//!
//! Rows are counted before they are understood: what is wrong inside a row is told by the worker
//! that takes it, but for those at the beginning of a file, which are looked at when it's opened.
//! Knows nothing of templates.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use measure::foreign::Foreign;
use plan::Invalid;
use plan::workload::Order;

mod csv;
mod cursor;
mod fields;
mod index;
mod jsonl;
mod rows;
mod split;
mod store;
mod zipf;

pub use cursor::BLOCK_BYTES;
pub use rows::{Row, Rows};
pub use store::{Broken, Store};

use cursor::{Cursor, Found};
use fields::Fields;
use index::Index;
use store::{Fault, OpenFile, Source};

/// The most columns of a data file.
pub const COLUMNS_MAX: usize = 1024;
/// What is wrong with rows that begin within so many bytes is told before a load.
const LOOKED_AT_BYTES: u64 = 64 << 10;
/// The highest exponent of Zipf's law.
pub const EXPONENT_MAX: f64 = 100.0;

/// What a data file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// RFC 4180 with a header. The separator, or `None` where the header shows it.
    Csv(Option<u8>),
    /// An object a line.
    JsonLines,
}

impl Kind {
    /// By the ending of a file's name, in whatever case.
    pub fn of_file(file: &Path) -> Option<Kind> {
        let ending = file.extension()?.to_str()?.to_ascii_lowercase();
        match &*ending {
            "csv" => Some(Kind::Csv(None)),
            "tsv" => Some(Kind::Csv(Some(b'\t'))),
            "jsonl" | "ndjson" => Some(Kind::JsonLines),
            _ => None,
        }
    }
}

/// Who gets which rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dealing {
    /// Which is next.
    pub order: Order,
    /// How many share them, one or more.
    pub workers: u32,
    /// What chance is drawn from.
    pub seed: u64,
}

/// A data file that was looked at: its columns, and how it is dealt.
#[derive(Debug)]
pub struct Data {
    source: Source,
    /// CSV with its separator; `None` for JSON lines.
    separator: Option<u8>,
    columns: Vec<String>,
    /// Where the first row begins, or blank lines before it.
    first: u64,
    dealing: Dealing,
    /// Where rows are drawn at random.
    index: Option<Index>,
    block: usize,
}

impl Data {
    /// Opens a file, and reads its columns and first row; all of it where rows are drawn at random.
    /// What is wrong is said with its line.
    pub fn open(data: &plan::workload::Data, workers: u32, seed: u64) -> Result<Data, Invalid> {
        let name = data.file.display().to_string();
        let Some(kind) = Kind::of_file(&data.file) else {
            return Err(Invalid(format!(
                "{}: the name's ending doesn't say what it holds; name it .csv or .tsv, or .jsonl \
                 or .ndjson for JSON lines",
                Foreign::new(&*name)
            )));
        };
        let dealing = Dealing {
            order: data.order,
            workers,
            seed,
        };
        let file = OpenFile::open(&data.file)?;
        let data = Data::read(Box::new(file), &name, kind, dealing, BLOCK_BYTES)?;
        data.look_at_rows()?;
        Ok(data)
    }

    /// Whether the first rows can be read.
    fn look_at_rows(&self) -> Result<(), Broken> {
        let mut cursor = Cursor::new(self.separator.is_some(), self.first, self.block);
        let mut fields = Fields::default();
        let mut look = |cursor: &mut Cursor| -> Result<(), Fault> {
            while let Found::Row(row) = cursor.find(&self.source, 0)? {
                self.cut(cursor.row(&row), &row, &mut fields)?;
                if row.end >= LOOKED_AT_BYTES {
                    break;
                }
            }
            Ok(())
        };
        look(&mut cursor).map_err(|fault| self.broken(fault, &cursor))
    }

    /// The same for bytes from anywhere, which messages call `name`, read in blocks of `block`
    /// bytes ([`BLOCK_BYTES`]), one or more.
    pub fn read(
        store: Box<dyn Store>,
        name: &str,
        kind: Kind,
        dealing: Dealing,
        block: usize,
    ) -> Result<Data, Broken> {
        let mut data = Data {
            source: Source::new(store, name),
            separator: None,
            columns: Vec::new(),
            first: 0,
            dealing,
            index: None,
            block: block.max(1),
        };
        let mut cursor = Cursor::new(matches!(kind, Kind::Csv(_)), 0, data.block);
        match data.look(kind, &mut cursor) {
            Ok(()) => Ok(data),
            Err(fault) => Err(data.broken(fault, &cursor)),
        }
    }

    /// The names of the columns, in their order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows of one of the workers, counted from zero.
    pub fn rows_of(self: &Arc<Data>, worker: u32) -> Result<Rows, Invalid> {
        let workers = self.dealing.workers;
        if worker < workers {
            return Ok(Rows::new(Arc::clone(self), worker));
        }
        Err(Invalid(format!(
            "there's no worker {worker} among {workers} to deal rows to"
        )))
    }

    /// Reads the columns, and whatever else has to be known beforehand.
    fn look(&mut self, kind: Kind, cursor: &mut Cursor) -> Result<(), Fault> {
        if let Order::Zipf(exponent) = self.dealing.order
            && !(exponent > 0.0 && exponent <= EXPONENT_MAX)
        {
            return Err(Fault::File(format!(
                "the exponent {exponent} of Zipf's law is out of range: it must be above 0 and at \
                 most {EXPONENT_MAX}"
            )));
        }
        self.first = self.after_mark()?;
        cursor.seek(self.first, self.source.length());
        let Found::Row(header) = cursor.find(&self.source, 0)? else {
            let what = match kind {
                Kind::Csv(_) => "the file is empty; begin it with a line of column names",
                Kind::JsonLines => "the file is empty; write one JSON object a line",
            };
            return Err(self.at(0, what));
        };
        let text = cursor.row(&header);
        match kind {
            Kind::Csv(separator) => {
                let separator = separator.unwrap_or_else(|| csv::separator(text));
                self.separator = Some(separator);
                let mistake = |mistake| fault_in(&header, mistake);
                self.columns = csv::names(text, separator).map_err(mistake)?;
                self.first = header.end;
            }
            Kind::JsonLines => {
                let mistake = |what: String| self.at(header.start, &what);
                self.columns = jsonl::names(text).map_err(mistake)?;
                self.first = header.start;
            }
        }
        self.check_columns(header.start)?;
        cursor.seek(self.first, self.source.length());
        let Found::Row(row) = cursor.find(&self.source, 0)? else {
            return Err(self.at(header.start, "no row follows the header; add one"));
        };
        self.cut(cursor.row(&row), &row, &mut Fields::default())?;
        if matches!(self.dealing.order, Order::Random | Order::Zipf(_)) {
            cursor.seek(self.first, self.source.length());
            self.index = Some(Index::build(cursor, &self.source)?);
        }
        Ok(())
    }

    /// Where the text begins: behind a byte order mark, if there is one (RFC 3629 §6).
    fn after_mark(&self) -> Result<u64, Fault> {
        let mut mark = [0; 3];
        let mut there = 0;
        while there < mark.len() && (there as u64) < self.source.length() {
            there += self.source.read_at(&mut mark[there..], there as u64)?;
        }
        match mark {
            [0xef, 0xbb, 0xbf] => Ok(3),
            [0xff, 0xfe, _] | [0xfe, 0xff, _] => {
                Err(self.at(0, "the file is UTF-16; save it as UTF-8"))
            }
            _ => Ok(0),
        }
    }

    /// Whether templates can tell the columns apart.
    fn check_columns(&self, offset: u64) -> Result<(), Fault> {
        let columns = &self.columns;
        if columns.is_empty() {
            return Err(self.at(offset, "the first line has no column; add one"));
        }
        if columns.len() > COLUMNS_MAX {
            let count = columns.len();
            let what = format!(
                "{count} columns are too many: at most {COLUMNS_MAX}; leave out what the requests \
                 don't use"
            );
            return Err(self.at(offset, &what));
        }
        for (place, name) in columns.iter().enumerate() {
            let number = place + 1;
            if name.is_empty() {
                let what = format!("column {number} has no name; give it one");
                return Err(self.at(offset, &what));
            }
            if let Some(other) = columns[..place].iter().position(|other| other == name) {
                let what = format!(
                    "columns {} and {number} are both named {:?}; rename one",
                    other + 1,
                    Foreign::new(name)
                );
                return Err(self.at(offset, &what));
            }
        }
        Ok(())
    }

    /// Finds the values of a row.
    fn cut(&self, text: &[u8], row: &Range<u64>, fields: &mut Fields) -> Result<(), Fault> {
        match self.separator {
            Some(separator) => csv::cut(text, separator, self.columns.len(), fields)
                .map_err(|mistake| fault_in(row, mistake)),
            None => {
                jsonl::cut(text, &self.columns, fields).map_err(|what| self.at(row.start, &what))
            }
        }
    }

    fn at(&self, offset: u64, what: &str) -> Fault {
        Fault::Row {
            offset,
            what: what.to_owned(),
        }
    }

    /// A fault with its place. What makes a row of CSV endless is mostly a quote, which is named.
    fn broken(&self, fault: Fault, cursor: &Cursor) -> Broken {
        let fault = match fault {
            Fault::Endless { offset } if cursor.quotes() => {
                let separator = self.separator.unwrap_or(b',');
                match csv::stray_quote(cursor.unfinished(), separator) {
                    Some(mistake) => fault_in(&(offset..offset), mistake),
                    None => fault,
                }
            }
            fault => fault,
        };
        self.source.broken(fault)
    }
}

fn fault_in(row: &Range<u64>, mistake: csv::Mistake) -> Fault {
    Fault::Row {
        offset: row.start + mistake.at as u64,
        what: mistake.what,
    }
}

#[cfg(test)]
mod tests;
