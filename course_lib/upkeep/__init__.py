"""Which version of the course this is, and how to get a newer one."""
