// The page. What is far away is empty and keeps its height; what is near is drawn.

import { $, arrange, h, plain, settle, shown } from '/dom.js';
import * as model from '/model.js';
import { drawn, entryText, inked } from '/diff.js';

const { state } = model;
const LINE = 20, HEAD = 62, CHUNK = 120;

export const view = { act: {}, files: new Map(), cards: new Map(), heads: new Map(), entries: new Map() };

// ── what is near ──

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const block = entry.target;
    if (entry.isIntersecting) fill(block);
    else if (!block.contains(document.activeElement)) empty(block);
  }
}, { rootMargin: '1200px 0px' });

const fills = new WeakMap();

function lazy(block, height, make) {
  fills.set(block, make);
  block.style.minHeight = `${height}px`;
  near.observe(block);
  return block;
}

function fill(block) {
  if (block.dataset.full) return;
  block.dataset.full = '1';
  const content = fills.get(block)?.();
  if (content) block.replaceChildren(...content.filter(Boolean));
  block.style.minHeight = '';
}

function empty(block) {
  if (!block.dataset.full) return;
  block.style.minHeight = `${block.offsetHeight}px`;
  delete block.dataset.full;
  block.querySelectorAll('.chunk').forEach((chunk) => near.unobserve(chunk));
  block.replaceChildren();
}

function refill(block) {
  if (!block.dataset.full) return;
  delete block.dataset.full;
  fill(block);
}

// ── a hunk ──

const STATE = { unreviewed: 'undecided', accepted: 'accepted', rejected: 'rejected' };

function badges(hunk) {
  const grade = hunk.evidence.grade;
  const calls = hunk.calls.map((call) => h('button', {
    class: 'call', title: `${call.kind || 'call'} ${plain(call.tool_call_id)} · everything of it`, on: { click: () => view.act.search(call.tool_call_id) },
  }, shown(call.title || call.tool_call_id), call.turn ? h('span', { class: 'dim' }, ` · turn ${call.turn}`) : null));
  const candidates = hunk.evidence.candidates.length
    ? h('span', { class: 'badge con', title: hunk.evidence.candidates.map((call) => plain(call.title || call.tool_call_id)).join('\n') }, `${hunk.evidence.candidates.length} candidates: `, hunk.evidence.candidates.map((call) => plain(call.title || call.tool_call_id)).join(', ')) : null;
  const others = hunk.evidence.sessions.map((one) => h('span', { class: 'badge ext' }, `by ${plain(one.agent)}, session ${plain(one.session_id)}`));
  return [
    h('span', { class: `badge state ${hunk.state}` }, hunk.reject_pending ? 'reject waits for the turn’s end' : STATE[hunk.state]),
    h('span', { class: `badge grade ${grade}`, title: model.GRADES[grade] }, grade.replace('_', ' ')),
    hunk.mixed && h('span', { class: 'badge con', title: 'some lines carry a call and others do not' }, 'mixed'),
    hunk.reapplied && h('span', { class: 'badge con', title: 'it was rejected before and is back' }, hunk.returned > 1 ? `came back ${hunk.returned} times` : 'came back'),
    (hunk.approved_differs || []).length > 0 && h('span', { class: 'badge con', title: 'another text was allowed than was left here' }, 'not what was approved'),
    hunk.evidence.vcs && h('span', { class: 'badge', title: 'HEAD moved, and this is its content' }, 'vcs'),
    hunk.locked && h('span', { class: 'badge con' }, plain(hunk.locked)),
    ...calls, candidates, ...others,
  ];
}

function where(hunk) {
  const { start, end } = hunk.current_range;
  if (hunk.entry.kind !== 'text') return hunk.entry.kind;
  if (end <= start) return `at line ${start}`;
  return end - start === 1 ? `line ${start}` : `lines ${start}–${end - 1}`;
}

