// A hunk's lines, drawn.

import { h, shown } from '/dom.js';
import { after, author, before, lines, state, torn } from '/model.js';

const INKS = ['', 'k-comment', 'k-text', 'k-constant', 'k-word', 'k-function', 'k-type', 'k-attribute'];
const CONTEXT = 3;

// Cuts a text at the stretches that the server found.
export function inked(text, runs) {
  if (!runs || !runs.length) return shown(text);
  const parts = [];
  let from = 0;
  for (const [units, code] of runs) {
    const piece = text.slice(from, from + units);
    from += units;
    const ink = INKS[code & 7];
    const marked = code >= 8;
    if (!ink && !marked) parts.push(...shown(piece));
    else parts.push(h('span', { class: `${ink}${marked ? ' mark' : ''}`.trim() }, shown(piece)));
  }
  if (from < text.length) parts.push(...shown(text.slice(from)));
  return parts;
}

const WHO = {
  external: ['ext', 'external: no call of this session'], contested: ['con', 'contested: several calls could have written it'],
  in_turn: ['turn', 'in the turn, by no call that is known'], base_unknown: ['con', 'it is not known what stood there'],
};

// One entry a line: what is drawn of it, and where it stands on either side.
function rowsOf(hunk, file) {
  const sides = file?.hunks?.[hunk.id];
  const old = lines(before(hunk)), now = lines(after(hunk));
  const rows = [];
  const context = (from, to, shift) => {
    for (let line = from; line < to; line += 1) {
      const text = file.lines[line - 1]?.text;
      if (text === undefined) continue;
      rows.push({ kind: 'ctx', old: line + shift, now: line, text, runs: file.runs[line - 1] });
    }
  };
  const { start, end } = hunk.current_range;
  const near = file?.lines && hunk.entry.kind === 'text';
  const last = (file?.neighbours?.[hunk.id]) || { before: 1, after: Infinity };
  if (near) context(Math.max(last.before, start - CONTEXT, 1), start, hunk.base_range.start - start);
  old.forEach((text, index) => rows.push({
    kind: 'del', old: hunk.base_range.start + index, now: null, text, runs: sides?.before[index],
    torn: index === old.length - 1 && torn(before(hunk)), who: author(hunk, 'before', hunk.base_range.start + index),
  }));
  now.forEach((text, index) => rows.push({
    kind: 'add', old: null, now: start + index, text, runs: sides?.after[index],
    torn: index === now.length - 1 && torn(after(hunk)), who: author(hunk, 'after', start + index),
  }));
  if (near) context(end, Math.min(last.after, end + CONTEXT, file.lines.length + 1), hunk.base_range.end - end);
  return { rows, shift: sides?.shift || [0, 0] };
}

function whoMark(row, isMixed) {
  const who = row.who && WHO[row.who.grade];
  if (!who || !isMixed) return h('span', { class: 'who' });
  return h('span', { class: `who ${who[0]}`, title: who[1] }, h('span', { class: 'hidden' }, `${row.who.grade} `));
}

const SIGNS = { ctx: ' ', add: '+', del: '−' };
const SAID = { ctx: '', add: 'added ', del: 'removed ' };

function cell(row, isMixed) {
  return [
    h('span', { class: 'no', 'aria-hidden': 'true' }, row.old ?? ''),
    h('span', { class: 'no', 'aria-hidden': 'true' }, row.now ?? ''),
    whoMark(row, isMixed),
    h('span', { class: 'sign' }, h('span', { class: 'hidden' }, SAID[row.kind]), SIGNS[row.kind]),
    h('code', {}, inked(row.text, row.runs), row.torn && h('span', { class: 'torn', title: 'no newline at the end' }, '⏎̸')),
  ];
}

function half(row, isMixed) {
  if (!row) return h('div', { class: 'half none' });
  return h('div', { class: `half ${row.kind}` },
    h('span', { class: 'no', 'aria-hidden': 'true' }, row.kind === 'del' ? row.old : row.now ?? row.old),
    whoMark(row, isMixed),
    h('span', { class: 'sign' }, h('span', { class: 'hidden' }, SAID[row.kind]), SIGNS[row.kind]),
    h('code', {}, inked(row.text, row.runs), row.torn && h('span', { class: 'torn', title: 'no newline at the end' }, '⏎̸')));
}

// Lays the sides beside each other, the shorter one where it has most in common with the longer.
function pairs({ rows, shift }) {
  const old = [...Array(shift[0]).fill(null), ...rows.filter((row) => row.kind === 'del')];
  const now = [...Array(shift[1]).fill(null), ...rows.filter((row) => row.kind === 'add')];
  const found = [];
  const first = rows.findIndex((row) => row.kind !== 'ctx');
  rows.slice(0, first < 0 ? rows.length : first).forEach((row) => found.push([row, row]));
  for (let at = 0; at < Math.max(old.length, now.length); at += 1) found.push([old[at] || null, now[at] || null]);
  if (first >= 0) rows.slice(first).filter((row) => row.kind === 'ctx').forEach((row) => found.push([row, row]));
  return found;
}

// The lines as drawing functions: long hunks draw only what is near.
export function drawn(hunk, file) {
  const laid = rowsOf(hunk, file);
  const isMixed = hunk.mixed || Object.keys(hunk.evidence.grades || {}).length > 1;
  if (state.split) {
    return pairs(laid).map(([left, right]) => () => h('div', { class: 'pair' }, half(left, isMixed), half(right, isMixed)));
  }
  return laid.rows.map((row) => () => h('div', { class: `row ${row.kind}` }, cell(row, isMixed)));
}

const ENTRY = {
  binary: () => 'Binary content changed.',
  mode: (entry) => `Mode ${entry.old_mode || 'none'} → ${entry.new_mode || 'none'}.`,
  symlink: (entry) => `Link ${entry.old_target ?? 'none'} → ${entry.new_target ?? 'none'}.`,
  type: (entry) => `Another kind of file: ${entry.old_mode || '?'} → ${entry.new_mode || '?'}${entry.new_target ? `, a link to ${entry.new_target}` : ''}.`,
  rename: (entry) => `Renamed from ${entry.old_path}.`,
  empty: () => 'An empty file.',
  eol: () => 'Line endings changed as a whole.',
  summary: () => 'Many files beneath this directory.',
  outside: () => 'Outside every root: shown, never put back.',
};

export function entryText(hunk) {
  const say = ENTRY[hunk.entry.kind];
  return say ? say(hunk.entry) : null;
}
