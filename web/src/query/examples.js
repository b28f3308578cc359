/** Queries to begin with. */

/** Prefixes that many use, put before a query in SPARQL. */
export const PREFIXES = {
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  xsd: "http://www.w3.org/2001/XMLSchema#",
  owl: "http://www.w3.org/2002/07/owl#",
  foaf: "http://xmlns.com/foaf/0.1/",
  schema: "https://schema.org/",
  sosa: "http://www.w3.org/ns/sosa/",
};

export const EXAMPLES = [
  ["Everything, three terms", "gsg", "(?s, ?p, ?o)"],
  ["One relation", "gsg", "(?room, ^temperature, ?t)"],
  ["With a threshold", "gsg", "(?room, ^temperature, ?t) FILTER ?t > 20"],
  ["What is missing", "gsg", "(?room, ^temperature, ?t), NOT { (?room, ^window, ^closed) }"],
  ["Triples in SPARQL", "sparql", "SELECT * WHERE {\n  ?s ?p ?o\n}"],
  ["How many of each predicate", "sparql", "SELECT ?p (COUNT(*) AS ?n) WHERE {\n  ?s ?p ?o\n}\nGROUP BY ?p"],
  ["Named graphs", "sparql", "SELECT ?g (COUNT(*) AS ?n) WHERE {\n  GRAPH ?g { ?s ?p ?o }\n}\nGROUP BY ?g"],
];
