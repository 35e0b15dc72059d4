"""Values, rules, errors and ports. Pure: nothing here opens a file, a socket or a database."""
