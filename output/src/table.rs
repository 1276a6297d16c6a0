//! Columns that line up, two spaces apart.

/// Lays figures out: the first column to the left, the others to the right.
pub fn lines<R: AsRef<[String]>>(indent: &str, rows: &[R]) -> String {
    lay_out(indent, rows, true)
}

/// The same for a reader with so many columns: where the table is wider, its columns stand in
/// several parts, one below the other, each with the first column in front.
pub fn parts(indent: &str, rows: &[Vec<String>], columns: Option<usize>) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let first = indent.chars().count() + width(0);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut taken = usize::MAX;
    for column in 1..count {
        let needs = width(column) + 2;
        match groups.last_mut() {
            Some(group) if taken + needs <= columns.unwrap_or(usize::MAX) => {
                group.push(column);
                taken += needs;
            }
            _ => {
                groups.push(vec![column]);
                taken = first + needs;
            }
        }
    }
    let part = |group: &Vec<usize>| {
        let one = |row: &Vec<String>| -> Vec<String> {
            let columns = [0].iter().chain(group);
            columns.filter_map(|at| row.get(*at).cloned()).collect()
        };
        let rows: Vec<Vec<String>> = rows.iter().map(one).collect();
        lines(indent, &rows)
    };
    groups.iter().map(part).collect()
}

/// Lays words out: every column to the left.
pub fn left<R: AsRef<[String]>>(indent: &str, rows: &[R]) -> String {
    lay_out(indent, rows, false)
}

fn lay_out<R: AsRef<[String]>>(indent: &str, rows: &[R], figures: bool) -> String {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = indent.to_string();
        for (column, cell) in row.as_ref().iter().enumerate() {
            let width = widths[column];
            match column {
                0 => line.push_str(&format!("{cell:<width$}")),
                _ if figures => line.push_str(&format!("  {cell:>width$}")),
                _ => line.push_str(&format!("  {cell:<width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{left, lines, parts};

    #[test]
    fn a_table_that_is_too_wide_stands_in_parts_with_the_first_column_in_each() {
        let row = |cells: [&str; 4]| cells.map(String::from).to_vec();
        let rows = [
            row(["", "p50", "p99", "max"]),
            row(["a", "1us", "2us", "3us"]),
        ];
        assert_eq!(parts("  ", &rows, None), [lines("  ", &rows)]);
        assert_eq!(parts("  ", &rows, Some(18)), [lines("  ", &rows)]);
        assert_eq!(
            parts("  ", &rows, Some(17)),
            ["     p50  p99\n  a  1us  2us\n", "     max\n  a  3us\n"]
        );
        // No part is without a column.
        assert_eq!(parts("  ", &rows, Some(1)).len(), 3);
    }

    #[test]
    fn columns_line_up() {
        let row = |cells: [&str; 3]| cells.map(String::from);
        let rows = [row(["", "p50", "max"]), row(["response", "60us", "1.25ms"])];
        assert_eq!(
            lines("  ", &rows),
            "             p50     max\n  response  60us  1.25ms\n"
        );
        let rows = [row(["a", "bc", "d"]), row(["ab", "c", "de"])];
        assert_eq!(left("", &rows), "a   bc  d\nab  c   de\n");
    }
}
