"""Operators and functions of SPARQL, case by case (SPARQL 1.1, section 17)."""

from __future__ import annotations

import pytest
from sparql_values import value

from gsg.errors import BadText

TABLE = """
# effective boolean value and logic
!""                                          | true
!"a"                                         | false
!"a"@en                                      | false
!0.0                                         | true
!"NaN"^^xsd:double                           | true
!"x"^^xsd:integer                            | true
!"x"^^xsd:boolean                            | true
!:a                                          | error
!"a"^^:t                                     | error
?u || true                                   | true
?u || false                                  | error
?u && false                                  | false
?u && true                                   | error
true && 1 && "a"                             | true
# equality
1 = 1.0                                      | true
1 = "1"^^xsd:double                          | true
01 = 1                                       | true
sameTerm(1, 01)                              | false
"NaN"^^xsd:double = "NaN"^^xsd:double        | false
"a" = "a"^^xsd:string                        | true
"a" = "a"@en                                 | false
"a"@en = "a"@EN                              | true
"a" = 1                                      | false
"a"^^:t = "a"^^:t                            | true
"a"^^:t = "b"^^:t                            | error
"a"^^:t != "b"^^:t                           | error
"a"^^:t = "b"@en                             | false
"a"^^:t = :a                                 | false
"x"^^xsd:integer = 1                         | error
"1"^^xsd:boolean = true                      | true
:a = :a                                      | true
:a != :b                                     | true
"2010-01-01T01:00:00+01:00"^^xsd:dateTime = "2010-01-01T00:00:00Z"^^xsd:dateTime | true
"2010-01-01T00:00:00"^^xsd:dateTime = "2010-01-01T00:00:00Z"^^xsd:dateTime       | error
"2010-01-01"^^xsd:date != "2010-01-01Z"^^xsd:date                                | error
"2010-01-01"^^xsd:date < "2010-01-03Z"^^xsd:date                                 | true
"2010-02-29"^^xsd:date = "2010-02-28"^^xsd:date                                  | error
# order
1 < 1.5                                      | true
"a" < "b"                                    | true
"a" < 1                                      | error
false < true                                 | true
:a < :b                                      | error
"a"@en < "b"@en                              | true
"a"@en < "b"@fr                              | error
?u < 1                                       | error
1 IN (2, 1.0)                                | true
1 IN ()                                      | false
1 IN (?u, 1)                                 | true
1 IN (?u, 2)                                 | error
1 NOT IN (2)                                 | true
# arithmetic
1 + 2                                        | 3
7 / 2                                        | "3.5"^^xsd:decimal
6 / 2                                        | "3"^^xsd:decimal
1 / 3                                        | "0.333333333333333333"^^xsd:decimal
1 / 0                                        | error
1e0 / 0                                      | "INF"^^xsd:double
0.1 + 0.2                                    | "0.3"^^xsd:decimal
"0.1"^^xsd:float + 0.2                       | "0.3"^^xsd:float
1e0 + 1                                      | "2"^^xsd:double
"5"^^xsd:byte + 1                            | 6
"300"^^xsd:byte + 1                          | error
9223372036854775807 + 1                      | 9223372036854775808
-"a"                                         | error
- -01                                        | 1
1 - 2 - 3                                    | -4
2 * 3 + 1                                    | 7
# terms
STR(:a)                                      | "http://example.org/a"
STR(01)                                      | "01"
LANG("a"@en)                                 | "en"
LANG(1)                                      | ""
LANG(:a)                                     | error
DATATYPE(1)                                  | xsd:integer
DATATYPE("a"@en)                             | <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>
DATATYPE(:a)                                 | error
IRI("http://e/x")                            | <http://e/x>
IRI("a b")                                   | error
IRI(1)                                       | error
STRDT("1", xsd:integer)                      | 1
STRDT("1"@en, xsd:integer)                   | error
STRLANG("a", "en")                           | "a"@en
STRLANG("a", "be-tarask-classical")          | "a"@be-tarask-classical
STRLANG("a", "en_US")                        | error
STRLANG("a", "")                             | error
ISNUMERIC("x"^^xsd:integer)                  | false
ISNUMERIC("1"^^xsd:byte)                     | true
ISLITERAL(1)                                 | true
BOUND(?u)                                    | false
IF(?u, 1, 2)                                 | error
IF(1, 2, ?u)                                 | 2
COALESCE(?u, 1/0, 3)                         | 3
COALESCE()                                   | error
LANGMATCHES("en-GB", "en")                   | true
LANGMATCHES("eng", "en")                     | false
LANGMATCHES("", "*")                         | false
# strings
STRLEN("食べ物")                              | 3
STRLEN(1)                                    | error
SUBSTR("12345", 2, 3)                        | "234"
SUBSTR("12345", 1.5, 2.6)                    | "234"
SUBSTR("12345", 0, 3)                        | "12"
SUBSTR("12345", -42, "INF"^^xsd:float)       | "12345"
SUBSTR("abc"@en, 2)                          | "bc"@en
SUBSTR("abc", 9)                             | ""
UCASE("foo"@en)                              | "FOO"@en
STRSTARTS("foobar"@en, "foo")                | true
STRSTARTS("foobar", "foo"@en)                | error
CONTAINS("foobar"@en, "oba"@en)              | true
STRBEFORE("abc"@en, "b")                     | "a"@en
STRBEFORE("abc"@en, "z")                     | ""
STRBEFORE("abc"@en, "")                      | ""@en
STRAFTER("abc", "b")                         | "c"
STRAFTER("abc"@en, "")                       | "abc"@en
CONCAT("a"@en, "b"@en)                       | "ab"@en
CONCAT("a"@en, "b")                          | "ab"
CONCAT()                                     | ""
CONCAT("a", 1)                               | error
ENCODE_FOR_URI("Los Angeles~é")              | "Los%20Angeles~%C3%A9"
# numbers
ABS(-1.50)                                   | "1.5"^^xsd:decimal
ROUND(2.5)                                   | "3"^^xsd:decimal
ROUND(-2.5)                                  | "-2"^^xsd:decimal
ROUND(-2.5e0)                                | "-2"^^xsd:double
CEIL(-0.5)                                   | "0"^^xsd:decimal
FLOOR(-0.5)                                  | "-1"^^xsd:decimal
CEIL("a")                                    | error
# dates
YEAR("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime)     | 2011
SECONDS("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime)  | "13.815"^^xsd:decimal
TIMEZONE("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime) | "-PT5H"^^xsd:dayTimeDuration
TIMEZONE("2011-01-10T14:45:13+05:30"^^xsd:dateTime)     | "PT5H30M"^^xsd:dayTimeDuration
TIMEZONE("2011-01-10T14:45:13"^^xsd:dateTime)           | error
TZ("2011-01-10T14:45:13Z"^^xsd:dateTime)                | "Z"
TZ("2011-01-10T14:45:13"^^xsd:dateTime)                 | ""
HOURS("2011-01-10"^^xsd:date)                           | error
YEAR("-0044-03-15T00:00:00Z"^^xsd:dateTime)             | -44
# hashes
MD5("abc")                                   | "900150983cd24fb0d6963f7d28e17f72"
SHA1("abc"@en)                               | error
# casts
xsd:integer("1.5")                           | error
xsd:integer(1.9)                             | 1
xsd:integer(-1.9)                            | -1
xsd:integer("INF"^^xsd:double)               | error
xsd:integer(true)                            | 1
xsd:integer(" 7 ")                           | 7
xsd:decimal("+33.3300")                      | "33.33"^^xsd:decimal
xsd:decimal(1.5e0)                           | "1.5"^^xsd:decimal
xsd:float("1e39")                            | "INF"^^xsd:float
xsd:float(16777217)                          | "16777216"^^xsd:float
xsd:double("a")                              | error
xsd:double(false)                            | "0"^^xsd:double
xsd:string(1.50)                             | "1.5"
xsd:string(:a)                               | "http://example.org/a"
xsd:boolean("1")                             | true
xsd:boolean("maybe")                         | error
xsd:boolean(0e0)                             | false
xsd:dateTime("2002-10-10T17:00:00Z")         | "2002-10-10T17:00:00Z"^^xsd:dateTime
xsd:dateTime("yesterday")                    | error
"""
LINES = [line for line in TABLE.splitlines() if line and not line.startswith("#")]
CASES = [(line.rpartition("|")[0].strip(), line.rpartition("|")[2].strip()) for line in LINES]


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[expression for expression, _ in CASES])
def test_expression(expression: str, expected: str) -> None:
    assert (value(expression) or "error") == expected


