// The routes. A post is sent once: what became of it is never found out by asking again.

export class Trouble extends Error {
  constructor(status, error) {
    super(error?.message || `the console answered ${status}`);
    this.status = status;
    this.hint = error?.data?.hint || null;
  }
}

async function read(response) {
  const text = await response.text();
  let value = null;
  try { value = JSON.parse(text); } catch { /* said by the status */ }
  if (!response.ok) throw new Trouble(response.status, value?.error);
  return value;
}

const gone = () => new Trouble(0, { message: 'the console does not answer', data: { hint: 'start `hunkgate web` again' } });

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

// Listens to a session. `EventSource` goes on by itself from the last event that it saw.
export function listen(session, heard) {
  const source = new EventSource(of(session, 'review/events'));
  source.onopen = () => heard('open', {});
  source.onerror = () => heard('lost', {});
  for (const name of ['review_changed', 'review_gate', 'requests_changed', 'session_changed']) {
    source.addEventListener(name, (event) => heard(name, JSON.parse(event.data)));
  }
  return () => source.close();
}
