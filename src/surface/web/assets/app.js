// What is done: keys and buttons become posts, what moves becomes a new listing.

import { $, h, plain, settle, shown } from '/dom.js';
import { get, listen, of, post } from '/api.js';
import * as model from '/model.js';
import { complain, dialog, fileKey, form, say, stream, top, view, waiting, wholeFile } from '/view.js';

const { state } = model;
const query = new URLSearchParams(location.search);

// ── what is known ──

let loading = null, again = false;

// One listing at a time; what moved meanwhile is one more.
async function refresh() {
  if (loading) { again = true; return loading; }
  loading = (async () => {
    do {
      again = false;
      const session = state.session;
      try {
        const listing = await get(of(session, 'review/hunks'));
        if (session !== state.session) { again = true; continue; }
        take(listing);
      } catch (trouble) { complain(trouble); }
    } while (again);
    loading = null;
  })();
  return loading;
}

function take(listing) {
  const before = model.order().map((hunk) => hunk.id);
  state.listing = listing;
  if (!listing.gate) state.gate = null;
  if (state.cursor && !model.hunk(state.cursor)) {
    // The next one that is still there.
    const at = before.indexOf(state.cursor);
    const left = new Set(model.order().map((hunk) => hunk.id));
    state.cursor = before.slice(at + 1).find((id) => left.has(id)) || before.slice(0, Math.max(at, 0)).reverse().find((id) => left.has(id)) || null;
  }
  if (!state.cursor) state.cursor = (model.order().find(model.isOwed) || model.order()[0])?.id || null;
  for (const hunk of listing.hunks) want(hunk, false);
  draw();
}

function draw() {
  stream();
  top();
  if (!performance.getEntriesByName('queue').length) requestAnimationFrame(() => setTimeout(() => performance.mark('queue')));
}

// What is answered for a session that is no longer shown is nobody's.
async function refreshPart(path, keep) {
  const { session } = state;
  try {
    const answer = await get(of(session, path));
    if (session === state.session) keep(answer);
  } catch (trouble) { if (session === state.session) complain(trouble); }
}

const refreshStatus = () => refreshPart('status', (answer) => { state.status = answer; top(); });
const refreshPending = () => refreshPart('pending', (answer) => { state.pending = answer.items; waiting(); });

// ── the texts of files that are near ──

const reading = new Map();
const queue = [];
let readers = 0;

const stampOf = (key) => (state.listing?.hunks || []).filter((hunk) => fileKey(hunk) === key).map((hunk) => hunk.digest).join(' ');

function want(hunk, isNear) {
  const key = fileKey(hunk);
  const held = view.files.get(key);
  if (!isNear && !held) return;
  if (hunk.path_bytes || hunk.entry.kind === 'summary' || hunk.entry.kind === 'outside') return;
  const stamp = stampOf(key);
  if (held?.stamp === stamp || reading.get(key) === stamp) return;
  if (held && !isNear && !view.cards.get(hunk.id)?.dataset.full) { view.files.delete(key); return; }
  reading.set(key, stamp);
  queue.push([key, hunk.root, hunk.path, stamp]);
  pump();
}

async function pump() {
  while (readers < 2 && queue.length) {
    const [key, root, path, stamp] = queue.shift();
    readers += 1;
    readFile(key, root, path, stamp).finally(() => { readers -= 1; pump(); });
  }
}

async function readFile(key, root, path, stamp) {
  try {
    const file = await get(of(state.session, `review/file?root=${encodeURIComponent(root)}&path=${encodeURIComponent(path)}`));
    if (stampOf(key) !== stamp) return;
    const own = state.listing.hunks.filter((hunk) => fileKey(hunk) === key && hunk.entry.kind === 'text').sort((a, b) => a.current_range.start - b.current_range.start);
    file.stamp = stamp;
    file.neighbours = {};
    own.forEach((hunk, at) => {
      file.neighbours[hunk.id] = { before: own[at - 1]?.current_range.end ?? 1, after: own[at + 1]?.current_range.start ?? Infinity };
    });
    view.files.set(key, file);
    stream();
  } catch { /* drawn without colours */ } finally { if (reading.get(key) === stamp) reading.delete(key); }
}

