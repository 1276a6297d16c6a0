//! Values from one Lua state to another.

use mlua::{Lua, LuaString, Value};

/// Tables within tables; a table that holds itself has no end.
const DEPTH_MAX: usize = 100;

/// The value, copied into the state `to`; or nil and why it can't be.
pub(crate) fn copied(to: &Lua, value: &Value) -> mlua::Result<(Value, Option<String>)> {
    match copy(to, value, 0) {
        Ok(copy) => Ok((copy, None)),
        Err(Failure::Untransferable(why)) => Ok((Value::Nil, Some(why))),
        Err(Failure::Lua(error)) => Err(error),
    }
}

/// A string of another state.
pub(crate) fn text(to: &Lua, text: &LuaString) -> mlua::Result<LuaString> {
    to.create_string(text.as_bytes())
}

enum Failure {
    Untransferable(String),
    Lua(mlua::Error),
}

impl From<mlua::Error> for Failure {
    fn from(error: mlua::Error) -> Failure {
        Failure::Lua(error)
    }
}

fn copy(to: &Lua, value: &Value, depth: usize) -> Result<Value, Failure> {
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(truth) => Value::Boolean(*truth),
        Value::Integer(number) => Value::Integer(*number),
        Value::Number(number) => Value::Number(*number),
        Value::String(string) => Value::String(text(to, string)?),
        Value::Table(_) if depth >= DEPTH_MAX => {
            let why = format!("a table is nested more than {DEPTH_MAX} deep");
            return Err(Failure::Untransferable(why));
        }
        Value::Table(table) => {
            let copied = to.create_table()?;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair?;
                copied.raw_set(copy(to, &key, depth + 1)?, copy(to, &value, depth + 1)?)?;
            }
            Value::Table(copied)
        }
        other => {
            let kind = match other {
                Value::LightUserData(_) => "userdata",
                other => other.type_name(),
            };
            let fine = "only nil, booleans, numbers, strings and tables of these";
            let why = format!("can't copy a {kind} between threads, {fine}");
            return Err(Failure::Untransferable(why));
        }
    })
}
