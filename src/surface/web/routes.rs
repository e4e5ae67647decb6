//! The routes: what is asked for → an ask → what comes back.

#![expect(clippy::wildcard_enum_match_arm, reason = "whatever else comes does not fit the question")]

use super::door::Door;
use super::feed::{self, Feeds};
use super::file;
use super::page;
use super::reading::{Path, Query};
use super::reply::{HEADERS, Refusal, json_body};
use crate::base::{Digest, SessionKey};
use crate::ledger::{Outcome, SessionRowShape, SessionsShape, Who};
use crate::review::{Answer, Ask, Decide, DecideVerb, DocketAsk, Problem, ProblemKind, Response, Selector};
use crate::surface::ink::Inks;
use crate::surface::methods::Asking;
use crate::surface::port::{Caller, Doors};
use crate::surface::terminal::counted;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse;
use axum::response::sse::Sse;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Bytes of a body.
const LONGEST_BODY: usize = 1024 * 1024;
/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(20);
/// Streams that are open at a time.
const MOST_STREAMS: usize = 64;
/// Asks that are carried out at a time.
const MOST_ASKS: usize = 6;

/// What all requests share.
pub(super) struct Shared {
    pub(super) doors: Arc<dyn Doors>,
    pub(super) door: Door,
    /// The session that the page opens first.
    pub(super) first: Option<String>,
    feeds: Arc<Feeds>,
    streams: Arc<Semaphore>,
    asks: Arc<Semaphore>,
    names: Mutex<BTreeMap<String, SessionKey>>,
    inks: OnceLock<Inks>,
}

/// One connection: who stands at its other end is found out once.
pub(super) struct Connection {
    pub(super) caller: Caller,
    pub(super) agents: OnceLock<bool>,
}

type Way = State<Arc<Shared>>;
type Line = Extension<Arc<Connection>>;
/// What goes back.
type Page = axum::http::Response<Body>;
type Reply = Result<Page, Refusal>;

impl Shared {
    pub(super) fn new(doors: Arc<dyn Doors>, door: Door, first: Option<String>) -> Self {
        Self {
            doors,
            door,
            first,
            feeds: Arc::default(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            asks: Arc::new(Semaphore::new(MOST_ASKS)),
            names: Mutex::default(),
            inks: OnceLock::new(),
        }
    }

    /// Finds a session by the id that its peer chose, or by its name on disk. An id is looked up and is never a path.
    fn session(&self, id: &str) -> Result<SessionKey, Refusal> {
        let known = |names: &BTreeMap<String, SessionKey>| names.get(id).cloned();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known(&names) {
            return Ok(key);
        }
        // Of two agents that chose one id, the one that was active last is meant.
        for SessionRowShape { session_id, key, .. } in self.doors.sessions()?.into_iter().rev() {
            names.insert(session_id.as_str().to_owned(), key.clone());
            names.insert(key.as_str().to_owned(), key);
        }
        known(&names).ok_or(Refusal::NoSession)
    }

    fn is_agents(&self, line: &Connection) -> bool {
        *line.agents.get_or_init(|| self.doors.is_agents(Some(&line.caller)))
    }

    /// Puts an ask; what decides is not taken from an agent's process.
    fn put(&self, line: &Connection, key: &SessionKey, (who, ask): (Who, Ask)) -> Answer {
        let agents = matches!(ask, Ask::Comment { .. }) || ask.decides();
        let agents = agents && self.is_agents(line);
        if agents && ask.decides() {
            let message = "a process that an agent started may not decide";
            return Answer::Problem(
                Problem::new(ProblemKind::Conflict, message)
                    .hint("decide in a browser or a terminal of your own"),
            );
        }
        let who = if agents && who == Who::Person { Who::Agent("agent".to_owned()) } else { who };
        self.doors.ask_for(key, who, ask)
    }
}

/// Makes the routes.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(front))
        .route("/api/console", get(console))
        .route("/api/sessions", get(sessions))
        .route("/api/session/{id}/status", get(status))
        .route("/api/session/{id}/review/hunks", get(hunks))
        .route("/api/session/{id}/review/hunks/{hunk}", get(show))
        .route("/api/session/{id}/review/file", get(whole_file))
        .route("/api/session/{id}/review/diff", get(diff))
        .route("/api/session/{id}/review/note", get(note))
        .route("/api/session/{id}/review/events", get(events))
        .route("/api/session/{id}/review/state", post(set_state))
        .route("/api/session/{id}/review/decide", post(decide))
        .route("/api/session/{id}/pending", get(pending))
        .route("/api/session/{id}/pending/{request}", post(respond))
        .route("/api/session/{id}/review/undo", post(undo))
        .route("/api/session/{id}/review/redo", post(redo))
        .route("/api/session/{id}/review/rebase", post(rebase))
        .route("/api/session/{id}/review/comment", post(comment))
        .route("/api/session/{id}/review/comment/{comment}/resolve", post(resolve))
        .fallback(part)
        .method_not_allowed_fallback(async || {
            Refusal::plain(StatusCode::METHOD_NOT_ALLOWED, "this is not asked that way")
        })
        .layer(from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}

/// Lets in who may come in, and says to the browser what holds for every answer.
async fn guard(State(shared): Way, request: Request, next: Next) -> Page {
    let mut response = match entrance(&shared, request) {
        Ok(request) => next.run(*request).await,
        Err(response) => *response,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

type Entered = Result<Box<Request>, Box<Page>>;

fn entrance(shared: &Shared, request: Request) -> Entered {
    let (parts, body) = request.into_parts();
    shared.door.is_ours(&parts).map_err(refused)?;
    let is_front = parts.uri.path() == "/" && parts.method == Method::GET;
    if is_front && let Some((ticket, rest)) = ticket(parts.uri.query().unwrap_or_default()) {
        if let Some(cookie) = shared.door.redeem(&ticket) {
            let mut response = page::threshold(&rest);
            if let Ok(value) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, value);
            }
            return Err(Box::new(response));
        }
        if shared.door.admit(&parts).is_ok() {
            return Err(Box::new(page::threshold(&rest)));
        }
    }
    if let Err(refusal) = shared.door.admit(&parts) {
        let mut response = refused(refusal);
        if is_front && response.status() == StatusCode::UNAUTHORIZED {
            response = Box::new(page::stranger());
            *response.status_mut() = StatusCode::UNAUTHORIZED;
        }
        return Err(response);
    }
    let length =
        parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > LONGEST_BODY as u64) {
        let mut response = refused(too_long());
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return Err(response);
    }
    Ok(Box::new(Request::from_parts(parts, body)))
}

