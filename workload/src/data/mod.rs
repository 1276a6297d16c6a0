//! Rows of data files, dealt out to workers.
