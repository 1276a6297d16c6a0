//! What only this driver does; the rest is in the conformance suite.
