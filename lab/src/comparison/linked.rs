//! The network that a file asks for. What it wants between both sides needs a private one, which
//! the same file may have refused.

use supervisor::document::{BadFile, Document};

use super::{Wanted, Written};

/// What the file says of its network.
pub(super) fn network(written: &Written) -> netns::Wanted {
    let network = written.network.as_ref();
    network.map_or_else(netns::Wanted::default, |said| said.get_ref().clone())
}

/// Refuses a link in the host's network, which nobody may change.
pub(super) fn check(
    written: &Written,
    wanted: &[Wanted],
    document: &Document,
) -> Result<(), BadFile> {
    let Some(network) = written
        .network
        .as_ref()
        .filter(|said| !said.get_ref().private)
    else {
        return Ok(());
    };
    let of_all = network.get_ref().link.first_key();
    let of_all = of_all.map(|key| (key, network.span()));
    let of_row = |row: &Wanted| Some((row.network.first_key()?, row.name.span()));
    let Some((key, span)) = of_all.or_else(|| wanted.iter().find_map(of_row)) else {
        return Ok(());
    };
    let what = format!("`{key}` needs a private network: remove `private = false`");
    Err(document.fault(Some(span), what))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn refused(text: &str) -> Option<String> {
        let read = Document::of::<Written>(Path::new("a.toml"), text.to_owned());
        let (mut written, document) = read.expect("a comparison");
        let wanted = crate::comparison::wanted(&mut written, &document).expect("rows");
        let refused = check(&written, &wanted, &document).err();
        refused.map(|bad| bad.to_string())
    }

    #[test]
    fn what_is_between_both_sides_needs_the_private_network_that_a_file_refuses() {
        let host = "[network]\nprivate = false\n";
        let row = |network: &str| {
            format!("[[rows]]\nname = \"a\"\nsubject = \"a\"\nnetwork = {{ {network} }}\n")
        };
        let of_all = refused(&format!("subjects = [\"a\"]\n{host}delay = \"5ms\"\n"));
        let of_all = of_all.expect("a delay");
        assert!(
            of_all.starts_with("a.toml:2:1: `delay` needs a private"),
            "{of_all}"
        );
        let of_row = refused(&format!("{host}{}", row("bandwidth = \"1Mbit\"")));
        let of_row = of_row.expect("a bandwidth");
        let says = "`bandwidth` needs a private network: remove `private = false`";
        let is_there = of_row.starts_with("a.toml:4:") && of_row.contains(says);
        assert!(is_there, "{of_row}");
        assert_eq!(refused(&format!("{host}{}", row(""))), None);
        assert_eq!(
            refused("subjects = [\"a\"]\n[network]\nloss = \"1%\"\n"),
            None
        );
        assert_eq!(refused(&row("delay = \"5ms\"")), None);
    }
}