view.act.near = (id) => { const hunk = model.hunk(id); if (hunk) want(hunk, true); };

// ── deciding ──

const outcome = (decided) => {
  const done = decided.items.filter((item) => item.outcome === 'done').length;
  const queued = decided.items.filter((item) => item.outcome === 'queued').length;
  const parts = [];
  const verb = { accept: 'accepted', reject: 'put back', undo: 'undone', redo: 'redone' }[decided.verb] || decided.verb;
  if (done) parts.push(`${done} ${verb}`);
  if (queued) parts.push(`${queued} wait for the turn’s end`);
  if (!done && !queued) parts.push('nothing was done');
  return parts.join(', ');
};

async function decide(hunks, verb, extra = {}) {
  if (!hunks.length) return say('nothing is undecided here');
  const next = following(hunks);
  const body = { verb, selector: { by: 'ids', of: hunks.map((hunk) => hunk.id) }, digests: hunks.map((hunk) => hunk.digest), ...extra };
  await put(post(of(state.session, 'review/decide'), body), next);
}

async function put(sent, next) {
  try {
    const decided = await sent;
    say(outcome(decided));
    const refused = decided.items.filter((item) => item.outcome === 'refused');
    if (refused.length) complain({ message: refused.map((item) => `${model.placeOf(item)}: ${item.reason}`).slice(0, 3).join(' · '), hint: refused.length > 3 ? `and ${refused.length - 3} more` : null });
    else $('alarm').replaceChildren();
    if (next && !refused.length) state.cursor = next;
  } catch (trouble) { complain(trouble); }
  await refresh();
  refreshStatus();
  if (next) show(state.cursor, true);
}

// The next hunk that is owed behind those that are decided now.
function following(hunks) {
  const all = model.order();
  const gone = new Set(hunks.map((hunk) => hunk.id));
  const at = Math.max(...hunks.map((hunk) => all.findIndex((one) => one.id === hunk.id)));
  const rest = [...all.slice(at + 1), ...all.slice(0, Math.max(at, 0))].filter((one) => !gone.has(one.id));
  return (rest.find(model.isOwed) || null)?.id || null;
}

const current = () => model.hunk(state.cursor);
const placeOf = (id) => view.cards.get(id)?.querySelector(':scope > .form-place');

