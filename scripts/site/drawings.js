// Draws the graphs of the pages, in the colours that the page has when it is opened.
if (window.mermaid) {
  const dark = document.body.getAttribute("data-md-color-scheme") === "slate";
  mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral", securityLevel: "strict" });
  mermaid.run({ querySelector: ".drawing" });
}