function controls(hunk) {
  const button = (name, act, title, kind = '') => h('button', { class: `${kind}`, title, on: { click: () => act(hunk) } }, name);
  return h('span', { class: 'controls' },
    hunk.state !== 'accepted' && button('Accept', view.act.accept, 'keep it (a)', 'good'),
    model.isOurs(hunk) && hunk.state !== 'rejected' && button('Reject', view.act.reject, 'put it back on disk (x)', 'bad'),
    model.isOurs(hunk) && hunk.state !== 'rejected' && button('Reject…', view.act.rejectWithReason, 'put it back, and tell the agent why (r)', 'bad'),
    !model.isOurs(hunk) && ['contested', 'in_turn'].includes(hunk.evidence.grade) && button('Reject anyway…', view.act.force, 'put back what may be somebody else’s (!)', 'bad'),
    button('Comment', view.act.comment, 'say something to the agent (c)'),
    button('Why', view.act.explain, 'calls, evidence, history (i)'));
}

function card(hunk) {
  const file = view.files.get(fileKey(hunk));
  const rows = model.isFolded(hunk) ? [] : drawn(hunk, file);
  const said = entryText(hunk);
  const counts = [h('ins', {}, `+${model.lines(model.after(hunk)).length}`), ' ', h('del', {}, `−${model.lines(model.before(hunk)).length}`)];
  const head = h('header', { class: 'card-head' },
    h('button', { class: 'icon fold', 'aria-expanded': String(!model.isFolded(hunk)), 'aria-label': 'Fold or unfold', on: { click: () => view.act.fold(hunk) } }, model.isFolded(hunk) ? '▸' : '▾'),
    h('h3', { id: `t-${hunk.id}` }, state.order === 'file' ? null : h('span', { class: 'path' }, shown(model.placeOf(hunk)), ' '), where(hunk), ' ', h('span', { class: 'counts' }, counts)),
    h('code', { class: 'id', title: hunk.id }, hunk.id.slice(0, 8)),
    h('span', { class: 'badges' }, badges(hunk)),
    controls(hunk));
  const body = h('div', { class: `code ${state.split ? 'split' : ''}`, role: 'group', 'aria-label': 'Changed lines', tabIndex: -1 });
  for (let at = 0; at < rows.length; at += CHUNK) {
    const part = rows.slice(at, at + CHUNK);
    const block = h('div', { class: 'chunk' });
    if (rows.length <= CHUNK) block.append(...part.map((draw) => draw()));
    else lazy(block, part.length * LINE, () => part.map((draw) => draw()));
    body.append(block);
  }
  return [head, said && h('p', { class: 'entry' }, said), body, h('div', { class: 'comments' }, model.commentsOf(hunk).map(comment)), h('div', { class: 'form-place' })];
}

export function comment(one) {
  const lines = one.line_end > one.line_start ? `lines ${one.line_start}–${one.line_end}` : `line ${one.line_start}`;
  return h('div', { class: `comment ${one.resolved ? 'resolved' : ''}`, data: { comment: one.id } },
    h('div', { class: 'comment-head' }, h('strong', {}, plain(one.author)), ` on ${lines}`,
      one.outdated && h('span', { class: 'badge con' }, 'outdated'), one.resolved && h('span', { class: 'badge' }, 'settled')),
    h('div', { class: 'comment-body' }, shown(one.body)),
    one.outdated && one.excerpt && h('details', {}, h('summary', {}, 'the lines it was made on'), h('pre', {}, shown(one.excerpt))),
    h('div', { class: 'controls' },
      h('button', { on: { click: () => view.act.reply(one) } }, 'Reply'),
      !one.resolved && h('button', { title: 'settle it (v)', on: { click: () => view.act.resolve(one) } }, 'Settle')),
    h('div', { class: 'form-place' }));
}

export const fileKey = (hunk) => `${hunk.root}\u0000${hunk.path}`;

