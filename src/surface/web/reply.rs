//! Answers and problems as HTTP.

use crate::review::{Problem, ProblemKind};
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;

/// Why a request is not served.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not for us, or not in a form we take.
    Plain(StatusCode, Cow<'static, str>),
    /// No session has that id.
    NoSession,
    /// The ask could not be carried out.
    Problem(Problem),
}

impl Refusal {
    pub(super) fn plain(status: StatusCode, message: &'static str) -> Self {
        Self::Plain(status, message.into())
    }

    /// Who has no token.
    pub(super) fn stranger() -> Self {
        Self::plain(StatusCode::UNAUTHORIZED, "open the address that `hunkgate web` prints; it is good once")
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        match self {
            Self::Plain(status, message) => {
                let kind = if status.is_server_error() { ProblemKind::Internal } else { ProblemKind::User };
                error(status, &Problem::new(kind, message))
            }
            Self::NoSession => error(
                StatusCode::NOT_FOUND,
                &Problem::new(ProblemKind::User, "there is no such session")
                    .hint("GET /api/sessions lists them"),
            ),
            Self::Problem(problem) => error(status_of(problem.kind), &problem),
        }
    }
}

/// Returns the status of a problem: 422 for what the caller can fix, 502 for what it cannot.
fn status_of(kind: ProblemKind) -> StatusCode {
    if kind.rpc_code() == -32602 { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_GATEWAY }
}

fn error(status: StatusCode, problem: &Problem) -> Response<Body> {
    let data = json!({ "kind": problem.kind, "hint": problem.hint });
    let body =
        json!({ "error": { "code": problem.kind.rpc_code(), "message": problem.message, "data": data } });
    with_status(json_body(&body), status)
}

fn with_status(mut response: Response<Body>, status: StatusCode) -> Response<Body> {
    *response.status_mut() = status;
    response
}

/// Writes a value as JSON.
pub(super) fn json_body(value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(bytes) => typed("application/json", bytes),
        Err(_) => with_status(typed("application/json", b"{}".to_vec()), StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Writes a body of a type.
pub(super) fn typed(kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// What every answer says to the browser: nothing from elsewhere, nothing kept, nothing framed.
pub(super) const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];
