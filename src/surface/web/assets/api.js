// The routes. A post is sent once: what became of it is never found out by asking again.

class Trouble extends Error {
  constructor(error, status) {
    super(error?.message || `the console answered ${status}, and nothing that can be read`);
    this.hint = error?.data?.hint || null;
  }
}

async function read(response) {
  const text = await response.text();
  let value = null;
  try { value = JSON.parse(text); } catch { /* said below */ }
  if (!response.ok || value === null) throw new Trouble(value?.error, response.status);
  return value;
}

const gone = () => new Trouble({ message: 'the console does not answer', data: { hint: 'start `hunkgate web` again' } });

export async function get(path) {
  let response;
  try { response = await fetch(path, { headers: { accept: 'application/json' } }); } catch { throw gone(); }
  return read(response);
}

export async function post(path, body) {
  let response;
  try {
    response = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body || {}) });
  } catch { throw gone(); }
  return read(response);
}

export const of = (session, rest) => `/api/session/${encodeURIComponent(session)}/${rest}`;

// How long a stream that was refused is left alone.
const AGAIN_MS = 3000;

// Listens to a session. `EventSource` goes on by itself from the last event that it saw, but not after it was refused.
export function listen(session, heard) {
  let source = null, later = null;
  const start = () => {
    source = new EventSource(of(session, 'review/events'));
    source.onopen = () => heard('open', {});
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) later = setTimeout(start, AGAIN_MS);
      heard('lost', {});
    };
    for (const name of ['review_changed', 'review_gate', 'requests_changed', 'session_changed']) {
      source.addEventListener(name, (event) => heard(name, JSON.parse(event.data)));
    }
  };
  start();
  return () => { clearTimeout(later); source.close(); };
}