function shell(hunk) {
  const comments = model.commentsOf(hunk).map((one) => `${one.id}${one.resolved}${one.outdated}${one.line_start}`).join();
  const file = view.files.get(fileKey(hunk));
  const print = model.print(hunk, `${comments}|${state.order === 'file'}|${file?.stamp || ''}`);
  let article = view.cards.get(hunk.id);
  const height = () => HEAD + (model.isFolded(hunk) ? 0 : (model.lines(model.before(hunk)).length + model.lines(model.after(hunk)).length) * LINE);
  if (!article) {
    article = h('article', { class: 'card', id: `h-${hunk.id}`, tabIndex: -1, data: { id: hunk.id }, 'aria-label': `${plain(hunk.path)}, ${where(hunk)}` });
    view.cards.set(hunk.id, article);
    article.dataset.print = print;
    lazy(article, height(), () => { view.act.near(hunk.id); return card(model.hunk(hunk.id) || hunk); });
  } else if (article.dataset.print !== print && !article.querySelector('form')) {
    // What is being filled in stays: the card is drawn anew when that is over.
    article.dataset.print = print;
    if (!article.dataset.full) article.style.minHeight = `${height()}px`;
    const held = article.contains(document.activeElement) && document.activeElement !== article;
    refill(article);
    if (held) article.focus({ preventScroll: true });
  }
  article.className = `card ${hunk.state} ${model.isOurs(hunk) ? '' : 'theirs'}`;
  if (state.cursor === hunk.id) article.setAttribute('aria-current', 'true');
  else article.removeAttribute('aria-current');
  return article;
}

// ── the stream ──

function sectionHead(section) {
  const owed = section.hunks.filter(model.isOwed).length;
  const what = { file: 'file', call: 'call', turn: 'turn', none: 'rest' }[section.kind];
  // The buttons decide what was shown: other hunks are another head, also where they are as many.
  const print = `${section.title}|${owed}|${section.hunks.map((one) => `${one.id} ${one.digest} ${one.state}`).join()}`;
  let head = view.heads.get(section.key);
  if (!head) {
    head = h('div', { class: `section-head ${section.kind}`, data: { key: section.key } });
    view.heads.set(section.key, head);
  }
  if (head.dataset.print === print) return head;
  const hadFocus = head.contains(document.activeElement);
  head.dataset.print = print;
  head.replaceChildren(...[
    h('h2', { tabIndex: -1 }, shown(section.title), section.kind === 'call' && section.turn ? h('span', { class: 'dim' }, ` · turn ${section.turn}`) : null),
    h('span', { class: 'dim' }, owed ? `${owed} undecided` : section.hunks.every((one) => one.state !== 'unreviewed') ? 'reviewed' : 'nothing owed'),
    h('span', { class: 'controls' },
      owed > 0 && h('button', { class: 'good', 'aria-label': `Accept ${what} ${plain(section.title)}`, title: `accept what is undecided here${section.kind === 'file' ? ' (A)' : ''}`, on: { click: () => view.act.decideAll(section, 'accept') } }, `Accept ${what}`),
      owed > 0 && h('button', { class: 'bad', 'aria-label': `Reject ${what} ${plain(section.title)}`, title: `reject what is undecided here${section.kind === 'file' ? ' (X)' : ''}`, on: { click: () => view.act.decideAll(section, 'reject') } }, `Reject ${what}`),
      section.kind === 'file' && h('button', { 'aria-label': `Whole file ${plain(section.title)}`, title: 'every line with who wrote it (b)', on: { click: () => view.act.whole(section.root, section.path) } }, 'Whole file')),
  ].filter(Boolean));
  if (hadFocus) head.firstChild.focus({ preventScroll: true });
  return head;
}

function groupHead(group) {
  const key = `g:${group[0].id}`;
  const print = `${group.map((one) => one.id).join()}|${group[0].state}`;
  let head = view.heads.get(key);
  if (!head) {
    head = h('div', { class: 'group-head', role: 'group', 'aria-label': 'Hunks that lie close together' });
    view.heads.set(key, head);
  }
  if (head.dataset.print === print) return head;
  head.dataset.print = print;
  const [first] = group;
  head.replaceChildren(...[
    h('span', { class: 'dim' }, `${group.length} hunks close together: one key decides them`),
    h('span', { class: 'controls' },
      first.state !== 'accepted' && h('button', { class: 'good', title: 'keep them (a)', on: { click: () => view.act.decideGroup(first, 'accept') } }, `Accept ${group.length}`),
      model.isOurs(first) && first.state !== 'rejected' && h('button', { class: 'bad', title: 'put them back on disk (x)', on: { click: () => view.act.decideGroup(first, 'reject') } }, `Reject ${group.length}`),
      h('button', { title: 'each by itself (z)', on: { click: () => view.act.divide(first) } }, 'Divide')),
  ].filter(Boolean));
  return head;
}

