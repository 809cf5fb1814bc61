"""The laws that every mechanism and every query obeys; public as `hearsay.checks`."""
