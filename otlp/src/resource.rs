//! Whom it comes from.

use crate::messages::{KeyValue, Resource, Scope};
use crate::span::{key_value, random};

/// What all that is sent says of the process that sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Which run it is.
    pub run: String,
    /// The machine that makes the load.
    pub host: String,
    /// Our version.
    pub version: String,
    /// The names of the steps, where there are several.
    pub steps: Vec<String>,
}

impl About {
    /// Attributes by OpenTelemetry's semantic conventions. Of two runs of the same name the
    /// instances differ.
    pub(crate) fn resource(&self) -> Resource {
        let text = |key: &str, value: &str| -> KeyValue { key_value(key, value.into()) };
        let attributes = vec![
            text("service.name", "ringside"),
            text("service.version", &self.version),
            text("service.instance.id", &instance()),
            text("host.name", &self.host),
            text("ringside.run", &self.run),
        ];
        Resource { attributes }
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope {
            name: "ringside".to_owned(),
            version: self.version.clone(),
        }
    }
}

/// A random UUID (RFC 9562 §5.4), as the convention asks for.
fn instance() -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random());
    bytes[8..].copy_from_slice(&random());
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_a_random_uuid() {
        let (one, other) = (instance(), instance());
        assert_ne!(one, other);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }
}
