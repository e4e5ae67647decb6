//! What an address says, read so that a refusal has the form of every other.

use super::reply::Refusal;
use axum::extract::FromRequestParts;
use axum::http::{StatusCode, request::Parts};
use serde::de::DeserializeOwned;

/// The names in a path.
pub(super) struct Path<T>(pub(super) T);

/// What stands behind the question mark.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let read = axum::extract::Path::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(names)| Self(names)).map_err(|error| unread(error.body_text()))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let read = axum::extract::Query::from_request_parts(parts, state).await;
        read.map(|axum::extract::Query(query)| Self(query)).map_err(|error| unread(error.body_text()))
    }
}

fn unread(why: String) -> Refusal {
    Refusal::Plain(StatusCode::BAD_REQUEST, format!("the address does not fit: {why}").into())
}