Object.assign(view.act, {
  accept: (hunk) => decide([hunk], 'accept'),
  reject: (hunk) => decide([hunk], 'reject'),
  // What a key decides: of a group that is decided in part, the undecided part.
  decideGroup(hunk, verb, extra) {
    const target = verb === 'accept' ? 'accepted' : 'rejected';
    const stands = model.unit(hunk.id).filter((one) => one.state !== target);
    const open = stands.filter((one) => one.state === 'unreviewed');
    decide(open.length ? open : stands, verb, extra);
  },
  divide(hunk) {
    const group = model.unit(hunk.id);
    if (group.length > 1) group.slice(1).forEach((one) => state.divided.add(one.id));
    else for (const one of model.hunksOf(hunk)) state.divided.delete(one.id);
    stream();
    show(state.cursor, true);
  },
  async rejectWithReason(hunk, together = false) {
    show(hunk.id, true);
    const given = await form(placeOf(hunk.id), { label: 'Why? The agent reads it with the next prompt.', button: 'Reject' });
    if (given && together) view.act.decideGroup(hunk, 'reject', { reason: given.text });
    else if (given) decide([hunk], 'reject', { reason: given.text });
    else view.cards.get(hunk.id)?.focus({ preventScroll: true });
  },
  async force(hunk) {
    const agreed = await dialog('Reject although it is in doubt?', h('p', {}, `The lines of ${plain(hunk.path)} are ${hunk.evidence.grade.replace('_', ' ')}${hunk.mixed ? ' and mixed' : ''}: they may be somebody else’s. They would be put back as they were when the session began.`), [['Reject', true, 'bad'], ['Keep', null]]);
    if (agreed) decide([hunk], 'reject', { force: true });
  },
  decideAll: (section, verb) => decide(section.hunks.filter(model.isOwed), verb),
  async comment(hunk) {
    show(hunk.id, true);
    const { start, end } = hunk.current_range;
    const given = await form(placeOf(hunk.id), { label: 'For the agent, with the next prompt.', button: 'Comment', lines: end > start + 1 ? `${start}-${end - 1}` : `${start}` });
    if (given) commentOn(hunk.root, hunk.path, given);
    else view.cards.get(hunk.id)?.focus({ preventScroll: true });
  },
  async reply(one) {
    const place = document.querySelector(`[data-comment="${CSS.escape(one.id)}"] .form-place`);
    const given = await form(place, { label: `To ${one.author}; the agent reads it with the next prompt.`, button: 'Reply' });
    if (given) commentOn(one.root, one.path, { text: given.text, lines: one.line_end > one.line_start ? `${one.line_start}-${one.line_end}` : `${one.line_start}` });
  },
  async resolve(one) {
    try { await post(of(state.session, `review/comment/${encodeURIComponent(one.id)}/resolve`)); say('settled'); } catch (trouble) { complain(trouble); }
    refresh();
  },
  async explain(hunk) {
    try {
      const told = await get(of(state.session, `review/hunks/${hunk.id}`));
      const rows = (calls) => h('ul', {}, calls.map((call) => h('li', {}, shown(call.title || call.tool_call_id), h('span', { class: 'dim' }, ` ${plain(call.kind || '')} ${plain(call.tool_call_id)}${call.turn ? ` · turn ${call.turn}` : ''} · session ${plain(call.session_id)}`))));
      const grades = Object.entries(told.hunk.evidence.grades).map(([grade, count]) => h('li', {}, `${count} lines ${grade.replace('_', ' ')}: ${model.GRADES[grade]}`));
      await dialog(`${plain(hunk.path)}`, [h('p', {}, shown(told.explanation)), h('h3', {}, 'Evidence'), h('ul', {}, grades),
        told.hunk.calls.length ? [h('h3', {}, 'Calls'), rows(told.hunk.calls)] : null, told.hunk.evidence.candidates.length ? [h('h3', {}, 'Candidates'), rows(told.hunk.evidence.candidates)] : null,
        h('h3', {}, 'History'), told.history.length ? h('ul', {}, told.history.map((one) => h('li', {}, `${new Date(one.at / 1e6).toLocaleString()}: ${one.state} by ${plain(one.by)} (${one.channel})`, one.reason ? [': ', shown(one.reason)] : null))) : h('p', {}, 'Nobody decided on it.')]);
      view.cards.get(hunk.id)?.focus({ preventScroll: true });
    } catch (trouble) { complain(trouble); }
  },
  fold(hunk) {
    if (model.isFolded(hunk)) { state.folded.delete(hunk.id); state.opened.add(hunk.id); } else { state.folded.add(hunk.id); state.opened.delete(hunk.id); }
    stream();
  },
  async rebase(root) {
    const agreed = await dialog('Take a new base?', [h('p', {}, 'Everything that differs now in ', h('code', {}, shown(root)), ' leaves the queue, undecided or not, and cannot be put back from here any more.'), h('p', {}, 'No file changes.')], [['Take the worktree as the new base', true, 'bad'], ['Leave it', null]]);
    if (!agreed) return;
    try { await post(of(state.session, 'review/rebase'), { root }); say('the worktree is the new base'); } catch (trouble) { complain(trouble); }
    await refresh();
    refreshStatus();
  },
  async whole(root, path) {
    try {
      const file = await get(of(state.session, `review/file?root=${encodeURIComponent(root)}&path=${encodeURIComponent(path)}`));
      await dialog(plain(path), wholeFile(path, file, state.listing.hunks.filter((hunk) => hunk.root === root && hunk.path === path)));
    } catch (trouble) { complain(trouble); }
  },
  async respond(one, answer, reason) {
    try { await post(of(state.session, `pending/${encodeURIComponent(one.key)}`), { outcome: answer, rev: one.rev, reason }); say(answer === 'allow' ? 'approved' : 'denied'); } catch (trouble) { complain(trouble); }
    refreshPending();
  },
  async denyWithReason(one) {
    const place = h('div', {});
    // What is filled in can have the focus once it is on the page.
    const shownAs = dialog('Deny', place);
    const asked = form(place, { label: 'Why?', button: 'Deny' });
    const given = await Promise.race([asked, shownAs]);
    $('dialog').close();
    if (given) view.act.respond(one, 'deny', given.text);
  },
  search(words) { state.search = words; $('search').value = words; among(); stream(); },
  go: (id) => { closeDrawer(); show(id, true, true); },
  goFile(place) {
    const found = model.ofFile(place);
    if (found) show(found.id, true, true);
    else say('nothing of that file is in the queue');
  },
});