export function stream() {
  const all = model.sections();
  const known = model.roots(all);
  const nodes = [], fresh = [];
  let root = null;
  for (const section of all) {
    if (section.kind === 'file' && known.size > 1 && section.root !== root) {
      root = section.root;
      const key = `r:${root}`;
      if (!view.heads.has(key)) view.heads.set(key, h('div', { class: 'root-head' }, h('h2', {}, shown(root))));
      nodes.push(view.heads.get(key));
    }
    nodes.push(sectionHead(section));
    for (const group of model.groups(section.hunks)) {
      if (group.length > 1) nodes.push(groupHead(group));
      group.forEach((hunk, at) => {
        if (!view.cards.has(hunk.id)) fresh.push(hunk.id);
        const article = shell(hunk);
        article.classList.toggle('joined', at > 0);
        nodes.push(article);
      });
    }
  }
  arrange($('stream'), nodes);
  fillInSight(fresh);
  forget(new Set(nodes));
  tree(all);
  after(all);
}

const list = h('ul', {});

// Lets go of what is listed no more.
function forget(drawn) {
  const hunks = state.listing?.hunks || [];
  const [ids, files] = [new Set(hunks.map((one) => one.id)), new Set(hunks.map(fileKey))];
  for (const [id, article] of view.cards) if (!ids.has(id)) { near.unobserve(article); view.cards.delete(id); }
  for (const key of view.files.keys()) if (!files.has(key)) view.files.delete(key);
  for (const [key, head] of view.heads) if (!drawn.has(head)) view.heads.delete(key);
}