fn refused(refusal: Refusal) -> Box<Page> {
    Box::new(refusal.into_response())
}

fn too_long() -> Refusal {
    Refusal::plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long")
}

/// Takes the ticket out of a query; what is left leads on.
fn ticket(query: &str) -> Option<(String, String)> {
    let is_ticket = |pair: &&str| pair.starts_with("token=");
    let ticket = query.split('&').find(is_ticket)?.trim_start_matches("token=").to_owned();
    let rest: Vec<&str> = query.split('&').filter(|pair| !is_ticket(pair)).collect();
    Some((ticket, if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) }))
}

// ── the page ──

async fn front() -> Page {
    page::page()
}

async fn part(request: Request) -> Reply {
    let found = (request.method() == Method::GET).then(|| page::part(request.uri().path())).flatten();
    found.ok_or(Refusal::plain(StatusCode::NOT_FOUND, "there is nothing here"))
}

// ── what is read ──

async fn console(State(shared): Way, Extension(line): Line) -> Reply {
    let own = Arc::clone(&shared);
    let agents = on_a_thread(&shared, move || own.is_agents(&line)).await?;
    let first = &shared.first;
    Ok(json_body(&json!({ "version": env!("CARGO_PKG_VERSION"), "session": first, "may_decide": !agents })))
}

#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    counted: bool,
}

async fn sessions(State(shared): Way, Query(query): Query<Counted>) -> Reply {
    let doors = Arc::clone(&shared.doors);
    let items = on_a_thread(&shared, move || {
        let rows = doors.sessions()?;
        Ok::<_, Problem>(if query.counted { counted(rows, doors.as_ref()) } else { rows })
    });
    let items = items.await??;
    Ok(json_body(&SessionsShape { items, next: None }))
}

async fn status(way: Way, line: Line, Path(id): Path<String>) -> Reply {
    match ask(way, line, id, Ask::Status).await? {
        Answer::Status(shape) => Ok(json_body(&shape)),
        other => unexpected(other),
    }
}

async fn hunks(State(shared): Way, Extension(line): Line, Path(id): Path<String>) -> Reply {
    let own = Arc::clone(&shared);
    let listed = on_a_thread(&shared, move || {
        let key = own.session(&id)?;
        match own.put(&line, &key, (Who::Person, Ask::Hunks { paths: Vec::new() })) {
            // It is large, and written where it was made.
            Answer::Listing(listing) => Ok(json_body(&listing)),
            other => unexpected(other),
        }
    });
    listed.await?
}

