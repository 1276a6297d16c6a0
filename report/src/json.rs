//! Models for programs.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use supervisor::document::indented;

use super::Report;

/// The whole report, indented, with a line end.
pub fn json(report: &Report) -> String {
    indented(report)
}

/// The JSON Schema of what is written for programs, of whatever kind: indented, with a line end.
/// What is always written is required.
pub fn schema_of<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    indented(
        settings
            .into_generator()
            .into_root_schema_for::<T>()
            .as_value(),
    )
}
