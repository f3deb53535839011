import assert from "node:assert/strict";

import { parsePartial } from "./partial_json.js";
import { run } from "./served.mjs";

const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

await run({
  "every beginning of a document has a value, and the whole one its own": () => {
    const documents = [
      { goal: "écoute \"là\"\n\u2028 😀 \\", level: null, hours: [-1.5e-7, 0, 12, 1e30], needs: [{}, [], [[]], { a: true, b: false }], "": "" },
      ["a", { __proto__: null, "key \" with": 1 }],
      "text",
    ];
    for (const text of documents.flatMap((each) => [JSON.stringify(each), JSON.stringify(each, null, 2)])) {
      for (let size = 1; size <= text.length; size += 1) {
        assert.notEqual(parsePartial(text.slice(0, size)), undefined, text.slice(0, size));
      }
      assert.deepEqual(plain(parsePartial(text)), JSON.parse(text));
    }
  },
  "what has no value yet is left out": () => {
    const cases = [
      ["", undefined], ["  ", undefined], ["-", undefined], ["{", {}], ["[", []], ['{"a', {}], ['{"a":', {}], ['{"a":-', {}],
      ['{"a":1,"b', { a: 1 }], ['{"a":1.', { a: 1 }], ['{"a":1e+', { a: 1 }], ['{"a":"x\\', { a: "x" }],
      ['{"a":"x\\u00e', { a: "x" }], ['{"a":tr', {}], ["[1,", [1]], ["[1,-", [1]], ['{"a":{"b":[1,{"c":"d', { a: { b: [1, { c: "d" }] } }],
    ];
    for (const [text, value] of cases) assert.deepEqual(plain(parsePartial(text)), value, text);
  },
  "what is no JSON has no value": () => {
    for (const text of ["x", "{a", '{"a" 1', "[1 2", "{1:2}", '{"a":nil']) assert.equal(parsePartial(text), undefined, text);
  },
  "a member named __proto__ is a member": () => {
    const value = parsePartial('{"__proto__": {"polluted": 1}}');
    assert.equal({}.polluted, undefined);
    assert.equal(value.polluted, undefined);
  },
});