// What comes into sight is drawn with the frame in which it comes, not one later.
function fillInSight(fresh) {
  // All are measured before the first is drawn: each drawing would have the page laid out anew.
  const isInSight = (card) => { const box = card.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
  fresh.map((id) => view.cards.get(id)).filter(isInSight).forEach(fill);
}

function tree(all) {
  if (!list.isConnected) $('tree').append(list);
  arrange(list, all.map(treeEntry));
  const known = new Set(all.map((section) => section.key));
  for (const key of view.entries.keys()) if (!known.has(key)) view.entries.delete(key);
}

// An entry is drawn again only where it says something else.
function treeEntry(section) {
  const owed = section.hunks.filter(model.isOwed).length;
  const isCurrent = section.hunks.some((one) => one.id === state.cursor);
  let entry = view.entries.get(section.key);
  if (!entry) {
    entry = h('li', {});
    view.entries.set(section.key, entry);
  }
  entry.dataset.hunk = section.hunks[0].id;
  const print = `${section.title}|${owed}|${isCurrent}`;
  if (entry.dataset.print === print) return entry;
  const hadFocus = entry.contains(document.activeElement);
  entry.dataset.print = print;
  entry.replaceChildren(h('button', { class: owed ? 'owes' : '', 'aria-current': isCurrent ? 'true' : null, on: { click: () => view.act.go(entry.dataset.hunk) } },
    h('span', { class: 'name' }, ...(section.kind === 'file' ? split(section.path) : [plain(section.title)])),
    h('span', { class: 'number', 'aria-label': owed ? `${owed} undecided` : 'nothing undecided' }, owed || '✓')));
  if (hadFocus) entry.firstChild.focus({ preventScroll: true });
  return entry;
}

function split(path) {
  const at = path.lastIndexOf('/');
  return [h('span', { class: 'dim' }, plain(path.slice(0, at + 1))), plain(path.slice(at + 1))];
}

function after(all) {
  const listing = state.listing;
  const parts = [];
  if (listing && !all.length) {
    const nothing = !listing.hunks.length;
    parts.push(h('p', { class: 'nothing' }, nothing ? 'Nothing differs from where the session began.' : state.search ? 'Nothing fits the filter.' : 'Everything is reviewed.'));
  }
  const loose = model.looseComments();
  if (loose.length) {
    parts.push(h('h2', {}, 'Comments on other lines'), ...loose.map((one) => h('div', { class: 'loose' }, h('code', {}, shown(model.placeOf(one))), comment(one))));
  }
  if (listing?.superseded.length) {
    parts.push(h('h2', {}, 'Superseded calls'), h('p', { class: 'dim' }, 'Nothing is left of what these wrote.'),
      h('ul', {}, listing.superseded.map((call) => h('li', {}, shown(call.title || call.tool_call_id), h('span', { class: 'dim' }, ` ${plain(call.tool_call_id)}${call.turn ? ` · turn ${call.turn}` : ''}`)))));
  }
  if (listing?.integrity.skips.length) {
    parts.push(h('h2', {}, 'Records that could not be read'),
      h('ul', {}, listing.integrity.skips.map((skip) => h('li', {}, `${skip.record.kind}${skip.record.root ? ` ${plain(skip.record.root)}` : ''}, line ${skip.line}: ${plain(skip.reason)}`))));
  }
  settle($('after'), parts);
}

// ── what stands above ──

export function top() {
  const { listing, status } = state;
  const { done, all } = model.progress();
  $('progress').max = Math.max(all, 1);
  $('progress').value = done;
  $('count').textContent = `${done} of ${all} reviewed`;
  $('live').textContent = state.live ? 'live' : 'not connected';
  $('live').className = `live ${state.live ? 'on' : ''}`;
  $('unreviewed').setAttribute('aria-pressed', String(state.unreviewed));
  $('layout').setAttribute('aria-pressed', String(state.split));
  const chip = (name, value, title, kind = '') => h('span', { class: `chip ${kind}`, title }, h('span', { class: 'dim' }, `${name} `), value);
  const policy = listing?.policy;
  const chips = [];
  if (policy) {
    const words = (word) => (word || 'unknown').replace('_', '-');
    chips.push(chip('asked for', words(policy.configured), 'what the configuration asks for in this mode'),
      chip('in force', words(policy.effective), 'what can be enforced on this agent', policy.effective !== policy.configured ? 'weaker' : ''),
      chip('enforced on', policy.enforced_on.join(', ') || 'nothing', 'the messages that are held before a write'));
    if (policy.mode) chips.push(chip('mode', plain(policy.mode), 'the agent’s mode'));
  }
  if (status) {
    chips.push(chip('agent', plain(`${status.agent.name} ${status.agent.version || ''}`.trim()), 'the agent'));
    if (!status.gated) chips.push(chip('not gated', 'writes without asking', 'this agent’s changes are reviewed after the turn', 'weaker'));
    if (status.notes_pending) chips.push(chip('notes', `${status.notes_pending} for the agent`, 'go with the next prompt'));
    const { external } = status.queue;
    if (external) chips.push(chip('with no call', external, 'contested, in turn or external: listed, never owed'));
  }
  settle($('chips'), chips);
  notices();
}

function notices() {
  const { listing, status } = state;
  const parts = [];
  if (state.lost) parts.push(h('div', { class: 'notice bad', role: 'alert' }, h('strong', {}, 'Not connected: '), 'the console does not answer, and what is shown here may be old. It is tried again; where the console has ended, start ', h('code', {}, 'hunkgate web'), '.'));
  const gate = listing?.gate || state.gate;
  if (gate) {
    parts.push(h('div', { class: 'notice loud', role: 'alert' }, h('strong', {}, 'A write waits for your review: '), `${plain(gate.tool)} `, h('code', {}, shown(model.placeOf(gate))),
      h('span', { class: 'controls' }, h('button', { on: { click: () => view.act.goFile(gate) } }, 'Show the file'))));
  }
  for (const root of (listing?.degraded || []).filter((one) => one.degraded)) {
    parts.push(h('div', { class: 'notice bad' }, h('strong', {}, 'Degraded: '), h('code', {}, shown(root.root)), `: ${plain(root.degraded)}. Nothing here can be trusted to be the whole difference. `,
      h('span', { class: 'controls' }, h('button', { class: 'bad', on: { click: () => view.act.rebase(root.root) } }, 'Take a new base…'))));
  }
  for (const warning of status?.warnings || []) parts.push(h('div', { class: 'notice' }, plain(warning)));
  if (state.console && !state.console.may_decide) parts.push(h('div', { class: 'notice bad' }, 'An agent started this browser: nothing can be decided from it.'));
  settle($('notices'), parts);
}

// ── what waits for a person ──

const EFFECT = {
  exec: (one) => one.text ?? (one.argv || []).join(' '), write: (one) => one.new?.text ?? null, fetch: (one) => one.url, opaque: (one) => one.title,
  move: (one) => `${one.from} → ${one.to}`,
};

function effect(one) {
  const exact = EFFECT[one.effect]?.(one);
  const facts = Object.entries(one).filter(([key, value]) => !['effect', 'text', 'url', 'title'].includes(key) && value !== null && !(Array.isArray(value) && !value.length))
    .map(([key, value]) => h('div', { class: 'fact' }, h('span', { class: 'dim' }, `${key} `), h('code', {}, shown(typeof value === 'string' ? value : JSON.stringify(value)))));
  return h('div', { class: 'effect' }, h('span', { class: 'badge' }, one.effect), one.path && h('code', {}, shown(String(one.path))), exact !== null && exact !== undefined && h('pre', {}, shown(String(exact))), facts);
}

export function waiting() {
  const cards = state.pending.map((one) => h('section', { class: 'waits', data: { key: one.key, rev: one.rev }, 'aria-label': 'A request waits' },
    h('header', {}, h('strong', {}, one.resume === 'open' ? 'The agent waits for you' : 'Undecided'), ' ', h('span', {}, shown(one.summary)), h('code', { class: 'id' }, plain(one.key))),
    (one.record?.effects || []).map(effect),
    one.reasons.length > 0 && h('p', { class: 'dim' }, shown(String(one.reasons[0]))),
    one.resume === 'open' ? h('div', { class: 'controls' },
      h('button', { class: 'good', on: { click: () => view.act.respond(one, 'allow') } }, 'Approve exactly this'),
      h('button', { class: 'bad', on: { click: () => view.act.respond(one, 'deny') } }, 'Deny'),
      h('button', { class: 'bad', on: { click: () => view.act.denyWithReason(one) } }, 'Deny…'),
      one.shown === 'editor' && h('span', { class: 'dim' }, 'also asked in the editor; the first answer counts'))
      : h('p', { class: 'dim' }, one.resume === 'ask_again' ? 'Its proxy is gone: the agent has to ask again.' : 'The editor has the question; it is only recorded here.')));
  const held = document.activeElement, stood = held?.closest('.waits');
  settle($('waiting'), cards);
  // Where the same revision is drawn anew its button keeps the focus; where another is, nobody has seen that yet.
  if (!stood || held.isConnected) return;
  const same = [...$('waiting').children].find((one) => one.dataset.key === stood.dataset.key && one.dataset.rev === stood.dataset.rev);
  [...same?.querySelectorAll('button') || []].find((one) => one.textContent === held.textContent)?.focus({ preventScroll: true });
}

// ── words ──

let fading;
export function say(text) {
  $('toast').textContent = text;
  $('toast').classList.add('on');
  clearTimeout(fading);
  fading = setTimeout(() => $('toast').classList.remove('on'), 4000);
}

export function complain(trouble) {
  $('alarm').replaceChildren(h('span', {}, plain(trouble.message), trouble.hint ? ` — ${plain(trouble.hint)}` : ''),
    h('button', { class: 'icon', 'aria-label': 'Dismiss', on: { click: () => $('alarm').replaceChildren() } }, '×'));
}

// A question with one text: resolves to the text, or null.
export function form(place, { label, button, lines = null }) {
  place.querySelector('form')?.remove();
  return new Promise((done) => {
    const area = h('textarea', { rows: 3, 'aria-label': label, placeholder: label });
    const range = lines === null ? null : h('input', { value: lines, 'aria-label': 'Lines', size: 9 });
    const end = (value) => { made.remove(); stream(); done(value); };
    const made = h('form', { class: 'ask', on: {
      submit: (event) => { event.preventDefault(); if (area.value.trim()) end({ text: area.value.trim(), lines: range?.value }); },
      keydown: (event) => {
        event.stopPropagation();
        if (event.key === 'Escape') { event.preventDefault(); end(null); }
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); made.requestSubmit(); }
      },
    } }, range && h('label', {}, 'Lines ', range), area, h('div', { class: 'controls' },
      h('button', { class: 'good', type: 'submit', title: 'Ctrl+Enter' }, button), h('button', { type: 'button', on: { click: () => end(null) } }, 'Cancel')));
    place.append(made);
    area.focus();
  });
}

