"""What the scripts of this folder do alike that measure in turns: they say each row as soon as there
is one, and write all of them in the end."""

import csv


def say(row):
    """Says what was measured in one turn, on one line."""
    print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True)


def write(output, rows):
    """Writes the rows to the file `output`; nothing where that isn't given."""
    if output:
        with open(output, "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
