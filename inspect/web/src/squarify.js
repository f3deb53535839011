// Divides a rectangle into one for each item, with areas in proportion to the items' bytes and sides that are as equal as
// possible (squarified treemaps, Bruls, Huizing and van Wijk, 2000): each row along the shorter side takes items as long
// as its worst ratio of sides becomes better.
const worst = (areas, side) => {
  const sum = areas.reduce((a, b) => a + b, 0);
  return Math.max((side * side * Math.max(...areas)) / (sum * sum), (sum * sum) / (side * side * Math.min(...areas)));
};

/** [{item, x, y, width, height}] for items with more than 0 `bytes`, of which the largest come first. */
export function squarify(items, width, height) {
  const left = items.filter((item) => item.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const total = left.reduce((sum, item) => sum + item.bytes, 0);
  const areaOf = (item) => (item.bytes / total) * width * height;
  const box = { x: 0, y: 0, width, height };
  const cells = [];
  while (left.length > 0) {
    const side = Math.min(box.width, box.height);
    const row = [left.shift()];
    let areas = row.map(areaOf);
    while (left.length > 0 && worst([...areas, areaOf(left[0])], side) <= worst(areas, side)) {
      row.push(left.shift());
      areas = row.map(areaOf);
    }
    const isColumn = box.width >= box.height;
    const thickness = areas.reduce((a, b) => a + b, 0) / side;
    let at = isColumn ? box.y : box.x;
    row.forEach((item, i) => {
      const length = areas[i] / thickness;
      cells.push(isColumn ? { item, x: box.x, y: at, width: thickness, height: length } : { item, x: at, y: box.y, width: length, height: thickness });
      at += length;
    });
    if (isColumn) {
      box.x += thickness;
      box.width -= thickness;
    } else {
      box.y += thickness;
      box.height -= thickness;
    }
  }
  return cells;
}