async fn show(way: Way, line: Line, Path((id, hunk)): Path<(String, String)>) -> Reply {
    match ask(way, line, id, Ask::Show { id: hunk }).await? {
        Answer::Shown(shape) => Ok(json_body(&shape)),
        other => unexpected(other),
    }
}

#[derive(Deserialize)]
struct Place {
    root: String,
    path: String,
}

/// A file from what is kept of it: nothing is opened by its name here.
async fn whole_file(
    State(shared): Way,
    Extension(line): Line,
    Path(id): Path<String>,
    Query(place): Query<Place>,
) -> Reply {
    let own = Arc::clone(&shared);
    let drawn = on_a_thread(&shared, move || {
        let key = own.session(&id)?;
        let full = format!("{}/{}", place.root.trim_end_matches('/'), place.path);
        let hunks = match own.put(&line, &key, (Who::Person, Ask::Hunks { paths: vec![full.clone()] })) {
            Answer::Listing(listing) => listing.hunks,
            other => return Err(misfit(other)),
        };
        let lines = match own.put(&line, &key, (Who::Person, Ask::Blame { path: full })) {
            Answer::Blame(blame) => Some(blame.lines),
            // A file that is gone has no lines; its hunks are drawn all the same.
            Answer::Problem(_) if !hunks.is_empty() => None,
            other => return Err(misfit(other)),
        };
        let hunks = hunks.into_iter().filter(|hunk| hunk.root == place.root && hunk.path == place.path);
        let asked = file::Asked { hunks: hunks.collect(), root: place.root, path: place.path, lines };
        Ok(json_body(&file::draw(own.inks.get_or_init(Inks::unpack), asked)))
    });
    drawn.await?
}

async fn diff(way: Way, line: Line, Path(id): Path<String>) -> Reply {
    match ask(way, line, id, Ask::Diff { selector: Selector::All }).await? {
        Answer::Diff(patch) => Ok(json_body(&patch)),
        other => unexpected(other),
    }
}

async fn note(way: Way, line: Line, Path(id): Path<String>) -> Reply {
    match ask(way, line, id.clone(), Ask::Note).await? {
        Answer::Note(note) => Ok(json_body(&json!({ "session_id": id, "note": note }))),
        other => unexpected(other),
    }
}

