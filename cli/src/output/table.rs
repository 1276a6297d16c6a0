//! Columns that line up, two spaces apart.

/// Lays figures out: the first column to the left, the others to the right.
pub(crate) fn lines<R: AsRef<[String]>>(indent: &str, rows: &[R]) -> String {
    lay_out(indent, rows, true)
}

/// Lays words out: every column to the left.
pub(crate) fn left<R: AsRef<[String]>>(indent: &str, rows: &[R]) -> String {
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
    use super::{left, lines};

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