async function commentOn(root, path, { text, lines }) {
  const [first, last] = lines.split('-').map((number) => parseInt(number, 10));
  try {
    await post(of(state.session, 'review/comment'), { root, path, body: text, line_start: first, line_end: last || first });
    say('the agent reads it with the next prompt');
  } catch (trouble) { complain(trouble); }
  await refresh();
  refreshStatus();
}

const undo = () => put(post(of(state.session, 'review/undo')));
const redo = () => put(post(of(state.session, 'review/redo')));

async function note() {
  try {
    const told = await get(of(state.session, 'review/note'));
    await dialog('What the agent will be told with the next prompt', told.note ? h('pre', {}, shown(told.note)) : h('p', {}, 'Nothing.'));
  } catch (trouble) { complain(trouble); }
}

// ── where one stands ──

function show(id, focus, start = false) {
  if (!id) return;
  const old = view.cards.get(state.cursor);
  old?.removeAttribute('aria-current');
  state.cursor = id;
  const article = view.cards.get(id);
  if (!article) return;
  article.setAttribute('aria-current', 'true');
  const box = article.getBoundingClientRect();
  const bar = $('bar').offsetHeight;
  if (start || box.top < bar || box.bottom > innerHeight) article.scrollIntoView({ block: start || box.height > innerHeight - bar ? 'start' : 'nearest' });
  if (focus) article.focus({ preventScroll: true });
  for (const entry of $('tree').querySelectorAll('[aria-current]')) entry.removeAttribute('aria-current');
  stream();
}

function step(by, fits = () => true) {
  const all = model.units();
  let at = all.findIndex((group) => group.some((one) => one.id === state.cursor));
  for (at += by; at >= 0 && at < all.length; at += by) if (fits(all[at][0])) return show(all[at][0].id, true);
}

function stepFile(by) {
  const all = model.sections();
  const at = all.findIndex((section) => section.hunks.some((hunk) => hunk.id === state.cursor));
  const next = all[at + by];
  if (next) show(next.hunks[0].id, true, true);
}

const sectionOf = (hunk) => ({ kind: 'file', hunks: model.order().filter((one) => fileKey(one) === fileKey(hunk)) });
const edge = (at) => { const all = model.order(); const hunk = at < 0 ? all[all.length - 1] : all[0]; if (hunk) show(hunk.id, true, true); };
const orders = ['file', 'call', 'turn'];

function setOrder(order) { state.order = order; $('order').value = order; stream(); show(state.cursor, false, true); }
function setLayout() { state.split = !state.split; localStorage.setItem('split', state.split ? '1' : ''); draw(); }
function setUnreviewed() { state.unreviewed = !state.unreviewed; among(); draw(); }

