"""The rows of a query in the formats that SPARQL clients read.

Each module is one recommendation, or a pair of them: json_format.py, xml_format.py, delimited.py (CSV and TSV). A long answer is
written part by part. rdf_terms.py says how terms are told that RDF does not have. Open next: formats.py, all formats by media type.
"""
