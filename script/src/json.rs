//! The modules `cjson` and `json`, as far as Rust does them: Lua values to JSON and back.

use mlua::{Lua, LuaString, Table, Value};
use serde_json::Value as Json;

/// How deep values may be nested, as in serde_json.
const DEPTH_MAX: usize = 128;

/// Puts `encode`, `decode`, `null` and `array_mt` into the primitives.
///
/// `decode(text, nulls)` gives a value, or nil and why; `null` becomes the null of cjson, or nil.
/// `encode(value, settings)` gives a string, or nil and why.
pub(crate) fn install(lua: &Lua, native: &Table) -> mlua::Result<()> {
    let array_mt = lua.create_table()?;
    native.set("null", Value::NULL)?;
    native.set("array_mt", &array_mt)?;
    native.set(
        "decode",
        lua.create_function(|lua, (text, nulls): (Value, bool)| decode(lua, &text, nulls))?,
    )?;
    native.set(
        "encode",
        lua.create_function(move |lua, (value, settings): (Value, Table)| {
            let mut writer = Writer {
                lua,
                array_mt: &array_mt,
                escape_slash: settings.get("escape_slash")?,
                empty_as_object: settings.get("empty_as_object")?,
                convert_sparse: settings.get("convert_sparse")?,
                sparse_ratio: settings.get::<Option<f64>>("sparse_ratio")?.unwrap_or(2.0),
                sparse_safe: settings.get::<Option<f64>>("sparse_safe")?.unwrap_or(10.0),
                text: Vec::new(),
            };
            Ok(match writer.value(&value, 0) {
                Ok(()) => (Some(lua.create_string(&writer.text)?), None),
                Err(why) => (None, Some(why)),
            })
        })?,
    )
}

fn decode(lua: &Lua, text: &Value, nulls: bool) -> mlua::Result<(Value, Option<String>)> {
    let parsed = match text {
        Value::String(text) => serde_json::from_slice(&text.as_bytes()).map_err(|e| e.to_string()),
        other => Err(format!(
            "JSON is decoded from a string, not from {}",
            other.type_name()
        )),
    };
    match parsed {
        Ok(json) => Ok((to_lua(lua, &json, nulls)?, None)),
        Err(why) => Ok((Value::Nil, Some(why))),
    }
}

fn to_lua(lua: &Lua, json: &Json, nulls: bool) -> mlua::Result<Value> {
    Ok(match json {
        Json::Null if nulls => Value::NULL,
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Boolean(*truth),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (index, item) in items.iter().enumerate() {
                table.raw_set(index + 1, to_lua(lua, item, nulls)?)?;
            }
            Value::Table(table)
        }
        Json::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, value) in fields {
                table.raw_set(name.as_str(), to_lua(lua, value, nulls)?)?;
            }
            Value::Table(table)
        }
    })
}

struct Writer<'a> {
    lua: &'a Lua,
    array_mt: &'a Table,
    escape_slash: bool,
    empty_as_object: bool,
    convert_sparse: bool,
    sparse_ratio: f64,
    sparse_safe: f64,
    text: Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        match value {
            Value::Nil => self.text.extend_from_slice(b"null"),
            value if value.is_null() => self.text.extend_from_slice(b"null"),
            Value::Boolean(truth) => self.text.extend_from_slice(truth.to_string().as_bytes()),
            Value::Integer(_) | Value::Number(_) => {
                let digits = self.digits(value)?;
                self.text.extend_from_slice(&digits.as_bytes());
            }
            Value::String(text) => self.string(&text.as_bytes()),
            Value::Table(_) if depth >= DEPTH_MAX => {
                return Err(format!("a table is nested more than {DEPTH_MAX} deep"));
            }
            Value::Table(table) => return self.table(table, depth + 1),
            other => return Err(format!("can't encode a {} as JSON", other.type_name())),
        }
        Ok(())
    }

    /// As Lua writes numbers, with 14 digits; cjson does the same.
    fn digits(&self, number: &Value) -> Result<LuaString, String> {
        if number.as_f64().is_none_or(|number| !number.is_finite()) {
            return Err("can't encode NaN or infinity as JSON".into());
        }
        let text = self
            .lua
            .coerce_string(number.clone())
            .map_err(|e| e.to_string())?;
        text.ok_or_else(|| "can't encode a number as JSON".into())
    }

    fn table(&mut self, table: &Table, depth: usize) -> Result<(), String> {
        let marked = table
            .metatable()
            .is_some_and(|found| found == *self.array_mt);
        let length = match marked {
            true => Some(table.raw_len()),
            false => self.array_length(table)?,
        };
        match length {
            Some(length) if length > 0 || marked || !self.empty_as_object => {
                self.text.push(b'[');
                for index in 1..=length {
                    self.comma(index > 1);
                    let item: Value = table.raw_get(index).map_err(|e| e.to_string())?;
                    self.value(&item, depth)?;
                }
                self.text.push(b']');
            }
            _ => {
                self.text.push(b'{');
                for (index, pair) in table.pairs::<Value, Value>().enumerate() {
                    let (key, value) = pair.map_err(|e| e.to_string())?;
                    self.comma(index > 0);
                    self.key(&key)?;
                    self.value(&value, depth)?;
                }
                self.text.push(b'}');
            }
        }
        Ok(())
    }

    /// The length of a table whose keys are those of an array; otherwise nothing.
    fn array_length(&self, table: &Table) -> Result<Option<usize>, String> {
        let (mut last, mut count) = (0_usize, 0_usize);
        for pair in table.pairs::<Value, Value>() {
            let (key, _) = pair.map_err(|e| e.to_string())?;
            match key {
                Value::Integer(index) if index > 0 => last = last.max(index as usize),
                _ => return Ok(None),
            }
            count += 1;
        }
        let sparse = last as f64 > count as f64 * self.sparse_ratio && self.sparse_ratio > 0.0;
        match sparse && last as f64 > self.sparse_safe {
            true if self.convert_sparse => Ok(None),
            true => Err("can't encode an array with so many holes as JSON".into()),
            false => Ok(Some(last)),
        }
    }

    fn key(&mut self, key: &Value) -> Result<(), String> {
        match key {
            Value::String(name) => self.string(&name.as_bytes()),
            Value::Integer(_) | Value::Number(_) => {
                let digits = self.digits(key)?;
                self.string(&digits.as_bytes());
            }
            other => {
                let kind = other.type_name();
                return Err(format!(
                    "a key in JSON is a string or a number, not a {kind}"
                ));
            }
        }
        self.text.push(b':');
        Ok(())
    }

    fn comma(&mut self, wanted: bool) {
        if wanted {
            self.text.push(b',');
        }
    }

    /// RFC 8259 §7. Bytes that are no UTF-8 stay, as Lua knows only bytes.
    fn string(&mut self, bytes: &[u8]) {
        self.text.push(b'"');
        for &byte in bytes {
            match byte {
                b'"' | b'\\' => self.text.extend_from_slice(&[b'\\', byte]),
                b'/' if self.escape_slash => self.text.extend_from_slice(b"\\/"),
                b'\n' => self.text.extend_from_slice(b"\\n"),
                b'\r' => self.text.extend_from_slice(b"\\r"),
                b'\t' => self.text.extend_from_slice(b"\\t"),
                0..0x20 | 0x7f => {
                    self.text
                        .extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                }
                _ => self.text.push(byte),
            }
        }
        self.text.push(b'"');
    }
}
