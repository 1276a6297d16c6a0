//! Files of targets, in the formats that people have.
