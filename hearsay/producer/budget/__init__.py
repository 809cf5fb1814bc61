"""A device's budget: the ledger of what it spent, and the outbox of reports that wait to be sent."""
