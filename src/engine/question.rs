//! Questions to the person, in the editor's own prompt, and what their answers mean.

use crate::acp::{Dialect, Fact, WantedBy, author};
use crate::base::{Leg, RequestKey};
use crate::engine::Engine;
use crate::engine::approvals::meant;
use crate::engine::conversation::About;
use crate::engine::docket::{Parcel, Question, Request, State};
use crate::ledger::{Approval, Channel, Decider, GrantScope, OptionShape, Outcome};
use crate::policy::{Effect, Form};
use crate::review::StandingAnswer;
use crate::router::InFlight;
use crate::wire::{IdToken, splice};
use bytes::Bytes;
use serde_json::{Value, json};

/// How our own answers are called.
const ALWAYS: &str = "hunkgate-always";
const ALWAYS_HERE: &str = "hunkgate-always-here";
const ONCE: &str = "hunkgate-once";
const REJECT: &str = "hunkgate-reject";
/// Bytes of a file that a question shows.
const SHOWN: usize = 32 * 1024;

/// The answers of a permission request, as far as they are understood.
#[derive(Clone, Debug, Default)]
pub(super) struct Understood {
    /// The one that allows once, when the whole set is understood.
    pub once: Option<String>,
    /// The one that rejects once, when the whole set is understood.
    pub reject: Option<String>,
}

impl Engine {
    /// Says what the answers mean that a permission request offers. Nothing is understood of a set that is not wholly plain.
    pub(super) fn options_of(&self, held: &Parcel) -> Understood {
        let of = |kind: &str| held.wanted.options.iter().filter(|it| it.kind == kind).collect::<Vec<_>>();
        let known = ["allow_once", "allow_always", "reject_once", "reject_always"];
        let plain = held.wanted.options.iter().all(|it| known.contains(&it.kind.as_str()));
        let mut ids: Vec<&str> = held.wanted.options.iter().map(|it| it.id.as_str()).collect();
        ids.sort_unstable();
        let distinct = ids.windows(2).all(|pair| pair[0] != pair[1]);
        let all = splice::find(&held.line, &["params", "options"])
            .is_some_and(|list| list.is_array() && list.elements().count() == held.wanted.options.len());
        let (once, reject, never) = (of("allow_once"), of("reject_once"), of("reject_always"));
        let switches = held.wanted.kind.as_deref() == Some("switch_mode");
        let subject = splice::find(&held.line, &["params", "subject", "type"]).and_then(|kind| kind.string());
        let known = ["tool_call", "command", "other"];
        if self.dialect == Dialect::V2 && !subject.is_some_and(|kind| known.contains(&kind.as_ref())) {
            return Understood::default();
        }
        if !plain || !distinct || !all || switches || once.len() != 1 || reject.len() + never.len() == 0 {
            return Understood::default();
        }
        Understood {
            once: once.first().map(|it| it.id.clone()),
            reject: reject.first().filter(|_| reject.len() == 1).map(|it| it.id.clone()),
        }
    }

    /// Asks the person, in the editor.
    pub(super) fn ask_person(&mut self, key: &RequestKey) {
        let Some(request) = self.docket.get(key).cloned() else { return };
        let Some(held) = request.held.as_deref() else { return };
        if held.question != Question::None {
            return;
        }
        if self.defers() {
            self.defer(key, &request);
        } else if held.wanted.by == WantedBy::Permission {
            self.ask_as_agent(key, &request, held);
        } else {
            self.ask_ourselves(key, &request, held);
        }
    }

    /// The agent's own request goes to the editor; "always" is ours.
    fn ask_as_agent(&mut self, key: &RequestKey, request: &Request, held: &Parcel) {
        let understood = self.options_of(held);
        let mut line = held.line.clone();
        let mut options = request.options.clone();
        let mut verbatim = true;
        if understood.once.is_some()
            && let Some((spliced, shown)) = self.with_our_always(request, held)
        {
            (line, options, verbatim) = (self.with_why(spliced, (request, held)), shown, false);
        }
        if held.again {
            return self.ask_again(key, request, (line, options));
        }
        let about = About::Permission { call: request.call.clone(), options: Vec::new() };
        let method = held.wanted.by.method();
        self.remember(Leg::Agent, Some(held.id.clone()), method, (Some(request.session.clone()), about));
        self.prompted_with(key, Question::Forwarded, (verbatim, options));
        self.send(Leg::Editor, line);
    }

