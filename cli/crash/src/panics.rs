//! Panics of any thread of this process: an assertion that fails in a background task must not stay there.

use parking_lot::Mutex;
use std::sync::Once;

static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
static INSTALL: Once = Once::new();

/// Begins to note panics.
pub(crate) fn watch() {
    INSTALL.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            SEEN.lock().push(panic.to_string());
            before(panic);
        }));
    });
}

/// The panics since the last call.
#[must_use]
pub(crate) fn take() -> Vec<String> {
    std::mem::take(&mut SEEN.lock())
}