// One stands on what is shown.
function among() {
  const all = model.order();
  if (all.length && !all.some((hunk) => hunk.id === state.cursor)) state.cursor = (all.find(model.isOwed) || all[0]).id;
}

const KEYS = [
  ['j', 'next hunk', () => step(1)], ['k', 'previous hunk', () => step(-1)],
  [']', 'next undecided hunk', () => step(1, model.isOwed)], ['[', 'previous undecided hunk', () => step(-1, model.isOwed)],
  ['}', 'next file', () => stepFile(1)], ['{', 'previous file', () => stepFile(-1)],
  ['g', 'first hunk', () => edge(0)], ['G', 'last hunk', () => edge(-1)],
  ['a', 'accept: keep it', () => current() && view.act.decideGroup(current(), 'accept')], ['x', 'reject: put it back on disk', () => current() && view.act.decideGroup(current(), 'reject')],
  ['z', 'divide a group into its hunks, or join them again', () => current() && view.act.divide(current())],
  ['A', 'accept what is undecided in the file', () => current() && view.act.decideAll(sectionOf(current()), 'accept')],
  ['X', 'reject what is undecided in the file', () => current() && view.act.decideAll(sectionOf(current()), 'reject')],
  ['r', 'reject, and tell the agent why', () => current() && view.act.rejectWithReason(current(), true)], ['!', 'reject although it is contested', () => current() && view.act.force(current())],
  ['u', 'take the last decision back', undo], ['U', 'make it true again', redo],
  ['c', 'comment; the agent reads it', () => current() && view.act.comment(current())],
  ['v', 'settle the comment', () => { const one = current() && model.commentsOf(current()).find((known) => !known.resolved); if (one) view.act.resolve(one); }],
  ['s', 'side by side, or one column', setLayout], ['t', 'by file, by call, by turn', () => setOrder(orders[(orders.indexOf(state.order) + 1) % 3])],
  ['o', 'fold or unfold', () => current() && view.act.fold(current())], ['f', 'unreviewed only', setUnreviewed],
  ['/', 'filter', () => $('search').focus()], ['i', 'calls, evidence, history', () => current() && view.act.explain(current())],
  ['b', 'the whole file, with who wrote each line', () => current() && view.act.whole(current().root, current().path)],
  ['m', 'what the agent will be told', note], ['R', 'look again', () => { refresh(); refreshStatus(); }], ['?', 'this help', help],
];

const STEPS = ['j', 'k', ']', '[', '}', '{'];

function help() {
  dialog('Keys', h('dl', { class: 'keys-help' }, KEYS.map(([key, what]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)])));
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $('dialog').open) return;
  const { target } = event;
  if (target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))) {
    if (event.key === 'Escape') { target.blur(); view.cards.get(state.cursor)?.focus({ preventScroll: true }); }
    return;
  }
  const row = KEYS.find(([key]) => key === event.key);
  if (!row) return;
  event.preventDefault();
  // A key that is held goes through the queue and decides nothing on its way.
  if (!event.repeat || STEPS.includes(event.key)) row[2]();
});

$('stream').addEventListener('focusin', (event) => {
  const article = event.target.closest('article');
  if (article && article.dataset.id !== state.cursor) {
    view.cards.get(state.cursor)?.removeAttribute('aria-current');
    state.cursor = article.dataset.id;
    article.setAttribute('aria-current', 'true');
  }
});
$('stream').addEventListener('click', (event) => {
  const article = event.target.closest('article');
  if (article && !event.target.closest('button, a, textarea, input, summary') && !getSelection().toString()) article.focus({ preventScroll: true });
});

