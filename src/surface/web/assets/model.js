// What is known, and what follows from it. Nothing here touches the page.

export const state = {
  sessions: [], session: null, console: null,
  listing: null, status: null, pending: [], gate: null, live: false, lost: false,
  unreviewed: false, order: 'file', split: false, search: '',
  cursor: null, folded: new Set(), opened: new Set(), divided: new Set(),
};

// Carries a call of this session, or passed through it, and nobody decided.
export function isOwed(hunk) {
  return hunk.state === 'unreviewed' && isOurs(hunk);
}

export function isOurs(hunk) {
  return hunk.tool_call_ids.length > 0 || 'mediated' in (hunk.evidence.grades || {});
}

export function before(hunk) { return hunk.display_before ?? hunk.before_content; }
export function after(hunk) { return hunk.display_after ?? hunk.after_content; }

export function lines(text) {
  if (text === '') return [];
  const all = text.split('\n');
  if (all[all.length - 1] === '') all.pop();
  return all;
}

export function torn(text) { return text !== '' && !text.endsWith('\n'); }

// Of a fold or a flood only the head is shown until it is opened.
export function isFolded(hunk) {
  return state.folded.has(hunk.id) || (hunk.folded && !state.opened.has(hunk.id));
}

function matches(hunk, words) {
  if (!words.length) return true;
  const text = [hunk.path, hunk.id, hunk.evidence.grade, hunk.state, ...hunk.calls.map((call) => `${call.title} ${call.tool_call_id}`), before(hunk), after(hunk)]
    .join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

function visible() {
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  return (state.listing?.hunks || []).filter((hunk) =>
    (!state.unreviewed || hunk.state === 'unreviewed') && matches(hunk, words));
}

const callKey = (call) => `${call.session_id}\u0000${call.turn}\u0000${call.tool_call_id}`;

// Sections in the order that was chosen: each hunk stands once.
export function sections() {
  const found = new Map();
  const put = (key, make, hunk) => {
    if (!found.has(key)) found.set(key, { key, ...make(), hunks: [] });
    found.get(key).hunks.push(hunk);
  };
  for (const hunk of visible()) {
    if (state.order === 'file') {
      put(`f:${hunk.root}\u0000${hunk.path}`, () => ({ kind: 'file', root: hunk.root, path: hunk.path, title: hunk.path }), hunk);
    } else if (state.order === 'call') {
      const call = hunk.calls[0];
      if (call) put(`c:${callKey(call)}`, () => ({ kind: 'call', call, title: call.title || call.tool_call_id, turn: call.turn }), hunk);
      else put('c:', () => ({ kind: 'none', title: 'With no call of this session', turn: Infinity }), hunk);
    } else {
      const turn = hunk.evidence.turn ?? hunk.calls[0]?.turn ?? null;
      put(`t:${turn}`, () => ({ kind: 'turn', turn: turn ?? Infinity, title: turn === null ? 'In no turn' : `Turn ${turn}` }), hunk);
    }
  }
  const all = [...found.values()];
  if (state.order !== 'file') all.sort((a, b) => (a.turn ?? Infinity) - (b.turn ?? Infinity));
  return all;
}

// Hunks with fewer unchanged lines between them are one group, which one key decides.
const CLOSE = 3;

function joins(last, next) {
  const gap = next.current_range.start - last.current_range.end;
  return last.root === next.root && last.path === next.path && gap >= 0 && gap < CLOSE
    && last.entry.kind === 'text' && next.entry.kind === 'text' && last.state === next.state
    // One key must not decide what is the agent's together with what is not.
    && isOwed(last) === isOwed(next) && isFolded(last) === isFolded(next) && !state.divided.has(next.id);
}

// The hunks of a section as they are decided.
export function groups(hunks) {
  const all = [];
  for (const one of hunks) {
    const group = all[all.length - 1];
    if (group && joins(group[group.length - 1], one)) group.push(one);
    else all.push([one]);
  }
  return all;
}

export function units() { return sections().flatMap((section) => groups(section.hunks)); }

// What one key decides here.
export function unit(id) { return units().find((group) => group.some((one) => one.id === id)) || []; }

export function roots(all) {
  return new Set(all.map((section) => section.root).filter(Boolean));
}

// All that is shown of a hunk's file.
export function hunksOf(hunk) { return visible().filter((one) => one.root === hunk.root && one.path === hunk.path); }

export function order() { return sections().flatMap((section) => section.hunks); }

export function hunk(id) { return state.listing?.hunks.find((one) => one.id === id) || null; }

// A first hunk of a file. A path beneath one root may stand beneath another too.
export function ofFile({ root, path }) {
  const all = (state.listing?.hunks || []).filter((one) => one.path === path && (!root || one.root === root));
  return all.find(isOwed) || all[0] || null;
}

// Names a file: beneath its root, or absolute where there are others.
export function placeOf({ root, path }) {
  const others = [...(state.status?.roots || []), ...(state.listing?.hunks || [])].some((one) => one.root !== root);
  return root && others && path !== root ? `${root.replace(/\/+$/, '')}/${path}` : path;
}

export function progress() {
  const ours = (state.listing?.hunks || []).filter(isOurs);
  const done = ours.filter((one) => one.state !== 'unreviewed').length;
  return { done, all: ours.length };
}

// Two listings of a hunk that look the same.
export function print(hunk, extra) {
  const { evidence } = hunk;
  const names = (calls) => calls.map((call) => [call.tool_call_id, call.title, call.kind, call.turn]);
  return JSON.stringify([hunk.digest, hunk.state, hunk.reapplied, hunk.returned, hunk.mixed, hunk.reject_pending, hunk.locked, hunk.approved_differs?.length,
    evidence.grade, evidence.vcs, names(evidence.candidates), evidence.sessions, hunk.tool_call_ids, names(hunk.calls),
    hunk.author_lines.map((run) => [run.side, run.start, run.end, run.grade]), hunk.base_range.start, hunk.current_range.start, hunk.path, isFolded(hunk), state.split, extra]);
}

export function commentsOf(hunk) {
  const { start, end } = hunk.current_range;
  return (state.listing?.comments || []).filter((one) =>
    one.root === hunk.root && one.path === hunk.path && one.line_start < Math.max(end, start + 1) && one.line_end >= start);
}

export function looseComments() {
  const held = new Set((state.listing?.hunks || []).flatMap((one) => commentsOf(one)).map((one) => one.id));
  return (state.listing?.comments || []).filter((one) => !held.has(one.id));
}

// Who wrote a line of a side, where it is not simply the hunk's call.
export function author(hunk, side, line) {
  const run = hunk.author_lines.find((one) => one.side === side && one.start <= line && line < one.end);
  if (!run) return null;
  return { grade: run.grade, calls: run.calls };
}

export const GRADES = {
  mediated: 'passed through hunkgate: exact',
  verified: 'the call says that it wrote these lines, and nobody else could',
  sole: 'only this call could write then',
  ordered: 'the other calls that were open had ended or not begun',
  contested: 'several calls could have written it; none is credited',
  in_turn: 'in the turn, with no call that could have written it',
  external: 'no call of this session: a person, or another program',
  base_unknown: 'it is not known what stood there before',
};
