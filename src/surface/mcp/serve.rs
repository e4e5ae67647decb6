//! The server: what a client asks of it, over the crate that speaks the Model Context Protocol.

use super::owed::Owed;
use super::tools::Tools;
use crate::review::Problem;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    MetaObject, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{QuitReason, RequestContext, ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

/// Bytes of one message.
const LONGEST: usize = 4 * 1024 * 1024;

/// What the model is told of the tools as a whole.
const INSTRUCTIONS: &str = "What coding agents changed, hunk by hunk, with the tool calls that did it. Review a session and comment on its hunks; the person decides.";

/// A server of one client.
#[derive(Debug)]
pub struct Server {
    tools: Arc<Tools>,
    /// Calls are carried out one after the other, as they came; other requests are answered meanwhile.
    turn: tokio::sync::Mutex<()>,
}

impl Server {
    /// Makes a server.
    pub fn new(tools: Tools) -> Self {
        Self { tools: Arc::new(tools), turn: tokio::sync::Mutex::new(()) }
    }

    /// Serves over this process's standard streams until the client closes its end.
    pub fn run_stdio(self) -> io::Result<()> {
        runtime()?.block_on(async {
            let (input, output) = rmcp::transport::stdio();
            self.serve(input, output).await
        })
    }

    /// Serves until the client closes its end.
    pub fn run(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        runtime()?.block_on(self.serve(input, output))
    }

    async fn serve(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        // A last line without its end is a message all the same.
        let input = input.chain(io::Cursor::new(b"\n"));
        let lines = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST);
        let running = match serve_server(self, Owed::new(lines)).await {
            Ok(running) => running,
            // The client went away before it said who it is.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(()),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("hunkgate", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = serde_json::from_value(self.tools.list())
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _ours = self.turn.lock().await;
        let tools = Arc::clone(&self.tools);
        let client = context.client_info().map(|client| client.name);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let called =
            tokio::task::spawn_blocking(move || tools.call(client.as_deref(), &request.name, arguments));
        let outcome = called.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(shown(outcome).into())
    }
}

/// A problem is the result of a tool, which the model reads.
fn shown(outcome: Result<Value, Problem>) -> CallToolResult {
    match outcome {
        Ok(value) => CallToolResult::structured(value),
        Err(problem) => {
            let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            let text = format!("{}{hint}", problem.message);
            let told = json!({ "code": problem.kind.rpc_code(), "kind": problem.kind, "hint": problem.hint });
            let mut meta = MetaObject::default();
            meta.insert("hunkgate".to_owned(), told);
            CallToolResult::error(vec![ContentBlock::text(text)]).with_meta(Some(meta))
        }
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
