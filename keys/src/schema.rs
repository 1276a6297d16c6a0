//! Tables of keys made into a JSON Schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::page::{Page, Row, Table};

/// Where the value of a key is one of a few words: the heading of its table, the key, the words.
pub(crate) const WORDS: [(&str, &str, &[&str]); 15] = [
    ("[[answer]]", "protocol", PROTOCOLS),
    ("[[companion]]", "cores", &["generator", "server"]),
    ("[[faults]]", "kind", FAULTS),
    ("[[faults]]", "of", &["subject", "worker"]),
    ("[[faults]]", "signal", SIGNALS),
    ("[gate]", "figures", FIGURES),
    ("[gate]", "smallest_of", FIGURES),
    ("[judge]", "figures", FIGURES),
    ("[ready]", "protocol", PROTOCOLS),
    ("[watch]", "garbage", &["java", "go", "node"]),
    ("[workload]", "pick", &["in-turn", "weighted", "random"]),
    ("[workload]", "protocol", PROTOCOLS),
    ("Top level", "engine", &["auto", "uring", "epoll"]),
    ("Top level", "kind", &["server", "command"]),
    ("generator", "reads", READS),
];

const PROTOCOLS: &[&str] = &["http1", "http2", "grpc", "websocket"];
const FIGURES: &[&str] = &[
    "rate",
    "cpu",
    "p50",
    "p95",
    "p99",
    "mean",
    "memory",
    "first_byte_p50",
    "first_byte_p99",
    "first_event_p50",
    "first_event_p99",
    "event_gap_p50",
    "event_gap_p99",
    "time_per_event_p50",
    "time_per_event_p99",
    "event_rate",
];
const READS: &[&str] = &["wrk", "h2load", "ghz", "k6", "ringside"];
const SIGNALS: &[&str] = &[
    "HUP", "SIGHUP", "QUIT", "SIGQUIT", "TERM", "SIGTERM", "USR1", "SIGUSR1", "USR2", "SIGUSR2",
    "WINCH", "SIGWINCH",
];
const FAULTS: &[&str] = &[
    "kill",
    "companion-kill",
    "stop",
    "signal",
    "cpu",
    "delay",
    "drop",
    "reset",
    "slow",
];

/// How amounts look. Whether a unit is known, the readers say.
const TIME: &str = "^ *([0-9.]+ *[A-Za-z]+ *)+$";
const RATE: &str = "^ *[0-9.]+ *[A-Za-z]* *(/ *[A-Za-z]+ *)?$|^auto$";
const SIZE: &str = "^ *[0-9.]+ *[A-Za-z]* *(/ *s *)?$";
const SHARE: &str = "%$";

/// A schema in the making: a file's own keys, and what stands under the names of sections.
pub(crate) struct Made {
    top: Section,
    sections: BTreeMap<String, Value>,
}

/// A table of a file.
pub(crate) struct Section {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Made {
    /// Of a page: each heading in brackets is a section, each in double brackets one of several.
    pub(crate) fn of(page: &Page) -> Made {
        let mut made = Made {
            top: Section::empty(),
            sections: BTreeMap::new(),
        };
        for table in page.tables() {
            let section = Section::of(&table.heading, table);
            match table.heading.strip_prefix('[') {
                Some(rest) => {
                    let name = rest.trim_matches(['[', ']']).to_owned();
                    let one = reference(&name);
                    let whole = match rest.starts_with('[') {
                        true => json!({"type": "array", "items": one}),
                        false => one,
                    };
                    made.top.properties.insert(name.clone(), whole);
                    made.put(&name, section);
                }
                None if table.heading == "Top level" => {
                    made.top.properties.extend(section.properties);
                    made.top.required.extend(section.required);
                }
                None => made.put(&table.heading, section),
            }
        }
        made
    }

    pub(crate) fn put(&mut self, name: &str, section: Section) {
        self.sections.insert(name.to_owned(), section.value());
        if name == "gate" {
            self.top.properties.insert("gate".into(), reference(name));
        }
    }

    pub(crate) fn leave_out(&mut self, name: &str) {
        self.top.properties.remove(name);
        self.sections.remove(name);
    }

    /// The whole schema.
    pub(crate) fn text(self, title: &str) -> String {
        let mut whole = self.top.value();
        whole["$schema"] = Value::from("https://json-schema.org/draft/2020-12/schema");
        whole["title"] = Value::from(title);
        whole["$defs"] = Value::Object(self.sections.into_iter().collect());
        format!("{whole:#}\n")
    }
}

impl Section {
    fn empty() -> Section {
        Section {
            properties: Map::new(),
            required: Vec::new(),
        }
    }

