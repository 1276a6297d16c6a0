//! Steps with templates: compiled once, made into requests as often as needed.
