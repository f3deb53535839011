import assert from 'node:assert/strict';
import { test } from 'node:test';
import { besideEachOther, saidBy } from '../src/conversation.js';

// Two conversations beside each other.

const user = (text, id) => ({ role: 'user', content: [{ type: 'text', text }], id });
const calls = (args, id) => ({ role: 'assistant', calls: [{ id: `call-${id}`, name: 'work', arguments: args }], id });
const result = (output, id) => ({ role: 'tool', result: { call_id: `call-${id}`, name: 'work', output }, id });

test('conversations that differ in ids and in the order of members alone are the same', () => {
  const left = [user('dust', 'a'), calls('{"a":1,"b":{"c":2,"d":3}}', 'b'), result({ x: 1, y: 2 }, 'c')];
  const right = [user('dust', 'd'), calls('{"b":{"d":3,"c":2},"a":1}', 'e'), result({ y: 2, x: 1 }, 'f')];
  assert.equal(besideEachOther(left, right).first, -1);
});

test('the first message that says something else, or has no other one, is the first difference', () => {
  const left = [user('dust'), calls('{"a":1}'), result('done')];
  assert.equal(besideEachOther(left, [user('dust'), calls('{"a":2}'), result('other')]).first, 1);
  assert.equal(besideEachOther(left, [user('dust'), calls('{"a":1}'), result('other')]).first, 2);
  const shorter = besideEachOther(left, left.slice(0, 2));
  assert.equal(shorter.first, 2);
  assert.equal(shorter.rows[2][1], undefined);
  assert.equal(besideEachOther([], []).first, -1);
});

test('a message is shown with its calls or its result, and as plain text where it is one', () => {
  assert.deepEqual(saidBy({ role: 'user', content: 'hello' }), { who: 'user', text: 'hello' });
  assert.deepEqual(saidBy({ role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, { type: 'text', text: 'I look.' }], calls: [{ name: 'find', arguments: '' }, { name: 'find', arguments: '{' }] }), { who: 'assistant', text: 'I look.\nfind({})\nfind({)' });
  assert.deepEqual(saidBy(result(null)), { who: 'tool', text: 'work: null' });
});