@pytest.mark.parametrize(
    ("text", "pattern", "flags", "matches"),
    [
        ("abc", "B", "", False),
        ("abc", "B", "i", True),
        ("a\nb", "a.b", "", False),
        ("a\nb", "a.b", "s", True),
        ("a\nb", "^b", "", False),
        ("a\nb", "^b$", "m", True),
        ("a\n", "a$", "", False),
        ("a.b", "a.b", "q", True),
        ("axb", "a.b", "q", False),
        ("helloworld", "hello[ ]world", "x", False),
        ("helloworld", "hello world", "x", True),
        ("x", "[a-z-[aeiou]]", "", True),
        ("e", "[a-z-[aeiou]]", "", False),
        ("Ä", r"^\p{Lu}$", "", True),
        ("ä", r"^\P{Lu}$", "", True),
        ("+", r"^\w$", "", True),
        ("\u00a0", r"\s", "", False),
        ("a1", r"^\i\c*$", "", True),
    ],
)
def test_regex_is_that_of_xpath(text: str, pattern: str, flags: str, matches: bool) -> None:
    quoted = [part.replace("\\", "\\\\").replace("\n", "\\n") for part in (text, pattern)]

    assert value(f'REGEX("{quoted[0]}", "{quoted[1]}", "{flags}")') == str(matches).lower()


