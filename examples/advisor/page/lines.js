// Reads an answer of lines of JSON and calls `take` with each line's object as soon as the line is complete. A
// character or a line may be split anywhere between two pieces.
export async function readLines(body, take) {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const takeLine = (line) => {
    if (line.trim() !== "") take(JSON.parse(line));
  };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    lines.forEach(takeLine);
  }
  takeLine(rest);
}
