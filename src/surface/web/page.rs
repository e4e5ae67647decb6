//! The page and its parts. They are built in: nothing comes from elsewhere.

use super::reply::typed;
use axum::body::Body;
use axum::http::Response;

/// The parts: path, type, content.
const PARTS: &[(&str, &str, &str)] = &[
    ("/app.css", "text/css; charset=utf-8", include_str!("assets/app.css")),
    ("/api.js", "text/javascript; charset=utf-8", include_str!("assets/api.js")),
    ("/dom.js", "text/javascript; charset=utf-8", include_str!("assets/dom.js")),
    ("/diff.js", "text/javascript; charset=utf-8", include_str!("assets/diff.js")),
    ("/model.js", "text/javascript; charset=utf-8", include_str!("assets/model.js")),
    ("/view.js", "text/javascript; charset=utf-8", include_str!("assets/view.js")),
    ("/app.js", "text/javascript; charset=utf-8", include_str!("assets/app.js")),
    ("/icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    // A browser asks for it of a page that names none.
    ("/favicon.ico", "image/svg+xml", include_str!("assets/icon.svg")),
];

/// Returns a part of the page.
pub(super) fn part(path: &str) -> Option<Response<Body>> {
    let (_, kind, content) = PARTS.iter().find(|(known, _, _)| *known == path)?;
    Some(typed(kind, *content))
}

/// Returns the page.
pub(super) fn page() -> Response<Body> {
    typed("text/html; charset=utf-8", include_str!("assets/index.html"))
}

/// Returns what leads from the address with the ticket to the page: a step of our own, so that a strict cookie goes along.
pub(super) fn threshold(query: &str) -> Response<Body> {
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=/{}\"><title>hunkgate</title>",
        escaped(query)
    );
    typed("text/html; charset=utf-8", text)
}

/// What is shown who has no token.
pub(super) fn stranger() -> Response<Body> {
    let text = "<!doctype html><meta charset=\"utf-8\"><title>hunkgate</title><h1>hunkgate</h1>\
        <p>Open the address that <code>hunkgate web</code> prints. It is good once.</p>";
    typed("text/html; charset=utf-8", text)
}

/// Keeps what a query may hold; the rest goes.
fn escaped(query: &str) -> String {
    query
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "?&=%-_.~+:/".contains(*c))
        .collect::<String>()
        .replace('&', "&amp;")
}
