// Expressions of the scenarios' language: JSON in which an object with one member named $… is calculated.

export const isTrue = (value) =>
  value !== null && typeof value === "object" ? Object.keys(value).length > 0 : Boolean(value);

const concatenated = (items) =>
  items.every((item) => typeof item === "string")
    ? items.join("")
    : items.flatMap((item) => (item === null ? [] : item));

const length = (value) =>
  value === null ? 0 : typeof value === "object" ? Object.keys(value).length : value.length;

// JSON with the members of objects in order, so that equal values have equal texts.
export const canonical = (value) => {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, canonical(value[key])]));
};
export const textOf = (value) => JSON.stringify(canonical(value));

// What is calculated of an operand that is evaluated already.
const operations = {
  $add: ([a, b]) => (a ?? 0) + (b ?? 0),
  $concat: concatenated,
  $len: length,
  $lt: ([a, b]) => (a ?? 0) < (b ?? 0),
  $eq: ([a, b]) => textOf(a) === textOf(b),
  $not: (value) => !isTrue(value),
};

export const known_expressions = ["$", "$var", ...Object.keys(operations)];

// The name of an expression's operation; undefined for plain JSON.
export const operationOf = (expression) => {
  if (expression === null || typeof expression !== "object" || Array.isArray(expression)) return undefined;
  const keys = Object.keys(expression);
  return keys.length === 1 && keys[0].startsWith("$") ? keys[0] : undefined;
};

// The value of an expression, where `input` is what the node sees, and `variables` are what its questions were answered.
export function evaluate(expression, { input = {}, variables = {} }) {
  const environment = { input, variables };
  if (Array.isArray(expression)) return expression.map((item) => evaluate(item, environment));
  if (expression === null || typeof expression !== "object") return expression;
  const operation = operationOf(expression);
  if (operation === undefined) {
    return Object.fromEntries(Object.entries(expression).map(([key, item]) => [key, evaluate(item, environment)]));
  }
  const operand = expression[operation];
  if (operation === "$") return input?.[operand] ?? null;
  if (operation === "$var") return variables[operand] ?? null;
  return operations[operation](evaluate(operand, environment));
}