async fn events(State(shared): Way, Path(id): Path<String>, request: Request) -> Reply {
    let full = Refusal::plain(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open");
    let permit = Arc::clone(&shared.streams).try_acquire_owned().map_err(|_| full)?;
    let last = request.headers().get("last-event-id").and_then(|last| last.to_str().ok()).map(str::to_owned);
    let own = Arc::clone(&shared);
    let opened = on_a_thread(&shared, move || {
        let key = own.session(&id)?;
        let wanted = feed::Wanted { session_id: id, key, last, permit };
        Ok::<_, Refusal>(feed::open(&own.feeds, &own.doors, wanted))
    });
    Ok(Sse::new(opened.await??).into_response())
}

async fn pending(way: Way, line: Line, Path(id): Path<String>) -> Reply {
    docket(way, line, id, DocketAsk::Pending).await
}

// ── what is decided and said ──

async fn set_state(way: Way, line: Line, Path(id): Path<String>, request: Request) -> Reply {
    let body = body(request).await?;
    review(way, line, ("review.set_state", id), body).await
}

async fn rebase(way: Way, line: Line, Path(id): Path<String>, request: Request) -> Reply {
    let body = body(request).await?;
    review(way, line, ("review.rebase", id), body).await
}

async fn comment(way: Way, line: Line, Path(id): Path<String>, request: Request) -> Reply {
    let body = body(request).await?;
    review(way, line, ("review.comment", id), body).await
}

async fn resolve(
    way: Way,
    line: Line,
    Path((id, comment)): Path<(String, String)>,
    request: Request,
) -> Reply {
    let mut body = body(request).await?;
    if let Some(params) = body.as_object_mut() {
        params.insert("comment_id".to_owned(), json!(comment));
    }
    review(way, line, ("review.resolve_comment", id), body).await
}

/// A decision on any selection.
#[derive(Deserialize)]
struct DecideBody {
    verb: DecideVerb,
    selector: Selector,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    digests: Vec<Digest>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    now: bool,
}

async fn decide(way: Way, line: Line, Path(id): Path<String>, request: Request) -> Reply {
    let given: DecideBody = serde_json::from_value(body(request).await?).map_err(misread)?;
    let DecideBody { verb, selector, reason, digests, dry_run, force, now } = given;
    decided(way, line, id, Ask::Decide(Decide { verb, selector, reason, digests, dry_run, force, now })).await
}

/// An answer to a request that waits.
#[derive(Deserialize)]
struct ResponseBody {
    outcome: Outcome,
    rev: u32,
    #[serde(default)]
    reason: Option<String>,
}

async fn respond(way: Way, line: Line, Path((id, request)): Path<(String, String)>, sent: Request) -> Reply {
    let ResponseBody { outcome, rev, reason } = serde_json::from_value(body(sent).await?).map_err(misread)?;
    let response = Response { request, rev: Some(rev), outcome, reason, always: None };
    docket(way, line, id, DocketAsk::Respond(response)).await
}

async fn docket(way: Way, line: Line, id: String, wanted: DocketAsk) -> Reply {
    match ask(way, line, id, Ask::Docket(wanted)).await? {
        Answer::Docket(answer) => Ok(json_body(&answer.json())),
        other => unexpected(other),
    }
}

async fn undo(way: Way, line: Line, Path(id): Path<String>, request: Request) -> Reply {
    let dry_run = dry_run(&body(request).await?);
    decided(way, line, id, Ask::Undo { dry_run }).await
}

async fn redo(way: Way, line: Line, Path(id): Path<String>, request: Request) -> Reply {
    let dry_run = dry_run(&body(request).await?);
    decided(way, line, id, Ask::Redo { dry_run }).await
}

fn dry_run(body: &Value) -> bool {
    body.get("dry_run").and_then(Value::as_bool).unwrap_or(false)
}

async fn decided(way: Way, line: Line, id: String, wanted: Ask) -> Reply {
    match ask(way, line, id, wanted).await? {
        Answer::Decided(shape) => Ok(json_body(&shape)),
        other => unexpected(other),
    }
}

// ── how ──

/// Puts one of the documented methods, verbatim.
async fn review(
    State(shared): Way,
    Extension(line): Line,
    (method, id): (&'static str, String),
    params: Value,
) -> Reply {
    let own = Arc::clone(&shared);
    let result = on_a_thread(&shared, move || {
        let key = own.session(&id)?;
        let mut params = params;
        if let Some(params) = params.as_object_mut() {
            params.insert("session_id".to_owned(), json!(id));
        }
        let asking = Asking::read(method, params)?;
        let answer = own.put(&line, &key, (asking.who(), asking.ask()?));
        Ok::<_, Refusal>(json_body(&asking.result(answer)?))
    });
    result.await?
}

async fn ask(State(shared): Way, Extension(line): Line, id: String, ask: Ask) -> Result<Answer, Refusal> {
    let own = Arc::clone(&shared);
    let answer = on_a_thread(&shared, move || {
        let key = own.session(&id)?;
        Ok::<_, Refusal>(own.put(&line, &key, (Who::Person, ask)))
    });
    answer.await?
}

/// Works where it may wait. The work is done to its end also when nobody waits for it any more.
async fn on_a_thread<T: Send + 'static>(
    shared: &Shared,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let ending = || Refusal::plain(StatusCode::SERVICE_UNAVAILABLE, "the console is ending");
    let permit = Arc::clone(&shared.asks).acquire_owned().await.map_err(|_| ending())?;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    done.await.map_err(|_| Refusal::plain(StatusCode::INTERNAL_SERVER_ERROR, "the ask failed"))
}

/// Reads the JSON object of a request.
async fn body(request: Request) -> Result<Value, Refusal> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if essence != Some("application/json") {
        return Err(Refusal::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is application/json"));
    }
    let read = tokio::time::timeout(BODY_PATIENCE, to_bytes(request.into_body(), LONGEST_BODY)).await;
    let late = |_| Refusal::plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive");
    let bytes = read.map_err(late)?.map_err(|_| too_long())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(misread)?;
    if value.is_object() { Ok(value) } else { Err(unfit("the body is no object")) }
}

fn misread(error: serde_json::Error) -> Refusal {
    unfit(format!("the body does not fit: {error}"))
}

fn unfit(message: impl Into<String>) -> Refusal {
    Refusal::Problem(Problem::new(ProblemKind::User, message))
}

fn unexpected(answer: Answer) -> Reply {
    Err(misfit(answer))
}

fn misfit(answer: Answer) -> Refusal {
    match answer {
        Answer::Problem(problem) => Refusal::Problem(problem),
        _ => Refusal::Problem(Problem::new(ProblemKind::Internal, "the answer does not fit the question")),
    }
}
