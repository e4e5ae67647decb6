//! Who is told that something happens.

use std::sync::Arc;

/// Something to call from another thread.
#[derive(Clone)]
pub(crate) struct Listener(Arc<dyn Fn() + Send + Sync>);

impl Listener {
    pub(crate) fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    pub(crate) fn call(&self) {
        (self.0)();
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}