// A panel over the page; resolves when it is closed.
export function dialog(title, content, buttons = []) {
  const box = $('dialog');
  return new Promise((done) => {
    const close = (value) => { box.close(); done(value); };
    box.replaceChildren(h('div', { class: 'dialog-head' }, h('h2', { id: 'dialog-title' }, title), h('button', { class: 'icon', 'aria-label': 'Close', on: { click: () => close(null) } }, '×')), h('div', { class: 'dialog-body' }, content),
      buttons.length ? h('div', { class: 'controls' }, buttons.map(([name, value, kind]) => h('button', { class: kind || '', on: { click: () => close(value) } }, name))) : '');
    box.oncancel = () => done(null);
    if (!box.open) box.showModal();
  });
}

// Every line of a file; only those in sight are drawn.
export function wholeFile(path, file, hunks) {
  const tone = new Map();
  for (const hunk of hunks) {
    for (let line = hunk.current_range.start; line < hunk.current_range.end; line += 1) {
      const who = model.author(hunk, 'after', line);
      const kind = who && ['contested', 'base_unknown'].includes(who.grade) ? 'contested' : who && ['external', 'in_turn'].includes(who.grade) ? 'external' : hunk.state;
      tone.set(line, kind);
    }
  }
  const all = file.lines || [];
  const inner = h('div', { class: 'whole-inner' });
  inner.style.height = `${all.length * LINE}px`;
  const outer = h('div', { class: 'whole', tabIndex: 0, role: 'group', 'aria-label': `Lines of ${plain(path)}` }, inner);
  const author = (line) => line.author === 'base' ? '' : line.calls.map((call) => plain(call.title || call.tool_call_id)).join(', ') || line.author;
  const draw = () => {
    const from = Math.max(0, Math.floor(outer.scrollTop / LINE) - 30), to = Math.min(all.length, from + Math.ceil((outer.clientHeight || 800) / LINE) + 60);
    inner.replaceChildren(...all.slice(from, to).map((line, index) => {
      const row = h('div', { class: `blame ${tone.get(line.line) || (line.author === 'base' ? '' : line.author === 'call' ? 'accepted' : 'external')}`, title: line.grade ? `${line.grade}: ${author(line)}` : 'base' },
        h('span', { class: 'by' }, author(line)), h('span', { class: 'no' }, line.line), h('code', {}, inked(line.text, file.runs[from + index])));
      row.style.top = `${(from + index) * LINE}px`;
      return row;
    }));
  };
  outer.style.height = `min(72vh, ${all.length * LINE + 4}px)`;
  outer.addEventListener('scroll', () => requestAnimationFrame(draw), { passive: true });
  requestAnimationFrame(draw);
  const key = [['unreviewed', 'undecided'], ['accepted', 'accepted'], ['external', 'external'], ['contested', 'contested']].map(([kind, name]) => h('span', { class: `key ${kind}` }, name));
  return all.length ? [h('div', { class: 'keys' }, key), outer] : h('p', {}, 'The file is gone, or its lines cannot be shown.');
}
