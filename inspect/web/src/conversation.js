// The messages of two threads beside each other. Ids are those of one thread, so they are not compared.

const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};
const argumentsOf = (text) => {
  try {
    return JSON.stringify(sorted(JSON.parse(text || '{}')));
  } catch {
    return text; // the model wrote no JSON
  }
};
const textOf = (content) => {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
};

/** What a message says: {who, text}, with its calls or its result. */
export function saidBy(message) {
  const lines = [textOf(message.content)];
  for (const call of message.calls ?? []) lines.push(`${call.name}(${argumentsOf(call.arguments)})`);
  if (message.result) {
    const output = message.result.output ?? null;
    lines.push(`${message.result.name}: ${typeof output === 'string' ? output : JSON.stringify(sorted(output))}`);
  }
  return { who: message.role ?? message.type ?? '', text: lines.filter(Boolean).join('\n') };
}

/** Rows [left, right], one of which may be missing, and the number of the first that differs, or -1. */
export function besideEachOther(left, right) {
  const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => [left[i] && saidBy(left[i]), right[i] && saidBy(right[i])]);
  const first = rows.findIndex(([a, b]) => !a || !b || a.who !== b.who || a.text !== b.text);
  return { rows, first };
}
