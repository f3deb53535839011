// Partial JSON, for display: the value of a text that is still being written. What is incomplete and has no value yet,
// such as a key, a minus or half an escape, is left out; a string that is not closed ends where the text does.
const numberPattern = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const incomplete = Symbol("incomplete");

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  skipBlanks() {
    while (this.at < this.text.length && " \t\r\n".includes(this.text[this.at])) this.at += 1;
  }
  isAtEnd() {
    return this.at >= this.text.length;
  }
  // Whether the next character is `character`, which is then read.
  take(character) {
    this.skipBlanks();
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }
  expect(character) {
    if (!this.take(character)) throw new SyntaxError(`"${character}" is expected at ${this.at}`);
  }

  value() {
    this.skipBlanks();
    if (this.isAtEnd()) return incomplete;
    const first = this.text[this.at];
    if (first === "{") return this.object();
    if (first === "[") return this.array();
    if (first === '"') return this.string().text;
    if (first === "-" || (first >= "0" && first <= "9")) return this.number();
    return this.literal();
  }

  object() {
    const members = Object.create(null);
    this.expect("{");
    if (this.take("}")) return members;
    for (;;) {
      this.skipBlanks();
      if (this.isAtEnd()) return members;
      const key = this.string();
      this.skipBlanks();
      if (!key.isClosed || this.isAtEnd()) return members;
      this.expect(":");
      const value = this.value();
      if (value !== incomplete) members[key.text] = value;
      this.skipBlanks();
      if (this.isAtEnd() || this.take("}")) return members;
      this.expect(",");
    }
  }

  array() {
    const items = [];
    this.expect("[");
    if (this.take("]")) return items;
    for (;;) {
      const value = this.value();
      if (value !== incomplete) items.push(value);
      this.skipBlanks();
      if (this.isAtEnd() || this.take("]")) return items;
      this.expect(",");
    }
  }

  string() {
    this.expect('"');
    const begin = this.at;
    let end = this.at;  // of what is complete
    while (end < this.text.length && this.text[end] !== '"') {
      const size = this.text[end] !== "\\" ? 1 : this.text[end + 1] === "u" ? 6 : 2;
      if (end + size > this.text.length) break;
      end += size;
    }
    const isClosed = this.text[end] === '"';
    this.at = isClosed ? end + 1 : this.text.length;
    return { text: JSON.parse(`"${this.text.slice(begin, end)}"`), isClosed };
  }

  number() {
    numberPattern.lastIndex = this.at;
    const found = numberPattern.exec(this.text);
    const end = found === null ? this.at : numberPattern.lastIndex;
    // At the end of the text a dot, a sign or an exponent waits for its digits.
    const isCut = /^[-+.eE]*$/.test(this.text.slice(end));
    if (found === null && !isCut) throw new SyntaxError(`a number is expected at ${this.at}`);
    this.at = isCut ? this.text.length : end;
    return found === null ? incomplete : Number(found[0]);
  }

  literal() {
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
      const left = this.text.slice(this.at, this.at + word.length);
      if (!word.startsWith(left)) continue;
      this.at += left.length;
      return left === word ? value : incomplete;
    }
    throw new SyntaxError(`a value is expected at ${this.at}`);
  }
}

// The value of the beginning of a JSON text; undefined if it has none yet, or is no JSON.
export function parsePartial(text) {
  try {
    const value = new Reader(text).value();
    return value === incomplete ? undefined : value;
  } catch {
    return undefined;
  }
}
