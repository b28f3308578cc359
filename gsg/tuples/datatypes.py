"""The names of XML Schema's datatypes that the code speaks of (XML Schema Definition Language 1.1, part 2)."""

from __future__ import annotations

XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING = XSD + "string"
XSD_BOOLEAN = XSD + "boolean"
XSD_INTEGER = XSD + "integer"
XSD_DECIMAL = XSD + "decimal"
XSD_FLOAT = XSD + "float"
XSD_DOUBLE = XSD + "double"
XSD_DATETIME = XSD + "dateTime"
XSD_DATETIMESTAMP = XSD + "dateTimeStamp"
XSD_DATE = XSD + "date"
XSD_TIME = XSD + "time"
XSD_DURATION = XSD + "duration"
XSD_DAYTIME = XSD + "dayTimeDuration"
XSD_YEARMONTH = XSD + "yearMonthDuration"
XSD_HEXBINARY = XSD + "hexBinary"
XSD_BASE64BINARY = XSD + "base64Binary"

SPACE = " \t\n\r"
"""What XML Schema takes for space: around the lexical forms of all datatypes but texts, it says nothing (section 4.3.6)."""
