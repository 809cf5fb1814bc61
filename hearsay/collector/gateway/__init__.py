"""The gateway: takes reports over HTTP, each request once, shuffles them, and publishes frames."""
