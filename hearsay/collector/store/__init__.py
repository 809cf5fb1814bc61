"""All that stands in Redis: nobody else knows its keys."""