    /// The agent's question under an id of ours: its own was taken back.
    fn ask_again(&mut self, key: &RequestKey, request: &Request, (line, options): (Bytes, Vec<OptionShape>)) {
        let id = self.originate_question(key, request);
        let Some(line) = splice::replace(&line, &["id"], id.as_str()) else {
            self.pending.withdraw(Leg::Editor, &id);
            return self.deny(key, Decider::System, "its call has said something else since");
        };
        self.prompted_with(key, Question::Ours(id), (false, options));
        self.send(Leg::Editor, line);
    }

    fn originate_question(&mut self, key: &RequestKey, request: &Request) -> IdToken {
        let about = InFlight {
            method: "session/request_permission".to_owned(),
            session: Some(request.session.clone()),
            at: self.now,
            payload: About::Question { request: key.clone() },
        };
        self.pending.originate(Leg::Editor, &mut self.minter, about)
    }

    /// Replaces the agent's "always" by ours, where that may be offered, else by nothing.
    fn with_our_always(&self, request: &Request, held: &Parcel) -> Option<(Bytes, Vec<OptionShape>)> {
        let once = |kind: &str| matches!(kind, "allow_once" | "reject_once");
        let list = splice::find(&held.line, &["params", "options"])?;
        let kept = list
            .elements()
            .filter(|it| it.member("kind").and_then(|kind| kind.string()).is_some_and(|kind| once(&kind)));
        let mut written: Vec<String> = kept.map(|it| it.get().to_owned()).collect();
        let mut shown: Vec<OptionShape> =
            request.options.iter().filter(|it| once(&it.kind)).cloned().collect();
        for (id, name) in self.always_options(request, held) {
            written.push(json!({ "optionId": id, "name": name, "kind": "allow_always" }).to_string());
            shown.push(self.ours(id, "allow_always", &name));
        }
        let line = splice::replace(&held.line, &["params", "options"], &format!("[{}]", written.join(",")))?;
        Some((line, shown))
    }

    /// Returns our own "always", for this session and for the workspace, where that may be offered.
    fn always_options(&self, request: &Request, held: &Parcel) -> Vec<(&'static str, String)> {
        let Some(text) = self.always(request, held) else { return Vec::new() };
        let mut offered = vec![(ALWAYS, name_of(&text, GrantScope::Session))];
        if self.standing_of(request).is_some() {
            offered.push((ALWAYS_HERE, name_of(&text, GrantScope::User)));
        }
        offered
    }

    fn ours(&self, id: &str, kind: &str, name: &str) -> OptionShape {
        let redact = |text: &str| self.setup.redactor.redact(text);
        OptionShape { id: redact(id), kind: kind.to_owned(), name: redact(name) }
    }

    /// Asks in place of a request that is no question itself.
    fn ask_ourselves(&mut self, key: &RequestKey, request: &Request, held: &Parcel) {
        let mut offered =
            vec![(ONCE, "allow_once", "Allow once".to_owned()), (REJECT, "reject_once", "Reject".to_owned())];
        let always = self.always_options(request, held);
        offered.extend(always.into_iter().map(|(id, name)| (id, "allow_always", name)));
        let shown = offered.iter().map(|(id, kind, name)| self.ours(id, kind, name)).collect();
        let options: Vec<Value> = offered
            .iter()
            .map(|(id, kind, name)| json!({ "optionId": id, "name": name, "kind": kind }))
            .collect();
        let params = json!({
            "sessionId": request.session.as_str(),
            "toolCall": self.card(key, request, held),
            "options": options,
        });
        let id = self.originate_question(key, request);
        let line = author::request(&id, "session/request_permission", &params);
        self.prompted_with(key, Question::Ours(id), (false, shown));
        self.send(Leg::Editor, line);
    }

    fn prompted_with(
        &mut self,
        key: &RequestKey,
        question: Question,
        (verbatim, options): (bool, Vec<OptionShape>),
    ) {
        let Some(request) = self.docket.get_mut(key) else { return };
        if let Some(held) = request.held.as_mut() {
            held.question = question;
        }
        let recorder = request.recorder.clone();
        let prompted =
            Approval::Prompted { request: key.clone(), channel: Channel::Editor, verbatim, options };
        self.approval(&recorder, prompted);
    }

