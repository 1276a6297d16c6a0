use super::*;

#[test]
fn an_idle_connection_is_small() {
    // Its buffers belong to the driver's pool while nothing is in them.
    assert!(
        size_of::<Option<Connection>>() <= 272,
        "{}",
        size_of::<Option<Connection>>()
    );
}
