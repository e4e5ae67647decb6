// Elements without markup: nothing that anybody else chose is ever read as HTML.

export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'on') {
      for (const [name, fn] of Object.entries(value)) el.addEventListener(name, fn);
    } else if (key === 'class') {
      el.className = value;
    } else if (key === 'data') {
      Object.assign(el.dataset, value);
    } else if (key in el && key !== 'list' && key !== 'form') {
      el[key] = value;
    } else {
      el.setAttribute(key, value === true ? '' : value);
    }
  }
  append(el, children);
  return el;
}

function append(el, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child instanceof Node ? child : String(child));
  }
}

export const $ = (id) => document.getElementById(id);

// Puts nodes in this order and no others, and moves only those that stand elsewhere: what has the focus keeps it.
export function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let at = parent.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
}

// Puts elements in a place and keeps those that are there already as they would be: what has the focus keeps it, and a form that is
// being filled in stays. What handlers go by must stand in the elements.
export function settle(place, parts) {
  if (place.querySelector('form')) return;
  const there = new Map([...place.children].map((child) => [child.outerHTML, child]));
  arrange(place, parts.filter(Boolean).map((part) => {
    const same = there.get(part.outerHTML);
    there.delete(part.outerHTML);
    return same || part;
  }));
}

// Characters that would hide or reorder text are shown by name.
const STRANGE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

export function shown(text) {
  STRANGE.lastIndex = 0;
  if (!STRANGE.test(text)) return [text];
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(STRANGE)) {
    if (match.index > from) parts.push(text.slice(from, match.index));
    const code = match[0].codePointAt(0).toString(16);
    parts.push(h('span', { class: 'strange', title: 'a character that does not show' }, match[0] === '\r' ? '␍' : `\\u{${code}}`));
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

export function plain(text) {
  return String(text).replace(STRANGE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}