    /// Describes a read, a write or a terminal for the person, exactly.
    fn card(&self, key: &RequestKey, request: &Request, held: &Parcel) -> Value {
        let why = held.finding.as_ref().and_then(|finding| finding.verdict.reasons.first());
        let why = why.map(|reason| visible(&reason.says)).into_iter();
        let opinions = held.opinions.iter().map(|opinion| visible(opinion));
        let before = self.approved_before(request);
        // A follow-up of a call that the person has seen stands in that call's card.
        let id = before.as_ref().and_then(|(call, _)| Some(call.as_ref()?.to_string()));
        let id = id.unwrap_or_else(|| format!("hunkgate-{}", key.as_str()));
        let before = before.map(|(_, says)| visible(&says));
        let why = before.into_iter().chain(why).chain(opinions).collect::<Vec<_>>().join("\n");
        let note = |text: String| json!({ "type": "content", "content": { "type": "text", "text": text } });
        match request.subject.effects() {
            [Effect::Write { path, new }, ..] => {
                let new = new.as_deref().unwrap_or_default();
                let end = (0..=new.len().min(SHOWN)).rev().find(|at| new.is_char_boundary(*at)).unwrap_or(0);
                let mut content =
                    vec![json!({ "type": "diff", "path": path, "oldText": null, "newText": &new[..end] })];
                if end < new.len() {
                    content.push(note(format!("The text is cut: {} of {} bytes are shown.", end, new.len())));
                }
                content.push(note(why));
                json!({ "toolCallId": id, "title": format!("Write {}", visible(path)), "kind": "edit", "status": "pending",
                        "content": content, "locations": [{ "path": path }] })
            }
            [Effect::Read { path }, ..] => {
                json!({ "toolCallId": id, "title": format!("Read {}", visible(path)), "kind": "read", "status": "pending",
                        "content": [note(why)], "locations": [{ "path": path }] })
            }
            [Effect::Exec { form, cwd, env }, ..] => {
                let text = match form {
                    Form::Text(text) => visible(text),
                    Form::Argv(argv) => visible(&argv.join(" ")),
                };
                let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
                json!({ "toolCallId": id, "title": text, "kind": "execute", "status": "pending", "content": [note(why)],
                        "rawInput": { "command": text, "cwd": cwd, "env": names } })
            }
            _ => {
                json!({ "toolCallId": id, "title": "Something else", "kind": "other", "status": "pending", "content": [note(why)] })
            }
        }
    }

    // ── answers ──

    /// The person's answer came: to the agent's own request (`line` is it), or to a question of ours.
    #[expect(clippy::wildcard_enum_match_arm, reason = "anything else is no answer to a permission")]
    pub(super) fn question_answered(&mut self, key: &RequestKey, fact: &Fact, line: Option<Bytes>) {
        let Some(request) = self.docket.get(key).filter(|request| request.state == State::Open).cloned()
        else {
            return;
        };
        let Some(held) = request.held.as_deref() else { return };
        if let Some(held) = self.docket.get_mut(key).and_then(|request| request.held.as_mut()) {
            held.question = Question::None;
        }
        self.answered_permission(&request.session, &held.id);
        let chosen = match fact {
            Fact::PermissionAnswered { option: Some(option) } => option.as_str(),
            Fact::PermissionAnswered { option: None } => return self.cancelled_by_editor(key, held, line),
            Fact::Failed { .. } => {
                return self.deny(key, Decider::Editor, "the editor answered with an error");
            }
            _ => return self.deny(key, Decider::Editor, "the editor's answer cannot be read"),
        };
        // The agent's own question that was put under an id of ours is answered in its own words.
        let line = match held.wanted.by {
            WantedBy::Permission => line.or_else(|| Some(author::selected_permission(&held.id, chosen))),
            WantedBy::FsRead | WantedBy::FsWrite | WantedBy::Terminal | WantedBy::Announced => line,
        };
        let ours = line.is_none();
        match chosen {
            ALWAYS if self.always(&request, held).is_some() => {
                self.always_chosen(key, (&request, held), GrantScope::Session);
            }
            ALWAYS_HERE if self.always(&request, held).is_some() && self.standing_of(&request).is_some() => {
                self.always_chosen(key, (&request, held), GrantScope::User);
            }
            ONCE if ours => {
                let option = self.ours(ONCE, "allow_once", "Allow once");
                self.allowed(key, (Decider::Editor, Some(option)), None);
            }
            REJECT if ours => self.deny(key, Decider::Editor, "the person said no"),
            _ if ours => self.deny(key, Decider::Editor, "an answer that was not offered"),
            chosen => self.agents_option(key, (&request, held), chosen, line),
        }
    }

