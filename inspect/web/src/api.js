import { signal } from '@preact/signals';

// What the server is asked. The key is behind the '#' of the address that the program printed; it goes into this tab's
// storage and out of the address, so that a link that is copied does not have it.
const storageName = 'stategraph-key';

export const isOffline = signal(false);
export const isRefused = signal(false);
export const about = signal(null);

export function takeKey() {
  const match = /^#k=([A-Za-z0-9_-]+)(\/.*)?$/.exec(location.hash);
  if (!match) return;
  sessionStorage.setItem(storageName, match[1]);
  history.replaceState(null, '', `#${match[2] || '/'}`);
}

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(`/api/${path}`, {
      ...options,
      headers: { 'X-Stategraph-Key': sessionStorage.getItem(storageName) ?? '', ...options.headers },
    });
  } catch (error) {
    if (error.name !== 'AbortError') isOffline.value = true;
    throw error;
  }
  isOffline.value = false;
  isRefused.value = response.status === 401;
  if (response.ok) return response;
  let text = `the server answered with ${response.status}`;
  try {
    text = (await response.json()).error ?? text;
  } catch {
    // it has sent no reason
  }
  throw new ApiError(response.status, text);
}

export const get = async (path, signal) => (await ask(path, { signal })).json();
export const getText = async (path) => (await ask(path)).text();
export const post = async (path, body) =>
  (await ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } })).json();

const again_ms = 1000;
/** How long to wait before something heavy, which took so many ms, is asked again: a tenth of the time at most goes into it. */
export const restAfter = (took_ms) => Math.max(again_ms, 9 * took_ms);
export const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
});
const untilShown = (signal) => new Promise((resolve) => {
  const look = () => (!document.hidden || signal.aborted) && resolve();
  document.addEventListener('visibilitychange', look, { signal });
  signal.addEventListener('abort', resolve, { once: true });
  look();
});

// The data of each server-sent event of a response, until the page is hidden: a browser gives a host few connections.
async function* eventsOf(response, control) {
  const hide = () => document.hidden && control.abort();
  document.addEventListener('visibilitychange', hide, { signal: control.signal });
  hide();
  let text = '';
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (text + part).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const data = event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
      if (data) yield JSON.parse(data);
    }
  }
}

/** Calls `take` with what the server answers to a path, now and whenever that changes, and `fail` with what it refuses, until `signal` aborts. */
export async function follow(path, signal, take, fail) {
  while (!signal.aborted) {
    await untilShown(signal);
    const control = new AbortController();
    signal.addEventListener('abort', () => control.abort(), { once: true, signal: control.signal });
    try {
      const response = await ask(path, { signal: control.signal, headers: { Accept: 'text/event-stream' } });
      for await (const answer of eventsOf(response, control)) if (!signal.aborted) await take(answer);
      isOffline.value = true; // it has ended the response
    } catch (error) {
      if (error instanceof ApiError) fail?.(error);
      else if (!control.signal.aborted) isOffline.value = true;
    }
    control.abort();
    if (!document.hidden) await pause(again_ms, signal);
  }
}

const query = (parameters) => {
  const entries = Object.entries(parameters).filter(([, value]) => value !== '' && value != null);
  return entries.length ? `?${new URLSearchParams(entries)}` : '';
};
export const path = {
  threads: (filter) => `threads${query(filter)}`,
  stats: (largest) => `stats${query({ largest })}`,
  questions: (after) => `questions${query({ after })}`,
  thread: (thread, operation, parameters = {}) =>
    `threads/${encodeURIComponent(thread)}/${operation}${query(parameters)}`,
  checkpoint: (place, operation = '', parameters = {}) =>
    `threads/${encodeURIComponent(place.thread)}/checkpoints/${place.id || 'newest'}${operation && `/${operation}`}` +
    query({ ns: place.ns, ...parameters }),
};
