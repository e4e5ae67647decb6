//! Who is let in: the address that was asked for, the page that asks, and the token.

use super::reply::Refusal;
use axum::http::{HeaderMap, Method, StatusCode, header, request::Parts};
use blake3::Hash;
use std::fmt::Write as _;
use std::sync::Mutex;

/// The tokens of one console and the names it answers to.
pub(super) struct Door {
    port: u16,
    /// The digest of the ticket, for as long as nobody used it. Digests compare in constant time.
    ticket: Mutex<Option<Hash>>,
    cookie: Secret,
    bearer: Secret,
}

/// A token with its digest.
struct Secret {
    text: String,
    hash: Hash,
}

impl Secret {
    fn draw() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        let text = bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let hash = blake3::hash(text.as_bytes());
        Ok(Self { text, hash })
    }

    fn is(&self, given: &str) -> bool {
        self.hash == blake3::hash(given.as_bytes())
    }
}

impl Door {
    /// Draws the tokens; returns the ticket beside the door.
    pub(super) fn new(port: u16) -> Result<(Self, String), getrandom::Error> {
        let (ticket, cookie, bearer) = (Secret::draw()?, Secret::draw()?, Secret::draw()?);
        let door = Self { port, ticket: Mutex::new(Some(ticket.hash)), cookie, bearer };
        Ok((door, ticket.text))
    }

    /// Returns the token for programs.
    pub(super) fn bearer(&self) -> &str {
        &self.bearer.text
    }

    /// Takes a ticket: the first one that fits buys the cookie, as the header that sets it.
    pub(super) fn redeem(&self, ticket: &str) -> Option<String> {
        let given = blake3::hash(ticket.as_bytes());
        let mut left = self.ticket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (*left == Some(given)).then(|| {
            *left = None;
            format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.cookie.text)
        })
    }

    /// Refuses a request that was not made to this console, or by a page of another place.
    pub(super) fn is_ours(&self, parts: &Parts) -> Result<(), Refusal> {
        let mut hosts = parts.headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let named = host.is_some_and(|host| self.is_our_name(host)) && hosts.next().is_none();
        let by_target = parts.uri.authority().is_none_or(|authority| self.is_our_name(authority.as_str()));
        if !(named && by_target) {
            return Err(Refusal::plain(StatusCode::MISDIRECTED_REQUEST, "this console has another address"));
        }
        let foreign = || Refusal::plain(StatusCode::FORBIDDEN, "a page of another place may not ask here");
        if self.origin(&parts.headers).is_some_and(|ours| !ours) {
            return Err(foreign());
        }
        // Another port of this machine is the same site to a cookie, and another origin to us.
        let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let followed = parts.method == Method::GET
            && parts.uri.path() == "/"
            && text("sec-fetch-mode") == Some("navigate");
        match text("sec-fetch-site") {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if followed => Ok(()),
            Some(_) => Err(foreign()),
        }
    }

    /// Refuses who has no token; a browser that changes something must say which page asks.
    pub(super) fn admit(&self, parts: &Parts) -> Result<(), Refusal> {
        if self.has_bearer(&parts.headers) {
            return Ok(());
        }
        if !self.has_cookie(&parts.headers) {
            return Err(Refusal::stranger());
        }
        if parts.method != Method::GET && self.origin(&parts.headers) != Some(true) {
            return Err(Refusal::plain(StatusCode::FORBIDDEN, "a page must say that it asks"));
        }
        Ok(())
    }

    /// Says whether the page that asks is ours, where it says which it is.
    fn origin(&self, headers: &HeaderMap) -> Option<bool> {
        let mut all = headers.get_all(header::ORIGIN).iter();
        let ours = |value: &axum::http::HeaderValue| {
            let name = value.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            name.is_some_and(|name| self.is_our_name(name))
        };
        let first = ours(all.next()?);
        Some(first && all.next().is_none())
    }

    fn is_our_name(&self, name: &str) -> bool {
        let port = name.strip_prefix("127.0.0.1:").or_else(|| name.strip_prefix("localhost:"));
        port.is_some_and(|port| port == self.port.to_string())
    }

    fn has_bearer(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        given.and_then(|given| given.strip_prefix("Bearer ")).is_some_and(|token| self.bearer.is(token))
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            given.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(key, value)| key == name && self.cookie.is(value))
    }

    /// Cookies are shared by all ports of a host, so each console has its own.
    fn cookie_name(&self) -> String {
        format!("hunkgate-{}", self.port)
    }
}