@pytest.mark.parametrize("pattern", ["(?=a)", r"\\b", "[", "a{2,1}", "*", r"\\p{Xx}", r"^(a)\\1$", "a++", r"\\q", "[]", "a" * 3000])
def test_what_is_no_pattern_is_refused_where_it_stands_in_the_text_and_an_error_where_it_is_computed(pattern: str) -> None:
    assert value(f'REGEX("a", CONCAT("{pattern}", ""))') is None
    with pytest.raises(BadText, match="column 100: REGEX with the pattern "):
        value(f'REGEX("a", "{pattern}")')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('"ab", "x*", "-"', 'the pattern "x\\*" matches the empty text, which REPLACE cannot replace'),
        ('"ab", "b", "$"', 'the replacement "\\$", character 1: a "\\$" in a replacement stands before the number of a group'),
        ('"ab", "b", "c", "g"', "unknown flag 'g'"),
    ],
)
def test_a_replacement_that_could_never_be_made_is_refused(arguments: str, said: str) -> None:
    with pytest.raises(BadText, match=f"REPLACE with .*{said}"):
        value(f"REPLACE({arguments})")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('"abcd", "b", "Z"', '"aZcd"'),
        ('"abab"@en, "(a)(b)", "$2$1"', '"baba"@en'),
        ('"abab", "B", "Z", "i"', '"aZaZ"'),
        (r'"a.b", ".", "\\$", "q"', r'"a\\$b"'),
        (r'"ab", "b", "\\$\\\\"', r'"a$\\"'),
        ('"ab", "(a)", "$12"', '"a2b"'),
        ('"ab", "(a)", "$2"', '"b"'),
        ('"ab", CONCAT("x", "*"), "-"', None),
        ('"ab", "b", CONCAT("$", "")', None),
        ('1, "b", "c"', None),
    ],
)
def test_replace(arguments: str, expected: str | None) -> None:
    assert value(f"REPLACE({arguments})") == expected


def test_fresh_values_differ_by_place_and_stay_with_their_solution() -> None:
    assert value("UUID()") == value("UUID()")
    assert value("UUID() = UUID()") == "false"
    assert value('BNODE("a") = BNODE("a")') == "true"
    assert value('BNODE("a") = BNODE("b")') == "false"
    assert value("BNODE() = BNODE()") == "false"
    assert value("RAND() >= 0 && RAND() < 1") == "true"
    assert value("STRLEN(STRUUID())") == "36"
    assert value("BNODE(1)") is None
