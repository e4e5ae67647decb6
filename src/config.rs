//! TOML text (what was written) → `Config` (what it means); defaults in one table. Parses, never reads a file.
