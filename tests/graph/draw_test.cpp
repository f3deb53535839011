#include <map>

#include <doctest/doctest.h>

#include <stategraph/command.hpp>

#include "tests/support/specs.hpp"

namespace sg = stategraph;
using namespace specs;
using sg::END;
using sg::START;
using sg::detail::toDot;
using sg::detail::toMermaid;

namespace {

const std::string classes =
    "\tclassDef default fill:#f2f0ff,line-height:1.2\n"
    "\tclassDef first fill-opacity:0\n"
    "\tclassDef last fill:#bfb6fc\n";

// Edges, a join, labels, a declared goto, a subgraph, a deferred node and an end that nobody drew.
sg::detail::GraphSpec everything() {
    auto spec = graph({"a", "b", "sub", "last"});
    edge(spec, START, "a");
    edge(spec, START, "b");
    join(spec, {"a", "b"}, "sub");
    edge(spec, "a", "b");
    edge(spec, "a", "b");
    branch(spec, "sub", Ends{{"again", "a"}, {"last", "last"}, {"not yet", END}});
    spec.nodes[1].ends = {"last", END};
    spec.nodes[2].subgraph.emplace();
    spec.nodes[3].defer = true;
    spec.nodes[3].metadata = std::map<std::string, sg::Value>{{"owner", "me"}, {"cost", 3}};
    return spec;
}

}  // namespace

TEST_CASE("a chain as Mermaid and DOT") {
    auto spec = graph({"nodeA", "nodeB"});
    path(spec, {START, "nodeA", "nodeB", END});
    CHECK(toMermaid(spec) ==
          "graph TD;\n"
          "\t__start__([<p>__start__</p>]):::first\n"
          "\tnodeA(nodeA)\n"
          "\tnodeB(nodeB)\n"
          "\t__end__([<p>__end__</p>]):::last\n"
          "\t__start__ --> nodeA;\n"
          "\tnodeA --> nodeB;\n"
          "\tnodeB --> __end__;\n" +
              classes);
    CHECK(toDot(spec) ==
          R"(digraph {
    "__start__" [shape=oval];
    "nodeA" [shape=box];
    "nodeB" [shape=box];
    "__end__" [shape=oval];
    "__start__" -> "nodeA";
    "nodeA" -> "nodeB";
    "nodeB" -> "__end__";
}
)");
}

TEST_CASE("everything a graph can have, as Mermaid") {
    CHECK(toMermaid(everything()) ==
          "graph TD;\n"
          "\t__start__([<p>__start__</p>]):::first\n"
          "\ta(a)\n"
          "\tb(b)\n"
          "\tsub[[sub]]\n"
          "\tlast(\"last<hr/><small><em>defer = true</em></small><br/><small><em>cost = 3</em></small><br/>"
          "<small><em>owner = me</em></small>\")\n"
          "\t__end__([<p>__end__</p>]):::last\n"
          "\t__start__ --> a;\n"
          "\t__start__ --> b;\n"
          "\ta --> sub;\n"
          "\ta --> b;\n"
          "\tb --> sub;\n"
          "\tb -.-> last;\n"
          "\tb -.-> __end__;\n"
          "\tsub -. &nbsp;again&nbsp; .-> a;\n"
          "\tsub -.-> last;\n"
          "\tsub -. \"&nbsp;not yet&nbsp;\" .-> __end__;\n"
          "\tlast --> __end__;\n" +
              classes);
}

TEST_CASE("everything a graph can have, as DOT") {
    CHECK(toDot(everything()) ==
          R"(digraph {
    "__start__" [shape=oval];
    "a" [shape=box];
    "b" [shape=box];
    "sub" [shape=box, peripheries=2];
    "last" [shape=box, label="last\ndefer = true\ncost = 3\nowner = me"];
    "__end__" [shape=oval];
    "__start__" -> "a";
    "__start__" -> "b";
    "a" -> "sub";
    "a" -> "b";
    "b" -> "sub";
    "b" -> "last" [style=dashed];
    "b" -> "__end__" [style=dashed];
    "sub" -> "a" [style=dashed, label="again"];
    "sub" -> "last" [style=dashed];
    "sub" -> "__end__" [style=dashed, label="not yet"];
    "last" -> "__end__";
}
)");
}

