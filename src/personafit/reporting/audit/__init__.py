"""The shortcut audit: what a benchmark's labels reward besides fitting the person."""

from personafit.reporting.audit.findings import Audit, CheckResult, audit_benchmark

__all__ = ["Audit", "CheckResult", "audit_benchmark"]
