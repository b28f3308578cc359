"""Where a log comes from: which events a Sigma rule is meant for, and the fields of an event as rules name them.

A rule names its log source by product, category and service. For Windows these are channels and numbers of events, after the log
sources that Sigma publishes (SigmaHQ/sigma: tests/thor.yml; SigmaHQ/pySigma: sigma/pipelines/common.py; documentation of
Microsoft's Sysmon). For all others whoever collects a log says what it is, in the fields logsource.product, logsource.category
and logsource.service.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from gsg.channels.values import Value

SYSMON: Final = "Microsoft-Windows-Sysmon/Operational"
POWERSHELL: Final = ("Microsoft-Windows-PowerShell/Operational", "PowerShellCore/Operational")
Source: TypeAlias = "tuple[str | tuple[str, ...], tuple[int, ...]]"
"""Channels, and numbers of events there; none for all."""

WINDOWS_CATEGORIES: Final[Mapping[str, Source]] = {
    "process_creation": (SYSMON, (1,)),
    "file_change": (SYSMON, (2,)),
    "network_connection": (SYSMON, (3,)),
    "sysmon_status": (SYSMON, (4, 16)),
    "process_termination": (SYSMON, (5,)),
    "driver_load": (SYSMON, (6,)),
    "image_load": (SYSMON, (7,)),
    "create_remote_thread": (SYSMON, (8,)),
    "raw_access_thread": (SYSMON, (9,)),
    "process_access": (SYSMON, (10,)),
    "file_event": (SYSMON, (11,)),
    "registry_add": (SYSMON, (12,)),
    "registry_delete": (SYSMON, (12,)),
    "registry_set": (SYSMON, (13,)),
    "registry_rename": (SYSMON, (14,)),
    "registry_event": (SYSMON, (12, 13, 14)),
    "create_stream_hash": (SYSMON, (15,)),
    "pipe_created": (SYSMON, (17, 18)),
    "wmi_event": (SYSMON, (19, 20, 21)),
    "dns_query": (SYSMON, (22,)),
    "file_delete": (SYSMON, (23, 26)),
    "clipboard_change": (SYSMON, (24,)),
    "process_tampering": (SYSMON, (25,)),
    "file_block_executable": (SYSMON, (27,)),
    "file_block_shredding": (SYSMON, (28,)),
    "file_executable_detected": (SYSMON, (29,)),
    "sysmon_error": (SYSMON, (255,)),
    "ps_module": (POWERSHELL, (4103,)),
    "ps_script": (POWERSHELL, (4104,)),
    "ps_classic_start": ("Windows PowerShell", (400,)),
    "ps_classic_provider_start": ("Windows PowerShell", (600,)),
    "ps_classic_script": ("Windows PowerShell", (800,)),
}
WINDOWS_SERVICES: Final[Mapping[str, str | tuple[str, ...]]] = {
    "application": "Application",
    "appmodel-runtime": "Microsoft-Windows-AppModel-Runtime/Admin",
    "appxdeployment-server": "Microsoft-Windows-AppXDeploymentServer/Operational",
    "appxpackaging-om": "Microsoft-Windows-AppxPackaging/Operational",
    "bits-client": "Microsoft-Windows-Bits-Client/Operational",
    "capi2": "Microsoft-Windows-CAPI2/Operational",
    "certificateservicesclient-lifecycle-system": "Microsoft-Windows-CertificateServicesClient-Lifecycle-System/Operational",
    "codeintegrity-operational": "Microsoft-Windows-CodeIntegrity/Operational",
    "diagnosis-scripted": "Microsoft-Windows-Diagnosis-Scripted/Operational",
    "dns-client": "Microsoft-Windows-DNS Client Events/Operational",
    "dns-server": "DNS Server",
    "driver-framework": "Microsoft-Windows-DriverFrameworks-UserMode/Operational",
    "firewall-as": "Microsoft-Windows-Windows Firewall With Advanced Security/Firewall",
    "iis-configuration": "Microsoft-IIS-Configuration/Operational",
    "ldap": "Microsoft-Windows-LDAP-Client/Debug",
    "microsoft-servicebus-client": (
        "Microsoft-ServiceBus-Client",
        "Microsoft-ServiceBus-Client/Admin",
        "Microsoft-ServiceBus-Client/Operational",
    ),
    "msexchange-management": "MSExchange Management",
    "ntlm": "Microsoft-Windows-NTLM/Operational",
    "powershell": POWERSHELL,
    "powershell-classic": "Windows PowerShell",
    "printservice-operational": "Microsoft-Windows-PrintService/Operational",
    "security": "Security",
    "security-mitigations": (
        "Microsoft-Windows-Security-Mitigations/Kernel Mode",
        "Microsoft-Windows-Security-Mitigations/User Mode",
    ),
    "smbclient-security": "Microsoft-Windows-SmbClient/Security",
    "smbserver-connectivity": "Microsoft-Windows-SMBServer/Connectivity",
    "sysmon": SYSMON,
    "system": "System",
    "taskscheduler": "Microsoft-Windows-TaskScheduler/Operational",
    "windefend": "Microsoft-Windows-Windows Defender/Operational",
    "wmi": "Microsoft-Windows-WMI-Activity/Operational",
}
KINDS: Final = ("product", "category", "service")


def source_text(source: Mapping[str, Any]) -> str:
    """That an event is of a log source, as a text of the predicate language."""
    if source.get("product") == "windows":
        category, service = source.get("category", ""), source.get("service", "")
        if category in WINDOWS_CATEGORIES:
            channels, numbers = WINDOWS_CATEGORIES[category]
            return f"(and (in EventID {' '.join(map(str, numbers))}) {_is_one_of('Channel', channels)})"
        if service in WINDOWS_SERVICES:
            return _is_one_of("Channel", WINDOWS_SERVICES[service])
        if not category and not service:
            return "(exists Channel)"
    return f"(and {' '.join(_is_one_of(f'|logsource.{kind}|', source[kind]) for kind in KINDS if source.get(kind))})"


def _is_one_of(field: str, texts: str | tuple[str, ...]) -> str:
    return f"(in {field} {' '.join(map(json.dumps, (texts,) if isinstance(texts, str) else texts))})"


# --- events ---------------------------------------------------------------------------------------------------------------------


def fields_of_log(record: Mapping[str, Any]) -> dict[str, Value]:
    """The fields of a record of a log, by the names that rules use: those of inner records have a dot between the names.

    Of a record of the Windows event log they are what stands in ``EventData`` or ``UserData`` by its own name, and what stands in
    ``System``: EventID, Channel, Computer, Provider_Name.
    """
    fields: dict[str, Value] = {}
    event = record.get("Event")
    if not isinstance(event, Mapping) or "System" not in event:
        _put_all(fields, record, "", ".")
        return fields
    for data in (event.get("EventData"), *_values(event.get("UserData"))):
        if isinstance(data, Mapping):
            _put_all(fields, {name: value for name, value in data.items() if name != "#attributes"}, "", "_")
    _put_all(fields, event["System"], "", "_")
    return fields


def _values(of: object) -> list[Any]:  # Any: read from JSON
    return list(of.values()) if isinstance(of, Mapping) else []


def _put_all(fields: dict[str, Value], record: Mapping[str, Any], prefix: str, joint: str) -> None:
    for name, value in record.items():
        if isinstance(value, Mapping):
            if "#text" in value:
                fields[prefix + name] = _simple(value["#text"])
            inner = {**value.get("#attributes", {}), **{key: each for key, each in value.items() if key[0] != "#"}}
            _put_all(fields, inner, f"{prefix}{name}{joint}", joint)
        else:
            fields[prefix + name] = _simple(value)


def _simple(value: Any) -> Value:  # Any: read from JSON
    """A list of texts is one text, a line each: rules look for what is in it."""
    if isinstance(value, list):
        return "\n".join(each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in value)
    return value  # type: ignore[no-any-return]  # a text, a number, true, false or None
