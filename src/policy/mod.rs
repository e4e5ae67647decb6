//! **Job.** What a request wants, whether the rules allow it, and what must not be stored, logged or shown.
//!
//! **Words.** None in this version: requests are observed, never judged.
//!
//! **Uses.** `base`, `config`, `acp`, `session`, `ledger`.
//!
//! **Not here.** Names whose content is never kept (`store`, its patterns); the record of permission requests that passed
//! (`ledger`, `Event::PermissionSeen`); what a mode of an agent means (`config`).
