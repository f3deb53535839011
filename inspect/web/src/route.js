import { signal } from '@preact/signals';

// Where the page is, as the part of the address behind '#': a link shows the same view again, as ids never change. A
// place that was parsed has that part as `hash`.
//   #/                              threads          #/questions   open questions of all threads       #/store   sizes
//   #/t/THREAD/NS/ID?view=diff      a checkpoint of a thread; without ID the newest, which is followed
//   #/compare/THREAD/OTHER          two threads beside each other
export const route = signal({ page: 'threads', query: {} });

function parse(hash) {
  const place = placeOf(hash);
  return { ...place, hash };
}

function placeOf(hash) {
  const [path, text = ''] = hash.replace(/^#/, '').split('?');
  const query = Object.fromEntries(new URLSearchParams(text));
  const parts = path.split('/').slice(1).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  if (parts[0] === 't' && parts[1]) {
    return { page: 'thread', thread: parts[1], ns: parts[2] ?? '', id: parts[3] ?? '', query };
  }
  if (parts[0] === 'compare' && parts[2]) return { page: 'compare', thread: parts[1], other: parts[2], query };
  if (parts[0] === 'questions') return { page: 'questions', query };
  if (parts[0] === 'store') return { page: 'store', query };
  if (parts.length === 0 || (parts.length === 1 && !parts[0])) return { page: 'threads', query };
  return { page: 'unknown', query };
}

export function href(place) {
  const part = encodeURIComponent;
  let path = '#/';
  if (place.page === 'thread') path = `#/t/${part(place.thread)}/${part(place.ns ?? '')}/${place.id ?? ''}`;
  else if (place.page === 'compare') path = `#/compare/${part(place.thread)}/${part(place.other)}`;
  else if (place.page !== 'threads') path = `#/${place.page}`;
  const entries = Object.entries(place.query ?? {}).filter(([, value]) => value !== '' && value != null);
  return entries.length ? `${path}?${new URLSearchParams(entries)}` : path;
}

/** Goes there; with `replaces` the browser's "back" does not come back here. */
export function go(place, replaces = false) {
  if (replaces) history.replaceState(null, '', href(place));
  else history.pushState(null, '', href(place));
  route.value = parse(location.hash);
}

export function followAddress() {
  const look = () => (route.value = parse(location.hash));
  addEventListener('popstate', look);
  addEventListener('hashchange', look);
  look();
}