    pub(crate) fn of(heading: &str, table: &Table) -> Section {
        let mut section = Section::empty();
        for row in &table.rows {
            if row.default == "required" {
                section.required.push(row.key.clone());
            }
            let value = property(heading, row);
            section.properties.insert(row.key.clone(), value);
        }
        section
    }

    /// What may differ from a table, with no default but the table's.
    pub(crate) fn difference(table: &Table, shared: &[&str]) -> Section {
        let mut section = Section::of(&table.heading, table);
        section.required.clear();
        let is_own = |key: &String| !shared.contains(&key.as_str());
        section.properties.retain(|key, _| is_own(key));
        for value in section.properties.values_mut() {
            value.as_object_mut().and_then(|one| one.remove("default"));
        }
        section
    }

    /// When a companion can be used, of which the page has no table.
    pub(crate) fn ready() -> Section {
        let mut section = Section::empty();
        let properties = [
            ("path", json!({"type": "string"})),
            ("command", several(json!({"type": "string"}))),
            (
                "within_seconds",
                json!({"type": "integer", "minimum": 0, "default": 20}),
            ),
        ];
        for (key, value) in properties {
            section.properties.insert(key.to_owned(), value);
        }
        section
    }

    fn value(self) -> Value {
        let mut value = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": self.properties,
        });
        if !self.required.is_empty() {
            value["required"] = Value::from(self.required);
        }
        value
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn several(one: Value) -> Value {
    json!({"type": "array", "items": one})
}

/// What a key may be, with what the page says of it.
fn property(heading: &str, row: &Row) -> Value {
    let words = WORDS
        .iter()
        .find(|(at, key, _)| (*at, *key) == (heading, row.key.as_str()));
    let words = words.map(|(.., words)| *words);
    // What no type is known of may be anything.
    let mut value = kind(heading, row, words).unwrap_or(json!({}));
    let literal = row
        .default
        .strip_prefix('`')
        .and_then(|text| text.strip_suffix('`'));
    value["description"] = match literal {
        None if row.default.starts_with("required") => Value::from(row.is.clone()),
        None => Value::from(format!("{}. Default: {}", row.is, row.default)),
        Some(_) => Value::from(row.is.clone()),
    };
    if let Some(default) = literal.and_then(default) {
        value["default"] = default;
    }
    value
}

/// A default as a file would say it.
fn default(literal: &str) -> Option<Value> {
    let read: toml::Table = format!("it = {literal}").parse().ok()?;
    serde_json::to_value(read.get("it")?).ok()
}

/// The schema of a type, as the pages name types; none of a type that isn't known.
pub(crate) fn kind(heading: &str, row: &Row, words: Option<&[&str]>) -> Option<Value> {
    let text = || match words {
        Some(words) => json!({"type": "string", "enum": words}),
        None => json!({"type": "string"}),
    };
    let amount = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let count = || json!({"type": "integer", "minimum": 0});
    let rate = || json!({"type": ["string", "number"], "pattern": RATE});
    Some(match row.kind.as_str() {
        "text" | "path" => text(),
        "text, or texts" => json!({"anyOf": [text(), several(text())]}),
        "text or number" => json!({"type": ["string", "number"]}),
        "texts" | "command" => several(text()),
        "commands" => several(several(text())),
        "number" => count(),
        "numbers" => several(count()),
        "ratio" => json!({"type": "number", "exclusiveMinimum": 0}),
        "switch" => json!({"type": "boolean"}),
        "time" | "times" => amount(TIME),
        "rate" => rate(),
        "rates" => several(amount(RATE)),
        "share" => amount(SHARE),
        "size" => amount(SIZE),
        "sizes" => several(amount(SIZE)),
        "names" => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        "shares by figure" => {
            let each = words?.iter().map(|word| (word.to_string(), amount(SHARE)));
            let each: Map<String, Value> = each.collect();
            json!({"type": "object", "additionalProperties": false, "properties": each})
        }
        "table" | "tables" => of_tables(heading, row)?,
        _ => return None,
    })
}

/// A key that is a table or several: what stands in them.
fn of_tables(heading: &str, row: &Row) -> Option<Value> {
    let name = match (heading, row.key.as_str()) {
        ("[[rows]]", "workload") => "rows.workload",
        ("[[rows]]", "generator") => "generator",
        ("[[rows]]", "start") => "start",
        ("[[rows]]", "limits") => "limits",
        ("[[rows]]", "network") => "rows.network",
        ("[[phase]]", "faults") => "faults",
        ("[[companion]]", "ready") => "companion.ready",
        _ => return None,
    };
    Some(match row.kind.as_str() {
        "tables" => several(reference(name)),
        _ => reference(name),
    })
}