function closeDrawer() { document.body.classList.remove('drawer'); $('drawer').setAttribute('aria-expanded', 'false'); }
$('drawer').onclick = () => {
  const open = document.body.classList.toggle('drawer');
  $('drawer').setAttribute('aria-expanded', String(open));
  if (open) $('tree').querySelector('button')?.focus();
};
$('tree').addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !document.body.classList.contains('drawer')) return;
  closeDrawer();
  $('drawer').focus();
});
$('search').oninput = () => { state.search = $('search').value; among(); stream(); };
$('unreviewed').onclick = setUnreviewed;
$('layout').onclick = setLayout;
$('order').onchange = () => setOrder($('order').value);
$('undo').onclick = undo;
$('redo').onclick = redo;
$('note').onclick = note;
$('help').onclick = help;
$('theme').onclick = () => {
  const themes = ['', 'dark', 'light'];
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme || '') + 1) % 3];
  setTheme(next);
  say(next || 'as the system has it');
};
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  localStorage.setItem('theme', theme);
}
const fit = new ResizeObserver(() => document.documentElement.style.setProperty('--bar', `${$('bar').offsetHeight}px`));
fit.observe($('bar'));

// ── sessions ──

let stop = () => {}, losing = null;

// A stream that is lost for a moment only dims a word; one that stays away is told where one looks.
const LOST_MS = 2000;

function connected(live) {
  if (live || state.live) { clearTimeout(losing); losing = null; }
  Object.assign(state, live ? { live, lost: false } : { live });
  if (!live) losing ??= setTimeout(() => { state.lost = true; top(); }, LOST_MS);
  top();
}

function open(session) {
  stop();
  clearTimeout(losing);
  losing = null;
  Object.assign(state, { session, listing: null, status: null, pending: [], gate: null, cursor: null, live: false, lost: false });
  view.files.clear();
  stream();
  top();
  waiting();
  history.replaceState(null, '', `/?session=${encodeURIComponent(session)}`);
  // What moves behind the listing is told, since the stream is open before it is asked for.
  stop = listen(session, (name, data) => {
    if (session !== state.session) return;
    if (name === 'open') { connected(true); refresh(); refreshPending(); }
    if (name === 'lost') connected(false);
    if (name === 'review_changed') { refresh(); if (!['observed', 'attributed'].includes(data.reason)) refreshStatus(); }
    if (name === 'review_gate') { state.gate = data.blocked ? { tool: data.tool, path: data.path, root: data.root } : null; top(); refresh(); refreshStatus(); }
    if (name === 'requests_changed') refreshPending();
    if (name === 'session_changed') refreshStatus();
  });
  refresh().then(() => { if (query.get('hunk') && state.listing) { const wanted = query.get('hunk'); query.delete('hunk'); const hunk = state.listing.hunks.find((one) => one.id.startsWith(wanted)); if (hunk) show(hunk.id, true, true); else say('the change that was asked for is in the queue no more'); } });
  refreshStatus();
  refreshPending();
}

function fillSessions() {
  // A list that is open stays as it is where nothing is new.
  settle($('sessions'), state.sessions.map((row) => h('option', { value: row.key },
    `${row.live ? '● ' : ''}${plain(row.agent)} · ${plain(row.roots[0]?.split('/').pop() || '')} · ${plain(row.session_id).slice(0, 12)}${row.parent ? ' · child' : ''}`)));
  $('sessions').value = state.session;
}
$('sessions').onchange = () => open($('sessions').value);
$('sessions').onfocus = async () => { try { state.sessions = (await get('/api/sessions')).items; fillSessions(); } catch (trouble) { complain(trouble); } };

async function start() {
  setTheme(localStorage.getItem('theme') || '');
  state.split = localStorage.getItem('split') === '1' && innerWidth > 900;
  top();
  try {
    const [own, listed] = await Promise.all([get('/api/console'), get('/api/sessions')]);
    state.console = own;
    state.sessions = listed.items;
    const named = query.get('session') || own.session;
    const row = listed.items.find((one) => one.key === named || one.session_id === named) || listed.items[0];
    if (!row) { $('after').replaceChildren(h('p', { class: 'nothing' }, 'No session is recorded.')); return; }
    open(row.key);
    fillSessions();
  } catch (trouble) { complain(trouble); }
}

start();
