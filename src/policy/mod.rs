//! **Job.** What a request wants, and whether the rules allow it; what must not be stored, logged or shown.
//!
//! **Uses.** base, config, acp, session, ledger.
