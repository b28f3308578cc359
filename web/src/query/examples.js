/** Queries to begin with. */

export const EXAMPLES = [
  ["Everything, three terms", "gsg", "(?s, ?p, ?o)"],
  ["One relation", "gsg", "(?room, ^temperature, ?t)"],
  ["With a threshold", "gsg", "(?room, ^temperature, ?t) FILTER ?t > 20"],
  ["What is missing", "gsg", "(?room, ^temperature, ?t), NOT { (?room, ^window, ^closed) }"],
  ["Triples in SPARQL", "sparql", "SELECT * WHERE {\n  ?s ?p ?o\n}"],
  ["How many of each predicate", "sparql", "SELECT ?p (COUNT(*) AS ?n) WHERE {\n  ?s ?p ?o\n}\nGROUP BY ?p"],
  ["Named graphs", "sparql", "SELECT ?g (COUNT(*) AS ?n) WHERE {\n  GRAPH ?g { ?s ?p ?o }\n}\nGROUP BY ?g"],
];