TEST_CASE("a router without declared ends is drawn to every other node and END") {
    auto spec = graph({"a", "b"});
    edge(spec, START, "a");
    branch(spec, "a");
    CHECK(toMermaid(spec) ==
          "graph TD;\n"
          "\t__start__([<p>__start__</p>]):::first\n"
          "\ta(a)\n"
          "\tb(b)\n"
          "\t__end__([<p>__end__</p>]):::last\n"
          "\t__start__ --> a;\n"
          "\ta -.-> b;\n"
          "\ta -.-> __end__;\n"
          "\tb --> __end__;\n" +
              classes);
}

TEST_CASE("odd names stay valid in Mermaid") {
    auto spec = graph({"two words", "end", "end-2", "a--b-", "a-b", "é\"<#;", "", "\xff\n"});
    branch(spec, START, Ends{{"end", "two words"}, {"a.->\"b", "end"}});
    CHECK(toMermaid(spec) ==
          "graph TD;\n"
          "\t__start__([<p>__start__</p>]):::first\n"
          "\ttwo\\20words(\"two words\")\n"
          "\t\\65nd(\"end\")\n"
          "\t\\65nd-2(\"end-2\")\n"
          "\ta\\2d-b\\2d(\"a--b-\")\n"
          "\ta-b(\"a-b\")\n"
          "\t\\c3\\a9\\22\\3c\\23\\3b(\"é#34;#60;#35;;\")\n"
          "\t\\empty(\" \")\n"
          "\t\\ff\\0a(\"\xef\xbf\xbd<br/>\")\n"
          "\t__end__([<p>__end__</p>]):::last\n"
          "\t__start__ -. \"&nbsp;end&nbsp;\" .-> two\\20words;\n"
          "\t__start__ -. \"&nbsp;a.-#62;#34;b&nbsp;\" .-> \\65nd;\n"
          "\ttwo\\20words --> __end__;\n"
          "\t\\65nd --> __end__;\n"
          "\t\\65nd-2 --> __end__;\n"
          "\ta\\2d-b\\2d --> __end__;\n"
          "\ta-b --> __end__;\n"
          "\t\\c3\\a9\\22\\3c\\23\\3b --> __end__;\n"
          "\t\\empty --> __end__;\n"
          "\t\\ff\\0a --> __end__;\n" +
              classes);
}

TEST_CASE("odd names stay valid in DOT") {
    auto spec = graph({"two words", "say \"hi\"", "back\\", "a&amp;b", "line\nend", "é", "", "\xff"});
    branch(spec, START, Ends{{"\"yes\" \\", "é"}});
    for (auto& each : spec.nodes) each.ends = std::vector<std::string>{""};
    CHECK(toDot(spec) ==
          R"(digraph {
    "__start__" [shape=oval];
    "two words" [shape=box];
    "say \"hi\"" [shape=box, label="say \"hi\""];
    "back\\" [shape=box, label="back\\"];
    "a&amp;b" [shape=box, label="a&amp;amp;b"];
    "line\nend" [shape=box, label="line\nend"];
    "é" [shape=box];
    "" [shape=box];
    "\xff" [shape=box, label="�"];
    "__end__" [shape=oval];
    "__start__" -> "é" [style=dashed, label="\"yes\" \\"];
    "two words" -> "" [style=dashed];
    "say \"hi\"" -> "" [style=dashed];
    "back\\" -> "" [style=dashed];
    "a&amp;b" -> "" [style=dashed];
    "line\nend" -> "" [style=dashed];
    "é" -> "" [style=dashed];
    "" -> "" [style=dashed];
    "\xff" -> "" [style=dashed];
}
)");
}

TEST_CASE("a graph with mistakes can be drawn, and shows them") {
    auto spec = graph({"a"});
    edge(spec, START, "ghost");
    edge(spec, "a", "a");
    CHECK(toMermaid(spec) ==
          "graph TD;\n"
          "\t__start__([<p>__start__</p>]):::first\n"
          "\ta(a)\n"
          "\t__end__([<p>__end__</p>]):::last\n"
          "\tghost(ghost):::unknown\n"
          "\t__start__ --> ghost;\n"
          "\ta --> a;\n" +
              classes + "\tclassDef unknown stroke-dasharray:4\n");
    CHECK(toDot(spec) ==
          R"(digraph {
    "__start__" [shape=oval];
    "a" [shape=box];
    "__end__" [shape=oval];
    "ghost" [shape=box, style=dashed];
    "__start__" -> "ghost";
    "a" -> "a";
}
)");
}
