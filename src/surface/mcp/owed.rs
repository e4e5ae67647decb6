//! A transport whose end waits for the answers that are owed.

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Hides the end of the input until every request has its answer: the crate gives answers five seconds from there on.
pub(super) struct Owed<T> {
    inner: T,
    debts: Arc<Debts>,
    /// Something was asked.
    begun: bool,
}

#[derive(Default)]
struct Debts {
    ids: Mutex<Vec<RequestId>>,
    paid: Notify,
}

impl<T> Owed<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, debts: Arc::default(), begun: false }
    }
}

impl<T: Transport<RoleServer>> Owed<T> {
    /// Receives a message. Before anything was asked nothing is told that counts: the crate would end the session at it.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let received = self.inner.receive().await;
            self.begun |= matches!(received, None | Some(JsonRpcMessage::Request(_)));
            if self.begun {
                return received;
            }
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Owed<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let debts = Arc::clone(&self.debts);
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let sent = self.inner.send(item);
        async move {
            let outcome = sent.await;
            if let Some(id) = answered {
                debts.pay(&id);
            }
            outcome
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let received = self.next().await;
        match &received {
            Some(JsonRpcMessage::Request(request)) => self.debts.owe(request.id.clone()),
            // Who takes a request back gets no answer.
            Some(JsonRpcMessage::Notification(note)) => {
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.debts.pay(id);
                }
            }
            Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) => {}
            None => self.debts.settled().await,
        }
        received
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

impl Debts {
    fn owe(&self, id: RequestId) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    fn pay(&self, id: &RequestId) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).retain(|owed| owed != id);
        self.paid.notify_one();
    }

    async fn settled(&self) {
        while !self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            self.paid.notified().await;
        }
    }
}