    /// One of the agent's own answers was chosen.
    fn agents_option(
        &mut self,
        key: &RequestKey,
        (request, held): (&Request, &Parcel),
        chosen: &str,
        line: Option<Bytes>,
    ) {
        let option = held.wanted.options.iter().find(|option| option.id == chosen);
        let Some(option) = option else {
            return self.deny(key, Decider::Editor, "an answer that was not offered");
        };
        let shape = self.ours(&option.id, &option.kind, &option.name);
        let once: Vec<_> = held.wanted.options.iter().filter(|it| it.kind == "allow_once").collect();
        let switches = held.wanted.kind.as_deref() == Some("switch_mode");
        let answer = match (option.kind.as_str(), once.as_slice()) {
            // An agent's own "always" switches off more than it says.
            ("allow_always", [only]) if !switches => Some(author::selected_permission(&held.id, &only.id)),
            ("allow_always", _) if !switches => {
                return self.deny(
                    key,
                    Decider::Editor,
                    "\"always\" is not passed on, and nothing else allows",
                );
            }
            _ => line,
        };
        if meant(&option.kind) == Outcome::Deny {
            return self.rejected(key, (request, held), shape, answer);
        }
        self.allowed(key, (Decider::Editor, Some(shape)), answer);
    }

    /// The person said no, in the agent's own words.
    fn rejected(
        &mut self,
        key: &RequestKey,
        (request, held): (&Request, &Parcel),
        option: OptionShape,
        line: Option<Bytes>,
    ) {
        let never = option.kind == "reject_always";
        let once = self.options_of(held).reject;
        let answer = match once {
            Some(once) if never => Some(author::selected_permission(&held.id, &once)),
            Some(_) | None => line,
        };
        let Some(answer) = answer else { return self.deny(key, Decider::Editor, "the person said no") };
        self.decide_deny(key, option);
        self.docket.close(key);
        self.docket.answered(&held.id);
        self.send(Leg::Agent, answer);
        if let (Some(call), Some(recorder)) = (&request.call, self.recorder_of(&request.session)) {
            self.refused(&recorder, call);
        }
    }

    fn decide_deny(&mut self, key: &RequestKey, option: OptionShape) {
        let waited_ms = self.waited(key);
        let Some(request) = self.docket.get(key) else { return };
        let (recorder, binding, rev) = (request.recorder.clone(), request.binding.clone(), request.rev);
        let decided = Approval::Decided {
            request: key.clone(),
            rev,
            outcome: Outcome::Deny,
            by: Decider::Editor,
            option: Some(option),
            reason: None,
            waited_ms,
            binding,
        };
        self.decision(&recorder, decided);
    }

    fn cancelled_by_editor(&mut self, key: &RequestKey, held: &Parcel, line: Option<Bytes>) {
        let Some(request) = self.docket.get_mut(key) else { return };
        request.held = None;
        self.request_cancelled(key, "answered_cancelled");
        self.docket.answered(&held.id);
        match line {
            Some(line) => self.send(Leg::Agent, line),
            None if held.wanted.by == WantedBy::Permission => {
                self.send(Leg::Agent, author::cancelled_permission(&held.id));
            }
            None => {
                let answer = author::error_answer(&held.id, -32800, "cancelled", &Value::Null);
                self.send(Leg::Agent, answer);
            }
        }
    }

    /// "Always" is ours: a standing permission for exactly this, and the agent hears "once".
    fn always_chosen(&mut self, key: &RequestKey, (request, held): (&Request, &Parcel), scope: GrantScope) {
        let Some(text) = self.always(request, held) else { return };
        let answer = match held.wanted.by {
            WantedBy::Permission => match self.options_of(held).once {
                Some(once) => Some(author::selected_permission(&held.id, &once)),
                None => return self.deny(key, Decider::Editor, "nothing offered allows once"),
            },
            WantedBy::FsRead | WantedBy::FsWrite | WantedBy::Terminal | WantedBy::Announced => None,
        };
        let name = name_of(&text, scope);
        let standing = StandingAnswer { scope, uses: None, for_s: None };
        self.issue((key, request), Channel::Editor, (&name, &standing));
        let id = if scope == GrantScope::User { ALWAYS_HERE } else { ALWAYS };
        let option = self.ours(id, "allow_always", &name);
        self.allowed(key, (Decider::Editor, Some(option)), answer);
    }
}

/// Names a standing permission: it says exactly what it allows, and where.
pub(super) fn name_of(text: &str, scope: GrantScope) -> String {
    match scope {
        GrantScope::Session => format!("Always allow `{text}` in this session"),
        GrantScope::User => format!("Always allow `{text}` in this workspace"),
    }
}

/// Says whether a character would not be seen as it is.
pub(super) fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}

/// Writes text so that what cannot be seen is seen.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}
