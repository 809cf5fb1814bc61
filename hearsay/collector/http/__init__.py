"""What every role that answers over HTTP shares: the server, health checks, and errors as problem documents."""
